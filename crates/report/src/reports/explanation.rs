//! The pages of one document: its score, and what each of its terms adds to it.

use tamis_train::{ClassId, Classes, ExplainedWord, Explanation, TermContribution, spam_class};

use crate::figures::bars::{self, Bar};
use crate::figures::{Chart, DataTable};
use crate::reports::Page;
use crate::text::{Name, count, counted, nats, nats_cell, number, percent, running};

/// Maximum number of labels of a score with a bar.
const MOST_LABELS: usize = 20;

/// Creates the page of a score: the verdict (`None` if unsure), its log-odds in nats, and the probability of every
/// label in the order of `classes`.
pub fn score_page(classes: &Classes, verdict: Option<&str>, log_odds: f64, probabilities: &[f64]) -> Page {
    let mut labels: Vec<(&str, f64)> =
        classes.iter().zip(probabilities).map(|((_, label), probability)| (label, *probability)).collect();
    labels.sort_by(|a, b| b.1.total_cmp(&a.1));
    let bar = |(label, p): &(&str, f64)| Bar::new(label, *p, percent(*p));
    let drawn: Vec<_> = labels.iter().take(MOST_LABELS).map(bar).collect();
    let row = |(label, p): &(&str, f64)| vec![Name(label).to_string(), number(*p, &format!("{p:.4}"))];
    let table = DataTable::new("", &["label", "probability"], labels.iter().map(row).collect());
    let figure = Chart {
        description: "Bars of the probability of each label, the likeliest first.".to_owned(),
        ..bars::chart("Probabilities", &drawn, bars::PLAIN, table)
    };
    Page {
        title: verdict.map_or("unsure".to_owned(), |label| Name(label).to_string()),
        facts: vec![format!("Log-odds {} nats.", nats_cell(log_odds))],
        figures: vec![figure],
        ..Page::default()
    }
}

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
    let Explanation { score, class, unknown, .. } = explanation;
    let label = |class: ClassId| classes.label(class).unwrap_or_default();
    let colours = if spam_class(classes) == Some(*class) { bars::FOR_SPAM } else { bars::PLAIN };
    let chart = contributions(classes, explanation, colours, most);
    let verdict = score.label.map_or("unsure".to_owned(), |verdict| Name(label(verdict)).to_string());
    // the terms speak for a label against one other
    let others = if classes.len() > 2 { " against all others" } else { "" };
    let mut facts = vec![format!(
        "The verdict is <strong>{verdict}</strong>: probability {} of {}, log-odds {} nats{others}.",
        number(score.probability, &format!("{:.4}", score.probability)),
        Name(label(score.scored_class)),
        nats_cell(score.log_odds)
    )];
    if *unknown > 0 {
        let words = counted(*unknown as u64, "word");
        facts.push(format!("{words} not known to the model."));
    }
    facts.extend(explanation.because().map(|because| format!("{}.", Name(&because))));
    let figures = vec![Chart { beside: shaded(words, colours), ..chart }];
    Page { title: format!("Why: {}", Name(title)), facts, figures, ..Page::default() }
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
        let (bare, behind, adds) = (running(bare), running(behind), nats(*contribution));
        let (class, strength) = (colours[usize::from(*contribution < 0.0)], 8.0 + 62.0 * share);
        format!("<mark class=\"{class}\" style=\"--s:{strength:.0}%\" title=\"{adds}\">{bare}</mark>{behind}")
    };
    let text: String = words.iter().map(shade).collect();
    (!words.is_empty()).then(|| format!("<p class=\"words\"><bdi>{text}</bdi></p>"))
}

/// The bar of a term.
pub(crate) fn term_bar(term: &TermContribution) -> Bar {
    Bar::new(&term.term, term.contribution, nats(term.contribution))
}

/// The number of learned documents of a class that contain a term, as a cell.
pub(crate) fn documents_cell(term: &TermContribution, class: ClassId) -> String {
    count(term.document_frequencies.get(usize::from(class)).copied().unwrap_or(0))
}

/// Creates the figure of what each term adds: the `most` strongest with a bar each (0 for all), then sums of the others.
fn contributions(classes: &Classes, explanation: &Explanation, colours: [&str; 2], most: usize) -> Chart {
    let Explanation { class, against, intercept, terms, .. } = explanation;
    let most = if most == 0 { terms.len() } else { most.min(terms.len()) };
    let (drawn, rest) = terms.split_at(most);
    // of many labels, one is compared with its absence
    let is_alone = class == against;
    let compared = if is_alone { &[*class][..] } else { &[*class, *against] };
    let name = |class: ClassId| classes.label(class).unwrap_or_default();
    let [label, other] = [name(*class), if is_alone { "the rest" } else { name(*against) }].map(Name);

    let others = counted(rest.len() as u64, "other term");
    let others = (!rest.is_empty()).then(|| (others, sum(rest)));
    let log_odds = *intercept + sum(terms);
    let sums = [("before any term".to_owned(), *intercept), ("in all".to_owned(), log_odds)];
    let sums: Vec<_> = others.into_iter().chain(sums).collect();
    let mut bars: Vec<_> = drawn.iter().map(term_bar).collect();
    bars.extend(sums.iter().map(|(name, n)| Bar { name: name.clone(), value: None, shown: nats(*n) }));

    let of_term = |term: &TermContribution| {
        let cells = [Name(&term.term).to_string(), nats_cell(term.contribution), count(term.count.into())];
        cells.into_iter().chain(compared.iter().map(|class| documents_cell(term, *class))).collect()
    };
    let of_sum = |(name, value): (String, f64)| {
        let mut cells = vec![format!("<i>{name}</i>"), nats_cell(value)];
        cells.resize(3 + compared.len(), String::new());
        cells
    };
    let rows = drawn.iter().map(of_term).chain(sums.into_iter().map(of_sum)).collect();
    let of = [label, other].map(|label| format!("documents of {label}"));
    let head = ["term", "adds", "count", &of[0], &of[1]];
    let table = DataTable::new("", &head[..3 + compared.len()], rows);
    let title = format!("What speaks for {label} and what for {other}");
    Chart {
        finding: drawn.first().map(|first| {
            let side = if first.contribution >= 0.0 { label } else { other };
            format!("{} speaks most, for {side}.", Name(&first.term))
        }),
        note: format!(
            "To the right what speaks for {label}, to the left what speaks for {other}, in nats. All numbers add up to the \
             log-odds of {label} against {other}, {}.",
            nats(log_odds)
        ),
        description: format!("Bars of what each term adds to the log-odds of {label} against {other}."),
        ..bars::chart(title, &bars, colours, table)
    }
}

/// Sums from positive zero, so that the sum of no terms is +0.
fn sum(terms: &[TermContribution]) -> f64 {
    terms.iter().map(|term| term.contribution).fold(0.0, |sum, adds| sum + adds)
}
