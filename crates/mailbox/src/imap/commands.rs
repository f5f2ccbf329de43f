//! The commands that sorting a mailbox takes.
//!
//! Responses are read here rather than by async-imap's own methods for the sake of what those leave out: whether a fetch
//! or a search succeeded at all, and which UID a moved message got.

use std::time::Duration;

use async_imap::Session;
use async_imap::extensions::idle::IdleResponse;
use chrono::DateTime;
use imap_proto::rfc4315::UidSetMember;
use imap_proto::{
    AttributeValue, MailboxDatum, NameAttribute, Response, ResponseCode, Status as Said, StatusAttribute,
};
use tokio::time::timeout;

use crate::imap::bounded::Stream;
use crate::imap::failure::{Failure, guarded};
use crate::imap::names::{decode, quote};

/// How long the server may be silent while it has to answer.
const SILENCE: Duration = Duration::from_secs(120);

/// How much of a message is read, in bytes.
pub(crate) const MOST_OF_MESSAGE: usize = 256 << 10;

/// Maximum number of folders; further folders are reported and ignored.
const MOST_FOLDERS: usize = 10_000;

/// A server that a user is logged in to.
pub(crate) struct Server {
    /// `None` after the connection failed.
    session: Option<Session<Stream>>,
    can: Abilities,
    /// The folder that is open, as it is sent, and whether it may be changed.
    open: Option<(String, bool, Opened)>,
    /// Whether the server told of messages after the last search.
    has_news: bool,
}

/// The extensions that the server has.
#[derive(Clone, Copy, Default, Debug)]
struct Abilities {
    move_messages: bool,
    uidplus: bool,
    idle: bool,
    special_use: bool,
}

/// A folder of the mailbox.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mailbox {
    /// Its name as text.
    pub(crate) name: String,
    /// Its name as it is sent.
    raw: String,
    /// What it is for.
    pub(crate) role: Option<Role>,
}

/// What a folder is for (RFC 6154).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    All,
    Archive,
    Drafts,
    Flagged,
    Junk,
    Sent,
    Trash,
}

/// What is known of a folder without its messages.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Opened {
    /// While this number stays the same, so do the UIDs.
    pub(crate) validity: u32,
    /// The UID that the next message will have at least.
    pub(crate) next_uid: u32,
    pub(crate) messages: u32,
}

/// A message, or its first 256 KiB.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fetched {
    pub(crate) uid: u32,
    pub(crate) is_deleted: bool,
    /// When it arrived, in seconds since 1970.
    pub(crate) arrived: Option<i64>,
    pub(crate) bytes: Vec<u8>,
}

impl Server {
    pub(crate) async fn new(session: Session<Stream>) -> Result<Self, Failure> {
        let mut server =
            Server { session: Some(session), can: Abilities::default(), open: None, has_news: false };
        let mut can = Abilities::default();
        server
            .exchange("asking what the server can", "CAPABILITY", |response| {
                if let Response::Capabilities(known) = response {
                    for capability in known {
                        let imap_proto::Capability::Atom(name) = capability else { continue };
                        match &*name.to_ascii_uppercase() {
                            "MOVE" => can.move_messages = true,
                            "UIDPLUS" => can.uidplus = true,
                            "IDLE" => can.idle = true,
                            "SPECIAL-USE" => can.special_use = true,
                            _ => {}
                        }
                    }
                }
            })
            .await?;
        server.can = can;
        Ok(server)
    }

