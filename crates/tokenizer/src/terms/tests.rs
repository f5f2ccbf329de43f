mod equals;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tamis_testing::{check_linear, public_corpus};

use super::*;
use crate::characters::fold_into;
use crate::fingerprint;
use crate::reference;
use crate::terms::language::Language;
use crate::testing::text;
use crate::words::WordRule;

fn terms(options: TokenizerOptions, text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    let tokenizer = Tokenizer::new(options).unwrap();
    tokenizer.for_each_term(text, &mut Scratch::default(), |term| terms.push(term.to_owned()));
    terms
}

fn check(options: TokenizerOptions, text: &str, expected: &[&str]) {
    assert_eq!(terms(options, text), expected, "{text:?}");
}

fn stop_words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// The options for mail without signs.
fn words_of_mail_alone() -> TokenizerOptions {
    TokenizerOptions { signs: false, ..TokenizerOptions::mail() }
}

#[test]
fn nothing_comes_of_nothing() {
    for text in ["", " ", "\0\0", ".,;:!?", "\u{301}", "。・"] {
        check(TokenizerOptions::text(), text, &[]);
    }
    for text in ["", "\0", ".,;:?", "-'-", "\u{200b}"] {
        check(words_of_mail_alone(), text, &[]);
    }
    for text in ["", " \0\r\n"] {
        check(
            TokenizerOptions { terms: Ngrams::Characters { min: 1, max: 8 }, ..Default::default() },
            text,
            &[],
        );
    }
}

#[test]
fn case_is_folded_or_not() {
    check(TokenizerOptions::text(), "Ärger ABC ΣΟΦΟΣ\0x", &["ärger", "abc", "σοφοσ", "x"]);
    let cased = TokenizerOptions { fold_case: false, ..TokenizerOptions::text() };
    check(cased, "Ärger ABC ΣΟΦΟΣ", &["Ärger", "ABC", "ΣΟΦΟΣ"]);
}

#[test]
fn words_of_mail() {
    let text = "Don't WAIT!!! -50% - $99";
    let words = ["don't", "wait!!!", "50%", "$99"];
    check(words_of_mail_alone(), text, &words);
    let signs = ["^Aa", "^'", "^AA", "^WAIT", "^!!!", "^-", "^%", "^-", "^$"];
    check(TokenizerOptions::mail(), text, &[&words[..], &signs].concat());
}

/// The ends of a text are written as signs are, and are words.
#[test]
fn only_signs_are_signs() {
    let terms = Ngrams::Words { min: 2, max: 2 };
    let tokenizer =
        Tokenizer::new(TokenizerOptions { terms, ends: true, ..TokenizerOptions::mail() }).unwrap();
    let (mut words, mut signs) = (Vec::new(), Vec::new());
    tokenizer.for_each_batch("Buy it!", &mut Scratch::default(), |batch| {
        let to = if batch.are_signs() { &mut signs } else { &mut words };
        to.extend(batch.iter().map(str::to_owned));
    });
    assert_eq!((words.join(", "), signs.join(", ")), ("^ buy, buy it!, it! ^".into(), "^Aa, ^!".into()));
}

#[test]
fn length_is_in_characters() {
    let options = TokenizerOptions { min_chars: 2, max_chars: 10, ..TokenizerOptions::text() };
    check(options.clone(), "a é ab éé abcdefghij éééééééééé", &["ab", "éé", "abcdefghij", "éééééééééé"]);
    check(options.clone(), "abcdefghijk ÉÉÉÉÉÉÉÉÉÉÉ", &["~long1", "~long1"]);
    check(options, &"x".repeat(99), &["~long9"]);
    check(TokenizerOptions { max_chars: 3, ..TokenizerOptions::text() }, "abcd", &["~long0"]);
    check(
        words_of_mail_alone(),
        &format!("{} {}", "a".repeat(24), "a".repeat(25)),
        &[&"a".repeat(24), "~long2"],
    );
}

#[test]
fn a_word_of_ten_megabytes() {
    for word in ["a", "é", "a.", "\u{301}a"] {
        let text = word.repeat(10_000_000 / word.len());
        check(TokenizerOptions::text(), &text, &["~long20"]);
    }
    let text = "漢".repeat(3_000_000);
    let tokenizer = Tokenizer::new(TokenizerOptions::text()).unwrap();
    let counts = tokenizer.count(&text, &mut Vocabulary::new(), &mut Scratch::default()).unwrap();
    assert_eq!(counts.row().counts(), [2_999_999]);
}

#[test]
fn stop_words_are_folded_and_come_before_stemming() {
    let options = TokenizerOptions {
        stop_words: stop_words(&["THE", "running", "布会"]),
        stemmer: Some(Language::English),
        ..TokenizerOptions::text()
    };
    check(options, "The runner runs; the Running 发布会", &["runner", "run", "发布"]);
    let cased =
        TokenizerOptions { stop_words: stop_words(&["The"]), fold_case: false, ..TokenizerOptions::text() };
    check(cased, "The the", &["the"]);
}

