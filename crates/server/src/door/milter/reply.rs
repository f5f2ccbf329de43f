//! The replies to an MTA, and what is negotiated with it.

use crate::door::milter::packet::{Packet, ProtocolOptions};
use crate::settings::MilterSettings;

/// The newest version of the protocol, and the oldest that is understood.
const VERSIONS: std::ops::RangeInclusive<u32> = 2..=6;

/// May add header fields.
const ADD_HEADERS: u32 = 0x01;
/// May change and delete header fields.
const CHANGE_HEADERS: u32 = 0x10;
/// May hold messages in the queue.
const QUARANTINE: u32 = 0x20;

/// Steps that no verdict needs: HELO, unknown commands, DATA. The client's connection is not among them, because
/// miltertest gives up without it.
const LEFT_OUT: u32 = 0x02 | 0x100 | 0x200;
/// Steps that are not replied to, all there are (SMFIP_NR_*); each is named in [`ProtocolOptions::has_reply`].
const NO_REPLIES: u32 = 0xf_f080;
/// Values of header fields begin with what follows the colon.
const LEADING_SPACE: u32 = 0x10_0000;

impl ProtocolOptions {
    /// What to agree on with an MTA that offers these, as far as the settings need it; `None` if its version is too old.
    pub(crate) fn agreed(&self, settings: &MilterSettings) -> Option<ProtocolOptions> {
        // a verdict beside forged ones helps nobody: both or neither
        let headers = ADD_HEADERS | CHANGE_HEADERS;
        let can_headers = settings.headers && self.actions & headers == headers;
        // rules and settings may ask for it later
        let quarantine = self.actions & QUARANTINE;
        (self.version >= *VERSIONS.start()).then(|| ProtocolOptions {
            version: self.version.min(*VERSIONS.end()),
            actions: if can_headers { headers | quarantine } else { quarantine },
            protocol: self.protocol & (LEFT_OUT | NO_REPLIES | LEADING_SPACE),
        })
    }

    /// Whether header fields may be added and deleted.
    pub(crate) fn has_headers(&self) -> bool {
        self.actions & CHANGE_HEADERS != 0
    }

    /// Whether messages may be held.
    pub(crate) fn has_quarantine(&self) -> bool {
        self.actions & QUARANTINE != 0
    }

    /// Whether values of header fields begin with what follows the colon.
    pub(crate) fn has_leading_space(&self) -> bool {
        self.protocol & LEADING_SPACE != 0
    }

    /// Whether the MTA waits for a reply to a packet, beside those that negotiate or ask for the verdict.
    pub(crate) fn has_reply(&self, to: &Packet<'_>) -> bool {
        let no_reply = match to {
            Packet::Connect(_) => 0x1000,
            Packet::Helo => 0x2000,
            Packet::Mail => 0x4000,
            Packet::Recipient(_) => 0x8000,
            Packet::Data => 0x1_0000,
            Packet::Unknown => 0x2_0000,
            Packet::Header { .. } => 0x80,
            Packet::EndOfHeader => 0x4_0000,
            Packet::Body(_) => 0x8_0000,
            _ => return false,
        };
        self.protocol & no_reply == 0
    }
}

/// Replies, ready to be sent.
#[derive(Default)]
pub(crate) struct Replies(pub(crate) Vec<u8>);

impl Replies {
    fn push(&mut self, command: u8, data: &[&[u8]]) {
        let length = 1 + data.iter().map(|part| part.len()).sum::<usize>();
        // none comes near the largest number
        self.0.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
        self.0.push(command);
        data.iter().for_each(|part| self.0.extend_from_slice(part));
    }

    /// What was agreed on.
    pub(crate) fn negotiate(&mut self, options: &ProtocolOptions) {
        let ProtocolOptions { version, actions, protocol } = *options;
        let [version, actions, protocol] = [version, actions, protocol].map(u32::to_be_bytes);
        self.push(b'O', &[&version, &actions, &protocol]);
    }

    /// Goes on; as a verdict, delivers the message with the changes before this.
    pub(crate) fn go_on(&mut self) {
        self.push(b'c', &[]);
    }

