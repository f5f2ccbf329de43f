//! Rows that are not as they should be: named by their lines, told, refused or taken.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

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
fn labels_that_stand_for_a_missing_cell_are_not_learned() {
    let world = World::new();
    let rows = "label,text\nUS,iron\n US ,tin\nCA,plums\nNA,pears\nnull,figs\n\\N,peas\n,dates\n";
    world.write("t.csv", rows);
    let output = world.run(&["train", "t.csv"]);
    let said = stderr(&output);
    assert!(stdout(&output).starts_with("learned 3 documents (1 CA, 2 US)"), "{said}");
    // codes of databases are decoded before, so \N is an empty cell
    assert!(said.contains("t.csv:7: expected a label, got none\ntamis: t.csv:8: expected"), "{said}");
    let note = "skipped 2 rows: without a label, such as NA; --na-labels takes it as a label";
    assert!(said.contains(note), "{said}");
    let output = world.run(&["train", "-m", "na.tamis", "--na-labels", "t.csv"]);
    assert!(stdout(&output).contains("1 NA") && stdout(&output).contains("1 null"), "{}", stdout(&output));
    let output = world.run(&["evaluate", "t.csv"]);
    assert!(stdout(&output).contains("\n3 documents") && stderr(&output).contains(note), "{output:?}");
    let output = world.run(&["learn", "t.csv"]);
    assert!(stdout(&output).contains("3 already known") && stderr(&output).contains(note), "{output:?}");
    // such a row contradicts no label that the user gives
    world.write("u.csv", "label,text\nUS,zinc\nNA,lead\n");
    assert!(world.succeed(&["learn", "US", "u.csv"]).contains("US: learned 2 documents"));
}

#[test]
fn whole_numbers_are_one_label_however_they_are_written() {
    let world = World::new();
    world.write("a.csv", "label,text\n1,iron\n1,tin\n2,plums\n");
    world.write("b.csv", "label,text\n1.0,zinc\n2.0,pears\n2.50,figs\n");
    let note = "labels such as 1.0 were read as the whole number that they are";
    for arguments in
        [&["train", "a.csv", "b.csv"][..], &["train", "a.csv", "b.csv", "--target", "label", "--replace"]]
    {
        let output = world.run(arguments);
        assert!(stdout(&output).starts_with("learned 6 documents (3 1, 2 2, 1 2.50)"), "{output:?}");
        assert!(stderr(&output).contains(note), "{output:?}");
    }
    // codes and versions stay as they are
    let output = world.run(&["train", "-m", "b.tamis", "b.csv"]);
    assert!(stdout(&output).contains("1 1.0") && !stderr(&output).contains(note), "{output:?}");
    world.succeed(&["train", "a.csv", "--replace"]);
    let output = world.run(&["evaluate", "b.csv"]);
    assert!(stderr(&output).contains(note), "{output:?}");
    let output = world.run(&["evaluate", "--folds", "2", "a.csv", "b.csv"]);
    assert!(stderr(&output).contains(note), "{output:?}");
    assert!(!stdout(&output).contains("1.0 "), "{output:?}");
}

#[test]
fn long_integers_of_json_keep_their_digits() {
    let world = World::new();
    let long = "123456789012345678901234567890";
    world.write(
        "t.json",
        format!("[{{\"label\": {long}, \"text\": \"iron\"}}, {{\"label\": 2, \"text\": {long}1}}]"),
    );
    let output = world.run(&["train", "t.json"]);
    assert!(stdout(&output).starts_with(&format!("learned 2 documents (1 {long}, 1 2)")), "{output:?}");
    let rows = world.succeed(&["label", "t.json", "--keep", "all"]);
    assert!(rows.contains(&format!("\n{long},iron,")) && rows.contains(&format!("\n2,{long}1,")), "{rows}");
    // a table by what it holds
    assert!(world.succeed(&["learn", "t.json"]).contains("2 already known"));
}

#[test]
fn lines_are_answered_before_the_next_is_awaited() {
    let world = World::new();
    world.write("t.csv", "label,text\nmetal,iron\nfruit,plums\nmetal,tin\nfruit,pears\n");
    world.succeed(&["train", "t.csv"]);
    for (format, head, rows) in [
        ("csv", "id,text\n", ["1,\"iron, tin\"\n", "2,plums\n"]),
        ("csv", "text\n", ["iron and tin\n", "plums\n"]),
        ("jsonl", "", ["{\"text\": \"iron\"}\n", "{\"text\": \"plums\"}\n"]),
        ("fasttext", "", ["iron tin\n", "plums\n"]),
    ] {
        let arguments = ["label", "-", "--input-format", format, "--line-buffered"];
        let mut command = world.command(&arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut answers = BufReader::new(output).lines().map(Result::unwrap);
        input.write_all(head.as_bytes()).unwrap();
        for (row, label) in rows.into_iter().zip(["metal", "fruit"]) {
            input.write_all(row.as_bytes()).unwrap();
            let answer = answers.by_ref().find(|answer| !answer.starts_with("path,")).unwrap();
            assert!(answer.starts_with("-:") && answer.contains(&format!(",{label},")), "{format}: {answer}");
        }
        drop(input);
        assert!(child.wait().unwrap().success());
    }
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
        ("text.tamis", "text", "i.webp", b"RIFF\0\0\0\0WEBPVP8 ", "a WebP image"),
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
