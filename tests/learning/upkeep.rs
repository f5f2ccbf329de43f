//! What keeps models in order over the years: damage is found and salvaged, old documents go, many models are seen at once,
//! and a folder is learned without what links lead to.

use std::fs;
use std::os::unix::fs::symlink;

use crate::mail::attacks::Random;
use crate::support::{World, inbox, mail_model, stderr, stdout};

/// The documents that a model remembers, one a line, without what a fit decides.
fn documents(world: &World, model: &str) -> Vec<(String, String)> {
    let text = world.succeed(&["export", "--documents", "-m", model]);
    let value = |line: &str, key: &str| {
        let at = line.find(&format!("\"{key}\":\"")).map(|at| at + key.len() + 4);
        at.map(|at| line[at..].split('"').next().unwrap().to_owned())
    };
    text.lines().filter_map(|line| Some((value(line, "digest")?, value(line, "label")?))).collect()
}

/// A world with `model.tamis`, trained on the example mail, which has learned some more since.
fn world() -> World {
    let world = World::new();
    world.write("model.tamis", mail_model());
    for (label, name) in [("spam", "01.eml"), ("ham", "02.eml"), ("ham", "03.eml"), ("spam", "04.eml")] {
        let learned =
            world.run_with_input(&["learn", "-m", "model.tamis", "--no-retrain", label], &inbox(name));
        assert!(learned.status.success(), "{}", stderr(&learned));
    }
    world
}

#[test]
fn what_is_intact_of_a_damaged_model_is_salvaged_and_the_loss_is_told() {
    let world = world();
    let whole = fs::read(world.path("model.tamis")).unwrap();
    let known = documents(&world, "model.tamis");
    assert_eq!(known.len(), 171);
    // an intact model comes out whole
    let said = world.succeed(&["salvage", "model.tamis", "-m", "same.tamis"]);
    assert!(said.contains("with 171 documents\nlost 0 documents\n"), "{said}");
    assert_eq!(documents(&world, "same.tamis"), known);
    let mut random = Random(3);
    let (mut n_lost, mut n_refused) = (0, 0);
    for n in 0..12 {
        let mut bytes = whole.clone();
        // the last ones are in the log
        let at = if n < 8 { random.below(bytes.len()) } else { bytes.len() - 1 - random.below(3_000) };
        bytes[at] ^= 1 << random.below(8);
        world.write("bad.tamis", &bytes);
        assert!(!world.run(&["verify", "-m", "bad.tamis"]).status.success(), "{at}");
        let output = world.run(&["salvage", "bad.tamis", "-m", "new.tamis", "--replace"]);
        if !output.status.success() {
            // all checksums depend on that of the header
            assert!(at < 3_000, "{at}: {}", stderr(&output));
            n_refused += 1;
            continue;
        }
        let said = stdout(&output);
        world.succeed(&["verify", "-m", "new.tamis"]);
        let saved = documents(&world, "new.tamis");
        assert!(saved.iter().all(|document| known.contains(document)), "{at}");
        assert!(saved.len() > 100, "{at}: {} documents: {said}", saved.len());
        assert!(n >= 8 || said.contains("could not read") || saved.len() < known.len(), "{at}: {said}");
        let lost = known.len() - saved.len();
        let end = if n < 8 { String::new() } else { "at the end, of what was learned last".to_owned() };
        let is_told = said.contains(&format!("lost {lost} document")) || said.contains("at the end");
        assert!(is_told && said.contains(&end), "{at}: {said}");
        n_lost += usize::from(lost > 0);
        assert!(fs::read(world.path("bad.tamis")).unwrap() == bytes);
    }
    eprintln!("12 damaged models: {n_refused} refused, {n_lost} with documents lost");
    assert!(n_refused < 4 && n_lost > 2, "{n_refused} {n_lost}");
    assert!(world.fail(&["salvage", "bad.tamis", "-m", "new.tamis"]).contains("--replace"));
}

#[test]
fn damage_is_never_written_over() {
    let world = world();
    let whole = fs::read(world.path("model.tamis")).unwrap();
    let mut random = Random(4);
    for _ in 0..10 {
        let mut bytes = whole.clone();
        let at = 24 + random.below(bytes.len() - 24);
        bytes[at] ^= 1 << random.below(8);
        for command in [
            &["expire", "-m", "bad.tamis", "--keep", "50"][..],
            &["merge", "-m", "out.tamis", "--replace", "bad.tamis"],
            &["retrain", "-m", "bad.tamis"],
            &["learn", "-m", "bad.tamis", "--log-limit", "0", "spam", "message.eml"],
            &["learn", "-m", "bad.tamis", "--no-retrain", "spam", "message.eml"],
        ] {
            world.write("message.eml", inbox("05.eml"));
            world.write("bad.tamis", &bytes);
            let output = world.run(command);
            let is_appended = command.contains(&"--no-retrain") && output.status.success();
            assert!(is_appended || output.status.code() == Some(3), "{at}: {command:?}: {}", stderr(&output));
            let after = fs::read(world.path("bad.tamis")).unwrap();
            assert!(
                after == bytes || is_appended && after.starts_with(&bytes[..at + 1]),
                "{at}: {command:?}"
            );
            assert!(!is_appended || !world.run(&["verify", "-m", "bad.tamis"]).status.success(), "{at}");
        }
    }
}

