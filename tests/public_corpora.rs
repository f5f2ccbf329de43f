//! Accuracy on public corpora, where they are (see CONTRIBUTING.md).

use std::os::unix::fs::symlink;
use std::path::Path;

use tamis_testing::public_corpus;

use crate::support::World;

/// Lays out train/LABEL and test/LABEL by the first digit of a hash of the file's name, as `corpora/README.md` tells.
fn split_spamassassin(corpus: &Path, world: &World) -> [u64; 2] {
    let mut counts = [0, 0];
    for label in ["ham", "spam"] {
        for half in ["train", "test"] {
            std::fs::create_dir_all(world.path(half).join(label)).unwrap();
        }
        for entry in std::fs::read_dir(corpus.join(label)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let half = usize::from(md5::compute(&name).0[0] >= 0x80);
            symlink(entry.path(), world.path(["train", "test"][half]).join(label).join(name)).unwrap();
            counts[half] += 1;
        }
    }
    counts
}

fn evaluate(world: &World, arguments: &[&str]) -> serde_json::Value {
    let mut all = vec!["evaluate", "--json"];
    all.extend(arguments);
    serde_json::from_str(&world.succeed(&all)).unwrap()
}

#[test]
fn spamassassin_is_told_from_ham() {
    let Some(corpus) = public_corpus("spamassassin") else { return };
    let world = World::new();
    assert_eq!(split_spamassassin(&corpus, &world), [3022, 3024]);
    world.succeed(&["train", "train"]);
    world.succeed(&["verify"]);
    let figures = evaluate(&world, &["test", "--scores", "scores.tsv"]);
    assert_eq!(figures["documents"], 3024);
    assert!(figures["accuracy"].as_f64().unwrap() >= 0.98, "{figures}");
    assert!(figures["roc_auc"].as_f64().unwrap() >= 0.998, "{figures}");
    let scores = std::fs::read_to_string(world.path("scores.tsv")).unwrap();
    assert_eq!(scores.lines().next(), Some("path\ttrue_label\tlog_odds\tverdict\tprobability"));
    assert_eq!(scores.lines().count(), 3025);
    let verdicts: Vec<_> = scores.lines().map(|row| row.split('\t').collect::<Vec<_>>()).collect();
    let count = |is: fn(&str, &str) -> bool| verdicts.iter().filter(|row| is(row[1], row[3])).count();
    let (lost, unsure) = (
        count(|label, verdict| label == "ham" && verdict == "spam"),
        count(|_, verdict| verdict == "unsure"),
    );
    // of 2,087 ham and of 3,024 messages
    assert!(lost <= 5 && unsure <= 60, "{lost} ham lost, {unsure} unsure");
}

#[test]
fn twenty_newsgroups_are_told_apart() {
    let Some(corpus) = public_corpus("20newsgroups-bydate") else { return };
    let world = World::new();
    let test = corpus.join("test").display().to_string();
    world.succeed(&["train", &corpus.join("train").display().to_string()]);
    let figures = evaluate(&world, &[&test]);
    assert!(figures["accuracy"].as_f64().unwrap() >= 0.865, "{figures}");
    assert!(figures["log_loss"].as_f64().unwrap() <= 0.60, "{figures}");
    assert!(figures["expected_calibration_error"].as_f64().unwrap() <= 0.03, "{figures}");
    let one = world.succeed(&["label", "--format", "csv", "--threads", "1", &test]);
    assert_eq!(one.lines().count(), 7532 + 1);
    assert_eq!(one, world.succeed(&["label", "--format", "csv", "--threads", "2", &test]));
}
