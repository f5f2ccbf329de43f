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
    match c {
        '\0'..='\u{130}' | '\u{2000}'..='\u{a6ff}' => None, // most characters
        '\u{1f150}'..='\u{1f169}' => capital(c, '\u{1f150}'),
        '\u{1f170}'..='\u{1f189}' => capital(c, '\u{1f170}'),
        _ => find(LOOK_ALIKES, c),
    }
}

/// Returns the ASCII letter that a letter of another script stands for between ASCII letters, but not in a word of its
/// own script.
pub(crate) fn stand_in(c: char) -> Option<char> {
    if c < '\u{370}' { None } else { find(STAND_INS, c) }
}

/// Whether `c` is a white letter on a black square that is also an emoji, such as the sign for parking.
pub(crate) fn is_letter_emoji(c: char) -> bool {
    matches!(c, '🅰' | '🅱' | '🅾' | '🅿')
}

/// Whether `c` is a mark for letters of any script: accents, overlays, enclosing circles.
pub(crate) fn is_diacritic(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// Returns the letter that a sign stands for, and whether the sign is a regional indicator. The other signs are letters in
/// parentheses; two regional indicators are a flag.
pub(crate) fn letter_sign(c: char) -> Option<(char, bool)> {
    let first = match c {
        '\u{249c}'..='\u{24b5}' => '\u{249c}',
        '\u{1f110}'..='\u{1f129}' => '\u{1f110}',
        '\u{1f1e6}'..='\u{1f1ff}' => '\u{1f1e6}',
        _ => return None,
    };
    Some((capital(c, first)?, c >= '\u{1f1e6}'))
}

/// The capital at the position of `c` in an alphabet that begins with `first`.
fn capital(c: char, first: char) -> Option<char> {
    char::from_u32(u32::from(c) - u32::from(first) + u32::from('A'))
}

fn find(table: &[(char, char)], c: char) -> Option<char> {
    let at = table.binary_search_by_key(&c, |&(letter, _)| letter).ok()?;
    Some(table[at].1)
}

/// The regions that have a flag.
pub(crate) const REGIONS: &str = "AC AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM \
    BN BO BQ BR BS BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CP CQ CR CU CV CW CX CY CZ DE DG DJ DK DM DO DZ \
    EA EC EE EG EH ER ES ET EU FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR \
    HT HU IC ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV \
    LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA \
    PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX \
    SY SZ TA TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM UN US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT \
    ZA ZM ZW";

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
    ('ᴀ', 'a'), ('ᴄ', 'c'), ('ᴅ', 'd'), ('ᴇ', 'e'), ('ᴊ', 'j'), ('ᴋ', 'k'), ('ᴍ', 'm'), ('ᴎ', 'n'),
    ('ᴏ', 'o'), ('ᴑ', 'o'), ('ᴘ', 'p'), ('ᴙ', 'r'), ('ᴚ', 'r'), ('ᴛ', 't'), ('ᴜ', 'u'), ('ᴠ', 'v'),
    ('ᴡ', 'w'), ('ᴢ', 'z'), ('ᴦ', 'r'), ('ᴩ', 'p'), ('ᶃ', 'g'), ('ᶌ', 'y'), ('ꜰ', 'f'), ('ꜱ', 's'),
    ('ꞯ', 'q'), ('ꬲ', 'e'), ('ꬵ', 'f'), ('ꬽ', 'o'), ('ꭇ', 'r'), ('ꭈ', 'r'), ('ꭎ', 'u'), ('ꭒ', 'u'),
    ('ꭚ', 'y'),
];

