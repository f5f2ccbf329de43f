//! The page of a score: the probability of every label.

use tamis_train::Classes;

use crate::figure::{Figure, Table};
use crate::figures::bars::{self, Bar};
use crate::page::Page;
use crate::text::{Name, nats, number, percent};

/// Maximum number of labels with a bar.
const MOST: usize = 20;

/// Creates the page of a score: the verdict (`None` if unsure), its log-odds in nats, and the probability of every
/// label in the order of `classes`.
pub fn score_page(classes: &Classes, verdict: Option<&str>, log_odds: f64, probabilities: &[f64]) -> Page {
    let mut labels: Vec<(&str, f64)> =
        classes.iter().zip(probabilities).map(|((_, label), probability)| (label, *probability)).collect();
    labels.sort_by(|a, b| b.1.total_cmp(&a.1));
    let bar = |(label, probability): &(&'_ str, f64)| Bar {
        name: bars::name(label),
        value: Some(*probability),
        shown: percent(*probability),
    };
    let drawn: Vec<_> = labels.iter().take(MOST).map(bar).collect();
    let row = |(label, probability): &(&str, f64)| {
        vec![Name(label).to_string(), number(*probability, &format!("{probability:.4}"))]
    };
    let verdict = verdict.map_or("unsure".to_owned(), |label| Name(label).to_string());
    let figure = Figure {
        title: "Probabilities".to_owned(),
        finding: None,
        note: String::new(),
        description: "Bars of the probability of each label, the likeliest first.".to_owned(),
        drawing: bars::draw(&drawn, bars::PLAIN),
        beside: None,
        tables: vec![Table::new("", &["label", "probability"], labels.iter().map(row).collect())],
        is_open: false,
    };
    Page {
        title: verdict,
        facts: vec![format!("Log-odds {} nats.", number(log_odds, &nats(log_odds)))],
        figures: vec![figure],
        tables: Vec::new(),
    }
}
