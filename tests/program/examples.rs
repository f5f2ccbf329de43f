//! The example programs of `crates/train/examples`, on the project's corpora.
#![allow(dead_code, reason = "each example has a `main`")]

use std::path::PathBuf;

use crate::support::{World, root};

#[path = "../../crates/train/examples/per_user.rs"]
mod per_user;
#[path = "../../crates/train/examples/score_in_a_loop.rs"]
mod score_in_a_loop;
#[path = "../../crates/train/examples/train_and_label.rs"]
mod train_and_label;

fn corpora(paths: &[&str]) -> Vec<PathBuf> {
    paths.iter().map(|path| root().join("corpora").join(path)).collect()
}

/// What was printed, without the paths of the repository.
fn printed(out: Vec<u8>) -> String {
    String::from_utf8(out).unwrap().replace(&format!("{}/corpora/", root().display()), "")
}

#[test]
fn mail_is_scored_in_a_loop() {
    let (world, mut out) = (World::with_mail_model(), Vec::new());
    let messages = corpora(&["mail/inbox/01.eml", "mail/inbox/02.eml"]);
    score_in_a_loop::run(&world.path(".local/share/tamis/model.tamis"), &messages, &mut out).unwrap();
    let expected = "spam 0.9996 +7.92 mail/inbox/01.eml\nham 0.0002 -8.74 mail/inbox/02.eml\n";
    assert_eq!(printed(out), expected);
}

#[test]
fn texts_are_labelled_with_probabilities() {
    let texts = corpora(&["topics/test/cooking/focaccia.txt", "topics/test/astronomy/doppler-redshift.txt"]);
    let mut out = Vec::new();
    train_and_label::run(&root().join("corpora/topics/train"), &texts, &mut out).unwrap();
    let out = printed(out);
    let lines: Vec<_> = out.lines().collect();
    assert!(lines[0].starts_with("topics/test/cooking/focaccia.txt cooking: astronomy 0.000 cooking 1.000 "));
    assert!(lines[1].contains("astronomy: astronomy 1.000 cooking "), "{out}");
}

#[test]
fn a_correction_counts_for_its_user_alone() {
    let (world, mut out) = (World::with_mail_model(), Vec::new());
    let path = root().join("corpora/mail/inbox/01.eml").display().to_string();
    let lines = ["anna score", "anna ham", "anna score", "ben score", "anna spam", "anna score"]
        .map(|line| format!("{line} {path}\n"));
    let shared = world.path(".local/share/tamis/model.tamis");
    per_user::run(&shared, &world.path(""), lines.concat().as_bytes(), &mut out).unwrap();
    let out = printed(out);
    let verdicts: Vec<_> =
        out.lines().map(|line| line.split_at(line.len() - " mail/inbox/01.eml".len()).0).collect();
    assert_eq!(
        verdicts[..4],
        ["anna: spam 0.9996", "anna: learned ham", "anna: ham 0.1980", "ben: spam 0.9996"]
    );
    assert!(verdicts[4] == "anna: learned spam" && verdicts[5].starts_with("anna: spam"), "{out}");
}
