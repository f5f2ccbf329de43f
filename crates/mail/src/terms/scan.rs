//! Finds hosts, addresses and shapes in text, each in one pass.
use memchr::memchr_iter;
use tamis_tokenizer::bits::{BLOCK, bits, is_digit, is_letter};
use tamis_tokenizer::normalize_within;

/// Maximum length of a shape, in characters.
const LONGEST_SHAPE: usize = 40;

/// Normalizes the text of a link or an address. No real one gets twice as long, whereas ligatures could make a text
/// eleven times as long.
pub(super) fn normalized<'a>(text: &'a str, buffer: &'a mut String) -> &'a str {
    normalize_within(text, 2 * text.len() + 64, buffer)
}

/// Appends the shape of a text: `A` for a run of upper-case ASCII letters, `a` for lower case, `0` for digits,
/// everything else as it is; truncated to 40 characters.
pub(super) fn push_shape(text: &str, out: &mut String) {
    let (mut last, mut shape, mut n) = (0, [0; LONGEST_SHAPE], 0);
    for byte in text.bytes() {
        // 0 for a non-ASCII byte
        let class = SHAPES[usize::from(byte)];
        if class == last && matches!(class, b'A' | b'a' | b'0') {
            continue;
        }
        match shape.get_mut(n).filter(|_| class != 0) {
            Some(next) => *next = class,
            None if n == LONGEST_SHAPE => break,
            None => return push_shape_of_characters(text, out),
        }
        (last, n) = (class, n + 1);
    }
    out.push_str(str::from_utf8(&shape[..n]).unwrap_or_default());
}

/// The same for any text, character by character.
#[cold]
fn push_shape_of_characters(text: &str, out: &mut String) {
    let (mut last, mut left) = ('\0', LONGEST_SHAPE);
    for c in text.chars() {
        let class = if c.is_ascii() && c != '\0' { char::from(SHAPES[c as usize]) } else { c };
        if class == last && matches!(class, 'A' | 'a' | '0') {
            continue;
        }
        if left == 0 {
            return;
        }
        (last, left) = (class, left - 1);
        out.push(class);
    }
}

/// The shape of each ASCII character; 0 for NUL and other bytes.
static SHAPES: [u8; 256] = {
    let mut shapes = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        shapes[byte as usize] = match byte {
            b'A'..=b'Z' => b'A',
            b'a'..=b'z' => b'a',
            b'0'..=b'9' => b'0',
            _ => byte,
        };
        byte += 1;
    }
    shapes
};

/// A set of characters, with a table for ASCII.
pub(super) struct CharacterSet {
    /// False for bytes outside ASCII.
    ascii: [bool; 256],
    beyond: fn(char) -> bool,
}

impl CharacterSet {
    /// ASCII letters, digits and `signs`; `beyond` decides about non-ASCII characters.
    const fn letters_digits_and(signs: &[u8], beyond: fn(char) -> bool) -> CharacterSet {
        CharacterSet { ascii: ascii(signs, true), beyond }
    }

    /// All of ASCII except `others`; `beyond` decides about non-ASCII characters.
    pub(super) const fn all_but(others: &[u8], beyond: fn(char) -> bool) -> CharacterSet {
        let mut set = CharacterSet { ascii: ascii(others, false), beyond };
        let mut byte = 0;
        while byte < 128 {
            set.ascii[byte] = !set.ascii[byte];
            byte += 1;
        }
        set
    }

    pub(super) fn has(&self, c: char) -> bool {
        if c.is_ascii() { self.ascii[c as usize] } else { (self.beyond)(c) }
    }
}

/// Which bytes are in `signs` or, with `letters_and_digits`, are letters or digits.
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

pub(super) static OF_NUMBER: CharacterSet = CharacterSet::letters_digits_and(b"._", char::is_alphanumeric);
static OF_DOMAIN: CharacterSet = CharacterSet::letters_digits_and(b"._-", char::is_alphanumeric);
static OF_LOCAL: CharacterSet = CharacterSet::letters_digits_and(b"._-+=", char::is_alphanumeric);

/// Length of the prefix of characters in the set, in bytes.
pub(super) fn prefix(text: &str, set: &CharacterSet) -> usize {
    let ascii = text.bytes().position(|byte| !set.ascii[usize::from(byte)]).unwrap_or(text.len());
    let length = match text.as_bytes().get(ascii) {
        Some(byte) if !byte.is_ascii() => text.len() - text[ascii..].trim_start_matches(|c| set.has(c)).len(),
        _ => ascii,
    };
    #[cfg(test)]
    tamis_testing::step(length);
    length
}

/// Start of the suffix of characters in the set.
fn suffix(text: &str, set: &CharacterSet) -> usize {
    let start = match text.as_bytes().iter().rposition(|byte| !set.ascii[usize::from(*byte)]) {
        Some(last) if !text.as_bytes()[last].is_ascii() => {
            text[..=last].trim_end_matches(|c| set.has(c)).len()
        }
        last => last.map_or(0, |last| last + 1),
    };
    #[cfg(test)]
    tamis_testing::step(text.len() - start);
    start
}

