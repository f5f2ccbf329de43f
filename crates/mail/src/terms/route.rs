//! Terms of senders, recipients and the route: fields with addresses, Received fields and Message-ID.
use super::emitter::Emitter;
use super::hosts::Map;
use super::scan::{addresses, cut, networks, normalized, suffixes, words};
use crate::message::Message;

/// The fields that hold addresses.
const FIELDS: [&str; 6] = ["from", "reply-to", "to", "cc", "sender", "return-path"];
/// Maximum number of addresses read per field, and per message.
const MOST_ADDRESSES: usize = 5;
const MOST_IN_ALL: usize = 100;
/// Maximum number of words read per field.
const MOST_WORDS: usize = 500;
/// Longer words are replaced by their length, in characters.
const LONGEST_WORD: usize = 24;
/// More recipients than this make no difference.
const MANY: usize = 8;
/// Number of Received fields read, from the top: each server puts its own above the others, so the recipient's are the
/// topmost, and any sender can write those below.
pub(super) const MOST_HOPS: usize = 2;
/// Maximum number of hosts and addresses in each.
const MOST_HOSTS: usize = 8;
const MOST_IPS: usize = 4;

pub(super) fn route(message: &Message, out: &mut Emitter<'_>) {
    let hops = || message.values("received").take(MOST_HOPS);
    out.number("rcvd:n:", hops().count());
    let mut map = Map::default();
    hops().for_each(|value| received(value, &mut map, out));
    message_id(message.header("message-id").unwrap_or("<none>"), out);
}

/// Emits terms of a Received field: hosts, networks, protocol, and the shape of the greeting.
fn received(value: &str, map: &mut Map, out: &mut Emitter<'_>) {
    map.read(value);
    map.hosts(value, MOST_HOSTS, |host| {
        suffixes(host, 2, 4, |suffix| out.lower(&["rcvd:", suffix]));
    });
    map.ips(value, MOST_IPS, |ip| {
        networks(ip).for_each(|network| out.term(&["rcvdip:", network]));
    });
    if let Some(protocol) = word_behind(map.with(value), char::is_whitespace, value) {
        out.term(&["rcvdwith:", cut(protocol, 20)]);
    }
    if let Some(greeting) = word_behind(map.helo(value), |c| matches!(c, ' ' | '='), value) {
        out.shape("helo:", greeting);
    }
}

/// The word after the first of these four-letter keywords that is followed by a `gap` character.
fn word_behind(mut keywords: impl Iterator<Item = usize>, gap: fn(char) -> bool, text: &str) -> Option<&str> {
    keywords.find_map(|at| text[at + 4..].strip_prefix(gap)?.split_whitespace().next())
}

/// Emits terms of a Message-ID: the shapes of both halves, the host, and whether it is well-formed.
fn message_id(value: &str, out: &mut Emitter<'_>) {
    let id = value.trim_matches(['<', '>']);
    let (left, host) = id.split_once('@').unwrap_or((id, ""));
    out.shape("mid:s:", left);
    out.lower(&["mid:d:", cut(host, 40)]);
    out.shape("mid:ds:", host);
    let is_well_formed = value.starts_with('<') && value.ends_with('>') && !host.is_empty();
    out.term(&[if is_well_formed { "mid:ok" } else { "mid:bad" }]);
}

/// Emits the words, addresses and domains of senders and recipients, and the number of recipients.
pub(super) fn people(message: &Message, out: &mut Emitter<'_>) {
    let (mut left, mut recipients, mut buffer) = (MOST_IN_ALL, 0, String::new());
    for name in FIELDS {
        for value in message.values(name) {
            let value = normalized(value, &mut buffer);
            words(value, MOST_WORDS, |text| word(name, text, out));
            for (address, domain) in addresses(value).take(MOST_ADDRESSES.min(left)) {
                left -= 1;
                out.lower(&[name, ":a:", address]);
                suffixes(domain, 1, 4, |suffix| out.lower(&[name, ":d:", suffix]));
            }
            if matches!(name, "to" | "cc") {
                recipients += memchr::memchr_iter(b'@', value.as_bytes()).count();
            }
        }
    }
    out.number("to:n:", recipients.min(MANY));
}

