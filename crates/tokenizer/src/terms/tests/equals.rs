//! Checks that terms equal those of the plain way: normalize the whole text, find its words, then take them one by one.

use std::mem;

use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::{any_options, terms};
use crate::characters::entry_of;
use crate::characters::normalize::{undisguised, with_letters};
use crate::characters::rules::{fold_char, is_invisible, is_unspaced, is_unspaced_alphabet};
use crate::reference;
use crate::terms::options::{Ngrams, TokenizerOptions};
use crate::testing::{hard_text, text};
use crate::words::WordRule;

/// [`normalize`](crate::characters::normalize()), one character at a time.
fn normalized(text: &str) -> String {
    let end = |word: &mut String| {
        let word = mem::take(word);
        undisguised(&word).unwrap_or(word)
    };
    let (mut normal, mut word) = (String::new(), String::new());
    for c in with_letters(text).chars().filter(|c| !is_invisible(*c)).nfkc() {
        if c.is_alphanumeric() || is_combining_mark(c) {
            word.push(c);
        } else {
            normal.push_str(&end(&mut word));
            normal.push(c);
        }
    }
    normal + &end(&mut word)
}

/// Where the words of a rule begin and end.
fn word_spans(rule: WordRule, text: &str) -> Vec<[usize; 2]> {
    let words = match rule {
        WordRule::Unicode => reference::unicode_words(text),
        WordRule::Mail => reference::mail_words(text),
    };
    let start = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    words.into_iter().map(|word| [start(word), start(word) + word.len()]).collect()
}

/// Cuts words into parts of scripts with and without spaces; joins parts without spaces that touch.
fn parts(text: &str, words: &[[usize; 2]]) -> Vec<(bool, String)> {
    let mut parts: Vec<(bool, String)> = Vec::new();
    let mut run_end = None;
    for &[mut start, end] in words {
        let whole = end - start;
        while start < end {
            let first = text[start..].chars().next().unwrap();
            let unspaced = is_unspaced(first);
            let length = text[start..end].find(|c| is_unspaced(c) != unspaced).unwrap_or(end - start);
            let part = &text[start..start + length];
            match parts.last_mut() {
                Some((_, run)) if unspaced && run_end == Some(start) => run.push_str(part),
                _ if unspaced || length == whole || part.contains(char::is_alphanumeric) => {
                    parts.push((unspaced, part.to_owned()))
                }
                _ => {}
            }
            run_end = unspaced.then_some(start + length);
            start += length;
        }
    }
    parts
}

fn plainly(options: &TokenizerOptions, text: &str) -> Vec<String> {
    let text = if options.normalize { normalized(text) } else { text.to_owned() };
    let fold = |word: &str| -> String {
        if options.fold_case { word.chars().flat_map(fold_char).collect() } else { word.to_owned() }
    };
    let stop: Vec<_> = options
        .stop_words
        .iter()
        .map(|word| fold(&if options.normalize { normalized(word) } else { word.clone() }))
        .collect();
    let words = word_spans(options.word_rule, &text);
    let parts = match options.unspaced_bigrams {
        true => parts(&text, &words),
        false => words.iter().map(|[start, end]| (false, text[*start..*end].to_owned())).collect(),
    };
    let mut terms = Vec::new();
    for (unspaced, part) in parts {
        let chars: Vec<char> = part.chars().collect();
        if unspaced {
            let of = |part: &[char]| part.iter().collect::<String>();
            let pairs = chars.windows(chars.len().min(2)).enumerate();
            let both = pairs.flat_map(|(at, pair)| {
                let four = at.checked_sub(2).and_then(|start| chars.get(start..start + 4));
                let four =
                    four.filter(|four| options.has_fours() && four.iter().all(|c| is_unspaced_alphabet(*c)));
                std::iter::once(of(pair)).chain(four.map(of))
            });
            terms.extend(both.filter(|pair| !stop.contains(pair)));
            continue;
        }
        let word = fold(&part);
        if chars.len() > options.max_chars.into() {
            terms.push(format!("~long{}", (chars.len() / 10).min(20)));
        } else if chars.len() >= options.min_chars.into() && !stop.contains(&word) {
            let stem = options.stemmer.map(|language| language.stemmer().stem(&word).into_owned());
            terms.push(stem.filter(|stem| !stem.is_empty()).unwrap_or(word));
        }
    }
    let Ngrams::Words { min, max } = options.terms else { return terms };
    let has_ends = options.ends && max > 1;
    if has_ends {
        terms = [vec!["^".to_owned()], terms, vec!["^".to_owned()]].concat();
    }
    let ngrams = |end: usize| {
        let terms = &terms;
        (min.into()..=usize::from(max).min(end)).map(move |n| terms[end - n..end].join(" "))
    };
    (1..=terms.len()).flat_map(ngrams).collect()
}

