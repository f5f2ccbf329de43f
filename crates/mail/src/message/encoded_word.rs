//! Encoded words in header values (RFC 2047), at any position.
use crate::message::charset::decode_text;
use crate::message::transfer::{base64, quoted_printable};
use memchr::{memchr, memchr_iter};
use std::borrow::Cow;

/// Decodes the encoded words of a value and removes white space between two of them (section 6.2).
pub(crate) fn decode_words(value: &str) -> Cow<'_, str> {
    // `?` is in every encoded word and rarer than `=`
    if memchr(b'?', value.as_bytes()).is_none() {
        return Cow::Borrowed(value);
    }
    let mut out = String::new();
    let mut run: Option<EncodedRun<'_>> = None;
    let mut rest = value;
    while let Some(at) = find(*b"=?", rest) {
        let (gap, candidate) = rest.split_at(at);
        let Some(start) = WordStart::read(candidate) else {
            end_run(&mut run, &mut out);
            out.push_str(&rest[..at + 2]);
            rest = &rest[at + 2..];
            continue;
        };
        // without an end here there is none later either; searching again would be quadratic
        let Some(length) = find(*b"?=", &candidate[start.length..]) else { break };
        let (text, tail) = candidate[start.length..].split_at(length);
        if run.is_none() || !gap.trim().is_empty() {
            end_run(&mut run, &mut out);
            out.push_str(gap);
        } else if run.as_ref().is_some_and(|run| !run.charset.eq_ignore_ascii_case(start.charset)) {
            end_run(&mut run, &mut out);
        }
        let run = run.get_or_insert(EncodedRun { charset: start.charset, bytes: Vec::new() });
        run.bytes.extend(start.decode(text));
        rest = &tail[2..];
    }
    if out.is_empty() && run.is_none() {
        return Cow::Borrowed(value);
    }
    end_run(&mut run, &mut out);
    out.push_str(rest);
    Cow::Owned(out)
}

/// The position of two characters in a text. The first of them should be rare.
fn find([first, second]: [u8; 2], text: &str) -> Option<usize> {
    let found = memchr_iter(first, text.as_bytes()).find(|at| text.as_bytes().get(at + 1) == Some(&second));
    #[cfg(test)]
    tamis_testing::step(found.unwrap_or(text.len()));
    found
}

/// Adjacent words of one charset, decoded together because some mailers split characters between words.
struct EncodedRun<'a> {
    charset: &'a str,
    bytes: Vec<u8>,
}

fn end_run(run: &mut Option<EncodedRun<'_>>, out: &mut String) {
    if let Some(run) = run.take() {
        out.push_str(&decode_text(&run.bytes, Some(run.charset)));
    }
}

/// The part of a word before its text: `=?charset?B?`.
struct WordStart<'a> {
    charset: &'a str,
    is_base64: bool,
    length: usize,
}

impl<'a> WordStart<'a> {
    /// Longest charset name accepted, in bytes. A whole word should have at most 75.
    const CHARSET: usize = 75;

    fn read(word: &'a str) -> Option<Self> {
        let inner = &word[2..];
        let end = inner.bytes().take(Self::CHARSET).position(|c| c == b'?')?;
        let charset = &inner[..end];
        let is_base64 = match inner.as_bytes().get(end + 1..end + 3)? {
            b"B?" | b"b?" => true,
            b"Q?" | b"q?" => false,
            _ => return None,
        };
        // RFC 2231, section 5: a language may follow the charset
        let charset = charset.split('*').next().unwrap_or(charset);
        (!charset.is_empty()).then_some(WordStart { charset, is_base64, length: 2 + end + 3 })
    }

    fn decode(&self, text: &str) -> Vec<u8> {
        if self.is_base64 {
            base64(text.as_bytes())
        } else {
            quoted_printable(text.replace('_', " ").as_bytes())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tamis_testing::check_linear;

    #[test]
    fn words() {
        for (value, expected) in [
            ("plain", "plain"),
            ("=?utf-8?q?Caf=C3=A9_au_lait?=", "Café au lait"),
            ("=?UTF-8?B?Q2Fmw6k=?= now", "Café now"),
            ("=?iso-8859-1*en?Q?a=5Fb?=", "a_b"),
            // RFC 2047, section 8
            ("(=?ISO-8859-1?Q?a?= b)", "(a b)"),
            ("(=?ISO-8859-1?Q?a?= =?ISO-8859-1?Q?b?=)", "(ab)"),
            ("(=?ISO-8859-1?Q?a?=  \t =?UTF-8?Q?b?=)", "(ab)"),
            ("(=?ISO-8859-1?Q?a_?= =?ISO-8859-1?Q?b?=)", "(a b)"),
            // split character, raw spaces, question marks, words glued to text
            ("=?utf-8?q?=C3?= =?utf-8?q?=A9?=", "é"),
            ("=?utf-8?Q?hello world??=", "hello world?"),
            ("x=?utf-8?Q?y?=z", "xyz"),
            ("\"=?koi8-r?B?8NLJ18XU?=\" <a@b.ru>", "\"Привет\" <a@b.ru>"),
            ("=?gb2312?B?xOO6ww==?=", "你好"),
            // not encoded words
            ("=?utf-8?x?a?=", "=?utf-8?x?a?="),
            ("=??q?a?=", "=??q?a?="),
            ("=?utf-8?q?open", "=?utf-8?q?open"),
            ("=?utf-8?q?a?= =?", "a =?"),
            ("a =?", "a =?"),
            ("=?", "=?"),
        ] {
            assert_eq!(decode_words(value), expected, "{value:?}");
        }
    }

    #[test]
    fn hostile_values_are_linear() {
        let units = ["=?", "=?a?q?", "x=?a?q?x", "=?a?q?=?", "=?a?q?x?=", "=?a?q?x?= ", "?="];
        check_linear(&units, |text| drop(decode_words(text)));
    }

    proptest! {
        #[test]
        fn never_panics(value in "(=\\?|\\?=|[QqBb]\\?|utf-8|=[0-9A-F]{2}|.){0,40}") {
            decode_words(&value);
        }

        #[test]
        fn values_without_words_stay(value in "[^=]*") {
            prop_assert_eq!(decode_words(&value), value.as_str());
        }
    }
}
