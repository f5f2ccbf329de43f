//! Reports with pictures: what `--html` writes says what `--json` says, in one file, whatever labels and names hold.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;
use tamis_testing::html::Html;

use crate::support::{World, root, stderr};

/// Evaluates and returns the JSON and the page.
fn evaluate(world: &World, arguments: &[&str]) -> (Value, Html) {
    let arguments = [&["evaluate", "--json", "--html", "report.html"], arguments].concat();
    let json = serde_json::from_str(&world.succeed(&arguments)).unwrap();
    let page = fs::read_to_string(world.path("report.html")).unwrap();
    let page = Html::parse(&page);
    page.assert_self_contained();
    (json, page)
}

/// The numbers of these keys in each object of a list; a key that leads nowhere is a number that is infinite.
fn numbers(list: &Value, keys: &[&str]) -> Vec<Vec<f64>> {
    let of = |object: &Value| keys.iter().map(|key| object[*key].as_f64().unwrap_or(f64::INFINITY)).collect();
    list.as_array().unwrap().iter().map(of).collect()
}

/// Columns of a table.
fn columns(rows: &[Vec<f64>], columns: &[usize]) -> Vec<Vec<f64>> {
    rows.iter().map(|row| columns.iter().map(|column| row[*column]).collect()).collect()
}

/// The figures that all evaluations have.
fn check_common(json: &Value, page: &Html) {
    let reliability = page.numbers("probabilities are worth")[0];
    let has_documents = |bin: &&Value| bin["documents"].as_u64() > Some(0);
    let bins: Vec<_> =
        json["reliability"].as_array().unwrap().iter().filter(has_documents).cloned().collect();
    let filled: Vec<_> = reliability.iter().filter(|row| row.len() > 2).cloned().collect();
    let keys = ["documents", "mean", "positives"];
    assert_eq!(columns(&filled, &[0, 1, 2]), numbers(&bins.into(), &keys));
    let log_odds = page.numbers("Log-odds of")[0];
    assert_eq!(log_odds, numbers(&json["log_odds"], &["negatives", "positives"]));
    let confusion = page.numbers("confusion matrix");
    let of_class = |class: &Value| {
        let right = &class["verdicts"][class["label"].as_str().unwrap()];
        let counts = [&class["documents"], right, &class["unsure"]];
        let shares = ["precision", "recall", "f1"].map(|key| &class[key]);
        counts.into_iter().chain(shares).map(|number| number.as_f64().unwrap()).collect()
    };
    let classes: Vec<Vec<f64>> = json["classes"].as_array().unwrap().iter().map(of_class).collect();
    assert_eq!(confusion[0], classes);
    let wrong = |class: &Value| {
        let own = class["label"].as_str().unwrap();
        let verdicts = class["verdicts"].as_object().unwrap().iter().filter(|(label, _)| *label != own);
        let counts = verdicts.map(|(_, n)| n).chain([&class["unsure"]]).map(|n| n.as_f64().unwrap());
        counts.filter(|n| *n > 0.0).collect::<Vec<_>>()
    };
    let mut wrong: Vec<f64> = json["classes"].as_array().unwrap().iter().flat_map(wrong).collect();
    wrong.sort_by(|a, b| b.total_cmp(a));
    assert_eq!(confusion[1].iter().map(|row| row[0]).collect::<Vec<_>>(), wrong);
    check_figures(json, page);
}

/// The table of all figures: each by its key, with its interval.
fn check_figures(json: &Value, page: &Html) {
    // it follows the last figure
    let last = page.elements.iter().rposition(|(name, _)| name == "figure").unwrap();
    let (mut found, mut key) = (BTreeMap::<&str, Vec<f64>>::new(), "");
    for (_, attributes) in &page.elements[last..] {
        key = attributes.get("data-key").map_or(key, |key| key);
        if let Some(value) = attributes.get("value").filter(|_| !key.is_empty()) {
            found.entry(key).or_default().push(value.parse().unwrap());
        }
    }
    assert!(found.len() >= 4, "{found:?}");
    for (key, numbers) in found {
        let interval = json[format!("{key}_interval")].as_array().cloned().unwrap_or_default();
        let expected = [json[key].clone()].into_iter().chain(interval).map(|n| n.as_f64().unwrap());
        assert_eq!(numbers, expected.collect::<Vec<_>>(), "{key}");
    }
}

