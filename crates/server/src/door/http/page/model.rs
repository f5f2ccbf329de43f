//! *Model*: what a model has learned and how good it expects to be, as pictures. *Users*: whose models there are. *Now*: the
//! numbers of the server.

use std::time::Duration;

use axum::extract::{Query, Request};
use axum::response::{IntoResponse, Response};
use maud::{Markup, PreEscaped, html};
use tamis_report::{EvaluationReport, Mislabel, model_page};
use tamis_train::evaluate::{Evaluation, stored_scores, suspects};
use tamis_train::information::Suspect;
use tamis_train::{Filter, Scoring};

use crate::door::http::access::SharedContext;
use crate::door::http::page::layout::{Failure, Shown, View, facts, nats, shown, time};
use crate::door::http::page::parts::Fields;
use crate::door::http::page::tried::model_of;
use crate::models::request::{ModelId, ServiceError};
use crate::record::OUTCOMES;
use crate::service::Service;

/// Suspects, labels and terms that are shown. Listing the strongest terms reads the whole model, so of a model with more
/// terms none are.
const SUSPECTS: usize = 20;
const LABELS: usize = 4;
const TERMS: usize = 15;
const MOST_TERMS: usize = 300_000;

/// `GET /model`
pub(super) async fn show(context: SharedContext, request: Request) -> Shown {
    let query = Query::<Fields>::try_from_uri(request.uri()).map(|Query(query)| query).unwrap_or_default();
    let shown = tokio::task::spawn_blocking(move || of(&context.service, model_of(query.text("user")))).await;
    let content = shown.map_err(|_| ServiceError::Defect)??;
    Ok(View::new("/model", content).into_response())
}

fn of(service: &Service, model: ModelId<'_>) -> Result<Markup, Failure> {
    let filter = service.models.to_score(model)?.opened()?.filter();
    let information = filter.information();
    let is_weighted = matches!(information.scoring, Scoring::Weighted(_)) && !filter.has_many_labels();
    let suspects = if is_weighted { mislabels(&filter).map_err(ServiceError::from)? } else { Vec::new() };
    let size = if information.size.terms > MOST_TERMS { [0, 0] } else { [LABELS, TERMS] };
    let name = if let ModelId::User(user) = model { user } else { "that all share" };
    let page = model_page(name, &filter, size, &suspects).map_err(ServiceError::from)?;
    let scores = stored_scores(&filter).map_err(ServiceError::from)?;
    let evaluation = &Evaluation::new(filter.classes(), filter.spam(), &scores);
    let (title, decision) = ("documents that were held out", Some(filter.decision()));
    let held_out = EvaluationReport { title, evaluation, decision, mislabels: &[] };
    Ok(html! {
        (chosen(&filter)) (PreEscaped(page.to_fragment()))
        @if !scores.is_empty() { (PreEscaped(held_out.page().to_fragment())) }
        @else { p { "It stores no held-out scores, so there is no picture of its calibration and thresholds." } }
    })
}

/// What was chosen for the model, and what it stores.
fn chosen(filter: &Filter) -> Markup {
    let (information, decision) = (filter.information(), filter.decision());
    let mut chosen = vec![
        ("spam above, in nats", nats(decision.upper)),
        ("ham up to, in nats", nats(decision.lower)),
        ("documents learned or forgotten since training", information.changes.since_training.to_string()),
    ];
    if let Some(choices) = information.chosen.map(|selection| selection.in_use()) {
        chosen.push(("smoothing", choices.alpha.alpha().to_string()));
        chosen.push(("power of idf", choices.idf_power.to_string()));
    }
    facts("What was chosen", chosen)
}

fn mislabels(filter: &Filter) -> tamis_train::Result<Vec<Mislabel>> {
    let label = |class| filter.classes().label(class).unwrap_or_default().to_owned();
    let mislabel = |suspect: Suspect| Mislabel {
        name: suspect.name.unwrap_or_else(|| format!("{:032x}", u128::from_be_bytes(suspect.digest))),
        label: label(suspect.class),
        log_odds: suspect.log_odds.abs(),
        note: format!("its words say {}", label(suspect.proposed)),
    };
    Ok(suspects(filter)?.into_iter().take(SUSPECTS).map(mislabel).collect())
}

/// `GET /users`
pub(super) async fn users(context: SharedContext) -> Response {
    let service = context.service.clone();
    let files = tokio::task::spawn_blocking(move || service.models.user_files()).await.unwrap_or_default();
    let bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    let content = html! {
        @if context.service.settings().models.users.is_none() { p { "All users share one model: " code { "models.users" } " is not set." } }
        @else {
            p { (files.len()) " users have a model, of " (bytes) " bytes together." }
            div.scroll tabindex="0" role="region" aria-label="Users" { table {
                thead { tr { @for name in ["user", "bytes", "changed last"] { th scope="col" { (name) } } } }
                tbody { @for (user, bytes, changed) in &files { tr {
                    th scope="row" { a href=(format!("/model?user={}", user.replace('+', "%2B"))) { (shown(user, 64)) } }
                    td.number { (bytes) } td { (time(*changed)) }
                } } }
            } }
        }
    };
    View::new("/users", content).into_response()
}

/// `GET /now`
pub(super) async fn now(context: SharedContext) -> Response {
    let (service, metrics) = (&context.service, &context.service.metrics);
    let messages = metrics.last_minute().into_iter().zip(metrics.scored());
    let within = |share| match metrics.quantile(share) {
        seconds if seconds.is_finite() => format!("{} ms", seconds * 1e3),
        _ => "more than 3 s".to_owned(),
    };
    // the counters of /metrics that have no labels, by their help
    let page = service.metrics_page();
    let helped = page.split("# HELP ").skip(1).filter_map(|part| {
        let mut lines = part.lines();
        let (_, help) = lines.next()?.split_once(' ')?;
        let (name, value) = lines.next()?.split_once(' ')?;
        (!name.contains('{')).then(|| (help.trim_end_matches('.'), value.to_owned()))
    });
    let latency =
        [("Half of all messages scored within", within(0.5)), ("99 of 100 scored within", within(0.99))];
    let started = Duration::from_secs(service.started.elapsed().as_secs());
    let content = html! {
        p { "Settings read " (humantime::format_duration(started)) " ago. " a href="/now" { "Look again" } }
        table {
            caption { "Messages" }
            thead { tr { @for name in ["verdict", "last minute", "since the start"] { th scope="col" { (name) } } } }
            tbody { @for (name, (minute, all)) in OUTCOMES.iter().zip(messages) { tr { th scope="row" { (name) } td.number { (minute) } td.number { (all) } } } }
        }
        (facts("The server", latency.into_iter().chain(helped)))
    };
    View::new("/now", content).into_response()
}
