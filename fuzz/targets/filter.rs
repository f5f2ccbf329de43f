//! Options and documents to a model, against counts kept in a map.

use super::{Choices, tokenizer};
use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;
use tamis_mail::{Message, Piece};
use tamis_tokenizer::Tokenizer;
use tamis_train::information::ClassTotals;
use tamis_train::options::{
    ClassPrior, Counting, ExpectationMaximization, FeatureLimits, Likelihood, Mixed, Ngrams, Parameters,
    Smoothing, TokenizerOptions, WeightedOptions, WordRule,
};
use tamis_train::{
    Classes, DecisionOptions, Document, Filter, Keep, Kind, Recipe, Scoring, Scratch, TrainOptions, Trainer,
};

const LABELS: [&str; 5] = ["ham", "spam", "", "ham\n", "eggs"];
const NUMBERS: [f64; 12] =
    [0.1, 1.0, 0.0, 0.5, 1e-9, 1e9, -1.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, f64::MAX, 2.0];

pub fn run(data: &[u8]) {
    let mut choices = Choices(data);
    let options = options(&mut choices);
    let Ok(trainer) = Trainer::new(options.clone()) else { return };
    let documents: Vec<_> = choices.0.split(|byte| *byte == 0xFF).take(40).map(Labelled::read).collect();
    let mut counts = Naive::default();
    let mut trainers = [trainer, Trainer::new(options.clone()).expect("as before")];
    let mut whole = Trainer::new(options.clone()).expect("as before");
    for (i, document) in documents.iter().enumerate() {
        let added = document.add(&mut whole);
        assert_eq!(document.add(&mut trainers[i % 2]), added);
        if added {
            counts.add(document, whole.recipe());
        }
    }
    let [mut one, other] = trainers;
    if let Err(error) = one.merge(other) {
        assert_ne!(options, options.clone(), "{error}, though no number of them is NaN");
        return;
    }
    let recipe = whole.recipe().clone();
    match (whole.finish(), one.finish()) {
        (Ok(model), Ok(merged)) => {
            assert!(model.as_bytes() == merged.as_bytes(), "shares make a difference");
            let filter = model.into_filter().expect("what was written can be read");
            filter.verify().expect("what was written is whole");
            // unless training chose more terms
            if *filter.information().recipe == recipe {
                counts.check(&filter);
            }
            documents.iter().for_each(|document| ask(&filter, &document.text));
        }
        (whole, merged) => assert_eq!(whole.is_err(), merged.is_err()),
    }
}

/// Any options, also such as are refused.
fn options(choices: &mut Choices<'_>) -> TrainOptions {
    let kind = choices.of(&[Kind::Mail, Kind::Text]);
    let standard = choices.flag();
    let scoring = scoring(choices);
    let number = |choices: &mut Choices<'_>| choices.flag().then(|| choices.of(&NUMBERS));
    let decision = DecisionOptions {
        max_fpr: number(choices),
        cost: number(choices),
        prior: number(choices),
        unsure: number(choices),
        ..DecisionOptions::default()
    };
    let mut recipe = Recipe::new(kind);
    recipe.content_only = choices.flag();
    if !standard {
        recipe.tokenizer = tokenizer::options(choices);
        let limit = choices.byte().into();
        (recipe.limits.text, recipe.limits.headers, recipe.limits.parts) = (limit, limit / 8, limit / 8);
        recipe.ignored_headers = vec!["x-*".to_owned()];
    }
    // counted here as often as given
    let mut options = TrainOptions::new(kind);
    options.recipe = recipe;
    options.scoring = scoring;
    options.decision = decision;
    options.keep = Some(choices.of(&[Keep::Vectors, Keep::Digests]));
    options.repeat = true;
    options.names = kind == Kind::Mail;
    options
}

