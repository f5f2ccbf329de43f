//! Rich Text Format: groups of text and control words.

use std::collections::HashMap;

use encoding_rs::{Encoding, MACINTOSH, WINDOWS_1252};

use crate::limits::Reading;

/// What becomes of a group's text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Destination {
    Text,
    Title,
    /// The code of a field.
    Code,
    /// The table of fonts.
    Fonts,
    Nothing,
}

/// What a group changes for itself.
#[derive(Clone, Copy)]
struct Group {
    destination: Destination,
    is_hidden: bool,
    /// Characters that stand behind a Unicode character for older readers.
    fallback: usize,
    encoding: Option<&'static Encoding>,
}

struct Reader<'a> {
    rest: &'a [u8],
    group: Group,
    outer: Vec<Group>,
    /// The encodings of fonts, by number.
    fonts: HashMap<i32, &'static Encoding>,
    font: i32,
    /// The encoding of fonts without their own.
    encoding: &'static Encoding,
    /// Characters that are still to be skipped.
    skipped: usize,
    /// Text that is not decoded yet.
    pending: Vec<u8>,
    /// The first half of a character beyond the first 65,536.
    high: u16,
    code: String,
    reading: &'a mut Reading,
}

/// Reads an RTF document.
pub(crate) fn read_rtf(bytes: &[u8], reading: &mut Reading) {
    let group = Group { destination: Destination::Text, is_hidden: false, fallback: 1, encoding: None };
    let mut reader = Reader {
        rest: bytes,
        group,
        outer: Vec::new(),
        fonts: HashMap::new(),
        font: 0,
        encoding: WINDOWS_1252,
        skipped: 0,
        pending: Vec::new(),
        high: 0,
        code: String::new(),
        reading,
    };
    reader.read();
    reader.flush();
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
            self.reading.push_field(&std::mem::take(&mut self.code));
        }
        self.group = self.outer.pop().unwrap_or(self.group);
    }

    /// Reads a control word or symbol, behind its backslash.
    fn read_control(&mut self) {
        let letters = self.rest.iter().take(32).take_while(|byte| byte.is_ascii_alphabetic()).count();
        let (word, rest) = self.rest.split_at(letters);
        if letters == 0 {
            let Some((symbol, rest)) = self.rest.split_first() else { return };
            self.rest = rest;
            return self.read_symbol(*symbol);
        }
        let signed = rest.iter().take(1).filter(|byte| **byte == b'-').count();
        let digits = rest[signed..].iter().take(10).take_while(|byte| byte.is_ascii_digit()).count();
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
            b'*' => self.group.destination = Destination::Nothing,
            b'~' => self.push_byte(b' '),
            b'_' => self.push_byte(b'-'),
            b'\r' | b'\n' => self.push_break('\n'),
            b'{' | b'}' | b'\\' => self.push_byte(symbol),
            _ => (),
        }
    }

    fn read_word(&mut self, word: &str, number: Option<i32>) {
        let count = || usize::try_from(number.unwrap_or(0)).unwrap_or(0);
        match word {
            "u" => return self.push_unit(number.unwrap_or(0)),
            "bin" => return self.rest = self.rest.get(count()..).unwrap_or_default(),
            _ if self.skipped > 0 => return self.skipped -= 1,
            _ => self.flush(),
        }
        match word {
            "par" | "line" | "row" | "nestrow" | "sect" | "page" | "column" => self.push_break('\n'),
            "tab" | "cell" | "nestcell" => self.push_break('\t'),
            "emspace" | "enspace" | "qmspace" => self.push_break(' '),
            "emdash" => self.push("\u{2014}"),
            "endash" => self.push("\u{2013}"),
            "lquote" => self.push("\u{2018}"),
            "rquote" => self.push("\u{2019}"),
            "ldblquote" => self.push("\u{201c}"),
            "rdblquote" => self.push("\u{201d}"),
            "bullet" => self.push("\u{2022}"),
            "uc" => self.group.fallback = count(),
            "ansicpg" => self.encoding = encoding_of(number.unwrap_or(0)),
            "mac" => self.encoding = MACINTOSH,
            "v" | "deleted" => self.group.is_hidden = number != Some(0),
            "plain" => (self.group.is_hidden, self.group.encoding) = (false, None),
            "fonttbl" => self.group.destination = Destination::Fonts,
            "fldinst" => self.group.destination = Destination::Code,
            "title" => self.group.destination = Destination::Title,
            // a text box, which stands in a group that older readers ignore
            "shptxt" => self.group.destination = Destination::Text,
            "colortbl" | "stylesheet" | "info" | "pict" | "nonshppict" | "objdata" | "listtext"
            | "pntext" | "filetbl" | "author" | "operator" | "xe" | "tc" => {
                self.group.destination = Destination::Nothing
            }
            "f" if self.group.destination == Destination::Fonts => self.font = number.unwrap_or(0),
            "f" => self.group.encoding = self.fonts.get(&number.unwrap_or(0)).copied(),
            "fcharset" => self.set_charset(number.unwrap_or(0)),
            _ => (),
        }
    }

    /// Sets the character set of the font that is being described.
    fn set_charset(&mut self, charset: i32) {
        const PAGES: [(i32, i32); 14] = [
            (77, 10000),
            (128, 932),
            (129, 949),
            (134, 936),
            (136, 950),
            (161, 1253),
            (162, 1254),
            (163, 1258),
            (177, 1255),
            (178, 1256),
            (186, 1257),
            (204, 1251),
            (222, 874),
            (238, 1250),
        ];
        if let Some((_, page)) = PAGES.iter().find(|(number, _)| *number == charset)
            && self.fonts.len() < 10_000
        {
            self.fonts.insert(self.font, encoding_of(*page));
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
        self.skipped = self.group.fallback;
        let unit = (number & 0xffff) as u16;
        let high = std::mem::take(&mut self.high);
        match unit {
            0xd800..0xdc00 => self.high = unit,
            _ => {
                let units = [high, unit];
                let units = if (0xdc00..0xe000).contains(&unit) { &units[..] } else { &units[1..] };
                self.push(&String::from_utf16_lossy(units));
            }
        }
    }

    /// Adds the text that is still to be decoded.
    fn flush(&mut self) {
        if !self.pending.is_empty() {
            let pending = std::mem::take(&mut self.pending);
            self.push(&self.group.encoding.unwrap_or(self.encoding).decode_without_bom_handling(&pending).0);
            self.pending = pending;
            self.pending.clear();
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

/// The encoding of a code page of Windows.
fn encoding_of(page: i32) -> &'static Encoding {
    let label = match page {
        932 => "shift_jis".to_owned(),
        936 => "gbk".to_owned(),
        950 => "big5".to_owned(),
        65001 => "utf-8".to_owned(),
        10000 => "macintosh".to_owned(),
        _ => format!("windows-{page}"),
    };
    Encoding::for_label(label.as_bytes()).unwrap_or(WINDOWS_1252)
}
