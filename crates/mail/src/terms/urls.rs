//! Terms of links.
use super::emitter::Emitter;
use super::scan::{CharacterSet, cut, is_ip, networks, normalized, prefix, suffixes, trim, words};
use crate::message::parameters::percent_decode;
use memchr::{memchr, memrchr};
use std::borrow::Cow;
use tamis_tokenizer::bits::positions;

/// Maximum number of links per text, and of path words and query keys per link.
const MOST: usize = 200;
const MOST_WORDS: usize = 20;
const MOST_KEYS: usize = 10;
/// Maximum length of such a word, in characters.
const LONGEST_WORD: usize = 24;

/// Emits the terms of the links in a text, plain or HTML source.
pub(super) fn terms(text: &str, out: &mut Emitter<'_>) {
    let mut buffer = String::new();
    for (is_mail, mut link) in links(text).take(MOST) {
        let unescaped = unescape(link);
        if !unescaped.is_ascii() || matches!(unescaped, Cow::Owned(_)) {
            link = normalized(&unescaped, &mut buffer);
            link = &link[..end_of_link(link)];
        }
        let link = trim(link, |byte| matches!(byte, b'.' | b',' | b';' | b':'));
        if is_mail { mail(link, out) } else { url(link, out) }
    }
}

/// The links of a text, verbatim, and whether each is a `mailto:`. A link is what follows `http://`, `https://`,
/// `ftp://` or `mailto:`, or what begins with `www.`.
fn links(text: &str) -> impl Iterator<Item = (bool, &str)> {
    let mut done = 0;
    let bytes = text.as_bytes();
    let is_likely = |at: &usize| match (bytes[*at], at.checked_sub(1).map(|last| bytes[last] | 0x20)) {
        (b'.', last) => last == Some(b'w'),
        (_, last) => matches!(last, Some(b'p' | b's' | b'o')),
    };
    positions(bytes, |byte| byte == b':' || byte == b'.').filter(is_likely).filter_map(move |at| {
        let before = text.get(done..at)?;
        let after = &text[at + 1..];
        let (is_mail, start) = if text.as_bytes()[at] == b'.' {
            (
                false,
                at - word_before(before, &["www"]).filter(|_| after.is_empty() || end_of_link(after) > 0)?,
            )
        } else if after.starts_with("//") {
            word_before(before, &["http", "https", "ftp"])?;
            (false, at + 3)
        } else {
            word_before(before, &["mailto"])?;
            (true, at + 1)
        };
        let link = &text[start..];
        let link = &link[..end_of_link(link)];
        done = start + link.len();
        (!link.is_empty()).then_some((is_mail, link))
    })
}

/// The length of the word at the end of `text` if it is one of `words`. Case does not matter.
fn word_before(text: &str, words: &[&str]) -> Option<usize> {
    let is_before = |word: &&&str| {
        let (start, end) = text.as_bytes().split_at(text.len().saturating_sub(word.len()));
        end.eq_ignore_ascii_case(word.as_bytes()) && !start.last().is_some_and(u8::is_ascii_alphanumeric)
    };
    words.iter().find(is_before).map(|word| word.len())
}

static OF_LINK: CharacterSet = CharacterSet::all_but(b" \t\n\x0b\x0c\r<>\"')", |c| !c.is_whitespace());

fn end_of_link(text: &str) -> usize {
    prefix(text, &OF_LINK)
}

fn mail(link: &str, out: &mut Emitter<'_>) {
    let address = link.split('?').next().unwrap_or_default();
    out.lower(&["mailto:", address]);
    if let Some((_, host)) = address.rsplit_once('@') {
        out.lower(&["mailtohost:", host]);
    }
}

/// Splits a text before the first ASCII byte for which `is_such` holds.
fn split(text: &str, is_such: impl Fn(u8) -> bool) -> (&str, &str) {
    text.split_at(text.bytes().position(is_such).unwrap_or(text.len()))
}