fn scoring(choices: &mut Choices<'_>) -> Option<Scoring> {
    let alpha = Smoothing::try_from(choices.of(&NUMBERS)).unwrap_or(Smoothing::maximum_likelihood());
    let mut prior = choices.of(&[
        ClassPrior::Learned,
        ClassPrior::Smoothed,
        ClassPrior::Uniform,
        ClassPrior::Given(Vec::new()),
    ]);
    if let ClassPrior::Given(shares) = &mut prior {
        shares.extend([choices.of(&NUMBERS), choices.of(&NUMBERS)]);
    }
    let likelihood = choices.of(&Likelihood::ALL);
    let (rate, mix) = (choices.of(&NUMBERS), choices.of(&NUMBERS));
    let mut weighted = WeightedOptions::default();
    weighted.correction = choices.flag();
    weighted.regularisation = rate;
    weighted.seed = 1;
    Some(match choices.byte() % 7 {
        0 => return None,
        1 => Scoring::Weighted(weighted),
        2 => Scoring::Weighted({
            let mut weighted = weighted;
            weighted.alpha = Some(alpha);
            weighted.idf_power = Some(mix);
            weighted
        }),
        3 => {
            let features = FeatureLimits {
                min_df: choices.byte().into(),
                max_df: choices.flag().then_some(rate),
                max_features: choices.flag().then(|| choices.byte().into()),
                select: None,
            };
            let counting = choices.of(&[Counting::Presence, Counting::Occurrences]);
            Scoring::NaiveBayes(Parameters { likelihood, counting, alpha, prior, features })
        }
        4 => {
            Scoring::Mixed(Mixed { alpha, text_alpha: alpha, prior, var_smoothing: rate, ..Mixed::default() })
        }
        _ => Scoring::ExpectationMaximization({
            let mut settings = ExpectationMaximization::for_documents(2);
            let em = &mut settings.options;
            (em.likelihood, em.alpha, em.prior, em.lambda) = (likelihood, alpha, prior, mix);
            (em.max_iterations, em.tolerance, em.seed) = (3, rate, 1);
            let transform = &mut settings.transform;
            transform.log_tf = choices.flag();
            transform.idf = choices.flag();
            transform.norm = NonZeroU32::new(choices.byte().into());
            transform.min_df = choices.byte().into();
            settings
        }),
    })
}

struct Labelled {
    label: Option<&'static str>,
    text: Vec<u8>,
}

impl Labelled {
    fn read(document: &[u8]) -> Self {
        let (label, text) = document.split_first().unwrap_or((&0, &[]));
        Labelled { label: LABELS.get(usize::from(*label) % 16 % 7).copied(), text: text.to_vec() }
    }

    fn add(&self, trainer: &mut Trainer) -> bool {
        let kind = trainer.recipe().kind;
        as_document(kind, &self.text, |document| match self.label {
            Some(label) => trainer.add(label, document).is_ok(),
            None => trainer.add_unlabelled(document).is_ok(),
        })
    }
}

