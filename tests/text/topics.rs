//! More labels than two: the default scoring, naive Bayes of every kind, documents without a label.

use tamis_train::{Document, Filter, Kind, Scratch, TrainOptions, Trainer};

use crate::support::{World, root, stdout};

fn topics(part: &str) -> String {
    root().join("corpora/topics").join(part).display().to_string()
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

fn accuracy(world: &World, model: &str) -> f64 {
    let figures = json(&world.succeed(&["evaluate", "-m", model, "--json", &topics("test")]));
    assert_eq!(figures["documents"], 40);
    figures["accuracy"].as_f64().unwrap()
}

#[test]
fn every_likelihood_tells_topics_apart() {
    let world = World::new();
    for (options, least) in [
        (&[][..], 0.97),
        (&["--correction", "off"], 0.97),
        (&["--alpha", "1", "--idf-power", "0.5", "--regularisation", "4"], 0.97),
        (&["--likelihood", "multinomial"], 0.9),
        (&["--likelihood", "multinomial", "--select", "chi2=500"], 0.8),
        (&["--likelihood", "multinomial", "--select", "mi=500", "--occurrences"], 0.8),
        (&["--likelihood", "multinomial", "--estimate", "map", "--alpha", "1.1"], 0.9),
        (&["--likelihood", "bernoulli"], 0.6),
        (&["--likelihood", "complement"], 0.9),
        (&["--likelihood", "complement-normalized"], 0.9),
    ] {
        let train = topics("train");
        world.succeed(&[&["train", "-m", "t.tamis", &train][..], options].concat());
        world.succeed(&["verify", "-m", "t.tamis"]);
        assert!(accuracy(&world, "t.tamis") >= least, "{options:?}: {}", accuracy(&world, "t.tamis"));
        world.succeed(&["inspect", "-m", "t.tamis", "--terms", "3"]);
        let document = format!("{}/astronomy/doppler-redshift.txt", topics("test"));
        let why = json(&world.succeed(&["explain", "-m", "t.tamis", "--json", "--terms", "0", &document]));
        let contributions =
            why["terms"].as_array().unwrap().iter().map(|t| t["contribution"].as_f64().unwrap());
        let log_odds = why["intercept"].as_f64().unwrap() + contributions.sum::<f64>();
        assert!(log_odds >= 0.0, "{options:?}: the likeliest label has {log_odds} against another");
    }
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let world = World::new();
    let train = topics("train");
    for (options, said) in [
        (&["--likelihood", "complement", "--estimate", "ml"][..], "smoothing"),
        (&["--likelihood", "multinomial", "--estimate", "ml", "--alpha", "1"], "the estimate ml"),
        (&["--likelihood", "multinomial", "--estimate", "map", "--alpha", "0.5"], "--alpha"),
        (&["--likelihood", "multinomial", "--idf-power", "1"], "weighted"),
        (&["--likelihood", "multinomial", "--regularisation", "1"], "weighted"),
        (&["--correction", "off", "--regularisation", "1"], "--regularisation"),
        (&["--alpha", "0"], "--alpha"),
        (&["--idf-power", "5"], "idf power"),
        (&["--regularisation", "0"], "regularisation"),
        (&["--likelihood", "weighted", "--select", "mi=9"], "naive Bayes"),
        (&["--likelihood", "multinomial", "--correction", "on"], "weighted"),
        (&["--select", "chi2=0"], "chi2=N"),
        (&["--lambda", "1"], "--unlabelled"),
        (&["--unlabelled", &train, "--lambda", "-1"], "lambda"),
        (
            &["--unlabelled", &train, "--lambda", "1", "--idf-power", "1"],
            "--idf-power: expected none for unlabelled",
        ),
        (&["--likelihood", "bernoulli", "--occurrences"], "--occurrences"),
        (&["--likelihood", "bernoulli", "--correction", "off"], "--correction"),
        (&["--content-only"], "expected mail, got text"),
        (&["--ignore-header", "X-Seen"], "expected mail, got text"),
        (&["--max-fpr", "1%", "--cost", "fp=9"], "--cost"),
    ] {
        let error = world.fail(&[&["train", "-m", "t.tamis", &train][..], options].concat());
        assert!(error.contains(said), "{options:?}: {error}");
    }
}

#[test]
fn evaluating_refuses_what_it_would_pass_over() {
    let world = World::new();
    let train = topics("train");
    for (options, said) in [
        (&["--folds", "3", "--content-only"][..], "expected mail, got text"),
        (&["--online", "--order", "date"], "--order date: expected mail, got text"),
    ] {
        let error = world.fail(&[&["evaluate", &train][..], options].concat());
        assert!(error.contains(said), "{options:?}: {error}");
    }
    world.succeed(&["train", "-m", "t.tamis", &train]);
    world.succeed(&["train", "-m", "b.tamis", &train, "--likelihood", "multinomial"]);
    assert!(world.fail(&["inspect", "-m", "b.tamis", "--suspects"]).contains("weighted scoring"));
}

/// Without smoothing, terms of different labels leave a document impossible under each of them.
#[test]
fn what_is_impossible_under_every_label_is_unsure() {
    let world = World::new();
    world.write("train.csv", "label,text\na,apple pear\nb,iron tin\nc,oak ash\n");
    let document = world.write("impossible.txt", "apple iron oak").display().to_string();
    for likelihood in ["multinomial", "bernoulli"] {
        let train = ["train", "-m", "t.tamis", "train.csv", "--likelihood", likelihood, "--estimate", "ml"];
        world.succeed(&train);
        let output = world.run(&["score", "-m", "t.tamis", &document]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stdout(&output).starts_with("unsure 0.3333 -0.69 "), "{}", stdout(&output));
        let said = [
            world.succeed(&["explain", "-m", "t.tamis", &document]),
            world.succeed(&["inspect", "-m", "t.tamis", "--terms", "9"]),
            world.succeed(&["evaluate", "-m", "t.tamis", "train.csv"]),
        ];
        assert!(said[0].contains("\u{b1}inf  in all"), "{}", said[0]);
        assert!(said.iter().all(|said| !said.contains("NaN") && !said.contains("-0.0000\n")), "{said:?}");
    }
}

#[test]
fn probabilities_add_up_and_are_calibrated_on_documents_held_out() {
    let world = World::new();
    let said = world.succeed(&["train", "-m", "t.tamis", &topics("train")]);
    assert!(said.contains("labelled right (95 % interval)"), "{said}");
    assert!(world.succeed(&["inspect", "-m", "t.tamis"]).contains("likelihood  weighted, correction on"));
    let rows = world.succeed(&["label", "-m", "t.tamis", "--all", "--format", "jsonl", &topics("test")]);
    for row in rows.lines().map(json) {
        let probabilities = row["probabilities"].as_object().unwrap();
        let sum: f64 = probabilities.values().map(|p| p.as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-9);
        let label = row["label"].as_str().unwrap();
        assert!((probabilities[label].as_f64().unwrap() - row["probability"].as_f64().unwrap()).abs() < 1e-9);
    }
    let folds = json(&world.succeed(&["evaluate", "--folds", "5", "--json", &topics("train")]));
    assert!(folds["accuracy"].as_f64().unwrap() > 0.8, "{folds}");
    assert!(folds["log_loss"].as_f64().unwrap() < 0.5, "{folds}");
    let bayes = ["evaluate", "--folds", "5", "--json", "--likelihood", "complement", &topics("train")];
    assert!(json(&world.succeed(&bayes))["accuracy"].as_f64().unwrap() > 0.8);
}

#[test]
fn the_contributions_are_the_log_odds_against_the_strongest_rival() {
    let mut trainer = Trainer::new(TrainOptions::new(Kind::Text)).unwrap();
    let texts =
        [("a", "apple pear"), ("b", "iron tin"), ("c", "oak ash"), ("a", "plum apple"), ("b", "tin lead")];
    texts.iter().for_each(|(label, text)| trainer.add(label, Document::Text(text)).unwrap());
    let filter = trainer.finish().unwrap().into_filter().unwrap();
    let mut scratch = Scratch::default();
    let why = filter.explain(Document::Text("apple tin apple unheard"), &mut scratch).unwrap();
    let sum: f64 = why.intercept + why.terms.iter().map(|t| t.contribution).sum::<f64>();
    let p = scratch.probabilities();
    let log_odds = (p[usize::from(why.class)] / p[usize::from(why.against)]).ln();
    assert!((sum - log_odds).abs() < 1e-9, "{sum} {log_odds}");
    assert_eq!(why.unknown, 1);
}

#[test]
fn documents_without_a_label_help() {
    let world = World::new();
    // One document a topic is labelled; the others are not.
    for entry in std::fs::read_dir(topics("train")).unwrap() {
        let folder = entry.unwrap().path();
        let topic = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        for (i, file) in files.iter().enumerate() {
            let name = file.file_name().unwrap().to_str().unwrap();
            let place = if i == 0 { format!("few/{topic}") } else { "many".to_owned() };
            world.write(&format!("{place}/{topic}-{name}"), std::fs::read(file).unwrap());
        }
    }
    world.succeed(&["train", "-m", "few.tamis", "few"]);
    // too few have labels to tell whether the others help: they are sorted by expectation maximization
    let said = world.succeed(&["train", "-m", "sorted.tamis", "few", "--unlabelled", "many"]);
    assert!(said.contains("of these 126 documents without a label"), "{said}");
    assert!(said.contains("too few have a label to tell whether they help"), "{said}");
    assert!(accuracy(&world, "sorted.tamis") > accuracy(&world, "few.tamis") + 0.1);
    let facts = world.succeed(&["inspect", "-m", "sorted.tamis"]);
    assert!(facts.contains("unlabelled  126 documents, labelled by expectation maximization"), "{facts}");
    let said = world.succeed(&["train", "-m", "em.tamis", "few", "--unlabelled", "many", "--lambda", "1"]);
    assert!(said.contains("and 126 without a label"), "{said}");
    world.succeed(&["verify", "-m", "em.tamis"]);
    let (few, em) = (accuracy(&world, "few.tamis"), accuracy(&world, "em.tamis"));
    assert!(em > few + 0.1, "labelled alone {few}, with the others {em}");
    assert!(world.succeed(&["inspect", "-m", "em.tamis"]).contains("expectation maximization"));
    let document = format!("{}/astronomy/doppler-redshift.txt", topics("test"));
    let why = world.succeed(&["explain", "-m", "em.tamis", &document]);
    assert!(why.starts_with("astronomy "), "{why}");
    for threads in ["1", "2"] {
        let model = format!("{threads}.tamis");
        let em = ["few", "--unlabelled", "many", "--lambda", "1", "--threads", threads];
        world.succeed(&[&["train", "-m", &model][..], &em].concat());
    }
    let bytes = |model: &str| std::fs::read(world.path(model)).unwrap();
    assert_eq!(bytes("1.tamis"), bytes("2.tamis"));
    world.succeed(&["train", "-m", "b.tamis", "few", "--unlabelled", "many", "--likelihood", "bernoulli"]);
    world.succeed(&["verify", "-m", "b.tamis"]);
    let error = world.fail(&["train", "-m", "x.tamis", "few", "--unlabelled", "many", "--min-df", "2"]);
    assert!(error.contains("--min-df"), "{error}");
}

#[test]
fn a_document_without_a_known_word_gets_the_label_of_the_largest_share() {
    let world = World::new();
    let csv = |labels: [&str; 3]| {
        let [a, b, c] = labels;
        format!(
            "label,text\n{a},pears and plums\n{a},ripe pears\n{a},old plums\n{a},plums\n{b},iron and tin\n{c},tin\n"
        )
    };
    world.write("new.csv", "text\nzebra\n");
    for labels in [["fruit", "metal", "metal"], ["fruit", "metal", "tools"]] {
        world.write("t.csv", csv(labels));
        world.succeed(&["train", "t.csv"]);
        let said = world.succeed(&["label", "new.csv"]);
        assert!(said.contains("\nnew.csv:2,fruit,"), "{said}");
        assert!(world.succeed(&["label", "--unsure", "0.99", "new.csv"]).contains("\nnew.csv:2,unsure,"));
    }
    // no message is spam, or ham, by shares
    world.write("t.csv", csv(["ham", "spam", "spam"]));
    world.succeed(&["train", "t.csv"]);
    assert!(world.succeed(&["label", "new.csv"]).contains("\nnew.csv:2,unsure,"));
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: 24 s"]
    fn a_thousand_classes_take_no_more_than_their_documents() {
        // 4,000 documents of 20 words each out of 5,000 words: dense, it were 5 million counts.
        let (n_classes, n_words) = (1_000, 5_000);
        let mut options = TrainOptions::new(Kind::Text);
        options.refinements.clear(); // pairs would tell here too: a label's own words follow each other
        let mut trainer = Trainer::new(options).unwrap();
        let mut state = 1u64;
        let mut random = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for i in 0..4_000 {
            let class = i % n_classes;
            let own = (0..5).map(|j| format!("w{}", class * 5 + j));
            let any = (0..15).map(|_| format!("w{}", random(n_words as u64))).collect::<Vec<_>>();
            let text = own.chain(any).collect::<Vec<_>>().join(" ");
            trainer.add(&format!("c{class:03}"), Document::Text(&text)).unwrap();
        }
        let model = trainer.finish().unwrap();
        let bytes = model.as_bytes().len();
        let filter: Filter = model.into_filter().unwrap();
        filter.verify().unwrap();
        let information = filter.information();
        let non_zeros = 4_000 * 20;
        assert!(information.size.cells <= non_zeros, "{} counts", information.size.cells);
        // a document teaches its own class and at most 32 that compete with it
        assert!(information.size.weights <= 33 * non_zeros, "{} weights", information.size.weights);
        assert!(information.size.weights < n_classes * n_words / 2, "{} weights", information.size.weights);
        assert!(
            bytes < 12 * (information.size.cells + information.size.weights) + 100 * 4_000,
            "{bytes} bytes"
        );
        let mut scratch = Scratch::default();
        let text: Vec<_> = (0..5).map(|j| format!("w{}", 123 * 5 + j)).collect();
        let score = filter.score_text(&text.join(" "), &mut scratch).unwrap();
        assert_eq!(filter.label_of(&score), "c123");
    }
}
