//! Folders with things in them that are no documents, and names that are not UTF-8.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;

use crate::support::{World, feed, stderr, stdout};

pub fn message(subject: &str, body: &str) -> String {
    format!(
        "From: a@example.org\nTo: b@example.org\nDate: Mon, 2 Mar 2026 10:00:00 +0000\nSubject: {subject}\n\n{body}\n"
    )
}

/// A world with a few messages in `mail/ham` and `mail/spam`, and a model of them.
pub fn world() -> World {
    let world = World::new();
    for i in 0..3 {
        world.write(&format!("mail/ham/{i}.eml"), message(&format!("lunch {i}"), "soup at noon"));
        world.write(&format!("mail/spam/{i}.eml"), message(&format!("pills {i}"), "buy cheap pills"));
    }
    // so few messages are not certain
    world.succeed(&["train", "mail", "--unsure", "0"]);
    world
}

pub fn make_fifo(world: &World, name: &str) {
    assert!(Command::new("mkfifo").arg(world.path(name)).status().unwrap().success());
}

#[test]
fn what_is_no_regular_file_is_left_out_of_a_folder_and_counted() {
    let world = world();
    make_fifo(&world, "mail/ham/pipe");
    symlink(world.path("mail/ham/pipe"), world.path("mail/ham/link-to-pipe")).unwrap();
    symlink("/dev/zero", world.path("mail/spam/zero")).unwrap();
    let _socket = UnixListener::bind(world.path("mail/spam/socket")).unwrap();
    let output = world.run(&["train", "-m", "m", "mail"]);
    assert!(stdout(&output).starts_with("learned 6 documents (3 ham, 3 spam)"), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("mail: mail, 6 files\n"), "{said}");
    assert!(said.contains("mail: left out 4 special files (such as mail/ham/link-to-pipe)\n"), "{said}");
    assert_eq!(world.succeed(&["label", "mail"]).lines().count(), 7);
}

#[test]
fn what_is_no_regular_file_is_left_out_of_a_maildir_and_counted() {
    let world = world();
    world.write("box/cur/1:2,S", message("lunch", "soup"));
    world.write("box/new/2", message("supper", "soup"));
    world.write("box/.Junk/cur/3", message("pills", "buy"));
    make_fifo(&world, "box/new/3");
    symlink("/dev/zero", world.path("box/cur/4")).unwrap();
    let output = world.run(&["label", "box"]);
    assert_eq!(stdout(&output).lines().count(), 3, "{}", stderr(&output));
    let expected =
        "box: mail, 2 files\nbox: left out 1 hidden file or folder, 2 special files (such as box/cur/4)\n";
    assert_eq!(stderr(&output), expected);
}

#[test]
fn a_link_to_an_endless_device_does_not_make_mail_text() {
    let world = World::new();
    for label in ["ham", "spam"] {
        world.write(&format!("{label}/1.eml"), message(label, label));
        for name in ["a", "b", "c"] {
            symlink("/dev/zero", world.path(&format!("{label}/{name}"))).unwrap();
        }
    }
    let said = stderr(&world.run(&["train", "ham=ham", "spam=spam"]));
    assert!(said.starts_with("ham=ham: mail, 1 file\n"), "{said}");
}

#[test]
fn a_device_that_is_named_ends() {
    let world = world();
    for command in [&["score", "/dev/zero"][..], &["label", "/dev/zero"], &["learn", "spam", "/dev/zero"]] {
        assert!(world.fail(command).contains("/dev/zero: expected mail, got binary data"));
    }
    assert_eq!(world.succeed(&["label", "/dev/null"]).lines().count(), 2);
}

/// A folder of two messages, one of them with a name that is not UTF-8.
fn strange_names(world: &World) -> Vec<u8> {
    let name = b"new/caf\xe9 'x'\n.eml".to_vec();
    world.write("new/$'a'.eml", message("lunch", "soup"));
    fs::write(world.path("").join(OsStr::from_bytes(&name)), message("pills", "buy")).unwrap();
    name
}

#[test]
fn names_that_are_not_utf_8_come_out_of_csv_as_they_are() {
    let world = world();
    let name = strange_names(&world);
    let output = world.run(&["label", "--cost", "fp=1", "new"]);
    let expected = [b"\"".as_slice(), &name, b"\",spam,"].concat();
    assert!(output.stdout.windows(expected.len()).any(|part| part == expected), "{}", stdout(&output));
    // and as arguments
    let mut command = world.command(&["score", "-e", "--cost", "fp=1"]);
    command.arg(OsStr::from_bytes(&name));
    assert!(stdout(&feed(command, b"")).starts_with("spam "));
}

#[test]
fn paths_of_json_lines_are_taken_back_whatever_their_names() {
    let world = world();
    strange_names(&world);
    let rows = world.succeed(&["label", "--format", "jsonl", "new"]);
    let paths: Vec<String> = rows
        .lines()
        .map(|row| {
            serde_json::from_str::<serde_json::Value>(row).unwrap()["path"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(paths, ["new/$'a'.eml", "$'new/caf\\xe9 \\'x\\'\\n.eml'"]);
    let list = paths.join("\n");
    let again = world.run_with_input(&["label", "--format", "jsonl", "--files-from", "-"], list.as_bytes());
    assert_eq!(stdout(&again), rows, "{}", stderr(&again));
    let output = world.run_with_input(&["learn", "spam", "--files-from", "-"], list.as_bytes());
    assert_eq!(stdout(&output), "spam: learned 2 documents\n");
    // or as they are, ended by zeros
    let mut list = Vec::new();
    for entry in fs::read_dir(world.path("new")).unwrap() {
        list.extend([b"new/", entry.unwrap().file_name().as_bytes(), b"\0"].concat());
    }
    let output = world.run_with_input(&["forget", "--files-from", "-", "--null"], &list);
    assert_eq!(stdout(&output), "forgot 2 documents\n");
}

#[test]
fn a_table_or_an_mbox_of_a_folder_that_cannot_be_read_is_told_and_the_others_are_learned() {
    let world = World::new();
    world.write("texts/fruit/1.txt", "apples and pears");
    world.write("texts/metal/1.txt", "iron and tin");
    world.write("texts/metal/2.csv", "kind,notes,more\n1,2,3\n");
    world.write("texts/metal/3.mbox.gz", b"\x1f\x8b\x08 and no more");
    let output = world.run(&["train", "-m", "m", "texts"]);
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    assert!(stdout(&output).starts_with("learned 2 documents (1 fruit, 1 metal)"), "{said}");
    for name in ["2.csv", "3.mbox.gz"] {
        assert!(said.contains(&format!("tamis: texts/metal/{name}")), "{said}");
    }
    assert!(said.contains("tamis: 2 documents could not be read"), "{said}");
}
