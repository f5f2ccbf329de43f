//! Text to terms, against the plain forms of the word rules and of counting.

use super::Choices;
use std::collections::HashMap;
use tamis_tokenizer::{
    Language, Ngrams, Scratch, Tokenizer, TokenizerOptions, Vocabulary, WordRule, reference,
};

pub fn run(data: &[u8]) {
    let mut choices = Choices(data);
    let options = options(&mut choices);
    let text = String::from_utf8_lossy(choices.0);
    words_are_those_of_the_reference(&text);
    let Ok(tokenizer) = Tokenizer::new(options.clone()) else { return };

    let mut scratch = Scratch::default();
    let found = terms(&tokenizer, &text, &mut scratch);
    assert!(found.iter().all(|term| !term.is_empty()));
    assert_eq!(terms(&tokenizer, &text, &mut scratch), found, "a scratch used before");
    let expected = n_grams(&options, &text);
    let (words, signs) = found.split_at(expected.len());
    assert_eq!(words, expected);
    assert!(signs.iter().all(|sign| options.signs && sign.starts_with('^')), "{signs:?}");

    let mut vocabulary = Vocabulary::new();
    let counts = tokenizer.count(&text, &mut vocabulary, &mut scratch).expect("few terms");
    let counted =
        counts.row().iter().map(|(id, count)| (vocabulary.term(id).expect("known").to_owned(), count));
    let mut expected = HashMap::new();
    found.into_iter().for_each(|term| *expected.entry(term).or_insert(0) += 1);
    assert_eq!(counted.collect::<HashMap<_, _>>(), expected);
}

/// Any options, also such as are refused.
pub(super) fn options(choices: &mut Choices<'_>) -> TokenizerOptions {
    let flags = choices.byte();
    let flag = |bit: u8| flags >> bit & 1 == 1;
    let (n, chars) = (choices.byte(), choices.byte());
    let (min, max) = (n & 15, n >> 4);
    let languages = Language::ALL.map(Some);
    let mut options = TokenizerOptions::default();
    options.word_rule = if flag(0) { WordRule::Mail } else { WordRule::Unicode };
    options.normalize = flag(1);
    options.fold_case = flag(2);
    options.stop_words =
        if flag(3) { ["The", "de", "\u{ff21}", "漢字"].map(str::to_owned).to_vec() } else { Vec::new() };
    options.stemmer = if flag(4) { choices.of(&languages) } else { None };
    options.terms = if flag(5) { Ngrams::Characters { min, max } } else { Ngrams::Words { min, max } };
    options.min_chars = u16::from(chars & 3);
    options.max_chars = u16::from(chars >> 2) * 5;
    options.unspaced_bigrams = flag(6);
    options.ends = flag(7);
    options.signs = choices.byte() & 1 == 1;
    options
}

fn terms(tokenizer: &Tokenizer, text: &str, scratch: &mut Scratch) -> Vec<String> {
    let mut terms = Vec::new();
    tokenizer.for_each_term(text, scratch, |term| terms.push(term.to_owned()));
    terms
}

/// Whether a term is a sequence of four characters of Thai, Lao, Khmer or Myanmar. None of their words is whole.
fn is_of_four(term: &str) -> bool {
    let is_of_alphabet = |c: char| {
        let is_in = matches!(c, '\u{e01}'..='\u{edf}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17df}'
            | '\u{a9e0}'..='\u{a9ff}' | '\u{aa60}'..='\u{aa7f}');
        is_in && !c.is_numeric()
    };
    term.chars().count() == 4 && term.chars().all(is_of_alphabet)
}

/// The n-grams without signs, put together from what the same options have for n = 1.
fn n_grams(options: &TokenizerOptions, text: &str) -> Vec<String> {
    let (one, range, space) = match options.terms {
        Ngrams::Words { min, max } => (Ngrams::Words { min: 1, max: 1 }, min..=max, " "),
        Ngrams::Characters { min, max } => (Ngrams::Characters { min: 1, max: 1 }, min..=max, ""),
    };
    let mut of_one = options.clone();
    (of_one.terms, of_one.ends, of_one.signs) = (one, false, false);
    let tokenizer = Tokenizer::new(of_one).expect("as before");
    let mut words = terms(&tokenizer, text, &mut Scratch::default());
    if options.unspaced_bigrams && matches!(options.terms, Ngrams::Words { max: 2.., .. }) {
        // they are only beside single words
        words.retain(|word| !is_of_four(word));
    }
    if options.ends && space == " " && *range.end() > 1 && !words.is_empty() {
        words = std::iter::once("^".into()).chain(words).chain(["^".into()]).collect();
    }
    let ending_at = |end: usize| range.clone().filter_map(move |n| Some(end.checked_sub(n.into())?..end));
    (1..=words.len()).flat_map(ending_at).map(|gram| words[gram].join(space)).collect()
}

fn words_are_those_of_the_reference(text: &str) {
    for (word_rule, expected) in
        [(WordRule::Unicode, reference::unicode_words(text)), (WordRule::Mail, reference::mail_words(text))]
    {
        let mut options = TokenizerOptions::text();
        options.word_rule = word_rule;
        options.normalize = false;
        options.fold_case = false;
        options.unspaced_bigrams = false;
        options.max_chars = 256;
        let tokenizer = Tokenizer::new(options).expect("in range");
        let long = |word: &str| match word.chars().count() {
            ..=256 => word.to_owned(),
            chars => format!("~long{}", (chars / 10).min(20)),
        };
        let expected: Vec<_> = expected.into_iter().map(long).collect();
        assert_eq!(terms(&tokenizer, text, &mut Scratch::default()), expected, "{word_rule:?}");
    }
}