#[test]
fn documents_expire_by_age_and_by_the_day_they_were_learned() {
    let world = World::with_mail_model();
    // every message of the corpus is older than a week, none is older than a century
    let all = world.succeed(&["expire", "--older-than", "100y", "--dry-run"]);
    assert!(all.starts_with("would forget 0 documents"), "{all}");
    let none = world.succeed(&["expire", "--older-than", "7d", "--dry-run"]);
    assert!(none.starts_with("would forget 167 documents"), "{none}");
    // learned today, whatever the date: none, in the future, long ago
    for message in [
        "Subject: a\n\nno date here\n",
        "Subject: b\nDate: Tue, 1 Jan 2199 10:00:00 +0000\n\nfar off\n",
        "Subject: c\nDate: Mon, 2 Nov 2015 10:00:00 +0000\n\nlong ago\n",
    ] {
        world.run_with_input(&["learn", "--no-retrain", "ham"], message.as_bytes());
    }
    let old = world.succeed(&["expire", "--older-than", "1w", "--dry-run"]);
    assert!(old.starts_with("would forget 167 documents") && !old.contains("kept"), "{old}");
    let kept = world.succeed(&["expire", "--keep", "2"]);
    assert!(kept.starts_with("forgot 166 documents (83 ham, 83 spam)"), "{kept}");
    let left = world.succeed(&["expire", "--before", "2100-01-01", "--dry-run"]);
    assert!(left.starts_with("would forget 4 documents (2 ham, 2 spam)"), "{left}");
    for age in ["1", "y", "0d", "1h", "9999999999999999999y"] {
        let said = world.fail(&["expire", "--older-than", age]);
        assert!(said.contains("expected an age such as"), "{age}: {said}");
    }
}

#[test]
fn many_models_are_a_table() {
    let world = World::with_mail_model();
    let model = world.path(".local/share/tamis/model.tamis");
    for user in ["anna", "bob"] {
        world.write(&format!("{user}/model.tamis"), fs::read(&model).unwrap());
    }
    world.run_with_input(&["learn", "-m", "bob/model.tamis", "--no-retrain", "spam"], &inbox("01.eml"));
    let table = world.succeed(&["inspect", "--summary", "anna/model.tamis", "bob/model.tamis"]);
    let words: Vec<Vec<_>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!((words.len(), words[0].first(), words[0].last()), (3, Some(&"documents"), Some(&"model")));
    assert_eq!((words[1][0], words[1][1], *words[1].last().unwrap()), ("167", "0", "anna/model.tamis"));
    assert_eq!((words[2][0], words[2][1], *words[2].last().unwrap()), ("168", "1", "bob/model.tamis"));
    assert!(table.contains("82 ham, 86 spam"), "{table}");
    world.write("bob/model.tamis", "no model");
    let output = world.run(&["inspect", "--summary", "bob/model.tamis", "anna/model.tamis"]);
    assert_eq!((output.status.code(), stdout(&output).lines().count()), (Some(3), 2), "{}", stderr(&output));
}

#[test]
fn a_folder_is_learned_without_what_links_lead_to() {
    let world = World::new();
    let message = |n: usize| format!("From: a@example.org\nSubject: {n}\n\nbody number {n}\n");
    for (name, n) in
        [("mail/1.eml", 1), ("mail/sub/2.eml", 2), ("other/3.eml", 3), ("box/cur/4", 4), ("secret", 5)]
    {
        world.write(name, message(n));
    }
    fs::create_dir_all(world.path("box/new")).unwrap();
    symlink("../other", world.path("mail/folder")).unwrap();
    symlink("../secret", world.path("mail/file.eml")).unwrap();
    symlink("sub/2.eml", world.path("mail/within.eml")).unwrap();
    symlink("../../secret", world.path("box/cur/link")).unwrap();
    for (folder, inside, all, links) in [("mail", 2, 4, "2 outward links"), ("box", 1, 2, "1 outward link")] {
        let learn = |more: &[&str]| {
            let model = format!("{folder}{}.tamis", more.len());
            let output = world.run(&[&["learn", "-m", &model, "spam", folder][..], more].concat());
            assert!(output.status.success(), "{}", stderr(&output));
            (stdout(&output), stderr(&output))
        };
        let (said, left_out) = learn(&[]);
        assert!(said.contains(&format!("learned {inside} document")), "{folder}: {said}{left_out}");
        assert!(left_out.contains(links), "{folder}: {left_out}");
        let (said, left_out) = learn(&["--follow"]);
        assert!(
            said.contains(&format!("learned {all} document")) && !left_out.contains("link"),
            "{said}{left_out}"
        );
    }
}