fn url(link: &str, out: &mut Emitter<'_>) {
    let (authority, rest) = split(link, |byte| matches!(byte, b'/' | b'\\' | b'?' | b'#'));
    let (path, query) = split(rest, |byte| matches!(byte, b'?' | b'#'));
    let (query, _) = split(query, |byte| byte == b'#');
    let is_encoded = memchr(b'%', link.as_bytes()).is_some();
    let decoded = |text| if is_encoded { decoded(text) } else { Cow::Borrowed(text) };
    self::authority(&decoded(authority), out);
    if is_encoded {
        out.term(&["url:pct"]);
    }
    words(&decoded(path), MOST_WORDS, |word| out.lower(&["url:p:", cut(word, LONGEST_WORD)]));
    for key in keys(query).take(MOST_KEYS) {
        out.lower(&["url:q:", cut(key, LONGEST_WORD)]);
    }
}

/// Emits terms of the host and its oddities. A percent-encoded `@` counts as `@`, since some browsers accept it.
fn authority(authority: &str, out: &mut Emitter<'_>) {
    let behind_user = memrchr(b'@', authority.as_bytes()).map_or(0, |at| at + 1);
    let (host, port) = split(&authority[behind_user..], |byte| byte == b':');
    let port = port.strip_prefix(':').unwrap_or_default();
    let host = host.trim_matches(|c: char| !c.is_alphanumeric());
    if host.is_empty() {
        out.term(&["url:bad"]);
    } else if is_ip(host) {
        out.term(&["url:ip"]);
        networks(host).for_each(|network| out.term(&["url:ip:", network]));
    } else {
        suffixes(host, 1, 5, |suffix| out.lower(&["url:h:", suffix]));
    }
    match port.parse::<u16>() {
        _ if port.is_empty() => {}
        Ok(port) => out.number("url:port:", port.into()),
        Err(_) => out.term(&["url:badport"]),
    }
    if behind_user > 0 {
        out.term(&["url:userinfo"]);
    }
}

/// The text with percent-encoding decoded.
fn decoded(text: &str) -> Cow<'_, str> {
    Cow::Owned(String::from_utf8_lossy(&percent_decode(text)).into_owned())
}

/// The keys of `key=value` in a query.
fn keys(query: &str) -> impl Iterator<Item = &str> {
    let mut done = 0;
    query.match_indices('=').filter_map(move |(at, _)| {
        let before = &query[done..at];
        done = at;
        let other = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        Some(&before[other.len()..]).filter(|key| !key.is_empty())
    })
}

/// Decodes the HTML character references that are common in links.
///
/// Others stay: queries are full of names that look like one (`?a=1&copy=2`).
fn unescape(text: &str) -> Cow<'_, str> {
    if memchr(b'&', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut pieces = text.split('&');
    let first = pieces.next().unwrap_or_default();
    let mut plain = first.to_owned();
    for piece in pieces {
        match piece.split_once(';').and_then(|(name, rest)| Some((reference(name)?, rest))) {
            Some((c, rest)) => {
                plain.push(c);
                plain.push_str(rest);
            }
            None => {
                plain.push('&');
                plain.push_str(piece);
            }
        }
    }
    Cow::Owned(plain)
}

