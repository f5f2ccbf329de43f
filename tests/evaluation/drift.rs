//! `tamis drift`: new documents against those that a model learned.

use std::fs;

use serde_json::{Value, json};
use tamis_testing::html::Html;

use crate::support::{World, stdout};

/// A number that looks random, the same at every run.
fn scrambled(n: u64) -> u64 {
    let z = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Texts of 20 common and rare words, each with a name that no other has. `shift` moves the words.
fn texts(first: u64, n: u64, shift: u64) -> Vec<String> {
    let word = |number: u64| {
        let place = (scrambled(number) >> 33) % 160;
        format!("word{}", place * place / 160 + shift)
    };
    let text = |text: u64| {
        let words: Vec<_> = (1..=20).map(|n| word(20 * text + n)).collect();
        format!("{} private{:x}", words.join(" "), scrambled(text + 1))
    };
    (first..first + n).map(text).collect()
}

/// A model of three labels in `model`, whose words differ a little.
fn world_with_model(options: &[&str]) -> World {
    let world = World::new();
    let rows = |label: &str, first: u64, shift: u64| {
        let row = |text: String| format!("{label}\t{text}\n");
        texts(first, 80, shift).into_iter().map(row).collect::<String>()
    };
    let rows = [rows("a", 0, 0), rows("b", 1_000, 30), rows("c", 2_000, 60)].concat();
    fs::write(world.path("rows.tsv"), format!("label\ttext\n{rows}")).unwrap();
    world.succeed(&[&["train", "-m", "model", "rows.tsv"], options].concat());
    world
}

fn write_new(world: &World, texts: &[Vec<String>]) {
    fs::write(world.path("new.tsv"), format!("text\n{}\n", texts.concat().join("\n"))).unwrap();
}

#[test]
fn drift_is_told_by_the_exit_status() {
    let world = world_with_model(&[]);
    write_new(&world, &[texts(5_000, 40, 0), texts(6_000, 40, 30), texts(7_000, 40, 60)]);
    let same = world.succeed(&["drift", "-m", "model", "new.tsv"]);
    assert!(same.starts_with("no drift found: 120 new documents, 240 learned ones\n"), "{same}");
    assert!(!same.contains("private"), "{same}");

    write_new(&world, &[texts(5_000, 40, 0), texts(6_000, 40, 500)]);
    let output = world.run(&["drift", "-m", "model", "new.tsv", "--json", "--html", "drift.html"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(json["drift"], true);
    assert!(json["tests"]["unknown_words"]["p"].as_f64().unwrap() < 0.001, "{json}");
    let [learned, new] = ["learned", "new"].map(|of| json[of]["unknown_words"].as_f64().unwrap());
    // of 21 words, the last is always unknown
    assert!(learned > 1.0 / 21.0 && learned < 0.1 && new > 0.4, "{learned} {new}");
    assert!(json["more_frequent"][0]["term"].as_str().unwrap().starts_with("word5"), "{json}");
    assert!(!json.to_string().contains("private"), "{json}");
    let page = fs::read_to_string(world.path("drift.html")).unwrap();
    assert!(page.contains("Drift: the new documents differ.") && !page.contains("private"));
    Html::parse(&page).assert_self_contained();
}

#[test]
fn a_few_documents_are_too_few() {
    let world = world_with_model(&[]);
    write_new(&world, &[texts(5_000, 19, 500)]);
    let said = world.succeed(&["drift", "-m", "model", "new.tsv"]);
    let expected = "too few documents to tell: expected 20 new documents and 50 learned ones, got 19 new documents, 240 learned ones\n";
    assert_eq!(said, expected);
}

#[test]
fn models_that_cannot_be_compared_say_what_is_expected() {
    let cannot = |options: &[&str], expected: &str| {
        let world = world_with_model(options);
        write_new(&world, &[texts(5_000, 30, 0)]);
        let said = world.fail(&["drift", "-m", "model", "new.tsv"]);
        assert!(said.contains(expected), "{options:?}: {said}");
    };
    cannot(&["--no-documents"], "which tamis train --documents makes");
    cannot(&["--likelihood", "multinomial"], "expected a model with weighted scoring");
    cannot(&["--labels", "many"], "expected a model of one label a document, got many");
}

#[test]
fn a_mail_counts_once_and_every_row_of_text_counts() {
    let world = World::with_mail_model();
    let ham = crate::support::root().join("corpora/mail/ham").display().to_string();
    let once = world.succeed(&["drift", "--level", "1e-300", "--json", &ham]);
    let twice = world.succeed(&["drift", "--level", "1e-300", "--json", &ham, &ham]);
    assert!(once.contains("\"read\":82}") && twice.contains("\"read\":164}"), "{twice}");
    assert_eq!(once, twice.replace("\"read\":164}", "\"read\":82}"));

    let world = world_with_model(&[]);
    let new = texts(5_000, 30, 0);
    write_new(&world, &[new.clone(), new]);
    let output = world.run(&["drift", "-m", "model", "new.tsv", "--json"]);
    let json: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(json["new"]["documents"], 60);
}

#[test]
fn a_log_tells_what_its_documents_do_but_for_their_words() {
    // three labels, and a spam filter, whose log-odds are those of spam
    for labels in [["a", "b", "c"], ["ham", "spam", "spam"]] {
        let world = World::new();
        let rows = |label: &str, first: u64, shift: u64| {
            texts(first, 80, shift).iter().map(|text| format!("{label}\t{text}\n")).collect::<String>()
        };
        let rows: String = labels.iter().zip(0..).map(|(label, n)| rows(label, 1_000 * n, 30 * n)).collect();
        world.write("rows.tsv", format!("label\ttext\n{rows}"));
        world.succeed(&["train", "-m", "model", "rows.tsv"]);
        for shift in [0, 500] {
            let new = texts(5_000, 30, shift);
            for text in &new {
                world.run_with_input(&["score", "-m", "model", "--log", "verdicts.log"], text.as_bytes());
            }
            let found = |paths: &[&str]| -> Value {
                let output = world.run(&[&["drift", "-m", "model", "--json"], paths].concat());
                serde_json::from_str(&stdout(&output)).unwrap()
            };
            write_new(&world, &[new]);
            let (of_log, of_documents) = (found(&["--log", "verdicts.log"]), found(&["new.tsv"]));
            assert_eq!(of_log["new"]["documents"], 30);
            let near = |a: &Value, b: &Value| (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 0.006;
            assert!(
                near(&of_log["new"]["log_odds"], &of_documents["new"]["log_odds"]),
                "{of_log} {of_documents}"
            );
            assert_eq!(of_log["new"]["unsure"], of_documents["new"]["unsure"]);
            if of_log["new"]["unsure"] == 0.0 || labels[0] == "ham" {
                assert_eq!(of_log["new"]["labels"], of_documents["new"]["labels"], "{labels:?} {shift}");
            }
            assert_eq!(
                (&of_log["new"]["unknown_words"], &of_log["more_frequent"]),
                (&Value::Null, &json!([]))
            );
            fs::remove_file(world.path("verdicts.log")).unwrap();
        }
        world.write("verdicts.log", "of another program\n");
        let said = world.succeed(&["drift", "-m", "model", "--log", "verdicts.log"]);
        assert!(said.starts_with("too few documents to tell: "), "{said}");
    }
}
