//! Dense vectors beside documents, as users give them: in a column, in a file of NumPy, or by an encoder.

use std::fs;

use crate::support::{World, root, stderr, stdout};

const LABELS: [&str; 3] = ["fruit", "metal", "wood"];

/// An encoder of the texts below, which answers all of them at the end. It knows their labels, unlike their words.
const ENCODER: &str = r"sed 's/.*w\(.*\) w\(.*\) n.*[012].$/[0.9, 0.\1, 0.\2]/; s/.*w\(.*\) w\(.*\) n.*[345].$/[0.\1, 0.8, 0.\2]/; s/.*w\(.*\) w\(.*\) n.*[6789].$/[0.\2, 0.\1, 0.9]/'";

/// The vector that the encoder makes of a text.
fn vector((label, text): &(usize, String)) -> [f32; 3] {
    let noise = |word: &str| format!("0.{}", &word[1..]).parse().unwrap();
    let mut words = text.split(' ').map(noise);
    let (one, other) = (words.next().unwrap(), words.next().unwrap());
    [[0.9, one, other], [one, 0.8, other], [other, one, 0.9]][*label]
}

/// The text of a document and the place of its label, which its last digit tells. Each word is one document's alone, or of
/// all labels.
fn texts(from: usize, n: usize) -> Vec<(usize, String)> {
    let text = |i: usize| format!("w{} w{} n{i}", i * i % 7, i * i % 11);
    (from..from + n).map(|i| ([0, 0, 0, 1, 1, 1, 2, 2, 2, 2][i % 10], text(i))).collect()
}

fn jsonl(texts: &[(usize, String)], with_vectors: bool) -> String {
    let row = |document: &(usize, String)| {
        let (label, text) = document;
        let vector =
            if with_vectors { format!(", \"vector\": {:?}", vector(document)) } else { String::new() };
        format!("{{\"label\": \"{}\", \"text\": \"{text}\"{vector}}}\n", LABELS[*label])
    };
    texts.iter().map(row).collect()
}

/// A file of NumPy with the vectors of documents.
fn npy(texts: &[(usize, String)]) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, 3), }}", texts.len());
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(texts.iter().flat_map(vector).flat_map(f32::to_le_bytes));
    bytes
}

/// A world with learned documents and new ones, with their vectors and bare, and a model of the vectors.
fn world() -> World {
    let (world, learned, new) = (World::new(), texts(0, 60), texts(60, 30));
    for (name, texts) in [("learned", &learned), ("new", &new)] {
        world.write(&format!("{name}.jsonl"), jsonl(texts, true));
        world.write(&format!("{name}-bare.jsonl"), jsonl(texts, false));
        world.write(&format!("{name}.npy"), npy(texts));
    }
    world.succeed(&["train", "-m", "model", "--encoder-name", "sed", "learned.jsonl"]);
    world
}

/// The labels that `tamis label` gives, without the names of the documents.
fn labelled(world: &World, arguments: &[&str]) -> Vec<String> {
    let out = world.succeed(&[&["label", "-m", "model"], arguments].concat());
    out.lines().skip(1).map(|line| line.split_once(',').unwrap().1.to_owned()).collect()
}

#[test]
fn every_way_to_give_vectors_makes_the_same_model() {
    let world = world();
    // as NumPy prints it
    let row = |document: &(usize, String)| {
        let numbers = format!("{:?}", vector(document)).replace(',', "\n");
        format!("{},{},\"{numbers}\"\n", LABELS[document.0], document.1)
    };
    let rows: String = texts(0, 60).iter().map(row).collect();
    world.write("learned.csv", format!("label,text,meaning\n{rows}"));
    for arguments in [
        &["learned.csv", "--vector-column", "meaning"][..],
        &["learned-bare.jsonl", "--vectors", "learned.npy"],
        &["learned-bare.jsonl", "--encoder", ENCODER],
    ] {
        world.succeed(&[&["train", "-m", "other", "--replace", "--encoder-name", "sed"], arguments].concat());
        assert!(
            fs::read(world.path("other")).unwrap() == fs::read(world.path("model")).unwrap(),
            "{arguments:?}"
        );
    }
    world.succeed(&["train", "--partial", "-m", "partial", "--encoder-name", "sed", "learned.jsonl"]);
    world.succeed(&["merge", "-m", "merged", "partial"]);
    assert!(world.succeed(&["inspect", "-m", "merged"]).contains("3 dimensions by sed"));
}

