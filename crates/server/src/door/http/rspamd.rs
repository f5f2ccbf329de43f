//! rspamd's API, as rspamc and Haraka use it.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use axum::Json;
use axum::extract::Request as HttpRequest;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use tamis_train::Document;

use crate::door::http::access::{
    HttpContext, SharedContext, check_may_ask, check_may_learn, check_may_watch,
};
use crate::door::http::body::read;
use crate::door::http::refusal::Refusal;
use crate::models::request::{Feedback, FeedbackOutcome, ModelId, Recipients};
use crate::record::Door;
use crate::service::Request;
use crate::service::admission::TooLong;
use crate::service::answer::{Answer, REQUIRED};
use crate::service::history::message_id;
use crate::service::rules::Envelope;

/// The fields of a verdict that a message may not bring along: those that are added, and of other programs.
const OWN_FIELDS: [&str; 2] = ["X-Tamis", "X-Tamis-Reasons"];
const OTHER_FIELDS: [&str; 5] =
    ["X-Spam-Flag", "X-Spam-Status", "X-Spam-Level", "X-Spam-Score", "X-Bogosity"];

/// Who the message is for: the recipients, or without any the user who asks, and whether it is that one.
fn recipients(headers: &HeaderMap) -> (Recipients, bool) {
    let (mut recipients, mut is_user) = (Recipients::default(), false);
    for (name, most) in [("deliver-to", 1), ("rcpt", usize::MAX), ("user", 1)] {
        headers.get_all(name).iter().take(most).for_each(|value| recipients.add(value.as_bytes()));
        is_user = name == "user";
        if recipients.n > 0 {
            break;
        }
    }
    (recipients, is_user)
}

/// The request that the headers make. `User` is who has signed in, where there are recipients.
fn request<'a>(
    context: &HttpContext,
    headers: &'a HeaderMap,
    recipients: &'a Recipients,
    is_user: bool,
) -> Request<'a> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let envelope = Envelope {
        client: text("ip").trim().parse().ok(),
        is_authenticated: !text("user").is_empty() && !is_user,
        recipient: &recipients.common,
    };
    let is_mail_server = context.peer.is_mail_server(context.service.settings());
    let queue_id = text("queue-id");
    Request { queue_id, envelope, is_mail_server, ..Request::new(Door::Http, recipients.model()) }
}

/// `POST /checkv2`
pub(super) async fn check(context: SharedContext, http: HttpRequest) -> Result<Response, Refusal> {
    let (parts, body) = http.into_parts();
    let incoming = read(&context, &parts.headers, body, TooLong::Cut).await?;
    let (recipients, is_user) = recipients(&parts.headers);
    let mut request = request(&context, &parts.headers, &recipients, is_user);
    if check_may_ask(&context, &parts.headers, request.model).await.is_err() {
        // a mail server needs a verdict in any case
        request.model = ModelId::Shared;
    }
    let begun = Instant::now();
    let answer = context.service.score(&request, Document::Mail(incoming.bytes())).await?;
    let mut reply = reply(&answer, context.service.settings().verdict.keep_headers);
    reply["message-id"] = Value::from(message_id(incoming.bytes()));
    reply["time_real"] = Value::from(begun.elapsed().as_secs_f64());
    Ok(Json(reply).into_response())
}

/// The verdict as rspamd says it.
fn reply(answer: &Answer, keep_headers: bool) -> Value {
    let score = answer.score();
    let (symbol, description) = match (answer.is_spam(), answer.unsure) {
        _ if answer.is_skipped() => ("TAMIS_SKIPPED", "left alone by a rule"),
        (true, _) if answer.by_rule.is_some() => ("TAMIS_SPAM", "spam, by a rule"),
        (true, _) => ("TAMIS_SPAM", "spam, by its words"),
        (false, true) => ("TAMIS_UNSURE", "neither spam nor ham"),
        (false, false) if answer.by_rule.is_some() => ("TAMIS_HAM", "ham, by a rule"),
        (false, false) => ("TAMIS_HAM", "ham, by its words"),
    };
    let mut options = vec![format!("{:.2}%", answer.spam_probability() * 100.0)];
    if !answer.reasons_text.is_empty() {
        options.push(answer.reasons_text.clone());
    }
    let action = if answer.is_spam() { "add header" } else { "no action" };
    json!({
        "is_skipped": answer.is_skipped(),
        "score": score,
        "required_score": REQUIRED,
        "action": action,
        "thresholds": { "add header": REQUIRED },
        "symbols": { symbol: {
            "name": symbol,
            "score": score,
            "metric_score": score,
            "description": description,
            "options": options,
        } },
        "messages": {},
        "milter": milter(answer, keep_headers),
    })
}

