use proptest::prelude::*;
use tamis_filter::extract::document::Document;
use tamis_filter::scorers::scratch::Scratch;
use tamis_store::config::recipe::Keep;
use tamis_store::config::training::TrainOptions;
use tamis_store::error::Reason;
use tamis_store::kind::Kind;
use tamis_tokenizer::{Ngrams, PieceLengths};

use tamis_model::Documents;

use super::*;
use crate::model::Model;
use crate::tests::taught;
use crate::{MergeOptions, merge};

const LABELS: [&str; 4] = ["ham", "spam", "eggs", "zest"];

/// Text, or two fields. In a field named `a b`, words begin as pairs in a text may.
#[derive(Clone, Debug)]
struct Words {
    label: usize,
    words: Vec<usize>,
    field: Option<usize>,
    trainer: usize,
    /// Whether it has several stretches.
    is_long: bool,
}

impl Words {
    fn teach(&self, trainer: &mut Trainer) {
        let text = |words: &[usize]| -> Vec<&str> {
            words.iter().map(|word| ["a", "b", "b:c", "c", "d", "Ω", "发布会", ""][*word]).collect()
        };
        let (body, more) = self.words.split_at(self.words.len() / 2);
        let label = LABELS[self.label];
        let learned = match self.field {
            None => {
                let times = if self.is_long { 30 } else { 1 };
                trainer.add(label, Document::Text(&(text(&self.words).join(" ") + " ").repeat(times)))
            }
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
        let document = (0..labels, words, prop::option::of(0..3_usize), 0..3_usize, any::<bool>());
        let document = document.prop_map(|(label, words, field, trainer, is_long)| Words {
            label,
            words,
            field,
            trainer,
            is_long,
        });
        prop::collection::vec(document, 0..24)
    })
}

fn options() -> impl Strategy<Value = TrainOptions> {
    let keep = prop::sample::select(vec![Keep::Digests, Keep::Vectors]);
    let options = |(keep, repeat)| TrainOptions { keep: Some(keep), repeat, ..TrainOptions::new(Kind::Text) };
    (keep, any::<bool>()).prop_map(options)
}

/// The model of the documents, learned by one trainer with these options.
fn model<'a>(options: &TrainOptions, documents: impl IntoIterator<Item = &'a Words>) -> Option<Model> {
    let mut trainer = Trainer::new(options.clone()).unwrap();
    assert_eq!(trainer.texts.is_some(), !options.refinements.is_empty());
    documents.into_iter().for_each(|document| document.teach(&mut trainer));
    trainer.finish().ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// In any order, with any number of trainers; and whatever is chosen, the model is that of the chosen terms.
    #[test]
    fn a_model_is_that_of_the_terms_it_has(options in options(), documents in documents()) {
        let mut trainers: Vec<_> = (0..3).map(|_| Trainer::new(options.clone()).unwrap()).collect();
        documents.iter().for_each(|document| document.teach(&mut trainers[document.trainer]));
        let mut whole = trainers.pop().unwrap();
        trainers.into_iter().for_each(|trainer| whole.merge(trainer).unwrap());
        let mut chosen = whole.choose_terms().unwrap();
        let scoring = Some(chosen.scoring());
        let expected =
            TrainOptions { refinements: Vec::new(), recipe: chosen.recipe().clone(), scoring, ..options.clone() };
        // except for the losses that decided, which the header keeps
        let tried = std::mem::take(&mut chosen.tried);
        let has_any = tried.iter().any(TriedRefinement::is_chosen);
        let has_more = expected.recipe != options.recipe || expected.scoring != Some(options.scoring());
        prop_assert_eq!(has_any, has_more);
        prop_assert_eq!(chosen.finish().ok(), model(&expected, documents.iter().rev()));
        let [one, other] = [false, true].map(|is_reversed| match is_reversed {
            false => model(&options, &documents),
            true => model(&options, documents.iter().rev()),
        });
        prop_assert_eq!(one, other);
    }
}