#[test]
fn every_command_takes_the_vectors_of_its_documents() {
    let world = world();
    let rows = labelled(&world, &["new.jsonl"]);
    let is_right = |(line, (label, _)): &(&String, (usize, String))| line.starts_with(LABELS[*label]);
    assert!(rows.iter().zip(texts(60, 30)).filter(is_right).count() > 27, "{rows:?}");
    let encoder = ["--encoder-name", "sed", "--encoder", ENCODER];
    assert_eq!(labelled(&world, &["new-bare.jsonl", "--vectors", "new.npy"]), rows);
    assert_eq!(labelled(&world, &[&["new-bare.jsonl"], &encoder[..]].concat()), rows);
    let scored = world.succeed(&["score", "-m", "model", "new.jsonl"]).replace("new", "new-bare");
    assert_eq!(world.succeed(&["score", "-m", "model", "new-bare.jsonl", "--vectors", "new.npy"]), scored);
    assert_eq!(world.succeed(&[&["score", "-m", "model", "new-bare.jsonl"], &encoder[..]].concat()), scored);
    // what comes only once is read twice
    let bare = fs::read(world.path("new-bare.jsonl")).unwrap();
    let arguments = [&["label", "-m", "model", "--input-format", "jsonl", "-"], &encoder[..]].concat();
    let labels = stdout(&world.run_with_input(&arguments, &bare));
    assert_eq!(labels.lines().skip(1).map(|line| line.split_once(',').unwrap().1).collect::<Vec<_>>(), rows);
    let one = world.run_with_input(&[&["score", "-m", "model"], &encoder[..]].concat(), b"w1 w1 n4");
    assert!(stdout(&one).starts_with("metal "), "{}", stdout(&one));

    for arguments in
        [&["new.jsonl:1"][..], &["new-bare.jsonl:1", "--encoder", ENCODER, "--encoder-name", "sed"]]
    {
        let explained = world.succeed(&[&["explain", "-m", "model"], arguments].concat());
        assert!(explained.contains("vector of 3"), "{explained}");
    }
    let accuracy = |arguments: &[&str]| {
        let out = world.succeed(&[&["evaluate", "--json"], arguments].concat());
        serde_json::from_str::<serde_json::Value>(&out).unwrap()["accuracy"].as_f64().unwrap()
    };
    for arguments in [
        &["-m", "model", "new.jsonl"][..],
        &["--folds", "4", "new.jsonl"],
        &["--folds", "4", "new-bare.jsonl", "--vectors", "new.npy"],
        &["--folds", "4", "new-bare.jsonl", "--encoder", ENCODER],
    ] {
        assert!(accuracy(arguments) > 0.9, "{arguments:?}");
    }
    assert!(accuracy(&["--folds", "4", "new-bare.jsonl"]) < 0.7);
    assert!(accuracy(&["--online", "learned.jsonl"]) > accuracy(&["--online", "learned-bare.jsonl"]));
    assert!(accuracy(&["--folds", "4", "--unlabelled", "learned.jsonl", "new.jsonl"]) > 0.9);
    // rows without a vector are judged by their words
    let three = texts(60, 3);
    let given = format!("{:?}", vector(&three[0]));
    world.write("half.jsonl", jsonl(&three, true).replacen(&given, "null", 1));
    let half = labelled(&world, &["half.jsonl"]);
    let bare = labelled(&world, &["new-bare.jsonl"]);
    assert!(half[1..] == rows[1..3] && half[0] == bare[0] && bare[0] != rows[0], "{half:?} {rows:?}");
}

