//! Words of a message as bogofilter cuts them, for word lists that were imported from it.
//!
//! A token begins with a letter (or any character outside ASCII), and ends before white space or most punctuation; case
//! matters. Tokens count if they have 3 to 30 bytes; dollar amounts and IPv4 addresses count at any length. Tokens of
//! the header begin with `subj:`, `from:`, `to:`, `rtrn:`, `rcvd:` or, for all other fields, `head:`. In HTML, the text
//! and the attributes of links, images and fonts count.
use super::emitter::{Emitter, Piece, Scope};
use crate::message::{HeaderField, Message};

/// The shortest and the longest token, in bytes.
const SHORTEST: usize = 3;
const LONGEST: usize = 30;

/// Calls `emit` with every token that bogofilter would find in a header field or, if `name` is empty, in the body.
pub fn for_each_bogofilter_token(name: &str, value: &str, mut emit: impl FnMut(Piece<'_>)) {
    let mut out = Emitter::new(&mut emit, if name.is_empty() { Scope::Part } else { Scope::Message });
    match name {
        "" => tokens("", value, &mut out),
        _ => field(HeaderField { name, value }, &mut out),
    }
    out.flush();
}

impl Message {
    /// Calls `emit` with every token that bogofilter would find in the message. Tokens of the body have the scope
    /// [`Scope::Part`].
    ///
    /// ```
    /// use tamis_mail::{Limits, Message, Piece};
    ///
    /// let message = Message::parse(b"Subject: RE: Free offer\n\nOnly $9.99 at www.example.org!\n", &Limits::default());
    /// let mut tokens = Vec::new();
    /// message.for_each_bogofilter_token(|piece| match piece {
    ///     Piece::Terms(batch, _) => tokens.extend(batch.iter().map(str::to_owned)),
    ///     _ => (),
    /// });
    /// assert_eq!(tokens, ["subj:Free", "subj:offer", "Only", "$9.99", "www.example.org!"]);
    /// ```
    pub fn for_each_bogofilter_token(&self, mut emit: impl FnMut(Piece<'_>)) {
        let mut out = Emitter::new(&mut emit, Scope::Message);
        self.headers().for_each(|header| field(header, &mut out));
        out.begin(Scope::Part);
        for part in self.parts() {
            let text = part.text.as_deref().unwrap_or_default();
            match part.is_html {
                true => tokens("", &visible(text), &mut out),
                false => tokens("", text, &mut out),
            }
            out.end_part();
        }
    }
}

/// Emits the tokens of a header field. For dates and message ids, only the name of the field counts.
fn field(HeaderField { name, value }: HeaderField<'_>, out: &mut Emitter<'_>) {
    let prefix = match name.to_ascii_lowercase().as_str() {
        "subject" => "subj:",
        "from" => "from:",
        "to" | "cc" => "to:",
        "return-path" => "rtrn:",
        "received" => "rcvd:",
        "date" | "delivery-date" | "message-id" | "in-reply-to" | "references" => {
            return tokens("head:", name, out);
        }
        _ => {
            tokens("head:", name, out);
            "head:"
        }
    };
    tokens(prefix, value, out);
}

/// Emits the tokens of a text.
fn tokens(prefix: &str, text: &str, out: &mut Emitter<'_>) {
    let (bytes, mut at) = (text.as_bytes(), 0);
    while let Some(&first) = bytes.get(at) {
        #[cfg(test)]
        tamis_testing::step(1);
        let rest = &text[at..];
        let amount = match first {
            b'0'..=b'9' => ip_length(rest),
            b'$' => money_length(rest),
            _ => None,
        };
        if let Some(length) = amount {
            out.term(&[prefix, &rest[..length]]);
            at += length;
        } else if is_front(first) {
            let (token, behind) = rest.split_at(token_length(rest));
            if (SHORTEST..=LONGEST).contains(&token.len()) {
                out.term(&[prefix, token]);
            }
            at += token.len();
            if !prefix.is_empty() && token.eq_ignore_ascii_case("id") {
                at += id_length(behind);
            }
        } else {
            at += 1;
        }
    }
}

/// Whether a token can begin with this byte.
fn is_front(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte >= 0x80
}

/// Whether this byte can be inside a token.
fn is_inside(byte: u8) -> bool {
    is_front(byte) || byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'_' | b'~' | b'\'' | b'`' | b'!')
}

/// Whether a token can end with this byte.
fn is_back(byte: u8) -> bool {
    is_front(byte) || byte.is_ascii_digit() || byte == b'!'
}

/// The length of the token that a text begins with, in bytes; at least that of its first character.
fn token_length(text: &str) -> usize {
    let inside = text.bytes().position(|byte| !is_inside(byte)).unwrap_or(text.len());
    #[cfg(test)]
    tamis_testing::step(inside);
    text.as_bytes()[..inside].iter().rposition(|byte| is_back(*byte)).map_or(1, |last| last + 1)
}

/// The length of the IPv4 address that a text begins with.
fn ip_length(text: &str) -> Option<usize> {
    let (mut length, bytes) = (0, text.as_bytes());
    for label in 0..4 {
        if label > 0 {
            (bytes.get(length) == Some(&b'.')).then_some(())?;
            length += 1;
        }
        let digits = bytes[length..].iter().take(3).take_while(|byte| byte.is_ascii_digit()).count();
        text[length..length + digits].parse::<u8>().ok()?;
        length += digits;
    }
    Some(length)
}

/// The length of an amount of dollars, such as `$9.99`.
fn money_length(text: &str) -> Option<usize> {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let whole = Some(digits(1)).filter(|digits| *digits > 0)? + 1;
    let cents = text[whole..].strip_prefix('.').map_or(0, |_| digits(whole + 1));
    Some(whole + if cents > 0 { cents + 1 } else { 0 })
}

/// The length of the id after the word `id`, including the space between them.
fn id_length(text: &str) -> usize {
    let space = text.bytes().take_while(u8::is_ascii_whitespace).count();
    let is_of_id = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'<' | b'>');
    if space == 0 { 0 } else { space + text[space..].bytes().take_while(is_of_id).count() }
}

