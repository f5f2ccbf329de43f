//! The page for people: what was scored, teaching, the model and the server's numbers, without a script.
//!
//! Everything but the style and the sign-in needs a session. What a message says is shown as text, whatever it holds.

mod layout;
mod model;
mod parts;
mod recent;
mod session;
mod teach;
mod tried;

use std::sync::LazyLock;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};

use crate::door::http::access::{SharedContext, guard};
use crate::door::http::page::layout::{Failure, View};
use crate::door::http::refusal::Refusal;

/// Maximum bytes of a form without a message.
const MOST_FORM: usize = 16 << 10;

/// The routes of the page.
pub(super) static ROUTER: LazyLock<Router> = LazyLock::new(|| {
    Router::new()
        .route("/recent", get(recent::show).post(recent::teach))
        .route("/try", get(|| async { View::new("/try", tried::form()) }).post(tried::score))
        .route("/teach", get(teach::show).post(teach::upload))
        .route("/teach/learn", post(teach::learn))
        .route("/model", get(model::show))
        .route("/users", get(model::users))
        .route("/now", get(model::now))
        .route("/sign-out", post(session::sign_out))
        .layer(from_fn(signed_in))
        .route("/", get(|| async { Redirect::to("/recent") }))
        .route("/sign-in", get(|| async { session::form(None) }).post(session::sign_in))
        .route(
            "/style.css",
            get(([(CONTENT_TYPE, "text/css; charset=utf-8")], include_str!("page/style.css"))),
        )
        .fallback(|| async { failure(StatusCode::NOT_FOUND, "There is nothing at this address.") })
        .layer(DefaultBodyLimit::max(MOST_FORM))
        .layer(from_fn(guard))
});

fn failure(status: StatusCode, text: &str) -> Failure {
    Refusal::new(status, text).into()
}

/// Lets a request through if its browser has signed in.
async fn signed_in(context: SharedContext, request: Request, next: Next) -> Response {
    if session::is_open(&context, request.headers()) {
        next.run(request).await
    } else if request.method().is_safe() {
        Redirect::to("/sign-in").into_response()
    } else {
        failure(StatusCode::FORBIDDEN, "You are not signed in any more; nothing was done.").into_response()
    }
}
