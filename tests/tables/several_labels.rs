//! Several labels of a document: in columns, in JSON, in fastText's files, and where they are not expected.

use serde_json::Value;

use crate::support::{World, stderr, stdout};

/// What `tamis train` printed, which must succeed, and what it said.
#[track_caller]
fn train(world: &World, arguments: &[&str]) -> (String, String) {
    let output = world.run(&[&["train"], arguments].concat());
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    (stdout(&output), stderr(&output))
}

#[test]
fn an_array_is_not_a_label_unless_there_may_be_many() {
    let world = World::new();
    let rows = r#"{"label": "ham", "text": "lunch"}
{"label": ["spam"], "text": "pills"}
{"label": ["ham", "spam"], "text": "offers"}
{"label": 7, "text": "numbers"}
{"label": {"a": 1}, "text": "odd"}
"#;
    world.write("t.jsonl", rows);
    let (learned, said) = train(&world, &["t.jsonl"]);
    assert!(learned.starts_with("learned 2 documents (1 7, 1 ham)"), "{learned}");
    assert!(
        said.contains("t.jsonl:2: expected one label, got an array of 1; --labels many reads them"),
        "{said}"
    );
    assert!(
        said.contains("t.jsonl:3: expected one label, got an array of 2; --labels many reads them"),
        "{said}"
    );
    assert!(
        said.contains("t.jsonl:5: expected a label, a string, a number, true or false, got an object"),
        "{said}"
    );
    // the label of a row that is not learned does not matter
    assert_eq!(world.succeed(&["label", "t.jsonl"]).lines().count(), 6);
    let (learned, _) = train(&world, &["--labels", "one", "--target", "label", "t.jsonl"]);
    assert!(learned.starts_with("learned 2 documents (1 7, 1 ham)"), "{learned}");
}

