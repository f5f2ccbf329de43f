//! *Try*: the verdict on a message that is pasted or chosen, and why.

use std::collections::HashSet;

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use tamis_mail::LimitsHit;
use tamis_train::{Document, Explanation, Filter};

use crate::door::http::access::SharedContext;
use crate::door::http::page::layout::{Shown, View, nats, shown};
use crate::door::http::page::parts::Parts;
use crate::door::http::page::recent::buttons;
use crate::door::http::page::terms;
use crate::models::request::ModelId;
use crate::record::Door;
use crate::service::Request as Question;
use crate::service::answer::TermReason;
use crate::service::history::HistoryEntry;

/// Maximum number of terms, and of words that are not known, that are shown.
const MOST_TERMS: usize = 40;

/// `GET /try`
pub(super) async fn show() -> Response {
    View::new("/try", form()).into_response()
}

fn form() -> Markup {
    html! {
        form.stack method="post" action="/try" enctype="multipart/form-data" {
            label for="message" { "A message, with its header" }
            textarea #message name="message" rows="12" spellcheck="false" {}
            label for="file" { "or a file with one" }
            input #file type="file" name="file";
            label for="user" { "by the model of this user; empty for the shared one" }
            input #user name="user" maxlength="100" autocomplete="off";
            button { "Score" }
        }
        p.note { "Nothing is learned by this." }
    }
}

/// The model of a form's field `user`.
pub(super) fn model_of(user: &str) -> ModelId<'_> {
    if user.is_empty() { ModelId::Shared } else { ModelId::User(user) }
}

/// `POST /try`
pub(super) async fn score(context: SharedContext, request: Request) -> Shown {
    let service = &context.service;
    let parts = Parts::read(&context, request, service.settings().limits.message_bytes).await?;
    let model = model_of(parts.field("user"));
    // the one line that an empty field beside a file sends
    let raw = parts.message.bytes().trim_ascii_start();
    let answer = service.score(&Question::new(Door::Page, model), Document::Mail(raw))?;
    let entry = answer.history.and_then(|id| service.history.get(id));
    let why = service.explain(model, Document::Mail(raw), |filter, explanation, limits_hit| {
        why(filter, explanation, limits_hit, entry.as_deref())
    })?;
    let content = html! {
        p { "The verdict is " strong { (shown(&answer.label, 80)) } ": log-odds " (nats(answer.log_odds)) " nats, probability " (format!("{:.4}", answer.probability)) "." }
        (why)
        @if let Some(entry) = &entry {
            form method="post" action="/recent" { p { "Teach this message: " (buttons(entry)) } }
        }
        h2 { "Another message" }
        (form())
    };
    Ok(View::new("/try", content).into_response())
}

/// The terms with a bar each, and what the filter did not know or not read.
fn why(
    filter: &Filter,
    explanation: &Explanation,
    limits_hit: LimitsHit,
    entry: Option<&HistoryEntry>,
) -> Markup {
    let label = |class| filter.classes().label(class).unwrap_or_default();
    let terms = explanation.terms.iter().take(MOST_TERMS).cloned();
    let terms: Vec<_> = terms.map(TermReason::from).collect();
    let known: HashSet<&str> = explanation.terms.iter().map(|term| &*term.term).collect();
    let words = entry.into_iter().flat_map(|entry| entry.counted.words());
    let unknown: Vec<&str> = words.map(|(word, _)| word).filter(|word| !known.contains(word)).collect();
    html! {
        (terms::bars(&terms, label(explanation.class), label(explanation.against)))
        @if explanation.terms.len() > MOST_TERMS { p.note { (explanation.terms.len() - MOST_TERMS) " weaker terms are not shown." } }
        p { "Before any term: " (nats(explanation.intercept)) " nats. Occurrences of words that the model does not know: " (explanation.unknown) "." }
        @if !unknown.is_empty() {
            details {
                summary { "Words without a weight" }
                ul.terms { @for word in unknown.iter().take(MOST_TERMS) { li { (shown(word, MOST_TERMS)) } } }
            }
        }
        @for text in not_read(limits_hit) { p { (text) } }
    }
}

/// What was not read, and why.
fn not_read(hit: LimitsHit) -> impl Iterator<Item = &'static str> {
    let all = [
        (hit.bytes, "Its end was not read: it is longer than the model's limit."),
        (hit.nested_messages, "A message within a message was read as plain text: there are too many."),
        (hit.parts, "Some parts were left out: there are too many."),
        (hit.headers, "Some header fields were left out: there are too many, or they are too long."),
        (
            hit.text,
            "Some text may be unread, so the message is not called ham: its charset is unknown, or a limit was reached.",
        ),
        (hit.attachments, "Text of attachments was left out: there is too much of it."),
        (hit.depth, "Parts that are nested too deeply were read as plain text."),
        (hit.wrapper, "Another filter had wrapped the message: only the message inside was read."),
    ];
    all.into_iter().filter(|(is_hit, _)| *is_hit).map(|(_, text)| text)
}
