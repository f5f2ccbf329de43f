//! Parameters of Content-Type and Content-Disposition (RFC 2045, section 5.1; RFC 2231).
use crate::message::charset::decode_text;
use crate::message::encoded_word::decode_words;
use crate::message::transfer::hex;
use std::borrow::Cow;

/// Maximum number of parameters per value, since the pieces of continued ones are searched one by one.
const MOST_PARAMETERS: usize = 100;

/// A parsed value such as `text/plain; charset=utf-8`.
pub(crate) struct MimeParameters<'a> {
    /// The text before the first semicolon, in lower case, without comments.
    pub(crate) value: String,
    /// Names as written, values without quotes.
    parameters: Vec<(&'a str, String)>,
}

impl<'a> MimeParameters<'a> {
    pub(crate) fn read(text: &'a str) -> Self {
        let (value, mut rest) = text.split_once(';').unwrap_or((text, ""));
        let mut parameters = Vec::new();
        while !rest.is_empty() && parameters.len() < MOST_PARAMETERS {
            let (parameter, tail) = read_parameter(rest);
            #[cfg(test)]
            tamis_testing::step(rest.len() - tail.len());
            parameters.extend(parameter);
            rest = tail;
        }
        MimeParameters { value: first_token(value), parameters }
    }

    /// Everything that readers may take for the value of a parameter, the likeliest first.
    pub(crate) fn readings(&self, name: &str) -> Vec<String> {
        let mut readings = Vec::new();
        for (_, raw) in self.parameters.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)) {
            let decoded = decode_words(raw);
            let bare = raw.trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\''));
            let first = bare.split(|c: char| c.is_whitespace() || matches!(c, ';' | '"')).next();
            let all = [raw.as_str(), &decoded, bare, first.unwrap_or_default()];
            readings.extend(all.map(str::to_owned));
        }
        if self.has_stars() {
            readings.extend(self.extended(name));
            readings.extend(self.continued(name));
        }
        readings.retain(|reading| !reading.is_empty());
        readings
    }

    /// The text of a parameter: plain, percent-encoded, or continued in pieces.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        if let Some(plain) = self.raw(name) {
            return Some(decode_words(plain).into_owned());
        }
        if self.has_stars() { self.extended(name).or_else(|| self.continued(name)) } else { None }
    }

    /// Whether any name is of an encoded or continued parameter.
    fn has_stars(&self) -> bool {
        self.parameters.iter().any(|(name, _)| name.contains('*'))
    }

    /// The value of `name*` (RFC 2231, section 4).
    fn extended(&self, name: &str) -> Option<String> {
        let (charset, text) = split_charset(self.raw(&format!("{name}*"))?);
        Some(decode_text(&percent_decode(text), charset).into_owned())
    }

    fn raw(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Joins the pieces `name*0`, `name*1*`, ... (RFC 2231, section 3).
    fn continued(&self, name: &str) -> Option<String> {
        let (mut charset, mut bytes) = (None, Vec::new());
        for number in 0..MOST_PARAMETERS {
            if let Some(piece) = self.raw(&format!("{name}*{number}")) {
                bytes.extend_from_slice(piece.as_bytes());
            } else if let Some(mut piece) = self.raw(&format!("{name}*{number}*")) {
                if number == 0 {
                    (charset, piece) = split_charset(piece);
                }
                bytes.extend(percent_decode(piece));
            } else {
                break;
            }
        }
        (!bytes.is_empty()).then(|| decode_text(&bytes, charset).into_owned())
    }
}

/// The first token in lower case, without quotes and white space around a slash.
fn first_token(text: &str) -> String {
    let mut text = Cow::Borrowed(text.trim());
    if text.contains(char::is_whitespace) {
        let words: Vec<_> = text.split_whitespace().collect();
        text = Cow::Owned(words.join(" ").replace(" /", "/").replace("/ ", "/"));
    }
    text.split(' ').next().unwrap_or_default().trim_matches(['"', '\'']).to_ascii_lowercase()
}

