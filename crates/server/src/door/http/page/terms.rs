//! Terms and what they add, as signed bars.

use maud::{Markup, html};

use crate::door::http::page::layout::{nats, shown};
use crate::service::answer::TermReason;

/// Maximum characters of a term.
const MOST_TERM: usize = 40;

/// Half the width of a bar.
const HALF: f64 = 100.0;

/// A few terms on a line, the sign of each told by more than its colour.
pub(super) fn line(terms: &[TermReason]) -> Markup {
    html! { ul.terms { @for TermReason { term, contribution } in terms {
        li class=(side(*contribution)) { (shown(term, MOST_TERM)) " " (nats(*contribution)) }
    } } }
}

/// A table of terms with a bar each, `label` to the right and `other` to the left.
pub(super) fn bars(terms: &[TermReason], label: &str, other: &str) -> Markup {
    let strongest = terms.iter().map(|term| term.contribution.abs()).fold(1e-9, f64::max);
    html! {
        table.bars {
            caption { "What each term adds, in nats: to the right for " (shown(label, MOST_TERM)) ", to the left for " (shown(other, MOST_TERM)) "." }
            thead { tr { th scope="col" { "term" } th scope="col" { "adds" } th scope="col" { "bar" } } }
            tbody { @for TermReason { term, contribution } in terms {
                @let width = (contribution.abs() / strongest).min(1.0) * HALF;
                @let start = if *contribution < 0.0 { HALF - width } else { HALF };
                tr {
                    th scope="row" { (shown(term, MOST_TERM)) }
                    td.number { (nats(*contribution)) }
                    td { svg.bar viewBox="0 0 200 12" aria-hidden="true" {
                        rect class=(side(*contribution)) x=(format!("{start:.1}")) y="1" width=(format!("{width:.1}")) height="10" {}
                        line x1="100" x2="100" y1="0" y2="12" {}
                    } }
                }
            } }
        }
    }
}

fn side(contribution: f64) -> &'static str {
    if contribution < 0.0 { "minus" } else { "plus" }
}
