//! What all views share: the frame, the header fields that keep a browser safe, and how text of others is shown.

use std::time::SystemTime;

use axum::http::StatusCode;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::door::http::refusal::Refusal;
use crate::service::answer::TermReason;

/// The views, by path.
#[rustfmt::skip]
const VIEWS: [(&str, &str); 6] = [
    ("/recent", "Recent"), ("/try", "Try"), ("/teach", "Teach"), ("/model", "Model"), ("/users", "Users"), ("/now", "Now"),
];

/// Nothing but the style of this server, and forms to it. Pictures of a model set widths within their elements.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const POLICY_OF_PICTURES: &str = "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A view: where it is, and what it shows.
pub(super) struct View<'a> {
    /// Its path; empty before the sign-in.
    pub(super) path: &'a str,
    pub(super) title: &'a str,
    pub(super) content: Markup,
}

impl<'a> View<'a> {
    /// A view of [`VIEWS`].
    pub(super) fn new(path: &'a str, content: Markup) -> Self {
        let title = VIEWS.iter().find(|(known, _)| *known == path).map_or("tamisd", |(_, title)| title);
        View { path, title, content }
    }

    fn document(&self) -> Markup {
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8"; meta name="viewport" content="width=device-width,initial-scale=1"; meta name="color-scheme" content="light dark";
                    title { (self.title) " – tamisd" }
                    link rel="icon" href="data:,"; link rel="stylesheet" href="/style.css";
                }
                body {
                    a.skip href="#main" { "Skip to the content" }
                    header.bar { strong { "tamisd" } @if !self.path.is_empty() {
                        nav aria-label="Views" { ul { @for (path, title) in VIEWS {
                            li { a href=(path) aria-current=[(path == self.path).then_some("page")] { (title) } }
                        } } }
                        form method="post" action="/sign-out" { button { "Sign out" } }
                    } }
                    main #main { h1 { (self.title) } (self.content) }
                }
            }
        }
    }
}

impl IntoResponse for View<'_> {
    fn into_response(self) -> Response {
        let fields: [(HeaderName, &str); 5] = [
            (CONTENT_SECURITY_POLICY, if self.path == "/model" { POLICY_OF_PICTURES } else { POLICY }),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            // without it, browsers do not tell the origin of a form
            (REFERRER_POLICY, "same-origin"),
            (CACHE_CONTROL, "no-store"),
            (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        ];
        (fields, axum::response::Html(self.document().into_string())).into_response()
    }
}

/// Why a request was not served, as a view.
pub(super) struct Failure(Refusal);

impl<E> From<E> for Failure
where
    Refusal: From<E>,
{
    fn from(failure: E) -> Self {
        Failure(failure.into())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let Refusal { status, error, .. } = self.0;
        let path = if status == StatusCode::FORBIDDEN { "" } else { "/" };
        let content = html! { p role="alert" { (shown(&error, 1_000)) } p { a href="/" { "Back" } } };
        let mut response = View { title: "That did not work", ..View::new(path, content) }.into_response();
        *response.status_mut() = status;
        response
    }
}

/// Text of others: its first characters, as text whatever it holds. Characters that a page would act on are shown as
/// codes.
pub(super) fn shown(text: &str, most: usize) -> Markup {
    PreEscaped(tamis_report::shown(&tamis_report::cut(text, most)))
}

/// A time, to the second.
pub(super) fn time(time: SystemTime) -> Markup {
    let text = humantime::format_rfc3339_seconds(time).to_string();
    let short = text.replace('T', " ").replace('Z', "");
    html! { time datetime=(text) { (short) } }
}

/// Nats with their sign.
pub(super) fn nats(number: f64) -> String {
    format!("{number:+.2}").replace('-', "\u{2212}")
}

/// A table of facts.
pub(super) fn facts<'a>(caption: &str, facts: impl IntoIterator<Item = (&'a str, String)>) -> Markup {
    html! { table { caption { (caption) } tbody { @for (name, value) in facts { tr { th scope="row" { (name) } td.number { (value) } } } } } }
}

/// What a browser is told of a request's outcome.
pub(super) type Shown = Result<Response, Failure>;

/// Maximum characters of a term.
const MOST_TERM: usize = 40;

/// Half the width of a bar.
const HALF: f64 = 100.0;

/// A few terms on a line, the sign of each told by more than its colour.
pub(super) fn terms(terms: &[TermReason]) -> Markup {
    html! { ul.terms { @for of in terms { li class=(side(of.contribution)) { (shown(&of.term, MOST_TERM)) " " (nats(of.contribution)) } } } }
}

/// A table of terms with a bar each, `label` to the right and `other` to the left.
pub(super) fn bars(terms: &[TermReason], label: &str, other: &str) -> Markup {
    let strongest = terms.iter().map(|term| term.contribution.abs()).fold(1e-9, f64::max);
    html! { table.bars {
        caption { "What each term adds, in nats: to the right for " (shown(label, MOST_TERM)) ", to the left for " (shown(other, MOST_TERM)) "." }
        thead { tr { @for name in ["term", "adds", "bar"] { th scope="col" { (name) } } } }
        tbody { @for TermReason { term, contribution } in terms {
            @let width = (contribution.abs() / strongest).min(1.0) * HALF;
            @let start = if *contribution < 0.0 { HALF - width } else { HALF };
            tr {
                th scope="row" { (shown(term, MOST_TERM)) } td.number { (nats(*contribution)) }
                td { svg.bar viewBox="0 0 200 12" aria-hidden="true" {
                    rect class=(side(*contribution)) x=(format!("{start:.1}")) y="1" width=(format!("{width:.1}")) height="10" {} line x1="100" x2="100" y1="0" y2="12" {}
                } }
            }
        } }
    } }
}

fn side(contribution: f64) -> &'static str {
    if contribution < 0.0 { "minus" } else { "plus" }
}