#[test]
fn labels_are_read_in_every_format() {
    let world = World::new();
    world.write("t.json", r#"[{"label": ["a"], "text": "lunch"}, {"label": "a,b", "text": "pills"}]"#);
    world.write("t.csv", "label,text\n\" a,, a \",lunch\n\"b,\",pills\n");
    world.write("t.tsv", "label\ttext\na|\tlunch\n b | b\tpills\n");
    world.write("t.ft", "__label__a __label__a lunch\npills __label__b\n");
    world.write("a, a/1.txt", "lunch");
    world.write("b/1.txt", "pills");
    for (arguments, expected) in [
        (&["t.json"][..], "with 2 labels"),
        (&["t.csv"], "with 2 labels"),
        (&["--label-delimiter", "|", "t.tsv"], "with 2 labels"),
        (&["--input-format", "fasttext", "t.ft"], "with 2 labels"),
        (&["a, a", "b"], "with 2 labels"),
        (&["a,=a, a/1.txt", "b=b/1.txt"], "with 2 labels"),
    ] {
        let (learned, _) = train(&world, &[&["--labels", "many"], arguments].concat());
        assert!(learned.starts_with(&format!("learned 2 documents {expected}")), "{arguments:?}: {learned}");
    }
    let evaluated = world.succeed(&["evaluate", "--labels", "many", "t.csv"]);
    assert!(evaluated.contains("\n2 documents, 2 labels"), "{evaluated}");
}

#[test]
fn a_missing_label_is_told() {
    let world = World::new();
    world.write("t.csv", "label,text\nham,lunch\nspam,pills\n,nothing\n");
    let (_, said) = train(&world, &["t.csv"]);
    assert!(said.contains("t.csv:4: expected a label, got none"), "{said}");
    assert!(
        said.contains("left out 1 row without a label; in a file of its own, --unlabelled FILE"),
        "{said}"
    );
    world.write(
        "t.jsonl",
        "{\"label\": \"ham\", \"text\": \"a\"}\n{\"label\": \"spam\", \"text\": \"b\"}\n{\"text\": \"c\"}\n",
    );
    let (_, said) = train(&world, &["--labels", "many", "t.jsonl"]);
    assert!(said.contains("t.jsonl:3: expected a label, got none"), "{said}");
    world.write("r.csv", "label,a\nham,lunch\nspam,pills\n?,nothing\n");
    let said = world.fail(&["train", "-m", "m", "--labels", "many", "--target", "label", "r.csv"]);
    assert!(said.contains("expected weighted scoring for many labels"), "{said}");
    assert!(
        world
            .fail(&["train", "--labels", "many", "--label-delimiter", "ab", "t.csv"])
            .contains("one character")
    );
}

#[test]
fn files_of_fasttext_are_recognised() {
    let world = World::new();
    let rows = "__label__food lunch at noon\n\n__label__drug cheap\tpills\r\n__label__food __label__drug both\nnone\n";
    world.write("t.txt", rows);
    // the last line has no label, so this is no file of fastText unless the user says so
    let (learned, said) = train(&world, &["--input-format", "fasttext", "t.txt"]);
    assert!(learned.starts_with("learned 2 documents (1 drug, 1 food)"), "{learned}");
    assert!(said.contains("t.txt:4: expected one label, got 2; --labels many reads them"), "{said}");
    assert!(said.contains("t.txt:5: expected a label, got none"), "{said}");
    assert_eq!(world.succeed(&["label", "--input-format", "fasttext", "t.txt"]).lines().count(), 5);
    assert_eq!(world.succeed(&["label", "t.txt"]).lines().count(), 2);
    let labelled = rows.trim_end_matches("none\n");
    world.write("train.txt", labelled);
    let labels = world.succeed(&["label", "train.txt"]);
    assert!(labels.contains("\ntrain.txt:1,food,") && labels.contains("\ntrain.txt:3,drug,"), "{labels}");
    let output = world.run_with_input(&["train", "-"], labelled.as_bytes());
    assert!(stdout(&output).starts_with("learned 2 documents"), "{}", stderr(&output));
    assert!(
        world
            .fail(&["train", "--target", "label", "--input-format", "fasttext", "t.txt"])
            .contains("fastText")
    );
}

#[test]
fn a_table_is_learned_under_its_own_labels_and_contradicts_no_other() {
    let world = World::new();
    let rows = |rows: &[(&str, &str)]| {
        rows.iter().fold("label,text\n".to_owned(), |all, (label, text)| format!("{all}{label},{text}\n"))
    };
    world.write("all.csv", rows(&[("fruit", "sweet plums"), ("metal", "tin"), ("fruit", "plums")]));
    world.write("more.csv", rows(&[("metal", "hot tin"), ("fruit", "sweet pears")]));
    world.write("eggs.csv", rows(&[("eggs", "an egg")]));
    world.succeed(&["train", "-m", "all.tamis", "all.csv"]);
    std::fs::copy(world.path("all.tamis"), world.path("m.tamis")).unwrap();
    assert_eq!(world.succeed(&["learn", "-m", "m.tamis", "more.csv"]), "more.csv: learned 2 documents\n");
    // the same as one after the other
    for (label, text) in [("metal", "hot tin"), ("fruit", "sweet pears")] {
        world.write("text", text);
        world.succeed(&["learn", "-m", "all.tamis", label, "text"]);
    }
    let counts = |model: &str| world.succeed(&["export", "-m", model, "--format", "csv"]);
    assert_eq!(counts("m.tamis"), counts("all.tamis"));
    for arguments in [
        &["learn", "-m", "m.tamis", "metal", "more.csv"][..],
        &["train", "-m", "new.tamis", "metal=more.csv", "all.csv"],
    ] {
        let said = world.fail(arguments);
        assert!(said.contains("more.csv:3: expected a row labelled \"metal\""), "{said}");
    }
    assert!(!world.path("new.tamis").exists() && counts("m.tamis") == counts("all.tamis"));
    let said = world.fail(&["learn", "-m", "m.tamis", "eggs.csv"]);
    assert!(said.contains("got \"eggs\"; --new-label adds it"), "{said}");
    // without a model of it, a label is wrong, and named once
    let evaluated = world.run(&["evaluate", "-m", "m.tamis", "all.csv", "eggs.csv", "--json"]);
    assert!(stderr(&evaluated).contains("does not know 1 label, whose documents count as wrong: eggs\n"));
    let figures: Value = serde_json::from_slice(&evaluated.stdout).unwrap();
    let eggs = &figures["classes"][0];
    assert_eq!(
        (&figures["documents"], &eggs["label"], &eggs["recall"]),
        (&4.into(), &"eggs".into(), &0.0.into())
    );
    world.succeed(&["learn", "-m", "m.tamis", "--new-label", "eggs.csv"]);
    assert!(world.succeed(&["inspect", "-m", "m.tamis"]).contains("eggs"));
}
