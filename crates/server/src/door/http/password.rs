//! Who may learn, and who may watch.

use std::time::Duration;

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::door::http::context::Context;
use crate::door::http::refusal::Refusal;
use crate::models::failure::Failure;
use crate::net::peer::Peer;

/// Held during a check, which takes a core and 19 MiB for tens of milliseconds. Those who guess wait for each other, and
/// take no threads from learning.
static CHECK: Mutex<()> = Mutex::const_new(());

/// How long a password may wait to be checked.
const PATIENCE: Duration = Duration::from_secs(5);

/// Checks that a client may learn: a trusted process over a Unix socket, or one that knows the password.
///
/// # Errors
/// If it may not.
pub(super) async fn check_may_learn(context: &Context, headers: &HeaderMap) -> Result<(), Refusal> {
    if context.peer.is_trusted(&[]) {
        return Ok(());
    }
    if context.service.settings().http.password.is_none() {
        return Err(Refusal::forbidden(
            "learning over HTTP needs a password; set http.password to what tamisd --hash-password prints",
        ));
    }
    let Some(password) = given(headers) else {
        return Err(Refusal::new(StatusCode::UNAUTHORIZED, "expected a password, got none"));
    };
    if is_right(context, password).await? {
        Ok(())
    } else {
        Err(Refusal::new(StatusCode::UNAUTHORIZED, "the password is wrong"))
    }
}

/// Checks that a client may see the numbers of the server: one on this machine, or one that may learn.
///
/// # Errors
/// If it may not.
pub(super) async fn check_may_watch(context: &Context, headers: &HeaderMap) -> Result<(), Refusal> {
    match context.peer {
        Peer::Address(address) if !address.ip().to_canonical().is_loopback() => {
            check_may_learn(context, headers).await
        }
        _ => Ok(()),
    }
}

async fn is_right(context: &Context, password: Vec<u8>) -> Result<bool, Refusal> {
    let Ok(_alone) = timeout(PATIENCE, CHECK.lock()).await else {
        context.service.refused();
        return Err(Failure::Busy.into());
    };
    let service = context.service.clone();
    let checked = tokio::task::spawn_blocking(move || service.is_password(&password)).await;
    checked.map_err(|_| Failure::Defect.into())
}

/// The password of a request: that of `Password`, as rspamc sends it, or of `Authorization`.
fn given(headers: &HeaderMap) -> Option<Vec<u8>> {
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
    let decoded = decode_base64(rest)?;
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    Some(decoded[colon + 1..].to_vec())
}

/// Decodes base64 (RFC 4648).
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let (mut bits, mut n_bits) = (0_u32, 0);
    let mut decoded = Vec::with_capacity(text.len() / 4 * 3);
    for c in text.trim_end_matches('=').bytes() {
        let digit = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(digit);
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            decoded.push((bits >> n_bits) as u8);
        }
    }
    Some(decoded)
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
            assert_eq!(given(&headers), expected.map(|text| text.as_bytes().to_vec()), "{name}: {value}");
        }
        assert_eq!(decode_base64("/+8=").unwrap(), [0xff, 0xef]);
    }
}
