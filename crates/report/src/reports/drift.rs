//! The page of drift: how new documents differ from those that a model learned.

use tamis_train::Classes;
use tamis_train::evaluate::{Drift, MovedTerm};

use crate::figure::{Figure, Table};
use crate::figures::bars::{self, Bar};
use crate::page::Page;
use crate::text::{Name, count, counted, nats, number, percent, share};

/// Maximum number of labels in the drawing.
const MOST_LABELS: usize = 60;

/// Creates the page of the drift from the model called `title`: whether there is any and by which test, log-odds and
/// labels of learned and new documents, and the words that moved.
pub fn drift_page(title: &str, classes: &Classes, drift: &Drift) -> Page {
    let documents = format!(
        "{} compared with {}, each of which was scored by a model without it.",
        counted(drift.new.documents, "new document"),
        counted(drift.learned.documents, "learned document")
    );
    let verdict = match drift.is_found() {
        Some(true) => "Drift: the new documents differ.",
        Some(false) => "No drift was found.",
        None => "Too few documents to tell: expected at least 20 new and 50 learned ones.",
    };
    let figures =
        [("Words that are more frequent", &drift.risen), ("Words that are less frequent", &drift.fallen)];
    let figures = figures.into_iter().filter_map(|(title, terms)| moved(title, terms));
    Page {
        title: format!("Drift from {}", Name(title)),
        facts: vec![format!("{verdict} {documents}")],
        figures: [ranges(drift), labels(classes, drift)].into_iter().chain(figures).collect(),
        tables: vec![tests(drift)],
    }
}

/// The three tests, and the population stability indices.
fn tests(drift: &Drift) -> Table {
    let p = |p: f64| {
        let shown = if p < 0.0001 { "&lt; 0.0001".to_owned() } else { format!("{p:.4}") };
        vec![number(p, &shown), if drift.is_low(p) { "yes" } else { "no" }.to_owned()]
    };
    let row = |name: &str, values: [String; 2], statistic: String, of: f64| {
        [vec![name.to_owned()], values.into(), vec![statistic], p(of)].concat()
    };
    let sides = [&drift.learned, &drift.new];
    let (log_odds, unknown, labels) = (&drift.log_odds, &drift.unknown, &drift.labels);
    let mean = sides.map(|of| number(of.log_odds, &nats(of.log_odds)));
    let shares =
        sides.map(|of| of.unknown.map_or_else(Default::default, |share| number(share, &percent(share))));
    let unsure = sides.map(|of| number(of.unsure, &percent(of.unsure)));
    let without = |name: &str, values: [String; 2]| {
        [vec![name.to_owned()], values.into(), vec![String::new(); 3]].concat()
    };
    let psi = |name: &str, psi: f64| without(name, [String::new(), number(psi, &format!("{psi:.3}"))]);
    let rows = vec![
        row("log-odds of the likeliest label, mean", mean, format!("D {:.3}", log_odds.d), log_odds.p),
        row("unknown words, mean of documents", shares, format!("D {:.3}", unknown.d), unknown.p),
        row("labels", Default::default(), format!("χ² {:.1}", labels.statistic), labels.p),
        without("unsure", unsure),
        psi("population stability index of log-odds", drift.log_odds_psi),
        psi("population stability index of labels", drift.labels_psi),
    ];
    let caption = format!("Tests: each finds drift if p is below {:.4}", drift.level / 3.0);
    Table::new(caption, &["", "learned", "new", "statistic", "p", "drift"], rows)
}

/// The share of new documents in each tenth of the learned ones.
fn ranges(drift: &Drift) -> Figure {
    let ends = |at: usize| match (at.checked_sub(1).and_then(|at| drift.bounds.get(at)), drift.bounds.get(at))
    {
        (None, None) => "all".to_owned(),
        (None, Some(high)) => format!("below {}", nats(*high)),
        (Some(low), None) => format!("from {}", nats(*low)),
        (Some(low), Some(high)) => format!("{} to {}", nats(*low), nats(*high)),
    };
    let numbers: Vec<_> =
        drift.learned.ranges.iter().copied().zip(drift.new.ranges.iter().copied()).collect();
    let names = (0..numbers.len()).map(ends).collect();
    let mut figure = shares("Log-odds of the likeliest label", drift, names, &numbers);
    figure.note =
        "Ranges of a tenth of the learned documents each. Long bars at the top: new documents are less sure."
            .to_owned();
    figure.description =
        "Bars of the share of new documents in ranges of log-odds, the lowest range first.".to_owned();
    figure
}

fn labels(classes: &Classes, drift: &Drift) -> Figure {
    let numbers: Vec<_> =
        drift.learned.labels.iter().copied().zip(drift.new.labels.iter().copied()).collect();
    let names = classes.iter().map(|(_, label)| label.to_owned()).collect();
    let mut figure = shares("Labels of new documents", drift, names, &numbers);
    figure.description = "Bars of the share of each label in the new documents.".to_owned();
    figure
}

/// A figure of the shares of new documents, with those of learned documents in its table. `numbers` has those of the
/// learned and of the new documents.
fn shares(title: &str, drift: &Drift, names: Vec<String>, numbers: &[(u64, u64)]) -> Figure {
    let of_new = |n: u64| share(n, drift.new.documents);
    let bar = |(name, (_, new)): (&String, &(u64, u64))| Bar {
        name: bars::name(name),
        value: Some(of_new(*new)),
        shown: percent(of_new(*new)),
    };
    let bars: Vec<_> = names.iter().zip(numbers).take(MOST_LABELS).map(bar).collect();
    let row = |(name, (learned, new)): (&String, &(u64, u64))| {
        let shares = [share(*learned, drift.learned.documents), of_new(*new)];
        let [of_learned, of_new] = shares.map(|share| number(share, &percent(share)));
        vec![Name(name).to_string(), count(*learned), count(*new), of_learned, of_new]
    };
    let rows = names.iter().zip(numbers).map(row).collect();
    let head = ["", "learned", "new", "share of learned", "share of new"];
    Figure {
        title: title.to_owned(),
        finding: None,
        note: String::new(),
        description: String::new(),
        drawing: bars::draw(&bars, bars::PLAIN),
        beside: None,
        tables: vec![Table::new("", &head, rows)],
        is_open: false,
    }
}

/// The words that moved; `None` if there are none.
fn moved(title: &str, terms: &[MovedTerm]) -> Option<Figure> {
    let difference = |term: &MovedTerm| term.new - term.learned;
    let bar = |term: &MovedTerm| Bar {
        name: bars::name(&term.term),
        value: Some(difference(term)),
        shown: percent(difference(term)),
    };
    let row = |term: &MovedTerm| {
        let [learned, new] = [term.learned, term.new];
        let strength = number(term.strength, &format!("{:.1}", term.strength));
        vec![
            Name(&term.term).to_string(),
            number(learned, &percent(learned)),
            number(new, &percent(new)),
            strength,
        ]
    };
    let first = terms.first()?;
    let bars: Vec<_> = terms.iter().map(bar).collect();
    let head = ["word", "share of learned", "share of new", "strength"];
    Some(Figure {
        title: title.to_owned(),
        finding: Some(format!("{} moved most.", Name(&first.term))),
        note: "Bars are the difference of the shares of documents with the word. Those that are least likely to be chance \
               come first."
            .to_owned(),
        description: "Bars of the difference of the shares of documents with a word.".to_owned(),
        drawing: bars::draw(&bars, bars::PLAIN),
        beside: None,
        tables: vec![Table::new("", &head, terms.iter().map(row).collect())],
        is_open: false,
    })
}
