//! Rich Text Format: groups of text and control words.

use std::collections::HashMap;
use std::mem;

use encoding_rs::{Encoding, WINDOWS_1252};

use crate::limits::Reading;

/// What becomes of a group's text.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Destination {
    #[default]
    Text,
    Title,
    /// The code of a field.
    Code,
    /// The table of fonts.
    Fonts,
    Nothing,
}

/// What a group changes for itself.
#[derive(Clone, Copy, Default)]
struct Group {
    destination: Destination,
    is_hidden: bool,
    /// Characters behind a Unicode character that stand for it in older readers; by default 1.
    fallback: Option<usize>,
    encoding: Option<&'static Encoding>,
}

#[derive(Default)]
struct Reader<'a> {
    rest: &'a [u8],
    group: Group,
    outer: Vec<Group>,
    /// The encodings of fonts, by number, and the font that is being described.
    fonts: HashMap<i32, &'static Encoding>,
    font: i32,
    /// The encoding of fonts without their own.
    encoding: Option<&'static Encoding>,
    /// Characters that are still to be skipped.
    skipped: usize,
    /// Text that is not decoded yet.
    pending: Vec<u8>,
    /// The first half of a character beyond the first 65,536.
    high: u16,
    code: String,
    reading: Reading,
}

/// Reads an RTF document.
pub(crate) fn read_rtf(bytes: &[u8], reading: &mut Reading) {
    let mut reader = Reader { rest: bytes, reading: mem::take(reading), ..Reader::default() };
    reader.read();
    reader.flush();
    *reading = reader.reading;
}

impl Reader<'_> {
    fn read(&mut self) {
        const DEEPEST: usize = 10_000;
        while let Some((byte, rest)) = self.rest.split_first()
            && !self.reading.is_full()
        {
            self.rest = rest;
            match byte {
                b'{' if self.outer.len() == DEEPEST => {
                    self.reading.output.is_cut = true;
                    break;
                }
                b'{' => {
                    self.flush();
                    self.outer.push(self.group);
                    if let Some(rest) = rest.trim_ascii_start().strip_prefix(br"\*") {
                        self.rest = rest;
                        self.group.destination = Destination::Nothing;
                    }
                }
                b'}' => self.close(),
                b'\\' => self.read_control(),
                b'\r' | b'\n' | 0 => (),
                _ => self.push_byte(*byte),
            }
        }
    }

    /// Ends a group.
    fn close(&mut self) {
        self.flush();
        self.skipped = 0;
        if self.group.destination == Destination::Code {
            self.reading.push_field(&mem::take(&mut self.code));
        }
        self.group = self.outer.pop().unwrap_or(self.group);
    }

    /// Reads a control word or symbol, behind its backslash.
    fn read_control(&mut self) {
        let count = |bytes: &[u8], most: usize, is_one: fn(&u8) -> bool| {
            bytes.iter().take(most).take_while(|b| is_one(b)).count()
        };
        let (word, rest) = self.rest.split_at(count(self.rest, 32, u8::is_ascii_alphabetic));
        let Some((symbol, _)) = rest.split_first() else { return self.rest = rest };
        if word.is_empty() {
            self.rest = &rest[1..];
            return self.read_symbol(*symbol);
        }
        let signed = usize::from(*symbol == b'-');
        let digits = count(&rest[signed..], 10, u8::is_ascii_digit);
        let (number, rest) = rest.split_at(if digits > 0 { signed + digits } else { 0 });
        self.rest = rest.strip_prefix(b" ").unwrap_or(rest);
        let number = str::from_utf8(number).ok().and_then(|number| number.parse().ok());
        self.read_word(str::from_utf8(word).unwrap_or_default(), number);
    }

    fn read_symbol(&mut self, symbol: u8) {
        match symbol {
            b'\'' => {
                let digits = self.rest.get(..2).and_then(|digits| str::from_utf8(digits).ok());
                if let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
                    self.rest = &self.rest[2..];
                    self.push_byte(byte);
                }
            }
            b'~' => self.push_byte(b' '),
            b'_' => self.push_byte(b'-'),
            b'\r' | b'\n' => self.push_break('\n'),
            b'{' | b'}' | b'\\' => self.push_byte(symbol),
            _ => (),
        }
    }

    fn read_word(&mut self, word: &str, number: Option<i32>) {
        let value = number.unwrap_or(0);
        let count = usize::try_from(value).unwrap_or(0);
        match word {
            "u" => return self.push_unit(value),
            "bin" => return self.rest = self.rest.get(count..).unwrap_or_default(),
            _ if self.skipped > 0 => return self.skipped -= 1,
            _ => self.flush(),
        }
        match word {
            "par" | "line" | "row" | "nestrow" | "sect" | "page" | "column" => self.push_break('\n'),
            "tab" | "cell" | "nestcell" => self.push_break('\t'),
            "uc" => self.group.fallback = Some(count),
            "ansicpg" => self.encoding = encoding_of(value),
            "f" if self.group.destination == Destination::Fonts => self.font = value,
            "f" => self.group.encoding = self.fonts.get(&value).copied(),
            "fcharset" if self.fonts.len() < 10_000 => {
                self.fonts.extend(encoding_of(value).map(|encoding| (self.font, encoding)));
            }
            "v" | "deleted" => self.group.is_hidden = number != Some(0),
            "plain" => (self.group.is_hidden, self.group.encoding) = (false, None),
            "fonttbl" => self.group.destination = Destination::Fonts,
            "fldinst" => self.group.destination = Destination::Code,
            "title" => self.group.destination = Destination::Title,
            // a text box, which stands in a group that older readers ignore
            "shptxt" => self.group.destination = Destination::Text,
            _ if SILENT.contains(&word) => self.group.destination = Destination::Nothing,
            _ => CHARACTERS.iter().filter(|(name, _)| *name == word).for_each(|(_, text)| self.push(text)),
        }
    }

    /// Adds a byte of text in the encoding of its font.
    fn push_byte(&mut self, byte: u8) {
        match self.group.destination {
            _ if self.skipped > 0 => self.skipped -= 1,
            Destination::Nothing | Destination::Fonts => (),
            _ => self.pending.push(byte),
        }
    }

    /// Adds a character, or one of two halves, by its number in UTF-16.
    fn push_unit(&mut self, number: i32) {
        self.flush();
        self.skipped = self.group.fallback.unwrap_or(1);
        let units = [mem::take(&mut self.high), (number & 0xffff) as u16];
        match units[1] {
            0xd800..0xdc00 => self.high = units[1],
            0xdc00..0xe000 => self.push(&String::from_utf16_lossy(&units)),
            _ => self.push(&String::from_utf16_lossy(&units[1..])),
        }
    }

    /// Adds the text that is still to be decoded.
    fn flush(&mut self) {
        if !self.pending.is_empty() {
            let pending = mem::take(&mut self.pending);
            let encoding = self.group.encoding.or(self.encoding).unwrap_or(WINDOWS_1252);
            self.push(&encoding.decode_without_bom_handling(&pending).0);
        }
    }

    fn push(&mut self, text: &str) {
        match self.group.destination {
            _ if self.group.is_hidden => (),
            Destination::Text => self.reading.push(text),
            Destination::Title => self.reading.output.title.get_or_insert_default().push_str(text),
            Destination::Code if self.code.len() < 4096 => self.code.push_str(text),
            _ => (),
        }
    }

    fn push_break(&mut self, space: char) {
        self.flush();
        if self.group.destination == Destination::Text && !self.group.is_hidden {
            self.reading.push_break(space);
        }
    }
}

