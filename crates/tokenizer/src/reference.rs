//! Simple reference implementations of the word rules, for tests of the fast code.

use unicode_segmentation::UnicodeSegmentation;

/// The words of [`WordRule::Unicode`](crate::WordRule::Unicode).
pub fn unicode_words(text: &str) -> Vec<&str> {
    text.unicode_words().collect()
}

/// The words of [`WordRule::Mail`](crate::WordRule::Mail).
pub fn mail_words(text: &str) -> Vec<&str> {
    let in_run = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "$'!%-".contains(c);
    let mut words = Vec::new();
    for run in text.split(|c| !in_run(c)) {
        let run = run.trim_matches(['\'', '-']);
        if !run.is_ascii() {
            words.extend(run.unicode_words());
        } else if !run.is_empty() {
            words.push(run);
        }
    }
    words
}
