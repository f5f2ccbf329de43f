use proptest::prelude::*;
use tamis_filter::extract::document::{Document, digest_of_nothing};
use tamis_filter::scorers::scratch::Scratch;
use tamis_model::{Cell, ClassPrior, Counts, Parameters, WeightedOptions};
use tamis_store::config::scoring::Scoring;
use tamis_store::config::training::TrainOptions;
use tamis_store::error::{Error, Reason};
use tamis_store::file::documents::DocumentKey;
use tamis_store::kind::Kind;

use super::*;
use crate::merge::refit::refit;
use crate::tests::taught;
use crate::train::trainer::Trainer;
use crate::update::learner::{LearnOptions, Learner};

const LABELS: [&str; 3] = ["ham", "spam", "eggs"];

fn options(scoring: Option<Scoring>, keep: Keep) -> TrainOptions {
    TrainOptions { scoring, keep: Some(keep), refinements: Vec::new(), ..TrainOptions::new(Kind::Text) }
}

/// Trains a model that knows the first two labels, and others if there are documents of them.
fn train<'a>(options: &TrainOptions, documents: impl IntoIterator<Item = &'a (usize, String)>) -> Filter {
    let mut trainer = Trainer::new(options.clone()).unwrap();
    LABELS[..2].iter().for_each(|label| {
        trainer.class_of(label).unwrap();
    });
    for (label, text) in documents {
        trainer.add(LABELS[*label], Document::Text(text)).unwrap();
    }
    trainer.finish().unwrap().into_filter().unwrap()
}

/// Documents, each with its shard.
fn sharded() -> impl Strategy<Value = Vec<(usize, (usize, String))>> {
    let text = proptest::collection::vec(0u8..12, 0..6)
        .prop_map(|words| words.iter().map(|w| format!("w{w} ")).collect::<String>());
    (2usize..=3).prop_flat_map(move |n| proptest::collection::vec((0usize..3, (0..n, text.clone())), 0..25))
}

fn keep() -> impl Strategy<Value = Keep> {
    prop_oneof![Just(Keep::Vectors), Just(Keep::Digests)]
}

/// Trains one model on all documents, and models on shards of them, in some order.
fn both(options: &TrainOptions, all: &[(usize, (usize, String))], turn: usize) -> (Filter, Vec<Filter>) {
    let shard =
        |i: usize| train(options, all.iter().filter(|(at, _)| *at == i).map(|(_, document)| document));
    let mut shards: Vec<_> = (0..3).map(shard).collect();
    shards.rotate_left(turn % 3);
    if turn >= 3 {
        shards.swap(0, 1);
    }
    (train(options, all.iter().map(|(_, document)| document)), shards)
}

fn merged(shards: &[Filter], retrain: bool, strip: bool) -> Result<Model> {
    merge(&shards.iter().collect::<Vec<_>>(), MergeOptions { retrain, strip, repeat: true })
}

/// The cells of all terms, and the documents without their fitted values.
type Counted = (Vec<(String, Vec<Cell>)>, Vec<(DocumentKey, u32, u64, i64)>);