/// Emits a word as written, or its length if it is long.
fn word(name: &str, word: &str, out: &mut Emitter<'_>) {
    if cut(word, LONGEST_WORD).len() == word.len() {
        return out.term(&[name, ":", word]);
    }
    let length = word.chars().count();
    out.term(&[name, ":~long", &(length / 10).min(20).to_string()]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::emitter::testing::{message, terms};
    use tamis_testing::check_linear;

    #[test]
    fn received_fields() {
        let value = "from Mail.Example.org (HELO PC-12) ([10.1.2.3])\tby b.net with ESMTP id x; 22 Aug";
        assert_eq!(
            terms(|out| received(value, &mut Map::default(), out)),
            [
                "rcvd:example.org",
                "rcvd:mail.example.org",
                "rcvd:b.net",
                "rcvdip:10.1",
                "rcvdip:10.1.2",
                "rcvdip:10.1.2.3",
                "rcvdwith:ESMTP",
                "helo:A-0)",
            ]
        );
        assert_eq!(terms(|out| received("", &mut Map::default(), out)), [""; 0]);
    }

    #[test]
    fn words_behind_keywords() {
        let mut map = Map::default();
        let mut helo = |text| {
            map.read(text);
            word_behind(map.helo(text), |c| matches!(c, ' ' | '='), text)
        };
        assert_eq!(helo("(helo=a.b)"), Some("a.b)"));
        assert_eq!(helo("helos HeLo   x y"), Some("x"));
        assert_eq!(helo("helo"), None);
        assert_eq!(helo("éhelo= "), None);
    }

    #[test]
    fn message_ids() {
        let check = |value, expected: [&str; 4]| assert_eq!(terms(|out| message_id(value, out)), expected);
        check("<20A.b@Mail.org>", ["mid:s:0A.a", "mid:d:mail.org", "mid:ds:Aa.a", "mid:ok"]);
        check("a@b@c", ["mid:s:a", "mid:d:b@c", "mid:ds:a@a", "mid:bad"]);
        check("<>", ["mid:s:", "mid:d:", "mid:ds:", "mid:bad"]);
        check("<x>", ["mid:s:a", "mid:d:", "mid:ds:", "mid:bad"]);
    }

    #[test]
    fn absence_is_evidence() {
        let nothing = terms(|out| route(&message(""), out));
        assert_eq!(nothing, ["rcvd:n:0", "mid:s:a", "mid:d:", "mid:ds:", "mid:bad"]);
    }

    #[test]
    fn hostile_fields_are_linear() {
        let units = ["helo=", "helo ", "with ", "a.bc ", "1.2.3.4 ", "with", " ", "@", "<", "é"];
        check_linear(&units, |text| {
            assert!(terms(|out| received(text, &mut Map::default(), out)).len() <= 8 * 3 + 4 * 3 + 2);
            terms(|out| message_id(text, out));
        });
        let many = "Received: from a.bc\n".repeat(900);
        assert_eq!(terms(|out| route(&message(&many), out)).len(), 1 + MOST_HOPS + 4);
    }

    fn check_people(header: &str, expected: &[&str]) {
        assert_eq!(terms(|out| people(&message(header), out)), expected, "{header:.80}");
    }

    #[test]
    fn who_wrote_to_whom() {
        check_people("", &["to:n:0"]);
        check_people(
            "From: \"Bob B.\" <BOB@Mail.Example.org>",
            &[
                "from:Bob",
                "from:B",
                "from:BOB",
                "from:Mail",
                "from:Example",
                "from:org",
                "from:a:bob@mail.example.org",
                "from:d:org",
                "from:d:example.org",
                "from:d:mail.example.org",
                "to:n:0",
            ],
        );
        check_people(
            "To: a@b\nX: y@z\nCC: d@e, undisclosed",
            &[
                "to:a",
                "to:b",
                "to:a:a@b",
                "to:d:b",
                "cc:d",
                "cc:e",
                "cc:undisclosed",
                "cc:a:d@e",
                "cc:d:e",
                "to:n:2",
            ],
        );
        check_people(&format!("Sender: {}", "x".repeat(47)), &["sender:~long4", "to:n:0"]);
        check_people(
            "Sender: =?utf-8?q?=EF=BC=A2=C3=B6b_?= раураl",
            &["sender:Böb", "sender:paypal", "to:n:0"],
        );
    }

    #[test]
    fn addresses_are_bounded() {
        let many = |count: usize| format!("To: {}", "a@b,".repeat(count));
        let addresses = |header: &str| {
            let terms = terms(|out| people(&message(header), out));
            assert_eq!(terms.last().unwrap(), "to:n:8");
            terms.iter().filter(|term| term.starts_with("to:a:")).count()
        };
        assert_eq!(addresses(&many(100_000)), 5);
        assert_eq!(addresses(&vec![many(9); 500].join("\n")), 100);
    }
}
