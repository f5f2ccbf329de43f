//! What the header of a message says about where it belongs: its thread, its list, and what rules look for.

use tamis_mail::{Limits, Message};

use crate::imap::messages::Location;
use crate::ledger::entry::{Cause, Event, Id, MessageSummary};
use crate::settings::SortRule;

/// Maximum bytes of a message that are read for its header.
const MOST_HEADER: usize = 64 << 10;

/// Maximum characters of a sender or a subject that are kept.
const MOST_CHARACTERS: usize = 200;

/// Before the subjects of answers, in lower case.
const REPLIES: [&str; 9] = ["re:", "aw:", "sv:", "vs:", "antw:", "odp:", "ynt:", "回复:", "答复:"];
const FORWARDS: [&str; 6] = ["fwd:", "fw:", "wg:", "tr:", "rv:", "enc:"];

/// The header of a message, as far as it matters here.
#[derive(Default, Debug)]
pub(crate) struct Header {
    pub(crate) summary: MessageSummary,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) list: String,
    pub(crate) subject: String,
    pub(crate) is_newsletter: bool,
    /// What other messages may refer to.
    pub(crate) links: Vec<Id>,
    /// What it refers to, the closest first.
    pub(crate) refers_to: Vec<(Cause, Id)>,
}

impl Header {
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let message = Message::parse(&bytes[..bytes.len().min(MOST_HEADER)], &Limits::default());
        let whole = |name: &str| message.header(name).unwrap_or_default().trim().to_owned();
        let field = |name: &str| whole(name).to_lowercase();
        let short = |text: &str| text.chars().take(MOST_CHARACTERS).collect();
        let link = |kind: &str, text: &str| Id::hash(format!("{kind} {text}").as_bytes());
        let ids = |text: &str| -> Vec<Id> {
            let ids = text.split('<').skip(1).filter_map(|it| it.split_once('>'));
            ids.map(|(id, _)| link("message", id)).collect()
        };
        let (subject, is_reply) = base_subject(message.subject());
        let list = field("list-id");
        // one word may be any subject
        let by_subject = subject.contains(' ').then(|| link("subject", &subject));
        let by_list = (!list.is_empty()).then(|| link("list", list.rsplit('<').next().unwrap_or_default()));
        let references = ids(&format!("{} {}", field("references"), field("in-reply-to")));
        let threads = references.into_iter().rev().chain(by_subject.filter(|_| is_reply));
        let threads = threads.map(|id| (Cause::Thread, id));
        let from = field("from");
        let sender = addresses(&from).pop();
        let own_id = ids(&field("message-id")).into_iter().take(1);
        Header {
            refers_to: threads.chain(by_list.map(|id| (Cause::List, id))).collect(),
            links: own_id.chain(by_subject).chain(by_list).chain(sender).collect(),
            summary: MessageSummary {
                // whole, since it is searched for
                message_id: whole("message-id"),
                sender: short(&whole("from")),
                subject: short(message.subject()),
            },
            from,
            to: format!("{} {}", field("to"), field("cc")),
            is_newsletter: message.header("list-unsubscribe").is_some()
                && message.header("list-post").is_none(),
            list,
            subject: message.subject().to_lowercase(),
        }
    }

    /// What the journal says once the message was learned under a label, or forgotten.
    pub(crate) fn taught(&self, label: Option<&str>, place: &Location) -> Event {
        let (label, place) = (label.map(str::to_owned), Some(place.clone()));
        Event::Taught { label, place, links: self.links.clone() }
    }

    /// Whether a rule applies.
    pub(crate) fn matches(&self, rule: &SortRule) -> bool {
        let has = |wanted: &Option<String>, got: &str| {
            wanted.as_ref().is_none_or(|wanted| got.contains(&wanted.to_lowercase()))
        };
        let is_sent_so =
            has(&rule.from, &self.from) && has(&rule.to, &self.to) && has(&rule.list, &self.list);
        is_sent_so && has(&rule.subject, &self.subject) && (!rule.newsletter || self.is_newsletter)
    }
}

/// The addresses in a field. In `From`, the last is where a message comes from; one in the name before it is anybody's.
pub(crate) fn addresses(field: &str) -> Vec<Id> {
    let words = field.split(|c: char| c.is_whitespace() || ",;:<>()\"'".contains(c));
    words.filter(|word| word.contains('@')).map(address).collect()
}

/// An address as it is kept.
pub(crate) fn address(text: &str) -> Id {
    Id::hash(text.to_lowercase().as_bytes())
}

/// A subject in lower case without what answers and lists put before it, and whether it is an answer's.
fn base_subject(subject: &str) -> (String, bool) {
    let lower = subject.to_lowercase();
    let (mut rest, mut is_reply) = (lower.trim(), false);
    loop {
        let cut = |all: &[&str]| all.iter().find_map(|prefix| rest.strip_prefix(*prefix));
        let (reply, tag) = (cut(&REPLIES), rest.strip_prefix('[').and_then(|it| it.split_once(']')));
        let Some(after) = reply.or_else(|| cut(&FORWARDS)).or(tag.map(|(_, after)| after)) else {
            return (rest.split_whitespace().collect::<Vec<_>>().join(" "), is_reply);
        };
        is_reply |= reply.is_some();
        rest = after.trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_refer_to_what_they_answer() {
        let first = Header::parse(b"Message-ID: <a@x>\r\nSubject: [rust] The borrow  checker\r\nList-Id: Rust <rust.example>\r\n\r\n");
        for (answer, causes) in [
            ("Subject: x\nReferences: <b@y>\n <a@x>", &[Cause::Thread][..]),
            ("Subject: x\nIn-Reply-To: A letter <A@x> of monday", &[Cause::Thread]),
            ("Subject: Re: [rust] AW: the borrow checker", &[Cause::Thread]),
            ("Subject: y\nList-Id: <rust.example>", &[Cause::List]),
            ("Subject: the borrow checker", &[]),
            ("Subject: Re: checker", &[]),
        ] {
            let header = Header::parse(format!("{answer}\n\nx").as_bytes());
            let found: Vec<_> = header
                .refers_to
                .iter()
                .filter(|(_, id)| first.links.contains(id))
                .map(|(cause, _)| *cause)
                .collect();
            assert_eq!(found, causes, "{answer}");
        }
    }

    #[test]
    fn rules_apply_if_all_their_patterns_do() {
        let header = Header::parse(b"From: Shop <no-reply@SHOP.example>\r\nTo: anna+shop@example.org\r\nSubject: =?utf-8?q?Ihre_R=C3=A4chnung?=\r\n\r\n");
        let text = |text: &str| Some(text.to_owned());
        let rule =
            SortRule { from: text("@shop.example"), subject: text("RÄCHNUNG"), ..SortRule::default() };
        assert!(header.matches(&rule));
        assert!(header.matches(&SortRule { to: text("anna+shop@"), ..SortRule::default() }));
        assert!(!header.matches(&SortRule { list: text("shop"), ..rule }));
        // the body has no say
        let header = Header::parse(
            b"From: =?utf-8?q?Caf=C3=A9?= <no-reply@SHOP.example>\r\nTo: Anna+shop@x\r\n\r\nTo: b@x",
        );
        assert_eq!(header.summary.sender, "Café <no-reply@SHOP.example>");
        assert_eq!(addresses(&header.from).pop(), Some(address("no-reply@shop.example")));
        assert_eq!(addresses(&header.to), [address("anna+shop@x")]);
    }
}
