//! Any partition of the documents, merged in any order, gives the model of one trainer, whatever the scoring.

use proptest::prelude::*;
use tamis_filter::extract::document::Document;
use tamis_model::{Likelihood, Parameters, WeightedOptions};
use tamis_store::config::column::{Column, ColumnKind};
use tamis_store::config::recipe::{Keep, Recipe};
use tamis_store::config::scoring::{ExpectationMaximization, Scoring};
use tamis_store::error::Reason;
use tamis_store::kind::Kind;

use super::*;

/// A document with its label, if it has one.
type Example = (Option<&'static str>, Vec<(&'static str, String)>);

/// The options and documents of a training run.
struct Case {
    name: &'static str,
    options: TrainOptions,
    documents: Vec<Example>,
}

fn add(trainer: &mut Trainer, (label, fields): &Example) {
    let body = &fields[0].1;
    let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, &**value)).collect();
    let document = match trainer.recipe().kind {
        Kind::Mail => Document::Mail(body.as_bytes()),
        Kind::Text => Document::Text(body),
        Kind::Table => Document::Fields(&fields),
    };
    match label {
        Some(label) => trainer.add(label, document).unwrap(),
        None => trainer.add_unlabelled(document).unwrap(),
    }
}

fn trainer<'a>(options: &TrainOptions, documents: impl IntoIterator<Item = &'a Example>) -> Trainer {
    let mut trainer = Trainer::new(options.clone()).unwrap();
    documents.into_iter().for_each(|document| add(&mut trainer, document));
    trainer
}