/// What a mail server is to change in the header.
fn milter(answer: &Answer, keep_headers: bool) -> Value {
    let others = OTHER_FIELDS.iter().filter(|_| !keep_headers);
    // 0 stands for all fields of the name
    let remove: Map<String, Value> =
        OWN_FIELDS.iter().chain(others).map(|name| ((*name).to_owned(), Value::from(0))).collect();
    let added = answer.fields().into_iter();
    let add: Map<String, Value> =
        added.map(|(name, value)| (name.to_owned(), json!({ "value": value, "order": 0 }))).collect();
    json!({ "add_headers": add, "remove_headers": remove })
}

/// `POST /learnspam` and `/learnham`
pub(super) async fn learn(
    context: SharedContext,
    http: HttpRequest,
    class: &'static str,
) -> Result<Response, Refusal> {
    check_may_learn(&context, http.headers()).await?;
    let (parts, body) = http.into_parts();
    let incoming = read(&context, &parts.headers, body, TooLong::Refuse).await?;
    let by = context.peer.to_string();
    let (recipients, is_user) = recipients(&parts.headers);
    let request = Request { by: &by, ..request(&context, &parts.headers, &recipients, is_user) };
    let label = context.service.label(request.model, class)?;
    let document = Document::Mail(incoming.bytes());
    let outcome = context.service.correct(&request, Feedback::Learn(label), document).await?;
    if outcome == FeedbackOutcome::Learned {
        return Ok(Json(json!({ "success": true })).into_response());
    }
    let id = message_id(incoming.bytes());
    let error = format!("<{id}> has been already learned as {class}, ignore it");
    Ok((StatusCode::ALREADY_REPORTED, Json(json!({ "error": error }))).into_response())
}

/// `GET /stat`
pub(super) async fn stat(context: SharedContext, request: HttpRequest) -> Result<Response, Refusal> {
    check_may_watch(&context, request.headers()).await?;
    let service = &context.service;
    let [spam, ham, unsure, label, error, skipped] = service.metrics.scored();
    // a server without a model has numbers too
    let state = service.state(ModelId::Shared).ok();
    let documents = state.as_ref().map(|state| &state.documents[..]).unwrap_or_default();
    let bytes = state.as_ref().map_or(0, |state| state.bytes);
    let statfile = |(label, n): &(String, u64)| {
        let symbol = format!("TAMIS_{}", label.to_uppercase());
        json!({
            "symbol": symbol, "type": "tamis", "revision": n, "used": 0, "total": 0, "size": bytes,
            "languages": 0, "users": 1,
        })
    };
    let statfiles: Vec<Value> = documents.iter().map(statfile).collect();
    Ok(Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "uptime": service.started.elapsed().as_secs(),
        "read_only": false,
        "scanned": spam + ham + unsure + label + error + skipped,
        "spam_count": spam,
        "ham_count": ham + unsure + label,
        "learned": service.metrics.learned.load(Relaxed),
        "total_learns": documents.iter().map(|(_, n)| n).sum::<u64>(),
        "actions": { "add header": spam, "no action": ham + unsure + label },
        "statfiles": statfiles,
    }))
    .into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_recipient_selects_the_model() {
        let of = |fields: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in fields {
                headers.append(*name, value.parse().unwrap());
            }
            recipients(&headers).0.model().name()
        };
        assert_eq!(of(&[("user", "joe")]), "user/joe");
        assert_eq!(of(&[("rcpt", "<Ann@example.org>"), ("user", "joe")]), "user/Ann@example.org");
        assert_eq!(of(&[("rcpt", "a@x"), ("rcpt", "b@x"), ("user", "joe")]), "");
        assert_eq!(of(&[("rcpt", "a@x"), ("rcpt", "b@x"), ("deliver-to", "c@x")]), "user/c@x");
        assert_eq!(of(&[("user", "")]), "");
    }
}
