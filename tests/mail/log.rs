//! The log of verdicts, and what `tamis stats` counts of it. Whatever happens to a log, what else the program does stays.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::{TAMIS, World, feed, inbox, stderr, stdout};

/// The fields of each line of the log.
fn logged(world: &World) -> Vec<Vec<(String, String)>> {
    let field = |field: &str| {
        let (name, value) = field.split_once('=').unwrap_or_else(|| panic!("{field}"));
        (name.to_owned(), value.to_owned())
    };
    let text = fs::read_to_string(world.path("log")).unwrap();
    text.lines().map(|line| line.split(' ').skip(1).map(field).collect()).collect()
}

#[test]
fn every_verdict_is_logged_without_subject_or_address() {
    let world = World::with_mail_model();
    let message = inbox("01.eml");
    let id = "9dc383e5-b9b7-1d4e-59a8dff92339@lucky-palace.test";
    let model = world.path(".local/share/tamis/model.tamis").display().to_string();
    let check = |n: usize, what: [(&str, &str); 2], id: &str| {
        let lines = logged(&world);
        assert_eq!(lines.len(), n);
        let value = |name: &str| lines[n - 1].iter().find(|field| field.0 == name).map(|field| &*field.1);
        assert_eq!(value("id"), Some(id));
        for (name, expected) in what {
            assert_eq!(value(name), (!expected.is_empty()).then_some(expected), "{name}");
        }
        assert_eq!(value("model"), Some(&*model));
        assert!(value("ms").unwrap().parse::<u32>().is_ok() && value("time").unwrap().ends_with('Z'));
    };
    world.run_with_input(&["score", "--log", "log"], &message);
    check(1, [("verdict", "spam"), ("log-odds", "+7.92")], id);
    world.run_with_input(&["score", "--passthrough", "--log", "log"], &message);
    check(2, [("verdict", "spam"), ("log-odds", "+7.92")], id);
    let learned = world.run_with_input(&["learn", "ham", "--log", "log"], &message);
    assert!(learned.status.success(), "{}", stderr(&learned));
    check(3, [("learned", "ham"), ("log-odds", "")], id);
    // what was known already is no correction
    world.run_with_input(&["learn", "ham", "--log", "log"], &message);
    world.run_with_input(&["score", "-p", "--log", "log"], b"Subject: Free shipping, cheap deposit\n\nx\n");
    check(4, [("verdict", "unsure"), ("learned", "")], "-");
    let text = fs::read_to_string(world.path("log")).unwrap();
    let of_message = String::from_utf8(message).unwrap();
    let values = of_message.lines().filter_map(|line| line.split_once(": "));
    for (name, value) in values.filter(|(name, _)| ["From", "To", "Subject"].contains(name)) {
        assert!(!text.contains(value), "{name}: {value}");
    }
    assert_eq!(fs::metadata(world.path("log")).unwrap().permissions().mode() & 0o777, 0o600);
    // an error has its line too
    fs::write(&model, "no model").unwrap();
    world.run_with_input(&["score", "-p", "--log", "log"], b"Message-ID: <1@b verdict=ham>\n\nx\n");
    check(5, [("verdict", "error"), ("log-odds", "")], "1@b\\040verdict=ham");
}

#[test]
fn a_log_that_cannot_be_written_is_told_once_and_changes_nothing() {
    let world = World::with_mail_model();
    let message = inbox("01.eml");
    for name in ["1.eml", "2.eml"] {
        world.write(name, &message);
    }
    world.write("fifo.sh", "mkfifo fifo");
    assert!(Command::new("sh").arg("fifo.sh").current_dir(world.path("")).status().unwrap().success());
    let commands: [&[&str]; 4] =
        [&["score"], &["score", "--passthrough"], &["score", "1.eml", "2.eml"], &["learn", "spam"]];
    for command in commands {
        let plain = world.run_with_input(command, &message);
        for log in ["/dev/full", ".", "nowhere/log", "fifo", "syslog"] {
            let output = world.run_with_input(&[command, &["--log", log]].concat(), &message);
            let what = format!("{command:?} --log {log}: {}", stderr(&output));
            assert_eq!(output.status.code(), plain.status.code(), "{what}");
            let is_learning = command[0] == "learn";
            assert!(is_learning || output.stdout == plain.stdout, "{what}");
            let expected = usize::from(!(is_learning || log == "syslog" && fs::exists("/dev/log").unwrap()));
            assert_eq!(stderr(&output).matches("not logged").count(), expected, "{what}");
        }
        // a limit of file sizes
        let mut shell = Command::new("sh");
        shell.args(["-c", "ulimit -f 0; exec \"$0\" \"$@\" --log log", TAMIS]).args(command);
        let output = feed(world.at_home(shell), &message);
        let is_learning = command[0] == "learn";
        assert!(is_learning || output.stdout == plain.stdout, "{command:?}: {}", stderr(&output));
        assert!(
            is_learning || output.status.code() == plain.status.code(),
            "{command:?}: {:?}",
            output.status
        );
    }
}

