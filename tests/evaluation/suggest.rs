//! `tamis suggest`: which documents to label next.

use std::collections::HashSet;
use std::fs;

use serde_json::Value;

use crate::support::{World, stdout};

const LABELS: [&str; 3] = ["fruit", "metal", "weather"];

/// A text of one of three topics, of which each document has some words; the number makes it different from all others.
fn text(topic: usize, number: usize) -> String {
    let words = [
        ["apple", "pear", "plum", "cherry", "quince", "melon"],
        ["iron", "tin", "zinc", "copper", "silver", "nickel"],
        ["rain", "wind", "snow", "fog", "storm", "hail"],
    ];
    let word = |i: usize| words[topic][(number * (i + 1) + i) % 6];
    format!("{} {} {} number{number}", word(0), word(1), word(2))
}

/// A model of two documents of each of the first two labels, and one of the third; and 60 unlabelled rows.
fn world_with_model() -> World {
    let world = World::new();
    let known = [(0, 1), (0, 2), (1, 1), (1, 2), (2, 1)];
    let row = |(topic, number): (usize, usize)| format!("{}\t{}\n", LABELS[topic], text(topic, number));
    let rows: String = known.into_iter().map(row).collect();
    fs::write(world.path("known.tsv"), format!("label\ttext\n{rows}")).unwrap();
    let rows: String = (0..60).map(|n| format!("{n}\t{}\n", text(n % 3, 10 + n))).collect();
    fs::write(world.path("rest.tsv"), format!("id\ttext\n{rows}")).unwrap();
    world.succeed(&["train", "-m", "model", "known.tsv"]);
    world
}

fn paths(world: &World, arguments: &[&str]) -> Vec<String> {
    let output = world.succeed(&[&["suggest", "-m", "model", "--format", "jsonl"], arguments].concat());
    let path = |line: &str| serde_json::from_str::<Value>(line).unwrap()["path"].as_str().unwrap().to_owned();
    output.lines().map(path).collect()
}

#[test]
fn suggestions_differ_and_do_not_depend_on_threads_or_on_how_many_are_asked_for() {
    let world = world_with_model();
    let all = paths(&world, &["rest.tsv", "-n", "100"]);
    assert_eq!((all.len(), all.iter().collect::<HashSet<_>>().len()), (60, 60));
    assert_eq!(paths(&world, &["rest.tsv", "-n", "7", "--threads", "1"]), all[..7]);
    // the first ones are of different topics
    let topic = |path: &String| (path.rsplit(':').next().unwrap().parse::<usize>().unwrap() + 1) % 3;
    assert!(all[..6].iter().map(topic).collect::<HashSet<_>>().len() > 1, "{all:?}");
}

#[test]
fn what_is_known_is_left_out_and_of_copies_one_is_suggested() {
    let world = world_with_model();
    fs::write(world.path("a.txt"), text(0, 1)).unwrap();
    fs::write(world.path("b.txt"), "hail and iron").unwrap();
    fs::write(world.path("c.txt"), "hail and iron").unwrap();
    fs::write(world.path("d.txt"), "").unwrap();
    assert_eq!(paths(&world, &["c.txt", "b.txt", "a.txt", "d.txt", "--as", "text"]), ["b.txt"]);
}

#[test]
fn a_row_keeps_its_columns() {
    let world = world_with_model();
    let output = world.succeed(&["suggest", "-m", "model", "rest.tsv", "-n", "2", "--keep", "id"]);
    let lines: Vec<_> = output.lines().collect();
    assert_eq!((lines[0], lines.len()), ("id,path,label,probability,log_odds", 3));
    let mut cells = lines[1].split(',');
    let id: usize = cells.next().unwrap().parse().unwrap();
    assert_eq!(cells.next(), Some(&*format!("rest.tsv:{}", id + 2)));
}

#[test]
fn answers_are_learned_at_once() {
    let world = world_with_model();
    let first = paths(&world, &["rest.tsv", "-n", "3"]);
    // a wrong answer is asked again; then a label, a skipped document, and the end of the input
    let output = world.run_with_input(&["suggest", "-i", "-m", "model", "rest.tsv"], b"gold\nmetal\n\n");
    assert!(output.status.success(), "{output:?}");
    let shown = stdout(&output);
    assert!(shown.contains(&format!("1 of 20: {}", first[0])), "{shown}");
    assert!(shown.contains("expected a number or a label, got gold"), "{shown}");
    assert!(shown.contains("3 of 20: ") && !shown.contains("4 of 20: "), "{shown}");
    assert!(shown.ends_with("\nlearned 1 document\n"), "{shown}");
    let json: Value = serde_json::from_str(&world.succeed(&["inspect", "-m", "model", "--json"])).unwrap();
    assert_eq!(json["remembered"]["documents"], 6, "{json}");
    assert!(!paths(&world, &["rest.tsv", "-n", "100"]).contains(&first[0]));
}

#[test]
fn documents_of_many_labels_get_several() {
    let world = World::new();
    let rows = [r#"["a"]"#, r#"["b"]"#, r#"["a", "b"]"#, "[]"].iter().enumerate();
    let row =
        |(n, labels): (usize, &&str)| format!("{{\"label\": {labels}, \"text\": \"{}\"}}\n", text(n % 3, n));
    fs::write(world.path("rows.jsonl"), rows.cycle().take(40).map(row).collect::<String>()).unwrap();
    world.succeed(&["train", "-m", "model", "--labels", "many", "rows.jsonl"]);
    fs::write(world.path("new.txt"), "apple and storm and more").unwrap();
    let output = world.run_with_input(&["suggest", "-i", "-m", "model", "new.txt"], b"b, a\n");
    assert!(stdout(&output).ends_with("There are no more documents.\nlearned 1 document\n"), "{output:?}");
}

#[test]
fn what_cannot_be_suggested_is_told() {
    let world = world_with_model();
    let told = world.fail(&["suggest", "-m", "model", "rest.tsv", "-n", "0"]);
    assert!(told.contains("expected 1 to 5000 suggestions, got 0"), "{told}");
    let told = world.fail(&["suggest", "-m", "model", "-i", "-"]);
    assert!(told.contains("expected no documents on it"), "{told}");
}
