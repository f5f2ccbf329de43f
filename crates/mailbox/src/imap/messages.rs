//! The messages of a folder: searched, fetched, moved, copied and flagged.

use std::borrow::Cow;

use chrono::DateTime;
use imap_proto::rfc4315::UidSetMember;
use imap_proto::{AttributeValue, MailboxDatum, Response, ResponseCode};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use xxhash_rust::xxh3::xxh3_64;

use crate::imap::folders::{Mailbox, quote};
use crate::imap::session::{ImapError, ImapSession, SILENCE, guarded, in_words};

/// How much of a message is read, in bytes.
pub(crate) const MOST_OF_MESSAGE: usize = 256 << 10;

/// How what Courier sends in place of a message begins, if its file is gone.
const UNAVAILABLE: &[u8] =
    b"From: System Administrator <root@localhost>\r\nSubject: message unavailable\r\n\r\nThis message is no longer available";

/// How the keywords of sorted messages begin.
const KEYWORD: &str = "tamis-";

/// The keyword of messages that were sorted by a label: an atom of IMAP of at most 50 bytes, which Dovecot allows. Labels that
/// would have the same one get a number.
pub(crate) fn keyword(label: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let plain: String = label.chars().map(plain).take(30).collect();
    let is_readable = plain == label.replace(' ', "_") && !label.contains('_');
    let number = if is_readable { String::new() } else { format!("-{:x}", xxh3_64(label.as_bytes())) };
    format!("{KEYWORD}{plain}{:.12}", number)
}

/// The keyword by which programs mark junk (RFC 9051), agents too. Thunderbird's has no dollar sign.
pub(crate) const JUNK: &str = "$Junk";

/// The keywords of what is no junk: that of the same standard, Thunderbird's, and one of old programs.
const NOT_JUNK: [&str; 3] = ["$NotJunk", "NonJunk", "NotJunk"];

/// How the owner's other programs have marked a message.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, Debug)]
pub(crate) struct Marks {
    pub(crate) junk: bool,
    pub(crate) not_junk: bool,
}

impl Marks {
    /// The marks among flags. `$Junk` beside `own`, the keyword of what is sorted as junk, is an agent's; without that, none counts.
    fn of(flags: &[Cow<'_, str>], own: Option<&str>) -> Self {
        let Some(own) = own else { return Marks::default() };
        let junk = has(flags, &JUNK[1..]) || has(flags, JUNK) && !has(flags, own);
        Marks { junk, not_junk: NOT_JUNK.iter().any(|keyword| has(flags, keyword)) }
    }

    /// Whether they say junk, or no junk, after those `before`. Of two the later counts; if it is not known, no junk.
    pub(crate) fn say_junk(self, before: Marks) -> Option<bool> {
        let is_later = before == Marks { junk: false, not_junk: true };
        (self.junk || self.not_junk).then_some(self.junk && (is_later || !self.not_junk))
    }
}

/// A message, or its first 256 KiB.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct FetchedMessage {
    pub(crate) uid: u32,
    pub(crate) is_deleted: bool,
    pub(crate) is_read: bool,
    /// The keyword that an agent, this one or another, gave it before it moved it.
    pub(crate) keyword: Option<String>,
    pub(crate) marks: Marks,
    /// When it was changed last, by the server's count (RFC 7162).
    pub(crate) modseq: Option<u64>,
    /// When it arrived, in seconds since 1970.
    pub(crate) arrived: Option<i64>,
    pub(crate) bytes: Vec<u8>,
}

/// A message in a folder.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub(crate) struct Location {
    pub(crate) folder: String,
    pub(crate) validity: u32,
    pub(crate) uid: u32,
}

/// What became of a message that was to be moved or copied: `None` if it was not there any more, otherwise where it is now, as
/// far as the server says.
pub(crate) type Transfer = Option<Option<Location>>;

impl ImapSession {
    /// The UIDs of the open folder's messages from `first` on that are not marked as deleted, in ascending order.
    pub(crate) async fn uids_from(&mut self, first: u32) -> Result<Vec<u32>, ImapError> {
        let mut uids = self.search(&format!("UNDELETED UID {first}:*")).await?;
        // a range that begins after the last message contains the last message
        uids.retain(|uid| *uid >= first);
        Ok(uids)
    }

    /// The UIDs of the open folder's messages with a Message-ID, in ascending order.
    pub(crate) async fn uids_of(&mut self, message_id: &str) -> Result<Vec<u32>, ImapError> {
        match quote(message_id).filter(|it| it.is_ascii() && (1..1_000).contains(&message_id.len())) {
            Some(quoted) => self.search(&format!("UNDELETED HEADER Message-ID {quoted}")).await,
            None => Ok(Vec::new()),
        }
    }