/// Checks all terms but signs.
fn check(options: &TokenizerOptions, text: &str) {
    let options = &TokenizerOptions { signs: false, ..options.clone() };
    let (found, expected) = (terms(options.clone(), text), plainly(options, text));
    assert_eq!(found, expected, "{text:?} {options:?}");
}

/// The options that change how words are found.
fn all_switches() -> Vec<TokenizerOptions> {
    let rules = [TokenizerOptions::text(), TokenizerOptions::mail()];
    let switched = |rule: &TokenizerOptions, change: fn(&mut TokenizerOptions)| {
        let mut options = rule.clone();
        change(&mut options);
        options
    };
    rules
        .iter()
        .flat_map(|rule| {
            [
                rule.clone(),
                switched(rule, |options| options.normalize = false),
                switched(rule, |options| options.fold_case = false),
                switched(rule, |options| options.unspaced_bigrams = false),
                switched(rule, |options| (options.min_chars, options.max_chars) = (2, 3)),
            ]
        })
        .collect()
}

/// What is put before each character, and after it.
const CONTEXTS: [&str; 33] = [
    "",
    "a",
    "ж",
    "漢",
    "か",
    "ก",
    "א",
    "1",
    "٣",
    "é",
    "e\u{301}",
    "क",
    "ア",
    "сор",
    "_",
    " ",
    ".",
    "ж.",
    "1,",
    "—",
    "!ж",
    "’",
    "а'",
    "а ",
    "\u{301}",
    "~",
    "=",
    "漢。",
    "x-",
    "ж$",
    "aЯ",
    "b\u{336}",
    "ẹ\u{301}",
];

/// Checks every character in every context, many to a text, separated by new lines.
fn check_characters(options: &TokenizerOptions, is_checked: impl Fn(char) -> bool) {
    let chars: Vec<char> = ('\0'..=char::MAX).filter(|c| is_checked(*c)).collect();
    for some in chars.chunks(64) {
        let text: String = some
            .iter()
            .flat_map(|c| {
                let after = CONTEXTS[(*c as usize).wrapping_mul(7) % CONTEXTS.len()];
                CONTEXTS.iter().map(move |before| format!("{before}{c}{after}\n"))
            })
            .collect();
        if terms(options.clone(), &text) != plainly(options, &text) {
            text.lines().for_each(|line| check(options, line));
            check(options, &text);
        }
    }
}

/// Checks all of Unicode with `--release`; otherwise the characters that differ from the one before, and some others.
#[test]
fn of_every_character() {
    let differs = |c: char| {
        let before = char::from_u32((c as u32).wrapping_sub(1));
        before.is_none_or(|before| entry_of(before) != entry_of(c)) || (c as u32).is_multiple_of(101)
    };
    for options in [TokenizerOptions::text(), TokenizerOptions::mail()] {
        check_characters(&options, |c| !cfg!(debug_assertions) || differs(c));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn of_hard_text(text in hard_text()) {
        for options in [TokenizerOptions::text(), TokenizerOptions::mail()] {
            check(&options, &text);
        }
    }

    #[test]
    fn of_words_of_three_byte_letters(
        text in "([ऀ-ॿ]|[क-ह]|[\u{93e}-\u{94d}]|[\u{980}-\u{e7f}]|[\u{10a0}-\u{11ff}]|[가-힣]|[!, अa।'_é]){1,12}"
    ) {
        all_switches().iter().for_each(|options| check(options, &text));
    }

    #[test]
    fn of_any_text(text in prop_oneof![text(), ".{0,80}"]) {
        for options in [TokenizerOptions::text(), TokenizerOptions::mail()] {
            check(&options, &text);
        }
    }

    #[test]
    fn whatever_the_options(options in any_options(), text in prop_oneof![hard_text(), text()]) {
        let terms = if let Ngrams::Words { .. } = options.terms { options.terms } else { Ngrams::default() };
        check(&TokenizerOptions { terms, ..options }, &text);
    }

    #[test]
    fn with_every_switch(text in prop_oneof![hard_text(), text()]) {
        all_switches().iter().for_each(|options| check(options, &text));
    }
}
