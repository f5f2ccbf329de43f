//! Cross-validation of any scoring, and what is left to chance.

use serde_json::Value;

use crate::support::{World, root};

fn evaluated(world: &World, arguments: &[&str]) -> Value {
    let all = [&["evaluate", "--json"][..], arguments].concat();
    serde_json::from_str(&world.succeed(&all)).unwrap()
}

#[test]
fn a_table_is_evaluated_by_folds() {
    let world = World::new();
    let iris = root().join("tests/data/iris.csv").display().to_string();
    let figures =
        evaluated(&world, &["--folds", "10", &iris, "--target", "species", "--scores", "scores.tsv"]);
    assert_eq!(figures["documents"], 150);
    // Gaussian naive Bayes on Iris: 95 % in any textbook
    let accuracy = figures["accuracy"].as_f64().unwrap();
    assert!((0.94..=0.967).contains(&accuracy), "{accuracy}");
    let scores = std::fs::read_to_string(world.path("scores.tsv")).unwrap();
    assert_eq!(scores.lines().count(), 151);
    assert_eq!(
        figures,
        evaluated(&world, &["--folds", "10", &iris, "--target", "species", "--threads", "1"])
    );
    let others = evaluated(&world, &["--folds", "10", "--seed", "3", &iris, "--target", "species"]);
    assert_ne!(figures["log_loss"], others["log_loss"]);
    // leaving one out is what a model of the others says
    let rows = std::fs::read_to_string(root().join("tests/data/iris.csv")).unwrap();
    let rows: Vec<_> = rows.lines().collect();
    world.write("others.csv", rows[..rows.len() - 1].join("\n"));
    world.write("last.csv", [rows[0], rows[rows.len() - 1]].join("\n"));
    world.succeed(&["train", "-m", "m.tamis", "others.csv", "--target", "species"]);
    let labelled = world.succeed(&["label", "-m", "m.tamis", "--format", "jsonl", "last.csv"]);
    let expected = serde_json::from_str::<Value>(&labelled).unwrap()["probability"].as_f64().unwrap();
    evaluated(&world, &["--folds", "150", &iris, "--target", "species", "--scores", "each.tsv"]);
    let each = std::fs::read_to_string(world.path("each.tsv")).unwrap();
    let last = each.lines().last().unwrap().rsplit('\t').next().unwrap().parse::<f64>().unwrap();
    assert!((last - expected).abs() < 1e-9, "{last} and not {expected}");
    let said = world.fail(&["evaluate", "--online", &iris, "--target", "species"]);
    assert!(said.contains("--online: expected no --target"), "{said}");
}

#[test]
fn every_scoring_is_evaluated_by_folds() {
    let world = World::new();
    let topics = root().join("corpora/topics/train").display().to_string();
    for scoring in [
        &["--likelihood", "bernoulli"][..],
        &["--likelihood", "multinomial", "--occurrences"],
        &["--likelihood", "complement"],
        &["--correction", "off"],
        &["--unlabelled", "more", "--iterations", "2"],
        &["--unlabelled", "more", "--likelihood", "bernoulli"],
    ] {
        world.write("more/1.txt", "compost and soil for the garden");
        let figures = evaluated(&world, &[&["--folds", "4", &topics][..], scoring].concat());
        assert_eq!(figures["documents"], 131, "{scoring:?}");
        let accuracy = figures["accuracy"].as_f64().unwrap();
        assert!(accuracy > 0.6, "{scoring:?}: {accuracy}");
    }
}

#[test]
fn a_seed_decides_what_is_left_to_chance() {
    let world = World::new();
    let mail = root().join("corpora/mail");
    let [ham, spam] = ["ham", "spam"].map(|label| format!("{label}={}", mail.join(label).display()));
    let train = |model: &str, seed: &[&str]| {
        world.succeed(&[&["train", "-m", model, &ham, &spam][..], seed].concat());
        std::fs::read(world.path(model)).unwrap()
    };
    let plain = train("a", &[]);
    assert!(plain == train("b", &["--seed", "0"]) && plain != train("c", &["--seed", "1"]));
    let inbox = ["-m", "a", &ham, &spam];
    let interval =
        |seed: &[&str]| evaluated(&world, &[&inbox[..], seed].concat())["log_loss_interval"].clone();
    assert!(interval(&[]).is_array());
    assert_eq!(interval(&[]), interval(&["--seed", "1"]));
    assert_ne!(interval(&[]), interval(&["--seed", "2"]));
}
