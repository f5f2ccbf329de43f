//! Families of terms beside words: chosen for text, fixed by `--ngrams`, `--pieces` and `--signs`.

use std::fs;

use crate::support::{World, stderr};

const CHOSEN: &str = "words and pairs of words are terms, since they predict held-out documents better\n";

/// What fixes words and pairs.
const PAIRS: [&str; 7] = ["--ngrams", "1-2", "--ends", "--pieces", "off", "--signs", "off"];
const WORDS: [&str; 6] = ["--ngrams", "1", "--pieces", "off", "--signs", "off"];

/// Rows of two labels that only two words together tell apart, then as many of others.
fn rows(more: &[&str]) -> String {
    let opinion = |i: usize| match i % 4 {
        0 => ("good", "not bad"),
        1 => ("good", "very good"),
        2 => ("bad", "not good"),
        _ => ("bad", "very bad"),
    };
    let row = |i: usize| format!("{},{} number{i}\n", opinion(i).0, opinion(i).1);
    let rows = more.iter().map(|row| format!("{row}\n"));
    format!("label,text\n{}{}", (0..240).map(row).collect::<String>(), rows.collect::<String>())
}

/// The model trained with these arguments; and whether it was said that it has pairs by choice.
fn train(world: &World, arguments: &[&str]) -> (Vec<u8>, bool) {
    let output = world.run(&[&["train", "-m", "m"][..], arguments].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    (fs::read(world.path("m")).unwrap(), stderr(&output).contains(CHOSEN))
}

#[test]
fn pairs_are_chosen_where_they_tell() {
    let world = World::new();
    world.write("t.csv", rows(&[]));
    let words = train(&world, &[&["t.csv"][..], &WORDS].concat()).0;
    let (pairs, is_said) = train(&world, &[&["t.csv"][..], &PAIRS].concat());
    assert!(words != pairs && !is_said);
    let answers = world.succeed(&["label", "-m", "m", "t.csv"]);
    let (chosen, is_said) = train(&world, &["t.csv", "--threads", "1"]);
    assert!(is_said && chosen == train(&world, &["t.csv", "--threads", "3"]).0);
    // it differs from what was asked for by remembering why
    assert!(chosen != pairs && world.succeed(&["label", "-m", "m", "t.csv"]) == answers);
    assert!(world.succeed(&["inspect", "-m", "m"]).contains(" pairs of words: log loss "));
    assert!(train(&world, &["t.csv", "--alpha", "1", "--idf-power", "0"]).1);
    let bayes = ["t.csv", "--likelihood", "multinomial"];
    let (model, is_said) = train(&world, &bayes);
    assert!(!is_said && model == train(&world, &[&bayes[..], &WORDS].concat()).0);
    assert!(world.succeed(&["evaluate", "--folds", "5", "t.csv"]).contains("accuracy  1.0000"));
}

#[test]
fn a_third_label_has_pairs_too() {
    let world = World::new();
    world.write("t.csv", rows(&["so so,neither good nor bad"]));
    assert!(train(&world, &["t.csv"]).1);
    // labels that are known before anything is read
    for i in 0..60 {
        let opinion = |at: usize| [["not bad", "very good"], ["not good", "very bad"]][at][i % 2];
        world.write(&format!("c/good/{i}.txt"), format!("{} number{i}", opinion(0)));
        world.write(&format!("c/bad/{i}.txt"), format!("{} number{i}", opinion(1)));
    }
    world.write("c/none/1.txt", "neither");
    assert!(train(&world, &["c"]).1);
}

#[test]
fn learning_and_retraining_keep_what_a_model_has() {
    let world = World::new();
    world.write("t.csv", rows(&[]));
    let (pairs, _) = train(&world, &["t.csv", "--documents"]);
    world.succeed(&["retrain", "-m", "m"]);
    assert_eq!(fs::read(world.path("m")).unwrap(), pairs);
    world.write("one.txt", "not bad");
    world.succeed(&["learn", "-m", "m", "good", "one.txt"]);
    world.succeed(&["learn", "-m", "new", "--labels", "bad,good", "good", "one.txt"]);
    for (model, has_pairs) in [("m", true), ("new", false)] {
        let about = world.succeed(&["inspect", "-m", model]);
        assert_eq!(about.contains("sequences of 1 to 2"), has_pairs, "{about}");
    }
}
