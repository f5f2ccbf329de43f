use proptest::prelude::*;
use tamis_mail::Limits;
use tamis_model::{Readings, Stretch};
use tamis_testing::steps;
use tamis_tokenizer::{CountVector, TermId};
use tamis_train::{Document as Taught, Trainer};

use super::*;
use crate::extract::extractor::Extractor;
use crate::options::PieceLengths;
use crate::{Document, Filter, Kind, Recipe, Scratch, TrainOptions};

/// The stretches of a document: of each the number of its terms, whether it ends its part, and whether people see it.
fn cut(kind: Kind, document: Document<'_>) -> Vec<(usize, bool, bool)> {
    let (mut counted, mut memo) = (Extraction::default(), tamis_tokenizer::Vocabulary::new());
    counted.want_parts(true);
    Extractor::new(Recipe::new(kind)).unwrap().count(document, &mut counted, &mut memo).unwrap();
    counted
        .stretches()
        .map(|Stretch { terms, ends_part, is_seen }| (terms.len(), ends_part, is_seen))
        .collect()
}

#[test]
fn a_part_is_cut_into_equal_stretches() {
    for n in 0..500 {
        let stretches = cut(Kind::Text, Document::Text(&"word ".repeat(n)));
        let lengths: Vec<_> = stretches.iter().map(|(n, ..)| *n).collect();
        assert_eq!(lengths.iter().sum::<usize>(), n);
        let [least, most] =
            [lengths.iter().min(), lengths.iter().max()].map(|n| n.copied().unwrap_or_default());
        assert!(most <= least + 1 && (n < 30 || (13..=27).contains(&least) && most <= 27), "{lengths:?}");
        assert_eq!(lengths.len(), if n < 30 { n.min(1) } else { (n + 10) / 20 });
        let n = stretches.len();
        assert!(
            stretches.iter().enumerate().all(|(at, (_, ends, is_seen))| *ends == (at + 1 == n) && *is_seen)
        );
    }
}

#[test]
fn each_field_and_text_of_a_mail_is_a_part_and_headers_are_none() {
    let fields = [("subject", "pears"), ("", "a pear a day"), ("", ""), ("", "iron")];
    assert_eq!(cut(Kind::Text, Document::Fields(&fields)), [(4, true, true), (1, true, true)]);
    let html = "<title>one two</title>seen here<p hidden>three hidden words</p>";
    let mail = format!("Subject: a b c\nContent-Type: text/html\n\n{html}\n");
    let stretches = cut(Kind::Mail, Document::Mail(mail.as_bytes()));
    let ends: Vec<_> = stretches.iter().map(|(_, ends, is_seen)| (*ends, *is_seen)).collect();
    assert_eq!(ends, [(true, true), (true, false), (true, false)]);
    assert_eq!([stretches[1].0, stretches[2].0], [3, 2]);
}

#[test]
fn cuts_tell_where_parts_end_and_what_is_seen() {
    let cuts = |document: Document<'_>| {
        let (mut counted, mut vocabulary) = (Extraction::default(), tamis_tokenizer::Vocabulary::new());
        counted.want_parts(true);
        Extractor::new(Recipe::new(Kind::Text))
            .unwrap()
            .count(document, &mut counted, &mut vocabulary)
            .unwrap();
        counted.cuts(vocabulary.document())
    };
    let (one, other) = ("pear ".repeat(30), "iron ".repeat(30));
    let whole = cuts(Document::Text(&format!("{one}{other}")));
    assert_eq!(whole, cuts(Document::Text(&format!("{one}, {other}."))));
    assert_ne!(whole, cuts(Document::Fields(&[("", &one), ("", &other)])));
    assert_ne!(whole, cuts(Document::Text(&format!("{other}{one}"))));
}

