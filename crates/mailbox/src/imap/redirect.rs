//! The code that an identity server sends by a browser of this machine (RFC 8252), with proof that the same program asked for it
//! (RFC 7636).

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use form_urlencoded::{Serializer, parse};
use ring::digest::{SHA256, digest};
use ring::rand::{SystemRandom, generate};
use tamis_program::{say, shown};

use crate::settings::{Account, OAuth};

/// How long a browser may take for its next bytes, and how many it may send.
const SILENCE: Duration = Duration::from_secs(2);
const MOST_OF_REQUEST: u64 = 32 << 10;

/// Prints an address, and waits until a browser comes back from there. Returns the form to get a token by.
///
/// # Errors
/// If access was refused.
pub(super) fn authorize(account: &Account, oauth: &OAuth, url: &str) -> Result<[(&'static str, String); 4]> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("waiting for the browser")?;
    let redirect = format!("http://{}", listener.local_addr()?);
    let (verifier, state) = (random()?, random()?);
    let challenge = BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
    let query = [
        ("response_type", "code"),
        ("client_id", &oauth.client_id),
        ("redirect_uri", &redirect),
        ("scope", &oauth.scope),
        ("state", &state),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
    ];
    let query = Serializer::new(String::new()).extend_pairs(query).finish();
    let joint = if url.contains('?') { '&' } else { '?' };
    say!(
        "To let tamis into the mailbox of {}, open {url}{joint}{query} in a browser on this machine",
        account.name
    );
    for browser in listener.incoming().flatten() {
        if let Some(code) = answer(&browser, &state)? {
            let grant = ("grant_type", "authorization_code".to_owned());
            return Ok([grant, ("code", code), ("redirect_uri", redirect), ("code_verifier", verifier)]);
        }
    }
    bail!("no browser has come back");
}

/// 256 bits that nobody can guess, as text.
fn random() -> Result<String> {
    let bytes = generate::<[u8; 32]>(&SystemRandom::new()).map_err(|_| anyhow!("no random numbers"))?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes.expose()))
}

/// Answers a request. Returns the code that it brings; `None` if it is not what is waited for: browsers ask for icons, and any
/// page may send them here.
fn answer(mut browser: &TcpStream, state: &str) -> Result<Option<String>> {
    let Ok(request) = request_line(browser) else { return Ok(None) };
    let query = request.split(' ').nth(1).and_then(|target| target.split_once('?'));
    let fields: HashMap<_, _> = query.into_iter().flat_map(|(_, query)| parse(query.as_bytes())).collect();
    let is_ours = fields.get("state").is_some_and(|got| got == state);
    let [code, error] = ["code", "error"].map(|key| fields.get(key).filter(|_| is_ours));
    let (status, text) = match (code, error) {
        (_, Some(_)) => ("200 OK", "tamis was not let into the mailbox. You can close this page."),
        (Some(_), _) => ("200 OK", "tamis has got what it needs. You can close this page."),
        _ => ("400 Bad Request", "This is not what tamis waits for."),
    };
    // the browser may be gone
    let _ = write!(
        browser,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    );
    match error {
        Some(error) => bail!("the identity server refuses: {}", shown(error)),
        None => Ok(code.map(|code| code.clone().into_owned())),
    }
}

/// The first line of a request, once its header has ended.
fn request_line(browser: &TcpStream) -> io::Result<String> {
    browser.set_read_timeout(Some(SILENCE))?;
    browser.set_write_timeout(Some(SILENCE))?;
    let mut lines = BufReader::new(browser.take(MOST_OF_REQUEST)).lines();
    let first = lines.next().unwrap_or_else(|| Err(ErrorKind::UnexpectedEof.into()))?;
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    Ok(first)
}
