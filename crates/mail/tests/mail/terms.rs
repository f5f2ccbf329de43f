//! The evidence of whole messages.
use proptest::prelude::*;
use std::collections::BTreeSet;
use tamis_mail::{Limits, Message, Piece};
use tamis_tokenizer::{Scratch, Tokenizer, TokenizerOptions};

/// All terms of a message, cut as mail is, in order.
pub(crate) fn terms(message: &Message, content_only: bool) -> Vec<String> {
    let tokenizer = Tokenizer::new(TokenizerOptions::mail()).unwrap();
    let (mut scratch, mut terms) = (Scratch::default(), Vec::new());
    message.for_each_piece(content_only, |piece| match piece {
        Piece::Terms(batch, _) => terms.extend(batch.iter().map(str::to_owned)),
        Piece::EndOfPart => {}
        Piece::Words { prefix, text, .. } => {
            tokenizer.for_each_term(text, &mut scratch, |word| terms.push(format!("{prefix}{word}")));
        }
    });
    terms
}

fn read(raw: &str) -> Vec<String> {
    terms(&Message::parse(raw.as_bytes(), &Limits::default()), false)
}

const MESSAGE: &str = "Received: from pc (HELO pc) ([10.1.2.3]) by mail.example.org with SMTP;\n Thu, 22 Aug 2002\n\
    From: \"Bob\" <bob@example.org>\nTo: a@b.org,\n\tc@d.org\nSubject: Re: FREE offer    x1\n\
    Date: Thu, 22 Aug 2002 18:26:25 +0700\nMessage-ID: <1A@b>\nMIME-Version: 1.0\n\
    Content-Type: multipart/mixed; boundary=\"--b\"\n\n----b\nContent-Type: text/html\n\n\
    <a href=\"http://shop.example.org/\">Buy</a>\n$5 off, 50\n% off!!\n----b\n\
    Content-Transfer-Encoding: base64\n\nd3d3LmEuYg==\n----b--\n";

#[test]
fn a_message() {
    let terms = read(MESSAGE);
    for term in [
        "s:offer",
        "subj:re",
        "subj:trail",
        "from:a:bob@example.org",
        "to:n:2",
        "rcvd:n:1",
        "helo:a)",
        "mid:ok",
        "ct1:text/html",
        "parts:3",
        "url:h:shop.example.org",
        "url:h:www.a.b",
        "hseq:from>to",
        "hcase:Message-ID",
        "date:tz:+0700",
        "cur:$0",
        "pun:!!",
        "buy",
        "off!!",
    ] {
        assert!(terms.iter().any(|t| t == term), "{term} not in {terms:?}");
    }
    let message = Message::parse(MESSAGE.as_bytes(), &Limits::default());
    let content = self::terms(&message, true);
    let words: Vec<_> = content.iter().filter(|term| !term.contains('^')).collect();
    assert_eq!(words[..5], ["s:re", "s:free", "s:offer", "s:x1", "buy"]);
    assert!(words.iter().all(|term| term.starts_with("s:") || !term.contains(':')), "{content:?}");
}

#[test]
fn no_body_poses_as_a_header() {
    let header = "From: a@b.org\nSubject: x\n\n";
    let plain: BTreeSet<_> = read(&format!("{header}y")).into_iter().collect();
    let body = "from:a:x@y.org s:re subj:re hn:x-mailer rcvd:n:9 mid：ok to:n:8 ct﹕text/html\nReceived: from z.org\n";
    for term in read(&format!("{header}{body}")) {
        // no term of a header begins with a sign
        let is_own = term.starts_with('^') || term.starts_with("len:");
        assert!(plain.contains(&term) || !term.contains(':') || is_own, "{term}");
    }
}

#[test]
fn ignored_by_the_user() {
    let with = MESSAGE.replace("To: a", "X-Gate-1: x\nOurs: y\nTo: a");
    let ignored = ["x-gate-*", "OURS"].map(str::to_owned);
    let message = Message::parse_ignoring(with.as_bytes(), &Limits::default(), &ignored);
    assert_eq!(terms(&message, false), read(MESSAGE));
    assert_ne!(read(&with), read(MESSAGE));
}

const IGNORED: [&str; 5] = [
    "X-Spam-Flag: YES\n",
    "X-Tamis: spam; probability=0.9987; log-odds=+6.64; version=1\n",
    "X-Spam-Status: Yes, score=6.64\n\trequired=2.20\n",
    "Status: RO\n",
    "x-uidl: From: a@b.org http://c.org\n",
];

/// Fields that any sender can put below those of the recipient's own servers.
const FORGED: [&str; 5] = [
    "Received: from ham.example.org (helo=ham) ([10.9.8.7])\n\tby lists.example.org with LMTP\n",
    "received: (qmail 1 invoked by uid 2)\n",
    "X-Mailer: Mutt 1.5\n",
    "DKIM-Signature: v=1; d=example.org\n",
    "DomainKey-Signature: a=rsa-sha1\n",
];

/// A message: lines of a header, then lines of a body.
fn lines() -> impl Strategy<Value = (Vec<String>, String)> {
    const FIELDS: &str = "(From|To|Received|Message-Id|Subject|date|X-Other): ([a-zA-Z0-9@.<>!:=]|helo=|with |\n |\n\t|é){0,30}\n\
        |Content-Type: (text/html|text/plain|multipart/mixed; boundary=b|text/plain; charset=utf-8)\n\
        |Content-Transfer-Encoding: (base64|quoted-printable)\n";
    const BODY: &str = "([a-zA-Z0-9 .!%$:@=&;-]|http://|<p>|<a href=|>|\"|--b|--b--|Content-Type: text/html\n|\n|é|=\n){0,60}";
    (prop::collection::vec(FIELDS, 1..8), BODY)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn what_any_sender_can_copy_is_no_evidence(
        (header, body) in lines(),
        forged in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(&FORGED[..])), 0..20),
    ) {
        let trusted = ["a.org ([10.1.2.3]) by b.org with SMTP", "c.org by d.org"].map(|way| format!("Received: from {way}\n"));
        let mut header = [&trusted[..], &header].concat();
        let plain = read(&format!("{}\n{body}", header.concat()));
        for (place, field) in forged {
            header.insert(2 + place.index(header.len() - 1), field.to_owned());
        }
        prop_assert_eq!(read(&format!("{}\n{body}", header.concat())), plain);
    }

    #[test]
    fn what_mailboxes_and_filters_change_is_no_evidence(
        (mut header, body) in lines(),
        added in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(&IGNORED[..])), 0..4),
        from_line: bool,
        crlf: bool,
    ) {
        let expected = read(&format!("{}\n{body}", header.concat()));
        for (at, field) in added {
            header.insert(at.index(header.len() + 1), field.to_owned());
        }
        let from_line = if from_line { "From a@b.org Fri Aug 23 11:03:04 2002\n" } else { "" };
        let mut raw = format!("{from_line}{}\n{body}", header.concat());
        if crlf {
            raw = raw.replace('\n', "\r\n");
        }
        prop_assert_eq!(read(&raw), expected, "{:?}", raw);
    }

    #[test]
    fn arbitrary_bytes_never_panic(header: Vec<u8>, body: Vec<u8>) {
        for field in ["From: ", "Received: ", "Date: ", "Message-ID: ", "Content-Type: "] {
            let raw = [field.as_bytes(), &header, b"\n\n", &body].concat();
            let message = Message::parse(&raw, &Limits::default());
            message.date();
            for term in terms(&message, false) {
                prop_assert!(!term.is_empty());
            }
        }
    }
}
