//! Unlabelled documents in training: they count only if held-out labelled documents are predicted better.

use std::path::Path;

use tamis_testing::public_corpus;
use tamis_train::information::Unlabelled;
use tamis_train::{
    Document, ErrorKind, Filter, Keep, Kind, MergeOptions, Model, Scratch, TrainOptions, Trainer, merge,
};

/// A label and a text.
type Text = (String, String);

/// Random numbers below `n`.
fn random(seed: &mut u64, n: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % n
}

/// Texts of three topics with 120 words each, 4 of them in a text, beside 4 words that all topics share.
fn topics(n: usize, mut seed: u64) -> Vec<Text> {
    let mut text = |topic: usize| {
        let mut word = |of: &str, n| format!("{of}{} ", random(&mut seed, n));
        let own: String = (0..4).map(|_| word(["ash", "oak", "elm"][topic], 120)).collect();
        let shared: String = (0..4).map(|_| word("common", 300)).collect();
        (["a", "b", "c"][topic].to_owned(), own + &shared)
    };
    (0..n).map(|i| text(i % 3)).collect()
}

fn trainer(options: TrainOptions, labelled: &[Text], unlabelled: &[Text]) -> Trainer {
    let mut trainer = Trainer::new(options).unwrap();
    labelled.iter().for_each(|(label, text)| trainer.add(label, Document::Text(text)).unwrap());
    unlabelled.iter().for_each(|(_, text)| trainer.add_unlabelled(Document::Text(text)).unwrap());
    trainer
}

/// Words alone, which leave something to learn.
fn of_words() -> TrainOptions {
    TrainOptions { refinements: Vec::new(), ..TrainOptions::new(Kind::Text) }
}

fn model(labelled: &[Text], unlabelled: &[Text]) -> Model {
    trainer(of_words(), labelled, unlabelled).finish().unwrap()
}

/// The share of texts whose likeliest label is right, and the mean log loss.
fn figures(filter: &Filter, test: &[Text]) -> [f64; 2] {
    let (mut scratch, mut right, mut loss) = (Scratch::default(), 0, 0.0);
    for (label, text) in test {
        filter.score_text(text, &mut scratch).unwrap();
        let class = usize::from(filter.classes().index(label).unwrap());
        let probabilities = scratch.probabilities();
        let best = probabilities.iter().copied().fold(0.0, f64::max);
        right += usize::from(probabilities[class] == best);
        loss -= probabilities[class].max(1e-15).ln();
    }
    let n = test.len() as f64;
    [right as f64 / n, loss / n]
}

/// What became of the unlabelled documents.
fn record(filter: &Filter) -> Unlabelled {
    filter.information().chosen.unwrap().unlabelled.clone().unwrap()
}

#[test]
fn unlabelled_documents_that_help_are_learned() {
    let (labelled, unlabelled, test) = (topics(30, 1), topics(600, 2), topics(600, 3));
    let model = model(&labelled, &unlabelled);
    // neither order nor shards leave a trace
    let options = of_words;
    let reversed: Vec<_> = unlabelled.iter().rev().cloned().collect();
    let mut shards = trainer(options(), &labelled[..7], &reversed[..99]);
    shards.merge(trainer(options(), &labelled[7..], &reversed[99..])).unwrap();
    assert!(shards.finish().unwrap() == model);

    let with = model.into_filter().unwrap();
    let alone = self::model(&labelled, &[]).into_filter().unwrap();
    let record = record(&with);
    assert!(record.is_learned() && record.documents == 600, "{record:?}");
    assert!(record.loss(record.teacher).unwrap() < record.loss(None).unwrap());
    assert_eq!(with.information().totals.iter().map(|totals| totals.documents).sum::<u64>(), 630);
    let ([right, loss], [right_alone, loss_alone]) = (figures(&with, &test), figures(&alone, &test));
    assert!(right > right_alone + 0.1, "{right} with, {right_alone} alone");
    assert!(loss < loss_alone - 0.1, "{loss} with, {loss_alone} alone");
}

#[test]
fn unlabelled_documents_that_do_not_help_leave_no_trace() {
    // each has words of all topics, so any label misleads
    let mut seed = 9;
    let mut mixed =
        || ["ash", "oak", "elm"].map(|topic| format!("{topic}{} ", random(&mut seed, 120))).concat();
    let (labelled, noise) = (topics(180, 4), (0..600).map(|_| (String::new(), mixed())).collect::<Vec<_>>());
    let with = model(&labelled, &noise).into_filter().unwrap();
    let alone = model(&labelled, &[]).into_filter().unwrap();
    let record = record(&with);
    assert!(!record.is_learned() && record.tried.len() == 3, "{record:?}");
    let (with_facts, alone_facts) = (with.information(), alone.information());
    assert_eq!(with_facts.size.terms, alone_facts.size.terms);
    assert_eq!(with_facts.totals, alone_facts.totals);
    assert_eq!(with_facts.chosen.unwrap().choices, alone_facts.chosen.unwrap().choices);
    let test = topics(90, 5);
    assert_eq!(figures(&with, &test), figures(&alone, &test));
}

#[test]
fn with_one_text_a_label_the_others_sort_themselves_and_are_hardly_believed() {
    let (labelled, unlabelled, test) = (topics(3, 1), topics(900, 2), topics(600, 3));
    let with = model(&labelled, &unlabelled).into_filter().unwrap();
    let alone = model(&labelled, &[]).into_filter().unwrap();
    let record = record(&with);
    assert!(record.is_learned() && record.tried.is_empty(), "{record:?}");
    let ([right, loss], [right_alone, loss_alone]) = (figures(&with, &test), figures(&alone, &test));
    assert!(right > right_alone + 0.05, "{right} with, {right_alone} alone");
    assert!(loss < loss_alone + 1e-3, "{loss} with, {loss_alone} alone");
}