fn counted(filter: &Filter) -> Counted {
    let store = filter.store();
    let terms = (0..store.n_terms() as u32).map(|id| {
        let mut cells = Vec::new();
        store.for_each_cell(id, |cell| cells.push(cell)).unwrap();
        (store.text(id).unwrap().to_owned(), cells)
    });
    let documents = store.documents().map(|d| d.map(|d| (d.key(), d.multiplicity, d.group, d.date)).unwrap());
    (terms.collect(), documents.collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn naive_bayes_of_shards_is_that_of_all(all in sharded(), turn in 0usize..6, keep in keep()) {
        // a shard may have no document of a label
        let parameters = Parameters { prior: ClassPrior::Uniform, ..Scoring::parameters() };
        let (at_once, shards) = both(&options(Some(Scoring::NaiveBayes(parameters)), keep), &all, turn);
        let sum = merged(&shards, false, false).unwrap();
        prop_assert_eq!(sum.as_bytes(), at_once.store().as_bytes());
    }

    /// Even if some shards lack a label, and therefore have another scoring.
    #[test]
    fn shards_fitted_anew_are_all_trained_at_once(all in sharded(), turn in 0usize..6) {
        let (at_once, shards) = both(&options(None, Keep::Vectors), &all, turn);
        let sum = merged(&shards, true, false).unwrap();
        prop_assert_eq!(sum.as_bytes(), at_once.store().as_bytes());
    }

    #[test]
    fn counts_are_exact_and_order_leaves_no_trace(
        all in sharded(), turn in 0usize..6, keep in keep(), strip: bool, corrected: bool,
    ) {
        let n_labels = if all.iter().any(|(_, (label, _))| *label == 2) { 3 } else { 2 };
        let mut weighted = WeightedOptions::default();
        weighted.correction = false;
        let plain = Scoring::Weighted(weighted);
        let scoring = if corrected { None } else { Some(plain) };
        let (at_once, shards) = both(&options(scoring, keep), &all, turn);
        let sum = merged(&shards, false, strip).unwrap();
        let mut others: Vec<_> = shards.iter().collect();
        others.reverse();
        let other = merge(&others, MergeOptions { strip, retrain: false, repeat: true }).unwrap();
        prop_assert_eq!(sum.as_bytes(), other.as_bytes());
        let sum = sum.into_filter().unwrap();
        // with vectors: the weights are the sum over all documents
        prop_assert!(sum.verify().is_ok(), "{:?}", sum.verify());
        prop_assert_eq!(sum.information().stored.keep, if strip { Keep::Digests } else { keep });
        prop_assert_eq!(counted(&sum), counted(&at_once));
        if keep == Keep::Digests && shards.iter().all(|shard| keeps_weights(shard.store(), n_labels)) {
            for document in sum.store().documents() {
                let document = document.unwrap();
                let known = shards.iter().map(|shard| shard.store().document(document.key()).unwrap());
                // the columns are the same with two labels, and with three that all shards have
                let of_shard = known.flatten().flat_map(|known| known.coefficients);
                let units = of_shard.map(|coefficient| (coefficient.bias, coefficient.units));
                let expected = units.fold((0, 0), |sum, units| (sum.0 + units.0, sum.1 + units.1));
                let got = document.coefficients.iter().fold((0, 0), |sum, c| (sum.0 + c.bias, sum.1 + c.units));
                prop_assert_eq!(got, expected);
            }
        }
    }

    /// Logs are merged as part of their models.
    #[test]
    fn logs_are_merged(all in sharded(), forget: bool) {
        let folder = tempfile::tempdir().unwrap();
        let (_, shards) = both(&options(None, Keep::Vectors), &all, 0);
        let path = folder.path().join("model.tamis");
        std::fs::write(&path, shards[0].store().as_bytes()).unwrap();
        let options = LearnOptions { retrain: false, ..LearnOptions::default() };
        let mut learner = Learner::open(&path, options).unwrap();
        learner.learn("spam", Document::Text("w1 w2 new words")).unwrap();
        if forget && let Some((_, (label, text))) = all.iter().find(|(shard, _)| *shard == 0) {
            let label = Some(LABELS[*label]).filter(|_| text.is_empty());
            learner.forget(label, Document::Text(text)).unwrap();
        }
        learner.commit().unwrap();
        let logged = Filter::open(&path).unwrap();
        prop_assert!(logged.information().file.log_bytes > 0);
        learner.compact().unwrap();
        let folded = Filter::open(&path).unwrap();
        let [a, b] = [&logged, &folded].map(|one| merge(&[one, &shards[1]], MergeOptions::default()).unwrap());
        prop_assert!(a.into_filter().unwrap().verify().is_ok());
        let alone = merge(&[&logged], MergeOptions::default()).unwrap();
        prop_assert_eq!(alone.as_bytes(), folded.store().as_bytes());
        prop_assert!(b.into_filter().unwrap().verify().is_ok());
    }
}

#[test]
fn what_does_not_add_up_is_refused_by_name() {
    let documents = [(0, "a b".to_owned()), (1, "c d".to_owned())];
    let refused = |a: &TrainOptions, b: &TrainOptions| {
        let models = [a, b].map(|options| train(options, &documents));
        match merged(&models, false, false).map_err(Error::into_reason) {
            Err(Reason::Incompatible { setting, .. }) => setting,
            other => panic!("{other:?}"),
        }
    };
    let plain = options(None, Keep::Vectors);
    let mut longer = plain.clone();
    longer.recipe.tokenizer.max_chars = 9;
    assert_eq!(refused(&plain, &longer), "recipe.tokenizer.max_chars");
    let bayes = options(Some(Scoring::NaiveBayes(Scoring::parameters())), Keep::Vectors);
    assert_eq!(refused(&plain, &bayes), "scoring");
    let mut weighted = WeightedOptions::default();
    weighted.alpha = 0.5.try_into().ok();
    let other = options(Some(Scoring::Weighted(weighted)), Keep::Vectors);
    assert_eq!(refused(&plain, &other), "scoring.Weighted.alpha");
    let em = tamis_store::config::scoring::ExpectationMaximization::for_documents(2);
    let em = options(Some(Scoring::ExpectationMaximization(em)), Keep::Digests);
    assert_eq!(refused(&em, &em), "scoring");
    assert!(matches!(
        merge(&[], MergeOptions::default()).err().unwrap().reason(),
        Reason::Incompatible { .. }
    ));
}

#[test]
fn what_was_not_kept_cannot_be_fitted_anew() {
    let documents = [(0, "a b".to_owned()), (1, "c d".to_owned())];
    let [digests, vectors] =
        [Keep::Digests, Keep::Vectors].map(|keep| train(&options(None, keep), &documents));
    let options = MergeOptions { retrain: true, repeat: true, ..MergeOptions::default() };
    assert!(matches!(merge(&[&digests, &vectors], options).err().unwrap().reason(), Reason::TermsNotStored));
    let stripped =
        merge(&[&vectors], MergeOptions { strip: true, ..options }).unwrap().into_filter().unwrap();
    assert_eq!(stripped.information().stored.keep, Keep::Digests);
    assert!(stripped.store().documents().all(|d| d.unwrap().vector.row().is_empty()));
    stripped.verify().unwrap();
}

/// A model's log comes after the part of its file that is mapped permanently, and may be cut off meanwhile.
#[test]
fn logs_that_are_cut_while_models_are_merged_are_not_missed() {
    let folder = tempfile::tempdir().unwrap();
    let train = |path: &std::path::Path, first: usize| {
        let limits = LearnOptions { log_limit: 1 << 20, retrain: false, ..LearnOptions::default() };
        let mut learner =
            Learner::create(path, options(None, Keep::Vectors), ["ham", "spam"], limits).unwrap();
        let base = learner.filter().information().file.bytes as u64;
        for n in first..first + 40 {
            let text: String = (0..50).map(|word| format!("w{} ", 50 * n + word)).collect();
            learner.learn(LABELS[n % 2], Document::Text(&text)).unwrap();
        }
        learner.commit().unwrap();
        base
    };
    let paths = ["a", "b"].map(|name| folder.path().join(name));
    let bases = [train(&paths[0], 0), train(&paths[1], 1_000)];
    assert_eq!(bases[0], bases[1]);
    let both = |filters: &[Filter; 2]| {
        let there = merge(&[&filters[0], &filters[1]], MergeOptions::default()).unwrap();
        let back = merge(&[&filters[1], &filters[0]], MergeOptions::default()).unwrap();
        assert_eq!(there, back);
        there
    };
    let filters = [0, 1].map(|i| Filter::open(&paths[i]).unwrap());
    let before = both(&filters);
    for path in &paths {
        std::fs::OpenOptions::new().write(true).open(path).unwrap().set_len(bases[0]).unwrap();
    }
    assert_eq!(both(&filters), before);
}

/// A model of mail-like documents, each once.
fn of(keep: Keep, texts: &[(usize, &str)]) -> Filter {
    let texts: Vec<_> = texts.iter().map(|(label, text)| (*label, (*text).to_owned())).collect();
    train(&options(None, keep), &texts)
}

#[test]
fn a_model_merged_with_itself_is_itself() {
    let texts = [(0, "a b b"), (0, "a c"), (0, "a c"), (1, "c d"), (1, "e f g"), (0, "b f"), (1, "")];
    for labels in [2, 3] {
        let more = (2, "x y z");
        let texts: Vec<_> = texts.into_iter().chain((labels == 3).then_some(more)).collect();
        let one = of(Keep::Vectors, &texts);
        let sum = merge(&[&one, &one], MergeOptions::default()).unwrap().into_filter().unwrap();
        sum.verify().unwrap();
        let (terms, mut documents) = counted(&one);
        let nothing = one.digest(Document::Text("")).unwrap();
        // it cannot be told from another without terms
        documents.iter_mut().filter(|d| d.0.0 == nothing).for_each(|d| d.1 *= 2);
        assert_eq!(counted(&sum), (terms, documents));
        for text in ["a b", "c d", "e f", "x"] {
            let scores = [&one, &sum].map(|f| f.score_text(text, &mut Scratch::default()).unwrap());
            // a document without terms counts twice, which moves the shares of the labels a little
            let is_tie = scores.iter().all(|score| score.probability < 0.6);
            assert!(is_tie || scores[0].label == scores[1].label, "{text}: {scores:?}");
        }
    }
}

#[test]
fn expectations_do_not_narrow_by_merging_a_model_with_itself() {
    let mail = |i: usize| {
        format!(
            "Subject: n{}\n\nword{} word{} {}\n",
            i % 7,
            i % 11,
            i % 5,
            if i.is_multiple_of(2) { "lunch" } else { "pills" }
        )
    };
    let mails = (0..80).map(|i| (LABELS[i % 2], mail(i)));
    let one = taught(TrainOptions::new(Kind::Mail), mails).finish().unwrap().into_filter().unwrap();
    let expected = one.information().expected;
    assert!(expected.is_some());
    let sum = merge(&[&one, &one], MergeOptions::default()).unwrap().into_filter().unwrap();
    assert_eq!((sum.information().expected, sum.information().totals), (expected, one.information().totals));
    let repeat = MergeOptions { repeat: true, ..MergeOptions::default() };
    let doubled = merge(&[&one, &one], repeat).unwrap().into_filter().unwrap();
    assert_eq!(doubled.information().totals[0].documents, 2 * one.information().totals[0].documents);
}

#[test]
fn digests_that_are_shared_are_refused_with_their_number() {
    let texts = [(0, "a b"), (1, "c d"), (1, "")];
    let one = of(Keep::Digests, &texts);
    let other = of(Keep::Vectors, &[(0, "a b"), (1, "x y"), (1, "")]);
    let alone = of(Keep::Digests, &[(0, "p q"), (1, "r s"), (1, "")]);
    let none = MergeOptions::default();
    assert!(matches!(merge(&[&one, &one], none).err().unwrap().reason(), Reason::Shared { documents: 2 }));
    assert!(matches!(merge(&[&one, &other], none).err().unwrap().reason(), Reason::Shared { documents: 1 }));
    assert!(merge(&[&one, &one], MergeOptions { repeat: true, ..none }).is_ok());
    merge(&[&one, &alone], none).unwrap().into_filter().unwrap().verify().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A shared document counts as in the model with the most copies: the union of multisets.
    #[test]
    fn what_models_share_counts_once(all in sharded(), turn in 0usize..6, retrain: bool) {
        let (_, shards) = both(&options(None, Keep::Vectors), &all, turn);
        let nothing = digest_of_nothing(&shards[0].store().header.recipe);
        let mut expected = std::collections::BTreeMap::<(String, [u8; 16]), u32>::new();
        for shard in &shards {
            for document in shard.documents() {
                let document = document.unwrap();
                let label = shard.classes().label(document.class).unwrap().to_owned();
                let known = expected.entry((label, document.digest)).or_default();
                *known = if document.digest == nothing { *known + document.copies } else { document.copies.max(*known) };
            }
        }
        let sum = merge(&shards.iter().collect::<Vec<_>>(), MergeOptions { retrain, ..MergeOptions::default() });
        let sum = sum.unwrap().into_filter().unwrap();
        prop_assert!(sum.verify().is_ok(), "{:?}", sum.verify());
        let got = sum.documents().map(|d| d.unwrap());
        let got = got.map(|d| ((sum.classes().label(d.class).unwrap().to_owned(), d.digest), d.copies));
        prop_assert_eq!(got.collect::<std::collections::BTreeMap<_, _>>(), expected);
        let mut others: Vec<_> = shards.iter().collect();
        others.reverse();
        let other = merge(&others, MergeOptions { retrain, ..MergeOptions::default() }).unwrap();
        prop_assert_eq!(sum.store().as_bytes(), other.as_bytes());
    }
}

#[test]
fn more_models_than_the_format_numbers_are_refused() {
    let model = train(&options(None, Keep::Digests), &[(0, "a".to_owned()), (1, "b".to_owned())]);
    let options = MergeOptions { repeat: true, ..MergeOptions::default() };
    let error = merge(&vec![&model; 65_536], options).err().unwrap();
    assert_eq!(error.to_string(), "too many models to merge: expected at most 65535, got 65536");
}

#[test]
fn labels_of_two_models_that_look_the_same_are_refused() {
    let model = |labels: [&str; 2]| {
        let trainer = taught(options(None, Keep::Digests), labels.iter().zip(labels));
        trainer.finish().unwrap().into_filter().unwrap()
    };
    let [one, other] = [model(["ham", "spam"]), model(["ham", "Spam"])];
    let error = merge(&[&one, &other], MergeOptions::default()).err().unwrap();
    assert!(matches!(error.reason(), Reason::SimilarLabels { got } if got == &["Spam", "spam"]), "{error}");
}

/// Texts of two labels, those with even numbers with a tenth of the weight.
fn weighted_texts() -> Vec<(f64, &'static str, String)> {
    let text = |i: u64| {
        let (weight, label) =
            (if i.is_multiple_of(2) { 0.1 } else { 1.6 }, ["fruit", "metal"][(i / 2) as usize % 2]);
        (weight, label, format!("{label} word{} word{}", i % 7, i % 11))
    };
    (0..60).chain(0..9).map(text).collect()
}

fn add_all<'a>(trainer: &mut Trainer, texts: impl Iterator<Item = &'a (f64, &'static str, String)>) {
    for (weight, label, text) in texts {
        trainer.add_weighted(*weight, label, None, Document::Text(text)).unwrap();
    }
}

#[test]
fn fractions_of_weights_reach_the_fit_and_stay_in_the_model() {
    let options = options(None, Keep::Vectors);
    let texts = weighted_texts();
    let train = |parts: &[Vec<&(f64, &'static str, String)>]| {
        let mut all = Trainer::new(options.clone()).unwrap();
        for part in parts {
            let mut trainer = Trainer::new(options.clone()).unwrap();
            add_all(&mut trainer, part.iter().copied());
            all.merge(trainer).unwrap();
        }
        all.finish().unwrap()
    };
    let model = train(&[texts.iter().collect()]);
    let (one, other) = texts.split_at(23);
    assert!(train(&[other.iter().rev().collect(), one.iter().rev().collect()]) == model);
    let filter = model.into_filter().unwrap();
    // the counts have one copy of a text of weight 0.1, and two of one of weight 1.6
    let counted: u64 = texts.iter().map(|(weight, ..)| if *weight < 1.0 { 1 } else { 2 }).sum();
    assert_eq!(filter.information().documents, counted);
    filter.verify().unwrap();
    // a refit starts from the same weights
    assert!(refit(filter.store()).unwrap().as_bytes() == filter.store().as_bytes());
    // other weights make another fit of the same counts
    let whole: Vec<_> =
        texts.iter().map(|(weight, label, text)| (weight.round().max(1.0), *label, text.clone())).collect();
    let of_whole = train(&[whole.iter().collect()]).into_filter().unwrap();
    assert_eq!(of_whole.information().totals, filter.information().totals);
    let score = |filter: &Filter| filter.score_text("metal word1", &mut Scratch::default()).unwrap().log_odds;
    assert_ne!(score(&of_whole), score(&filter));
}
