//! Connects and logs in.

use std::fmt::Display;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use async_imap::error::Error;
use async_imap::{Authenticator, Client};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::imap::bounded::{ImapStream, Transport, bounded, unbounded};
use crate::imap::messages::keyword;
use crate::imap::oauth::access_token;
use crate::imap::session::{ImapError, ImapSession, brief, guarded, in_words};
use crate::imap::trust::trusted;
use crate::settings::{Account, Tls};

/// How long connecting and logging in may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

impl ImapSession {
    /// Connects to an account's server and logs in.
    ///
    /// # Errors
    /// If there is no connection, or it cannot be trusted for now, or the login is refused.
    pub(crate) async fn connect(account: &Account) -> Result<ImapSession, ImapError> {
        let secret = secret(account)?;
        let logged_in = async { log_in(greeted(account).await?, account, secret).await };
        let silent = |_| ImapError::Lost("the server does not answer".to_owned());
        let mut server = timeout(CONNECT_TIMEOUT, guarded(logged_in)).await.map_err(silent)???;
        server.junk_keyword = account.junk_label().filter(|_| !account.ignore_marks).map(keyword);
        Ok(server)
    }
}

/// Whether a host answers on a port within some seconds.
pub(crate) async fn answers(host: &str, port: u16) -> bool {
    matches!(timeout(Duration::from_secs(5), TcpStream::connect((host, port))).await, Ok(Ok(_)))
}

fn lost(error: impl Display) -> ImapError {
    ImapError::Lost(error.to_string())
}

/// Asks the command for the password or the token.
fn secret(account: &Account) -> Result<String, ImapError> {
    if let Some(oauth) = &account.oauth {
        return access_token(account, oauth);
    }
    let command = if account.token.is_empty() { &account.password } else { &account.token };
    let Some((program, arguments)) = command.split_first() else {
        return Err(ImapError::Login("no command for the password".to_owned()));
    };
    // a keyring may be locked, or not be running yet
    let failed = |why: &dyn Display| ImapError::Lost(format!("the password's command {program:?}{why}"));
    let mut command = Command::new(program);
    let output = command.args(arguments).stdin(Stdio::inherit()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| failed(&format!(": {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let first = text.lines().next().unwrap_or_default().to_owned();
    if !output.status.success() || first.is_empty() {
        return Err(failed(&" printed nothing or failed"));
    }
    Ok(first)
}

/// Connects and reads the server's greeting.
async fn greeted(account: &Account) -> Result<Client<ImapStream>, ImapError> {
    let address = (account.host.as_str(), account.port());
    let tcp = TcpStream::connect(address)
        .await
        .map_err(|error| ImapError::Lost(format!("{}:{}: {error}", account.host, account.port())))?;
    // a connection that idles must notice that the other end is gone, and a command is one packet
    tcp.set_nodelay(true).map_err(lost)?;
    match account.tls {
        Tls::None => greet(bounded(tcp)).await,
        Tls::Implicit => greet(encrypted(account, tcp).await?).await,
        Tls::Starttls => {
            let mut client = greet(bounded(tcp)).await?;
            client.run_command_and_check_ok("STARTTLS", None).await.map_err(|error| lost(in_words(error)))?;
            // what arrived before encryption is dropped with the client's buffer
            let stream = encrypted(account, unbounded(client.into_inner())).await?;
            Ok(Client::new(stream))
        }
    }
}

async fn greet(stream: ImapStream) -> Result<Client<ImapStream>, ImapError> {
    let mut client = Client::new(stream);
    match client.read_response().await {
        Ok(Some(response)) => match response.parsed() {
            imap_proto::Response::Data { status: imap_proto::Status::Ok, .. } => Ok(client),
            imap_proto::Response::Data { outcome, .. } => {
                Err(lost(outcome.information.as_deref().unwrap_or("the server does not let anyone in")))
            }
            _ => Err(lost("the server's greeting is not IMAP")),
        },
        Ok(None) => Err(ImapError::Lost("the server closed the connection".to_owned())),
        Err(error) => Err(lost(brief(&error))),
    }
}

async fn encrypted(account: &Account, tcp: impl Transport + 'static) -> Result<ImapStream, ImapError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(trusted(account)?);
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from(account.host.clone())
        .map_err(|_| ImapError::Login(format!("{}: not a host name", account.host)))?;
    let tls = TlsConnector::from(Arc::new(config)).connect(name, tcp).await.map_err(|error| {
        // also the certificate of a captive portal, or one that is renewed too late
        let why = Some(brief(&error)).filter(|it| !it.contains("corrupt message"));
        let why = why.unwrap_or_else(|| "expected TLS from the start, got something else (--tls)".to_owned());
        ImapError::Lost(format!("{}: {why}", account.host))
    })?;
    Ok(bounded(tls))
}

async fn log_in(
    client: Client<ImapStream>,
    account: &Account,
    secret: String,
) -> Result<ImapSession, ImapError> {
    let session = if account.token.is_empty() && account.oauth.is_none() {
        client.login(&account.user, secret).await
    } else {
        let response = format!("user={}\x01auth=Bearer {secret}\x01\x01", account.user);
        client.authenticate("XOAUTH2", Bearer(Some(response))).await
    };
    let session = session.map_err(|(error, _)| match &error {
        Error::No(_) | Error::Bad(_) => refused(&in_words(error)),
        _ => lost(in_words(error)),
    })?;
    ImapSession::new(session).await
}

/// The error of a refused login. A login that was throttled may succeed later.
fn refused(answer: &str) -> ImapError {
    let failure = ImapError::Login(answer.to_owned());
    if failure.is_throttling() { ImapError::Lost(answer.to_owned()) } else { failure }
}

/// Answers the first challenge of XOAUTH2. A second one reports an error, and gets an empty answer.
struct Bearer(Option<String>);

impl Authenticator for Bearer {
    type Response = String;

    fn process(&mut self, _: &[u8]) -> String {
        self.0.take().unwrap_or_default()
    }
}