#[test]
fn vectors_are_learned_suggested_compared_and_forgotten() {
    let world = world();
    let before = labelled(&world, &["new.jsonl"]);
    let vectors = |model: &str| {
        let out = world.succeed(&["inspect", "-m", model]);
        out.lines().find(|line| line.starts_with("vectors")).unwrap().to_owned()
    };
    let at_first = vectors("model");
    world.succeed(&["learn", "-m", "model", "--no-retrain", "new.jsonl"]);
    let explained = world.succeed(&["explain", "-m", "model", "new.jsonl:1"]);
    let line = explained.lines().find(|line| line.ends_with("vector of 3")).unwrap();
    // of all fruit, learned and new
    assert!(line.contains(" 27 "), "{line}");
    world.succeed(&["forget", "-m", "model", "new-bare.jsonl", "--vectors", "new.npy"]);
    // so many changes of so few documents are fitted anew
    let label = |row: &String| row.split(',').next().unwrap_or_default().to_owned();
    let labels = |rows: &[String]| rows.iter().map(label).collect::<Vec<_>>();
    assert_eq!(labels(&labelled(&world, &["new.jsonl"])), labels(&before));
    assert_eq!(vectors("model"), at_first);

    let suggested =
        world.run_with_input(&["suggest", "-m", "model", "-n", "2", "--interactive", "new.jsonl"], b"1\n1\n");
    assert!(stdout(&suggested).ends_with("learned 2 documents\n"), "{}", stdout(&suggested));
    let drift = world.run(&["drift", "-m", "model", "new.jsonl"]);
    assert!(
        stdout(&drift).starts_with("no drift found") || drift.status.code() == Some(1),
        "{}",
        stderr(&drift)
    );

    // a model that begins by learning
    world.succeed(&["learn", "-m", "grown", "--labels", "fruit,metal,wood", "learned.jsonl"]);
    assert!(vectors("grown").contains("3 dimensions"));
    let moved =
        world.write("moved.jsonl", jsonl(&texts(0, 1), true).replace("fruit", "wood")).display().to_string();
    world.succeed(&["learn", "-m", "grown", "--no-retrain", &moved]);
    assert!(world.succeed(&["explain", "-m", "grown", &moved]).contains("vector of 3"));
}

#[test]
fn a_model_of_vectors_says_once_that_there_are_none() {
    let world = world();
    for arguments in [
        &["label", "-m", "model", "new-bare.jsonl"][..],
        &["score", "-m", "model", "new-bare.jsonl"],
        &["explain", "-m", "model", "new-bare.jsonl:1"],
        &["learn", "-m", "model", "new-bare.jsonl"],
    ] {
        let output = world.run(arguments);
        let told = stderr(&output);
        assert!(output.status.success(), "{told}");
        assert_eq!(told.matches("the model has vectors, and no document came with one").count(), 1, "{told}");
    }
    // a model without vectors does not mind the column
    world.succeed(&["train", "-m", "bare", "learned-bare.jsonl"]);
    assert_eq!(stderr(&world.run(&["label", "-m", "bare", "new.jsonl"])), "new.jsonl: text, 1 file\n");
    let told = world.fail(&["label", "-m", "bare", "new.jsonl", "--vectors", "new.npy"]);
    assert!(told.contains("--vectors: expected a model of vectors, got one without"), "{told}");
}

