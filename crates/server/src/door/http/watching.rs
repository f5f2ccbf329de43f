//! What watches the server, and what tells about it.

use std::sync::LazyLock;

use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use crate::door::http::context::Shared;
use crate::door::http::password::check_may_watch;
use crate::door::http::refusal::Refusal;

/// What there is, as plain text.
const PAGE: &str = concat!(
    "tamisd ",
    env!("CARGO_PKG_VERSION"),
    "

Score       curl --data-binary @MAIL -H Content-Type:message/rfc822 URL/v1/score
            POST /v1/score, /v1/explain [?user=USER or ?model=NAME]
            a message, text/plain, or JSON {\"text\": ...} or {\"mail\": ...}
Label many  POST /v1/label [?model=NAME], a line of JSON each, {\"id\": ..., \"text\": ...}
Learn       POST /v1/learn?label=LABEL, /v1/forget, with the password
rspamd      POST /checkv2, /learnspam, /learnham; GET /stat, /ping
Watch       GET /metrics, /healthy, /ready
All of it   GET /openapi.json
"
);

static DESCRIPTION: LazyLock<String> =
    LazyLock::new(|| include_str!("openapi.json").replace("VERSION", env!("CARGO_PKG_VERSION")));

/// `GET /`
pub(super) async fn page() -> &'static str {
    PAGE
}

/// `GET /openapi.json`
pub(super) async fn description() -> Response {
    ([(CONTENT_TYPE, "application/json")], DESCRIPTION.as_str()).into_response()
}

/// `GET /healthy`
pub(super) async fn healthy() -> &'static str {
    "healthy\n"
}

/// `GET /ready`
pub(super) async fn ready(context: Shared) -> Result<&'static str, Refusal> {
    context.service.ready()?;
    Ok("ready\n")
}

/// `GET /metrics`
pub(super) async fn metrics(context: Shared, request: Request) -> Result<Response, Refusal> {
    check_may_watch(&context, request.headers()).await?;
    let openmetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(CONTENT_TYPE, openmetrics)], context.service.metrics_page()).into_response())
}
