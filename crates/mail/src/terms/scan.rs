//! Finding hosts, addresses and shapes in text, each in one pass.
use memchr::memchr_iter;
use std::iter;
use tamis_tokenizer::bits::positions;

/// Characters of the longest shape.
const LONGEST_SHAPE: usize = 40;

/// Appends the shape of a text: `A` for every run of upper-case ASCII letters, `a` for lower case, `0` for
/// digits, all else as it is; its first 40 characters.
pub(super) fn push_shape(text: &str, out: &mut String) {
    let mut last = None;
    let shape = text.chars().filter_map(|c| {
        let class = match c {
            'A'..='Z' => Some('A'),
            'a'..='z' => Some('a'),
            '0'..='9' => Some('0'),
            _ => None,
        };
        let repeated = class.is_some() && class == last;
        last = class;
        (!repeated).then_some(class.unwrap_or(c))
    });
    out.extend(shape.take(LONGEST_SHAPE));
}

/// A set of characters: in ASCII one look tells.
pub(super) struct Set {
    /// Of bytes outside ASCII, none.
    ascii: [bool; 256],
    beyond: fn(char) -> bool,
}

impl Set {
    /// The letters and digits of ASCII and these signs, and what `beyond` tells of others.
    const fn letters_digits_and(signs: &[u8], beyond: fn(char) -> bool) -> Set {
        Set { ascii: ascii(signs, true), beyond }
    }

    /// All of ASCII but these, and what `beyond` tells of others.
    pub(super) const fn all_but(others: &[u8], beyond: fn(char) -> bool) -> Set {
        let mut set = Set { ascii: ascii(others, false), beyond };
        let mut byte = 0;
        while byte < 128 {
            set.ascii[byte] = !set.ascii[byte];
            byte += 1;
        }
        set
    }

    fn has(&self, c: char) -> bool {
        if c.is_ascii() { self.ascii[c as usize] } else { (self.beyond)(c) }
    }
}

/// Which bytes are among these, or letters or digits.
const fn ascii(signs: &[u8], letters_and_digits: bool) -> [bool; 256] {
    let mut bytes = [false; 256];
    let mut at = 0;
    while at < signs.len() {
        bytes[signs[at] as usize] = true;
        at += 1;
    }
    let mut byte = 0;
    while byte < 128 {
        bytes[byte] |= letters_and_digits && (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    bytes
}

static LETTERS_AND_DIGITS: Set = Set::letters_digits_and(b"", char::is_alphanumeric);
static OF_HOST: Set = Set::letters_digits_and(b"._-", |_| false);
static OF_NUMBER: Set = Set::letters_digits_and(b"._", char::is_alphanumeric);
static OF_DOMAIN: Set = Set::letters_digits_and(b"._-", char::is_alphanumeric);
static OF_LOCAL: Set = Set::letters_digits_and(b"._-+=", char::is_alphanumeric);

/// How many bytes of such characters a text begins with.
pub(super) fn prefix(text: &str, set: &Set) -> usize {
    let ascii = text.bytes().position(|byte| !set.ascii[usize::from(byte)]).unwrap_or(text.len());
    match text.as_bytes().get(ascii) {
        Some(byte) if !byte.is_ascii() => text.len() - text[ascii..].trim_start_matches(|c| set.has(c)).len(),
        _ => ascii,
    }
}

/// Where the characters begin that are such ones and end a text.
fn suffix(text: &str, set: &Set) -> usize {
    match text.as_bytes().iter().rposition(|byte| !set.ascii[usize::from(*byte)]) {
        Some(last) if !text.as_bytes()[last].is_ascii() => {
            text[..=last].trim_end_matches(|c| set.has(c)).len()
        }
        last => last.map_or(0, |last| last + 1),
    }
}

/// The maximal runs of letters and digits.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    iter::from_fn(move || {
        let start =
            rest.bytes().position(|byte| !byte.is_ascii() || LETTERS_AND_DIGITS.ascii[usize::from(byte)])?;
        rest = rest[start..].trim_start_matches(|c| !LETTERS_AND_DIGITS.has(c));
        let (word, after) = rest.split_at(prefix(rest, &LETTERS_AND_DIGITS));
        rest = after;
        (!word.is_empty()).then_some(word)
    })
}