/// Calls `each` with the first `most` maximal runs of letters and digits.
pub(super) fn words<'t>(text: &'t str, most: usize, mut each: impl FnMut(&'t str)) {
    let (mut left, mut last, mut start, mut inside) = (most, 0, 0, false);
    let is_in_word = |byte: u8| is_letter(byte) || is_digit(byte) || byte >= 0x80;
    // the last block has fewer than 64 bytes of text, so that zeros end the last word
    for offset in (0..=text.len()).step_by(BLOCK) {
        #[cfg(test)]
        tamis_testing::step(BLOCK);
        let rest = &text.as_bytes()[offset..];
        let inner =
            rest.first_chunk().map_or_else(|| bits(&padded(rest), is_in_word), |b| bits(b, is_in_word));
        let mut edges = inner ^ (inner << 1 | last);
        last = inner >> (BLOCK - 1);
        while edges != 0 {
            let at = offset + edges.trailing_zeros() as usize;
            edges &= edges - 1;
            inside = !inside;
            if inside {
                start = at;
                continue;
            }
            let run = &text[start..at];
            #[cfg(test)]
            tamis_testing::step(run.len());
            let words = |each: &mut dyn FnMut(&'t str)| match run.is_ascii() {
                true => each(run),
                false => {
                    run.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).for_each(each)
                }
            };
            words(&mut |word| {
                if let Some(less) = left.checked_sub(1) {
                    left = less;
                    each(word);
                }
            });
            if left == 0 {
                return;
            }
        }
    }
}

/// Pads the bytes with zeros to a block.
pub(super) fn padded(bytes: &[u8]) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[..bytes.len()].copy_from_slice(bytes);
    block
}

/// The first `length` characters.
pub(super) fn cut(text: &str, length: usize) -> &str {
    if text.len() <= length {
        return text;
    }
    text.char_indices().nth(length).map_or(text, |(at, _)| &text[..at])
}

/// Trims ASCII bytes for which `is_such` holds.
pub(super) fn trim(text: &str, is_such: impl Fn(u8) -> bool) -> &str {
    let start = text.bytes().position(|byte| !is_such(byte)).unwrap_or(text.len());
    let end = text.bytes().rposition(|byte| !is_such(byte)).map_or(start, |last| last + 1);
    &text[start..end]
}

/// Calls `each` with the suffixes of a host name that have `least` to `most` labels, shortest first.
#[inline]
pub(super) fn suffixes<'t>(host: &'t str, least: usize, most: usize, mut each: impl FnMut(&'t str)) {
    let (mut labels, mut start, mut end) = (1, usize::MAX, host.len());
    // nearly all hosts are one block
    while start > 0 {
        start = end.saturating_sub(BLOCK);
        #[cfg(test)]
        tamis_testing::step(end - start);
        let mut dots = bits(&padded(&host.as_bytes()[start..end]), |byte| byte == b'.');
        while dots != 0 {
            let last = dots.ilog2() as usize;
            if labels >= least {
                each(&host[start + last + 1..]);
            }
            if labels == most {
                return;
            }
            labels += 1;
            dots &= !(1 << last);
        }
        end = start;
    }
    if labels >= least {
        each(host);
    }
}

fn last_dot(bytes: &[u8]) -> Option<usize> {
    bytes.iter().rposition(|byte| *byte == b'.')
}

/// The networks of an IPv4 address (its first two and three numbers) and the address itself.
pub(super) fn networks(ip: &str) -> impl Iterator<Item = &str> {
    dots(ip).skip(1).map(|dot| &ip[..dot]).chain([ip])
}

fn dots(text: &str) -> impl Iterator<Item = usize> {
    text.bytes().enumerate().filter(|(_, byte)| *byte == b'.').map(|(at, _)| at)
}

/// The longest host name at the start of a run, trimmed of signs: two labels or more, the last one of letters.
pub(super) fn host(run: &str) -> Option<&str> {
    let run = trim(run, |byte| matches!(byte, b'.' | b'-'));
    let mut end = run.len();
    while let Some(dot) = last_dot(&run.as_bytes()[..end]) {
        let last = &run.as_bytes()[dot + 1..end];
        #[cfg(test)]
        tamis_testing::step(1 + last.len());
        if last.len() >= 2 && last.iter().all(u8::is_ascii_alphabetic) {
            return Some(&run[..end]);
        }
        end = dot;
    }
    None
}

/// Whether a host is an IPv4 address.
pub(super) fn is_ip(host: &str) -> bool {
    // nearly no host begins with a digit
    host.starts_with(|c: char| c.is_ascii_digit()) && ip_length(host) == Some(host.len())
}