#[test]
fn a_file_of_vectors_has_a_row_for_each_document() {
    let world = world();
    for (i, (label, text)) in texts(60, 30).iter().enumerate() {
        world.write(&format!("files/{}/{i:02}.txt", LABELS[*label]), text);
        world.write(&format!("alike/{i:02}.txt"), text);
    }
    let rows = labelled(&world, &["new.jsonl"]);
    assert_eq!(labelled(&world, &["alike", "--vectors", "new.npy"]), rows);
    // in the order of their paths: all fruit, all metal, all wood
    let mut by_label = texts(60, 30);
    by_label.sort_by_key(|(label, _)| *label);
    world.write("files.npy", npy(&by_label));
    world.succeed(&["train", "-m", "folders", "files", "--vectors", "files.npy", "--encoder-name", "sed"]);
    assert!(world.succeed(&["inspect", "-m", "folders"]).contains("3 dimensions by sed"));

    for (sources, n, expected) in [
        (&["alike"][..], 29, "expected 30 rows, one for each document, got 29"),
        (&["new-bare.jsonl"], 31, "expected 30 rows, one for each document, got 31"),
        (&["new-bare.jsonl"], 29, "expected at least 30 rows, one for each document, got 29"),
        (&["alike", "new-bare.jsonl"], 61, "expected 60 rows, one for each document, got 61"),
    ] {
        world.write("other.npy", npy(&texts(60, n)));
        let told = world.fail(&[&["label", "-m", "model", "--vectors", "other.npy"], sources].concat());
        assert!(told.contains(expected), "{told}");
    }
    let told = world.fail(&["score", "-m", "model", "--vectors", "other.npy", "new-bare.jsonl"]);
    assert!(told.contains("expected 30 rows, one for each document, got 61"), "{told}");
    world.write("other.npy", "no numbers at all");
    let told = world.fail(&["train", "-m", "x", "learned-bare.jsonl", "--vectors", "other.npy"]);
    assert!(
        told.contains("--vectors other.npy: expected a file of NumPy (.npy), got something else"),
        "{told}"
    );
    let told = world.fail(&[
        "train",
        "-m",
        "x",
        "learned-bare.jsonl",
        "--vectors",
        "learned.npy",
        "--unlabelled",
        "alike",
    ]);
    assert!(told.contains("--vectors: expected no --unlabelled"), "{told}");
}

#[test]
fn mail_has_vectors_of_its_subject_and_body() {
    let world = World::new();
    let mail = root().join("corpora/mail").display().to_string();
    let (ham, spam, inbox) =
        (format!("ham={mail}/ham"), format!("spam={mail}/spam"), format!("{mail}/inbox/01.eml"));
    let encoder = "tee texts | sed 's/^\"R.*/[1, 0]/; s/^\".*/[0, 1]/'";
    world.succeed(&["train", "-m", "model", "--encoder", encoder, &ham, &spam]);
    let explained = world.succeed(&["explain", "-m", "model", "--terms", "0", "--encoder", encoder, &inbox]);
    assert!(explained.contains("vector of 2"), "{explained}");
    let text: String = serde_json::from_str(&fs::read_to_string(world.path("texts")).unwrap()).unwrap();
    let message = fs::read_to_string(&inbox).unwrap();
    let subject = message.lines().find_map(|line| line.strip_prefix("Subject: ")).unwrap();
    assert!(text.starts_with(subject) && text.contains("\n\n") && !text.contains("Received"), "{text}");
}

#[test]
fn an_encoder_that_fails_is_told_in_a_sentence() {
    let world = world();
    for (command, expected) in [
        (
            "echo told by it >&2; exit 4",
            "expected it to end with status 0, got exit status: 4 after 0 arrays",
        ),
        ("sed 5q | sed 's/.*/[1, 2, 3]/'", "expected 30 arrays, one for each text, got 5"),
        ("sed 's/.*/[1, 2, 3]/; p'", "expected 30 arrays, one for each text, got 60"),
        ("sed 's/.*/[1, 2]/'", "expected 3 numbers a vector, as the model has, got 2"),
        ("sed 's/.*/[1, 2, 3]/; 9s/3/3, 4/'", "line 9: expected 3 numbers, got 4"),
        ("sed 's/.*/[1, 2, NaN]/'", "line 1: expected finite numbers, got NaN"),
        ("sed 's/.*/[1e99, 2, 3]/'", "line 1: expected finite numbers, got inf"),
        ("sed 's/.*/{}/'", "line 1: expected an array of numbers, got something else: {}"),
        ("sed 's/.*/[]/'", "line 1: expected at least 1 numbers, got 0"),
        ("sleep 60", "expected it to read or write something, got nothing for 1 second"),
        ("sed 's/.*/[1, 2, 3]/'; exec >&-; sleep 3", "got nothing for 1 second"),
    ] {
        let arguments =
            ["label", "-m", "model", "--encoder-name", "sed", "--encoder-timeout", "1", "--encoder", command];
        let told = world.fail(&[&arguments[..], &["new-bare.jsonl"]].concat());
        assert!(told.contains(&format!("tamis: --encoder {command}: ")) && told.contains(expected), "{told}");
        assert_eq!(told.contains("told by it\n"), command.contains("told by it"), "{told}");
    }
}

