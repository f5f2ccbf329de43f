//! Terms of senders and recipients.
use super::emitter::Emitter;
use super::scan::{addresses, cut, normalized, suffixes, words};
use crate::message::Message;

const FIELDS: [&str; 6] = ["from", "reply-to", "to", "cc", "sender", "return-path"];
/// Maximum number of addresses read per field, and per message.
const MOST: usize = 5;
const MOST_IN_ALL: usize = 100;
/// Maximum number of words read per field.
const MOST_WORDS: usize = 500;
/// Longer words are replaced by their length, in characters.
const LONGEST_WORD: usize = 24;
/// More recipients than this make no difference.
const MANY: usize = 8;

/// Emits the words, addresses and domains of the fields that hold addresses, and the number of recipients.
pub(super) fn terms(message: &Message, out: &mut Emitter<'_>) {
    let (mut left, mut recipients, mut buffer) = (MOST_IN_ALL, 0, String::new());
    for name in FIELDS {
        for value in message.values(name) {
            let value = normalized(value, &mut buffer);
            words(value, MOST_WORDS, |text| word(name, text, out));
            for (address, domain) in addresses(value).take(MOST.min(left)) {
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
    use crate::terms::emitter::testing::{message, terms};

    fn check(header: &str, expected: &[&str]) {
        assert_eq!(terms(|out| super::terms(&message(header), out)), expected, "{header:.80}");
    }

    #[test]
    fn who_wrote_to_whom() {
        check("", &["to:n:0"]);
        check(
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
        check(
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
        check(&format!("Sender: {}", "x".repeat(47)), &["sender:~long4", "to:n:0"]);
        check("Sender: =?utf-8?q?=EF=BC=A2=C3=B6b_?= раураl", &["sender:Böb", "sender:paypal", "to:n:0"]);
    }

    #[test]
    fn numbers_are_bounded() {
        let many = |count: usize| format!("To: {}", "a@b,".repeat(count));
        let addresses = |header: &str| {
            let terms = terms(|out| super::terms(&message(header), out));
            assert_eq!(terms.last().unwrap(), "to:n:8");
            terms.iter().filter(|term| term.starts_with("to:a:")).count()
        };
        assert_eq!(addresses(&many(100_000)), 5);
        assert_eq!(addresses(&vec![many(9); 500].join("\n")), 100);
    }
}
