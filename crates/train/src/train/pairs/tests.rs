use proptest::prelude::*;
use tamis_filter::extract::document::Document;
use tamis_store::config::recipe::Keep;
use tamis_store::config::training::{Pairs, TrainOptions};
use tamis_store::error::Reason;
use tamis_store::kind::Kind;
use tamis_tokenizer::Ngrams;

use super::*;
use crate::model::Model;

const LABELS: [&str; 4] = ["ham", "spam", "eggs", "zest"];

/// Text, or two fields. In a field named `a b`, words begin as pairs in a text may.
#[derive(Clone, Debug)]
struct Words {
    label: usize,
    words: Vec<usize>,
    field: Option<usize>,
    trainer: usize,
}

impl Words {
    fn teach(&self, trainer: &mut Trainer) {
        let text = |words: &[usize]| -> Vec<&str> {
            words.iter().map(|word| ["a", "b", "b:c", "c", "d", "Ω", "发布会", ""][*word]).collect()
        };
        let (body, more) = self.words.split_at(self.words.len() / 2);
        let label = LABELS[self.label];
        let learned = match self.field {
            None => trainer.add(label, Document::Text(&text(&self.words).join(" "))),
            Some(field) => {
                let fields =
                    [("", text(body).join(" ")), (["a b", "subject", "a"][field], text(more).join(", "))];
                let fields = fields.each_ref().map(|(name, text)| (*name, text.as_str()));
                trainer.add(label, Document::Fields(&fields))
            }
        };
        learned.unwrap();
    }
}

fn documents() -> impl Strategy<Value = Vec<Words>> {
    (1..=LABELS.len()).prop_flat_map(|labels| {
        let words = prop::collection::vec(0..8_usize, 0..9);
        let document = (0..labels, words, prop::option::of(0..3_usize), 0..3_usize);
        let document =
            document.prop_map(|(label, words, field, trainer)| Words { label, words, field, trainer });
        prop::collection::vec(document, 0..24)
    })
}

fn options() -> impl Strategy<Value = TrainOptions> {
    let keep = prop::sample::select(vec![Keep::Digests, Keep::Vectors]);
    let windows = prop::sample::select(vec![None, None, Some(8)]);
    (keep, any::<bool>(), windows).prop_map(|(keep, repeat, windows)| {
        let mut options = TrainOptions { keep: Some(keep), repeat, ..TrainOptions::new(Kind::Text) };
        options.recipe.windows = windows;
        options
    })
}

/// The options of a model whose terms are fixed.
fn fixed(options: &TrainOptions, max: u8) -> TrainOptions {
    let mut options = TrainOptions { pairs: Pairs::Fixed, ..options.clone() };
    options.recipe.tokenizer.terms = Ngrams::Words { min: 1, max };
    options
}

/// The model of the documents, learned by one trainer.
fn model<'a>(options: &TrainOptions, documents: impl IntoIterator<Item = &'a Words>) -> Option<Model> {
    let mut trainer = Trainer::new(options.clone()).unwrap();
    assert_eq!(trainer.choices.texts.is_some(), options.pairs == Pairs::Auto);
    documents.into_iter().for_each(|document| document.teach(&mut trainer));
    trainer.finish().ok()
}

proptest! {
    #[test]
    fn a_model_is_that_of_the_terms_it_has(options in options(), documents in documents(), better: bool) {
        let mut trainers: Vec<_> = (0..3).map(|_| Trainer::new(options.clone()).unwrap()).collect();
        documents.iter().for_each(|document| document.teach(&mut trainers[document.trainer]));
        let mut whole = trainers.pop().unwrap();
        trainers.into_iter().for_each(|trainer| whole.merge(trainer).unwrap());
        let n_labels = whole.classes().len();
        prop_assert_eq!(whole.choices.texts.is_some(), n_labels <= 2);
        let verdict = PairsTrial { has_pairs: better, tried: TriedTerms { with: 0.1, without: 0.2 } };
        whole.settle_pieces().unwrap();
        let mut chosen = whole.settle_pairs(0, |_, _, _| Ok(Some(verdict))).unwrap();
        // except for the losses that decided, which the header keeps
        chosen.choices.pairs = None;
        let expected = fixed(&options, if better && n_labels == 2 { 2 } else { 1 });
        prop_assert_eq!(&chosen.recipe().tokenizer, &expected.recipe.tokenizer);
        prop_assert_eq!(chosen.finish().ok(), model(&expected, documents.iter().rev()));
    }
}

/// Generates the words of a document from its label and a source of random numbers.
type Text = fn(usize, &mut dyn FnMut(usize) -> usize) -> String;

/// Documents of two labels.
fn two_labels(n: usize, words: Text) -> Trainer {
    let mut trainer = Trainer::new(TrainOptions::new(Kind::Text)).unwrap();
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for i in 0..n {
        let text = words(i % 2, &mut random);
        trainer.add(LABELS[i % 2], Document::Text(&format!("{text} number{i}"))).unwrap();
    }
    trainer
}

fn max(trainer: Trainer) -> u8 {
    let filter = trainer.finish().unwrap().into_filter().unwrap();
    match filter.information().recipe.tokenizer.terms {
        Ngrams::Words { min: 1, max } => max,
        other => panic!("{other:?}"),
    }
}