#[test]
fn an_encoder_may_be_given_many_texts_before_it_answers() {
    let world = world();
    let many: String = (0..300).map(|_| jsonl(&texts(60, 30), false)).collect();
    world.write("many.jsonl", &many);
    let encoder = ["--encoder-name", "sed", "--encoder", ENCODER];
    let (once, often) =
        (labelled(&world, &["new.jsonl"]), labelled(&world, &[&["many.jsonl"], &encoder[..]].concat()));
    assert!(often.len() == 9_000 && often.chunks(30).all(|chunk| chunk == once));
    // silent, with more texts than fit into its pipe
    let arguments = ["--encoder-name", "sed", "--encoder-timeout", "1", "--encoder", "sleep 5 | cat"];
    let told = world.fail(&[&["label", "-m", "model", "many.jsonl"], &arguments[..]].concat());
    assert!(told.contains("got nothing for 1 second"), "{told}");
}

#[test]
fn vectors_of_another_encoder_are_refused() {
    let world = world();
    let label = ["label", "-m", "model", "new-bare.jsonl"];
    let told = world.fail(&[&label[..], &["--encoder", ENCODER]].concat());
    assert!(
        told.contains("expected vectors of the encoder that the model was trained with, sed, got sed 's/"),
        "{told}"
    );
    assert!(told.contains("--encoder-name 'sed'"), "{told}");
    world.succeed(&[&label[..], &["--encoder", ENCODER, "--encoder-name", "sed"]].concat());
    for command in ["learn", "forget", "score", "explain"] {
        let told = world.fail(&[command, "-m", "model", "new.jsonl", "--encoder-name", "e5"]);
        assert!(told.contains("trained with, sed, got e5"), "{told}");
    }
}

#[test]
fn tables_have_no_vectors() {
    let world = world();
    let table = ["train", "-m", "table", "learned.jsonl", "--target", "label"];
    let told = world.fail(&table);
    assert!(told.contains("column \"vector\": expected no vectors in a table with --target"), "{told}");
    let told = world.fail(&[&table[..], &["--vectors", "learned.npy"]].concat());
    assert!(told.contains("--vectors: expected none for a table with many columns"), "{told}");
    world.succeed(&[&table[..], &["--column", "vector=skip"]].concat());
}

#[test]
fn a_bad_vector_is_told_with_its_row() {
    let world = world();
    let row = |vector: &str| format!("{{\"label\": \"wood\", \"text\": \"oak\", \"vector\": {vector}}}\n");
    for (vector, expected) in [
        ("[1, 2]", "expected 3 features, got 2"),
        ("[1, 2, NaN]", "column \"vector\": expected an array of numbers, got something else at number 3"),
        ("[1, 2, 3000]", "got 3000"),
        ("\"north\"", "column \"vector\": expected an array of numbers, got something else"),
    ] {
        world.write("bad.jsonl", row("[1, 2, 3]") + &row(vector));
        let told = world.fail(&["label", "-m", "model", "--strict", "bad.jsonl"]);
        assert!(told.contains("tamis: bad.jsonl:2: ") && told.contains(expected), "{told}");
    }
    let told = world.fail(&["train", "-m", "x", "learned-bare.jsonl", "--vector-column", "meaning"]);
    assert!(
        told.contains("expected rows with an array of numbers in the column \"meaning\", got none"),
        "{told}"
    );
}
