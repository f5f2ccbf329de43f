//! The folders of a mailbox: names, roles and status.

use base64::Engine;
use base64::alphabet::IMAP_MUTF7;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use imap_proto::{MailboxDatum, NameAttribute, Response, ResponseCode, Status, StatusAttribute};

use crate::imap::session::{FolderStatus, ImapError, ImapSession};

/// Maximum number of folders; further folders are reported and ignored.
const MOST_FOLDERS: usize = 10_000;

/// A folder of the mailbox.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mailbox {
    /// Its name as text.
    pub(crate) name: String,
    /// Its name as it is sent.
    pub(super) raw: String,
    /// What separates it from the folder it is in.
    pub(crate) delimiter: Option<char>,
    /// What it is for.
    pub(crate) role: Option<Role>,
}

/// What a folder is for (RFC 6154): one of the [`ROLES`].
pub(crate) type Role = NameAttribute<'static>;

const ROLES: [Role; 7] =
    [Role::All, Role::Archive, Role::Drafts, Role::Flagged, Role::Junk, Role::Sent, Role::Trash];

#[cfg(test)]
impl Mailbox {
    /// Some folder, below others if there are slashes in its name.
    pub(crate) fn example(name: &str, role: Option<Role>) -> Self {
        Mailbox { name: name.to_owned(), raw: name.to_owned(), delimiter: Some('/'), role }
    }
}

/// Prefixes of folders' names, and whether such folders belong to others or to everyone (RFC 2342).
pub(crate) type Namespaces = Vec<(String, bool)>;

impl Mailbox {
    /// Whether it belongs to someone else, or to everyone.
    pub(crate) fn is_shared(&self, namespaces: &Namespaces) -> bool {
        let of_it = namespaces.iter().filter(|(prefix, _)| self.raw.starts_with(prefix));
        of_it.max_by_key(|(prefix, _)| prefix.len()).is_some_and(|(_, is_shared)| *is_shared)
    }

    /// Its name in quotes, as it is sent.
    pub(super) fn quoted(&self) -> Result<String, ImapError> {
        quote(&self.raw).ok_or_else(|| ImapError::Refused {
            what: "naming a folder".to_owned(),
            answer: "its name has control characters".to_owned(),
        })
    }
}

