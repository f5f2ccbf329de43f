//! Text of two classes and many.

use std::path::Path;

use tamis_train::options::Ngrams;
use tamis_train::{Kind, Recipe, TrainOptions};

use crate::corpora::Corpus;
use crate::engine::{counts_alone, evaluate, options};
use crate::report::Report;

pub fn default() -> TrainOptions {
    TrainOptions::new(Kind::Text)
}

pub fn with(change: impl Fn(&mut Recipe)) -> TrainOptions {
    options(Kind::Text, change)
}

pub fn words_and_pairs() -> TrainOptions {
    with(|recipe| recipe.tokenizer.terms = Ngrams::Words { min: 1, max: 2 })
}

pub fn sentence_polarity(path: &Path, report: &mut Report) {
    let sentences = Corpus::tables(path, [7_108, 3_554]);
    evaluate(report, "sentence polarity", &sentences, default());
}

pub fn ohsumed(path: &Path, report: &mut Report) {
    let abstracts = Corpus::tables(path, [3_357, 4_043]);
    evaluate(report, "ohsumed-23", &abstracts, default());
}

pub fn sms(path: &Path, report: &mut Report) {
    let table = path.join("messages.tsv");
    let messages = Corpus::first(&table, [1_672, 3_902]);
    evaluate(report, "SMS, first 30 % to learn", &messages, default());
    let characters = |r: &mut Recipe| r.tokenizer.terms = Ngrams::Characters { min: 3, max: 5 };
    evaluate(report, "SMS, 3 to 5 characters", &messages, with(characters));
    let cased = |recipe: &mut Recipe| {
        characters(recipe);
        recipe.tokenizer.fold_case = false;
    };
    evaluate(report, "SMS, 3 to 5 characters, case kept", &messages, with(cased));
    let halves = Corpus::halves(&table);
    assert_eq!(halves.all().count(), 5_574);
    evaluate(report, "SMS, halves by MD5", &halves, default());
}

pub fn reuters(path: &Path, report: &mut Report) {
    let stories = Corpus::folders(path, [5_485, 2_190]);
    evaluate(report, "Reuters R8", &stories, default());
    evaluate(report, "Reuters R8, counts alone", &stories, counts_alone(Kind::Text));
}

/// The same sentences in eight languages.
pub fn sentences(path: &Path, report: &mut Report) {
    let languages = [
        ("English", "eng"),
        ("Finnish", "fin"),
        ("German", "deu"),
        ("Hindi", "hin"),
        ("Korean", "kor"),
        ("Russian", "rus"),
        ("Thai", "tha"),
        ("Turkish", "tur"),
    ];
    for (language, folder) in languages {
        let sentences = Corpus::tables(&path.join(folder), [800, 204]);
        evaluate(report, &format!("sentences, {language}"), &sentences, default());
        let words = format!("sentences, {language}, words alone");
        evaluate(report, &words, &sentences, words_alone());
    }
}

pub fn korean_reviews(path: &Path, report: &mut Report) {
    let reviews = Corpus::tables(path, [23_642, 10_170]);
    evaluate(report, "Korean reviews", &reviews, default());
    evaluate(report, "Korean reviews, words alone", &reviews, words_alone());
}

pub fn german_tweets(path: &Path, report: &mut Report) {
    let tweets = Corpus::tables(path, [5_009, 3_532]);
    evaluate(report, "German tweets", &tweets, default());
    evaluate(report, "German tweets, words alone", &tweets, words_alone());
}

pub fn thai_posts(path: &Path, report: &mut Report) {
    let posts = Corpus::tables(path, [18_426, 7_748]);
    evaluate(report, "Thai posts", &posts, default());
}

/// Nine sets of short texts: intents, emotions, citations, comments, domains.
pub fn short_texts(path: &Path, report: &mut Report) {
    let sets = [
        "banking77",
        "goemotions",
        "sci_cite",
        "indo_smsa",
        "trec6",
        "tw_irony",
        "youtube",
        "url_phish",
        "dga",
    ];
    for set in sets {
        let texts = Corpus::lines(&path.join(set));
        evaluate(report, set, &texts, default());
        evaluate(report, &format!("{set}, words alone"), &texts, words_alone());
    }
}

/// The defaults without further families of terms.
fn words_alone() -> TrainOptions {
    let mut options = default();
    options.refinements.clear();
    options
}

pub fn titles(path: &Path, report: &mut Report) {
    let titles = Corpus::tables(path, [10_000, 10_000]);
    evaluate(report, "Chinese titles", &titles, default());
    let short = |r: &mut Recipe| r.tokenizer.terms = Ngrams::Characters { min: 1, max: 2 };
    evaluate(report, "Chinese titles, 1 and 2 characters", &titles, with(short));
}
