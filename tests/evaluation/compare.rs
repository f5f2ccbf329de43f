//! `tamis compare`: which of two models is better, and whether that is more than chance.

use std::fs;

use crate::support::{World, feed, root, skip, stderr, stdout};

/// A world with mail to learn and to be tested on, and a good model.
fn world() -> World {
    let world = World::new();
    for label in ["ham", "spam"] {
        let folder = root().join("corpora/mail").join(label);
        let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for (number, file) in files.iter().enumerate() {
            let set = if number % 2 == 0 { "learn" } else { "test" };
            let name = file.file_name().unwrap().to_str().unwrap();
            world.write(&format!("{set}/{label}/{name}"), fs::read(file).unwrap());
        }
    }
    world.succeed(&["train", "-m", "good.tamis", "ham=learn/ham", "spam=learn/spam"]);
    world
}

const TEST: [&str; 2] = ["ham=test/ham", "spam=test/spam"];

fn compare(world: &World, arguments: &[&str]) -> serde_json::Value {
    let arguments = [&["compare", "--json"], arguments, &TEST].concat();
    serde_json::from_str(&world.succeed(&arguments)).unwrap()
}

#[test]
fn a_model_that_learned_the_labels_swapped_is_worse_and_that_is_sure() {
    let world = world();
    world.succeed(&["train", "-m", "swapped.tamis", "spam=learn/ham", "ham=learn/spam"]);
    let found = compare(&world, &["swapped.tamis", "good.tamis"]);
    let pair = &found["comparisons"][0];
    assert!(pair["mcnemar_p"].as_f64().unwrap() < 1e-3, "{found}");
    assert!(pair["one_minus_roc_auc_percent_difference_interval"][0].as_f64().unwrap() > 50.0, "{found}");
    let printed = world.succeed(&["compare", "swapped.tamis", "good.tamis", TEST[0], TEST[1]]);
    assert!(
        printed.contains("B is better by verdicts") && printed.contains("B is better by ranking"),
        "{printed}"
    );
}

#[test]
fn the_figures_are_those_of_evaluate() {
    let world = world();
    world.succeed(&["train", "-m", "words.tamis", "--content-only", "ham=learn/ham", "spam=learn/spam"]);
    let found = compare(&world, &["good.tamis", "words.tamis"]);
    for (place, model) in ["good.tamis", "words.tamis"].iter().enumerate() {
        let alone = world.succeed(&["evaluate", "--json", "-m", model, TEST[0], TEST[1]]);
        let alone: serde_json::Value = serde_json::from_str(&alone).unwrap();
        let side = &found["models"][place];
        assert_eq!(side["one_minus_roc_auc_percent"], alone["one_minus_roc_auc_percent"]);
        let n = found["documents"].as_f64().unwrap();
        let accuracy = 1.0 - side["wrong"].as_f64().unwrap() / n;
        assert!((accuracy - alone["accuracy"].as_f64().unwrap()).abs() < 1e-12, "{found}");
    }
    let only = |key: &str| found["comparisons"][0][key].as_i64().unwrap();
    let wrong = |place: usize| found["models"][place]["wrong"].as_i64().unwrap();
    assert_eq!(only("only_first_right") - only("only_second_right"), wrong(1) - wrong(0));
}

#[test]
fn equal_models_are_equal_and_settings_are_compared_too() {
    let world = world();
    let same = compare(&world, &["good.tamis", "good.tamis"]);
    assert_eq!(same["comparisons"][0]["mcnemar_p"], 1.0);
    assert!(same["comparisons"][0]["conclusion"][0].as_str().unwrap().contains("neither"), "{same}");
    let settings = compare(&world, &["good.tamis", "--with", "-m good.tamis --unsure 0.9999"]);
    assert!(
        settings["models"][1]["unsure"].as_u64() > settings["models"][0]["unsure"].as_u64(),
        "{settings}"
    );
    let folds = ["--with", "--folds 4", "--with", "--folds 4 --likelihood multinomial"];
    assert_eq!(compare(&world, &folds)["models"].as_array().unwrap().len(), 2);
}

#[test]
fn documents_that_a_model_has_learned_are_told() {
    let world = world();
    let arguments = ["compare", "good.tamis", "good.tamis", "ham=learn/ham", "spam=learn/spam"];
    let output = world.run(&arguments);
    assert!(stderr(&output).contains("good.tamis has learned 84 of these 84"), "{}", stderr(&output));
}

#[test]
fn wrong_arguments_are_told() {
    let world = world();
    assert!(world.fail(&["compare", "good.tamis", TEST[0], TEST[1]]).contains("expected 2 to 26 models"));
    let said = world.fail(&["compare", "good.tamis", "--with", "--no-such", TEST[0], TEST[1]]);
    assert!(said.contains("--with \"--no-such\": unexpected argument"), "{said}");
    assert!(world.fail(&["compare", "good.tamis", "good.tamis", "-"]).contains("standard input"));
}

#[test]
fn bogofilter_s_word_list_is_asked_by_bogofilter() {
    if std::process::Command::new("bogofilter").arg("-V").output().is_err() {
        skip("bogofilter is not installed");
        return;
    }
    let world = world();
    for (option, label) in [("-n", "ham"), ("-s", "spam")] {
        let mut command = std::process::Command::new("bogofilter");
        command.args(["-C", "-d", "list", option, "-B"]).current_dir(world.path(""));
        command
            .args(fs::read_dir(world.path("learn").join(label)).unwrap().map(|entry| entry.unwrap().path()));
        assert!(feed(command, b"").status.success());
    }
    let found = compare(&world, &["list", "good.tamis"]);
    assert_eq!(found["models"][0]["model"], "bogofilter list");
    assert_eq!(found["models"][0], {
        let mut by_file = compare(&world, &["list/wordlist.db", "good.tamis"])["models"][0].clone();
        by_file["model"] = "bogofilter list".into();
        by_file
    });
    // it is right far more often than a coin
    let (wrong, n) = (found["models"][0]["wrong"].as_u64().unwrap(), found["documents"].as_u64().unwrap());
    assert!(wrong < n && found["models"][0]["one_minus_roc_auc_percent"].as_f64().unwrap() < 30.0, "{found}");
}

#[test]
fn learning_shows_dots_and_sa_learn_s_summary() {
    let world = world();
    for (option, dots) in [("--dots", true), ("--showdots", true), ("--progress", true)] {
        let output = world.run(&["learn", "-m", "good.tamis", option, "spam", "test/spam"]);
        assert!(output.status.success());
        let n = fs::read_dir(world.path("test/spam")).unwrap().count();
        assert_eq!(stderr(&output).contains(&format!("{}\n", ".".repeat(n))), dots, "{}", stderr(&output));
        let expected = format!("Learned tokens from {n} message(s) ({n} message(s) examined)\n");
        assert_eq!(stdout(&output), expected, "{option}");
        let again = world.succeed(&["learn", "-m", "good.tamis", option, "spam", "test/spam"]);
        assert_eq!(again, format!("Learned tokens from 0 message(s) ({n} message(s) examined)\n"));
        let forgotten = world.succeed(&["forget", "-m", "good.tamis", option, "test/spam"]);
        assert_eq!(forgotten, format!("Forgot tokens from {n} message(s) ({n} message(s) examined)\n"));
    }
}
