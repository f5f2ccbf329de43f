//! *Recent*: the latest messages, and teaching them.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use axum::extract::{Query, Request};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use tamis_train::Document;

use crate::door::http::access::{HttpContext, SharedContext};
use crate::door::http::page::layout::{Shown, View, nats, shown, terms, time};
use crate::door::http::page::parts::form_of;
use crate::door::http::refusal::Refusal;
use crate::lock::lock;
use crate::models::request::{Feedback, FeedbackOutcome, ModelId};
use crate::record::{Door, MessageOutcome};
use crate::service::history::{HistoryEntry, Taught};
use crate::service::{Request as Question, Service};
use crate::settings::page::HistoryContent;

/// Rows that are shown if none are asked for, and at most.
const ROWS: usize = 100;
const MOST_ROWS: usize = 1_000;

/// How long to look for the terms that weigh most before the rows are shown.
const FOR_REASONS: Duration = Duration::from_millis(50);

/// Maximum characters of a subject, a sender, a user.
const MOST_TEXT: usize = 80;

/// Which messages to show.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Filter {
    /// `spam`, `ham`, `unsure` or empty.
    verdict: String,
    door: String,
    /// Text that the user, the subject, the sender, the Message-ID or a term holds.
    q: String,
    rows: Option<usize>,
}

const VERDICTS: [&str; 3] = ["spam", "ham", "unsure"];

/// The verdict on a message by the name that a filter has for it.
fn verdict(entry: &HistoryEntry) -> &'static str {
    match entry.outcome {
        MessageOutcome::Spam => "spam",
        MessageOutcome::Ham => "ham",
        _ => "unsure",
    }
}

impl Filter {
    fn keeps(&self, entry: &HistoryEntry) -> bool {
        let has = |text: &str| text.to_lowercase().contains(&self.q.to_lowercase());
        (self.verdict.is_empty() || self.verdict == verdict(entry))
            && (self.door.is_empty() || self.door == entry.door.name())
            && (self.q.is_empty()
                || [user(entry), &entry.fields[0], &entry.fields[1], entry.counted.name()]
                    .into_iter()
                    .any(has)
                || entry.counted.words().any(|(word, _)| has(word)))
    }
}

/// The user, or the model's name.
fn user(entry: &HistoryEntry) -> &str {
    entry.model.strip_prefix("user/").unwrap_or(&entry.model)
}

/// `GET /recent`
pub(super) async fn show(context: SharedContext, request: Request) -> Response {
    let filter = Query::<Filter>::try_from_uri(request.uri()).map(|Query(filter)| filter).unwrap_or_default();
    let query = request.uri().query().unwrap_or_default().to_owned();
    let shown = tokio::task::spawn_blocking(move || table(&context.service, &filter, &query)).await;
    View::new("/recent", shown.unwrap_or_default()).into_response()
}

fn table(service: &Service, filter: &Filter, query: &str) -> Markup {
    if service.history.kept() == HistoryContent::None {
        return html! { p { "Nothing is kept of messages: " code { "page.history" } " is " code { "none" } "." } };
    }
    let all = service.history.latest();
    let mut found = all.iter().filter(|entry| filter.keeps(entry));
    let rows: Vec<&Arc<HistoryEntry>> =
        found.by_ref().take(filter.rows.unwrap_or(ROWS).clamp(1, MOST_ROWS)).collect();
    let (n_more, n_left_out) = (found.count(), service.history.n_left_out.load(Relaxed));
    service.find_reasons(rows.iter().copied(), FOR_REASONS);
    html! {
        (filter_form(filter))
        p role="status" { (rows.len()) " of " (all.len()) " messages" @if n_more > 0 { "; " (n_more) " more match, for which ask for more rows" } "." @if n_left_out > 0 { " " (n_left_out) " came too fast to be kept." } }
        form method="post" action="/recent" {
            input type="hidden" name="query" value=(query);
            div.scroll tabindex="0" role="region" aria-label="Messages" { table.rows {
                thead { tr { @for name in ["time", "verdict", "message", "terms that weigh most", "teach"] { th scope="col" { (name) } } } }
                tbody { @for entry in rows { (row(entry)) } }
            } }
        }
    }
}

fn filter_form(filter: &Filter) -> Markup {
    let select = |name: &str, chosen: &str, values: &[&str]| {
        html! {
            label for=(name) { (name) }
            select #(name) name=(name) { option value="" { "all" } @for value in values { option value=(value) selected[*value == chosen] { (value) } } }
        }
    };
    html! { form.filter method="get" action="/recent" role="search" {
        (select("verdict", &filter.verdict, &VERDICTS)) (select("door", &filter.door, &Door::ALL.map(Door::name)))
        label for="q" { "with" } input #q type="search" name="q" value=(filter.q) maxlength="200";
        label for="rows" { "rows" } input #rows type="number" name="rows" min="1" max=(MOST_ROWS) value=(filter.rows.unwrap_or(ROWS));
        button { "Show" }
    } }
}

