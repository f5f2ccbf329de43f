//! Different spellings of the same letters made one: what hides words from a filter, but not from a reader.

use crate::scan::next_foreign;
use std::iter;
use std::ops::Range;
use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// The text without disguise, made in `buffer` unless the text is that already.
///
/// * Invisible characters are removed: of no width, soft hyphens, marks of direction, variation selectors.
/// * Variants of a character become that character (Unicode's normalization form NFKC): wide, raised and
///   mathematical letters, ligatures, letters with separate accents.
/// * Letters of other scripts that look like ASCII letters become these, word by word, and only in words that
///   become all ASCII: a Russian word stays itself, `paypal` in Cyrillic letters becomes `paypal`. Short words
///   of nothing but look-alikes change too, always in the same way.
///
/// ASCII text is its own normal form, and normalizing again changes nothing. The result is at most eleven
/// times as long as the text.
///
/// ```
/// use tamis_tokenizer::normalize;
///
/// let mut buffer = String::new();
/// assert_eq!(normalize("v\u{456}agra, f\u{200b}re\u{ad}e \u{ff36}\u{ff29}\u{ff30}", &mut buffer), "viagra, free VIP");
/// assert_eq!(normalize("не спам", &mut buffer), "не спам");
/// ```
pub fn normalize<'a>(text: &'a str, buffer: &'a mut String) -> &'a str {
    if foreign_pieces(text).all(|piece| is_normal(&text[piece])) {
        return text;
    }
    buffer.clear();
    let (mut word, mut done) = (Word::at(0), 0);
    for piece in foreign_pieces(text) {
        word.take_ascii(&text[done..piece.start], buffer);
        done = piece.end;
        for c in text[piece].chars().filter(|&c| !is_invisible(c)).nfkc() {
            if !word.take(c) {
                word.end(buffer);
                word = Word::at(buffer.len() + c.len_utf8());
            }
            buffer.push(c);
        }
    }
    word.take_ascii(&text[done..], buffer);
    word.end(buffer);
    buffer
}

/// The runs of characters outside ASCII, each with the character before it, which may combine with them; with
/// one after them, ASCII does not.
fn foreign_pieces(text: &str) -> impl Iterator<Item = Range<usize>> {
    let (bytes, mut done) = (text.as_bytes(), 0);
    iter::from_fn(move || {
        let foreign = next_foreign(bytes, done);
        let start = foreign.saturating_sub(1).max(done);
        done = foreign + bytes[foreign..].iter().take_while(|byte| !byte.is_ascii()).count();
        (foreign < done).then_some(start..done)
    })
}

/// Whether there is nothing to do. False now and then when there is not.
fn is_normal(piece: &str) -> bool {
    let changes = |c: char| is_invisible(c) || look_alike(c).is_some();
    !piece.chars().any(changes) && is_nfkc_quick(piece.chars()) == IsNormalized::Yes
}

/// The word that the text made so far ends with.
struct Word {
    start: usize,
    has_look_alikes: bool,
    /// Whether all of it is ASCII or looks like it.
    looks_ascii: bool,
}

impl Word {
    fn at(start: usize) -> Word {
        Word { start, has_look_alikes: false, looks_ascii: true }
    }

    /// Makes `c` part of the word, if it can be. Marks are: they make a letter one that is not in ASCII.
    fn take(&mut self, c: char) -> bool {
        if c.is_ascii() {
            return c.is_ascii_alphanumeric();
        }
        let look_alike = look_alike(c).is_some();
        self.has_look_alikes |= look_alike;
        self.looks_ascii &= look_alike;
        c.is_alphanumeric() || is_combining_mark(c)
    }

    /// Appends ASCII to `text`, and makes of it what can be part of the word.
    fn take_ascii(&mut self, ascii: &str, text: &mut String) {
        let ends = |byte: &u8| !byte.is_ascii_alphanumeric();
        let end = ascii.bytes().position(|byte| ends(&byte)).unwrap_or(ascii.len());
        let (more, rest) = ascii.split_at(end);
        text.push_str(more);
        if !rest.is_empty() {
            self.end(text);
            text.push_str(rest);
            *self =
                Word::at(text.len() - rest.bytes().rev().position(|byte| ends(&byte)).unwrap_or_default());
        }
    }

    /// Folds the word, which `text` ends with.
    fn end(&self, text: &mut String) {
        if self.looks_ascii && self.has_look_alikes {
            let word = text.split_off(self.start);
            text.extend(word.chars().map(|c| look_alike(c).unwrap_or(c)));
        }
    }
}