/// The log-odds of spam of the last document, from rows that are built anew for every part.
fn by_rows(filter: &Filter, scratch: &Scratch, sign: f64) -> f64 {
    let Scratch { memo, counted, .. } = scratch;
    let (layers, scorer, terms) = (filter.layers(), filter.weighted().unwrap(), memo.document());
    let with_pieces = |place: &u32| {
        let pieces = memo.terms.pieces_of(terms[*place as usize].id);
        let place_of = |piece: &TermId| terms.iter().position(|term| term.id == *piece).unwrap() as u32;
        std::iter::once(*place).chain(pieces.iter().map(place_of)).collect::<Vec<_>>()
    };
    let (mut parts, mut part) = (Vec::new(), Vec::new());
    for Stretch { terms, ends_part, is_seen } in counted.stretches() {
        part.push((terms.iter().flat_map(with_pieces).collect::<Vec<_>>(), is_seen));
        if ends_part {
            parts.push(std::mem::take(&mut part));
        }
    }
    assert!(part.is_empty());
    let id = |place: u32| memo.id(place as usize, layers.n_terms()).unwrap();
    let score = |pairs: Vec<(TermId, u32)>| {
        let (mut readings, mut z) = (Readings::default(), Vec::new());
        scorer.read(layers, CountVector::from_pairs(pairs).unwrap().row(), &mut readings).unwrap();
        scorer.log_odds.log_odds(&readings, &mut z);
        sign * z[0]
    };
    let without = |places: &[u32]| {
        let rest = (0..).zip(terms).filter(|(place, _)| !places.contains(place));
        rest.map(|(place, term)| (id(place), term.count)).collect::<Vec<_>>()
    };
    let all = || parts.iter().flatten();
    let outside = without(&all().flat_map(|(places, _)| places).copied().collect::<Vec<_>>());
    let window = |stretches: &[(Vec<u32>, bool)]| {
        let inside = stretches.iter().flat_map(|(places, _)| places).map(|place| (id(*place), 1));
        score(outside.iter().copied().chain(inside).collect())
    };
    let (mut windows, mut start) = (Vec::new(), 0);
    for part in &parts {
        let n = part.len().min(2);
        windows.extend(part.windows(n).zip(start..).map(|(of, at)| (at..at + n, window(of))));
        start += part.len();
    }
    let mut worst = score(without(&[]));
    if windows.len() > 1 {
        let price = scorer.log_odds.choices().parts;
        let price = price[0] + price[1] * (windows.len() as f64).ln();
        // the window is looked for by sums of its stretches, in which a word of both counts more than twice in one
        let found = scratch.part.as_ref().unwrap();
        let (_, z) = windows.iter().find(|(stretches, _)| *stretches == found.window).unwrap();
        let highest = windows.iter().map(|(_, z)| *z).fold(f64::NEG_INFINITY, f64::max);
        assert!((z - found.worst).abs() < 1e-9 && *z <= highest, "{z} {highest} {found:?}");
        worst = worst.max(z - price);
    }
    let unseen: Vec<u32> =
        all().filter(|(_, is_seen)| !is_seen).flat_map(|(places, _)| places).copied().collect();
    if unseen.is_empty() { worst } else { worst.max(score(without(&unseen))) }
}

/// Words: from where in the list, how far from one to the next, and how many.
type Words = (u8, u8, u8);

fn text((first, step, n): Words) -> String {
    (0..usize::from(n))
        .map(|i| format!("word{} ", (usize::from(first) + usize::from(step) * i) % 40))
        .collect()
}

/// A document of parts, of which each has words that people see, and others that nobody sees.
fn document(kind: Kind, parts: &[(Words, Words)]) -> Vec<(String, String)> {
    if kind == Kind::Text {
        let fields = parts.iter().flat_map(|(seen, other)| [seen, other]);
        return fields
            .enumerate()
            .map(|(i, words)| (["", "", "", "subject"][i % 4].to_owned(), text(*words)))
            .collect();
    }
    let part = |(i, (seen, unseen)): (usize, &(Words, Words))| match i % 2 {
        0 => format!("--b\nContent-Type: text/html\n\n{}<p hidden>{}</p>\n", text(*seen), text(*unseen)),
        _ => format!("--b\n\n{}\n", text(*seen)),
    };
    let parts: String = parts.iter().enumerate().map(part).collect();
    let header = "From: a@b.org\nTo: c@d.org\nSubject: word1\nContent-Type: multipart/mixed; boundary=b\n";
    vec![(String::new(), format!("{header}\n{parts}--b--\n"))]
}