fn row(entry: &HistoryEntry) -> Markup {
    let [subject, sender] = &entry.fields;
    html! {
        tr id=(format!("m{}", entry.id)) {
            td { (time(entry.time)) " " br; span.soft { (entry.door.name()) } }
            td { strong class=(verdict(entry)) { (shown(&entry.label, MOST_TEXT)) } " " br; span.number { (nats(entry.log_odds)) } @if let Some(rule) = &entry.rule { br; span.soft { "rule " (shown(rule, MOST_TEXT)) } } }
            td.message {
                @if subject.is_empty() && sender.is_empty() { span.soft { (shown(entry.counted.name(), MOST_TEXT)) } br; }
                @else { (shown(subject, MOST_TEXT)) br; @if !sender.is_empty() { span.soft { (shown(sender, MOST_TEXT)) } br; } }
                @if !user(entry).is_empty() { span.soft { "for " (shown(user(entry), MOST_TEXT)) } }
            }
            td { @match entry.reasons.get() { Some(found) => (terms(found)), None => { span.soft { "when you look again" } } } }
            td { (buttons(entry)) }
        }
    }
}

/// What was taught of a message and by whom, and buttons to teach it: for a form that is posted to `/recent`.
pub(super) fn buttons(entry: &HistoryEntry) -> Markup {
    let taught = lock(&entry.taught).clone();
    let button = |act: &str, text: &str| {
        html! { button name="act" value=(format!("{act} {}", entry.id)) aria-describedby=(format!("m{}", entry.id)) { (text) } " " }
    };
    html! {
        @if let Some(Taught { label, by, .. }) = &taught {
            @match label { Some(label) => { "taught " strong { (shown(label, MOST_TEXT)) } } None => { "forgotten" } }
            " " span.soft { "by " (shown(by, MOST_TEXT)) } br;
        }
        (button("spam", "spam")) (button("ham", "ham"))
        @if taught.is_some_and(|taught| taught.back.is_some()) { (button("back", "take back")) }
    }
}

/// `POST /recent`
pub(super) async fn teach(context: SharedContext, request: Request) -> Shown {
    let form = form_of(&context, request).await?;
    let (act, id) = form.text("act").split_once(' ').unwrap_or_default();
    let id = id.parse().unwrap_or(u64::MAX);
    let gone = "This message is not kept any more; newer ones have taken its place.";
    let entry = context.service.history.get(id).ok_or_else(|| Refusal::unprocessable(gone))?;
    // two who teach it at once do so one after the other
    let _alone = entry.teaching.lock().await;
    match act {
        "spam" | "ham" => teach_as(&context, &entry, act).await?,
        "back" => take_back(&context, &entry).await?,
        _ => return Err(Refusal::unprocessable("Expected spam, ham or back.").into()),
    }
    let query: String = form.text("query").chars().filter(|c| c.is_ascii_graphic() && *c != '#').collect();
    Ok(Redirect::to(&format!("/recent?{query}#m{id}")).into_response())
}

async fn teach_as(context: &HttpContext, entry: &HistoryEntry, act: &str) -> Result<(), Refusal> {
    let label = context.service.label(ModelId::of_name(&entry.model), act)?;
    let before = match correct(context, entry, Feedback::Learn(label.clone())).await? {
        FeedbackOutcome::Moved(before) => Feedback::Learn(before),
        FeedbackOutcome::Already => Feedback::Learn(label.clone()),
        _ => Feedback::Forget,
    };
    let by = format!("{}, {}", Door::Page.name(), context.peer);
    let taught = Taught { label: Some(label), back: None, by };
    // taught twice, it goes back to what was before the first time
    let back = lock(&entry.taught).take().and_then(|taught| taught.back).unwrap_or(before);
    context.service.history.note(entry.counted.name(), &entry.model, &taught);
    *lock(&entry.taught) = Some(Taught { back: Some(back), ..taught });
    Ok(())
}

/// Puts a message back to what was known of it before.
async fn take_back(context: &HttpContext, entry: &HistoryEntry) -> Result<(), Refusal> {
    let back = lock(&entry.taught).as_ref().and_then(|taught| taught.back.clone());
    let back =
        back.ok_or_else(|| Refusal::unprocessable("It was taken back already, or not taught here."))?;
    correct(context, entry, back).await?;
    *lock(&entry.taught) = None;
    Ok(())
}

async fn correct(
    context: &HttpContext,
    entry: &HistoryEntry,
    feedback: Feedback,
) -> Result<FeedbackOutcome, Refusal> {
    let question = Question::new(Door::Page, ModelId::of_name(&entry.model));
    Ok(context.service.correct(&question, feedback, Document::Counted(&entry.counted)).await?)
}