/// Control words that are characters.
#[rustfmt::skip]
const CHARACTERS: &[(&str, &str)] = &[
    ("emdash", "\u{2014}"), ("endash", "\u{2013}"), ("lquote", "\u{2018}"), ("rquote", "\u{2019}"), ("ldblquote", "\u{201c}"),
    ("rdblquote", "\u{201d}"), ("bullet", "\u{2022}"), ("emspace", " "), ("enspace", " "), ("qmspace", " "),
];

/// Control words whose group has no text.
#[rustfmt::skip]
const SILENT: &[&str] = &[
    "colortbl", "stylesheet", "info", "pict", "nonshppict", "objdata", "listtext", "pntext", "filetbl", "author", "operator",
    "xe", "tc", "leveltext", "levelnumbers", "nonesttables",
];

/// The encoding of a character set of fonts, or of a code page of Windows.
fn encoding_of(number: i32) -> Option<&'static Encoding> {
    #[rustfmt::skip]
    const CHARSETS: &[(i32, &str)] = &[
        (77, "macintosh"), (128, "shift_jis"), (129, "euc-kr"), (134, "gbk"), (136, "big5"), (161, "windows-1253"),
        (162, "windows-1254"), (163, "windows-1258"), (177, "windows-1255"), (178, "windows-1256"), (186, "windows-1257"),
        (204, "windows-1251"), (222, "windows-874"), (238, "windows-1250"), (932, "shift_jis"), (936, "gbk"), (950, "big5"),
        (10000, "macintosh"), (65001, "utf-8"),
    ];
    let known = CHARSETS
        .iter()
        .find(|(charset, _)| *charset == number)
        .map(|(_, label)| Encoding::for_label(label.as_bytes()));
    known.unwrap_or_else(|| Encoding::for_label(format!("windows-{number}").as_bytes()))
}
