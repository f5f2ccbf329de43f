//! Input that nobody would write, and that arrives all the same.

use crate::support::{World, root, stderr, stdout, verdict_fields};

#[test]
fn odd_messages_get_a_verdict_and_come_out_whole() {
    let world = World::with_mail_model();
    let messages: [(&str, Vec<u8>); 7] = [
        ("empty", b"".to_vec()),
        ("a lone header", b"Subject: cheap pills".to_vec()),
        ("a lone header with a line end", b"Subject: cheap pills\r\n".to_vec()),
        ("NUL bytes", b"Subject: \0\0\n\n\0cheap\0pills\0".to_vec()),
        ("invalid UTF-8", b"Subject: \xff\xfe\n\n\xc3\x28 \xa0\xa1 pills\n".to_vec()),
        ("no header", b"\n\njust text\n".to_vec()),
        ("bare carriage returns", b"Subject: a\r\rb\r".to_vec()),
    ];
    for (name, message) in messages {
        let output = world.run_with_input(&["score"], &message);
        let said = stderr(&output);
        assert!(matches!(output.status.code(), Some(0..=2)), "{name}: {said}");
        assert!(!said.contains("panicked"), "{name}: {said}");
        let output = world.run_with_input(&["score", "--passthrough"], &message);
        assert_eq!(output.status.code(), Some(0), "{name}");
        verdict_fields(&message, &output.stdout);
    }
}

#[test]
fn two_hundred_megabytes_of_one_line() {
    let world = World::with_mail_model();
    let mut message = b"Subject: long\n\n".to_vec();
    message.resize(200 << 20, b'x');
    let output = world.run_with_input(&["score", "--passthrough"], &message);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    verdict_fields(&message, &output.stdout);

    let topics = World::new();
    topics.succeed(&["train", &root().join("corpora/topics/train").display().to_string()]);
    let output = topics.run_with_input(&["score"], &message[20..]);
    // without a known word the largest share decides
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn wrong_paths_and_models_are_clear_errors() {
    let world = World::with_mail_model();
    world.write("notes.txt", "not a model");
    world.write("folder/file", "x");
    assert!(world.fail(&["score", "folder"]).contains("folder"));
    assert!(world.fail(&["score", "-m", "folder"]).contains("folder"));
    assert!(world.fail(&["score", "-m", "notes.txt"]).contains("not a tamis model"));
    assert!(world.fail(&["verify", "-m", "notes.txt"]).contains("notes.txt"));
    assert!(world.fail(&["train", "ham=nowhere", "spam=folder"]).contains("nowhere"));
    assert!(world.fail(&["train", "nowhere"]).contains("nowhere"));
    assert!(world.fail(&["label", "nowhere"]).contains("nowhere"));
    assert!(world.fail(&["frobnicate"]).contains("frobnicate"));
    assert!(world.fail(&["train", "-m", "notes.txt", "a=folder", "b=folder"]).contains("not a tamis model"));
    assert!(world.fail(&["train", "-m", "one.tamis", "a=folder"]).contains("two labels"));
    assert!(
        world
            .fail(&[
                "train",
                "-m",
                "bad.tamis",
                "--alpha",
                "0",
                "--contradictions",
                "keep",
                "a=folder",
                "b=folder"
            ])
            .contains("alpha")
    );
    assert!(!world.path("one.tamis").exists() && !world.path("bad.tamis").exists());
    assert_eq!(std::fs::read(world.path("notes.txt")).unwrap(), b"not a model");
}

#[test]
fn an_unreadable_document_is_named_counted_and_passed_over() {
    let world = World::new();
    for (name, text) in [("a/1.txt", "apples pears"), ("a/2.txt", "plums"), ("b/1.txt", "iron tin")] {
        world.write(&format!("train/{name}"), text);
    }
    std::os::unix::fs::symlink("nowhere", world.path("train/b/dangling.txt")).unwrap();
    let output = world.run(&["train", "train"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("dangling.txt"), "{}", stderr(&output));
    assert!(stderr(&output).contains("1 document could not be read"), "{}", stderr(&output));
    assert!(stdout(&output).contains("3 documents"));
    assert_eq!(world.run(&["train", "--strict", "train"]).status.code(), Some(3));
    let output = world.run(&["label", "train"]);
    assert_eq!((output.status.code(), stdout(&output).lines().count()), (Some(0), 4));
    assert!(stderr(&output).contains("dangling.txt"));
    assert_eq!(world.run(&["label", "--strict", "train"]).status.code(), Some(3));
}