#[test]
fn stems() {
    let options =
        TokenizerOptions { stemmer: Some(Language::English), max_chars: 12, ..TokenizerOptions::text() };
    check(options, "Fruitlessly parties abcdefghijklmn", &["fruitless", "parti", "~long1"]);
}

#[test]
fn ngrams_run_over_what_is_left() {
    let options = TokenizerOptions {
        terms: Ngrams::Words { min: 1, max: 2 },
        stop_words: stop_words(&["of"]),
        ..TokenizerOptions::text()
    };
    check(options, "Cup of TEA 漢字仮", &["cup", "tea", "cup tea", "漢字", "tea 漢字", "字仮", "漢字 字仮"]);
    let pairs = TokenizerOptions { terms: Ngrams::Words { min: 2, max: 2 }, ..TokenizerOptions::text() };
    check(pairs.clone(), "one", &[]);
    check(pairs, "one. Two", &["one two"]);
}

#[test]
fn scripts_without_spaces() {
    let options = TokenizerOptions { min_chars: 3, max_chars: 5, ..TokenizerOptions::text() };
    check(
        options,
        "漢字カタカナカタカナ 字 OK",
        &["漢字", "字カ", "カタ", "タカ", "カナ", "ナカ", "カタ", "タカ", "カナ", "字"],
    );
    check(words_of_mail_alone(), "免费!Free免费", &["免费", "free", "免费"]);
    let whole = TokenizerOptions { unspaced_bigrams: false, ..TokenizerOptions::text() };
    check(whole, "iPhone发布会 カタカナ", &["iphone", "发", "布", "会", "カタカナ"]);
}

#[test]
fn characters() {
    let options =
        TokenizerOptions { terms: Ngrams::Characters { min: 2, max: 3 }, ..TokenizerOptions::text() };
    check(options.clone(), "\tA  É\0b ", &["a ", " é", "a é", "é ", " é ", " b", "é b"]);
    check(options, "漢字", &["漢字"]);
}

#[test]
fn disguise_is_undone_or_not() {
    let text = "v\u{456}a\u{200b}gra Ｖｉａｇｒａ";
    check(TokenizerOptions::text(), text, &["viagra", "viagra"]);
    check(words_of_mail_alone(), text, &["viagra", "viagra"]);
    let characters = TokenizerOptions { terms: Ngrams::Characters { min: 3, max: 3 }, ..Default::default() };
    check(characters, "р\u{ad}ау", &["pay"]);
    let as_it_stands = TokenizerOptions { normalize: false, ..TokenizerOptions::text() };
    check(as_it_stands, "v\u{456}а ＶＩＰ", &["v\u{456}а", "ｖｉｐ"]);
    let stop = TokenizerOptions { stop_words: stop_words(&["ＴＨＥ"]), ..TokenizerOptions::text() };
    check(stop, "the ｔhe end", &["end"]);
}

#[test]
fn counting() {
    let tokenizer = Tokenizer::new(TokenizerOptions::text()).unwrap();
    let (mut vocabulary, mut scratch) = (Vocabulary::new(), Scratch::default());
    let counts = tokenizer.count("b a B c b", &mut vocabulary, &mut scratch).unwrap();
    assert_eq!(counts, CountVector::new(vec![0, 1, 2], vec![3, 1, 1]).unwrap());
    let known = tokenizer.count_known("c d c", &vocabulary, &mut scratch);
    assert_eq!(known, CountVector::new(vec![2], vec![2]).unwrap());
    assert_eq!(vocabulary.len(), 3);
}

#[test]
fn shared_between_threads() {
    fn shared<T: Send + Sync + Clone>() {}
    fn sent<T: Send>() {}
    shared::<Tokenizer>();
    sent::<Scratch>();
}

fn any_options() -> impl Strategy<Value = TokenizerOptions> {
    let terms = prop_oneof![
        (1..4_u8, 0..3_u8).prop_map(|(min, more)| Ngrams::Words { min, max: min + more }),
        (1..4_u8, 0..3_u8).prop_map(|(min, more)| Ngrams::Characters { min, max: min + more }),
    ];
    let stop = prop::collection::vec(prop::sample::select(vec!["A", "é", "カ", "漢字"]), 0..3);
    let language = prop::option::of(prop::sample::select(Language::ALL.to_vec()));
    (any::<[bool; 6]>(), terms, stop, language, 1..3_u16, 3..30_u16).prop_map(
        |([mail, normalize, fold_case, bigrams, ends, signs], terms, stop, stemmer, min_chars, max_chars)| {
            TokenizerOptions {
                word_rule: if mail { WordRule::Mail } else { WordRule::Unicode },
                normalize,
                fold_case,
                stop_words: stop_words(&stop),
                stemmer,
                terms,
                min_chars,
                max_chars,
                unspaced_bigrams: bigrams,
                ends,
                signs,
            }
        },
    )
}

