//! Who asks, and what they may do: learn, watch, or nothing, if a page in a browser may have sent the request.

use std::net::IpAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use axum::Extension;
use axum::extract::Request;
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, StatusCode, Uri, Version};
use axum::middleware::Next;
use axum::response::Response;
use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::door::http::guesses::Guesses;
use crate::door::http::refusal::Refusal;
use crate::models::request::{ModelId, ServiceError};
use crate::net::Peer;
use crate::service::{CurrentService, Service};
use crate::settings::address::Address;
use crate::settings::{HttpSettings, ServerSettings};

/// What a request is served with.
pub(super) struct HttpContext {
    pub(super) service: Arc<Service>,
    /// For requests that last.
    pub(super) current: CurrentService,
    pub(super) peer: Peer,
}

/// The context as handlers get it.
pub(super) type SharedContext = Extension<Arc<HttpContext>>;

/// Held during a check, which takes a core and 19 MiB for tens of milliseconds. Those who guess wait for each other, and
/// take no threads from learning.
static CHECK: Mutex<()> = Mutex::const_new(());

static GUESSES: LazyLock<Guesses> = LazyLock::new(Guesses::default);

/// How long a password may wait to be checked.
const PATIENCE: Duration = Duration::from_secs(5);

/// Checks that a client may learn: a trusted process over a Unix socket, or one that knows the password.
///
/// # Errors
/// If it may not.
pub(super) async fn check_may_learn(context: &HttpContext, headers: &HeaderMap) -> Result<(), Refusal> {
    if context.peer.is_trusted(&[]) {
        return Ok(());
    }
    if context.service.settings().http.password.is_none() {
        return Err(Refusal::forbidden(
            "learning and models of users need a password; set http.password to what tamisd --hash-password prints",
        ));
    }
    let Some(password) = password(headers) else {
        return Err(Refusal::new(StatusCode::UNAUTHORIZED, "expected a password, got none"));
    };
    if is_right(context, password).await? {
        Ok(())
    } else {
        Err(Refusal::new(StatusCode::UNAUTHORIZED, "the password is wrong"))
    }
}

/// Checks that a client may ask for a model: for that of a user, it has to be that user, a mail server, or to know the
/// password.
///
/// # Errors
/// If it may not.
pub(super) async fn check_may_ask(
    context: &HttpContext,
    headers: &HeaderMap,
    model: ModelId<'_>,
) -> Result<(), Refusal> {
    if context.peer.permitted(model, context.service.settings()) == model {
        return Ok(());
    }
    check_may_learn(context, headers).await
}

/// Checks that a client may see the numbers of the server: one on this machine, or one that may learn.
///
/// # Errors
/// If it may not.
pub(super) async fn check_may_watch(context: &HttpContext, headers: &HeaderMap) -> Result<(), Refusal> {
    match context.peer {
        Peer::Address(address) if !address.ip().to_canonical().is_loopback() => {
            check_may_learn(context, headers).await
        }
        _ => Ok(()),
    }
}

/// Whether a password is right. Those who guess have to wait.
///
/// # Errors
/// If it cannot be tried now.
pub(super) async fn is_right(context: &HttpContext, password: Vec<u8>) -> Result<bool, Refusal> {
    let HttpContext { service, peer, .. } = context;
    let Some(own) = service.password.clone() else { return Ok(false) };
    // nobody who guesses holds up who knows it
    if own.is_known(&password) {
        return Ok(true);
    }
    GUESSES.note(*peer, Instant::now()).map_err(Refusal::too_many_guesses)?;
    let Ok(_alone) = timeout(PATIENCE, CHECK.lock()).await else {
        service.metrics.refused.fetch_add(1, Relaxed);
        return Err(ServiceError::Busy.into());
    };
    let checked = tokio::task::spawn_blocking(move || own.is(&password)).await;
    let is_right = checked.map_err(|_| ServiceError::Defect)?;
    if is_right {
        GUESSES.forgive(*peer);
    } else {
        service.note_wrong_password(&peer.to_string());
    }
    Ok(is_right)
}

/// The password of a request: that of `Password`, as rspamc sends it, or of `Authorization`.
fn password(headers: &HeaderMap) -> Option<Vec<u8>> {
    if let Some(password) = headers.get("password") {
        return Some(password.as_bytes().to_vec());
    }
    let (scheme, rest) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let rest = rest.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(rest.as_bytes().to_vec());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    // any user name will do
    let decoded = BASE64_STANDARD_NO_PAD.decode(rest.trim_end_matches('=')).ok()?;
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    Some(decoded[colon + 1..].to_vec())
}

