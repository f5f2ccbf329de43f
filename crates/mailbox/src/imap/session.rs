//! A session on a server: one command at a time, with deadlines, and what can go wrong.
//!
//! Responses are read here because async-imap's own methods leave out whether a fetch or a search succeeded, and which UID
//! a moved message got.

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use async_imap::Session;
use async_imap::extensions::idle::IdleResponse;
use futures_util::FutureExt;
use imap_proto::{Capability, MailboxDatum, Response, Status};
use thiserror::Error;
use tokio::time::timeout;

use crate::imap::bounded::ImapStream;

/// How long the server may take for its next response.
pub(super) const SILENCE: Duration = Duration::from_secs(120);

/// A failure of the server or the connection, by what to do about it.
#[derive(Clone, PartialEq, Eq, Error, Debug)]
pub enum ImapError {
    /// The connection was lost, or could not be made: try again later.
    #[error("no connection: {0}")]
    Lost(String),
    /// The server refused the login. Trying again would be refused too, and may lock the account.
    #[error("the server refuses the login: {0}")]
    Login(String),
    /// The server refused a command.
    #[error("{what}: {}", explain(answer))]
    Refused {
        /// What was asked, in words.
        what: String,
        /// What it said.
        answer: String,
    },
}

impl ImapError {
    /// Whether the server refused one command, and may accept others.
    pub fn is_refusal(&self) -> bool {
        matches!(self, ImapError::Refused { .. }) && !self.is_throttling()
    }

    /// Whether the server asks for more time between commands.
    pub fn is_throttling(&self) -> bool {
        let (ImapError::Refused { answer: text, .. } | ImapError::Lost(text) | ImapError::Login(text)) = self;
        let text = text.to_ascii_lowercase();
        ["throttl", "unavailable", "limit", "too many", "try again", "in use", "inuse"]
            .iter()
            .any(|sign| text.contains(sign))
    }
}

/// A refusal in words.
fn explain(answer: &str) -> String {
    match answer.to_ascii_lowercase().contains("quota") {
        true => format!("the mailbox is full ({answer})"),
        false => format!("the server refuses: {answer}"),
    }
}

/// Runs `work`, which parses what a server says. The parser (imap-proto 0.17) panics on some invalid answers; what it was
/// working on must not be used after that, which is an error.
pub(crate) async fn guarded<T>(work: impl Future<Output = T>) -> Result<T, ImapError> {
    let done = AssertUnwindSafe(work).catch_unwind().await;
    done.map_err(|_| ImapError::Lost("the server's answer cannot be parsed".to_owned()))
}

/// A session of a user who is logged in.
pub(crate) struct ImapSession {
    /// `None` after the connection failed.
    pub(super) session: Option<Session<ImapStream>>,
    extensions: HashSet<&'static str>,
    /// The folder that is open, as it is sent, and whether it may be changed.
    pub(crate) open: Option<(String, bool, FolderStatus)>,
    /// Whether the server has reported messages since the last search.
    pub(super) has_news: bool,
    /// The keyword of what agents sort as junk, if what others mark is heard.
    pub(super) junk_keyword: Option<String>,
}

/// The extensions that are used where the server has them.
const EXTENSIONS: [&str; 6] = ["CONDSTORE", "IDLE", "MOVE", "NAMESPACE", "SPECIAL-USE", "UIDPLUS"];

/// The status of a folder.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct FolderStatus {
    /// While this number stays the same, so do the UIDs.
    pub(crate) validity: u32,
    /// The UID that the next message will have at least.
    pub(crate) next_uid: u32,
    pub(crate) messages: u32,
    /// The server's count of changes (RFC 7162), if it has one.
    pub(crate) modseq: Option<u64>,
    /// Whether it takes no keywords that it does not have.
    pub(crate) is_fixed: bool,
}

