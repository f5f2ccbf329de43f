//! What senders do to hide a message from a filter, done to any message, the same way every time.

/// A small generator of random numbers (splitmix64): the same seed, the same attack.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// A way of writing a word so that people read it and filters do not.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Disguise {
    /// As it is.
    None,
    /// A zero-width character within.
    ZeroWidth,
    /// Full-width letters.
    FullWidth,
    /// Cyrillic letters that look the same.
    Cyrillic,
    /// Mathematical letters, bold without serifs.
    Mathematical,
    /// Small capitals of phonetics.
    SmallCapitals,
    /// Letters in circles.
    Circled,
    /// White letters on black squares.
    Squared,
    /// Letters in parentheses, one character each.
    Parenthesized,
    /// Regional indicators with nothing visible between them, so that they form no flags.
    Regional,
    /// Every other letter Greek or Cyrillic, also such as only remind of it.
    Mixed,
    /// Struck through.
    StruckThrough,
    /// Four marks on every letter.
    Piled,
}

/// All ways.
#[rustfmt::skip]
pub const DISGUISES: [Disguise; 13] = [
    Disguise::None, Disguise::ZeroWidth, Disguise::FullWidth, Disguise::Cyrillic, Disguise::Mathematical,
    Disguise::SmallCapitals, Disguise::Circled, Disguise::Squared, Disguise::Parenthesized, Disguise::Regional,
    Disguise::Mixed, Disguise::StruckThrough, Disguise::Piled,
];

/// Small capitals from A to Z.
const SMALL_CAPITALS: &str = "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡxʏᴢ";

/// Greek and Cyrillic letters that stand for those from a to z.
const STAND_INS: &str = "αвсԁεғԍнιјκӏмηορԛяѕτυνωхуz";

/// Letters and their Cyrillic look-alikes.
const LOOK_ALIKES: [(char, char); 19] = [
    ('a', 'а'),
    ('c', 'с'),
    ('e', 'е'),
    ('i', 'і'),
    ('j', 'ј'),
    ('o', 'о'),
    ('p', 'р'),
    ('s', 'ѕ'),
    ('x', 'х'),
    ('y', 'у'),
    ('A', 'А'),
    ('B', 'В'),
    ('C', 'С'),
    ('E', 'Е'),
    ('H', 'Н'),
    ('M', 'М'),
    ('O', 'О'),
    ('P', 'Р'),
    ('T', 'Т'),
];

/// The word with the letters of an alphabet whose capitals and small letters begin at these code points.
fn from(word: &str, capitals: u32, small: u32) -> String {
    let start = |c: char| if c.is_ascii_uppercase() { capitals } else { small };
    let letter = |c: char| char::from_u32(start(c) + u32::from(c.to_ascii_lowercase()) - u32::from('a'));
    word.chars().filter_map(letter).collect()
}

/// The letter at the place of `c` in a list from A to Z.
fn listed(letters: &str, c: char) -> char {
    letters.chars().nth(usize::from(c.to_ascii_lowercase() as u8 - b'a')).unwrap_or(c)
}

impl Disguise {
    fn word(self, word: &str, random: &mut Random) -> String {
        let letters = word.chars().count();
        match self {
            Disguise::None => word.to_owned(),
            Disguise::ZeroWidth => {
                let at = 1 + random.below(letters.saturating_sub(1));
                let hidden =
                    ['\u{200B}', '\u{200C}', '\u{200D}', '\u{2060}', '\u{FEFF}', '\u{AD}'][random.below(6)];
                let split = word.char_indices().nth(at).map_or(word.len(), |(at, _)| at);
                format!("{}{hidden}{}", &word[..split], &word[split..])
            }
            Disguise::FullWidth => {
                let wide = |c: char| {
                    if c.is_ascii_graphic() { char::from_u32(c as u32 + 0xFEE0).unwrap_or(c) } else { c }
                };
                word.chars().map(wide).collect()
            }
            Disguise::Cyrillic => {
                let alike = |c: char| {
                    LOOK_ALIKES.iter().find(|(latin, _)| *latin == c).map_or(c, |(_, alike)| *alike)
                };
                word.chars().map(alike).collect()
            }
            Disguise::Mathematical => from(word, 0x1d5d4, 0x1d5ee),
            Disguise::SmallCapitals => word.chars().map(|c| listed(SMALL_CAPITALS, c)).collect(),
            Disguise::Circled => from(word, 0x24b6, 0x24d0),
            Disguise::Squared => from(word, 0x1f170, 0x1f170),
            Disguise::Parenthesized => from(word, 0x1f110, 0x249c),
            Disguise::Regional => {
                let letters: Vec<_> = from(word, 0x1f1e6, 0x1f1e6).chars().map(String::from).collect();
                letters.join("\u{200b}")
            }
            Disguise::Mixed => {
                let every_other = |(at, c): (usize, char)| if at % 2 == 1 { listed(STAND_INS, c) } else { c };
                word.chars().enumerate().map(every_other).collect()
            }
            Disguise::StruckThrough => word.chars().map(|c| format!("{c}\u{336}")).collect(),
            Disguise::Piled => word.chars().map(|c| format!("{c}\u{31b}\u{316}\u{300}\u{350}")).collect(),
        }
    }

