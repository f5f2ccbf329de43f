//! *Model*: what a model has learned and how good it expects to be, as pictures. *Users*: whose models there are.

use axum::extract::{Query, Request};
use axum::response::IntoResponse;
use maud::{Markup, PreEscaped, html};
use serde::Deserialize;
use tamis_report::{EvaluationReport, Mislabel, model_page};
use tamis_train::evaluate::{Evaluation, stored_scores, suspects};
use tamis_train::options::Ngrams;
use tamis_train::{Filter, Scoring};

use crate::door::http::access::SharedContext;
use crate::door::http::page::layout::{Failure, Shown, View, nats, shown, time};
use crate::door::http::page::tried::model_of;
use crate::models::request::{ModelId, ServiceError};
use crate::service::Service;

/// Suspects, labels and terms that are shown. Listing the strongest terms reads the whole model, so of a model with more
/// terms none are.
const SUSPECTS: usize = 20;
const LABELS: usize = 4;
const TERMS: usize = 15;
const MOST_TERMS: usize = 300_000;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Which {
    user: String,
}

/// `GET /model`
pub(super) async fn show(context: SharedContext, request: Request) -> Shown {
    let which = Query::<Which>::try_from_uri(request.uri()).map(|Query(which)| which).unwrap_or_default();
    let shown = tokio::task::spawn_blocking(move || of(&context.service, model_of(&which.user))).await;
    let content = shown.map_err(|_| ServiceError::Defect)??;
    Ok(View { has_pictures: true, ..View::new("/model", content) }.into_response())
}

fn of(service: &Service, model: ModelId<'_>) -> Result<Markup, Failure> {
    let live = service.models().to_score(model)?;
    let open = live.opened()?;
    let filter = open.filter();
    let error = |error: tamis_train::Error| ServiceError::from(error);
    let information = filter.information();
    let is_weighted = matches!(information.scoring, Scoring::Weighted(_)) && !filter.has_many_labels();
    let suspects = if is_weighted { mislabels(&filter).map_err(error)? } else { Vec::new() };
    let size = if information.size.terms > MOST_TERMS { [0, 0] } else { [LABELS, TERMS] };
    let name = match model {
        ModelId::User(user) => user,
        _ => "that all share",
    };
    let page = model_page(name, &filter, size, &suspects).map_err(error)?;
    let scores = stored_scores(&filter).map_err(error)?;
    let evaluation = Evaluation::new(filter.classes(), filter.spam(), &scores);
    let decision = Some(filter.decision());
    let held_out = EvaluationReport {
        title: "documents that were held out",
        evaluation: &evaluation,
        decision,
        mislabels: &[],
    };
    Ok(html! {
        (chosen(&filter))
        (PreEscaped(page.to_fragment()))
        @if scores.is_empty() {
            p { "It stores no held-out scores, so there is no picture of its calibration and thresholds." }
        } @else {
            (PreEscaped(held_out.page().to_fragment()))
        }
    })
}

/// What was chosen for the model, and what it stores.
fn chosen(filter: &Filter) -> Markup {
    let information = filter.information();
    let decision = filter.decision();
    let (recipe, is_weighted) = (information.recipe, matches!(information.scoring, Scoring::Weighted(_)));
    let words = match recipe.tokenizer.terms {
        Ngrams::Words { max: 1, .. } => "words",
        Ngrams::Words { .. } => "words and pairs of them",
        Ngrams::Characters { .. } => "characters",
    };
    let pieces = if recipe.pieces.is_some() { ", and pieces of words" } else { "" };
    let mut facts = vec![
        ("scoring", if is_weighted { "weighted log-odds" } else { "naive Bayes" }.to_owned()),
        ("terms", format!("{words}{pieces}")),
        ("spam above, in nats", nats(decision.upper)),
        ("ham up to, in nats", nats(decision.lower)),
        ("documents learned or forgotten since training", information.changes.since_training.to_string()),
        ("bytes of its log", information.file.log_bytes.to_string()),
    ];
    if let Some(chosen) = information.chosen {
        let choices = chosen.in_use();
        facts.push(("smoothing", choices.alpha.alpha().to_string()));
        facts.push(("power of idf", choices.idf_power.to_string()));
        facts.push(("share of the counts under the correction", choices.tau.to_string()));
    }
    html! { table {
        caption { "What was chosen" }
        tbody { @for (name, value) in facts { tr { th scope="row" { (name) } td.number { (value) } } } }
    } }
}

fn mislabels(filter: &Filter) -> tamis_train::Result<Vec<Mislabel>> {
    let label = |class| filter.classes().label(class).unwrap_or_default().to_owned();
    let suspects = suspects(filter)?.into_iter().take(SUSPECTS);
    Ok(suspects
        .map(|suspect| Mislabel {
            name: suspect.name.unwrap_or_else(|| format!("{:032x}", u128::from_be_bytes(suspect.digest))),
            label: label(suspect.class),
            log_odds: suspect.log_odds.abs(),
            note: format!("its words say {}", label(suspect.proposed)),
        })
        .collect())
}

/// Maximum number of users that are listed.
const MOST_USERS: usize = 10_000;

/// `GET /users`
pub(super) async fn users(context: SharedContext) -> Shown {
    let service = context.service.clone();
    let files = tokio::task::spawn_blocking(move || service.models().user_files()).await;
    let files = files.map_err(|_| ServiceError::Defect)?;
    let files = files.map_err(|error| ServiceError::Model(format!("models.users: {error}")))?;
    let bytes: u64 = files.iter().map(|file| file.bytes).sum();
    let content = html! {
        @if context.service.settings().models.users.is_none() {
            p { "All users share one model: " code { "models.users" } " is not set." }
        } @else {
            p { (files.len()) " users have a model, of " (bytes) " bytes together." }
            @if files.len() > MOST_USERS { p { "The first " (MOST_USERS) " are listed." } }
            div.scroll tabindex="0" role="region" aria-label="Users" { table {
                thead { tr { @for name in ["user", "bytes", "changed last"] { th scope="col" { (name) } } } }
                tbody { @for file in files.iter().take(MOST_USERS) { tr {
                    th scope="row" { a href=(format!("/model?user={}", file.user.replace('+', "%2B"))) { (shown(&file.user, 64)) } }
                    td.number { (file.bytes) }
                    td { (time(file.changed)) }
                } } }
            } }
        }
    };
    Ok(View::new("/users", content).into_response())
}
