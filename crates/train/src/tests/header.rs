//! Headers whose checksums are right but whose parts contradict one another.

use tamis_filter::extract::document::Document;
use tamis_filter::score::filter::Filter;
use tamis_filter::scorers::scratch::Scratch;
use tamis_model::{Choices, ClassTotals, Classes, EmOptions, Likelihood, Parameters, WeightedOptions};
use tamis_store::config::column::{Column, ColumnKind};
use tamis_store::config::decision::HeldOutPerformance;
use tamis_store::config::recipe::Keep;
use tamis_store::config::scoring::{ExpectationMaximization, ModelSelection, Scoring};
use tamis_store::config::training::TrainOptions;
use tamis_store::disk::spool::Spool;
use tamis_store::error::{Reason, Result};
use tamis_store::file::container;
use tamis_store::file::container::{BLOCK, Section};
use tamis_store::file::header::{FORMAT_VERSION, N_SECTIONS, SECTIONS, WrittenHeader, open, preface};
use tamis_store::file::terms::Size;
use tamis_store::kind::Kind;

use crate::tests::taught;
use crate::train::trainer::Trainer;

const TEXTS: [(&str, &str); 6] = [
    ("fruit", "apples and pears"),
    ("fruit", "a pear is a fruit"),
    ("metal", "iron and tin and lead"),
    ("metal", "lead is a soft metal"),
    ("tree", "oak and ash"),
    ("tree", "apples grow on a tree"),
];
const ROW: [(&str, &str); 3] = [("miles", "2"), ("wet", "yes"), ("sky", "blue")];

fn read(model: &[u8]) -> Result<(WrittenHeader, [Section; N_SECTIONS])> {
    let opened = open(model)?;
    Ok((opened.header.into(), opened.sections))
}

/// The contents of a model's sections.
fn contents(model: &[u8]) -> [Vec<u8>; N_SECTIONS] {
    read(model).unwrap().1.map(|section| section.get(model, 0..section.len()).unwrap().to_vec())
}

/// The bytes of a model with `n_labels` labels.
fn text(scoring: Scoring, n_labels: usize) -> Vec<u8> {
    let is_em = matches!(scoring, Scoring::ExpectationMaximization(_));
    let options =
        TrainOptions { scoring: Some(scoring), keep: Some(Keep::Vectors), ..TrainOptions::new(Kind::Text) };
    let mut trainer = taught(options, TEXTS[..2 * n_labels].iter().copied());
    if is_em {
        trainer.add_unlabelled(Document::Text("tin is soft")).unwrap();
    }
    trainer.finish().unwrap().as_bytes().to_vec()
}

fn table() -> Vec<u8> {
    let mut options = TrainOptions::new(Kind::Table);
    let kinds = [ColumnKind::Gaussian, ColumnKind::Bernoulli, ColumnKind::Categorical];
    let column = |((name, _), kind): (&(&str, &str), _)| Column { name: (*name).to_owned(), kind };
    options.recipe.columns = ROW.iter().zip(kinds).map(column).collect();
    let mut trainer = Trainer::new(options).unwrap();
    for (label, miles, wet, sky) in [
        ("walk", "1", "y", "grey"),
        ("walk", "3", "n", "blue"),
        ("bus", "7", "n", ""),
        ("bus", "9", "y", "grey"),
    ] {
        trainer.add(label, Document::Fields(&[("miles", miles), ("wet", wet), ("sky", sky)])).unwrap();
    }
    trainer.finish().unwrap().as_bytes().to_vec()
}

fn counts_alone() -> Scoring {
    let mut weighted = WeightedOptions::default();
    weighted.correction = false;
    Scoring::Weighted(weighted)
}

fn em(likelihood: Likelihood) -> Scoring {
    let mut options = EmOptions::default();
    options.likelihood = likelihood;
    Scoring::ExpectationMaximization(ExpectationMaximization {
        options,
        ..ExpectationMaximization::for_documents(7)
    })
}

fn bayes(likelihood: Likelihood) -> Scoring {
    Scoring::NaiveBayes(Parameters { likelihood, ..Scoring::parameters() })
}

fn models() -> Vec<Vec<u8>> {
    vec![
        text(Scoring::Weighted(WeightedOptions::default()), 2),
        text(Scoring::Weighted(WeightedOptions::default()), 3),
        text(counts_alone(), 3),
        text(bayes(Likelihood::Multinomial), 2),
        text(bayes(Likelihood::Bernoulli), 3),
        text(bayes(Likelihood::ComplementNormalized), 3),
        text(em(Likelihood::Multinomial), 3),
        text(em(Likelihood::Bernoulli), 2),
        table(),
    ]
}