#[test]
fn figures_of_a_spam_filter_are_those_of_json() {
    let world = World::new();
    let mail = root().join("corpora/mail").display().to_string();
    let (ham, spam) = (format!("ham={mail}/ham"), format!("spam={mail}/spam"));
    let (json, page) = evaluate(&world, &["--folds", "5", &ham, &spam]);
    check_common(&json, &page);
    let points = page.numbers("What a threshold costs")[0];
    let keys = ["threshold", "false_positives", "false_positive_limit", "missed"];
    assert_eq!(columns(points, &[0, 2, 3, 4]), numbers(&json["operating_points"], &keys));
    for (row, key) in
        [(3, "missed_at_fpr_0.1_percent"), (5, "missed_at_fpr_0.5_percent"), (6, "missed_at_fpr_1_percent")]
    {
        assert!((points[row][5] - json[key].as_f64().unwrap()).abs() < 1e-12, "{key}");
    }
    let curve = page.numbers("ROC curve")[0];
    assert_eq!(columns(curve, &[0]), numbers(&json["operating_points"], &["false_positives"]));
    assert!(json["learning"].is_null());

    let (json, page) = evaluate(&world, &["--online", &ham, &spam]);
    check_common(&json, &page);
    let learning = page.numbers("Learning")[0];
    let keys = ["learned", "documents", "wrong", "unsure"];
    assert_eq!(columns(learning, &[0, 1, 2, 3]), numbers(&json["learning"], &keys));
    assert_eq!(json["learning"].as_array().unwrap().last().unwrap()["learned"], json["documents"]);
}

#[test]
fn figures_of_topics_are_those_of_json() {
    let world = World::new();
    let topics = root().join("corpora/topics").display().to_string();
    let (json, page) = evaluate(&world, &["--folds", "5", &format!("{topics}/train")]);
    check_common(&json, &page);
    let mixed_up: f64 = page.numbers("mixed up most").iter().flat_map(|rows| *rows).map(|row| row[2]).sum();
    let classes = json["classes"].as_array().unwrap();
    let count = |class: &Value, key: &str| class[key].as_f64().unwrap();
    let right = |class: &Value| class["verdicts"][class["label"].as_str().unwrap()].as_f64().unwrap();
    let wrong: f64 = classes.iter().map(|c| count(c, "documents") - count(c, "unsure") - right(c)).sum();
    assert_eq!(mixed_up, wrong);
    assert!(wrong > 0.0);
    assert!(json["operating_points"].is_null());
}

#[test]
fn equal_evaluations_are_equal_pages() {
    let world = World::with_mail_model();
    let inbox = root().join("corpora/mail").display().to_string();
    let page = |threads: &str| {
        let sources = [format!("ham={inbox}/ham"), format!("spam={inbox}/spam")];
        world.succeed(&["evaluate", "--html", "page.html", "--threads", threads, &sources[0], &sources[1]]);
        fs::read(world.path("page.html")).unwrap()
    };
    assert!(page("1") == page("4"));
}

#[test]
fn hostile_names_and_labels_stay_text() {
    const LABELS: [&str; 3] = ["</script><script>alert(1)</script>", "\"' onload=x", "exe\u{202e}fdp"];
    let world = World::new();
    let mut rows = String::from("label,text\n");
    for (n, label) in LABELS.iter().enumerate() {
        for i in 0..6 {
            rows.push_str(&format!(
                "\"{}\",word{} and {i} <b>bold</b>\n",
                label.replace('"', "\"\""),
                (n + i / 5) % 3
            ));
        }
    }
    let name = "a\"><img src=x>\u{202e}.csv";
    world.write(name, &rows);
    world.succeed(&["train", "-m", "m.tamis", name]);
    let (json, page) = evaluate(&world, &["-m", "m.tamis", name]);
    assert_eq!(json["documents"], 18);
    let shown = |text: &str| text.replace('\u{202e}', "\\u{202e}");
    assert!(LABELS.iter().all(|label| page.text.contains(&shown(label))) && page.text.contains(&shown(name)));
    world.succeed(&["inspect", "-m", "m.tamis", "--html", "model.html"]);
    world.write("one", "word1 </svg> &amp; word2");
    world.succeed(&["explain", "-m", "m.tamis", "--html", "why.html", "one"]);
    for file in ["model.html", "why.html"] {
        let page = Html::parse(&fs::read_to_string(world.path(file)).unwrap());
        page.assert_self_contained();
        assert!(
            page.text.contains("word1") && LABELS.iter().any(|label| page.text.contains(&shown(label))),
            "{file}"
        );
    }
}

