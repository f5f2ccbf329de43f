//! Difficult texts for property tests.

use proptest::prelude::*;

use crate::words::WordRule;

/// The words of `text` that a rule finds.
pub(crate) fn words(text: &str, rule: WordRule) -> Vec<String> {
    let mut words = Vec::new();
    rule.for_each_word(text, |word| words.push(word.to_owned()));
    words
}

/// Pieces that interact in the rules of word segmentation, case folding and unspaced scripts.
const PIECES: &[&str] = &[
    "a",
    "b",
    "Z",
    "iPhone",
    "0",
    "7",
    "_",
    "'",
    "\"",
    ".",
    ",",
    ":",
    ";",
    "-",
    "!",
    "$",
    "%",
    "/",
    " ",
    " ",
    "  ",
    "\n",
    "\r",
    "\r\n",
    "\t",
    "\0",
    "\u{b}",
    "\u{7f}",
    "é",
    "É",
    "Σ",
    "ς",
    "İ",
    "ß",
    "\u{301}",
    "\u{345}",
    "\u{93e}",
    "\u{200d}",
    "\u{200b}",
    "😀",
    "❤\u{fe0f}",
    "👩\u{200d}🚀",
    "🇩",
    "🇪",
    "א",
    "ב",
    "״",
    "׳",
    "한",
    "글",
    "か",
    "が",
    "カ",
    "ー",
    "ｶ",
    "\u{3099}",
    "・",
    "々",
    "漢",
    "字",
    "葛\u{e0100}",
    "ก",
    "ั",
    "ำ",
    "๒",
    "ລ",
    "ខ",
    "မ",
    "\u{ad}",
    "\u{2019}",
    "\u{3000}",
    "\u{a0}",
    "\u{85}",
    "\u{2028}",
    "Ａ",
    "１",
    "٣",
    "क",
    "्",
    "ष",
];

/// Texts of fewer than 40 of these pieces.
pub(crate) fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..40).prop_map(|pieces| pieces.concat())
}

/// More pieces, which matter for the character table, normalization and the rules of mail.
const HARD_PIECES: &[&str] = &[
    "сор",
    "рау",
    "а",
    "о",
    "Не",
    "нет",
    "Ж",
    "й",
    "и\u{306}",
    "ё",
    "№",
    "—",
    "–",
    "«",
    "»",
    "…",
    "“",
    "„",
    "·",
    "\u{ad}",
    "\u{ffa0}",
    "\u{200b}",
    "\u{200c}",
    "\u{2060}",
    "\u{fe0f}",
    "\u{a0}",
    "\u{3000}",
    "\u{2003}",
    "\u{1680}",
    "，",
    "。",
    "：",
    "！",
    "＄",
    "－",
    "＇",
    "＿",
    "ｆｒｅｅ",
    "①",
    "½",
    "²",
    "ﬁ",
    "™",
    "㏂",
    "Ⅳ",
    "´",
    "¨",
    "￥",
    "हिन्दी",
    "ि",
    "\u{93c}",
    "क़",
    "\u{958}",
    "য",
    "\u{9be}",
    "\u{9c7}",
    "தமிழ்",
    "ா",
    "\u{bd7}",
    "ไทย",
    "ำ",
    "ນ້ຳ",
    "ភាសា",
    "မြန်မာ",
    "ှ",
    "\u{1037}",
    "\u{1100}",
    "\u{1161}",
    "\u{11a8}",
    "각",
    "עברית",
    "צה\"ל",
    "ג'",
    "ש",
    "\u{5b8}",
    "\u{5bc}",
    "״",
    "العربية",
    "\u{64b}",
    "\u{651}",
    "ـ",
    "١٢",
    "٬",
    "Ελληνικά",
    "ΣΑΣ",
    "ς",
    "ά",
    "ὰ",
    "Ω",
    "K",
    "ſ",
    "ẞ",
    "Ⱥ",
    "ﬀ",
    "İ",
    "ı",
    "Vi\u{1ec7}t",
    "e\u{323}\u{302}",
    "o\u{302}\u{323}",
    "\u{338}",
    "=",
    "<",
    "\u{345}",
    "\u{903}",
    "\u{e0100}",
    "゙",
    "か",
    "゜",
    "ァ",
    "ｶ",
    "ﾞ",
    "々",
    "〻",
    "〆",
    "ー",
    "㈱",
    "漢字",
    "仮名",
    "豈",
    "ㄅ",
    "ㆍ",
    "𠀀",
    "𝐀",
    "𞤀",
    "😀",
    "👍🏽",
    "👩\u{200d}👩",
    "🇩🇪",
    "🇫",
    "1️⃣",
    "a",
    "B",
    "paypal",
    "don't",
    "x-ray",
    "$",
    "!",
    "%",
    "-",
    "'",
    "\"",
    "_",
    ".",
    ",",
    ":",
    ";",
    " ",
    " ",
    " ",
    "\n",
    "\r\n",
    "(",
    "=",
    "0",
    "7",
    "42",
    "é",
    "Ü",
    "ñ",
    "n\u{303}",
];

/// Texts of fewer than 24 of all pieces.
pub(crate) fn hard_text() -> impl Strategy<Value = String> {
    let pieces: Vec<_> = [PIECES, HARD_PIECES].concat();
    prop::collection::vec(prop::sample::select(pieces), 0..24).prop_map(|pieces| pieces.concat())
}

/// Simple reference implementations of the word rules.
pub(crate) mod reference {
    use unicode_segmentation::UnicodeSegmentation;

    use crate::characters::rules::is_sign;

    /// The words of [`WordRule::Unicode`](crate::WordRule::Unicode).
    pub(crate) fn unicode_words(text: &str) -> Vec<&str> {
        let mut words = Vec::new();
        for segment in text.split_word_bounds() {
            match segment.contains(char::is_alphanumeric) {
                true => words.push(segment),
                false => words.extend(segment.split("").filter(|c| c.chars().any(is_sign))),
            }
        }
        words
    }

    /// The words of [`WordRule::Mail`](crate::WordRule::Mail).
    pub(crate) fn mail_words(text: &str) -> Vec<&str> {
        let in_run = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "$'!%-".contains(c);
        let mut words = Vec::new();
        for run in text.split(|c| !in_run(c)) {
            let run = run.trim_matches(['\'', '-']);
            if !run.is_ascii() {
                words.extend(unicode_words(run));
            } else if !run.is_empty() {
                words.push(run);
            }
        }
        words
    }
}
