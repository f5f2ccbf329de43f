//! *Try*: the verdict on a message that is pasted or chosen, and why.

use axum::extract::Request;
use axum::response::IntoResponse;
use maud::{Markup, html};
use tamis_mail::LimitsHit;
use tamis_train::{Document, Explanation, Filter};

use crate::door::http::access::SharedContext;
use crate::door::http::page::layout::{Shown, View, bars, nats, shown};
use crate::door::http::page::parts::Parts;
use crate::door::http::page::recent::buttons;
use crate::models::request::ModelId;
use crate::record::Door;
use crate::service::Request as Question;
use crate::service::answer::TermReason;

/// Maximum number of terms that are shown.
const MOST_TERMS: usize = 40;

/// What `GET /try` shows.
pub(super) fn form() -> Markup {
    html! {
        form.stack method="post" action="/try" enctype="multipart/form-data" {
            label for="message" { "A message, with its header" } textarea #message name="message" rows="12" spellcheck="false" {}
            label for="file" { "or a file with one" } input #file type="file" name="file";
            label for="user" { "by the model of this user; empty for the shared one" } input #user name="user" maxlength="200" autocomplete="off";
            button { "Score" }
        }
        p.note { "Nothing is learned by this." }
    }
}

/// The model of a form's field `user`.
pub(super) fn model_of(user: &str) -> ModelId<'_> {
    if user.trim().is_empty() { ModelId::Shared } else { ModelId::User(user.trim()) }
}

/// `POST /try`
pub(super) async fn score(context: SharedContext, request: Request) -> Shown {
    let service = &context.service;
    let parts = Parts::read(&context, request, service.settings().limits.message_bytes).await?;
    let model = model_of(parts.fields.text("user"));
    // the one line that an empty field beside a file sends
    let raw = parts.message.bytes().trim_ascii_start();
    let answer = service.score(&Question::new(Door::Page, model), Document::Mail(raw)).await?;
    let entry = answer.history.and_then(|id| service.history.get(id));
    let explain = || service.explain(model, Document::Mail(raw), why);
    let why = service.away_from_others(model, Document::Mail(raw), explain).await?;
    let content = html! {
        p { "The verdict is " strong { (shown(&answer.label, 80)) } ": log-odds " (nats(answer.log_odds)) " nats, probability " (format!("{:.4}", answer.probability)) "." @if let Some(rule) = &answer.rule { " The rule " (shown(rule, 80)) " applies." } }
        (why)
        @if let Some(entry) = &entry {
            form method="post" action="/recent" { p { "Teach this message: " (buttons(entry)) } }
        }
        h2 { "Another message" } (form())
    };
    Ok(View::new("/try", content).into_response())
}

/// The terms with a bar each, and what the filter did not know or not read.
fn why(filter: &Filter, explanation: &Explanation, limits_hit: LimitsHit) -> Markup {
    let label = |class| filter.classes().label(class).unwrap_or_default();
    let terms = explanation.terms.iter().take(MOST_TERMS).cloned();
    let terms: Vec<_> = terms.map(TermReason::from).collect();
    html! {
        (bars(&terms, label(explanation.class), label(explanation.against)))
        @if explanation.terms.len() > MOST_TERMS { p.note { (explanation.terms.len() - MOST_TERMS) " weaker terms are not shown." } }
        @if let Some(because) = explanation.because() { p { (because) "." } }
        p { "Before any term: " (nats(explanation.intercept)) " nats. Occurrences of words that the model does not know: " (explanation.unknown) "." }
        @if !limits_hit.is_empty() { p { "Not read in full. The limits that it reached: " (limits_hit) @if limits_hit.text { "; as text may be unread, it is not called ham" } "." } }
    }
}