/// A value without its comments (RFC 5322, section 3.2.2): text in parentheses outside quotes, perhaps nested. A value in
/// which one stays open remains as it is.
pub(crate) fn without_comments(value: &str) -> Cow<'_, str> {
    if !value.contains('(') {
        return Cow::Borrowed(value);
    }
    let (mut out, mut depth) = (String::with_capacity(value.len()), 0);
    let (mut is_quoted, mut is_escaped) = (false, false);
    for c in value.chars() {
        let is_plain = !is_escaped;
        is_escaped = c == '\\' && is_plain;
        match c {
            '"' if is_plain && depth == 0 => is_quoted = !is_quoted,
            '(' if is_plain && !is_quoted => depth += 1,
            ')' if is_plain && !is_quoted && depth > 0 => {
                depth -= 1;
                out.extend((depth == 0).then_some(' '));
                continue;
            }
            _ => (),
        }
        out.extend((depth == 0).then_some(c));
    }
    if depth > 0 { Cow::Borrowed(value) } else { Cow::Owned(out) }
}

/// One `name=value` and what follows its semicolon.
fn read_parameter(text: &str) -> (Option<(&str, String)>, &str) {
    let Some(at) = text.find(['=', ';']) else { return (None, "") };
    let (name, rest) = (text[..at].trim(), &text[at + 1..]);
    if text.as_bytes()[at] == b';' {
        return (None, rest);
    }
    let (value, rest) = match rest.trim_start().strip_prefix('"') {
        Some(quoted) => read_quoted(quoted),
        None => {
            let (value, rest) = rest.split_once(';').unwrap_or((rest, ""));
            (value.trim().to_owned(), rest)
        }
    };
    (Some((name, value)), rest)
}

/// A quoted string after its opening quote, and what follows the next semicolon.
fn read_quoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, text[at + 1..].split_once(';').map_or("", |(_, rest)| rest)),
            '\\' => value.extend(chars.next().map(|(_, escaped)| escaped)),
            c => value.push(c),
        }
    }
    (value, "")
}

/// Splits `charset'language'text` (RFC 2231, section 4).
fn split_charset(value: &str) -> (Option<&str>, &str) {
    let mut pieces = value.splitn(3, '\'');
    match (pieces.next(), pieces.next(), pieces.next()) {
        (Some(charset), Some(_), Some(text)) => (Some(charset), text),
        _ => (None, value),
    }
}

/// Decodes percent-encoding; invalid escapes stay.
pub(crate) fn percent_decode(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = match tail {
            [high, low, ..] if *first == b'%' => hex(*high).zip(hex(*low)),
            _ => None,
        };
        out.push(escaped.map_or(*first, |(high, low)| high << 4 | low));
        rest = if escaped.is_some() { &tail[2..] } else { tail };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tamis_testing::check_linear;

    #[test]
    fn values() {
        for (text, expected) in [
            ("text/plain", "text/plain"),
            (" Text/HTML ; charset=x", "text/html"),
            ("text/plain (a comment)", "text/plain"),
            ("", ""),
            (";charset=x", ""),
        ] {
            assert_eq!(MimeParameters::read(text).value, expected, "{text:?}");
        }
    }

    #[test]
    fn parameters() {
        for (text, expected) in [
            ("a/b; name=x", Some("x")),
            ("a/b; NAME = \"x y\" ; z=1", Some("x y")),
            ("a/b; name=my file.doc; z=1", Some("my file.doc")),
            ("a/b; name=\"a;b\\\"c\"", Some("a;b\"c")),
            ("a/b; name=\"open", Some("open")),
            ("a/b; name=\"=?utf-8?q?=C3=A9?=\"", Some("é")),
            ("a/b; name*=utf-8'en'%c3%a9", Some("é")),
            ("a/b; name*=no%20charset", Some("no charset")),
            ("a/b; name*1=b; name*0=a", Some("ab")),
            ("a/b; name*0*=iso-8859-1''%e9; name*1=%; name*2*=%41%", Some("é%A%")),
            ("a/b; x; ; =; name", None),
            ("a/b; y=name", None),
            ("a/b", None),
        ] {
            assert_eq!(MimeParameters::read(text).get("name").as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn hostile_values_are_linear() {
        let units = ["f*0=;", "a=\"", ";", "=", "\\\"", "name*0*='';", "'", "%"];
        check_linear(&units, |text| drop(MimeParameters::read(&format!("a/b;{text}")).get("name")));
    }

    proptest! {
        #[test]
        fn never_panics(text in "([;=\"\\\\'%*0-9]|name|.){0,60}") {
            MimeParameters::read(&text).get("name");
        }
    }
}