    /// The folders that can hold messages. Also returns the number of those left out because of their names.
    pub(crate) async fn mailboxes(&mut self) -> Result<(Vec<Mailbox>, usize), Failure> {
        let (mut found, mut left_out) = (Vec::new(), 0);
        let command =
            if self.can.special_use { r#"LIST "" "*" RETURN (SPECIAL-USE)"# } else { r#"LIST "" "*""# };
        let mut take = |response: &Response<'_>| {
            let Response::MailboxData(MailboxDatum::List(folder)) = response else { return };
            if folder.name_attributes.iter().any(has_no_messages) {
                return;
            }
            if quote(&folder.name).is_none() || found.len() == MOST_FOLDERS {
                left_out += 1;
                return;
            }
            let raw = folder.name.to_string();
            let name = if raw.eq_ignore_ascii_case("inbox") { "INBOX".to_owned() } else { decode(&raw) };
            found.push(Mailbox { name, raw, role: folder.name_attributes.iter().find_map(role) });
        };
        let listed = self.exchange("listing the folders", command, &mut take).await;
        if let Err(Failure::Refused { .. }) = listed
            && self.can.special_use
        {
            // SPECIAL-USE alone does not promise that it may be asked for (RFC 6154, section 2)
            self.exchange("listing the folders", r#"LIST "" "*""#, &mut take).await?;
        } else {
            listed?;
        }
        found.dedup_by(|a, b| a.raw == b.raw);
        Ok((found, left_out))
    }

    /// What is known of a folder without opening it.
    pub(crate) async fn status(&mut self, folder: &Mailbox) -> Result<Opened, Failure> {
        let mut status = Opened::default();
        let command = format!("STATUS {} (MESSAGES UIDNEXT UIDVALIDITY)", quoted(folder)?);
        self.exchange(&format!("looking at {}", folder.name), &command, |response| {
            let Response::MailboxData(MailboxDatum::Status { status: known, .. }) = response else { return };
            for attribute in known {
                match attribute {
                    StatusAttribute::Messages(n) => status.messages = *n,
                    StatusAttribute::UidNext(n) => status.next_uid = *n,
                    StatusAttribute::UidValidity(n) => status.validity = *n,
                    _ => {}
                }
            }
        })
        .await?;
        require_uids(folder, status)
    }

    /// Opens a folder, to change it or only to read it.
    pub(crate) async fn open(&mut self, folder: &Mailbox, to_change: bool) -> Result<Opened, Failure> {
        self.open = None;
        let verb = if to_change { "SELECT" } else { "EXAMINE" };
        let mut opened = Opened::default();
        let command = format!("{verb} {}", quoted(folder)?);
        self.exchange(&format!("opening {}", folder.name), &command, |response| match response {
            Response::MailboxData(MailboxDatum::Exists(n)) => opened.messages = *n,
            Response::Data { outcome, .. } => match outcome.code {
                Some(ResponseCode::UidValidity(n)) => opened.validity = n,
                Some(ResponseCode::UidNext(n)) => opened.next_uid = n,
                _ => {}
            },
            _ => {}
        })
        .await?;
        let opened = require_uids(folder, opened)?;
        self.open = Some((folder.raw.clone(), to_change, opened));
        Ok(opened)
    }

    /// As [`open`](Self::open), unless the folder is open already.
    pub(crate) async fn have_open(&mut self, folder: &Mailbox, to_change: bool) -> Result<Opened, Failure> {
        match &self.open {
            Some((raw, may_change, opened)) if *raw == folder.raw && (*may_change || !to_change) => {
                Ok(*opened)
            }
            _ => self.open(folder, to_change).await,
        }
    }

    /// The UIDs of the open folder's messages from `first` on that are not marked as deleted, in ascending order.
    pub(crate) async fn uids_from(&mut self, first: u32) -> Result<Vec<u32>, Failure> {
        let mut uids = self.search(&format!("UNDELETED UID {first}:*")).await?;
        // of a range that begins behind the last message, the last message is part
        uids.retain(|uid| *uid >= first);
        Ok(uids)
    }

    /// The UIDs of the open folder's messages with a Message-ID, in ascending order.
    pub(crate) async fn uids_of(&mut self, message_id: &str) -> Result<Vec<u32>, Failure> {
        match quote(message_id).filter(|quoted| quoted.is_ascii() && message_id.len() < 1_000) {
            Some(quoted) => self.search(&format!("UNDELETED HEADER Message-ID {quoted}")).await,
            None => Ok(Vec::new()),
        }
    }

    async fn search(&mut self, what: &str) -> Result<Vec<u32>, Failure> {
        let mut uids = Vec::new();
        self.has_news = false;
        self.exchange("searching", &format!("UID SEARCH {what}"), |response| {
            if let Response::MailboxData(MailboxDatum::Search(found)) = response {
                uids.extend(found);
            }
        })
        .await?;
        uids.sort_unstable();
        uids.dedup();
        Ok(uids)
    }

    /// Fetches messages of the open folder without marking them as read. Those that are gone are left out.
    pub(crate) async fn fetch(&mut self, uids: &[u32]) -> Result<Vec<Fetched>, Failure> {
        let mut fetched = Vec::new();
        if uids.is_empty() {
            return Ok(fetched);
        }
        let command =
            format!("UID FETCH {} (UID FLAGS INTERNALDATE BODY.PEEK[]<0.{MOST_OF_MESSAGE}>)", set(uids));
        self.exchange("reading messages", &command, |response| {
            let Response::Fetch(_, attributes) = response else { return };
            let mut message = Fetched { uid: 0, is_deleted: false, arrived: None, bytes: Vec::new() };
            let mut has_body = false;
            for attribute in attributes {
                match attribute {
                    AttributeValue::Uid(uid) => message.uid = *uid,
                    AttributeValue::Flags(flags) => message.is_deleted = has(flags, "\\Deleted"),
                    AttributeValue::InternalDate(date) => message.arrived = seconds(date),
                    // of a message that someone removes meanwhile, there is nothing
                    AttributeValue::BodySection { section: None, data: Some(data), .. }
                        if !data.is_empty() =>
                    {
                        has_body = true;
                        message.bytes = data.to_vec();
                        message.bytes.truncate(MOST_OF_MESSAGE);
                    }
                    _ => {}
                }
            }
            // the server also tells of flags that others change
            if has_body && uids.contains(&message.uid) {
                fetched.push(message);
            }
        })
        .await?;
        fetched.sort_unstable_by_key(|message| message.uid);
        fetched.dedup_by_key(|message| message.uid);
        Ok(fetched)
    }

    /// Whether a message of the open folder is there, not marked as deleted, and read; `None` if it is not there.
    pub(crate) async fn is_read(&mut self, uid: u32) -> Result<Option<bool>, Failure> {
        let mut is_read = None;
        self.exchange("looking at a message", &format!("UID FETCH {uid} (UID FLAGS)"), |response| {
            let Response::Fetch(_, attributes) = response else { return };
            if !attributes
                .iter()
                .any(|attribute| matches!(attribute, AttributeValue::Uid(got) if *got == uid))
            {
                return;
            }
            for attribute in attributes {
                if let AttributeValue::Flags(flags) = attribute {
                    is_read = (!has(flags, "\\Deleted")).then(|| has(flags, "\\Seen"));
                }
            }
        })
        .await?;
        Ok(is_read)
    }

    /// Moves a message of the open folder. Returns where it is: `Ok(None)` if it was not there any more,
    /// `Some(None)` if the server does not say.
    ///
    /// Without MOVE (RFC 6851) it is copied and marked as deleted; it is expunged only if the server can expunge this
    /// message alone (UIDPLUS, RFC 4315), so that no other message goes with it.
    pub(crate) async fn move_message(
        &mut self,
        uid: u32,
        to: &Mailbox,
    ) -> Result<Option<Option<(u32, u32)>>, Failure> {
        if !self.can.move_messages {
            let copied = self.copy_message(uid, to).await?;
            if copied.is_some() {
                self.delete_message(uid).await?;
            }
            return Ok(copied);
        }
        let what = format!("moving a message to {}", to.name);
        let place = self.exchange_for_place(&what, &format!("UID MOVE {uid} {}", quoted(to)?)).await?;
        Ok(if place.is_none() && self.can.uidplus { None } else { Some(place) })
    }

    /// As [`move_message`](Self::move_message), but the message stays as well.
    pub(crate) async fn copy_message(
        &mut self,
        uid: u32,
        to: &Mailbox,
    ) -> Result<Option<Option<(u32, u32)>>, Failure> {
        if self.is_read(uid).await?.is_none() {
            return Ok(None);
        }
        let what = format!("copying a message to {}", to.name);
        let place = self.exchange_for_place(&what, &format!("UID COPY {uid} {}", quoted(to)?)).await?;
        Ok(if place.is_none() && self.can.uidplus { None } else { Some(place) })
    }

    /// Removes a message of the open folder that is elsewhere too.
    pub(crate) async fn delete_message(&mut self, uid: u32) -> Result<(), Failure> {
        let mark = format!("UID STORE {uid} +FLAGS.SILENT (\\Deleted)");
        self.exchange("marking a moved message as deleted", &mark, |_| {}).await?;
        if self.can.uidplus {
            self.exchange("removing a moved message", &format!("UID EXPUNGE {uid}"), |_| {}).await?;
        }
        Ok(())
    }

    /// Adds a keyword to a message of the open folder.
    pub(crate) async fn flag(&mut self, uid: u32, keyword: &str) -> Result<(), Failure> {
        let command = format!("UID STORE {uid} +FLAGS.SILENT ({keyword})");
        self.exchange("flagging a message", &command, |_| {}).await.map(drop)
    }

    /// Waits until the server tells of a change in the open folder, at most for some time.
    pub(crate) async fn wait(&mut self, most: Duration) -> Result<(), Failure> {
        if self.has_news {
            return Ok(());
        }
        let (true, Some(session)) = (self.can.idle, self.session.take()) else {
            tokio::time::sleep(most).await;
            return Ok(());
        };
        // taken for good if this fails
        self.session = Some(guarded(idle(session, most)).await??);
        Ok(())
    }

    /// Says goodbye. The server may be gone already.
    pub(crate) async fn log_out(mut self) {
        let _ = timeout(Duration::from_secs(5), self.exchange("logging out", "LOGOUT", |_| {})).await;
    }

    async fn exchange_for_place(&mut self, what: &str, command: &str) -> Result<Option<(u32, u32)>, Failure> {
        let mut place = None;
        let mut take = |code: &Option<ResponseCode<'_>>| {
            if let Some(ResponseCode::CopyUid(validity, _, to)) = code
                && let Some(uid) = first(to)
            {
                place = Some((*validity, uid));
            }
        };
        // with MOVE in an untagged response, with COPY in the last one
        self.exchange(what, command, |response| {
            if let Response::Data { outcome, .. } | Response::Done { outcome, .. } = response {
                take(&outcome.code);
            }
        })
        .await?;
        Ok(place)
    }