proptest! {
    #[test]
    fn terms_are_never_empty_and_do_not_depend_on_the_scratch(
        options in any_options(),
        texts in prop::collection::vec(text(), 1..4),
    ) {
        let tokenizer = Tokenizer::new(options.clone()).unwrap();
        let mut scratch = Scratch::default();
        for text in &texts {
            let mut reused = Vec::new();
            tokenizer.for_each_term(text, &mut scratch, |term| reused.push(term.to_owned()));
            prop_assert!(reused.iter().all(|term| !term.is_empty()));
            if options.fold_case {
                let is_capital = |c: char| c.is_ascii_uppercase();
                prop_assert!(reused.iter().all(|term| term.starts_with('^') || !term.contains(is_capital)));
            }
            prop_assert_eq!(reused, terms(options.clone(), text));
        }
    }

    #[test]
    fn plain_words_are_the_folded_words_of_the_rule(text in text()) {
        let options = TokenizerOptions {
            normalize: false,
            unspaced_bigrams: false,
            max_chars: 256,
            ..TokenizerOptions::text()
        };
        let fold = |word: &&str| {
            let mut folded = String::new();
            fold_into(word, &mut folded);
            folded
        };
        let expected: Vec<_> = reference::unicode_words(&text).iter().map(fold).collect();
        prop_assert_eq!(terms(options.clone(), &text), expected);
        let expected: Vec<_> = reference::mail_words(&text).iter().map(fold).collect();
        prop_assert_eq!(terms(TokenizerOptions { word_rule: WordRule::Mail, ..options }, &text), expected);
    }

    #[test]
    fn counts_are_the_counts_of_the_terms(options in any_options(), text in text()) {
        let tokenizer = Tokenizer::new(options.clone()).unwrap();
        let (mut vocabulary, mut scratch) = (Vocabulary::new(), Scratch::default());
        let counts = tokenizer.count(&text, &mut vocabulary, &mut scratch).unwrap();
        prop_assert_eq!(&tokenizer.count_known(&text, &vocabulary, &mut scratch), &counts);
        let mut expected = BTreeMap::new();
        for term in terms(options, &text) {
            *expected.entry(fingerprint(&term)).or_insert(0) += 1;
        }
        let counted: BTreeMap<_, _> =
            counts.row().iter().map(|(id, count)| (fingerprint(vocabulary.term(id).unwrap()), count)).collect();
        prop_assert_eq!(counted, expected);
    }
}

/// Every 50th file below `folder`, which keeps the test short.
fn some_files(folder: &Path) -> Vec<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files.into_iter().step_by(50).collect()
}

#[test]
fn real_text_has_the_words_of_the_reference() {
    let Some(folder) = public_corpus("") else { return };
    for file in some_files(&folder) {
        // Latin-1 read as UTF-8 has replacement characters, so each file is also read as Latin-1.
        let bytes = std::fs::read(&file).unwrap();
        let latin: String = bytes.iter().map(|&byte| char::from(byte)).collect();
        for text in [String::from_utf8_lossy(&bytes).into_owned(), latin] {
            let words = |rule: WordRule| crate::testing::words(&text, rule);
            assert!(words(WordRule::Unicode) == reference::unicode_words(&text), "{}", file.display());
            assert!(words(WordRule::Mail) == reference::mail_words(&text), "{}", file.display());
        }
    }
}

#[test]
fn hostile_texts_are_linear() {
    let units = [
        "a",
        "'",
        "a'",
        "-",
        "a-",
        "a--",
        "_",
        "$",
        ".",
        "a.",
        "é",
        "é'",
        "é.",
        "\u{301}",
        "a\u{301}",
        "\u{316}\u{301}",
        "\u{200b}",
        "е",
        "е ",
        "аb",
        "\u{5d0}\"",
        "\u{5d0}'",
        "漢",
        "漢 ",
        "か\u{3099}",
        "\u{3099}",
        "\u{e01}",
        "\u{1f1e9}",
        "\u{1f469}\u{200d}",
        "\u{ff21}",
        "\u{a0}",
        " \u{301}",
        "ẞ",
        "\u{1100}\u{1161}",
        // with and without places where the text can be cut
        "a\u{301}\u{316}—",
        "a\u{301}\u{316}—a—",
        "\u{1100}\u{1161}—a",
        "—",
        "—a",
        "\u{3000}a\u{200b}",
    ];
    for options in [TokenizerOptions::mail(), TokenizerOptions::default()] {
        let tokenizer = Tokenizer::new(options).unwrap();
        for once in ["", "a", "é", "漢"] {
            check_linear(&units, |text| {
                tokenizer.for_each_term(&format!("{once}{text}"), &mut Scratch::default(), |_| ());
            });
        }
    }
}
