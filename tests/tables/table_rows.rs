//! Rows that are not as they should be: named by their lines, told, refused or taken.

use crate::support::{World, stderr, stdout};

#[test]
fn rows_of_windows_tables_are_named_by_their_lines() {
    let world = World::new();
    let rows: String = (0..10).map(|i| format!("{},word{i} here\r\n", ["ham", "spam"][i % 2])).collect();
    world.write("t.csv", format!("label,text\r\n{rows}spam,too,many\r\n"));
    let said = stderr(&world.run(&["train", "t.csv"]));
    assert!(said.contains("t.csv:12: expected 2 cells, got 3"), "{said}");
    let labels = stdout(&world.run(&["label", "t.csv"]));
    assert!(labels.contains("\nt.csv:2,") && labels.contains("\nt.csv:11,"), "{labels}");
}

#[test]
fn rows_of_texts_are_scored_and_explained_one_by_one() {
    let world = World::new();
    world.write("t.csv", "text,label\n\"iron, tin\",metal\napples,fruit\niron,metal\nplums,fruit\n");
    world.succeed(&["train", "t.csv"]);
    let labels = |rows: String| -> Vec<_> {
        rows.lines()
            .map(|row| {
                (row.split(' ').next().unwrap().to_owned(), row.rsplit(' ').next().unwrap().to_owned())
            })
            .collect()
    };
    let row = |label: &str, row: &str| (label.to_owned(), row.to_owned());
    let all =
        [row("metal", "t.csv:2"), row("fruit", "t.csv:3"), row("metal", "t.csv:4"), row("fruit", "t.csv:5")];
    assert_eq!(labels(world.succeed(&["score", "t.csv"])), all);
    assert_eq!(labels(world.succeed(&["score", "t.csv:3"])), all[1..2]);
    let explained = world.succeed(&["explain", "t.csv:2"]);
    assert!(explained.starts_with("metal ") && explained.contains("t.csv:2\n"), "{explained}");
    let said = world.fail(&["score", "t.csv:9"]);
    assert!(said.contains("expected a row that begins at line 9"), "{said}");
    // a list as Windows writes it
    world.write("list", "\u{feff}t.csv\r\n");
    assert!(world.succeed(&["label", "--files-from", "list"]).contains("\nt.csv:5,fruit,"));
}

#[test]
fn a_quote_that_is_not_closed_is_told_with_its_row() {
    let world = World::new();
    let rows: String = (0..10).map(|i| format!("{},\"word{i}, here\"\n", ["ham", "spam"][i % 2])).collect();
    world.write("t.csv", format!("label,text\n{rows}spam,\"open\n{}", rows.replace('"', "")));
    let output = world.run(&["train", "t.csv"]);
    let said = stderr(&output);
    assert!(said.contains("t.csv:12: expected the end of a quoted cell"), "{said}");
    assert!(said.contains("lines not read: 11"), "{said}");
    assert_eq!(world.run(&["train", "t.csv", "--strict"]).status.code(), Some(3));
    world.write("h.csv", "\"label\",\"text\nham,x\n");
    let said = world.fail(&["train", "h.csv"]);
    assert!(said.contains("a first row without names, \"label\", \"text;"), "{said}");
}

#[test]
fn texts_under_two_labels_are_told_and_never_refused() {
    let world = World::new();
    world.write("t.csv", "label,text\nham,same words\nspam,same words\nham,lunch\nspam,pills\n");
    for folder in ["a", "b"] {
        world.write(&format!("texts/{folder}/1.txt"), "the same words");
    }
    for source in ["t.csv", "texts"] {
        let output = world.run(&["train", source]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(
            stderr(&output).contains("2 documents equal others under another label"),
            "{}",
            stderr(&output)
        );
    }
    let mail = "From: anna@example.org\nSubject: soup\n\nsoup at noon\n";
    world.write("mail/ham/1.eml", mail);
    world.write("mail/spam/1.eml", mail);
    assert!(world.fail(&["train", "--as", "mail", "mail"]).contains("--contradictions keep"));
}

#[test]
fn a_bad_label_among_rows_is_the_error_of_its_row() {
    let world = World::new();
    world.write("t.csv", "label,text\nham,lunch\nspam,pills\n\"a\nb\",more\nunsure,soup\n");
    let output = world.run(&["train", "t.csv"]);
    let said = stderr(&output);
    assert!(stdout(&output).starts_with("learned 2 documents (1 ham, 1 spam)"), "{said}");
    assert!(said.contains("t.csv:4: expected a label without control characters, got \"a\\nb\""), "{said}");
    assert!(said.contains("t.csv:6: expected a label other than the verdict of no label"), "{said}");
    // which of the two is meant nobody knows
    world.write("t.csv", "label,text\nham,lunch\nspam,pills\nSpam,more\n");
    assert!(world.fail(&["train", "t.csv"]).contains("got \"Spam\" and \"spam\""));
    world.write("t.csv", "label,a,b\nham,lunch,1\nspam,pills,2\n");
    let said =
        world.fail(&["train", "t.csv", "--target", "label", "--column", "a=text", "--column", "a=skip"]);
    assert!(said.contains("--column: expected each column once, got \"a\" twice"), "{said}");
}

#[test]
fn binary_files_that_are_named_are_refused() {
    let world = World::with_mail_model();
    world.write("t.csv", "label,text\nfruit,pears\nmetal,iron\n");
    world.succeed(&["train", "-m", "text.tamis", "t.csv"]);
    let mail = ".local/share/tamis/model.tamis";
    for (model, kind, name, bytes, what) in [
        (mail, "mail", "i.png", &b"\x89PNG\r\n\x1a\n"[..], "a PNG image"),
        ("text.tamis", "text", "i.png", b"\x89PNG\r\n\x1a\n", "a PNG image"),
        ("text.tamis", "text", "i.webp", b"RIFF\0\0\0\0WEBPVP8 ", "binary data"),
    ] {
        world.write(name, bytes);
        let output = world.run(&["label", "-m", model, name]);
        assert_eq!(output.status.code(), Some(3), "{}", stdout(&output));
        let expected = format!("{name}: expected {kind}, got {what}");
        assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
    }
    let said = world.fail(&["train", "-m", "new.tamis", "i.png"]);
    assert!(said.contains("i.png: expected labelled documents, got a PNG image"), "{said}");
}

#[test]
fn labels_that_cannot_name_a_folder_are_escaped() {
    let world = World::new();
    world.write("t.csv", "label,text\n..,pears and plums\nmetal,iron and tin\n..,plums\nmetal,tin\n");
    world.succeed(&["train", "t.csv"]);
    world.write("in/1.txt", "pears and plums");
    let output = world.run(&["label", "--sort-into", "out", "in/1.txt"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("documents of .. go to the folder %2E%2E"), "{}", stderr(&output));
    assert!(world.path("out/%2E%2E/1.txt").exists());
}

#[test]
fn columns_of_parquet_and_arrow_are_told_apart_from_rows() {
    let world = World::new();
    for (name, start, what) in
        [("t.parquet", "PAR1", "a Parquet file"), ("t.arrow", "ARROW1\0\0", "an Arrow file")]
    {
        world.write(name, format!("{start}\0\0\u{1}"));
        for arguments in [&["train"][..], &["train", "--target", "label"], &["train", "--as", "text"]] {
            let said = world.fail(&[arguments, &[name]].concat());
            let expected =
                format!("got {what}; duckdb and polars write its rows as JSON lines, which are read");
            assert!(said.contains(name) && said.contains(&expected), "{said}");
        }
    }
}
