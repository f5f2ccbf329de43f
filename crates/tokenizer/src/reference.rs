//! Simple reference implementations of the word rules, for tests of the fast code.

use unicode_segmentation::UnicodeSegmentation;

use crate::characters::rules::is_sign;

/// The words of [`WordRule::Unicode`](crate::WordRule::Unicode).
pub fn unicode_words(text: &str) -> Vec<&str> {
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
pub fn mail_words(text: &str) -> Vec<&str> {
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
