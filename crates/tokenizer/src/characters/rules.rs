//! Character rules of tamis's own: unspaced scripts, invisible characters, look-alikes. The build script includes this
//! file too, so it must not use anything else from the crate.

/// Whether `c` belongs to Han, Hiragana, Katakana, Thai, Lao, Khmer or Myanmar. Decimal digits do not count.
///
/// Decided by block, so that the marks of these scripts count as well.
pub(crate) fn is_unspaced(c: char) -> bool {
    match c {
        '\0'..='\u{e00}' => false,
        // Thai and Lao
        '\u{e01}'..='\u{e4f}' | '\u{e80}'..='\u{ecf}' | '\u{edc}'..='\u{edf}' => true,
        // Myanmar and its extensions
        '\u{1000}'..='\u{103f}' | '\u{104a}'..='\u{108f}' | '\u{109a}'..='\u{109f}' => true,
        '\u{a9e0}'..='\u{a9ef}' | '\u{a9fa}'..='\u{a9ff}' | '\u{aa60}'..='\u{aa7f}' => true,
        // Khmer
        '\u{1780}'..='\u{17df}' => true,
        // Hiragana and Katakana, without the double hyphen and the middle dot
        '\u{3041}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' => true,
        '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}' | '\u{1aff0}'..='\u{1b16f}' => true,
        // Han: iteration mark, zero, numerals, then the ideographs
        '\u{3005}' | '\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3038}'..='\u{303b}' => true,
        '\u{2e80}'..='\u{2fdf}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' => true,
        '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' => true,
        _ => false,
    }
}

/// Whether `c` belongs to Thai, Lao, Khmer or Myanmar: [unspaced](is_unspaced) scripts that write each sound with a
/// sign, so that words are long.
pub(crate) fn is_unspaced_alphabet(c: char) -> bool {
    (c < '\u{1800}' || ('\u{a9e0}'..='\u{aa7f}').contains(&c)) && is_unspaced(c)
}

/// Whether `c` is a sign that has a meaning by itself and so is a word: emoji and other pictures, currencies, arrows.
/// Excludes `¢`, `¤` and `¥`: in mail they are mostly bytes of another charset, and they made a filter of
/// SpamAssassin's corpus worse.
pub(crate) fn is_sign(c: char) -> bool {
    let is_in_block = matches!(c,
        '\u{a3}' | '\u{20a0}'..='\u{20cf}' | '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}'
        | '\u{25a0}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}');
    // skin tones are not signs
    is_in_block && !c.is_alphanumeric() && !matches!(c, '\u{1f3fb}'..='\u{1f3ff}')
}

/// Returns the lower-case form of `c`. A final `ς` becomes `σ` too, so that all spellings agree.
pub(crate) fn fold_char(c: char) -> impl Iterator<Item = char> {
    (if c == 'ς' { 'σ' } else { c }).to_lowercase()
}

/// Whether a character is never visible.
pub(crate) fn is_invisible(c: char) -> bool {
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

/// Returns the ASCII letter that a non-ASCII letter looks like.
pub(crate) fn look_alike(c: char) -> Option<char> {
    if matches!(c, '\0'..='\u{130}' | '\u{2000}'..='\u{a6ff}') {
        return None; // most characters
    }
    let at = LOOK_ALIKES.binary_search_by_key(&c, |&(letter, _)| letter).ok()?;
    Some(LOOK_ALIKES[at].1)
}

/// Look-alikes, sorted by code point. ASCII letters are never replaced: the skeletons of UTS #39, which map `m` to `rn`
/// and `1` to `l`, would merge words that readers tell apart.
#[rustfmt::skip]
pub(crate) const LOOK_ALIKES: &[(char, char)] = &[
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