/// Calls `with` with the document that [`document`] made.
fn with<T>(kind: Kind, fields: &[(String, String)], ask: impl FnOnce(Document<'_>) -> T) -> T {
    let fields: Vec<_> = fields.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    if kind == Kind::Mail {
        ask(Document::Mail(fields[0].1.as_bytes()))
    } else {
        ask(Document::Fields(&fields))
    }
}

/// A filter of many documents, each with its words seen and hidden, with spam under the second label. Ham has the first words of the list, spam
/// the last ones, but for those that are `learned` beside.
fn filter(kind: Kind, labels: [&str; 2], pieces: bool, learned: &[(bool, Words)]) -> Filter {
    let mut options = TrainOptions { refinements: Vec::new(), ..TrainOptions::new(kind) };
    options.recipe.pieces = pieces.then_some(PieceLengths::ALL);
    let mut trainer = Trainer::new(options).unwrap();
    let own = (0..60).map(|i| (i % 2 == 1, (20 * (i % 2) + i / 2 % 8, 1, 4 + i % 7)));
    for (is_spam, words) in own.chain(learned.iter().copied()) {
        let fields = document(kind, &[(words, words)]);
        let fields: Vec<_> = fields.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let document =
            if kind == Kind::Mail { Taught::Mail(fields[0].1.as_bytes()) } else { Taught::Fields(&fields) };
        trainer.add(labels[usize::from(is_spam)], document).unwrap();
    }
    let mut filter = Filter::from_bytes(trainer.finish().unwrap().as_bytes().to_vec()).unwrap();
    filter.set_spam_label(labels[1]).unwrap();
    filter
}

fn words(most: u8) -> impl Strategy<Value = Words> {
    (0..40_u8, 0..7_u8, prop_oneof![0..10_u8, 0..most])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_document_is_as_bad_as_the_worst_row_of_a_part(
        is_mail: bool, pieces: bool, labels in prop::sample::select(vec![["ham", "spam"], ["wanted", "junk"], ["b", "a"]]),
        learned in prop::collection::vec((any::<bool>(), words(40)), 0..12),
        asked in prop::collection::vec(prop::collection::vec((words(200), words(60)), 0..4), 1..5),
    ) {
        let kind = if is_mail { Kind::Mail } else { Kind::Text };
        let filter = filter(kind, labels, pieces, &learned);
        let sign = if filter.positive() == filter.spam() { 1.0 } else { -1.0 };
        prop_assert!(sign > 0.0 || labels[1] == "a");
        // what it has cached makes no difference
        let mut scratch = Scratch::default();
        for parts in &asked {
            with(kind, &document(kind, parts), |document| {
                let score = filter.score(document, &mut scratch).unwrap();
                assert_eq!(Some(score.scored_class), filter.spam());
                let expected = by_rows(&filter, &scratch, sign);
                assert!((score.log_odds - expected).abs() < 1e-9, "{} {expected}", score.log_odds);
                let explained = filter.explain(document, &mut scratch).unwrap();
                let sum = explained.terms.iter().fold(explained.intercept, |sum, term| sum + term.contribution);
                assert_eq!(explained.score, score);
                assert!((sum - score.log_odds).abs() < 1e-9, "{sum} {}", score.log_odds);
            });
        }
    }
}

/// A spam between two texts of ham, and one whose HTML hides ham.
#[test]
fn a_part_decides_where_it_is_worse_than_the_whole() {
    for (kind, parts, stretches) in [
        (
            Kind::Text,
            &[((0, 1, 15), (0, 0, 0)), ((20, 1, 15), (0, 0, 0)), ((3, 1, 15), (0, 0, 0))][..],
            Some(1..2),
        ),
        (Kind::Mail, &[((20, 1, 15), (0, 1, 18))], None),
    ] {
        let filter = filter(kind, ["ham", "spam"], false, &[]);
        let mut scratch = Scratch::default();
        with(kind, &document(kind, parts), |document| filter.score(document, &mut scratch).unwrap());
        let Some(deciding) = scratch.part.as_ref().and_then(|part| part.deciding.as_ref()) else {
            panic!("{kind}: the whole decides, {:?}", scratch.part)
        };
        assert_eq!(deciding.stretches, stretches, "{:?}", scratch.part);
        let price = if stretches.is_some() { 3.0_f64.ln() } else { 0.0 };
        assert!((deciding.price - price).abs() < 1e-12);
        // of one part alone there is nothing to decide
        for first in [0, 20] {
            let short = (first, 1, 30);
            with(kind, &document(kind, &[(short, (0, 0, 0))]), |document| {
                filter.score(document, &mut scratch).unwrap()
            });
            assert!(scratch.part.as_ref().and_then(|part| part.deciding.as_ref()).is_none());
        }
    }
}

/// Of topics, even of two, no parts are weighed.
#[test]
fn topics_have_no_parts() {
    let mut trainer = Trainer::new(TrainOptions::new(Kind::Text)).unwrap();
    trainer.add("fruit", Taught::Text("apples and pears")).unwrap();
    trainer.add("metal", Taught::Text("iron and tin")).unwrap();
    let filter = Filter::from_bytes(trainer.finish().unwrap().as_bytes().to_vec()).unwrap();
    let mut scratch = Scratch::default();
    filter.score_text(&"iron apples ".repeat(100), &mut scratch).unwrap();
    assert!(scratch.part.is_none() && scratch.counted.stretches().next().is_none());
}

/// A mail of a megabyte with thousands of stretches, in one part or in hundreds, seen or hidden.
#[test]
fn the_work_grows_with_the_length_alone() {
    let filter = filter(Kind::Mail, ["ham", "spam"], true, &[]);
    let hidden = |text: &str| format!("<p hidden>{text}</p>{text}");
    type Form<'f> = (usize, &'f dyn Fn(&str) -> String);
    let forms: [Form<'_>; 4] = [
        (1, &|text| format!("Content-Type: text/plain\n\n{text}")),
        (1, &|text| format!("Content-Type: text/html\n\n{}", hidden(text))),
        (400, &|text| format!("\n{text}")),
        (400, &|text| format!("Content-Type: text/html\n\n{}", hidden(text))),
    ];
    for (n, form) in forms {
        let mut scratch = Scratch::default();
        let mut work = |bytes: usize| {
            let text: String = (0..bytes / 5 / n).map(|i| format!("w{} ", 100 + i * i % 800)).collect();
            let parts = format!("--b\n{}\n", form(&text)).repeat(n);
            let mail = format!("Subject: x\nContent-Type: multipart/mixed; boundary=b\n\n{parts}--b--\n");
            let steps = steps(|| _ = filter.score_mail(mail.as_bytes(), &mut scratch).unwrap());
            (steps, scratch.counted.stretches().count())
        };
        let [(once, _), (twice, stretches)] =
            [work(Limits::default().text / 2), work(Limits::default().text)];
        assert!(stretches > 1_000 && once > 50_000, "{n} parts: {once} steps, {stretches} stretches");
        assert!(2 * twice <= 5 * once, "{n} parts: {once} steps, of twice the text {twice}");
    }
}
