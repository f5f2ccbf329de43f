//! Which handler answers which path.

use std::sync::LazyLock;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn;
use axum::routing::{MethodRouter, get, post};

use crate::door::http::guard::guard;
use crate::door::http::refusal::Refusal;
use crate::door::http::{label, own, rspamd, watching};

static ROUTER: LazyLock<Router> = LazyLock::new(|| {
    let all = routes().into_iter().fold(Router::new(), |router, (path, methods)| router.route(path, methods));
    all.fallback(no_path).method_not_allowed_fallback(no_method).layer(from_fn(guard))
});

/// All routes. Handlers find the [`Context`](crate::door::http::context::Context) among the request's extensions.
pub(super) fn router() -> Router {
    ROUTER.clone()
}

/// What changes a model is never answered to GET.
fn routes() -> [(&'static str, MethodRouter); 17] {
    let check = || get(rspamd::check).post(rspamd::check);
    [
        ("/", get(watching::page)),
        ("/openapi.json", get(watching::description)),
        ("/healthy", get(watching::healthy)),
        ("/ready", get(watching::ready)),
        ("/metrics", get(watching::metrics)),
        ("/v1/score", post(own::score)),
        ("/v1/explain", post(own::explain)),
        ("/v1/label", post(label::label)),
        ("/v1/learn", post(own::learn)),
        ("/v1/forget", post(own::forget)),
        ("/checkv2", post(rspamd::check)),
        ("/check", check()),
        ("/symbols", check()),
        ("/learnspam", post(rspamd::learn_spam)),
        ("/learnham", post(rspamd::learn_ham)),
        ("/stat", get(rspamd::stat)),
        ("/ping", get(rspamd::ping)),
    ]
}

async fn no_path() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "there is nothing at this path; GET / tells what there is")
}

async fn no_method() -> Refusal {
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "this path is for another method; GET / tells which")
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