fn write_in_memory(header: &WrittenHeader, sections: [Vec<u8>; N_SECTIONS]) -> Vec<u8> {
    let sections = sections.map(Spool::from);
    container::write(container::MODEL, FORMAT_VERSION, header, &sections.each_ref()).unwrap().into_memory()
}

/// The same file with another header and matching checksums.
fn with_header(file: &[u8], header: &WrittenHeader) -> Vec<u8> {
    write_in_memory(header, contents(file))
}

/// Asks a model for everything. Any answer must be a number.
fn ask(filter: &Filter) {
    let document = match filter.information().recipe.kind {
        Kind::Table => Document::Fields(&ROW),
        Kind::Mail | Kind::Text => Document::Text("tin and an apple grow soft"),
    };
    let mut scratch = Scratch::default();
    if let Ok(score) = filter.score(document, &mut scratch) {
        assert_eq!(scratch.probabilities().len(), filter.classes().len());
        assert!(scratch.probabilities().iter().chain([&score.probability]).all(|p| (0.0..=1.0).contains(p)));
        assert!(!score.log_odds.is_nan());
    }
    if let Ok(why) = filter.explain(document, &mut scratch) {
        assert!(!why.intercept.is_nan() && why.terms.iter().all(|term| !term.contribution.is_nan()));
    }
    for (class, _) in filter.classes().iter() {
        let _ = filter.strongest_terms(class, 3);
    }
    let _ = (crate::evaluate::suspects(filter), filter.verify());
}

/// Invalid choices.
fn wrong_choices(change: fn(&mut Choices)) -> ModelSelection {
    let mut chosen = ModelSelection::for_classes(2);
    change(&mut chosen.choices);
    chosen
}

#[test]
fn a_header_that_contradicts_itself_is_refused_at_opening() {
    type Change = fn(&mut WrittenHeader);
    let of_any: [Change; 13] = [
        |header| header.totals.clear(),
        |header| header.totals.truncate(1),
        |header| header.totals.extend([ClassTotals::default(); 2]),
        |header| header.totals[0].documents = u64::MAX,
        |header| header.totals[1].tf = u64::MAX,
        |header| header.classes = Classes::new(["all"]).unwrap(),
        |header| header.classes = Classes::new(["a", "b", "c", "d"]).unwrap(),
        |header| header.decision.shift = f64::NAN,
        |header| (header.decision.lower, header.decision.upper) = (1.0, 0.0),
        |header| header.chosen = Some(wrong_choices(|choices| choices.stack[0] = f64::NAN)),
        |header| header.chosen = Some(wrong_choices(|choices| choices.bayes[0] = -1.0)),
        |header| header.recipe.version += 1,
        |header| header.expected = Some(HeldOutPerformance::Accuracy { documents: 1, right: 2, groups: 0 }),
    ];
    let models = models();
    for (m, model) in models.iter().enumerate() {
        let (header, _) = read(model).unwrap();
        assert_eq!(with_header(model, &header), *model);
        let refused = |what: String, change: &dyn Fn(&mut WrittenHeader)| {
            let mut header = header.clone();
            change(&mut header);
            assert!(Filter::from_bytes(with_header(model, &header)).is_err(), "model {m}: {what}");
        };
        for (i, change) in of_any.iter().enumerate() {
            refused(format!("change {i}"), change);
        }
        if header.em_model.is_none() {
            refused("a total more".into(), &|h| h.totals.push(ClassTotals::default()));
        }
        for other in models.iter().map(|other| read(other).unwrap().0) {
            if other.table.is_some() != header.table.is_some() {
                refused("a table".into(), &|h| h.table = other.table.clone());
            }
            if other.em_model.is_some() != header.em_model.is_some() {
                refused("an expected model".into(), &|h| h.em_model = other.em_model.clone());
            }
            if other.summary.is_some() != header.summary.is_some() {
                refused("a summary".into(), &|h| h.summary = other.summary.clone());
            }
        }
    }
}