#[test]
fn a_model_shows_its_suspects_by_name() {
    let world = World::new();
    let mail = root().join("corpora/mail").display().to_string();
    world.succeed(&["train", &format!("ham={mail}/ham"), &format!("spam={mail}/spam")]);
    let told: Value =
        serde_json::from_str(&world.succeed(&["inspect", "--json", "--suspects=20", "--html", "m.html"]))
            .unwrap();
    let page = Html::parse(&fs::read_to_string(world.path("m.html")).unwrap());
    page.assert_self_contained();
    let suspects = told["suspects"].as_array().unwrap();
    let against: Vec<_> =
        suspects.iter().map(|suspect| vec![suspect["log_odds"].as_f64().unwrap().abs()]).collect();
    assert!(!against.is_empty());
    assert_eq!(page.numbers("contradict their label"), [&against[..]]);
    assert!(suspects.iter().all(|suspect| page.text.contains(suspect["name"].as_str().unwrap())));
}

#[test]
fn an_explanation_adds_up() {
    let world = World::with_mail_model();
    let message = root().join("corpora/mail/inbox").read_dir().unwrap().next().unwrap().unwrap().path();
    let message = message.display().to_string();
    let told = world.succeed(&["explain", "--json", "--terms", "5", "--html", "why.html", &message]);
    let told: Value = serde_json::from_str(&told).unwrap();
    let page = Html::parse(&fs::read_to_string(world.path("why.html")).unwrap());
    page.assert_self_contained();
    let adds: Vec<f64> = page.numbers("What speaks for")[0].iter().map(|row| row[0]).collect();
    let terms = numbers(&told["terms"], &["contribution"]).concat();
    assert_eq!(adds[..5], terms);
    let [rest, intercept] = ["other_contribution", "intercept"].map(|key| told[key].as_f64().unwrap());
    assert_eq!(adds[5..7], [rest, intercept]);
    assert!((adds[7] - told["log_odds"].as_f64().unwrap()).abs() < 1e-6, "{adds:?}");
}

#[test]
fn an_explanation_shows_the_text_with_each_word_shaded() {
    let world = World::new();
    world.write(
        "t.csv",
        "label,text\nfruit,ripe pears and plums\nmetal,iron and tin\nfruit,plums\nmetal,tin\n",
    );
    world.write("deep/folder/other", "");
    world.succeed(&["train", "-m", "deep/folder/things.tamis", "t.csv"]);
    world.write("new/one.txt", "pears <b>or</b> tin & zebra");
    world.succeed(&["explain", "-m", "deep/folder/things.tamis", "--html", "e.html", "new/one.txt"]);
    let page = fs::read_to_string(world.path("e.html")).unwrap();
    Html::parse(&page).assert_self_contained();
    assert!(page.contains(">pears</mark>") && page.contains(">tin</mark> &amp; zebra"), "{page}");
    assert!(page.contains("<h1>Why: <bdi>one.txt by things.tamis</bdi></h1>"), "{page}");
    world.succeed(&["evaluate", "-m", "deep/folder/things.tamis", "--html", "v.html", "t.csv"]);
    let page = fs::read_to_string(world.path("v.html")).unwrap();
    assert!(page.contains("<h1>Evaluation of <bdi>t.csv by things.tamis</bdi></h1>"), "{page}");
    // what scrolls on a small screen has an edge
    assert!(page.contains("@media (max-width:760px){.tamis .scroll{border-inline:"), "{page}");
    // two topics are no spam filter, whose page begins with what a threshold costs
    let at = |title: &str| page.find(&format!("<h2>{title}")).unwrap();
    assert!(at("What labels are taken for") < at("What a threshold costs"));
}

#[test]
fn long_labels_have_room_in_pictures() {
    let world = World::new();
    let labels = ["WWWW MMMM WWWW MMMM WWWW", "MMMMMMMM WWWWWWWW MMMMMMMM", "猫猫猫猫猫猫猫猫猫猫猫猫"];
    let rows: String = (0..30).map(|i| format!("{},word{} words\n", labels[i % 3], i % 7)).collect();
    world.write("t.csv", format!("label,text\n{rows}"));
    let (_, page) = evaluate(&world, &["--folds", "3", "t.csv"]);
    // what an SVG holds begins right of its left edge: names end at x, and take 1.35 or 1.75 characters a letter
    let name = |attributes: &BTreeMap<String, String>| {
        attributes.get("text-anchor").map(String::as_str) == Some("end")
    };
    let xs: Vec<f64> = page
        .elements
        .iter()
        .filter(|(element, attributes)| element == "text" && name(attributes))
        .filter(|(_, attributes)| attributes.get("class").map(String::as_str) == Some("key"))
        .map(|(_, attributes)| attributes["x"].parse().unwrap())
        .collect();
    // two labels of 19 characters each
    assert!(xs.iter().any(|x| *x > 38.0 * 1.35 * 7.0), "{xs:?}");
}