proptest! {
    /// What a sample that was counted with everything has by a recipe, a trainer that counts by the recipe has too.
    #[test]
    fn a_sample_has_the_terms_of_each_recipe(mut documents in documents(), families in 0..8_usize) {
        // no field whose words may be the same terms as pairs
        documents.iter_mut().for_each(|document| document.field = document.field.map(|field| field.max(1)));
        let open = TrainOptions::new(Kind::Text);
        let all = [Refinement::Pieces, Refinement::Pairs, Refinement::Signs];
        let with = |kept: usize| {
            let kept = all.into_iter().enumerate().filter(|(bit, _)| kept >> bit & 1 == 1);
            let plain = TrainOptions { refinements: Vec::new(), ..open.clone() };
            kept.fold(plain, |options, (_, it)| options.with(it).unwrap())
        };
        let taught = |options: TrainOptions| {
            let mut trainer = Trainer::new(options).unwrap();
            documents.iter().for_each(|document| document.teach(&mut trainer));
            trainer
        };
        let options = with(families);
        let words = taught(with(0)).parts;
        let sample = Sample::new(taught(with(7)), &words).unwrap();
        let (counts, masked) = sample.with(&sample.terms_of(&options.recipe)).unwrap();
        let TrainingSet { merged, documents: own, .. } = taught(options).take_in_order().unwrap();
        prop_assert_eq!(&counts, &merged.statistics);
        // with pairs, texts with the same words may differ
        let rows = |of: &Collection| {
            let rows = of.rows(&(0..of.documents.len()).collect::<Vec<_>>());
            let copies = of.documents.iter().map(|document| document.multiplicity as usize);
            let rows = rows.into_iter().zip(copies).flat_map(|(row, n)| std::iter::repeat_n(row, n));
            let mut rows: Vec<_> = rows.map(|row| row.row().iter().collect::<Vec<_>>()).collect();
            rows.sort();
            rows
        };
        prop_assert_eq!(rows(&masked), rows(&own));
    }
}

/// Generates the words of a document from its label and a source of random numbers.
type Text = fn(usize, &mut dyn FnMut(usize) -> usize) -> String;

/// Documents of so many labels.
fn labelled(n_labels: usize, n: usize, words: Text) -> Trainer {
    let mut trainer = Trainer::new(TrainOptions::new(Kind::Text)).unwrap();
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for i in 0..n {
        let text = words(i % n_labels, &mut random);
        let label =
            LABELS.get(i % n_labels).map_or_else(|| format!("{}", i % n_labels), |label| label.to_string());
        trainer.add(&label, Document::Text(&format!("{text} number{i}"))).unwrap();
    }
    trainer
}

fn two_labels(n: usize, words: Text) -> Trainer {
    labelled(2, n, words)
}

/// What a model has taken.
fn refinements(trainer: Trainer) -> Vec<Refinement> {
    let filter = trainer.finish().unwrap().into_filter().unwrap();
    let information = filter.information();
    let tried = information.chosen.map_or(&[][..], |chosen| &chosen.refinements);
    tried.iter().filter(|tried| tried.is_chosen()).map(|tried| tried.refinement).collect()
}

/// Only both words together show the label.
fn together(label: usize, random: &mut dyn FnMut(usize) -> usize) -> String {
    let first = random(4);
    let words = [["not", "very", "so", "too"][first], ["good", "bad", "odd", "new"][(first + label) % 4]];
    format!("w{} {}", random(9), words.join(" "))
}

/// One word shows the label. The words around it are random.
fn one(label: usize, random: &mut dyn FnMut(usize) -> usize) -> String {
    let tells = if random(5) == 0 { random(2) } else { label };
    let noise = (0..4).map(|_| format!("w{}", random(8))).collect::<Vec<_>>().join(" ");
    format!("{} {noise}", ["lunch", "pills"][tells])
}

/// Only the sign at the end shows the label.
fn by_sign(label: usize, random: &mut dyn FnMut(usize) -> usize) -> String {
    format!("w{} w{}{}", random(9), random(9), ["!", "...", "?", "?!"][label])
}

/// Words that were made up, of letters that each label prefers.
fn made_up(label: usize, random: &mut dyn FnMut(usize) -> usize) -> String {
    let letters = ["abcdefgh", "hgijklmn"][label].as_bytes();
    (0..12).map(|_| char::from(letters[random(8)])).collect()
}

/// Of twenty labels, a fifth are given by chance.
fn by_chance(label: usize, random: &mut dyn FnMut(usize) -> usize) -> String {
    let about = if random(5) == 0 { random(20) } else { label };
    let mut words: Vec<_> = (0..8).map(|_| format!("w{}", random(300))).collect();
    words.extend((0..2).map(|_| format!("t{}", about * 40 + random(40))));
    words.join(" ")
}

#[test]
fn what_predicts_better_is_taken() {
    for n_labels in [2, 3, 4] {
        assert_eq!(refinements(labelled(n_labels, 400, together)), [Refinement::Pairs], "{n_labels} labels");
        assert_eq!(
            refinements(labelled(n_labels, 400, by_sign))[..],
            [Refinement::Signs],
            "{n_labels} labels"
        );
    }
    assert_eq!(refinements(two_labels(400, one)), []);
    assert_eq!(refinements(two_labels(400, made_up))[..2], [Refinement::Pieces, Refinement::AllPieces]);
    // labels given partly by chance
    let tried = labelled(20, 2_000, by_chance).choose_terms().unwrap().tried;
    let of_c = tried.iter().find(|tried| tried.refinement == Refinement::Regularisation).unwrap();
    assert!(of_c.with < of_c.without, "{of_c:?}");
    // few documents too
    assert_eq!(refinements(two_labels(40, by_sign)), [Refinement::Signs]);
    // nothing to learn from
    let squares = (0..200).map(|i| (LABELS[i % 2], format!("{}", i * i)));
    refinements(taught(TrainOptions::new(Kind::Text), squares));
}