#[test]
fn stats_count_verdicts_and_corrections_by_day() {
    let world = World::new();
    let line =
        |day: &str, what: &str| format!("tamis[7]: time={day}T10:00:00Z id=1@b {what} model=/m ms=3\n");
    let mut log = String::new();
    for (day, what, n) in [
        ("2026-03-01", "verdict=spam log-odds=+3.00", 1_200),
        ("2026-03-01", "verdict=ham log-odds=-3.00", 30),
        ("2026-03-02", "verdict=unsure log-odds=+0.10 truncated=yes", 2),
        ("2026-03-02", "learned=ham", 3),
    ] {
        log += &line(day, what).repeat(n);
    }
    world.write("log", &log);
    // as syslog has it, among lines of others, and cut off
    let quoted = line("2026-03-03", "verdict=spam log-odds=+3.00");
    let system = format!(
        "Mar  3 10:00:00 host {quoted}Mar  3 10:00:01 host postfix[1]: subject {quoted}\n\u{fffd}\n{}",
        &quoted[..40]
    );
    let output = world.run_with_input(&["stats", "log", "-"], system.as_bytes());
    let expected = "\
day         messages  ham   spam  unsure  learned ham
2026-03-01     1,230   30  1,200       0            0
2026-03-02         2    0      0       2            3
2026-03-03         1    0      1       0            0
";
    assert_eq!(stdout(&output), expected, "{}", stderr(&output));
    let json = world.succeed(&["stats", "--json", "log"]);
    let lines: Vec<_> = json.lines().collect();
    assert_eq!(lines[1], r#"{"day":"2026-03-02","learned":{"ham":3},"verdicts":{"unsure":2}}"#);
    let none = world.run_with_input(&["stats"], b"nothing\n");
    assert!(none.status.success() && none.stdout.is_empty(), "{}", stderr(&none));
    assert!(stderr(&none).contains("no lines logged by tamis"));
}

#[test]
fn a_message_read_in_part_is_told_in_its_header_and_not_as_an_error() {
    let world = World::with_mail_model();
    let text = "cheap pills for you\n".repeat(40_000);
    let message = format!("From: a@example.org\nSubject: x\n\n{text}");
    let output = world.run_with_input(&["score", "--passthrough"], message.as_bytes());
    assert!(output.status.success() && output.stderr.is_empty(), "{}", stderr(&output));
    assert!(stdout(&output).contains("; truncated; "));
    let printed = world.run_with_input(&["score"], message.as_bytes());
    assert_eq!(stderr(&printed).lines().count(), 1, "{}", stderr(&printed));
}

#[test]
fn an_output_that_is_closed_is_an_error() {
    let world = World::with_mail_model();
    let message = inbox("01.eml");
    for command in [&["score", "-p"][..], &["score", "-e"], &["bogofilter", "-p", "-d", "."], &["inspect"]] {
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec \"$0\" \"$@\" >&-", TAMIS]).args(command);
        let output = feed(world.at_home(shell), &message);
        assert_eq!(output.status.code(), Some(3), "{command:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("got a closed one"), "{command:?}: {}", stderr(&output));
    }
}

#[test]
fn nothing_is_learned_from_nothing() {
    let world = World::new();
    let output = world.run(&["learn", "spam"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(!world.path(".local/share/tamis/model.tamis").exists());
    let world = World::with_mail_model();
    let before = world.succeed(&["inspect"]);
    world.write("empty.eml", "");
    for command in [&["learn", "spam"][..], &["learn", "spam", "empty.eml"], &["forget"]] {
        let output = world.run(command);
        assert_eq!(output.status.code(), Some(3), "{command:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("expected a message, got nothing"), "{}", stderr(&output));
    }
    assert_eq!(world.succeed(&["inspect"]), before);
}