    /// Sends a command and shows every response to `each`, also the last. Any failure but a refusal ends the connection.
    async fn exchange(
        &mut self,
        what: &str,
        command: &str,
        mut each: impl FnMut(&Response<'_>),
    ) -> Result<(), Failure> {
        let lost = |error: &dyn std::fmt::Display| Failure::Lost(format!("{what}: {error}"));
        let Some(mut session) = self.session.take() else {
            return Err(Failure::Lost("the connection is closed".to_owned()));
        };
        let sent = timeout(SILENCE, session.run_command(command)).await;
        let id = sent.map_err(|_| lost(&"the server does not read"))?.map_err(|error| lost(&error))?;
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
                        Said::Ok => Ok(()),
                        _ => Err(Failure::Refused { what: what.to_owned(), answer: answer() }),
                    };
                }
                Response::Data { status: Said::Bye, outcome } if command != "LOGOUT" => {
                    return Err(lost(&outcome.information.as_deref().unwrap_or("the server says goodbye")));
                }
                _ => {}
            }
        }
    }
}

/// Idles until there is news, at most for some time.
async fn idle(session: Session<Stream>, most: Duration) -> Result<Session<Stream>, Failure> {
    let lost = |error: async_imap::error::Error| Failure::Lost(error.to_string());
    let silent = |_| Failure::Lost("the server is silent".to_owned());
    // what the server says before it agrees to idle is news too
    let unsolicited = session.unsolicited_responses.clone();
    while unsolicited.try_recv().is_ok() {}
    let mut idle = session.idle();
    timeout(SILENCE, idle.init()).await.map_err(silent)?.map_err(lost)?;
    if unsolicited.is_empty() {
        let (news, _stop) = idle.wait_with_timeout(most);
        // the crate's own timeout starts anew with every sign of life
        match timeout(most, news).await {
            Ok(Ok(IdleResponse::ManualInterrupt)) => {
                return Err(Failure::Lost("the server closed the connection".to_owned()));
            }
            Ok(Err(error)) => return Err(lost(error)),
            Ok(Ok(_)) | Err(_) => {}
        }
    }
    timeout(SILENCE, idle.done()).await.map_err(silent)?.map_err(lost)
}

