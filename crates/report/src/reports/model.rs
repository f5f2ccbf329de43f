//! The page of a model: what it has learned, and the strongest terms of its labels.

use tamis_train::information::{ClassTotals, HeldOutPerformance, Interval};
use tamis_train::{ClassId, Filter, Result, TermContribution, positive_class};

use crate::figures::bars::{self, Bar, MOST_LABELS};
use crate::figures::{Chart, DataTable};
use crate::reports::Page;
use crate::reports::explanation::{documents_cell, term_bar};
use crate::reports::mislabels::{Mislabel, mislabels};
use crate::text::{Name, count, counted, grouped, nats_cell, percent, share};

/// Creates the page of a model, called `title`: the documents of each label, the `n_terms` strongest terms of each of
/// the first `n_labels` labels, and `suspects`, the documents that contradict their label.
///
/// Reads the whole model for each label that has terms on the page.
///
/// # Errors
/// The model is damaged.
pub fn model_page(
    title: &str,
    filter: &Filter,
    [n_labels, n_terms]: [usize; 2],
    suspects: &[Mislabel],
) -> Result<Page> {
    let information = filter.information();
    let (documents_of, terms) =
        (counted(information.documents, "document"), counted(information.size.terms as u64, "term"));
    let (kind, bytes) = (information.recipe.kind, grouped(information.file.bytes as u64));
    let mut facts = vec![format!("A model of {documents_of} of {kind}: {terms}, {bytes} bytes.")];
    facts.extend(information.expected.map(|expected| expectation(filter, expected)));
    let mut figures = vec![documents(filter)];
    let n_labels = if n_terms == 0 { 0 } else { n_labels };
    for (class, _) in filter.classes().iter().take(n_labels) {
        figures.extend(strongest(filter, class, n_terms)?);
    }
    if (1..filter.classes().len()).contains(&n_labels) {
        let all = grouped(filter.classes().len() as u64);
        facts.push(format!("Terms are shown of {n_labels} labels of {all}."));
    }
    figures.extend(mislabels(suspects));
    Ok(Page { title: format!("Model {}", Name(title)), facts, figures, ..Page::default() })
}

fn documents(filter: &Filter) -> Chart {
    let totals = filter.information().totals;
    let labels: Vec<_> = filter.classes().iter().zip(totals.iter()).collect();
    let bar = |((_, label), totals): &((ClassId, &str), &ClassTotals)| {
        Bar::new(label, totals.documents as f64, grouped(totals.documents))
    };
    let bars: Vec<_> = labels.iter().take(MOST_LABELS).map(bar).collect();
    let row = |((_, label), totals): &((ClassId, &str), &ClassTotals)| {
        vec![Name(label).to_string(), count(totals.documents), count(totals.df), count(totals.tf)]
    };
    let head = ["label", "documents", "terms in all", "occurrences"];
    let table = DataTable::new("", &head, labels.iter().map(row).collect());
    Chart {
        note: match labels.len() > MOST_LABELS {
            true => format!("The first {MOST_LABELS} of {} labels.", grouped(labels.len() as u64)),
            false => String::new(),
        },
        description: "Bars of the number of documents learned of each label.".to_owned(),
        ..bars::chart("Documents learned", &bars, bars::PLAIN, table)
    }
}

/// Creates the figure of a label's strongest terms; `None` if it has none.
fn strongest(filter: &Filter, class: ClassId, most: usize) -> Result<Option<Chart>> {
    let label = Name(filter.classes().label(class).unwrap_or_default());
    let terms = filter.strongest_terms(class, most)?;
    let Some(first) = terms.first() else { return Ok(None) };
    let bars: Vec<_> = terms.iter().map(term_bar).collect();
    let row = |term: &TermContribution| {
        vec![Name(&term.term).to_string(), nats_cell(term.contribution), documents_cell(term, class)]
    };
    let head = ["term", "weight", &format!("documents of {label}")];
    let table = DataTable::new("", &head, terms.iter().map(row).collect());
    let colours = if filter.spam() == Some(class) { bars::FOR_SPAM } else { bars::PLAIN };
    Ok(Some(Chart {
        finding: Some(format!("{} speaks most for {label}.", Name(&first.term))),
        note: "The log-odds of a document that has nothing but the term, before any offset, in nats."
            .to_owned(),
        description: format!("Bars of the weights of the strongest terms of {label}."),
        ..bars::chart(format!("Strongest terms of {label}"), &bars, colours, table)
    }))
}

/// What held-out documents lead to expect of the filter.
fn expectation(filter: &Filter, expected: HeldOutPerformance) -> String {
    let groups = match expected {
        HeldOutPerformance::Accuracy { groups, .. }
        | HeldOutPerformance::Detection { groups, .. }
        | HeldOutPerformance::Labels { groups, .. } => groups,
    };
    let part = |part: u64, whole: u64| {
        let Interval { low, high } = filter.information().interval(part, whole);
        match groups {
            0 => format!("{} ({} to {})", percent(share(part, whole)), percent(low), percent(high)),
            // documents of a group are alike, so these intervals would be too narrow
            _ => percent(share(part, whole)),
        }
    };
    let on = match groups {
        0 => "documents drawn like these (95 % interval)".to_owned(),
        _ => format!("documents of new groups ({}, each held out as a whole)", counted(groups, "group")),
    };
    let (right, documents) = match expected {
        HeldOutPerformance::Accuracy { documents, right, .. } => (right, documents),
        HeldOutPerformance::Labels { found, wrong, missed, .. } => {
            return format!(
                "To expect on {on}: {} of the labels given right, {} of those that documents have missed.",
                part(found, (found + wrong).max(1)),
                part(missed, (found + missed).max(1))
            );
        }
        HeldOutPerformance::Detection { negatives, false_positives, positives, missed, .. } => {
            if let Some(spam) = filter.spam() {
                let mut wrong = [part(false_positives, negatives), part(missed, positives)];
                if spam != positive_class(filter.classes()) {
                    wrong.reverse();
                }
                let label = |class: ClassId| Name(filter.classes().label(class).unwrap_or_default());
                let ([lost, missed], [ham, spam]) = (wrong, [1 - spam, spam].map(label));
                return format!(
                    "To expect on {on}: {lost} of {ham} lost, {missed} of {spam} missed or unsure."
                );
            }
            (negatives + positives - false_positives - missed, negatives + positives)
        }
    };
    format!("To expect on {on}: {} labelled right.", part(right, documents))
}
