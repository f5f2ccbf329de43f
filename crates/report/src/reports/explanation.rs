//! The page of an explanation: what each term adds to the score.

use tamis_filter::{ClassId, Classes, Explanation, TermContribution};

use crate::figure::{Figure, Table};
use crate::figures::bars::{self, Bar};
use crate::page::Page;
use crate::text::{Name, Plain, count, counted, nats, number};

/// The page of the explanation of one document, called `title`: a bar for each of the `most` strongest terms, 0 for all,
/// and for what the others add.
pub fn explanation_page(title: &str, classes: &Classes, explanation: &Explanation, most: usize) -> Page {
    let Explanation { score, class, against, intercept, terms, unknown, .. } = explanation;
    let label = |class: ClassId| classes.label(class).unwrap_or_default();
    let most = if most == 0 { terms.len() } else { most.min(terms.len()) };
    let rows: Vec<_> = terms.iter().map(|term| Row::new(term, &[*class, *against])).collect();
    let (drawn, rest) = rows.split_at(most);
    let figure = contributions(drawn, rest, *intercept, [label(*class), label(*against)]);
    let verdict = score.label.map_or("unsure".to_owned(), |verdict| Name(label(verdict)).to_string());
    let mut facts = vec![format!(
        "The verdict is <strong>{verdict}</strong>: probability {} of {}, log-odds {} nats.",
        number(score.probability, &format!("{:.4}", score.probability)),
        Name(label(score.scored_class)),
        number(score.log_odds, &nats(score.log_odds))
    )];
    if *unknown > 0 {
        let words = counted(*unknown as u64, "word");
        facts.push(format!("{words} not known to the model: nothing is added for what it does not know."));
    }
    Page { title: format!("Why: {}", Name(title)), facts, figures: vec![figure], tables: Vec::new() }
}

/// What a term adds.
pub(crate) struct Row<'a> {
    pub(crate) term: &'a str,
    pub(crate) adds: f64,
    pub(crate) count: u32,
    /// Documents learned that have it, of both labels.
    pub(crate) documents: Vec<u64>,
}

impl<'a> Row<'a> {
    pub(crate) fn new(term: &'a TermContribution, classes: &[ClassId]) -> Self {
        let documents =
            |class: &ClassId| term.document_frequencies.get(usize::from(*class)).copied().unwrap_or(0);
        Row {
            term: &term.term,
            adds: term.contribution,
            count: term.count,
            documents: classes.iter().map(documents).collect(),
        }
    }

    pub(crate) fn bar(&self) -> Bar {
        Bar { name: bars::name(self.term), value: self.adds, shown: nats(self.adds) }
    }
}

fn contributions(drawn: &[Row<'_>], rest: &[Row<'_>], intercept: f64, [label, against]: [&str; 2]) -> Figure {
    let sum = |rows: &[Row<'_>]| rows.iter().map(|row| row.adds).fold(0.0, |sum, adds| sum + adds);
    let ours = |name: String, value: f64| Bar { name, value, shown: nats(value) };
    let mut bars: Vec<_> = drawn.iter().map(Row::bar).collect();
    if !rest.is_empty() {
        bars.push(ours(counted(rest.len() as u64, "other term"), sum(rest)));
    }
    bars.push(ours("before any term".to_owned(), intercept));
    let row = |row: &Row<'_>| {
        let mut cells =
            vec![Name(row.term).to_string(), number(row.adds, &nats(row.adds)), count(row.count.into())];
        cells.extend(row.documents.iter().map(|n| count(*n)));
        cells
    };
    let mut rows: Vec<_> = drawn.iter().map(row).collect();
    let ours = |name: String, value: f64| {
        let none = String::new;
        vec![name, number(value, &nats(value)), none(), none(), none()]
    };
    if !rest.is_empty() {
        rows.push(ours(format!("<i>{}</i>", counted(rest.len() as u64, "other term")), sum(rest)));
    }
    rows.push(ours("<i>before any term</i>".to_owned(), intercept));
    let all = intercept + sum(drawn) + sum(rest);
    rows.push(ours("<i>in all</i>".to_owned(), all));
    let of = [label, against].map(|label| format!("documents of {}", Name(label)));
    let head = ["term", "adds", "count", &of[0], &of[1]];
    Figure {
        title: format!("What speaks for {} and what for {}", Name(label), Name(against)),
        finding: drawn.first().map(|row| {
            let side = if row.adds >= 0.0 { label } else { against };
            format!("{} speaks most, for {}.", Name(row.term), Name(side))
        }),
        note: format!(
            "To the right what speaks for {}, to the left what speaks for {}, in nats. All bars add up to the log-odds.",
            Name(label),
            Name(against)
        ),
        description: format!(
            "Bars of what each term adds to the log-odds of {} against {}.",
            Plain(label),
            Plain(against)
        ),
        drawing: bars::draw(&bars),
        tables: vec![Table::new("", &head, rows)],
        is_open: false,
    }
}