#[test]
fn few_texts_are_not_certain() {
    // the topics of `topics` in every label: nothing tells them apart
    for n in [1, 2, 4] {
        let mut loss = 0.0;
        for draw in 0..20 {
            let shuffled = |texts: Vec<Text>| {
                let label = |(i, (_, text)): (usize, Text)| (["a", "b", "c"][i / 3 % 3].to_owned(), text);
                texts.into_iter().enumerate().map(label).collect::<Vec<_>>()
            };
            let labelled: Vec<_> = shuffled(topics(9 * n, 100 + draw)).into_iter().step_by(3).collect();
            let filter = model(&labelled, &[]).into_filter().unwrap();
            loss += figures(&filter, &shuffled(topics(90, 900 + draw)))[1] / 20.0;
        }
        assert!(loss < 3f64.ln() + 0.01, "{n}: {loss}");
    }
}

#[test]
fn a_text_that_is_labelled_is_not_learned_again_without_its_label() {
    let (labelled, mut unlabelled) = (topics(30, 1), topics(600, 2));
    unlabelled.extend_from_slice(&labelled);
    unlabelled.push(Text::default());
    assert!(model(&labelled, &unlabelled) == model(&labelled, &topics(600, 2)));
}

#[test]
fn a_model_that_learned_unlabelled_documents_is_not_fitted_to_them_again() {
    let mut options = of_words();
    options.keep = Some(Keep::Vectors);
    let plain = trainer(options.clone(), &topics(30, 7), &[]).finish().unwrap().into_filter().unwrap();
    let taught = trainer(options, &topics(30, 1), &topics(600, 2)).finish().unwrap().into_filter().unwrap();
    let mut retrain = MergeOptions::default();
    retrain.retrain = true;
    for models in [&[&taught][..], &[&taught, &plain], &[&plain, &taught]] {
        assert_eq!(merge(models, retrain).err().unwrap().kind(), ErrorKind::Data);
        let merged = merge(models, MergeOptions::default()).unwrap().into_filter().unwrap();
        assert!(record(&merged).is_learned());
    }
}

/// Documents of a public corpus, in the order of their names.
fn read(folder: &Path, part: &str) -> Vec<Text> {
    let latin1 = |bytes: Vec<u8>| {
        String::from_utf8(bytes)
            .unwrap_or_else(|e| e.into_bytes().iter().map(|byte| char::from(*byte)).collect())
    };
    if let Ok(table) = std::fs::read_to_string(folder.join(format!("{part}.tsv"))) {
        let row = |line: &str| line.split_once('\t').map(|(label, text)| (label.to_owned(), text.to_owned()));
        return table.lines().filter_map(row).collect();
    }
    let entries = |folder: &Path| {
        let mut paths: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    };
    let of_label = |path: std::path::PathBuf| {
        let label = path.file_name().unwrap().to_str().unwrap().to_owned();
        entries(&path).into_iter().map(move |file| (label.clone(), latin1(std::fs::read(file).unwrap())))
    };
    entries(&folder.join(part)).into_iter().flat_map(of_label).collect()
}

/// 25 documents of each label keep it, drawn by a hash; up to 6,000 of the others come without.
fn draw(train: &[Text]) -> [Vec<Text>; 2] {
    let mut order: Vec<_> = (0..train.len()).collect();
    order.sort_by_key(|i| md5::compute(format!("0 {i}")).0);
    let (mut kept, mut labelled, mut others) = (std::collections::HashMap::new(), Vec::new(), Vec::new());
    for i in order {
        let n = kept.entry(&train[i].0).or_insert(0);
        *n += 1;
        if *n <= 25 { &mut labelled } else { &mut others }.push(train[i].clone());
    }
    others.truncate(6_000);
    [labelled, others]
}

/// `cargo test --release --test tests few_labels -- --ignored --nocapture`: some minutes.
#[test]
#[ignore = "some minutes"]
#[allow(clippy::print_stderr, reason = "it shows its figures")]
fn with_few_labels_public_corpora_are_labelled_no_worse_than_by_the_labels_alone() {
    for name in [
        "20newsgroups-bydate",
        "ohsumed-23",
        "korean-nsmc",
        "german-germeval",
        "sentence-polarity",
        "thucnews-titles",
        "thai-wisesight",
    ] {
        let Some(folder) = public_corpus(name) else { continue };
        let ([labelled, others], test) = (draw(&read(&folder, "train")), read(&folder, "test"));
        let alone = model(&labelled, &[]).into_filter().unwrap();
        let with = model(&labelled, &others).into_filter().unwrap();
        let ([right, loss], [right_alone, loss_alone]) = (figures(&with, &test), figures(&alone, &test));
        eprintln!(
            "{name}: {} labels alone accuracy {right_alone:.3}, log loss {loss_alone:.3}; with {} unlabelled \
             {right:.3}, {loss:.3} ({:?})",
            labelled.len(),
            others.len(),
            record(&with).teacher
        );
        assert!(right >= right_alone - 0.005 && loss <= loss_alone, "{name}");
        if name.starts_with("20newsgroups") {
            assert!(right >= 0.74 && loss <= 1.0, "{name}");
        }
    }
}
