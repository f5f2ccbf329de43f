//! Models added up, as text, and without what has grown old.

use std::fs;

use crate::support::{World, root, stderr, stdout};

/// Some mails of a label, with dates a month apart; every third has none.
fn write_mails(world: &World, folder: &str, label: &str, months: std::ops::Range<usize>) {
    for month in months {
        let date = match month % 3 {
            2 => String::new(),
            _ => format!(
                "Date: 05 {} 20{:02} 10:00:00 +0000\n",
                ["Jan", "Feb", "Mar"][month % 3],
                10 + month / 3
            ),
        };
        let mail = format!(
            "From: {label}{month}@example.org\n{date}Subject: {label} {month}\n\nwords of {label} and w{month}\n"
        );
        world.write(&format!("{folder}/{label}/{month}"), mail);
    }
}

/// The lines of terms of an exported model.
fn terms(world: &World, model: &str) -> Vec<String> {
    let exported = world.succeed(&["export", "-m", model]);
    let counts = |line: &str| line.split(",\"weights\"").next().unwrap().trim_end_matches('}').to_owned();
    exported.lines().skip(1).map(counts).collect()
}

#[test]
fn shards_are_merged_into_what_is_trained_at_once() {
    let world = World::new();
    let mail = |i: usize, label: &str| {
        let folder = root().join("corpora/mail").join(label);
        let mut names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.sort();
        for path in names.iter().skip(i).step_by(2) {
            world.write(
                // of a spam filter, parts of documents would count, which no model remembers
                &format!("{i}/{}/{}", label.replace("spam", "bulk"), path.file_name().unwrap().display()),
                fs::read(path).unwrap(),
            );
        }
    };
    for i in 0..2 {
        mail(i, "ham");
        mail(i, "spam");
    }
    for (model, sources) in [("a", &["0"][..]), ("b", &["1"]), ("all", &["0", "1"])] {
        world.succeed(&[&["train", "-m", model][..], sources].concat());
    }
    let said = world.succeed(&["merge", "-m", "retrained", "b", "a", "--retrain"]);
    assert!(said.contains("expected on messages drawn like these"), "{said}");
    assert!(fs::read(world.path("retrained")).unwrap() == fs::read(world.path("all")).unwrap());
    world.succeed(&["merge", "-m", "ab", "a", "b"]);
    world.succeed(&["merge", "-m", "ba", "b", "a"]);
    assert!(fs::read(world.path("ab")).unwrap() == fs::read(world.path("ba")).unwrap());
    world.succeed(&["verify", "-m", "ab"]);
    assert!(terms(&world, "ab") == terms(&world, "all"));
    let refused = world.fail(&["merge", "-m", "ab", "a", "b"]);
    assert!(refused.contains("--replace"), "{refused}");
    let output = world.run(&["merge", "-m", "stripped", "ab", "--strip"]);
    assert!(stderr(&output).contains("left out the terms of documents"), "{}", stderr(&output));
    world.succeed(&["verify", "-m", "stripped"]);
    let refused = world.fail(&["merge", "-m", "x", "stripped", "a", "--retrain"]);
    assert!(refused.contains("remember the terms"), "{refused}");
    world.succeed(&["train", "-m", "words", "--content-only", "0"]);
    let refused = world.fail(&["merge", "-m", "x", "a", "words"]);
    assert!(refused.contains("recipe.content_only: expected "), "{refused}");
    assert!(!world.path("x").exists());
}

#[test]
fn an_exported_model_comes_back_and_a_broken_one_replaces_nothing() {
    let world = World::with_mail_model();
    let exported = world.run(&["export", "--documents"]).stdout;
    let output = world.run_with_input(&["import", "-m", "back"], &exported);
    assert!(output.status.success(), "{}", stderr(&output));
    let model = world.path(".local/share/tamis/model.tamis");
    assert!(fs::read(world.path("back")).unwrap() == fs::read(&model).unwrap());
    let output = world.run(&["export"]);
    assert!(stderr(&output).contains("remembered documents; --documents exports"), "{}", stderr(&output));
    world.write("counts.jsonl", &output.stdout);
    let output = world.run(&["import", "-m", "counts", "counts.jsonl"]);
    assert!(stderr(&output).contains("it came without documents"), "{}", stderr(&output));
    world.succeed(&["verify", "-m", "counts"]);
    let half = &exported[..exported.len() / 2];
    world.write("half.jsonl", half);
    let refused = world.fail(&["import", "-m", "back", "half.jsonl", "--replace"]);
    assert!(refused.contains("half.jsonl: line "), "{refused}");
    assert!(fs::read(world.path("back")).unwrap() == fs::read(&model).unwrap());
    assert!(world.fail(&["import", "-m", "back", "counts.jsonl"]).contains("--replace"));
}