/// Length of the IPv4 address at the start of a run.
pub(super) fn ip_length(run: &str) -> Option<usize> {
    let mut length = 0;
    for label in 0..4 {
        let rest = &run.as_bytes()[length..];
        let digits = rest.iter().take(4).take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=3).contains(&digits) {
            return None;
        }
        length += digits;
        match rest.get(digits) {
            Some(b'.') => length += usize::from(label < 3),
            None if label == 3 => {}
            _ => return None,
        }
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

/// Reference implementations, for tests.
#[cfg(test)]
pub(super) mod plain {
    use super::*;

    pub(in super::super) fn hosts(text: &str) -> Vec<&str> {
        let runs = text.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '_' | '-'));
        let has_letter =
            |run: &&str| run.as_bytes().windows(2).any(|w| w[0] == b'.' && w[1].is_ascii_alphabetic());
        runs.filter(has_letter).flat_map(|run| run.split("..")).filter_map(host).collect()
    }

    pub(in super::super) fn ips(text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        for run in text.split(|c| !OF_NUMBER.has(c)) {
            let mut labels: Vec<_> = run.split('.').collect();
            let is_number = |label: &&str| label.len() <= 3 && label.parse::<u16>().is_ok();
            while labels.len() >= 4 {
                let mut taken = 1;
                if labels[..4].iter().all(is_number) {
                    let start = labels[0].as_ptr() as usize - text.as_ptr() as usize;
                    let length = labels[..4].iter().map(|label| label.len()).sum::<usize>() + 3;
                    found.push(&text[start..start + length]);
                    taken = 4;
                }
                labels.drain(..taken);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tamis_testing::check_linear;

    #[test]
    fn ligatures_do_not_make_ten_times_as_much_of_a_link() {
        let mut buffer = String::new();
        assert_eq!(normalized("½.example/\u{fdfb}", &mut buffer), "1⁄2.example/جل جلاله");
        let text = "\u{fdfa}".repeat(1000);
        assert!(normalized(&text, &mut buffer).len() <= 2 * text.len() + 64);
    }

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
        let list = |host, least, most| {
            let mut list = Vec::new();
            suffixes(host, least, most, |suffix| list.push(suffix));
            list
        };
        assert_eq!(list("a.b.co.uk", 1, 5), ["uk", "co.uk", "b.co.uk", "a.b.co.uk"]);
        assert_eq!(list("a.b.co.uk", 2, 3), ["co.uk", "b.co.uk"]);
        assert_eq!(list("localhost", 1, 4), ["localhost"]);
        assert_eq!(list("localhost", 2, 4), [""; 0]);
        assert_eq!(networks("10.1.2.3").collect::<Vec<_>>(), ["10.1", "10.1.2", "10.1.2.3"]);
        assert_eq!((cut("añb", 2), cut("añb", 3), cut("", 0)), ("añ", "añb", ""));
    }

    #[test]
    fn whether_hosts_are_internet_addresses() {
        assert!(is_ip("10.1.2.3") && !is_ip("10.1.2.3.4") && !is_ip("10.1.2") && !is_ip(""));
        assert!(!is_ip("1.2.3.4x") && !is_ip("1.2.3.1234") && !is_ip("1..2.3"));
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

    proptest! {
        #[test]
        fn suffixes_begin_behind_dots(host in "([a-z]{0,40}|[.]|\u{e9}){0,12}", least in 1..3_usize, most in 3..6_usize) {
            let starts = host.rmatch_indices('.').map(|(dot, _)| dot + 1).chain([0]);
            let expected: Vec<_> = starts.take(most).skip(least - 1).map(|start| &host[start..]).collect();
            let mut found = Vec::new();
            suffixes(&host, least, most, |suffix| found.push(suffix));
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn shapes_of_bytes_are_those_of_characters(text in "([A-Z]{1,3}|[a-z]{1,3}|[0-9]|[-. <]|\\PC){0,50}|[a-z.]{0,90}\0?\u{e9}?") {
            let mut expected = String::new();
            push_shape_of_characters(&text, &mut expected);
            prop_assert_eq!(shape(&text), expected);
        }

        #[test]
        fn words_are_runs_of_letters_and_digits(
            text in "([a-zA-Z0-9]{1,40}|[ -/:-@]{1,70}|\u{e9}|\u{201c}|\\PC){0,20}",
            most in 0..9_usize,
        ) {
            let runs = text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty());
            let mut found = Vec::new();
            words(&text, most, |word| found.push(word));
            prop_assert_eq!(found, runs.take(most).collect::<Vec<_>>());
        }
    }

    #[test]
    fn hostile_texts_are_linear() {
        let units = ["@", ".", "a@", "@a", "a.", "1.", "1.2.3.", "-", "..", "a", "é@", "1"];
        check_linear(&units, |text| addresses(text).for_each(drop));
        check_linear(&units, |text| words(text, usize::MAX, drop));
        check_linear(&units, |text| suffixes(text, 1, usize::MAX, drop));
    }
}
