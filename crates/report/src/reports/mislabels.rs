//! Documents that are probably mislabelled.

use tamis_train::evaluate::HeldOutScore;
use tamis_train::{ClassId, Classes};

use crate::figures::bars::{self, Bar};
use crate::figures::{Chart, DataTable};
use crate::text::{Name, nats, nats_cell};

/// A document whose score contradicts its label.
#[derive(Clone, PartialEq, Debug)]
pub struct Mislabel {
    /// Its name: a path, a Message-ID, or whatever identifies it.
    pub name: String,
    /// The label it has.
    pub label: String,
    /// The evidence against that label: the log-odds of the others, in nats.
    pub log_odds: f64,
    /// More about it, such as its date.
    pub note: String,
}

impl Mislabel {
    /// Returns the `most` documents whose scores contradict their labels most, the worst first. `name` returns the name
    /// of the document at a place in `outcomes`.
    pub fn of_outcomes(
        classes: &Classes,
        outcomes: &[HeldOutScore],
        most: usize,
        name: impl Fn(usize) -> String,
    ) -> Vec<Mislabel> {
        let against = |outcome: &HeldOutScore| match classes.len() {
            2 => -outcome.log_odds_of(outcome.class),
            _ => ((1.0 - outcome.probability) / outcome.probability).ln(),
        };
        let all = outcomes.iter().enumerate().map(|(place, outcome)| (against(outcome), place));
        let mut worst: Vec<(f64, usize)> = all.filter(|(against, _)| *against > 0.0).collect();
        // a stable sort keeps the order of equal ones
        worst.sort_by(|a, b| b.0.total_cmp(&a.0));
        let label = |class: ClassId| classes.label(class).unwrap_or_default();
        let mislabel = |(log_odds, place): (f64, usize)| Mislabel {
            name: name(place),
            label: label(outcomes[place].class).to_owned(),
            log_odds,
            note: match outcomes[place].score.label {
                Some(verdict) => format!("verdict {}", label(verdict)),
                None => "unsure".to_owned(),
            },
        };
        worst.into_iter().take(most).map(mislabel).collect()
    }
}

/// Creates the figure; `None` without documents.
pub(crate) fn mislabels(documents: &[Mislabel]) -> Option<Chart> {
    let bar = |document: &Mislabel| {
        let name = document.name.rsplit('/').next().unwrap_or_default();
        Bar::new(name, document.log_odds, nats(document.log_odds))
    };
    let bars: Vec<_> = documents.iter().map(bar).collect();
    let first = documents.first()?;
    let row = |document: &Mislabel| {
        let [name, label, note] =
            [&document.name, &document.label, &document.note].map(|text| Name(text).to_string());
        vec![name, label, note, nats_cell(document.log_odds)]
    };
    let head = ["document", "its label", "", "against it, in nats"];
    let table = DataTable::new("", &head, documents.iter().map(row).collect()).with_texts(3);
    Some(Chart {
        finding: Some(format!("{} contradicts its label {} most.", Name(&first.name), Name(&first.label))),
        note: "They are wrong verdicts or wrong labels: worth a look. Bars are the log-odds against the label, in nats."
            .to_owned(),
        description: "Bars of the log-odds against the labels of documents, the longest first.".to_owned(),
        ..bars::chart("Documents that contradict their label", &bars, bars::PLAIN, table)
    })
}