    /// Disguises 70 % of the words of two letters and more.
    pub fn text(self, text: &str, random: &mut Random) -> String {
        let mut out = String::with_capacity(text.len() * 2);
        let mut rest = text;
        while let Some(start) = rest.find(|c: char| c.is_ascii_alphabetic()) {
            out.push_str(&rest[..start]);
            rest = &rest[start..];
            let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            let word = &rest[..end];
            out.push_str(&if end > 1 && random.below(10) < 7 {
                self.word(word, random)
            } else {
                word.to_owned()
            });
            rest = &rest[end..];
        }
        out + rest
    }
}

/// The header block of a message without the fields that describe its body, and those fields, and the body.
fn taken_apart(raw: &[u8]) -> (Vec<u8>, Vec<u8>, &[u8]) {
    let (mut header, mut content, mut at) = (Vec::new(), Vec::new(), 0);
    let mut of_content = false;
    while at < raw.len() {
        let end = raw[at..].iter().position(|b| *b == b'\n').map_or(raw.len(), |n| at + n + 1);
        let line = &raw[at..end];
        at = end;
        if line == b"\n" || line == b"\r\n" {
            break;
        }
        if !line.starts_with(b" ") && !line.starts_with(b"\t") {
            let name = line.split(|b| *b == b':').next().unwrap_or_default().to_ascii_lowercase();
            of_content = name.starts_with(b"content-") || name == b"mime-version";
        }
        if of_content { &mut content } else { &mut header }.extend_from_slice(line);
    }
    (header, content, &raw[at..])
}

/// The message with its text, read out and disguised, as plain UTF-8, its subject too.
pub fn disguised(raw: &[u8], disguise: Disguise, random: &mut Random) -> Vec<u8> {
    let message = tamis_mail::Message::parse(raw, &Default::default());
    let (header, _, _) = taken_apart(raw);
    let mut out = Vec::new();
    let mut in_subject = false;
    for line in header.split_inclusive(|b| *b == b'\n') {
        if !line.starts_with(b" ") && !line.starts_with(b"\t") {
            in_subject = line.len() >= 8 && line[..8].eq_ignore_ascii_case(b"subject:");
        }
        if !in_subject {
            out.extend_from_slice(line);
        }
    }
    let subject = disguise.text(message.subject(), random);
    let body = disguise.text(&message.body(), random);
    let rest = format!(
        "Subject: {subject}\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n{body}"
    );
    out.extend_from_slice(rest.as_bytes());
    out
}

/// The message, whole, between two stretches of other text.
pub fn surrounded(raw: &[u8], before: &str, after: &str) -> Vec<u8> {
    let (header, content, body) = taken_apart(raw);
    let mut out = header;
    let text = |text: &str| {
        format!(
            "\n--wrapped\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n{text}"
        )
    };
    out.extend_from_slice(b"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=wrapped\n\n");
    out.extend_from_slice(text(before).as_bytes());
    out.extend_from_slice(b"\n--wrapped\n");
    out.extend_from_slice(&content);
    out.extend_from_slice(b"\n");
    out.extend_from_slice(body);
    out.extend_from_slice(text(after).as_bytes());
    out.extend_from_slice(b"\n--wrapped--\n");
    out
}

/// About `size` bytes of the bodies of other messages, beginning with a random one.
pub fn other_text(messages: &[Vec<u8>], size: usize, random: &mut Random) -> String {
    let mut text = String::new();
    let start = random.below(messages.len());
    for raw in messages.iter().cycle().skip(start).take(messages.len()) {
        text.push_str(&tamis_mail::Message::parse(raw, &Default::default()).body());
        text.push('\n');
        if text.len() >= size {
            break;
        }
    }
    text.truncate(text.floor_char_boundary(size));
    text
}