fn as_document<T>(kind: Kind, text: &[u8], with: impl FnOnce(Document<'_>) -> T) -> T {
    match kind {
        Kind::Mail => with(Document::Mail(text)),
        _ => with(Document::Text(&String::from_utf8_lossy(text))),
    }
}

/// What was learned, counted the plain way.
#[derive(Default)]
struct Naive {
    totals: BTreeMap<&'static str, ClassTotals>,
    document_frequencies: HashMap<String, HashMap<&'static str, u64>>,
}

impl Naive {
    fn add(&mut self, document: &Labelled, recipe: &Recipe) {
        let Some(label) = document.label else { return };
        let mut counts = HashMap::new();
        for term in terms(&document.text, recipe) {
            *counts.entry(term).or_insert(0) += 1;
        }
        let totals = self.totals.entry(label).or_default();
        totals.documents += 1;
        totals.df += counts.len() as u64;
        totals.tf += counts.values().sum::<u64>();
        for term in counts.into_keys() {
            *self.document_frequencies.entry(term).or_default().entry(label).or_insert(0) += 1;
        }
    }

    fn check(&self, filter: &Filter) {
        let (classes, totals) = (filter.classes(), filter.information().totals);
        assert_eq!(classes.len(), self.totals.len());
        let unlabelled = filter.information().chosen.and_then(|chosen| chosen.unlabelled.as_ref());
        let has_taught = unlabelled.is_some_and(|unlabelled| unlabelled.is_learned());
        for (class, label) in classes.iter() {
            if has_taught {
                // documents without a label got some and count as well
                assert!(totals[usize::from(class)].documents >= self.totals[label].documents, "{label:?}");
                continue;
            }
            assert_eq!(totals[usize::from(class)], self.totals[label], "{label:?}");
            for term in filter.strongest_terms(class, 100).expect("a whole model") {
                self.check_term(classes, &term.term, &term.document_frequencies);
            }
        }
    }

    fn check_term(&self, classes: &Classes, term: &str, got: &[u64]) {
        let known = self.document_frequencies.get(term); // not where only documents without a label have it
        let expected =
            classes.iter().map(|(_, label)| *known.and_then(|known| known.get(label)).unwrap_or(&0));
        assert!(expected.eq(got.iter().copied()), "{term:?}: {known:?}, got {got:?}");
    }
}

/// The terms of a document, as the recipe says.
fn terms(text: &[u8], recipe: &Recipe) -> Vec<String> {
    let tokenizer = Tokenizer::new(recipe.tokenizer.clone()).expect("as before");
    let TokenizerOptions { word_rule, terms: kind, .. } = tokenizer.options();
    let has_colons = recipe.kind == Kind::Mail
        && (*word_rule != WordRule::Mail || matches!(kind, Ngrams::Characters { .. }));
    let (mut terms, mut scratch) = (Vec::new(), tamis_tokenizer::Scratch::default());
    let mut cut = |prefix: &str, text: &str, terms: &mut Vec<String>| {
        let plain = tamis_tokenizer::undisguised(text);
        let text = if tokenizer.options().normalize { &plain } else { text };
        tokenizer.for_each_term(text, &mut scratch, |term| {
            let in_body = prefix.is_empty() && has_colons && term.contains(':');
            terms.push(format!("{}{term}", if in_body { "body:" } else { prefix }));
        });
    };
    if recipe.kind == Kind::Text {
        let text = String::from_utf8_lossy(text);
        cut("", &text, &mut terms);
        return terms;
    }
    let message = Message::parse_ignoring(text, &recipe.limits, &recipe.ignored_headers);
    message.for_each_piece(recipe.content_only, |piece| match piece {
        Piece::Words { prefix, text, .. } => cut(prefix, text, &mut terms),
        Piece::Terms(batch, _) => terms.extend(batch.iter().map(str::to_owned)),
        Piece::EndOfPart => (),
    });
    terms
}

/// What a whole model answers are numbers, and they add up.
fn ask(filter: &Filter, text: &[u8]) {
    let mut scratch = Scratch::default();
    as_document(filter.information().recipe.kind, text, |document| {
        let score = filter.score(document, &mut scratch).expect("a whole model");
        assert!(!score.log_odds.is_nan());
        assert!(scratch.probabilities().iter().chain([&score.probability]).all(|p| (0.0..=1.0).contains(p)));
        let why = filter.explain(document, &mut scratch).expect("a whole model");
        assert_eq!(why.score, score);
        assert!(!why.intercept.is_nan() && why.terms.iter().all(|term| !term.contribution.is_nan()));
        let sum = why.terms.iter().fold(why.intercept, |sum, term| sum + term.contribution);
        if filter.classes().len() == 2 && sum.is_finite() && score.log_odds.is_finite() {
            assert!((sum - score.log_odds).abs() <= 1e-6 * (1.0 + sum.abs()), "{sum} {score:?}");
        }
    });
}