/// Letters that stand for others only beside ASCII letters, sorted by code point: the confusables of UTS #39, and those
/// that only remind of a letter (`Я`). Not `μ`, the micro sign, which is mostly a byte of another charset.
#[rustfmt::skip]
pub(crate) const STAND_INS: &[(char, char)] = &[
    // Greek
    ('Ϳ', 'J'), ('Ά', 'A'), ('Έ', 'E'), ('Ί', 'I'), ('Ό', 'O'), ('ΐ', 'i'), ('Δ', 'A'), ('Θ', 'O'),
    ('Λ', 'A'), ('Ξ', 'E'), ('Π', 'N'), ('Σ', 'E'), ('Φ', 'O'), ('Ω', 'O'), ('ά', 'a'), ('έ', 'e'),
    ('ή', 'n'), ('ί', 'i'), ('β', 'b'), ('δ', 'd'), ('ε', 'e'), ('ζ', 'z'), ('θ', 'o'), ('λ', 'a'),
    ('ξ', 'e'), ('π', 'n'), ('ς', 's'), ('σ', 'o'), ('τ', 't'), ('φ', 'o'), ('ϊ', 'i'),
    ('ό', 'o'), ('ύ', 'u'), ('ώ', 'w'), ('Ϝ', 'F'), ('ϳ', 'j'), ('Ϻ', 'M'),
    // Cyrillic
    ('Ё', 'E'), ('Є', 'E'), ('Ї', 'I'), ('Г', 'r'), ('Д', 'A'), ('И', 'N'), ('Л', 'N'), ('П', 'N'),
    ('Ф', 'O'), ('Ц', 'U'), ('Ч', 'Y'), ('Ш', 'W'), ('Щ', 'W'), ('Ь', 'B'), ('Э', 'E'), ('Я', 'R'),
    ('в', 'b'), ('г', 'r'), ('д', 'a'), ('з', 'e'), ('и', 'u'), ('м', 'm'), ('н', 'h'), ('п', 'n'),
    ('т', 't'), ('ф', 'o'), ('ц', 'u'), ('ч', 'y'), ('ш', 'w'), ('щ', 'w'), ('ъ', 'b'), ('ь', 'b'),
    ('э', 'e'), ('я', 'r'), ('ё', 'e'), ('є', 'e'), ('ї', 'i'), ('ѡ', 'w'), ('ґ', 'r'), ('Ғ', 'F'),
    ('ғ', 'f'), ('қ', 'k'), ('ң', 'n'), ('ҽ', 'e'), ('Ԍ', 'G'),
    // Armenian
    ('Լ', 'L'), ('Ո', 'N'), ('Ռ', 'N'), ('ա', 'w'), ('գ', 'q'), ('ե', 't'), ('զ', 'q'), ('ը', 'n'),
    ('ժ', 'd'), ('ղ', 'n'), ('ռ', 'n'), ('տ', 'u'), ('ց', 'g'), ('ք', 'f'),
    // Georgian
    ('ყ', 'y'), ('ჿ', 'o'),
    // Cherokee
    ('Ꮍ', 'Y'), ('Ꮒ', 'h'), ('Ꮟ', 'b'), ('ᏻ', 'g'), ('ᏼ', 'b'),
    // Canadian syllabics
    ('ᐯ', 'V'), ('ᐱ', 'A'), ('ᑌ', 'U'), ('ᑎ', 'N'), ('ᑐ', 'D'), ('ᑕ', 'C'), ('ᑢ', 'C'), ('ᑫ', 'q'),
    ('ᑭ', 'P'), ('ᑯ', 'd'), ('ᑲ', 'b'), ('ᒍ', 'J'), ('ᒎ', 'J'), ('ᒪ', 'L'), ('ᔕ', 'S'), ('ᕁ', 'x'),
    ('ᕮ', 'E'), ('ᕼ', 'H'), ('ᕽ', 'x'), ('ᖇ', 'R'), ('ᖯ', 'b'), ('ᖴ', 'F'), ('ᗅ', 'A'), ('ᗝ', 'O'),
    ('ᗞ', 'D'), ('ᗩ', 'A'), ('ᗪ', 'D'), ('ᗫ', 'D'), ('ᗯ', 'W'), ('ᗰ', 'M'), ('ᗱ', 'E'), ('ᗴ', 'E'),
    ('ᗷ', 'B'), ('ᘔ', 'Z'), ('ᘜ', 'G'),
    // Runic
    ('ᚷ', 'X'), ('ᛁ', 'I'), ('ᛕ', 'K'), ('ᛖ', 'M'),
    // Coptic
    ('Ⲁ', 'A'), ('ⲁ', 'a'), ('Ⲃ', 'B'), ('ⲃ', 'b'), ('ⲅ', 'r'), ('Ⲉ', 'E'), ('ⲉ', 'e'), ('Ⲏ', 'H'),
    ('Ⲓ', 'I'), ('Ⲕ', 'K'), ('Ⲙ', 'M'), ('Ⲛ', 'N'), ('Ⲟ', 'O'), ('ⲟ', 'o'), ('Ⲣ', 'P'), ('ⲣ', 'p'),
    ('Ⲥ', 'C'), ('ⲥ', 'c'), ('Ⲧ', 'T'), ('Ⲩ', 'Y'), ('Ⲭ', 'X'), ('Ⳑ', 'L'),
    // Tifinagh
    ('ⴸ', 'V'), ('ⴹ', 'E'), ('ⵊ', 'I'), ('ⵎ', 'M'), ('ⵏ', 'I'), ('ⵔ', 'O'), ('ⵕ', 'Q'), ('ⵝ', 'X'),
    // Lisu
    ('ꓐ', 'B'), ('ꓑ', 'P'), ('ꓒ', 'd'), ('ꓓ', 'D'), ('ꓔ', 'T'), ('ꓖ', 'G'), ('ꓗ', 'K'), ('ꓙ', 'J'),
    ('ꓚ', 'C'), ('ꓜ', 'Z'), ('ꓝ', 'F'), ('ꓟ', 'M'), ('ꓠ', 'N'), ('ꓡ', 'L'), ('ꓢ', 'S'), ('ꓣ', 'R'),
    ('ꓦ', 'V'), ('ꓧ', 'H'), ('ꓪ', 'W'), ('ꓫ', 'X'), ('ꓬ', 'Y'), ('ꓮ', 'A'), ('ꓰ', 'E'), ('ꓲ', 'I'),
    ('ꓳ', 'O'), ('ꓴ', 'U'),
    // Cyrillic
    ('ꙇ', 'i'),
    // Cherokee
    ('ꭰ', 'd'), ('ꭱ', 'r'), ('ꭲ', 't'), ('ꭵ', 'i'), ('ꭹ', 'y'), ('ꭺ', 'a'), ('ꭻ', 'j'), ('ꭼ', 'e'),
    ('ꮁ', 'r'), ('ꮃ', 'w'), ('ꮇ', 'm'), ('ꮋ', 'h'), ('ꮐ', 'g'), ('ꮓ', 'z'), ('ꮢ', 'r'), ('ꮤ', 'w'),
    ('ꮥ', 's'), ('ꮩ', 'v'), ('ꮪ', 's'), ('ꮮ', 'l'), ('ꮯ', 'c'), ('ꮲ', 'p'), ('ꮶ', 'k'), ('ꮷ', 'd'),
    // Lycian
    ('𐊂', 'B'), ('𐊆', 'E'), ('𐊇', 'F'), ('𐊊', 'I'), ('𐊐', 'X'), ('𐊒', 'O'), ('𐊕', 'P'), ('𐊖', 'S'),
    ('𐊗', 'T'),
    // Carian
    ('𐊠', 'A'), ('𐊡', 'B'), ('𐊢', 'C'), ('𐊥', 'F'), ('𐊫', 'O'), ('𐊰', 'M'), ('𐊱', 'T'), ('𐊲', 'Y'),
    ('𐊴', 'X'), ('𐋏', 'H'),
    // Old Italic
    ('𐌁', 'B'), ('𐌂', 'C'), ('𐌉', 'I'), ('𐌑', 'M'), ('𐌕', 'T'), ('𐌗', 'X'),
    // Deseret
    ('𐐄', 'O'), ('𐐕', 'C'), ('𐐛', 'L'), ('𐐠', 'S'), ('𐐬', 'o'), ('𐐽', 'c'), ('𐑈', 's'),
    // Osage
    ('𐒴', 'R'), ('𐓂', 'O'), ('𐓎', 'U'), ('𐓪', 'o'), ('𐓶', 'u'),
    // Elbasan
    ('𐔓', 'N'), ('𐔖', 'O'), ('𐔘', 'K'), ('𐔜', 'C'), ('𐔝', 'V'), ('𐔥', 'F'), ('𐔦', 'L'), ('𐔧', 'X'),
    // Warang Citi
    ('𑢠', 'V'), ('𑢢', 'F'), ('𑢣', 'L'), ('𑢤', 'Y'), ('𑢦', 'E'), ('𑢩', 'Z'), ('𑢮', 'E'), ('𑢲', 'L'),
    ('𑢵', 'O'), ('𑢸', 'U'), ('𑢼', 'T'), ('𑣀', 'v'), ('𑣁', 's'), ('𑣂', 'F'), ('𑣃', 'i'), ('𑣄', 'z'),
    ('𑣈', 'o'), ('𑣗', 'o'), ('𑣘', 'u'), ('𑣜', 'y'),
];
