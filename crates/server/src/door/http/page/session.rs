//! Signing in: a password, and a cookie that only this server's own pages send.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use axum::extract::Request;
use axum::http::header::{COOKIE, ORIGIN, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use maud::html;
use subtle::ConstantTimeEq;

use crate::door::http::access::{HttpContext, SharedContext, is_right};
use crate::door::http::page::layout::{Shown, View};
use crate::door::http::page::parts::form_of;
use crate::lock::lock;
use crate::models::request::ServiceError;

const COOKIE_NAME: &str = "tamisd-session";

/// How long a session lasts, and the number of sessions; the oldest ends then.
const LIFETIME: Duration = Duration::from_secs(12 * 3600);
const MOST: usize = 100;

/// Somebody who has signed in.
struct Session {
    token: String,
    until: Instant,
    /// The password's hash: with another password, the session has ended.
    hash: String,
}

static SESSIONS: Mutex<Vec<Session>> = Mutex::new(Vec::new());

fn sessions() -> MutexGuard<'static, Vec<Session>> {
    let mut sessions = lock(&SESSIONS);
    let now = Instant::now();
    sessions.retain(|session| session.until > now);
    sessions
}

/// Whether a request is of somebody who has signed in.
pub(super) fn is_open(context: &HttpContext, headers: &HeaderMap) -> bool {
    let Some(token) = token(headers) else { return false };
    let hash = context.service.settings().http.password.as_deref();
    let is = |session: &Session| {
        bool::from(session.token.as_bytes().ct_eq(token.as_bytes())) && Some(&*session.hash) == hash
    };
    sessions().iter().any(is)
}

fn token(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
    let mut pairs =
        cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE_NAME).map(|(_, value)| value)
}

/// `GET /sign-in`, and after a problem.
pub(super) fn form(problem: Option<&str>) -> View<'static> {
    let content = html! {
        @if let Some(problem) = problem { p role="alert" { (problem) } }
        form.stack method="post" action="/sign-in" {
            label for="password" { "Password" } input #password type="password" name="password" required autocomplete="current-password";
            button { "Sign in" }
        }
        p.note { "It is the one whose hash is " code { "http.password" } " in the settings." }
    };
    View { title: "Sign in", ..View::new("", content) }
}

/// `POST /sign-in`
pub(super) async fn sign_in(context: SharedContext, request: Request) -> Shown {
    // behind a proxy with TLS, the cookie is for TLS alone
    let origin = request.headers().get(ORIGIN).map(|origin| origin.as_bytes().to_vec());
    let password = form_of(&context, request).await?.text("password").as_bytes().to_vec();
    if !is_right(&context, password).await? {
        let mut response = form(Some("The password is wrong.")).into_response();
        *response.status_mut() = StatusCode::UNAUTHORIZED;
        return Ok(response);
    }
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| ServiceError::Model(format!("random bytes: {error}")))?;
    let token = BASE64_URL_SAFE_NO_PAD.encode(bytes);
    let hash = context.service.settings().http.password.clone().unwrap_or_default();
    let mut open = sessions();
    open.insert(0, Session { token: token.clone(), until: Instant::now() + LIFETIME, hash });
    open.truncate(MOST);
    drop(open);
    let secure = if origin.is_some_and(|origin| origin.starts_with(b"https:")) { "; Secure" } else { "" };
    let seconds = LIFETIME.as_secs();
    let cookie =
        format!("{COOKIE_NAME}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
    Ok(([(SET_COOKIE, cookie)], Redirect::to("/recent")).into_response())
}

/// `POST /sign-out`
pub(super) async fn sign_out(request: Request) -> Response {
    let token = token(request.headers()).unwrap_or_default();
    sessions().retain(|session| session.token != token);
    let cookie = format!("{COOKIE_NAME}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
    ([(SET_COOKIE, cookie)], Redirect::to("/sign-in")).into_response()
}
