//! `tamis score` in a mail pipe: verdicts, exit codes, the message passed through.

use crate::support::{World, inbox, root, stderr, stdout, verdict_fields};

#[test]
fn exit_codes_tell_the_verdict() {
    let world = World::with_mail_model();
    let code = |arguments: &[&str], input: &[u8]| world.run_with_input(arguments, input).status.code();
    assert_eq!(code(&["score"], &inbox("01.eml")), Some(0));
    assert_eq!(code(&["score"], &inbox("02.eml")), Some(1));
    assert_eq!(code(&["score"], b""), Some(2));
    assert_eq!(code(&["score", "-m", "nowhere"], &inbox("01.eml")), Some(3));
    for input in ["01.eml", "02.eml"].map(inbox) {
        assert_eq!(code(&["score", "-e"], &input), Some(0));
        let passed = world.run_with_input(&["score", "--passthrough"], &input);
        assert_eq!(passed.status.code(), Some(0));
        verdict_fields(&input, &passed.stdout);
    }
    assert_eq!(code(&["score", "-e"], b""), Some(0));
}

#[test]
fn the_verdict_is_printed_as_documented() {
    let world = World::with_mail_model();
    let file = root().join("corpora/mail/inbox/01.eml").display().to_string();
    let line = stdout(&world.run(&["score", &file]));
    let words: Vec<_> = line.split_whitespace().collect();
    assert_eq!(words[0], "spam");
    assert_eq!(words[3], file);
    let (probability, log_odds): (f64, f64) = (words[1].parse().unwrap(), words[2].parse().unwrap());
    assert!(probability > 0.9 && log_odds > 0.0 && words[2].starts_with('+'));
    let object: serde_json::Value =
        serde_json::from_str(&stdout(&world.run(&["score", "--json", &file]))).unwrap();
    let keys: Vec<_> = object.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["label", "log_odds", "path", "probability"]);
    let sigmoid = 1.0 / (1.0 + (-object["log_odds"].as_f64().unwrap()).exp());
    assert!((sigmoid - object["probability"].as_f64().unwrap()).abs() < 1e-12);
}

#[test]
fn several_files_get_a_line_each_and_one_that_fails_is_an_error() {
    let world = World::with_mail_model();
    let inbox = root().join("corpora/mail/inbox");
    let (first, second) =
        (inbox.join("01.eml").display().to_string(), inbox.join("02.eml").display().to_string());
    let output = world.run(&["score", &first, &second]);
    assert_eq!((output.status.code(), stdout(&output).lines().count()), (Some(0), 2));
    let output = world.run(&["score", &first, "nowhere.eml", &second]);
    assert_eq!((output.status.code(), stdout(&output).lines().count()), (Some(3), 2));
    assert!(stderr(&output).contains("nowhere.eml"));
}

#[test]
fn a_message_passes_through_with_the_verdict_at_the_end_of_its_headers() {
    let world = World::with_mail_model();
    for line_end in ["\n", "\r\n"] {
        let message = ["From: a@example.org", "X-Spam-Flag: NO", "Subject: cheap pills", "", "buy now", ""]
            .join(line_end);
        let output = world.run_with_input(&["score", "--passthrough"], message.as_bytes());
        let passed = stdout(&output);
        let lines: Vec<_> = passed.split(line_end).collect();
        assert_eq!(lines[..2], ["From: a@example.org", "Subject: cheap pills"]);
        assert!(lines[2] == "X-Spam-Flag: YES" || lines[2] == "X-Spam-Flag: NO");
        assert!(lines[3].starts_with("X-Spam-Status: ") && lines[3].contains(" tests=TAMIS version="));
        assert!(lines[4].starts_with("X-Spam-Level:"));
        assert!(lines[5].starts_with("X-Tamis: ") && lines[5].contains("; probability="));
        assert_eq!(lines[6..], ["", "buy now", ""]);
        let without = message.replace(&format!("X-Spam-Flag: NO{line_end}"), "");
        verdict_fields(without.as_bytes(), &output.stdout);
        let kept = world.run_with_input(&["score", "-p", "--keep-headers"], message.as_bytes());
        verdict_fields(message.as_bytes(), &kept.stdout);
    }
}

#[test]
fn on_any_error_the_message_comes_out_unchanged() {
    let world = World::with_mail_model();
    world.write("foreign.tamis", "SQLite format 3\0 and more");
    world.write("empty.tamis", "");
    let message = inbox("01.eml");
    let wrong: [&[&str]; 7] = [
        &["score", "--passthrough", "-m", "nowhere.tamis"],
        &["score", "--passthrough", "-m", "foreign.tamis"],
        &["score", "--passthrough", "-m", "empty.tamis"],
        &["score", "--passthrough", "-m", "."],
        &["score", "--passthrough", "--no-such-option"],
        &["score", "-p", "--json"],
        &["score", "-p", "-m"],
    ];
    for arguments in wrong {
        let output = world.run_with_input(arguments, &message);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
        assert!(output.stdout == message, "{arguments:?}: the message changed");
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let world = World::with_mail_model();
    let mail = root().join("corpora/mail").display().to_string();
    let mut child = world
        .command(&["label", &mail])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!stderr(&output).contains("panicked"));
}

#[test]
fn without_a_model_the_command_that_makes_one_is_named() {
    let world = World::new();
    let said = world.fail(&["score"]);
    assert!(said.contains("tamis train") && said.contains("model.tamis"), "{said}");
    let output = world.run_with_input(&["score", "--passthrough"], b"Subject: x\n\ny\n");
    assert_eq!(stdout(&output), "Subject: x\n\ny\n");
}

#[test]
fn other_labels_exit_with_zero() {
    let world = World::new();
    let topics = root().join("corpora/topics");
    world.succeed(&["train", &topics.join("train").display().to_string()]);
    let text = std::fs::read(
        root().join("corpora/topics/test/cycling").read_dir().unwrap().next().unwrap().unwrap().path(),
    )
    .unwrap();
    let output = world.run_with_input(&["score"], &text);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).starts_with("cycling "), "{}", stdout(&output));
    assert_eq!(world.run_with_input(&["score"], b"\n").status.code(), Some(0));
    assert_eq!(world.run_with_input(&["score", "--unsure", "0.99"], b"\n").status.code(), Some(2));
}
