//! Access tokens of OAuth 2: the login with a device code (RFC 8628) or by a browser of this machine, and their renewal
//! (RFC 6749, section 6).

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tamis_program::{say, seconds_now, shown};
use tokio_rustls::rustls::crypto::ring::default_provider;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::files::{read_if_there, replace};
use crate::imap::redirect::authorize;
use crate::imap::session::ImapError;
use crate::imap::trust::trusted;
use crate::settings::{Account, OAuth, state_folder};

/// How long an identity server may take for an answer, and how long that may be, in bytes.
const TIMEOUT: Duration = Duration::from_secs(30);
const MOST_OF_ANSWER: u64 = 256 << 10;

/// A token that ends within so many seconds is renewed.
const SLACK: i64 = 120;

const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// The tokens of an account, in a private file.
#[derive(Serialize, Deserialize)]
struct Tokens {
    access: String,
    /// In seconds since 1970.
    ends_at: i64,
    refresh: Option<String>,
}

fn file(account: &Account) -> Result<PathBuf, ImapError> {
    Ok(state_folder(account).map_err(|error| lost(&error))?.join("token.json"))
}

fn lost(error: &dyn Display) -> ImapError {
    ImapError::Lost(format!("the identity server: {error}"))
}

/// The access token of an account, renewed if it has ended.
///
/// # Errors
/// [`ImapError::Login`] if there is none, or the identity server refuses to renew it.
pub(crate) fn access_token(account: &Account, oauth: &OAuth) -> Result<String, ImapError> {
    let refused =
        |why: &str| ImapError::Login(format!("{why}; run tamis mailbox setup {} again", account.name));
    let tokens: Option<Tokens> = read_if_there(&file(account)?).map_err(|error| lost(&error))?;
    let tokens = tokens.ok_or_else(|| refused("there is no token yet"))?;
    if tokens.ends_at - SLACK > seconds_now() {
        return Ok(tokens.access);
    }
    let refresh = tokens.refresh.ok_or_else(|| refused("the token has ended, and cannot be renewed"))?;
    let form = [("grant_type", "refresh_token"), ("refresh_token", &refresh), ("scope", &oauth.scope)];
    let answer = post(account, oauth, &oauth.token_url, &form)?;
    match error_of(&answer) {
        Some("temporarily_unavailable" | "server_error") => Err(lost(&"it is busy")),
        Some(error) => Err(refused(error)),
        None => keep(account, &answer, Some(refresh)),
    }
}

/// Logs in by a browser, unless there is a token already.
pub(crate) fn log_in(account: &Account, oauth: &OAuth) -> Result<()> {
    match access_token(account, oauth) {
        Err(ImapError::Login(_)) => {}
        token => return Ok(token.map(drop)?),
    }
    let answer = match &oauth.auth_url {
        Some(url) => {
            let form = authorize(account, oauth, url)?;
            post(account, oauth, &oauth.token_url, &form.each_ref().map(|(key, text)| (*key, &**text)))?
        }
        None => by_device_code(account, oauth)?,
    };
    match error_of(&answer) {
        Some(error) => bail!("the identity server refuses: {}", shown(error)),
        None => Ok(keep(account, &answer, None).map(drop)?),
    }
}

/// The answer to a code that the user types in at a browser, on any device.
fn by_device_code(account: &Account, oauth: &OAuth) -> Result<Value> {
    let asked = post(account, oauth, &oauth.device_url, &[("scope", &oauth.scope)])?;
    let text = |key: &str| asked[key].as_str().unwrap_or_default();
    let page = Some(text("verification_uri")).filter(|it| !it.is_empty()).unwrap_or(text("verification_url"));
    if text("device_code").is_empty() || page.is_empty() {
        bail!("the identity server gives no code: {}", shown(error_of(&asked).unwrap_or("no reason given")));
    }
    let (page, code) = (shown(page), shown(text("user_code")));
    say!("To let tamis into the mailbox of {}, open {page} and enter {code}", account.name);
    let mut pause = asked["interval"].as_u64().unwrap_or(5).clamp(1, 60);
    let ends_at = seconds_now() + asked["expires_in"].as_i64().unwrap_or(900);
    let form = [("grant_type", DEVICE_CODE), ("device_code", text("device_code"))];
    while seconds_now() < ends_at {
        sleep(Duration::from_secs(pause));
        let answer = post(account, oauth, &oauth.token_url, &form)?;
        match error_of(&answer) {
            Some("authorization_pending") => {}
            Some("slow_down") => pause += 5,
            _ => return Ok(answer),
        }
    }
    bail!("nobody has entered the code in time");
}

/// Keeps the tokens of an answer. One without a new refresh token leaves the old one valid.
fn keep(account: &Account, answer: &Value, refresh: Option<String>) -> Result<String, ImapError> {
    let text = |key: &str| answer[key].as_str().map(str::to_owned);
    let access = text("access_token").ok_or_else(|| lost(&"its answer has no token"))?;
    let ends_at = seconds_now() + answer["expires_in"].as_i64().unwrap_or(3_600);
    let tokens = Tokens { access, ends_at, refresh: text("refresh_token").or(refresh) };
    let bytes = serde_json::to_vec(&tokens).map_err(|error| lost(&error))?;
    replace(&file(account)?, &bytes).map_err(|error| lost(&error))?;
    Ok(tokens.access)
}

fn error_of(answer: &Value) -> Option<&str> {
    answer["error"].as_str()
}

/// Sends a form with the client's id. The answer is JSON, also of an error.
fn post(account: &Account, oauth: &OAuth, url: &str, form: &[(&str, &str)]) -> Result<Value, ImapError> {
    let roots = trusted(account)?.into_iter().map(|it| Certificate::from_der(&it).to_owned());
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::from(roots))
        .unversioned_rustls_crypto_provider(Arc::new(default_provider()));
    let config = Agent::config_builder().timeout_global(Some(TIMEOUT)).http_status_as_error(false);
    let agent = Agent::new_with_config(config.max_redirects(0).tls_config(tls.build()).build());
    let secret = oauth.client_secret.iter().map(|secret| ("client_secret", &**secret));
    let form = form.iter().copied().chain([("client_id", &*oauth.client_id)]).chain(secret);
    let mut answer = agent.post(url).send_form(form).map_err(|error| lost(&error))?;
    let bytes = answer.body_mut().with_config().limit(MOST_OF_ANSWER).read_to_vec();
    serde_json::from_slice(&bytes.map_err(|error| lost(&error))?).map_err(|_| lost(&"its answer is not JSON"))
}