/// Characters that are not seen, wherever they stand.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// The ASCII letter that a letter outside ASCII looks like.
fn look_alike(c: char) -> Option<char> {
    if matches!(c, '\0'..='\u{130}' | '\u{2000}'..='\u{a6ff}') {
        return None; // most there is
    }
    let at = LOOK_ALIKES.binary_search_by_key(&c, |&(letter, _)| letter).ok()?;
    Some(LOOK_ALIKES[at].1)
}

/// Letters by code point. Never from ASCII: the skeletons of UTS #39, which also make `rn` of `m` and `l` of
/// `1`, merge words that readers tell apart.
#[rustfmt::skip]
const LOOK_ALIKES: &[(char, char)] = &[
    // Latin
    ('ı', 'i'), ('ɑ', 'a'), ('ɡ', 'g'), ('ɢ', 'g'), ('ɪ', 'i'), ('ɴ', 'n'), ('ʀ', 'r'), ('ʏ', 'y'),
    ('ʙ', 'b'), ('ʜ', 'h'), ('ʟ', 'l'),
    // Greek
    ('Α', 'A'), ('Β', 'B'), ('Ε', 'E'), ('Ζ', 'Z'), ('Η', 'H'), ('Ι', 'I'), ('Κ', 'K'), ('Μ', 'M'),
    ('Ν', 'N'), ('Ο', 'O'), ('Ρ', 'P'), ('Τ', 'T'), ('Υ', 'Y'), ('Χ', 'X'), ('α', 'a'), ('γ', 'y'),
    ('η', 'n'), ('ι', 'i'), ('κ', 'k'), ('ν', 'v'), ('ο', 'o'), ('ρ', 'p'), ('υ', 'u'),
    ('χ', 'x'), ('ω', 'w'),
    // Cyrillic
    ('Ѕ', 'S'), ('І', 'I'), ('Ј', 'J'), ('А', 'A'), ('В', 'B'), ('Е', 'E'), ('К', 'K'), ('М', 'M'),
    ('Н', 'H'), ('О', 'O'), ('Р', 'P'), ('С', 'C'), ('Т', 'T'), ('У', 'Y'), ('Х', 'X'), ('а', 'a'),
    ('е', 'e'), ('к', 'k'), ('о', 'o'), ('р', 'p'), ('с', 'c'), ('у', 'y'), ('х', 'x'), ('ѕ', 's'),
    ('і', 'i'), ('ј', 'j'), ('Ѵ', 'V'), ('ѵ', 'v'), ('Ү', 'Y'), ('ү', 'y'), ('Һ', 'h'), ('һ', 'h'),
    ('Ӏ', 'I'), ('ӏ', 'l'), ('Ԁ', 'd'), ('ԁ', 'd'), ('Ԛ', 'Q'), ('ԛ', 'q'), ('Ԝ', 'W'), ('ԝ', 'w'),
    // Armenian
    ('Ս', 'U'), ('Տ', 'S'), ('Օ', 'O'), ('հ', 'h'), ('ո', 'n'), ('ս', 'u'), ('օ', 'o'),
    // Cherokee
    ('Ꭰ', 'D'), ('Ꭱ', 'R'), ('Ꭲ', 'T'), ('Ꭵ', 'i'), ('Ꭹ', 'Y'), ('Ꭺ', 'A'), ('Ꭻ', 'J'), ('Ꭼ', 'E'),
    ('Ꮃ', 'W'), ('Ꮇ', 'M'), ('Ꮋ', 'H'), ('Ꮐ', 'G'), ('Ꮓ', 'Z'), ('Ꮢ', 'R'), ('Ꮤ', 'W'), ('Ꮥ', 'S'),
    ('Ꮩ', 'V'), ('Ꮪ', 'S'), ('Ꮮ', 'L'), ('Ꮯ', 'C'), ('Ꮲ', 'P'), ('Ꮶ', 'K'), ('Ꮷ', 'd'), ('Ᏻ', 'G'),
    ('Ᏼ', 'B'),
    // Latin
    ('ᴀ', 'a'), ('ᴄ', 'c'), ('ᴅ', 'd'), ('ᴇ', 'e'), ('ᴊ', 'j'), ('ᴋ', 'k'), ('ᴍ', 'm'), ('ᴏ', 'o'),
    ('ᴘ', 'p'), ('ᴛ', 't'), ('ᴜ', 'u'), ('ᴠ', 'v'), ('ᴡ', 'w'), ('ᴢ', 'z'), ('ꜰ', 'f'), ('ꜱ', 's'),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::text;
    use proptest::prelude::*;

    fn normal(text: &str) -> String {
        normalize(text, &mut "left over".to_owned()).to_owned()
    }

    fn check(text: &str, expected: &str) {
        assert_eq!(normal(text), expected, "{text:?}");
    }

    #[test]
    fn the_table_is_sorted_and_leads_from_other_scripts_to_ascii_letters() {
        assert!(LOOK_ALIKES.is_sorted_by(|a, b| a.0 < b.0));
        for &(letter, ascii) in LOOK_ALIKES {
            assert!(
                !letter.is_ascii() && letter.is_alphanumeric() && ascii.is_ascii_alphabetic(),
                "{letter}"
            );
            assert_eq!(letter.nfkc().collect::<String>(), letter.to_string());
            check(&letter.to_string(), &ascii.to_string());
        }
    }

    #[test]
    fn look_alikes() {
        check("раураl РАУРАL", "paypal PAYPAL");
        check("ⅤіɑɡRа, 𝗩𝗶𝗮𝗴𝗿𝗮!", "ViagRa, Viagra!");
        check("οnline сasino_Ꮯasino", "online casino_Casino");
        check("սոеһօ", "uneho");
        check("x1е2 е", "x1e2 e");
        // not all of it looks like ASCII: no letter of it changes
        check("раураля pаypаlж е\u{301}", "раураля pаypаlж е\u{301}");
    }

    #[test]
    fn invisible_characters() {
        check("f\u{200b}r\u{ad}e\u{2060}e\u{fe0f}", "free");
        check("\u{feff}\u{202e}\u{e0041}\u{3164}\u{ffa0}", "");
        check("e\u{200d}\u{301}", "é"); // accents meet their letters once nothing stands between
        check("р\u{200b}ау", "pay");
    }

    #[test]
    fn variants_of_characters() {
        check("ＦＲＥＥ　１００％ ﬁne ① x² e\u{301}", "FREE 100% fine 1 x2 é");
        check("ｶﾞ", "ガ");
    }

    #[test]
    fn sentences_stay() {
        for text in [
            "",
            "plain ASCII: m rn 1 l I 0 O\0\r\n",
            "Быстрая коричневая лиса, ещё раз",
            "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία",
            "快速的棕色狐狸跳过懒狗。",
            "すばしっこい茶色の狐",
            "Voilà l’été déjà — « où ça ? »",
            "Grüße aus Österreich: 10 €",
            "Բարեւ Ձեզ",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn every_character() {
        for c in '\0'..=char::MAX {
            let once = normal(&c.to_string());
            assert_eq!(normal(&once), once, "{c:?}");
            assert!(once.len() <= 11 * c.len_utf8(), "{c:?}");
        }
    }

    #[test]
    fn hostile_texts_are_linear() {
        for unit in
            ["\u{301}", "a\u{301}", "\u{316}\u{301}", "\u{fdfa}", "\u{200b}", "е", "еa", "\u{1100}\u{1161}"]
        {
            normal(&unit.repeat(1_000_000 / unit.len()));
        }
    }

    /// The whole text at once, a character after the other.
    fn plainly(text: &str) -> String {
        let (mut out, mut word) = (String::new(), Word::at(0));
        for c in text.chars().filter(|&c| !is_invisible(c)).nfkc() {
            if !word.take(c) {
                word.end(&mut out);
                word = Word::at(out.len() + c.len_utf8());
            }
            out.push(c);
        }
        word.end(&mut out);
        out
    }

    proptest! {
        #[test]
        fn equals_a_plain_pass(
            text in prop_oneof![text(), "[ -~é\u{301}]*", "([аеоpaxА-Яα-ω\u{301}\u{327}\u{200b}\u{a0}]|[ -~]{0,9}){0,20}"]
        ) {
            prop_assert_eq!(normal(&text), plainly(&text));
        }

        #[test]
        fn again_changes_nothing(text in prop_oneof![text(), ".*", "[аеоpaxА-Яα-ω\u{301}\u{327}\u{200b}\u{ad} ]{0,20}"]) {
            prop_assert_eq!(normal(&normal(&text)), normal(&text));
        }

        #[test]
        fn ascii_is_untouched(text in "[ -~\0\r\n\t]*") {
            prop_assert_eq!(normal(&text), text);
        }
    }
}
