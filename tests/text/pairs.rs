//! Pairs of words: chosen for text of two labels, fixed by `--ngrams`.

use std::fs;

use crate::support::{World, stderr};

const CHOSEN: &str = "words and pairs of words are terms, since they predict left-out documents better\n";

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
fn pairs_are_chosen_for_two_labels() {
    let world = World::new();
    world.write("t.csv", rows(&[]));
    let words = train(&world, &["t.csv", "--ngrams", "1"]).0;
    let (pairs, is_said) = train(&world, &["t.csv", "--ngrams", "1-2"]);
    assert!(words != pairs && !is_said);
    let answers = world.succeed(&["label", "-m", "m", "t.csv"]);
    let (chosen, is_said) = train(&world, &["t.csv", "--threads", "1"]);
    assert!(is_said && chosen == train(&world, &["t.csv", "--threads", "3"]).0);
    // it differs from what was asked for by remembering why
    assert!(chosen != pairs && world.succeed(&["label", "-m", "m", "t.csv"]) == answers);
    assert!(world.succeed(&["inspect", "-m", "m"]).contains("\npairs       taken: log loss "));
    assert!(train(&world, &["t.csv", "--alpha", "1", "--idf-power", "0"]).1);
    let bayes = ["t.csv", "--likelihood", "multinomial"];
    let (model, is_said) = train(&world, &bayes);
    assert!(!is_said && model == train(&world, &[&bayes[..], &["--ngrams", "1"]].concat()).0);
    assert!(world.succeed(&["evaluate", "--folds", "5", "t.csv"]).contains("accuracy  1.0000"));
}

#[test]
fn a_third_label_means_words_alone() {
    let world = World::new();
    world.write("t.csv", rows(&["so so,neither good nor bad"]));
    let (words, _) = train(&world, &["t.csv", "--ngrams", "1"]);
    assert_eq!(train(&world, &["t.csv"]), (words, false));
    // labels that are known before anything is read
    for i in 0..60 {
        world.write(&format!("c/good/{i}.txt"), format!("not bad number{i}"));
        world.write(&format!("c/bad/{i}.txt"), format!("not good number{i}"));
    }
    world.write("c/none/1.txt", "neither");
    let (words, _) = train(&world, &["c", "--ngrams", "1"]);
    assert_eq!(train(&world, &["c"]), (words, false));
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