#[test]
fn what_is_asked_for_is_not_chosen() {
    let asked: [fn(&mut TrainOptions); 4] = [
        |options| options.refinements.clear(),
        |options| options.recipe.tokenizer.terms = Ngrams::Characters { min: 1, max: 1 },
        |options| options.scoring = Some(Scoring::NaiveBayes(Scoring::parameters())),
        |options| options.recipe.kind = Kind::Mail,
    ];
    for ask in asked {
        let mut options = TrainOptions::new(Kind::Text);
        ask(&mut options);
        assert!(Trainer::new(options).unwrap().texts.is_none());
    }
    let later = two_labels(400, together).with_scoring(Scoring::NaiveBayes(Scoring::parameters()));
    assert_eq!(refinements(later), []);
    let mut unlabelled = two_labels(400, together);
    unlabelled.add_unlabelled(Document::Text("not so good")).unwrap();
    // labelled documents decide, and the others are counted accordingly
    assert_eq!(refinements(unlabelled), [Refinement::Pairs]);
}

#[test]
fn trainers_that_choose_first_choose_what_their_models_would() {
    for words in [together as Text, one] {
        let chosen = two_labels(400, words).choose_terms().unwrap();
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
    let n_texts = |trainer: &Trainer| trainer.texts.as_ref().map(|texts| texts.places.len());
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
fn a_sample_decides_for_many_documents() {
    // long documents, so that few are in the sample, but some of a rare label
    let words = |label: usize, random: &mut dyn FnMut(usize) -> usize| {
        let filler = (0..500).map(|_| format!("w{}", random(50))).collect::<Vec<_>>().join(" ");
        format!("{} {filler}", together(label, random))
    };
    let mut trainer = two_labels(400, words);
    (0..20).for_each(|i| trainer.add("zest", Document::Text(&format!("lemon {i}"))).unwrap());
    (0..3).for_each(|_| trainer.add("eggs", Document::Text("a copied egg")).unwrap());
    let texts = trainer.texts.as_ref().unwrap();
    let [sample, _] = trainer.samples(texts);
    let of = |label| sample.iter().filter(|place| place.label == label_hash(Some(label))).count();
    assert!((200..300).contains(&sample.len()), "{}", sample.len());
    assert!(of("zest") >= OF_EACH && of("eggs") == 3);
    let chosen = trainer.choose_terms().unwrap();
    assert_eq!((chosen.n_documents(), chosen.documents.len()), (423, 421));
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

fn trained(n: usize, options: TrainOptions) -> Model {
    taught(options, (0..n).map(sentence)).finish().unwrap()
}

/// Options of a model with pieces of words, as asked for.
fn with_pieces() -> TrainOptions {
    let mut options = TrainOptions { refinements: Vec::new(), ..TrainOptions::new(Kind::Text) };
    options.recipe.pieces = Some(PieceLengths::FOUR);
    options
}

#[test]
fn pieces_are_terms_where_words_have_many_forms() {
    let filter = trained(300, TrainOptions::new(Kind::Text)).into_filter().unwrap();
    assert!(filter.information().recipe.pieces.is_some());
    // a word form that was never seen
    let score = filter.score_text("talostakaan", &mut Scratch::default()).unwrap();
    assert_eq!(filter.label_of(&score), "house");
    let fixed = TrainOptions { refinements: Vec::new(), ..TrainOptions::new(Kind::Text) };
    let without = trained(300, fixed).into_filter().unwrap();
    let information = without.information();
    assert!(information.recipe.pieces.is_none() && information.chosen.unwrap().refinements.is_empty());
}

#[test]
fn a_word_is_explained_with_its_pieces() {
    let filter = trained(300, with_pieces()).into_filter().unwrap();
    let text = "talostakaan metsässäkin, metsässäkin zzz";
    let explanation = filter.explain(Document::Text(text), &mut Scratch::default()).unwrap();
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
    let mut halves = [0, 1].map(|_| Trainer::new(with_pieces()).unwrap());
    for (i, (label, text)) in (0..200).map(sentence).enumerate() {
        halves[i / 2 % 2].add(label, Document::Text(&text)).unwrap();
    }
    let halves = halves.map(|half| half.finish().unwrap().into_filter().unwrap());
    let options = MergeOptions { repeat: true, ..Default::default() };
    let merged = merge(&[&halves[0], &halves[1]], options).unwrap().into_filter().unwrap();
    let whole = trained(200, with_pieces()).into_filter().unwrap();
    let score = |filter: &crate::Filter, i: usize| {
        filter.score_text(&sentence(i).1, &mut Scratch::default()).unwrap().log_odds
    };
    assert!((200..220).all(|i| (score(&merged, i) - score(&whole, i)).abs() < 1e-12));
}
