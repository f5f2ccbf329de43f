//! The page of drift: how new documents differ from those that a model learned.

use tamis_train::Classes;
use tamis_train::evaluate::{Drift, MovedTerm};

use crate::figures::bars::{self, Bar, MOST_LABELS};
use crate::figures::{Chart, DataTable};
use crate::reports::Page;
use crate::text::{Name, count, counted, nats, nats_cell, number, percent, percent_cell, share};

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
fn tests(drift: &Drift) -> DataTable {
    let p = |p: f64| {
        let shown = if p < 0.0001 { "&lt; 0.0001".to_owned() } else { format!("{p:.4}") };
        vec![number(p, &shown), if drift.is_low(p) { "yes" } else { "no" }.to_owned()]
    };
    let row = |name: &str, values: [String; 2], statistic: String, of: f64| {
        [vec![name.to_owned()], values.into(), vec![statistic], p(of)].concat()
    };
    let sides = [&drift.learned, &drift.new];
    let (log_odds, unknown, labels) = (&drift.log_odds, &drift.unknown, &drift.labels);
    let mean = sides.map(|of| nats_cell(of.log_odds));
    let shares = sides.map(|of| of.unknown.map(percent_cell).unwrap_or_default());
    let unsure = sides.map(|of| percent_cell(of.unsure));
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
    DataTable::new(caption, &["", "learned", "new", "statistic", "p", "drift"], rows)
}

/// The share of new documents in each tenth of the learned ones.
fn ranges(drift: &Drift) -> Chart {
    let ends = |at: usize| match (at.checked_sub(1).and_then(|at| drift.bounds.get(at)), drift.bounds.get(at))
    {
        (None, None) => "all".to_owned(),
        (None, Some(high)) => format!("below {}", nats(*high)),
        (Some(low), None) => format!("from {}", nats(*low)),
        (Some(low), Some(high)) => format!("{} to {}", nats(*low), nats(*high)),
    };
    let rows = drift.learned.ranges.iter().zip(&drift.new.ranges).enumerate();
    let rows = rows.map(|(at, (learned, new))| (ends(at), [*learned, *new])).collect();
    Chart {
        note: "Ranges of a tenth of the learned documents each. Long bars at the top: new documents are less sure."
            .to_owned(),
        description: "Bars of the share of new documents in ranges of log-odds, the lowest range first."
            .to_owned(),
        ..shares("Log-odds of the likeliest label", drift, rows)
    }
}

fn labels(classes: &Classes, drift: &Drift) -> Chart {
    let rows = classes.iter().zip(drift.learned.labels.iter().zip(&drift.new.labels));
    let rows = rows.map(|((_, label), (learned, new))| (label.to_owned(), [*learned, *new])).collect();
    Chart {
        description: "Bars of the share of each label in the new documents.".to_owned(),
        ..shares("Labels of new documents", drift, rows)
    }
}

/// A figure of the shares of new documents, with those of learned documents in its table. A row has a name, and the
/// numbers of learned and of new documents.
fn shares(title: &str, drift: &Drift, rows: Vec<(String, [u64; 2])>) -> Chart {
    let of_new = |n: u64| share(n, drift.new.documents);
    let bar = |(name, [_, new]): &(String, [u64; 2])| Bar::new(name, of_new(*new), percent(of_new(*new)));
    let bars: Vec<_> = rows.iter().take(MOST_LABELS).map(bar).collect();
    let cells = |(name, [learned, new]): &(String, [u64; 2])| {
        let shares = [share(*learned, drift.learned.documents), of_new(*new)].map(percent_cell);
        [vec![Name(name).to_string(), count(*learned), count(*new)], shares.into()].concat()
    };
    let head = ["", "learned", "new", "share of learned", "share of new"];
    let table = DataTable::new("", &head, rows.iter().map(cells).collect());
    bars::chart(title, &bars, bars::PLAIN, table)
}

/// The words that moved; `None` if there are none.
fn moved(title: &str, terms: &[MovedTerm]) -> Option<Chart> {
    let difference = |term: &MovedTerm| term.new - term.learned;
    let bar = |term: &MovedTerm| Bar::new(&term.term, difference(term), percent(difference(term)));
    let row = |term: &MovedTerm| {
        let strength = number(term.strength, &format!("{:.1}", term.strength));
        vec![Name(&term.term).to_string(), percent_cell(term.learned), percent_cell(term.new), strength]
    };
    let first = terms.first()?;
    let bars: Vec<_> = terms.iter().map(bar).collect();
    let head = ["word", "share of learned", "share of new", "strength"];
    let table = DataTable::new("", &head, terms.iter().map(row).collect());
    Some(Chart {
        finding: Some(format!("{} moved most.", Name(&first.term))),
        note: "Bars are the difference of the shares of documents with the word. Those that are least likely to be chance \
               come first."
            .to_owned(),
        description: "Bars of the difference of the shares of documents with a word.".to_owned(),
        ..bars::chart(title, &bars, bars::PLAIN, table)
    })
}