/// Texts with these labels, in which both words and pairs of words are informative. A tenth are given twice.
fn texts(labels: &[Option<&'static str>], n: usize) -> Vec<Example> {
    let text = |i: usize| {
        let (class, at) = (i % labels.len(), i / labels.len() * 9 / 10);
        let word = |k: usize| format!("w{}", (at * 31 + k * k * 7 + k * class) % (23 + 5 * class));
        let words: Vec<_> = (0..3 + at % 6).map(word).collect();
        let order = if class == 1 { "good not bad" } else { "bad not good" };
        (labels[class], vec![("", format!("{} {order}", words.join(" ")))])
    };
    (0..n).map(text).collect()
}

/// Texts whose first word shows the label, whatever follows.
fn numbers(n: usize) -> Vec<Example> {
    let text = |i: usize| {
        let label = ["even", "odd"][i % 2];
        (Some(label), vec![("", format!("{label} {} {} {}", i % 13, i % 17, i % 5))])
    };
    (0..n).map(text).collect()
}

fn mails(n: usize) -> Vec<Example> {
    // every fifth is given twice
    let mail = |(i, (label, fields)): (usize, Example)| {
        let date = format!("Date: Mon, {:02} Mar 2026 10:00:00 +0000\n", 1 + i % 28);
        let id = format!("Message-ID: <{i}@example.org>\nSubject: number {}\n", i % 7);
        (label, vec![("", format!("{id}{date}\n{}\n", fields[0].1))])
    };
    let mails = texts(&[Some("ham"), Some("spam")], n).into_iter().enumerate().map(mail);
    let mails: Vec<_> = mails.collect();
    mails.iter().step_by(5).chain(&mails).cloned().collect()
}

/// Documents of several stretches.
fn long(documents: Vec<Example>) -> Vec<Example> {
    let mut documents = documents;
    for (_, fields) in &mut documents {
        let i = fields[0].1.len();
        let more: String =
            (0..50 + i % 70).map(|word| format!("v{} w{} ", word * (i % 3 + 1) % 40, i % 11)).collect();
        fields[0].1.push_str(&format!(" {more}\n"));
    }
    documents
}

fn rows(n: usize) -> Vec<Example> {
    let row = |i: usize| {
        let miles = if i.is_multiple_of(11) { "NA".into() } else { format!("{}.{}", i % 9, i % 7) };
        let sky = ["blue", "grey", "", "black"][i % 4].into();
        (Some(["bus", "train", "walk"][i % 3]), vec![("miles", miles), ("sky", sky)])
    };
    (0..n).map(row).collect()
}

fn cases() -> Vec<Case> {
    let two = || texts(&[Some("ham"), Some("spam")], 240);
    let four = || texts(&[Some("a"), Some("b"), Some("c"), Some("d")], 120);
    let case = |name, kind, documents, change: &dyn Fn(&mut TrainOptions)| {
        let mut options = TrainOptions { names: false, ..TrainOptions::new(kind) };
        change(&mut options);
        Case { name, options, documents }
    };
    let bayes = |likelihood| {
        move |options: &mut TrainOptions| {
            options.scoring = Some(Scoring::NaiveBayes(Parameters { likelihood, ..Scoring::parameters() }))
        }
    };
    let counts_alone = |options: &mut TrainOptions| {
        let mut weighted = WeightedOptions::default();
        weighted.correction = false;
        options.scoring = Some(Scoring::Weighted(weighted));
    };
    let expected = |options: &mut TrainOptions| {
        options.scoring = Some(Scoring::ExpectationMaximization(ExpectationMaximization::for_documents(0)))
    };
    let columns = |options: &mut TrainOptions| {
        let kinds = [("miles", ColumnKind::Gaussian), ("sky", ColumnKind::Categorical)];
        let column = |(name, kind): (&str, _)| Column { name: name.into(), kind };
        options.recipe.columns = kinds.map(column).into();
    };
    let partly = texts(&[Some("ham"), Some("spam"), None], 90);
    vec![
        case("pairs chosen", Kind::Text, two(), &|_| ()),
        case("pairs not chosen", Kind::Text, numbers(240), &|_| ()),
        case("words", Kind::Text, two(), &|options| options.refinements.clear()),
        case("four labels", Kind::Text, four(), &|_| ()),
        case("remembered", Kind::Text, four(), &|options| options.keep = Some(Keep::Vectors)),
        case("counts alone", Kind::Text, four(), &counts_alone),
        case("multinomial", Kind::Text, four(), &bayes(Likelihood::Multinomial)),
        case("bernoulli", Kind::Text, two(), &bayes(Likelihood::Bernoulli)),
        case("complement", Kind::Text, four(), &bayes(Likelihood::ComplementNormalized)),
        case("partly labelled", Kind::Text, partly.clone(), &|_| ()),
        case("expected", Kind::Text, partly, &expected),
        case("mail", Kind::Mail, mails(80), &|options| options.repeat = true),
        case("mail, once", Kind::Mail, mails(80), &|_| ()),
        case("parts", Kind::Text, long(two()), &|_| ()),
        case("parts of mail", Kind::Mail, long(mails(60)), &|_| ()),
        case("long, but no spam", Kind::Text, long(texts(&[Some("a"), Some("b")], 60)), &|_| ()),
        case("cost", Kind::Text, two(), &|options| options.decision.cost = Some(9.0)),
        case("table", Kind::Table, rows(60), &columns),
    ]
}

/// Merges partials in any order, or in a tree. `choices` decide which two of the remaining ones come next.
fn merge_all(mut partials: Vec<Partial>, choices: &[u32]) -> Partial {
    let mut choices = choices.iter().cycle();
    while partials.len() > 1 {
        let mut next = || {
            let at = *choices.next().unwrap() as usize % partials.len();
            let bytes = partials.swap_remove(at).as_bytes().to_vec();
            Partial::from_bytes(bytes).unwrap()
        };
        let (a, b) = (next(), next());
        partials.push(a.to_trainer().unwrap().merge_partial(&b).unwrap().into_partial().unwrap());
    }
    partials.pop().unwrap()
}

/// Checks a case with the documents distributed over `n_parts` parts as `parts` says.
fn check(case: &Case, n_parts: usize, parts: &[usize], choices: &[u32]) {
    let whole = trainer(&case.options, &case.documents);
    let expected = whole.finish().unwrap();
    let partial = |part: usize| {
        let own = case.documents.iter().enumerate().filter(|(i, _)| parts[i % parts.len()] % n_parts == part);
        trainer(&case.options, own.map(|(_, document)| document)).into_partial().unwrap()
    };
    let merged = merge_all((0..n_parts).map(partial).collect(), choices);
    let one = trainer(&case.options, case.documents.iter().rev()).into_partial().unwrap();
    assert!(merged.as_bytes() == one.as_bytes(), "{}: the partials differ", case.name);
    let model = merged.to_trainer().unwrap().finish().unwrap();
    assert!(model == expected, "{}: the models differ", case.name);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn any_partition_gives_the_model_of_one_trainer(
        n_parts in 1usize..=50,
        parts in proptest::collection::vec(0usize..1_000, 240),
        choices in proptest::collection::vec(any::<u32>(), 1..60),
    ) {
        cases().iter().for_each(|case| check(case, n_parts, &parts, &choices));
    }
}

/// As data is often stored: each shard has one label or none, and some are empty.
#[test]
fn shards_sorted_by_label_give_the_model_of_one_trainer() {
    for mut case in cases() {
        case.documents.sort_by_key(|(label, _)| *label);
        let n = case.documents.len();
        let parts: Vec<_> = (0..n).map(|i| 1 + i * 6 / n).collect();
        check(&case, 8, &parts, &[0]);
    }
}

#[test]
fn the_cases_are_what_they_say() {
    let case = |name| cases().into_iter().find(|case| case.name == name).unwrap();
    let size = |case: &Case| trainer(&case.options, &case.documents).into_partial().unwrap().as_bytes().len();
    // without the terms of documents
    assert!(size(&case("multinomial")) < size(&case("four labels")));
    for (name, is_chosen) in [("pairs chosen", true), ("pairs not chosen", false)] {
        let case = case(name);
        let filter = trainer(&case.options, &case.documents).finish().unwrap().into_filter().unwrap();
        let information = filter.information();
        assert!(!information.chosen.unwrap().refinements.is_empty(), "{name}: not tried");
        let terms = |recipe: &Recipe| recipe.tokenizer.terms;
        assert_eq!(terms(information.recipe) != terms(&case.options.recipe), is_chosen, "{name}");
    }
    let once = case("mail, once");
    let trainer = trainer(&once.options, &once.documents);
    assert!(trainer.n_equal() > 0 && trainer.n_documents() < once.documents.len() as u64);
}

#[test]
fn partials_of_other_options_are_refused_by_name() {
    let partial = |options: &TrainOptions| trainer(options, []).into_partial().unwrap();
    let options = TrainOptions::new(Kind::Text);
    let mut others = options.clone();
    others.recipe.tokenizer.fold_case = false;
    let error = partial(&options).to_trainer().unwrap().merge_partial(&partial(&others)).err().unwrap();
    assert!(
        error.to_string().contains("options.recipe.tokenizer.fold_case: expected true, got false"),
        "{error}"
    );
}

#[test]
fn models_and_partials_are_told_apart() {
    let case = &cases()[1];
    let trainer = || trainer(&case.options, &case.documents);
    let (model, partial) = (trainer().finish().unwrap(), trainer().into_partial().unwrap());
    let error = Partial::from_bytes(model.as_bytes().to_vec()).err().unwrap();
    assert!(matches!(error.reason(), Reason::WrongFile { expected: "a partial", got: "a model" }));
    let error = tamis_filter::score::filter::Filter::from_bytes(partial.as_bytes().to_vec()).err().unwrap();
    assert!(matches!(error.reason(), Reason::WrongFile { expected: "a model", got: "a partial" }));
    let error = Partial::from_bytes(b"From: a mail".to_vec()).err().unwrap();
    assert!(matches!(error.reason(), Reason::NotAModel { .. }));
}

#[test]
fn a_saved_partial_is_its_owners_alone_and_replaces_the_last_one() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shard.partial");
    let case = &cases()[0];
    for n in [10, 20] {
        let partial = trainer(&case.options, &case.documents[..n]).into_partial().unwrap();
        partial.save(&path).unwrap();
        let read = Partial::open(&path).unwrap();
        assert!(read.as_bytes() == partial.as_bytes());
        assert_eq!(read.documents(), [n as u64 / 2; 2]);
    }
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    assert!(matches!(Partial::open(folder.path().join("none")).err().unwrap().reason(), Reason::Io { .. }));
}

#[test]
fn damage_is_an_error() {
    let case = &cases()[0];
    let bytes = trainer(&case.options, &case.documents[..8]).into_partial().unwrap().as_bytes().to_vec();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert!(Partial::from_bytes(damaged).is_err(), "byte {at}");
        assert!(Partial::from_bytes(bytes[..at].to_vec()).is_err(), "cut at {at}");
    }
    let longer = [&bytes[..], b"x"].concat();
    assert!(Partial::from_bytes(longer).is_err());
}