fn reference(name: &str) -> Option<char> {
    let code = match name {
        "amp" => return Some('&'),
        "lt" => return Some('<'),
        "gt" => return Some('>'),
        "quot" => return Some('"'),
        "apos" => return Some('\''),
        "nbsp" => return Some('\u{a0}'),
        _ => name.strip_prefix('#')?,
    };
    let number = match code.strip_prefix(['x', 'X']) {
        Some(code) => u32::from_str_radix(code, 16),
        None => code.parse(),
    };
    char::from_u32(number.ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::emitter::testing::terms;
    use proptest::prelude::*;
    use tamis_testing::check_linear;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(terms(|out| super::terms(text, out)), expected, "{text:?}");
    }

    #[test]
    fn finding_links() {
        let found = |text| links(text).map(|(_, link)| link).collect::<Vec<_>>();
        assert_eq!(found("at http://a.b/c, (HTTPS://d) <ftp://e>x"), ["a.b/c,", "d", "e"]);
        assert_eq!(found("www.a.b WWW.c http://www.d.e/www.f"), ["www.a.b", "WWW.c", "www.d.e/www.f"]);
        assert_eq!(found("awww.cute xhttp://a news://b www. www http:// http:/c mailto: éwww.d"), ["www.d"]);
        assert_eq!(found("<a href='http://a.b'><img src=\"http://c\">"), ["a.b", "c"]);
        assert_eq!(links("mailto:a@b?c").collect::<Vec<_>>(), [(true, "a@b?c")]);
    }

    #[test]
    fn hosts() {
        check("http://A.b.co.uk.", &["url:h:uk", "url:h:co.uk", "url:h:b.co.uk", "url:h:a.b.co.uk"]);
        check("http://10.1.2.3/", &["url:ip", "url:ip:10.1", "url:ip:10.1.2", "url:ip:10.1.2.3"]);
        check("http://a:8080", &["url:h:a", "url:port:8080"]);
        check("http://a:80x/", &["url:h:a", "url:badport"]);
        check("http://bank.com@b:/", &["url:h:b", "url:userinfo"]);
        check("http://bank.com%40b", &["url:h:b", "url:userinfo", "url:pct"]);
        check("http://%61.b", &["url:h:b", "url:h:a.b", "url:pct"]);
        check("http:///x http://?a=b", &["url:bad", "url:p:x", "url:bad", "url:q:a"]);
        check("http://ｐаураl.com", &["url:h:com", "url:h:paypal.com"]);
    }

    #[test]
    fn paths_and_queries() {
        check(
            "http://a/Buy%20now/x.html#y=z",
            &["url:h:a", "url:pct", "url:p:buy", "url:p:now", "url:p:x", "url:p:html"],
        );
        check("http://a?Id=1&b_c=2&=3&d", &["url:h:a", "url:q:id", "url:q:b_c"]);
        check(&format!("http://a/{}", "x/".repeat(100)), &[&["url:h:a"][..], &["url:p:x"; 20]].concat());
        check(&format!("http://a?{}", "x=1&".repeat(100)), &[&["url:h:a"][..], &["url:q:x"; 10]].concat());
        check(&format!("http://a/{}", "x".repeat(100)), &["url:h:a", &format!("url:p:{}", "x".repeat(24))]);
    }

    #[test]
    fn mail_links() {
        check("mailto:Bob@Example.org?subject=x", &["mailto:bob@example.org", "mailtohost:example.org"]);
        check("mailto:bob", &["mailto:bob"]);
    }

    #[test]
    fn character_references() {
        check("http://a?x=1&amp;copy=2&copy=3", &["url:h:a", "url:q:x", "url:q:copy", "url:q:copy"]);
        check("&lt;http://a&#46;b&gt;", &["url:h:b", "url:h:a.b"]);
        for (text, expected) in [("&#x41;&#66;&;&#;&#x110000;&", "AB&;&#;&#x110000;&"), ("a&b;", "a&b;")] {
            assert_eq!(unescape(text), expected);
        }
    }

    #[test]
    fn hostile_texts_are_linear() {
        let units =
            ["http://", "www.", "http:// ", "mailto:", "a.", ":", "&", "&amp;", "%", "=", "%41", "http://a "];
        for once in ["http://", "http://a?", "www."] {
            check_linear(&units, |text| {
                assert!(terms(|out| super::terms(&format!("{once}{text}"), out)).len() <= 200 * 41);
            });
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "(https?://|www\\.|mailto:|[/?#@:=&;.%<> ]|&amp;|%4|[a-z0-9]{1,3}|\\PC){0,40}") {
            terms(|out| super::terms(&text, out));
        }
    }
}