    /// Deletes a header field: number `index`, from 1, of those with this name.
    pub(crate) fn delete(&mut self, index: u32, name: &[u8]) {
        self.push(b'm', &[&index.to_be_bytes(), name, b"\0\0"]);
    }

    /// Adds a header field after the others.
    pub(crate) fn add(&mut self, name: &str, value: &str, options: &ProtocolOptions) {
        let space = if options.has_leading_space() && !value.is_empty() { " " } else { "" };
        self.push(b'h', &[name.as_bytes(), b"\0", space.as_bytes(), value.as_bytes(), b"\0"]);
    }

    /// Holds the message in the queue; [`go_on`](Self::go_on) follows.
    pub(crate) fn quarantine(&mut self, reason: &str) {
        self.push(b'q', &[reason.as_bytes(), b"\0"]);
    }

    /// Rejects the message. The text begins with an enhanced code such as 5.7.1.
    pub(crate) fn reject(&mut self, text: &str) {
        // MTAs take the text for a format
        self.push(b'y', &[b"550 ", text.replace('%', "%%").as_bytes(), b"\0"]);
    }

    /// Asks the sender to try again later.
    pub(crate) fn tempfail(&mut self) {
        self.push(b't', &[]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_agreed_on_that_the_mta_does_not_offer() {
        let offer = |version, actions, protocol| ProtocolOptions { version, actions, protocol };
        let all = &MilterSettings::default();
        let none = &MilterSettings { headers: false, ..MilterSettings::default() };
        let postfix = offer(6, 0x1ff, 0x1f_ffff);
        let agreed = postfix.agreed(all).unwrap();
        assert_eq!(agreed, offer(6, 0x31, 0x1f_f382));
        assert!(!agreed.has_reply(&Packet::Body(b"")) && agreed.has_leading_space());
        assert_eq!(postfix.agreed(none).unwrap().actions, 0x20);
        assert_eq!(offer(2, 0x1f, 0x7f).agreed(all).unwrap(), offer(2, 0x11, 0x02));
        assert_eq!(offer(9, 0, 0).agreed(all).unwrap(), offer(6, 0, 0));
        assert_eq!(offer(6, 0x01, 0).agreed(all).unwrap().actions, 0);
        assert_eq!(offer(1, 0x1f, 0x7f).agreed(all), None);
    }

    #[test]
    fn without_the_bits_every_command_has_a_reply() {
        let old = ProtocolOptions { version: 2, actions: 0x11, protocol: 0x02 };
        for packet in [Packet::Mail, Packet::Recipient(b""), Packet::EndOfHeader, Packet::Body(b"")] {
            assert!(old.has_reply(&packet));
        }
        for packet in [Packet::Abort, Packet::Quit, Packet::QuitNewConnection, Packet::EndOfBody(b"")] {
            assert!(!old.has_reply(&packet));
        }
    }

    #[test]
    fn replies_are_those_that_postfix_took() {
        let mut replies = Replies::default();
        let options = ProtocolOptions { version: 6, actions: 0x31, protocol: LEADING_SPACE };
        replies.negotiate(&ProtocolOptions { version: 6, actions: 0x31, protocol: 0x1d_d382 });
        replies.delete(1, b"X-Spam-Flag");
        replies.add("X-Spam-Status", "No, score=-3.1", &options);
        replies.add("X-Spam-Level", "", &options);
        replies.add("X-Tamis", "ham", &ProtocolOptions::default());
        replies.quarantine("reason");
        replies.go_on();
        replies.reject("5.7.1 100% spam");
        replies.tempfail();
        let expected = b"\0\0\0\x0dO\0\0\0\x06\0\0\0\x31\0\x1d\xd3\x82\
            \0\0\0\x12m\0\0\0\x01X-Spam-Flag\0\0\
            \0\0\0\x1fhX-Spam-Status\0 No, score=-3.1\0\
            \0\0\0\x0fhX-Spam-Level\0\0\
            \0\0\0\x0dhX-Tamis\0ham\0\
            \0\0\0\x08qreason\0\
            \0\0\0\x01c\
            \0\0\0\x16y550 5.7.1 100%% spam\0\
            \0\0\0\x01t";
        assert_eq!(replies.0.escape_ascii().to_string(), expected.escape_ascii().to_string());
    }
}
