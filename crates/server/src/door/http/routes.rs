//! Which handler answers which path, and the handlers that watch the server or tell about it.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};

use crate::door::http::access::{SharedContext, check_may_watch, guard};
use crate::door::http::refusal::Refusal;
use crate::door::http::{label, rspamd, v1};

/// All routes. Handlers find the [`HttpContext`](crate::door::http::access::HttpContext) among the request's extensions.
pub(super) static ROUTER: LazyLock<Router> = LazyLock::new(|| {
    let all = routes().into_iter().fold(Router::new(), |router, (path, methods)| router.route(path, methods));
    let refuse = |status, why: &'static str| move || async move { Refusal::new(status, why) };
    all.fallback(refuse(StatusCode::NOT_FOUND, "there is nothing at this path; GET / tells what there is"))
        .method_not_allowed_fallback(refuse(
            StatusCode::METHOD_NOT_ALLOWED,
            "this path is for another method; GET / tells which",
        ))
        .layer(from_fn(guard))
});

/// What changes a model is never answered to GET.
fn routes() -> [(&'static str, MethodRouter); 17] {
    let learn = |class| move |context, request| rspamd::learn(context, request, class);
    let score = |usual| move |context, request| v1::score(context, request, usual);
    let check = || get(rspamd::check).post(rspamd::check);
    [
        ("/", get(PAGE)),
        ("/openapi.json", get(([(CONTENT_TYPE, "application/json")], DESCRIPTION.as_str()))),
        ("/healthy", get("healthy\n")),
        ("/ready", get(ready)),
        ("/metrics", get(metrics)),
        ("/v1/score", post(score(None))),
        ("/v1/explain", post(score(Some(v1::REASONS)))),
        ("/v1/label", post(label::label)),
        ("/v1/learn", post(v1::learn)),
        ("/v1/forget", post(v1::forget)),
        ("/checkv2", post(rspamd::check)),
        ("/check", check()),
        ("/symbols", check()),
        ("/learnspam", post(learn("spam"))),
        ("/learnham", post(learn("ham"))),
        ("/stat", get(rspamd::stat)),
        ("/ping", get("pong\r\n")),
    ]
}

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

/// `GET /ready`
async fn ready(context: SharedContext) -> Result<&'static str, Refusal> {
    context.service.ready()?;
    Ok("ready\n")
}

/// `GET /metrics`
async fn metrics(context: SharedContext, request: Request) -> Result<Response, Refusal> {
    check_may_watch(&context, request.headers()).await?;
    let openmetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(CONTENT_TYPE, openmetrics)], context.service.metrics_page()).into_response())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_route_is_described() {
        let description: serde_json::Value = serde_json::from_str(include_str!("openapi.json")).unwrap();
        let described: BTreeSet<&str> =
            description["paths"].as_object().unwrap().keys().map(String::as_str).collect();
        let all = routes();
        assert_eq!(described, all.iter().map(|(path, _)| *path).collect());
    }
}