#[test]
fn word_lists_of_others_are_taken_or_refused_with_a_reason() {
    let world = World::new();
    let list = ".MSG_COUNT 200 300 20240101\npills 90 1 20240101\nlunch 2 120 20240101\nhead:x-foo 3 4 20240101\n\
         mime:base64 7 7 20240101\n";
    world.write("list", list);
    let output = world.run(&["import", "--from", "bogofilter", "list"]);
    assert!(stderr(&output).contains("imported 3 tokens; 1 have no counterpart"), "{}", stderr(&output));
    assert!(stdout(&output).contains("300 ham, 200 spam"), "{}", stdout(&output));
    let output = world.run_with_input(&["score", "--cost", "fp=1"], b"Subject: offer\n\ncheap pills\n");
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    assert!(world.fail(&["import", "--from", "spamassassin", "list"]).contains("hashes"));
    world.write("other", "not a list\n");
    let refused = world.fail(&["import", "--from", "bogofilter", "-m", "x", "other"]);
    assert!(refused.contains("line 1: expected a token"), "{refused}");
}

#[test]
fn expiring_leaves_the_model_of_what_is_newer() {
    let world = World::new();
    for label in ["ham", "spam"] {
        write_mails(&world, "all", label, 0..30);
        write_mails(&world, "new", label, 15..30);
        // those without a date stay
        (2..15).step_by(3).for_each(|month| write_mails(&world, "new", label, month..month + 1));
    }
    world.succeed(&["train", "--as", "mail", "-m", "model", "all"]);
    world.succeed(&["train", "--as", "mail", "-m", "newer", "new"]);
    let before = fs::read(world.path("model")).unwrap();
    let would = world.succeed(&["expire", "-m", "model", "--before", "2015-01-01", "--dry-run"]);
    assert!(
        would.starts_with("would forget 20 documents (10 ham, 10 spam)\nkept 20 documents without"),
        "{would}"
    );
    assert!(fs::read(world.path("model")).unwrap() == before);
    let did = world.succeed(&["expire", "-m", "model", "--before", "2015-01-01"]);
    assert!(did.starts_with("forgot 20 documents (10 ham, 10 spam)"), "{did}");
    assert!(did.contains("before: ") && did.contains("expected on messages drawn like these"), "{did}");
    world.succeed(&["verify", "-m", "model"]);
    assert!(terms(&world, "model") == terms(&world, "newer"));
    let did = world.succeed(&["expire", "-m", "model", "--keep", "4"]);
    assert!(did.starts_with("forgot 12 documents (6 ham, 6 spam)"), "{did}");
    let again = world.succeed(&["expire", "-m", "model", "--keep", "4", "--before", "2010-01-01"]);
    assert!(again.starts_with("forgot 0 documents"), "{again}");
    assert!(world.fail(&["expire", "-m", "model", "--before", "2015-02-30"]).contains("a day such as"));
    world.fail(&["expire", "-m", "model"]);
    world.succeed(&["train", "--as", "mail", "-m", "digests", "--no-documents", "all"]);
    let refused = world.fail(&["expire", "-m", "digests", "--keep", "4"]);
    assert!(refused.contains("nothing was forgotten"), "{refused}");
    world.succeed(&["verify", "-m", "digests"]);
}

#[test]
fn a_table_of_terms_has_their_counts_and_weights() {
    let world = World::with_mail_model();
    let table = world.succeed(&["export", "--format", "csv"]);
    let mut rows = csv::Reader::from_reader(table.as_bytes());
    let header: Vec<_> = rows.headers().unwrap().iter().map(str::to_owned).collect();
    assert_eq!(
        header.join(" "),
        "term documents_ham occurrences_ham weight_ham documents_spam occurrences_spam weight_spam"
    );
    let rows: Vec<_> = rows.records().map(Result::unwrap).collect();
    // the counts are those of the lines, the weights those of inspect
    let exported = world.succeed(&["export"]);
    let mut lines: Vec<_> = exported.lines().skip(1).collect();
    assert_eq!(rows.len(), lines.len());
    lines.truncate(200);
    for line in lines {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let row = rows.iter().find(|row| row[0] == *line["term"].as_str().unwrap()).unwrap();
        for (at, label) in [(1, "ham"), (4, "spam")] {
            for (column, i) in [(at, 0), (at + 1, 1)] {
                let count = line["counts"][label][i].as_u64().unwrap_or(0);
                assert_eq!(row[column].parse::<u64>().unwrap(), count, "{line}");
            }
        }
    }
    let shown: serde_json::Value =
        serde_json::from_str(&world.succeed(&["inspect", "--json", "--terms", "5"])).unwrap();
    for (class, column) in [(0, 3), (1, 6)] {
        for term in shown["classes"][class]["strongest_terms"].as_array().unwrap() {
            let row = rows.iter().find(|row| row[0] == *term["term"].as_str().unwrap()).unwrap();
            let weight = row[column].parse::<f64>().unwrap();
            assert!((weight - term["weight"].as_f64().unwrap()).abs() < 1e-6, "{term} {row:?}");
        }
    }
    let tabs = world.succeed(&["export", "--format", "tsv"]);
    assert!(tabs.starts_with("term\tdocuments_ham\t") && tabs.lines().count() == rows.len() + 1);
    let said = world.fail(&["export", "--format", "csv", "--documents"]);
    assert!(said.contains("--documents: expected --format jsonl"), "{said}");
}