impl ImapSession {
    pub(crate) async fn new(session: Session<ImapStream>) -> Result<Self, ImapError> {
        let (extensions, session) = (HashSet::new(), Some(session));
        let mut server = ImapSession { session, extensions, open: None, has_news: false, junk_keyword: None };
        let mut extensions = HashSet::new();
        let mut take = |response: &Response<'_>| {
            let Response::Capabilities(known) = response else { return };
            let is_known = |name: &&str| {
                let is_it = |atom: &Capability<'_>| matches!(atom, Capability::Atom(atom) if atom.eq_ignore_ascii_case(name));
                known.iter().any(is_it)
            };
            extensions.extend(EXTENSIONS.into_iter().filter(is_known));
        };
        server.exchange("asking for the capabilities", "CAPABILITY", &mut take).await?;
        server.extensions = extensions;
        Ok(server)
    }

    /// Whether the server has one of the [`EXTENSIONS`].
    pub(crate) fn can(&self, extension: &str) -> bool {
        self.extensions.contains(extension)
    }

    /// Waits until the server reports a change in the open folder, at most for `most`.
    pub(crate) async fn wait(&mut self, most: Duration) -> Result<(), ImapError> {
        if self.has_news {
            return Ok(());
        }
        let can_idle = self.can("IDLE");
        let Some(session) = self.session.take_if(|_| can_idle) else {
            tokio::time::sleep(most).await;
            return Ok(());
        };
        // lost for good if this fails
        self.session = Some(guarded(idle(session, most)).await??);
        Ok(())
    }

    /// Says goodbye. The server may be gone already.
    pub(crate) async fn log_out(mut self) {
        let _ = timeout(Duration::from_secs(5), self.exchange("logging out", "LOGOUT", |_| {})).await;
    }

    /// The session, which is lost unless it is put back.
    pub(super) fn take(&mut self) -> Result<Session<ImapStream>, ImapError> {
        self.session.take().ok_or_else(|| ImapError::Lost("the connection is closed".to_owned()))
    }

    /// Sends a command and calls `each` with every response, the last included. Any failure but a refusal ends the
    /// connection.
    pub(super) async fn exchange(
        &mut self,
        what: &str,
        command: &str,
        mut each: impl FnMut(&Response<'_>),
    ) -> Result<(), ImapError> {
        let lost = |error: &dyn std::fmt::Display| ImapError::Lost(format!("{what}: {error}"));
        let mut session = self.take()?;
        let sent = timeout(SILENCE, session.run_command(command)).await;
        let id =
            sent.map_err(|_| lost(&"the server does not read"))?.map_err(|error| lost(&in_words(error)))?;
        loop {
            let read = timeout(SILENCE, guarded(session.read_response())).await;
            let response = read.map_err(|_| lost(&"the server is silent"))??;
            let response = response.map_err(|error| lost(&brief(&error)))?;
            let Some(response) = response else { return Err(lost(&"the server closed the connection")) };
            let parsed = response.parsed();
            self.has_news |= matches!(parsed, Response::MailboxData(MailboxDatum::Exists(_)));
            each(parsed);
            match parsed {
                Response::Done { tag, status, outcome, .. } if *tag == id => {
                    let answer = || outcome.information.as_deref().unwrap_or("no reason given").to_owned();
                    self.session = Some(session);
                    return match status {
                        Status::Ok => Ok(()),
                        _ => Err(ImapError::Refused { what: what.to_owned(), answer: answer() }),
                    };
                }
                Response::Data { status: Status::Bye, outcome } if command != "LOGOUT" => {
                    return Err(lost(&outcome.information.as_deref().unwrap_or("the server says goodbye")));
                }
                _ => {}
            }
        }
    }
}

/// Idles until there is news, at most for `most`.
async fn idle(session: Session<ImapStream>, most: Duration) -> Result<Session<ImapStream>, ImapError> {
    let lost = |error: async_imap::error::Error| ImapError::Lost(in_words(error));
    let silent = |_| ImapError::Lost("the server is silent".to_owned());
    // what the server says before it agrees to idle is news too
    let unsolicited = session.unsolicited_responses.clone();
    while unsolicited.try_recv().is_ok() {}
    let mut idle = session.idle();
    timeout(SILENCE, idle.init()).await.map_err(silent)?.map_err(lost)?;
    if unsolicited.is_empty() {
        let (news, _stop) = idle.wait_with_timeout(most);
        // the crate's own timeout restarts with every sign of life
        match timeout(most, news).await {
            Ok(Ok(IdleResponse::ManualInterrupt)) => {
                return Err(ImapError::Lost("the server closed the connection".to_owned()));
            }
            Ok(Err(error)) => return Err(lost(error)),
            Ok(Ok(_)) | Err(_) => {}
        }
    }
    timeout(SILENCE, idle.done()).await.map_err(silent)?.map_err(lost)
}

/// An error of the connection without the bytes that could not be parsed, which may be mail, and without what libraries add
/// to it: links to their documentation, and times in seconds since 1970.
pub(super) fn brief(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.contains("during parsing of") {
        true => "the server's answer is not IMAP".to_owned(),
        false => {
            let cut = |text: &str, added: &str| text.split(added).next().unwrap_or_default().to_owned();
            cut(&cut(&text, ": https://"), ": verification time")
        }
    }
}

/// An error of the library in the server's words, if it has some: `code: None, info: Some("not now")` is `not now`.
pub(super) fn in_words(error: async_imap::error::Error) -> String {
    use async_imap::error::Error;
    match error {
        Error::Io(error) => brief(&error),
        Error::No(text) | Error::Bad(text) => {
            let said = text.split_once("info: Some(\"").and_then(|(_, said)| said.strip_suffix("\")"));
            said.unwrap_or("no reason given").replace("\\\"", "\"").replace("\\'", "'")
        }
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use async_imap::error::Error;

    use super::*;

    #[test]
    fn errors_are_in_words_that_a_person_has() {
        let io = |text: &str| in_words(Error::Io(std::io::Error::other(text.to_owned())));
        let no = Error::No(r#"code: None, info: Some("it's \"full\"")"#.to_owned());
        assert_eq!(in_words(no), r#"it's "full""#);
        assert_eq!(io("peer closed connection: https://docs.rs/rustls/latest"), "peer closed connection");
        let expired =
            "invalid peer certificate: certificate expired: verification time 1764298130 (UNIX), but ...";
        assert_eq!(io(expired), "invalid peer certificate: certificate expired");
        assert_eq!(io("TagUnexpected during parsing of b\"secret\""), "the server's answer is not IMAP");
    }
}
