//! Texts that try hard: for the property tests.

use proptest::prelude::*;

use crate::words::Found;

/// The words of `text` that a rule finds, which must stand where it says, ASCII where it says so.
pub(crate) fn words<'t>(text: &'t str, rule: impl FnOnce(&mut dyn FnMut(Found<'_, 't>))) -> Vec<&'t str> {
    let mut words = Vec::new();
    rule(&mut |found| match found {
        Found::Ascii(found) => {
            let ascii = found.spans.iter().map(|[start, end]| &text[*start..*end]);
            words.extend(ascii.inspect(|word| assert!(word.is_ascii())));
        }
        Found::Foreign(span) => {
            assert_eq!(&text[span.start..][..span.text.len()], span.text);
            words.push(span.text);
        }
    });
    words
}

/// Pieces that meet in the rules of word segmentation, case folding and unspaced scripts.
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

/// Texts of up to 40 such pieces.
pub(crate) fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..40).prop_map(|pieces| pieces.concat())
}
