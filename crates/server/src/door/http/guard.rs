//! Refuses what a page in a browser may have sent: a page of another site reaches this server by a name that resolves to
//! it (DNS rebinding), or by a form (cross-site request forgery).

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, Uri, Version};
use axum::middleware::Next;
use axum::response::Response;

use crate::door::http::context::Shared;
use crate::door::http::refusal::Refusal;
use crate::net::peer::Peer;
use crate::settings::address::Address;
use crate::settings::file::HttpSettings;

/// Lets a request through to its handler if it may have been meant for this server.
///
/// # Errors
/// If it was not.
pub(super) async fn guard(context: Shared, request: Request, next: Next) -> Result<Response, Refusal> {
    let settings = &context.service.settings().http;
    if let Peer::Address(_) = context.peer {
        check_host(&request, settings)?;
    }
    // over a Unix socket too: there may be a proxy for browsers in front
    if request.method() != Method::GET && request.method() != Method::HEAD {
        check_origin(request.headers(), settings)?;
    }
    Ok(next.run(request).await)
}

/// A page reaches this server by rebinding only under the name of its own site.
fn check_host(request: &Request, settings: &HttpSettings) -> Result<(), Refusal> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().ok().and_then(|host| host.parse::<Authority>().ok()),
        // browsers always send one
        (None, _) if request.version() == Version::HTTP_10 => return Ok(()),
        _ => return Err(Refusal::bad_request("expected a Host header")),
    };
    let names = [host.as_ref(), request.uri().authority()];
    let is_ours = host.is_some()
        && names.iter().flatten().all(|name| !name.as_str().contains('@') && is_own(name.host(), settings));
    if is_ours {
        Ok(())
    } else {
        Err(Refusal::forbidden(
            "the request is for another host; http.hosts in the settings lists those of this server",
        ))
    }
}

/// Whether a host is this server: localhost, an address it listens at, or listed in the settings.
fn is_own(host: &str, settings: &HttpSettings) -> bool {
    let Ok(address) = host.trim_matches(['[', ']']).parse::<IpAddr>() else {
        return host.eq_ignore_ascii_case("localhost") || is_listed(host, settings);
    };
    let address = address.to_canonical();
    let is_at = |listen: &Address| match listen {
        Address::Tcp(at) => at.ip().is_unspecified() || at.ip().to_canonical() == address,
        Address::Unix(_) => false,
        // its address is systemd's to know
        Address::Systemd(_) => true,
    };
    address.is_loopback() || settings.listen.iter().any(is_at) || is_listed(host, settings)
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
