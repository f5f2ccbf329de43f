//! One document or many on standard input, through pipes and by name: all ways are one.

use std::fs;
use std::process::Output;

use crate::sources::trees::{make_fifo, message, world};
use crate::support::{World, feed, stderr, stdout, verdict_fields};

const SEPARATOR: &str = "From a@example.org Mon Mar  2 10:00:00 2026\n";

fn mbox(messages: &[String]) -> String {
    messages.iter().map(|message| format!("{SEPARATOR}{message}\n")).collect()
}

/// Runs a command with this document in each of the ways there are; all outputs but for the document's name.
fn in_all_ways(world: &World, arguments: &[&str], document: &[u8]) -> Vec<(Option<i32>, String)> {
    let path = world.write("a-file", document);
    if !world.path("pipe").exists() {
        make_fifo(world, "pipe");
    }
    let with = |name: &'static str| [arguments, &[name]].concat();
    let plain = |output: Output| {
        let text = stdout(&output);
        let out = ["a-file", "/dev/stdin", "pipe", "-"]
            .iter()
            .fold(text, |text, name| text.replace(&format!(" {name}\n"), "\n"));
        (output.status.code(), out)
    };
    let by_name = plain(world.run(&with("a-file")));
    let pipe = world.path("pipe");
    let through_pipe = std::thread::scope(|scope| {
        scope.spawn(|| fs::write(&pipe, document).unwrap());
        plain(world.run(&with("pipe")))
    });
    let mut redirected = world.command(arguments);
    redirected.stdin(fs::File::open(path).unwrap());
    vec![
        by_name,
        through_pipe,
        plain(world.run_with_input(arguments, document)),
        plain(world.run_with_input(&with("/dev/stdin"), document)),
        plain(redirected.output().unwrap()),
    ]
}

#[test]
fn a_message_is_a_message_whichever_way_it_comes() {
    for document in [message("pills", "buy cheap pills"), "Subject: pills\n\nbuy cheap pills\n".to_owned()] {
        let world = world();
        let scored = in_all_ways(&world, &["score"], document.as_bytes());
        assert!(
            scored[0].1.starts_with("spam 0.") && scored.iter().all(|one| *one == scored[0]),
            "{scored:?}"
        );
        let learned = in_all_ways(&world, &["learn", "ham"], document.as_bytes());
        assert_eq!(learned[0], (Some(0), "ham: learned 1 document\n".to_owned()));
        let known = (Some(0), "ham: learned 0 documents, 1 already known\n".to_owned());
        assert!(learned[1..].iter().all(|one| *one == known), "{learned:?}");
        assert_eq!(world.succeed(&["label", "a-file"]).lines().count(), 2);
        let forgotten = in_all_ways(&world, &["forget", "ham"], document.as_bytes());
        assert_eq!(forgotten[0], (Some(0), "forgot 1 document\n".to_owned()));
        assert!(forgotten[1..].iter().all(|one| one.0 == Some(3)), "{forgotten:?}");
    }
}

#[test]
fn a_new_model_is_of_mail_whichever_way_its_first_message_comes() {
    let document = "Subject: pills\n\nbuy cheap pills\n";
    for way in ["a-file", "-"] {
        let world = World::new();
        world.write("a-file", document);
        let output = world.run_with_input(&["learn", "spam", way], document.as_bytes());
        assert!(stderr(&output).contains("a new model of mail"), "{}", stderr(&output));
    }
}

#[test]
fn an_mbox_gets_an_answer_a_message_and_standard_input_is_one_if_said_so() {
    let world = world();
    let several = mbox(&[message("pills", "buy cheap pills"), message("lunch", "soup at noon")]);
    let one = world.run_with_input(&["score"], several.as_bytes());
    assert_eq!(stdout(&one).lines().count(), 1, "{}", stdout(&one));
    let output = world.run_with_input(&["score", "--mbox"], several.as_bytes());
    let lines: Vec<_> =
        stdout(&output).lines().map(|line| line.split(' ').collect::<Vec<_>>().join(" ")).collect();
    assert!(lines[0].starts_with("spam ") && lines[0].ends_with(" -:1"), "{lines:?}");
    assert!(lines[1].starts_with("ham ") && lines[1].ends_with(" -:2") && lines.len() == 2, "{lines:?}");
    assert_eq!(output.status.code(), Some(0));
    let json = stdout(&world.run_with_input(&["score", "--json", "--mbox"], several.as_bytes()));
    assert!(json.lines().last().unwrap().contains("\"path\":\"-:2\""), "{json}");
    let named = in_all_ways(&world, &["score", "--mbox"], several.as_bytes());
    assert!(named.iter().all(|(status, out)| (*status, out.lines().count()) == (Some(0), 2)), "{named:?}");
    assert_eq!(
        stdout(&world.run_with_input(&["learn", "spam"], several.as_bytes())),
        "spam: learned 2 documents\n"
    );
    assert_eq!(stdout(&world.run_with_input(&["forget"], several.as_bytes())), "forgot 2 documents\n");
    // without a model, too
    let output = World::new().run_with_input(&["learn", "spam"], several.as_bytes());
    assert_eq!(stdout(&output), "spam: learned 2 documents\n", "{}", stderr(&output));
}

#[test]
fn a_message_saved_with_its_separator_stays_one_message() {
    let prose = message("pills", "buy cheap pills\n\nFrom March 2026 on they are cheaper still.");
    for one in [mbox(&[message("pills", "buy cheap pills")]), mbox(&[prose])] {
        let world = world();
        let output = world.run_with_input(&["score"], one.as_bytes());
        assert_eq!((output.status.code(), stdout(&output).matches('\n').count()), (Some(0), 1));
        assert_eq!(stdout(&output).split(' ').count(), 3, "{}", stdout(&output));
        assert_eq!(
            stdout(&world.run_with_input(&["learn", "ham"], one.as_bytes())),
            "ham: learned 1 document\n"
        );
        let forced = stdout(&world.run_with_input(&["score", "--mbox", "-e"], one.as_bytes()));
        assert!(forced.lines().next().unwrap().ends_with(" -:1"), "{forced}");
    }
    let several = mbox(&[message("pills", "buy"), message("lunch", "soup")]);
    let passed = world().run_with_input(&["score", "--passthrough"], several.as_bytes());
    verdict_fields(several.as_bytes(), &passed.stdout);
}

#[test]
fn an_mbox_that_does_not_look_like_one_is_taken_for_one_if_told_so() {
    let world = world();
    let bare = "Subject: a\n\nbuy pills\n\nFrom x 2026\nSubject: b\n\nsoup\n";
    assert_eq!(stdout(&world.run_with_input(&["score"], bare.as_bytes())).lines().count(), 1);
    assert_eq!(stdout(&world.run_with_input(&["score", "--mbox"], bare.as_bytes())).lines().count(), 2);
    let output = world.run_with_input(&["learn", "ham", "--mbox"], bare.as_bytes());
    assert_eq!(stdout(&output), "ham: learned 2 documents\n");
}

#[test]
fn a_process_that_writes_more_than_is_read_does_not_fail() {
    let world = world();
    let long = message("pills", &"buy cheap pills\n".repeat(200_000));
    let mut command = std::process::Command::new("bash");
    command.args(["-c", "set -o pipefail; cat | \"$0\" score -e", crate::support::TAMIS]);
    let output = feed(world.at_home(command), long.as_bytes());
    assert!(output.status.success() && stdout(&output).starts_with("spam "), "{}", stderr(&output));
}