/// Tags that end a word where they open, in lower case; and tags that also do so where they close.
const OPENING: [&str; 24] = [
    "br", "center", "dd", "dt", "form", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "iframe", "img", "input",
    "li", "p", "pre", "select", "table", "td", "textarea", "th", "title",
];
const BOTH: [&str; 9] = ["blockquote", "dir", "div", "dl", "fieldset", "legend", "menu", "ol", "ul"];

/// The text of an HTML document, followed by the attributes of its links, images and fonts.
fn visible(html: &str) -> String {
    let (mut text, mut attributes) = (String::with_capacity(html.len()), String::new());
    let mut rest = html;
    while let Some(start) = memchr::memchr(b'<', rest.as_bytes()) {
        let tag = &rest[start + 1..];
        let length = match tag.strip_prefix("!--") {
            Some(comment) => memchr::memmem::find(comment.as_bytes(), b"-->").map(|end| end + 5),
            None => memchr::memchr(b'>', tag.as_bytes()),
        };
        #[cfg(test)]
        tamis_testing::step(start + length.unwrap_or(tag.len()));
        // a tag that does not end is text
        let Some(length) = length else { break };
        text.push_str(&rest[..start]);
        let is_closing = tag.starts_with('/');
        let tag = &tag[usize::from(is_closing)..length];
        rest = &rest[start + 2 + length..];
        let (name, values) = tag.split_at(tag.bytes().take_while(u8::is_ascii_alphanumeric).count());
        let is_one_of = |tags: &[&str]| tags.iter().any(|known| name.eq_ignore_ascii_case(known));
        if is_one_of(&BOTH) || !is_closing && is_one_of(&OPENING) {
            text.push(' ');
        }
        if is_one_of(&["a", "img", "font"]) {
            attributes.push(' ');
            attributes.push_str(values);
        }
    }
    text + rest + &attributes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::terms::emitter::testing::terms;
    use tamis_testing::check_linear;

    fn tokens_of(text: &str) -> Vec<String> {
        terms(|out| tokens("", text, out))
    }

    /// The expected tokens are what bogolexer 1.2.5 prints for the same texts.
    #[test]
    fn tokens_are_those_of_bogolexer() {
        for (text, expected) in [
            ("DON'T!!! wait, FREE!", &["DON'T!!!", "wait", "FREE!"][..]),
            ("$1,000 or $9.99.", &["$1", "$9.99"]),
            (
                "8bit x-mailer a.b.c' under_score_ -dash- http://www.example.org/a?b=cde",
                &["bit", "x-mailer", "a.b.c", "under_score", "dash", "http", "www.example.org", "cde"],
            ),
            ("10.1.2.3 1.2.3 (1234.5.6.7)", &["10.1.2.3", "234.5.6.7"]),
            (
                "an it abcdefghijklmnopqrstuvwxyz-1234 abcdefghijklmnopqrstuvwxyz-123",
                &["abcdefghijklmnopqrstuvwxyz-123"],
            ),
            ("caf\u{e9} \u{4f60}\u{597d}", &["caf\u{e9}", "\u{4f60}\u{597d}"]),
        ] {
            assert_eq!(tokens_of(text), expected, "{text}");
        }
    }

    #[test]
    fn fields_have_prefixes() {
        let raw = "Received: from mail.example.org [10.1.2.3] by x.example.org id QAA05573; 22 Aug\n\
                   Return-Path: <list-42-7-me@example.org>\nX-Id: 42\nDate: Thu, 22 Aug\n\
                   From: Bob <bob@example.org>\nCc: eve\nSubject: Hello again\n\nsee you\n";
        let message = Message::parse(raw.as_bytes(), &Limits::default());
        let mut tokens = Vec::new();
        message.for_each_bogofilter_token(|piece| {
            if let Piece::Terms(batch, _) = piece {
                tokens.extend(batch.iter().map(str::to_owned));
            }
        });
        let expected = "rcvd:from rcvd:mail.example.org rcvd:10.1.2.3 rcvd:x.example.org rcvd:Aug rtrn:list-42-7-me \
                        rtrn:example.org head:X-Id head:Date from:Bob from:bob from:example.org \
                        to:eve subj:Hello subj:again see you";
        assert_eq!(tokens.join(" "), expected);
    }

    #[test]
    fn html_counts_by_its_text_and_some_attributes() {
        let html = "<html><!-- not <b>this</b> --><p class=no>one<b>Word</b> <a href=\"http://e.org\">link</a>\
                    <FONT color='#ff0000'>red</FONT>&nbsp;<img src=dot>";
        let words = tokens_of(&visible(html));
        assert_eq!(words.join(" "), "oneWord linkred nbsp href http e.org color ff0000 src dot");
        assert_eq!(visible("a<br>b</td>c<TD>d</div>e<i>f</i>"), "a bc d ef");
        assert_eq!(visible("a <b and <!-- c"), "a <b and <!-- c");
    }

    #[test]
    fn hostile_texts_are_linear() {
        let units =
            ["a", "a.", "-", "id ", "1.", "$1.", "a-1", "<", "<!--", "<a>", "\u{e9}", "'", "<a ", "1.1.1.1"];
        check_linear(&units, |text| {
            terms(|out| tokens("head:", text, out));
            terms(|out| tokens("", &visible(text), out));
        });
    }
}