#[test]
fn a_model_card_begins_with_its_metadata() {
    let world = World::with_mail_model();
    let card = world.succeed(&["inspect", "--card", "--terms", "3"]);
    let mut parts = card.splitn(3, "---\n");
    assert_eq!(parts.next(), Some(""));
    let metadata: Value = serde_json::from_str(parts.next().unwrap()).unwrap();
    let alone: Value = serde_json::from_str(&world.succeed(&["inspect", "--card", "--json"])).unwrap();
    assert_eq!(metadata, alone);
    assert_eq!(metadata["pipeline_tag"], "text-classification");
    let text = parts.next().unwrap();
    for part in [
        "# model.tamis\n",
        "## What to expect\n\nExpected on messages",
        "strongest terms of spam",
        "## Limits",
    ] {
        assert!(text.contains(part), "{part}: {card}");
    }
    // a model without held-out documents promises nothing
    let mail = root().join("corpora/mail").display().to_string();
    let (ham, spam) = (format!("ham={mail}/ham"), format!("spam={mail}/spam"));
    world.succeed(&["train", "-m", "bayes", "--likelihood", "multinomial", &ham, &spam]);
    let alone: Value =
        serde_json::from_str(&world.succeed(&["inspect", "-m", "bayes", "--card", "--json"])).unwrap();
    assert_eq!(alone["model-index"][0].get("results"), None);
}

#[test]
fn an_explanation_of_one_of_many_labels_compares_it_with_the_rest() {
    let world = World::new();
    let rows = [r#"{"label": ["a"], "text": "an apple"}"#, r#"{"label": ["b"], "text": "a tin"}"#];
    world.write("rows.jsonl", format!("{}\n", rows.join("\n")).repeat(20));
    world.write("new.txt", "an apple");
    world.succeed(&["train", "-m", "m.tamis", "--labels", "many", "rows.jsonl"]);
    world.succeed(&["explain", "-m", "m.tamis", "new.txt", "--html", "why.html"]);
    let page = fs::read_to_string(world.path("why.html")).unwrap();
    assert!(page.contains("What speaks for") && page.contains("the rest"), "{page}");
    // the number of documents is known of the label alone
    assert!(page.contains("documents of") && page.matches("documents of").count() == 1, "{page}");
}

#[test]
fn a_model_without_suspects_has_a_report_too() {
    let world = World::new();
    let row =
        |n: usize| format!("{}\t{} word{}\n", ["a", "b", "c"][n % 3], ["red", "green", "blue"][n % 3], n % 5);
    world.write("rows.tsv", format!("label\ttext\n{}", (0..60).map(row).collect::<String>()));
    for (options, expected) in [
        ("--no-documents", "which tamis train --documents makes"),
        ("--labels=many", "expected a model of one label a document"),
    ] {
        world.succeed(&["train", "--replace", "rows.tsv", options]);
        world.succeed(&["inspect", "--html", "model.html"]);
        Html::parse(&fs::read_to_string(world.path("model.html")).unwrap()).assert_self_contained();
        let output = world.run(&["inspect", "--suspects"]);
        assert!(output.status.code() == Some(3) && stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

#[test]
fn documents_that_the_model_has_learned_are_told_and_set_apart() {
    let world = World::new();
    let text = |day: usize, word: &str| format!("{word} at {} on day {day}\n", day % 7);
    for (label, word) in [("fruit", "pears"), ("metal", "iron")] {
        for day in 0..60 {
            let folder = if day < 40 { "old" } else { "new" };
            world.write(&format!("{folder}/{label}/{day}.txt"), text(day, word));
        }
    }
    world.succeed(&["train", "--pieces", "off", "old"]);
    let json = |sources: &[&str]| -> Value {
        let sources: Vec<_> = ["evaluate", "--json"].iter().chain(sources).copied().collect();
        serde_json::from_str(&world.succeed(&sources)).unwrap()
    };
    let new = json(&["new"]);
    assert_eq!((&new["learned"], new.get("others")), (&0.into(), None));
    assert_eq!(json(&["old"])["learned"], 80);
    let both = json(&["old", "new"]);
    assert_eq!((&both["learned"], &both["documents"]), (&80.into(), &120.into()));
    assert_eq!(both["others"]["documents"], 40.0);
    for figure in ["accuracy", "macro_f1", "log_loss"] {
        assert_eq!(both["others"][figure], new[figure], "{figure}");
    }
    assert_eq!(json(&["old", "--folds", "5"]).get("learned"), None);
    let sentence = "The model has learned 80 of these documents, so it is not measured fairly; of the 40 others: accuracy ";
    let shown = world.succeed(&["evaluate", "old", "new", "--html", "page.html"]);
    assert!(shown.starts_with(sentence), "{shown}");
    assert!(fs::read_to_string(world.path("page.html")).unwrap().contains(sentence));
    assert!(!world.succeed(&["evaluate", "new"]).contains("measured fairly"));
}