/// An error of reading, without the bytes that could not be parsed: they may be mail.
fn brief(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.contains("during parsing of") {
        true => "the server's answer is not IMAP".to_owned(),
        false => text,
    }
}

fn quoted(folder: &Mailbox) -> Result<String, Failure> {
    quote(&folder.raw).ok_or_else(|| Failure::Refused {
        what: "naming a folder".to_owned(),
        answer: "its name has control characters".to_owned(),
    })
}

fn require_uids(folder: &Mailbox, opened: Opened) -> Result<Opened, Failure> {
    match opened.validity == 0 || opened.next_uid == 0 {
        true => Err(Failure::Refused {
            what: format!("looking at {}", folder.name),
            answer: "it has no UIDVALIDITY or no UIDNEXT".to_owned(),
        }),
        false => Ok(opened),
    }
}

fn has(flags: &[std::borrow::Cow<'_, str>], wanted: &str) -> bool {
    flags.iter().any(|flag| flag.eq_ignore_ascii_case(wanted))
}

/// Whether a name is that of a folder in which there can be none (RFC 5258, section 3).
fn has_no_messages(attribute: &NameAttribute<'_>) -> bool {
    match attribute {
        NameAttribute::NoSelect => true,
        NameAttribute::Extension(name) => name.eq_ignore_ascii_case("\\NonExistent"),
        _ => false,
    }
}

fn role(attribute: &NameAttribute<'_>) -> Option<Role> {
    match attribute {
        NameAttribute::All => Some(Role::All),
        NameAttribute::Archive => Some(Role::Archive),
        NameAttribute::Drafts => Some(Role::Drafts),
        NameAttribute::Flagged => Some(Role::Flagged),
        NameAttribute::Junk => Some(Role::Junk),
        NameAttribute::Sent => Some(Role::Sent),
        NameAttribute::Trash => Some(Role::Trash),
        _ => None,
    }
}

fn first(uids: &[UidSetMember]) -> Option<u32> {
    uids.first().map(|member| match member {
        UidSetMember::Uid(uid) => *uid,
        UidSetMember::UidRange(range) => *range.start(),
    })
}

/// A set of UIDs, as `3:5,9`.
fn set(uids: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for uid in uids {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*uid) => *last = *uid,
            _ => ranges.push((*uid, *uid)),
        }
    }
    let range = |(first, last)| if first == last { format!("{first}") } else { format!("{first}:{last}") };
    ranges.into_iter().map(range).collect::<Vec<_>>().join(",")
}

/// The seconds since 1970 of `17-Jul-1996 02:44:25 -0700`.
fn seconds(date: &str) -> Option<i64> {
    DateTime::parse_from_str(date.trim(), "%d-%b-%Y %H:%M:%S %z").ok().map(|date| date.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_short() {
        assert_eq!(set(&[3, 4, 5, 9, 11, 12]), "3:5,9,11:12");
        assert_eq!(set(&[u32::MAX]), "4294967295");
    }

    #[test]
    fn dates_are_read() {
        assert_eq!(seconds("17-Jul-1996 02:44:25 -0700"), Some(837_596_665));
        assert_eq!(seconds(" 1-Jan-1970 00:00:10 +0000"), Some(10));
        assert_eq!(seconds("yesterday"), None);
    }
}