/// The first `length` characters.
pub(super) fn cut(text: &str, length: usize) -> &str {
    text.char_indices().nth(length).map_or(text, |(at, _)| &text[..at])
}

/// The ends of a host name of `least` to `most` labels, the shortest first.
pub(super) fn suffixes(host: &str, least: usize, most: usize) -> impl Iterator<Item = &str> {
    let starts = dots(host).rev().map(|dot| dot + 1).chain([0]);
    starts.take(most).skip(least - 1).map(move |start| &host[start..])
}

/// The networks an address in version 4 lies in, by its first two and three numbers, and the address itself.
pub(super) fn networks(ip: &str) -> impl Iterator<Item = &str> {
    dots(ip).skip(1).map(|dot| &ip[..dot]).chain([ip])
}

fn dots(text: &str) -> impl DoubleEndedIterator<Item = usize> {
    text.bytes().enumerate().filter(|(_, byte)| *byte == b'.').map(|(at, _)| at)
}

/// The maximal runs of such characters, which dots are, that have a dot between two such bytes.
fn dotted_runs<'t>(
    text: &'t str,
    is_between: impl Fn(u8, u8) -> bool,
    set: &'static Set,
) -> impl Iterator<Item = &'t str> {
    let (bytes, mut done) = (text.as_bytes(), 0);
    positions(bytes, |byte| byte == b'.').filter_map(move |dot| {
        let start = dot.checked_sub(1).filter(|before| *before >= done)?;
        if !is_between(bytes[start], *bytes.get(dot + 1)?) {
            return None;
        }
        let start = done + suffix(&text[done..dot], set);
        done = dot + prefix(&text[dot..], set);
        Some(&text[start..done])
    })
}

/// Host names: two labels or more, the last one of letters.
pub(super) fn hosts(text: &str) -> impl Iterator<Item = &str> {
    dotted_runs(text, |_, after| after.is_ascii_alphabetic(), &OF_HOST)
        .flat_map(split_at_two_dots)
        .filter_map(|run| host(run.trim_matches(['.', '-'])))
}

/// As `split("..")`, which prepares a search that takes longer than a short run.
fn split_at_two_dots(run: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(run);
    iter::from_fn(move || {
        let run = rest.take()?;
        let Some(gap) = run.as_bytes().windows(2).position(|pair| pair == b"..") else { return Some(run) };
        rest = Some(&run[gap + 2..]);
        Some(&run[..gap])
    })
}

/// The longest host name that a run begins with.
fn host(run: &str) -> Option<&str> {
    let mut end = run.len();
    for dot in dots(run).rev() {
        let last = &run.as_bytes()[dot + 1..end];
        if last.len() >= 2 && last.iter().all(u8::is_ascii_alphabetic) {
            return Some(&run[..end]);
        }
        end = dot;
    }
    None
}

/// Internet addresses in version 4.
pub(super) fn ips(text: &str) -> impl Iterator<Item = &str> {
    let is_between = |before: u8, after: u8| before.is_ascii_digit() && after.is_ascii_digit();
    dotted_runs(text, is_between, &OF_NUMBER).flat_map(|run| {
        let mut rest = run;
        iter::from_fn(move || {
            loop {
                if let Some(length) = ip_length(rest) {
                    let (ip, after) = rest.split_at(length);
                    rest = after;
                    return Some(ip);
                }
                rest = &rest[dots(rest).next()? + 1..];
            }
        })
    })
}

/// Whether a host is such an address.
pub(super) fn is_ip(host: &str) -> bool {
    ip_length(host) == Some(host.len())
}

/// The length of the four numbers of up to three digits that a run begins with.
fn ip_length(run: &str) -> Option<usize> {
    let mut labels = run.as_bytes().split(|byte| *byte == b'.');
    let mut length = 3;
    for _ in 0..4 {
        let label = labels.next()?;
        if !(1..=3).contains(&label.len()) || !label.iter().all(u8::is_ascii_digit) {
            return None;
        }
        length += label.len();
    }
    Some(length)
}