#[test]
fn parts_of_two_models_are_refused_or_answer_with_numbers() {
    type Graft = fn(&mut WrittenHeader, &WrittenHeader);
    let grafts: [Graft; 11] = [
        |to, from| to.recipe = from.recipe.clone(),
        |to, from| to.scoring = from.scoring.clone(),
        |to, from| to.classes = from.classes.clone(),
        |to, from| to.totals = from.totals.clone(),
        |to, from| to.summary = from.summary.clone(),
        |to, from| to.table = from.table.clone(),
        |to, from| to.em_model = from.em_model.clone(),
        |to, from| to.expected = from.expected,
        |to, from| to.keep = from.keep,
        |to, from| (to.classes, to.totals) = (from.classes.clone(), from.totals.clone()),
        |to, from| {
            let lengths = to.lengths;
            *to = WrittenHeader { lengths, ..from.clone() };
        },
    ];
    let models = models();
    let headers: Vec<_> = models.iter().map(|model| read(model).unwrap().0).collect();
    let mut opened = 0;
    for (model, own) in models.iter().zip(&headers) {
        for (other, graft) in headers.iter().flat_map(|other| grafts.iter().map(move |graft| (other, graft)))
        {
            let mut header = own.clone();
            graft(&mut header, other);
            if let Ok(filter) = Filter::from_bytes(with_header(model, &header)) {
                opened += 1;
                ask(&filter);
            }
        }
    }
    assert!(opened > models.len(), "some parts do fit");
}

#[test]
fn sections_that_contradict_one_another_are_errors_or_at_least_found_by_verifying() {
    for (m, model) in models().iter().enumerate() {
        let (header, _) = read(model).unwrap();
        let contents = contents(model);
        // the first three sections hold the terms
        for section in 0..3 {
            for (at, flip) in (0..contents[section].len()).flat_map(|at| [0x01, 0x80, 0xFF].map(|f| (at, f)))
            {
                let mut contents = contents.clone();
                contents[section][at] ^= flip;
                let file = write_in_memory(&header, contents);
                let Ok(filter) = Filter::from_bytes(file) else { continue };
                ask(&filter);
                // nothing else in the file implies the result of expectation maximization
                if header.em_model.is_none() {
                    let what = format!("model {m}: {} {at} ^ {flip:#x}", SECTIONS[section]);
                    assert!(filter.verify().is_err(), "{what}");
                }
            }
        }
        for more in [-1i64, 1, 100, i64::MAX] {
            let of: [fn(&mut Size) -> &mut u64; 3] = [|s| &mut s.terms, |s| &mut s.cells, |s| &mut s.weights];
            for part in of {
                let mut header = header.clone();
                let number = part(&mut header.size);
                *number = number.saturating_add_signed(more).min(u64::MAX / 2);
                let changed = header != read(model).unwrap().0;
                if let Ok(filter) = Filter::from_bytes(with_header(model, &header)) {
                    ask(&filter);
                    assert_eq!(filter.verify().is_err(), changed, "model {m}: {:?}", header.size);
                }
            }
        }
    }
}

/// Two models with the same layout, whose headers differ only in the checksum of the sections.
#[test]
fn a_part_of_another_model_is_damage() {
    let model = |fruit: &str| {
        // a correction may have another bias in the header
        let scoring = Some(counts_alone());
        let options = TrainOptions { scoring, ..TrainOptions::new(Kind::Text) };
        let texts = [("fruit", fruit), ("metal", "iron and tin")];
        taught(options, texts).finish().unwrap().as_bytes().to_vec()
    };
    let (own, other) = (model("apples and pears"), model("apples and plums"));
    let (header, sections) = read(&own).unwrap();
    assert_eq!((header, own.len()), (read(&other).unwrap().0, other.len()));
    let start = preface(&own).unwrap().start;
    let mut at = start;
    for section in sections {
        for block in (0..section.len()).step_by(BLOCK) {
            let content = at + block..at + section.len().min(block + BLOCK);
            let sum = at + section.len() + 4 * (block / BLOCK);
            let mut mixed = own.clone();
            mixed[content.clone()].copy_from_slice(&other[content]);
            mixed[sum..sum + 4].copy_from_slice(&other[sum..sum + 4]);
            let got = section.get(&mixed, block..block + 1);
            assert!(
                matches!(got.err().unwrap().reason(), Reason::Checksum { offset, .. } if *offset == block as u64)
            );
            assert!(Filter::from_bytes(mixed).unwrap().verify().is_err());
        }
        at = section.end();
    }
    let mixed = [&other[..start], &own[start..]].concat();
    assert!(Filter::from_bytes(mixed).unwrap().verify().is_err(), "nor is its header the own one");
}
