use proptest::prelude::*;
use tamis_filter::extract::document::Document;
use tamis_filter::scorers::scratch::Scratch;
use tamis_store::config::training::{Pairs, Pieces, TrainOptions};
use tamis_store::kind::Kind;
use tamis_tokenizer::Ngrams;

use crate::model::Model;
use crate::train::trainer::Trainer;
use crate::{MergeOptions, merge};

const WORDS: [&str; 10] =
    ["maa", "maassa", "maassakin", "talo", "talossa", "한국어", "国歌", "a:bcd", "x", "~"];

/// A document as numbers of words, its label, and which of three trainers learns it.
type RawExample = (Vec<usize>, usize, usize);

fn documents() -> impl Strategy<Value = Vec<RawExample>> {
    prop::collection::vec((prop::collection::vec(0..WORDS.len(), 0..9), 0..2_usize, 0..3_usize), 2..24)
}

fn options(kind: Kind, windows: Option<u32>, max: u8, has_pieces: bool) -> TrainOptions {
    let mut options = TrainOptions::new(kind);
    (options.pairs, options.pieces) = (Pairs::Fixed, Pieces::Fixed);
    options.recipe.tokenizer.terms = Ngrams::Words { min: 1, max };
    (options.recipe.windows, options.recipe.pieces) = (windows, has_pieces);
    options
}

fn teach(trainer: &mut Trainer, (words, label, _): &RawExample) {
    let text = words.iter().map(|word| WORDS[*word]).collect::<Vec<_>>().join(" ");
    let mail = format!("Subject: {text}\nTo: talossa@example.org\n\n{text}\n");
    let document = match trainer.recipe().kind {
        Kind::Mail => Document::Mail(mail.as_bytes()),
        _ => Document::Text(&text),
    };
    trainer.add(["ham", "spam"][*label], document).unwrap();
}

proptest! {
    /// Counted with every word, or expanded when training ends, with any number of trainers.
    #[test]
    fn pieces_follow_from_words(
        documents in documents(),
        kind in prop::sample::select(vec![Kind::Text, Kind::Mail]),
        windows in prop::sample::select(vec![None, Some(16)]),
        max in 1..3_u8,
    ) {
        let mut counted = Trainer::new(options(kind, windows, max, true)).unwrap();
        let mut parts = [0, 1, 2].map(|_| Trainer::new(options(kind, windows, max, false)).unwrap());
        for document in &documents {
            teach(&mut counted, document);
            teach(&mut parts[document.2], document);
        }
        let [mut expanded, one, other] = parts;
        expanded.merge(one).unwrap();
        expanded.merge(other).unwrap();
        expanded.expand().unwrap();
        let [counted, expanded] = [counted, expanded].map(|trainer| trainer.finish().ok());
        prop_assert_eq!(counted.is_some(), expanded.is_some());
        prop_assert!(counted.as_ref().map(Model::as_bytes) == expanded.as_ref().map(Model::as_bytes));
    }
}

/// Sentences about houses or about land, in word forms most of which occur once.
fn sentence(i: usize) -> (&'static str, String) {
    let endings = ["ssa", "sta", "lla", "lta", "lle", "na", "ksi", "tta", "ineen", "kin", "han", "ko", "pa"];
    let ending = |at: usize| format!("{}{}", endings[at % 13], endings[at / 13 % 13]);
    let stem = if i.is_multiple_of(2) { "talo" } else { "metsä" };
    let word = |at: usize| format!("{stem}{}", ending(at));
    let other = |at: usize| format!("{}{}", ["kala", "vene", "juusto"][at % 3], ending(at));
    (["house", "land"][i % 2], format!("{} {} {}", other(3 * i), word(7 * i), other(5 * i + 1)))
}

fn trained(n: usize, change: impl Fn(&mut TrainOptions)) -> Model {
    let mut options = TrainOptions::new(Kind::Text);
    change(&mut options);
    let mut trainer = Trainer::new(options).unwrap();
    (0..n).map(sentence).for_each(|(label, text)| trainer.add(label, Document::Text(&text)).unwrap());
    trainer.finish().unwrap()
}

#[test]
fn pieces_are_terms_where_words_have_many_forms() {
    let filter = trained(300, |_| ()).into_filter().unwrap();
    assert!(filter.information().recipe.pieces);
    let tried = filter.information().chosen.unwrap().pieces.unwrap();
    assert!(tried.with < tried.without, "{tried:?}");
    // a word form that was never seen
    let score = filter.score_text("talostakaan", &mut Scratch::default()).unwrap();
    assert_eq!(filter.label_of(&score), "house");
    let without = trained(300, |options| options.pieces = Pieces::Fixed).into_filter().unwrap();
    assert!(!without.information().recipe.pieces && without.information().chosen.unwrap().pieces.is_none());
    // too few documents to tell
    assert!(!trained(60, |_| ()).into_filter().unwrap().information().recipe.pieces);
}

#[test]
fn a_word_is_explained_with_its_pieces() {
    let filter = trained(300, |_| ()).into_filter().unwrap();
    let text = "talostakaan metsässäkin, metsässäkin zzz";
    let explanation = filter.explain_text(text, &mut Scratch::default()).unwrap();
    let word = explanation.terms.iter().find(|term| term.term == "talostakaan").unwrap();
    assert!(word.of_pieces != 0.0 && word.contribution == word.of_pieces);
    assert_eq!(word.document_frequencies, [0, 0]);
    assert_eq!(explanation.unknown, 1);
    let sum = |terms: &[crate::TermContribution]| terms.iter().map(|term| term.contribution).sum::<f64>();
    let apart = explanation.apart();
    assert!((sum(&explanation.terms) - sum(&apart)).abs() < 1e-9);
    assert!(
        apart.iter().any(|term| term.term == "tal~")
            && explanation.terms.iter().all(|t| !t.term.contains('~'))
    );
    let log_odds = explanation.score.log_odds.abs();
    assert!((explanation.intercept + sum(&apart) - log_odds).abs() < 1e-6);
    let words = filter.explain_words(Document::Text(text), &explanation);
    assert!((words.iter().map(|word| word.contribution).sum::<f64>() - sum(&apart)).abs() < 1e-9);
    let strongest = filter.strongest_terms(0, 50).unwrap();
    assert!(strongest.iter().all(|term| !term.term.contains('~')) && !strongest.is_empty());
}

#[test]
fn models_with_pieces_merge_as_they_are_trained() {
    let on = |options: &mut TrainOptions| (options.recipe.pieces, options.pairs) = (true, Pairs::Fixed);
    let mut halves = [0, 1].map(|_| {
        let mut options = TrainOptions::new(Kind::Text);
        on(&mut options);
        Trainer::new(options).unwrap()
    });
    for (i, (label, text)) in (0..200).map(sentence).enumerate() {
        halves[i / 2 % 2].add(label, Document::Text(&text)).unwrap();
    }
    let halves = halves.map(|half| half.finish().unwrap().into_filter().unwrap());
    let options = MergeOptions { repeat: true, ..Default::default() };
    let merged = merge(&[&halves[0], &halves[1]], options).unwrap().into_filter().unwrap();
    let whole = trained(200, on).into_filter().unwrap();
    let score = |filter: &crate::Filter, i: usize| {
        filter.score_text(&sentence(i).1, &mut Scratch::default()).unwrap().log_odds
    };
    assert!((200..220).all(|i| (score(&merged, i) - score(&whole, i)).abs() < 1e-12));
}
