//! Terms for letters that stand for others: `letters:math`, once for each kind in a text. The tokenizer makes plain words
//! of them.
use super::emitter::Emitter;
use tamis_tokenizer::bits::next_non_ascii;
use tamis_tokenizer::normalize;

/// Names of the kinds. A word with letters of the first kinds needs no proof; one of the others must become ASCII.
const KINDS: [&str; 8] = ["math", "circled", "small", "raised", "wide", "flags", "marks", "mixed"];
/// Number of kinds that need no proof.
const SURE: usize = 5;
/// Longest word that is normalized for a proof, in bytes: with forty marks on each of twenty letters.
const LONGEST: usize = 2000;

/// Emits a term for each kind of disguised letters in a text.
pub(super) fn terms(text: &str, out: &mut Emitter<'_>) {
    let (bytes, mut done, mut found, mut buffer) = (text.as_bytes(), 0, [false; KINDS.len()], String::new());
    loop {
        let non_ascii = next_non_ascii(bytes, done);
        if non_ascii == bytes.len() {
            break;
        }
        let rest = &text[non_ascii..];
        let end = non_ascii + rest.find(|c| !is_in_word(c)).unwrap_or(rest.len());
        #[cfg(test)]
        tamis_testing::step(end - done);
        if end > non_ascii {
            let before = bytes[done..non_ascii].iter().rev().take_while(|byte| byte.is_ascii_alphanumeric());
            word(&text[non_ascii - before.count()..end], &mut found, &mut buffer);
        }
        done = end + text[end..].chars().next().map_or(0, char::len_utf8);
    }
    KINDS.iter().zip(found).filter(|(_, found)| *found).for_each(|(kind, _)| out.term(&["letters:", kind]));
}

/// Adds the kinds of a word: those with two letters, or with one beside an ASCII letter.
fn word(word: &str, found: &mut [bool; KINDS.len()], buffer: &mut String) {
    let mut letters = [usize::from(word.contains(|c: char| c.is_ascii_alphabetic())); KINDS.len()];
    let has_ascii = letters[0] > 0;
    word.chars().filter_map(kind).for_each(|kind| letters[kind] += 1);
    let is = |kind: usize| letters[kind] > 1 && (kind + 1 < KINDS.len() || has_ascii);
    let is_proven =
        (SURE..KINDS.len()).any(is) && word.len() <= LONGEST && normalize(word, buffer).is_ascii();
    (0..if is_proven { KINDS.len() } else { SURE }).for_each(|kind| found[kind] |= is(kind));
}

fn is_in_word(c: char) -> bool {
    // what is invisible joins the letters around it
    c.is_alphanumeric()
        || kind(c).is_some()
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{fe0f}')
}

/// The position of a letter's kind in [`KINDS`].
#[rustfmt::skip]
fn kind(c: char) -> Option<usize> {
    Some(match c {
        '\0'..='\u{261}' => return None,
        '\u{1d400}'..='\u{1d7cb}' => 0,
        '\u{249c}'..='\u{24e9}' | '\u{1f110}'..='\u{1f129}' | '\u{1f130}'..='\u{1f149}' | '\u{1f150}'..='\u{1f169}'
        | '\u{1f170}'..='\u{1f189}' => 1,
        'ɢ' | 'ɪ' | 'ɴ' | 'ʀ' | 'ʏ' | 'ʙ' | 'ʜ' | 'ʟ' | '\u{1d00}'..='\u{1d2b}' | 'ꜰ' | 'ꜱ' | 'ꞯ' => 2,
        '\u{2b0}'..='\u{2b8}' | '\u{2e0}'..='\u{2e4}' | '\u{1d2c}'..='\u{1d6a}' | '\u{1d9b}'..='\u{1dbf}' | 'ⁱ' | 'ⁿ'
        | '\u{2090}'..='\u{209c}' => 3,
        'Ａ'..='Ｚ' | 'ａ'..='ｚ' => 4,
        '\u{1f1e6}'..='\u{1f1ff}' => 5,
        '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' => 6,
        // Greek to Armenian, Georgian, Cherokee, Canadian syllabics, Runic, Coptic, Tifinagh, Lisu, and dead scripts
        '\u{370}'..='\u{58f}' | '\u{10a0}'..='\u{10ff}' | '\u{13a0}'..='\u{167f}' | '\u{16a0}'..='\u{16ff}'
        | '\u{2c80}'..='\u{2d7f}' | '\u{a4d0}'..='\u{a4ff}' | '\u{a640}'..='\u{a69f}' | '\u{ab70}'..='\u{abbf}'
        | '\u{10280}'..='\u{118ff}' => 7,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::emitter::testing::terms as emitted;
    use tamis_testing::check_linear;

    fn check(text: &str, expected: &[&str]) {
        let terms = emitted(|out| terms(text, out));
        let expected: Vec<_> = expected.iter().map(|kind| format!("letters:{kind}")).collect();
        assert_eq!(terms, expected, "{text}");
    }

    #[test]
    fn kinds_of_disguise() {
        check("Buy 𝗩𝗶𝗮𝗴𝗿𝗮!", &["math"]);
        check("🔥𝓥iagra🔥 𝗩𝗶𝗮𝗴𝗿𝗮", &["math"]);
        check("Ⓥⓘⓐ", &["circled"]);
        check("🅥🅘🅐 or 🆅🅸🅰 or ⒱⒤⒜", &["circled"]);
        check("🅱\u{fe0f}itcoin", &["circled"]);
        check("ᴠɪᴀɢʀᴀ", &["small"]);
        check("ᵛⁱᵃᵍʳᵃ", &["raised"]);
        check("ＶＩＰ", &["wide"]);
        check("🇻🇮🇦🇬🇷🇦", &["flags"]);
        check("🇨\u{200b}🇦\u{200b}🇸\u{200b}🇮", &["flags"]);
        check("v\u{336}i\u{336}a\u{336}", &["marks"]);
        check("vіagra VIΛGRΛ pаypal", &["mixed"]);
        check("ᐯIᗩGᖇᗩ", &["mixed"]);
        check("𝗩𝗶𝗮, ᴠɪᴀ—vіa", &["math", "small", "mixed"]);
    }

    #[test]
    fn ordinary_text_has_none() {
        for text in [
            "plain ASCII",
            "Grüße, déjà vu: ﬁne; e\u{301}te\u{301}",
            "Русское слово, сорока; iPhoneом kΩ μm ΑΒΓ",
            "漢字 ABC한글 ไทย",
            "🇫🇷 🇩🇪🇮🇹 🅿\u{fe0f} Ⓐ ⒜ 1\u{20e3} 👍🏽 ™ ℃ № m² x³",
        ] {
            check(text, &[]);
        }
    }

    #[test]
    fn hostile_texts_are_linear() {
        let units = ["a", "é", "aé ", "Я", "aЯ", "𝗩", "v\u{336}", "🇻", "🇻\u{200b}", "ﷺ", "—", "a—"];
        check_linear(&units, |text| drop(emitted(|out| terms(text, out))));
    }
}