    /// Those of some messages of the open folder that are not marked as deleted and, if asked for, read or answered.
    pub(crate) async fn still_there(&mut self, uids: &[u32], are_read: bool) -> Result<Vec<u32>, ImapError> {
        let mut found = Vec::new();
        // servers limit the length of commands
        for part in uids.chunks(200) {
            let read = if are_read { " OR SEEN ANSWERED" } else { "" };
            found.extend(self.search(&format!("UNDELETED UID {}{read}", set(part))).await?);
        }
        found.retain(|uid| uids.contains(uid));
        Ok(found)
    }

    async fn search(&mut self, what: &str) -> Result<Vec<u32>, ImapError> {
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
    pub(crate) async fn fetch(&mut self, uids: &[u32]) -> Result<Vec<FetchedMessage>, ImapError> {
        self.fetch_first(uids, MOST_OF_MESSAGE).await
    }

    /// As [`fetch`](Self::fetch), with this many bytes of each message.
    pub(crate) async fn fetch_first(
        &mut self,
        uids: &[u32],
        most: usize,
    ) -> Result<Vec<FetchedMessage>, ImapError> {
        if uids.is_empty() {
            return Ok(Vec::new());
        }
        let modseq = if self.can("CONDSTORE") { "MODSEQ " } else { "" };
        let what = format!("{} (UID FLAGS {modseq}INTERNALDATE BODY.PEEK[]<0.{most}>)", set(uids));
        let mut fetched = self.fetch_items(&what, most).await?;
        // a message that someone removes meanwhile has no body; the server also reports flags that others change
        fetched.retain(|message| !message.bytes.is_empty() && uids.contains(&message.uid));
        fetched.sort_unstable_by_key(|message| message.uid);
        fetched.dedup_by_key(|message| message.uid);
        Ok(fetched)
    }

    /// The flags of all messages of the open folder, or of those that have changed since a count of the server (RFC 7162).
    pub(crate) async fn flags(&mut self, since: Option<u64>) -> Result<Vec<FetchedMessage>, ImapError> {
        let since = since.map_or_else(String::new, |n| format!(" (CHANGEDSINCE {n})"));
        self.fetch_items(&format!("1:* (UID FLAGS){since}"), 0).await
    }

    async fn fetch_items(&mut self, what: &str, most: usize) -> Result<Vec<FetchedMessage>, ImapError> {
        let (mut fetched, own) = (Vec::new(), self.junk_keyword.clone());
        self.exchange("reading messages", &format!("UID FETCH {what}"), |response| {
            let Response::Fetch(_, attributes) = response else { return };
            let mut message = FetchedMessage::default();
            for attribute in attributes {
                match attribute {
                    AttributeValue::Uid(uid) => message.uid = *uid,
                    AttributeValue::Flags(flags) => {
                        message.is_deleted = has(flags, "\\Deleted");
                        message.is_read = has(flags, "\\Seen");
                        message.marks = Marks::of(flags, own.as_deref());
                        let is_keyword = |flag: &&Cow<'_, str>| flag.starts_with(KEYWORD);
                        message.keyword = flags.iter().find(is_keyword).map(|flag| flag.clone().into_owned());
                    }
                    AttributeValue::ModSeq(n) => message.modseq = Some(*n),
                    AttributeValue::InternalDate(date) => message.arrived = seconds(date),
                    AttributeValue::BodySection { section: None, data: Some(data), .. }
                        if !data.starts_with(UNAVAILABLE) =>
                    {
                        message.bytes = data[..data.len().min(most)].to_vec();
                    }
                    _ => {}
                }
            }
            fetched.push(message);
        })
        .await?;
        Ok(fetched)
    }

    /// Moves a message of the open folder.
    ///
    /// Without MOVE (RFC 6851) it is copied and marked as deleted; it is expunged only if the server can expunge this
    /// message alone (UIDPLUS, RFC 4315), so that no other message goes with it.
    pub(crate) async fn move_message(&mut self, uid: u32, to: &Mailbox) -> Result<Transfer, ImapError> {
        if self.can("MOVE") {
            return self.transfer("moving", "MOVE", uid, to).await;
        }
        let copied = self.copy_message(uid, to).await?;
        if copied.is_some() {
            self.delete_message(uid).await?;
        }
        Ok(copied)
    }

    /// Copies a message of the open folder.
    pub(crate) async fn copy_message(&mut self, uid: u32, to: &Mailbox) -> Result<Transfer, ImapError> {
        match self.still_there(&[uid], false).await?.is_empty() {
            false => self.transfer("copying", "COPY", uid, to).await,
            true => Ok(None),
        }
    }

    /// Removes a message of the open folder that is elsewhere too.
    pub(crate) async fn delete_message(&mut self, uid: u32) -> Result<(), ImapError> {
        let mark = format!("UID STORE {uid} +FLAGS.SILENT (\\Deleted)");
        self.exchange("marking a moved message as deleted", &mark, |_| {}).await?;
        if self.can("UIDPLUS") {
            self.exchange("removing a moved message", &format!("UID EXPUNGE {uid}"), |_| {}).await?;
        }
        Ok(())
    }

    /// Adds keywords to a message of the open folder, or takes them away, as `+FLAGS.SILENT (x)` says. Returns whether it did: not
    /// if someone has changed the message since `modseq`.
    pub(crate) async fn flag(
        &mut self,
        uid: u32,
        change: &str,
        modseq: Option<u64>,
    ) -> Result<bool, ImapError> {
        let unless = modseq.map_or_else(String::new, |n| format!("(UNCHANGEDSINCE {n}) "));
        let (command, mut is_done) = (format!("UID STORE {uid} {unless}{change}"), true);
        self.exchange("flagging a message", &command, |response| {
            if let Response::Done { outcome, .. } = response {
                is_done = !outcome.information.as_deref().unwrap_or_default().starts_with("[MODIFIED");
            }
        })
        .await?;
        Ok(is_done)
    }

    /// Puts a message into a folder, unread.
    pub(crate) async fn append(&mut self, to: &Mailbox, message: &[u8]) -> Result<(), ImapError> {
        let lost =
            |error: &dyn std::fmt::Display| ImapError::Lost(format!("a message to {}: {error}", to.name));
        let mut session = self.take()?;
        let appended = timeout(SILENCE, guarded(session.append(&to.raw, None, None, message))).await;
        appended.map_err(|_| lost(&"the server is silent"))??.map_err(|error| lost(&in_words(error)))?;
        self.session = Some(session);
        Ok(())
    }

    async fn transfer(
        &mut self,
        what: &str,
        verb: &str,
        uid: u32,
        to: &Mailbox,
    ) -> Result<Transfer, ImapError> {
        let mut transfer = if self.can("UIDPLUS") { None } else { Some(None) };
        let what = format!("{what} a message to {}", to.name);
        // with MOVE in an untagged response, with COPY in the last one
        self.exchange(&what, &format!("UID {verb} {uid} {}", to.quoted()?), |response| {
            if let Response::Data { outcome, .. } | Response::Done { outcome, .. } = response
                && let Some(ResponseCode::CopyUid(validity, _, uids)) = &outcome.code
                && let Some(uid) = first(uids)
            {
                transfer = Some(Some(Location { folder: to.name.clone(), validity: *validity, uid }));
            }
        })
        .await?;
        Ok(transfer)
    }
}

fn has(flags: &[Cow<'_, str>], wanted: &str) -> bool {
    flags.iter().any(|flag| flag.eq_ignore_ascii_case(wanted))
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
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn sets_are_short() {
        assert_eq!(set(&[3, 4, 5, 9, 11, 12]), "3:5,9,11:12");
        assert_eq!(set(&[u32::MAX]), "4294967295");
    }

    #[test]
    fn labels_have_keywords_of_their_own() {
        assert_eq!(keyword("Rust lists"), "tamis-Rust_lists");
        let labels = ["日本", "中国", "R&D", "R D", "R_D", "a/b", &"x".repeat(50), &"x".repeat(51)];
        let keywords: BTreeSet<String> = labels.into_iter().map(keyword).collect();
        assert_eq!(keywords.len(), labels.len());
        assert!(keywords.iter().all(|it| it.is_ascii() && it.len() <= 50 && !it.contains([' ', '(', '/'])));
    }

    #[test]
    fn programs_mark_in_their_own_ways_and_agents_are_no_owners() {
        let (junk, not_junk) = (Marks { junk: true, not_junk: false }, Marks { junk: false, not_junk: true });
        let both = Marks { junk: true, not_junk: true };
        for (flags, expected) in [
            ("\\Seen $Forwarded JunkRecorded tamis-spam", Marks::default()),
            ("$Junk", junk),
            ("$JUNK tamis-rust", junk),
            ("\\Flagged junk", junk),
            ("$notjunk", not_junk),
            ("NonJunk JunkRecorded", not_junk),
            ("NotJunk Junk", both),
            ("$Junk tamis-spam", Marks::default()),
            ("$Junk tamis-spam NonJunk", not_junk),
            ("$Junk Junk tamis-spam", junk),
        ] {
            let all: Vec<Cow<'_, str>> = flags.split(' ').map(Cow::Borrowed).collect();
            assert_eq!(Marks::of(&all, Some("tamis-spam")), expected, "{flags}");
            assert_eq!(Marks::of(&all, None), Marks::default(), "not heard");
        }
        // of two, the one that was not there before
        let say = |marks: Marks, before| marks.say_junk(before);
        assert_eq!((say(both, junk), say(both, not_junk)), (Some(false), Some(true)));
        assert_eq!((say(both, Marks::default()), say(Marks::default(), junk)), (Some(false), None));
    }

    #[test]
    fn dates_are_read() {
        assert_eq!(seconds("17-Jul-1996 02:44:25 -0700"), Some(837_596_665));
        assert_eq!(seconds(" 1-Jan-1970 00:00:10 +0000"), Some(10));
        assert_eq!(seconds("yesterday"), None);
    }
}
