//! Accuracy on public corpora, where they are (see CONTRIBUTING.md).

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use tamis_testing::public_corpus;

use crate::support::{World, feed, skip_without, stderr, stdout};

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

/// What a program prints, given the names of files on its standard input.
#[track_caller]
fn asked(mut command: Command, files: &str) -> String {
    command.env_remove("BOGOFILTER_DIR");
    let output = feed(command, files.as_bytes());
    assert!(output.status.code().is_some_and(|status| status < 3), "{}", stderr(&output));
    stdout(&output)
}

/// How many of the verdicts are those of the others, and how many there are.
fn equal(verdicts: &[String], others: &[String]) -> (usize, usize) {
    assert_eq!(verdicts.len(), others.len());
    (verdicts.iter().zip(others).filter(|(a, b)| a == b).count(), others.len())
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: 4 s"]
    fn spamassassin_is_told_from_ham() {
        let Some(corpus) = public_corpus("spamassassin") else { return };
        let world = World::new();
        assert_eq!(split_spamassassin(&corpus, &world), [3022, 3024]);
        // the default leaves more spam unsure
        world.succeed(&["train", "--cost", "fp=19", "train"]);
        world.succeed(&["verify"]);
        let figures = evaluate(&world, &["test", "--scores", "scores.tsv"]);
        assert_eq!(figures["documents"], 3024);
        // one ham in a hundred is in doubt
        assert!(figures["accuracy"].as_f64().unwrap() >= 0.975, "{figures}");
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
        assert!(lost <= 3 && unsure <= 70, "{lost} ham lost, {unsure} unsure");
    }

    #[test]
    #[ignore = "slow: 4 s"]
    fn twenty_newsgroups_are_told_apart() {
        let Some(corpus) = public_corpus("20newsgroups-bydate") else { return };
        let world = World::new();
        let test = corpus.join("test").display().to_string();
        world.succeed(&["train", &corpus.join("train").display().to_string()]);
        let figures = evaluate(&world, &[&test]);
        assert!(figures["accuracy"].as_f64().unwrap() >= 0.865, "{figures}");
        assert!(figures["log_loss"].as_f64().unwrap() <= 0.60, "{figures}");
        assert!(figures["expected_calibration_error"].as_f64().unwrap() <= 0.032, "{figures}");
        let one = world.succeed(&["label", "--format", "csv", "--threads", "1", &test]);
        assert_eq!(one.lines().count(), 7532 + 1);
        assert_eq!(one, world.succeed(&["label", "--format", "csv", "--threads", "2", &test]));
    }

    #[test]
    #[ignore = "slow: 4 s"]
    fn a_word_list_taken_over_answers_as_bogofilter_does() {
        let Some(corpus) = public_corpus("spamassassin") else { return };
        if skip_without(&["bogofilter", "bogoutil"]) {
            return;
        }
        let world = World::new();
        split_spamassassin(&corpus, &world);
        let files = |folder: &str| {
            let files = std::fs::read_dir(world.path(folder)).unwrap().map(|entry| entry.unwrap().path());
            files.map(|path| format!("{}\n", path.display())).collect::<String>()
        };
        let bogofilter = |arguments: &[&str], files: &str| {
            let mut command = Command::new("bogofilter");
            command.args(["-C", "-d"]).arg(world.path("folder")).args(arguments);
            asked(command, files)
        };
        std::fs::create_dir(world.path("folder")).unwrap();
        for (option, folder) in [("-n", "train/ham"), ("-s", "train/spam")] {
            bogofilter(&[option, "-b"], &files(folder));
        }
        let mut dump = Command::new("bogoutil");
        dump.arg("-d").arg(world.path("folder/wordlist.db"));
        world.write("list", asked(dump, ""));

        let of_bogofilter = |lines: String| -> Vec<String> {
            let verdict =
                |line: &str| Some(line.split_once("X-Bogosity: ")?.1.split_once(',')?.0.to_lowercase());
            lines.lines().filter_map(verdict).collect()
        };
        let of_tamis = |lines: String| -> Vec<String> {
            lines.lines().filter_map(|line| Some(line.split_once(' ')?.0.to_owned())).collect()
        };
        world.succeed(&["import", "--from", "bogofilter", "-m", "list.tamis", "list"]);
        for (label, n) in [("ham", 2_087), ("spam", 937)] {
            let files = files(&format!("test/{label}"));
            let expected = of_bogofilter(bogofilter(&["-v", "-b"], &files));
            // the first call takes the list over
            let by_name = world.command(&["bogofilter", "-C", "-d", "folder", "-v", "-b"]);
            let by_name = of_bogofilter(asked(by_name, &files));
            let score = world.command(&["score", "-m", "list.tamis", "--files-from", "-"]);
            let score = of_tamis(asked(score, &files));
            for (door, verdicts) in [("tamis bogofilter", by_name), ("tamis import, tamis score", score)] {
                let (same, all) = equal(&verdicts, &expected);
                eprintln!("{door}: {same} of {all} {label} called as bogofilter calls them");
                assert_eq!(all, n);
                assert!(100 * same >= 97 * all, "{door}: {same} of {all} {label}");
            }
        }
    }
}
