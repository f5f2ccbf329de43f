//! The folders of a mailbox: names, roles and status.

use base64::Engine;
use base64::alphabet::IMAP_MUTF7;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use imap_proto::{MailboxDatum, NameAttribute, Response, ResponseCode, StatusAttribute};

use crate::imap::session::{FolderStatus, ImapError, ImapSession};

/// Maximum number of folders; further folders are reported and ignored.
const MOST_FOLDERS: usize = 10_000;

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

/// What a folder is for (RFC 6154): one of the [`ROLES`].
pub(crate) type Role = NameAttribute<'static>;

const ROLES: [Role; 7] =
    [Role::All, Role::Archive, Role::Drafts, Role::Flagged, Role::Junk, Role::Sent, Role::Trash];

impl Mailbox {
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
            if quote(&folder.name).is_none() || found.len() == MOST_FOLDERS {
                left_out += 1;
                return;
            }
            let raw = folder.name.to_string();
            let name = if raw.eq_ignore_ascii_case("inbox") { "INBOX".to_owned() } else { decode(&raw) };
            let role = folder.name_attributes.iter().find_map(|it| ROLES.into_iter().find(|role| role == it));
            found.push(Mailbox { name, raw, role });
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

    /// The status of a folder, without opening it.
    pub(crate) async fn status(&mut self, folder: &Mailbox) -> Result<FolderStatus, ImapError> {
        let mut status = FolderStatus::default();
        let command = format!("STATUS {} (MESSAGES UIDNEXT UIDVALIDITY)", folder.quoted()?);
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
    pub(crate) async fn open(
        &mut self,
        folder: &Mailbox,
        to_change: bool,
    ) -> Result<FolderStatus, ImapError> {
        self.open = None;
        let verb = if to_change { "SELECT" } else { "EXAMINE" };
        let mut opened = FolderStatus::default();
        let command = format!("{verb} {}", folder.quoted()?);
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
    fn names_are_sent_in_quotes_or_not_at_all() {
        assert_eq!(quote(r#"a "b" \c"#).unwrap(), r#""a \"b\" \\c""#);
        for raw in ["a\r\nA1 DELETE INBOX", "a\0", "\u{1b}[2J"] {
            assert_eq!(quote(raw), None);
        }
    }
}