/// Mail addresses, each with its domain.
pub(super) fn addresses(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut done = 0;
    memchr_iter(b'@', text.as_bytes()).filter_map(move |at| {
        let (before, after) = (&text[done..at], &text[at + 1..]);
        let start = done + suffix(before, &OF_LOCAL);
        let end = at + 1 + prefix(after, &OF_DOMAIN);
        let address = text[start..end].trim_end_matches(['.', '-']);
        let domain = address.get(at + 1 - start..)?.trim_start_matches(['.', '-']);
        if start == at || domain.is_empty() {
            return None;
        }
        done = end;
        Some((address, domain))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> String {
        let mut shape = String::new();
        push_shape(text, &mut shape);
        shape
    }

    #[test]
    fn shapes() {
        for (text, expected) in [
            ("", ""),
            ("a", "a"),
            ("Hello WORLD", "Aa A"),
            ("20020822-1826.AbC99", "0-0.AaA0"),
            ("éÉ漢 a.a..1", "éÉ漢 a.a..0"),
        ] {
            assert_eq!(shape(text), expected);
        }
        assert_eq!(shape(&"-".repeat(1_000_000)), "-".repeat(40));
        assert_eq!(shape(&"x".repeat(1_000_000)), "x".replace('x', "a"));
    }

    #[test]
    fn ends_and_beginnings() {
        let list = |host, least, most| suffixes(host, least, most).collect::<Vec<_>>();
        assert_eq!(list("a.b.co.uk", 1, 5), ["uk", "co.uk", "b.co.uk", "a.b.co.uk"]);
        assert_eq!(list("a.b.co.uk", 2, 3), ["co.uk", "b.co.uk"]);
        assert_eq!(list("localhost", 1, 4), ["localhost"]);
        assert_eq!(list("localhost", 2, 4), [""; 0]);
        assert_eq!(networks("10.1.2.3").collect::<Vec<_>>(), ["10.1", "10.1.2", "10.1.2.3"]);
        assert_eq!((cut("añb", 2), cut("añb", 3), cut("", 0)), ("añ", "añb", ""));
    }

    #[test]
    fn host_names() {
        for (text, expected) in [
            ("from mail.example.org (HELO x.y.co.uk) by z", &["mail.example.org", "x.y.co.uk"][..]),
            ("1.2.3.4 host a.b a.c1 .", &[]),
            ("a.com.5 -foo.net- d.org.", &["a.com", "foo.net", "d.org"]),
            ("a..b.com...c.de", &["b.com", "c.de"]),
            ("user.name@example.org 10-1.dsl.x_y.net", &["user.name", "example.org", "10-1.dsl.x_y.net"]),
        ] {
            assert_eq!(hosts(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn internet_addresses() {
        for (text, expected) in [
            ("[10.1.2.3] (127.0.0.1)", &["10.1.2.3", "127.0.0.1"][..]),
            ("1.2.3.4.5.6.7.8 v1.2.3.4 1.2.3.4x", &["1.2.3.4", "5.6.7.8"]),
            ("ip-1.2.3.4, 8.12.11.20060308 1..2.3.4.5", &["1.2.3.4", "2.3.4.5"]),
            ("1.2.3 1234.1.1.1 ...", &[]),
        ] {
            assert_eq!(ips(text).collect::<Vec<_>>(), expected, "{text}");
        }
        assert!(is_ip("10.1.2.3") && !is_ip("10.1.2.3.4") && !is_ip("10.1.2") && !is_ip(""));
    }

    #[test]
    fn mail_addresses() {
        for (text, expected) in [
            ("\"A\" <a.b+c=d@x-y.org>, e@f", &[("a.b+c=d@x-y.org", "x-y.org"), ("e@f", "f")][..]),
            ("a@b@c @d e@ @@ <>@<>", &[("a@b", "b")]),
            ("a@b.org. a@.b.org a@. a@-", &[("a@b.org", "b.org"), ("a@.b.org", "b.org")]),
            ("“jörg@exämple.org”", &[("jörg@exämple.org", "exämple.org")]),
        ] {
            assert_eq!(addresses(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn hostile_texts_are_linear() {
        for unit in ["@", ".", "a@", "@a", "a.", "1.", "1.2.3.", "-", "..", "a", "é@", "1"] {
            let text = unit.repeat(1_000_000);
            hosts(&text).for_each(drop);
            ips(&text).for_each(drop);
            addresses(&text).for_each(drop);
            words(&text).for_each(drop);
            suffixes(&text, 1, 5).for_each(drop);
        }
    }
}