/// Lets a request through to its handler if it may have been meant for this server. A page of another site in a browser
/// reaches it by a name that resolves to it (DNS rebinding), or by a form (cross-site request forgery).
///
/// # Errors
/// If it was not.
pub(super) async fn guard(context: SharedContext, request: Request, next: Next) -> Result<Response, Refusal> {
    let settings = context.service.settings();
    if let Peer::Address(_) = context.peer {
        check_host(&request, settings)?;
    }
    // over a Unix socket too: there may be a proxy for browsers in front
    if request.method() != Method::GET && request.method() != Method::HEAD {
        check_origin(request.headers(), &settings.http)?;
    }
    Ok(next.run(request).await)
}

/// A page reaches this server by rebinding only under the name of its own site.
fn check_host(request: &Request, settings: &ServerSettings) -> Result<(), Refusal> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().ok().and_then(|host| host.parse::<Authority>().ok()),
        // browsers always send one
        (None, _) if request.version() == Version::HTTP_10 => return Ok(()),
        _ => return Err(Refusal::bad_request("expected a Host header")),
    };
    let is_own = |name: &Authority| !name.as_str().contains('@') && is_own_host(name.host(), settings);
    if host.is_some() && [host.as_ref(), request.uri().authority()].into_iter().flatten().all(is_own) {
        Ok(())
    } else {
        Err(Refusal::forbidden(
            "the request is for another host; http.hosts in the settings lists those of this server",
        ))
    }
}

/// Whether a host is this server: localhost, an address it listens at, or listed in the settings.
fn is_own_host(host: &str, settings: &ServerSettings) -> bool {
    let Ok(address) = host.trim_matches(['[', ']']).parse::<IpAddr>() else {
        return host.eq_ignore_ascii_case("localhost") || is_listed(host, &settings.http);
    };
    let address = address.to_canonical();
    let is_at = |listen: &Address| match listen {
        Address::Tcp(at) => at.ip().is_unspecified() || at.ip().to_canonical() == address,
        Address::Unix(_) => false,
        // its address is systemd's to know
        Address::Systemd(_) => true,
    };
    let listening = [&settings.http.listen, &settings.page.listen].into_iter().flatten();
    address.is_loopback() || { listening }.any(is_at) || is_listed(host, &settings.http)
}

fn is_listed(host: &str, settings: &HttpSettings) -> bool {
    settings.hosts.iter().any(|own| own.eq_ignore_ascii_case(host))
}

/// Browsers tell which page a request is from; other clients do not.
fn check_origin(headers: &HeaderMap, settings: &HttpSettings) -> Result<(), Refusal> {
    let refused = || Refusal::forbidden("the request is from a page of another site");
    if headers.get("sec-fetch-site").is_some_and(|site| site.as_bytes().eq_ignore_ascii_case(b"cross-site")) {
        return Err(refused());
    }
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    for origin in headers.get_all(ORIGIN) {
        // "null" has no host
        let uri: Option<Uri> = origin.to_str().ok().and_then(|origin| origin.parse().ok());
        let authority = uri.as_ref().filter(|uri| uri.scheme().is_some()).and_then(Uri::authority);
        let Some(authority) = authority else { return Err(refused()) };
        let is_same = host.is_some_and(|host| host.eq_ignore_ascii_case(authority.as_str()));
        if !is_same && !is_listed(authority.host(), settings) {
            return Err(refused());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_found_wherever_clients_put_them() {
        for (name, value, expected) in [
            ("password", "q1", Some("q1")),
            ("authorization", "Bearer open sesame", Some("open sesame")),
            ("authorization", "basic am9lOm9wZW46c2VzYW1l", Some("open:sesame")),
            ("authorization", "Basic Og==", Some("")),
            ("authorization", "Basic am9l", None),
            ("authorization", "Basic a*", None),
            ("authorization", "Digest x", None),
            ("cookie", "password=x", None),
        ] {
            let headers = HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())]);
            assert_eq!(password(&headers), expected.map(|text| text.as_bytes().to_vec()), "{name}: {value}");
        }
    }
}