/// Only both words together show the label.
fn together(label: usize, random: &mut dyn FnMut(usize) -> usize) -> String {
    let first = random(2);
    format!("{} {}", ["not", "very"][first], ["good", "bad"][(first + label) % 2])
}

/// One word shows the label. The words around it are random.
fn one(label: usize, random: &mut dyn FnMut(usize) -> usize) -> String {
    let tells = if random(5) == 0 { random(2) } else { label };
    let noise = (0..4).map(|_| format!("w{}", random(8))).collect::<Vec<_>>().join(" ");
    format!("{} {noise}", ["lunch", "pills"][tells])
}

#[test]
fn pairs_are_kept_where_they_predict_better() {
    assert_eq!(max(two_labels(400, together)), 2);
    assert_eq!(max(two_labels(400, one)), 1);
    // no document has two words
    let mut trainer = Trainer::new(TrainOptions::new(Kind::Text)).unwrap();
    (0..200).for_each(|i| trainer.add(LABELS[i % 2], Document::Text(&format!("w{i}"))).unwrap());
    assert_eq!(max(trainer), 1);
}

#[test]
fn few_documents_do_not_tell() {
    assert_eq!(max(two_labels(2 * ENOUGH, together)), 2);
    assert_eq!(max(two_labels(2 * ENOUGH - 1, together)), 1);
}

#[test]
fn what_is_asked_for_is_not_chosen() {
    let asked: [fn(&mut TrainOptions); 5] = [
        |options| options.pairs = Pairs::Fixed,
        |options| options.recipe.tokenizer.terms = Ngrams::Words { min: 2, max: 2 },
        |options| options.recipe.tokenizer.terms = Ngrams::Characters { min: 1, max: 1 },
        |options| options.scoring = Some(Scoring::NaiveBayes(Scoring::parameters())),
        |options| options.recipe.kind = Kind::Mail,
    ];
    for ask in asked {
        let mut options = TrainOptions::new(Kind::Text);
        ask(&mut options);
        assert!(Trainer::new(options).unwrap().choices.texts.is_none());
    }
    let later = two_labels(400, together).with_scoring(Scoring::NaiveBayes(Scoring::parameters()));
    assert_eq!(max(later), 1);
    let mut unlabelled = two_labels(400, together);
    unlabelled.add_unlabelled(Document::Text("not so good")).unwrap();
    // labelled documents decide, and the others are counted accordingly
    assert_eq!(max(unlabelled), 2);
    let mut third = two_labels(400, together);
    third.add("eggs", Document::Text("not so good")).unwrap();
    assert_eq!(max(third), 1);
}

#[test]
fn trainers_that_choose_first_choose_what_their_models_would() {
    for (words, max) in [(together as Text, 2), (one, 1)] {
        let chosen = two_labels(400, words).choose_terms().unwrap();
        assert_eq!(chosen.recipe().tokenizer.terms, Ngrams::Words { min: 1, max });
        assert!(chosen.finish().unwrap() == two_labels(400, words).finish().unwrap());
    }
    let mut chosen = two_labels(400, together).choose_terms().unwrap();
    assert!(matches!(
        chosen.merge(two_labels(4, together)).err().unwrap().reason(),
        Reason::DifferentSettings
    ));
}

#[test]
fn of_a_document_that_is_refused_no_text_is_kept() {
    let n_texts = |trainer: &Trainer| trainer.choices.texts.as_ref().map(|texts| texts.places().len());
    let mut trainer = two_labels(4, together);
    assert!(trainer.add("a\u{7}b", Document::Text("x y")).is_err());
    assert!(trainer.add("eggs", Document::Mail(b"x y")).is_err());
    assert!(trainer.add_unlabelled(Document::Mail(b"x y")).is_err());
    assert_eq!(n_texts(&trainer), Some(4));
    // the maximum number of copies
    trainer.documents[0].multiplicity = u32::MAX;
    let again = two_labels(1, together);
    assert!(trainer.merge(again).is_err());
    assert_eq!(n_texts(&trainer), Some(4));
}

#[test]
fn the_least_are_of_both_labels() {
    let mut is_least = least(1_000);
    let classes = (0..9_000).map(|i| usize::from(i % 50 == 7));
    let mut n = [0; 2];
    classes.filter(|class| is_least(*class)).for_each(|class| n[class] += 1);
    // all documents of a rare label
    assert_eq!(n, [980, 180]);
}

#[test]
fn a_sample_decides_for_many_documents() {
    // long documents, so that only the least number are counted with pairs
    let n = COUNTED[0] as usize + 200;
    let words = |label: usize, random: &mut dyn FnMut(usize) -> usize| {
        let filler = (0..1_500).map(|_| format!("w{}", random(50))).collect::<Vec<_>>().join(" ");
        format!("{} {filler}", together(label, random))
    };
    let trainer = two_labels(n, words);
    let texts = trainer.choices.texts.as_ref().unwrap();
    let (sample, others) = trainer.split(texts);
    assert_eq!((sample.len(), sample.len() + others.len()), (COUNTED[0] as usize, n));
    let chosen = trainer.choose_terms().unwrap();
    assert_eq!(chosen.recipe().tokenizer.terms, Ngrams::Words { min: 1, max: 2 });
    assert_eq!((chosen.n_documents(), chosen.documents.len()), (n as u64, n));
}