impl ImapSession {
    /// The folders that can hold messages, and the number of folders that were left out.
    pub(crate) async fn mailboxes(&mut self) -> Result<(Vec<Mailbox>, usize), ImapError> {
        let (mut found, mut left_out) = (Vec::new(), 0);
        let command =
            if self.can("SPECIAL-USE") { r#"LIST "" "*" RETURN (SPECIAL-USE)"# } else { r#"LIST "" "*""# };
        let mut take = |response: &Response<'_>| {
            let Response::MailboxData(MailboxDatum::List(folder)) = response else { return };
            if folder.name_attributes.iter().any(has_no_messages) {
                return;
            }
            let raw = unescape(&folder.name);
            if quote(&raw).is_none() || found.len() == MOST_FOLDERS {
                left_out += 1;
                return;
            }
            let name = if raw.eq_ignore_ascii_case("inbox") { "INBOX".to_owned() } else { decode(&raw) };
            let role = folder.name_attributes.iter().find_map(|it| ROLES.into_iter().find(|role| role == it));
            let delimiter = folder.delimiter.as_ref().and_then(|text| text.chars().last());
            found.push(Mailbox { name, raw, delimiter, role });
        };
        let listed = self.exchange("listing the folders", command, &mut take).await;
        if matches!(listed, Err(ImapError::Refused { .. })) && self.can("SPECIAL-USE") {
            // SPECIAL-USE alone does not promise that LIST accepts it (RFC 6154, section 2)
            self.exchange("listing the folders", r#"LIST "" "*""#, &mut take).await?;
        } else {
            listed?;
        }
        found.dedup_by(|a, b| a.raw == b.raw);
        Ok((found, left_out))
    }

    /// The server's namespaces; none if it does not tell.
    pub(crate) async fn namespaces(&mut self) -> Result<Namespaces, ImapError> {
        let mut namespaces = Vec::new();
        if !self.can("NAMESPACE") {
            return Ok(namespaces);
        }
        self.exchange("asking for the namespaces", "NAMESPACE", |response| {
            // see `Scan::look`
            if let Response::Data { status: Status::No, outcome } = response {
                namespaces.extend(parse_namespaces(outcome.information.as_deref().unwrap_or_default()));
            }
        })
        .await?;
        Ok(namespaces)
    }

    /// The status of a folder, without opening it.
    pub(crate) async fn status(&mut self, folder: &Mailbox) -> Result<FolderStatus, ImapError> {
        let mut status = FolderStatus::default();
        let modseq = if self.can("CONDSTORE") { " HIGHESTMODSEQ" } else { "" };
        let command = format!("STATUS {} (MESSAGES UIDNEXT UIDVALIDITY{modseq})", folder.quoted()?);
        self.exchange(&format!("looking at {}", folder.name), &command, |response| {
            let Response::MailboxData(MailboxDatum::Status { status: known, .. }) = response else { return };
            for attribute in known {
                match attribute {
                    StatusAttribute::Messages(n) => status.messages = *n,
                    StatusAttribute::UidNext(n) => status.next_uid = *n,
                    StatusAttribute::UidValidity(n) => status.validity = *n,
                    // 0 of a folder without counts
                    StatusAttribute::HighestModSeq(n) => status.modseq = Some(*n).filter(|n| *n > 0),
                    _ => {}
                }
            }
        })
        .await?;
        require_uids(folder, status)
    }

    /// Opens a folder, to change it or only to read it.
    pub(crate) async fn open(
        &mut self,
        folder: &Mailbox,
        to_change: bool,
    ) -> Result<FolderStatus, ImapError> {
        self.open = None;
        let mut opened = self.enter(folder, if to_change { "SELECT" } else { "EXAMINE" }).await?;
        if opened.next_uid == 0 && opened.validity != 0 {
            // Courier says it by STATUS alone, and numbers a folder anew until it is opened to change it; opened again, it
            // has all messages below
            let next_uid = self.status(folder).await?.next_uid;
            opened = FolderStatus { next_uid, ..self.enter(folder, "SELECT").await? };
        }
        let opened = require_uids(folder, opened)?;
        self.open = Some((folder.raw.clone(), to_change, opened));
        Ok(opened)
    }

    async fn enter(&mut self, folder: &Mailbox, verb: &str) -> Result<FolderStatus, ImapError> {
        let mut opened = FolderStatus::default();
        let command = format!("{verb} {}", folder.quoted()?);
        self.exchange(&format!("opening {}", folder.name), &command, |response| match response {
            Response::MailboxData(MailboxDatum::Exists(n)) => opened.messages = *n,
            Response::Data { outcome, .. } => match &outcome.code {
                Some(ResponseCode::UidValidity(n)) => opened.validity = *n,
                Some(ResponseCode::UidNext(n)) => opened.next_uid = *n,
                Some(ResponseCode::PermanentFlags(flags)) => opened.is_fixed = !flags.contains(&"\\*".into()),
                _ => {}
            },
            _ => {}
        })
        .await?;
        Ok(opened)
    }

    /// Opens a folder unless it is open already.
    pub(crate) async fn have_open(
        &mut self,
        folder: &Mailbox,
        to_change: bool,
    ) -> Result<FolderStatus, ImapError> {
        match &self.open {
            Some((raw, may_change, opened)) if *raw == folder.raw && (*may_change || !to_change) => {
                Ok(*opened)
            }
            _ => self.open(folder, to_change).await,
        }
    }
}

fn require_uids(folder: &Mailbox, opened: FolderStatus) -> Result<FolderStatus, ImapError> {
    if opened.validity != 0 && opened.next_uid != 0 {
        return Ok(opened);
    }
    let what = format!("looking at {}", folder.name);
    Err(ImapError::Refused { what, answer: "it has no UIDVALIDITY or no UIDNEXT".to_owned() })
}

/// Whether a folder cannot hold messages (RFC 5258, section 3).
fn has_no_messages(attribute: &NameAttribute<'_>) -> bool {
    match attribute {
        NameAttribute::NoSelect => true,
        NameAttribute::Extension(name) => name.eq_ignore_ascii_case("\\NonExistent"),
        _ => false,
    }
}

/// Decodes a folder's name. An invalid name is left as it is.
pub(crate) fn decode(raw: &str) -> String {
    try_decode(raw).unwrap_or_else(|| raw.to_owned())
}

fn try_decode(raw: &str) -> Option<String> {
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let engine = GeneralPurpose::new(&IMAP_MUTF7, config);
    let (mut out, mut rest) = (String::new(), raw);
    while let Some((plain, after)) = rest.split_once('&') {
        out.push_str(plain);
        let (encoded, after) = after.split_once('-')?;
        if encoded.is_empty() {
            out.push('&');
        } else {
            let bytes = engine.decode(encoded).ok()?;
            let units = bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
            for character in char::decode_utf16(units) {
                out.push(character.ok()?);
            }
        }
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

/// Parses three lists of namespaces: personal, other users', shared.
fn parse_namespaces(text: &str) -> Namespaces {
    let has_personal = !text.trim_start().to_ascii_uppercase().starts_with("NIL");
    let personal_ends = if has_personal { text.find("))").unwrap_or(text.len()) } else { 0 };
    let (personal, others) = text.split_at(personal_ends);
    [(personal, false), (others, true)]
        .into_iter()
        .flat_map(|(lists, is_shared)| {
            let prefixes = lists.split("(\"").skip(1).filter_map(|it| it.split_once('"'));
            prefixes.map(move |(prefix, _)| (prefix.to_owned(), is_shared))
        })
        .collect()
}

/// A name without the backslashes that the parser leaves before quotes and backslashes. A name that was sent as a literal
/// has a quote or backslash of its own, and stays.
fn unescape(name: &str) -> String {
    let (mut plain, mut signs) = (String::new(), name.chars());
    while let Some(sign) = signs.next() {
        plain.push(match sign {
            '\\' => match signs.next() {
                Some(escaped @ ('"' | '\\')) => escaped,
                _ => return name.to_owned(),
            },
            '"' => return name.to_owned(),
            sign => sign,
        });
    }
    plain
}

/// A folder's name as it is sent; `None` if it cannot be.
pub(crate) fn quote(raw: &str) -> Option<String> {
    let is_sendable = !raw.chars().any(char::is_control);
    is_sendable.then(|| format!("\"{}\"", raw.replace('\\', "\\\\").replace('"', "\\\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_decoded() {
        for (raw, name) in [
            ("INBOX", "INBOX"),
            ("Entw&APw-rfe", "Entwürfe"),
            ("&ZeVnLIqe-", "日本語"),
            ("Q&-A", "Q&A"),
            ("&2D3eAA-", "😀"),
            ("a & b", "a & b"),
            ("&!!-", "&!!-"),
            ("&2D0-", "&2D0-"),
        ] {
            assert_eq!(decode(raw), name, "{raw}");
        }
    }

    #[test]
    fn namespaces_of_servers_are_told_apart() {
        let shared = |text: &str, raw: &str| Mailbox::example(raw, None).is_shared(&parse_namespaces(text));
        let dovecot = r##"(("" "/")) (("Other Users/" "/")) (("Public/" "/") ("#news/" "/"))"##;
        let cyrus = r#"(("INBOX." ".")) (("user." ".")) (("" "."))"#;
        for (text, raw, is_shared) in [
            (dovecot, "Bills", false),
            (dovecot, "Other Users/bob/Bills", true),
            (dovecot, "Public/rust", true),
            (dovecot, "#news/rust", true),
            (cyrus, "INBOX.Bills", false),
            (cyrus, "user.bob", true),
            (cyrus, "team", true),
            (r#"(("" "/")) NIL NIL"#, "Public/rust", false),
            (r#"NIL NIL (("" "."))"#, "x", true),
        ] {
            assert_eq!(shared(text, raw), is_shared, "{raw} in {text}");
        }
    }

    #[test]
    fn names_are_sent_in_quotes_or_not_at_all() {
        assert_eq!(quote(r#"a "b" \c"#).unwrap(), r#""a \"b\" \\c""#);
        assert_eq!(unescape(r#"a \"b\" \\c"#), r#"a "b" \c"#);
        assert_eq!(unescape(r#"literal "a" \"#), r#"literal "a" \"#);
        for raw in ["a\r\nA1 DELETE INBOX", "a\0", "\u{1b}[2J"] {
            assert_eq!(quote(raw), None);
        }
    }
}
