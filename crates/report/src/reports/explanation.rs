//! The page of an explanation: what each term adds to the score.

use tamis_train::{ClassId, Classes, ExplainedWord, Explanation, TermContribution, spam_class};

use crate::figure::{Figure, Table};
use crate::figures::bars::{self, Bar};
use crate::page::Page;
use crate::text::{Name, Plain, count, counted, nats, number, running};

/// Creates the page that explains the score of one document, called `title`. It has a bar for each of the `most`
/// strongest terms (0 for all), and lines for what the others add. Beside them are the document's `words`, if there are
/// any, each shaded by what it adds.
pub fn explanation_page(
    title: &str,
    classes: &Classes,
    explanation: &Explanation,
    words: &[ExplainedWord],
    most: usize,
) -> Page {
    let Explanation { score, class, against, intercept, terms, unknown, .. } = explanation;
    let label = |class: ClassId| classes.label(class).unwrap_or_default();
    let most = if most == 0 { terms.len() } else { most.min(terms.len()) };
    // of many labels, one is compared with its absence
    let is_alone = class == against;
    let compared = if is_alone { &[*class][..] } else { &[*class, *against] };
    let rows: Vec<_> = terms.iter().map(|term| Row::new(term, compared)).collect();
    let (drawn, rest) = rows.split_at(most);
    let colours = if spam_class(classes) == Some(*class) { bars::FOR_SPAM } else { bars::PLAIN };
    let parts = Parts { drawn, rest, intercept: *intercept, n_compared: compared.len() };
    let labels = [label(*class), if is_alone { "the rest" } else { label(*against) }];
    let figure = Figure { beside: shaded(words, colours), ..parts.figure(labels, colours) };
    let verdict = score.label.map_or("unsure".to_owned(), |verdict| Name(label(verdict)).to_string());
    let mut facts = vec![format!(
        "The verdict is <strong>{verdict}</strong>: probability {} of {}, log-odds {} nats.",
        number(score.probability, &format!("{:.4}", score.probability)),
        Name(label(score.scored_class)),
        number(score.log_odds, &nats(score.log_odds))
    )];
    if *unknown > 0 {
        let words = counted(*unknown as u64, "word");
        facts.push(format!("{words} not known to the model."));
    }
    Page { title: format!("Why: {}", Name(title)), facts, figures: vec![figure], tables: Vec::new() }
}

/// The words of a document, each shaded by what it adds relative to the strongest.
fn shaded(words: &[ExplainedWord], colours: [&str; 2]) -> Option<String> {
    let finite = words.iter().map(|word| word.contribution.abs()).filter(|adds| adds.is_finite());
    let strongest = finite.fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let shade = |word: &ExplainedWord| {
        let ExplainedWord { text, contribution, .. } = word;
        let share = (contribution.abs() / strongest).min(1.0);
        if share.is_nan() || share < 0.02 {
            return running(text);
        }
        let (bare, behind) = text.split_at(text.trim_end().len());
        format!(
            "<mark class=\"{}\" style=\"--s:{:.0}%\" title=\"{}\">{}</mark>{}",
            colours[usize::from(*contribution < 0.0)],
            8.0 + 62.0 * share,
            nats(*contribution),
            running(bare),
            running(behind)
        )
    };
    let text: String = words.iter().map(shade).collect();
    (!words.is_empty()).then(|| format!("<p class=\"words\"><bdi>{text}</bdi></p>"))
}

/// A term, and what it adds.
pub(crate) struct Row<'a> {
    pub(crate) term: &'a str,
    pub(crate) adds: f64,
    pub(crate) count: u32,
    /// Number of learned documents that contain the term, for each label.
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
        Bar { name: bars::name(self.term), value: Some(self.adds), shown: nats(self.adds) }
    }
}

/// The terms with a bar, the other terms, and the log-odds before any term.
struct Parts<'a> {
    drawn: &'a [Row<'a>],
    rest: &'a [Row<'a>],
    intercept: f64,
    /// Number of labels whose documents are counted for each term.
    n_compared: usize,
}

impl Parts<'_> {
    fn figure(&self, [label, against]: [&str; 2], colours: [&str; 2]) -> Figure {
        let mut bars: Vec<_> = self.drawn.iter().map(Row::bar).collect();
        bars.extend(self.sums().map(|(name, value)| Bar { name, value: None, shown: nats(value) }));
        let of = [label, against].map(|label| format!("documents of {}", Name(label)));
        let head: Vec<_> =
            ["term", "adds", "count"].into_iter().chain(of.iter().map(String::as_str)).collect();
        Figure {
            title: format!("What speaks for {} and what for {}", Name(label), Name(against)),
            finding: self.drawn.first().map(|row| {
                let side = if row.adds >= 0.0 { label } else { against };
                format!("{} speaks most, for {}.", Name(row.term), Name(side))
            }),
            note: format!(
                "To the right what speaks for {}, to the left what speaks for {}, in nats. All numbers add up to the \
                 log-odds.",
                Name(label),
                Name(against)
            ),
            description: format!(
                "Bars of what each term adds to the log-odds of {} against {}.",
                Plain(label),
                Plain(against)
            ),
            drawing: bars::draw(&bars, colours),
            beside: None,
            tables: vec![Table::new("", &head[..3 + self.n_compared], self.rows())],
            is_open: false,
        }
    }

    /// What everything without a bar of its own adds.
    fn sums(&self) -> impl Iterator<Item = (String, f64)> {
        let others = counted(self.rest.len() as u64, "other term");
        let others = (!self.rest.is_empty()).then(|| (others, sum(self.rest)));
        others.into_iter().chain([("before any term".to_owned(), self.intercept)])
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let of_term = |row: &Row<'_>| {
            let documents = row.documents.iter().map(|n| count(*n));
            let cells =
                [Name(row.term).to_string(), number(row.adds, &nats(row.adds)), count(row.count.into())];
            cells.into_iter().chain(documents).collect()
        };
        let all = ("in all".to_owned(), self.intercept + sum(self.drawn) + sum(self.rest));
        let of_sum = |(name, value): (String, f64)| {
            let mut cells = vec![format!("<i>{name}</i>"), number(value, &nats(value))];
            cells.resize(3 + self.n_compared, String::new());
            cells
        };
        self.drawn.iter().map(of_term).chain(self.sums().chain([all]).map(of_sum)).collect()
    }
}

/// Sums from positive zero, so that the sum of no rows is +0.
fn sum(rows: &[Row<'_>]) -> f64 {
    rows.iter().map(|row| row.adds).fold(0.0, |sum, adds| sum + adds)
}
