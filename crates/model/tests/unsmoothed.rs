//! Maximum likelihood: probabilities of 0 and 1, and never a NaN.

use proptest::prelude::*;
use tamis_model::{ClassId, ClassPrior, Counting, Counts, Likelihood, Parameters, Smoothing, Statistics};
use tamis_tokenizer::{CountVector, TermId};

use crate::support::{Document, joint, learn, vector};

const CLASSES: ClassId = 3;
const TERMS: TermId = 5;

fn documents() -> impl Strategy<Value = Vec<Document>> {
    proptest::collection::vec((0..CLASSES, vector(TERMS, 4, 5)), 0..12)
}

fn parameters() -> impl Strategy<Value = Parameters> {
    let likelihood = prop_oneof![Just(Likelihood::Bernoulli), Just(Likelihood::Multinomial)];
    let counting = prop_oneof![Just(Counting::Occurrences), Just(Counting::Presence)];
    (likelihood, counting).prop_map(|(likelihood, counting)| Parameters {
        likelihood,
        counting,
        alpha: Smoothing::maximum_likelihood(),
        prior: ClassPrior::Smoothed,
        ..Parameters::default()
    })
}

/// The probability of the document in the class by multiplying relative frequencies, terms without counts
/// left out.
fn probability(
    parameters: &Parameters,
    statistics: &Statistics,
    class: ClassId,
    vector: &CountVector,
) -> f64 {
    let totals = statistics.totals()[usize::from(class)];
    let mut product = 1.0;
    for term in (0..TERMS).filter(|&t| statistics.document_frequency(t) > 0) {
        let count = vector.row().iter().find(|(t, _)| *t == term).map_or(0, |(_, n)| n);
        let (df, tf) = statistics.cells(term).find(|c| c.class == class).map_or((0, 0), |c| (c.df, c.tf));
        let frequency = |n: u32, total: u64| if total == 0 { 0.0 } else { f64::from(n) / total as f64 };
        product *= match (parameters.likelihood, parameters.counting) {
            (Likelihood::Bernoulli, _) if count > 0 => frequency(df, totals.documents),
            (Likelihood::Bernoulli, _) => frequency(totals.documents as u32 - df, totals.documents),
            (_, Counting::Presence) => frequency(df, totals.df).powi(count.min(1) as i32),
            (_, Counting::Occurrences) => frequency(tf, totals.tf).powi(count as i32),
        };
    }
    product
}

proptest! {
    #[test]
    fn the_joint_log_likelihood_is_the_logarithm_of_the_product(
        documents in documents(),
        parameters in parameters(),
        vector in vector(TERMS, 4, 5),
    ) {
        let statistics = learn(CLASSES, &documents);
        let model = parameters.fit(&statistics).unwrap();
        let joint = joint(&model, &statistics, &vector);
        for (class, got) in (0..CLASSES).zip(joint) {
            let p = probability(&parameters, &statistics, class, &vector);
            if p == 0.0 {
                prop_assert_eq!(got, f64::NEG_INFINITY);
            } else {
                let expected = model.class_log_prior()[usize::from(class)] + p.ln();
                prop_assert!((got - expected).abs() < 1e-9, "{} {}", got, expected);
            }
        }
    }

    #[test]
    fn what_is_learned_is_possible(documents in documents(), parameters in parameters()) {
        let statistics = learn(CLASSES, &documents);
        let model = parameters.fit(&statistics).unwrap();
        for (class, vector) in &documents {
            prop_assert!(joint(&model, &statistics, vector)[usize::from(*class)].is_finite());
        }
    }

    #[test]
    fn never_nan(documents in documents(), parameters in parameters(), vector in vector(TERMS, 4, 5)) {
        let statistics = learn(CLASSES, &documents);
        let model = parameters.fit(&statistics).unwrap();
        let (mut p, mut weights) = (Vec::new(), Vec::new());
        model.predict_proba(&statistics, vector.row(), &mut p).unwrap();
        prop_assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{:?}", p);
        if joint(&model, &statistics, &vector).iter().all(|x| x.is_infinite()) {
            prop_assert_eq!(p, vec![1.0 / f64::from(CLASSES); usize::from(CLASSES)]);
        }
        let counting = match parameters.likelihood {
            Likelihood::Bernoulli => Counting::Presence,
            _ => parameters.counting,
        };
        let form = model.linear_form(&statistics, 0, 1).unwrap();
        prop_assert!(!form.bias.is_nan() && form.weights.iter().all(|w| !w.is_nan()));
        prop_assert!(!form.decision_function(vector.row(), counting).is_nan());
        prop_assert!(!model.log_likelihood_ratio(&statistics, vector.row(), 0, 1).unwrap().is_nan());
        for (term, count) in vector.row().iter() {
            model.term_weights(&statistics, term, count, &mut weights).unwrap();
            prop_assert!(weights.iter().all(|w| !w.is_nan()), "{:?}", weights);
        }
    }

    /// A little smoothing is the limit of which none is the end.
    #[test]
    fn the_limit_of_smoothing(documents in documents(), parameters in parameters(), vector in vector(TERMS, 4, 5)) {
        let statistics = learn(CLASSES, &documents);
        prop_assume!(statistics.totals().iter().all(|t| t.documents > 0 && t.tf > 0));
        let bare = joint(&parameters.fit(&statistics).unwrap(), &statistics, &vector);
        let smoothed = Parameters { alpha: Smoothing::map(1.0 + 1e-12).unwrap(), ..parameters };
        let close = joint(&smoothed.fit(&statistics).unwrap(), &statistics, &vector);
        for (bare, close) in bare.iter().zip(close) {
            let near = if bare.is_finite() { (bare - close).abs() < 1e-6 } else { close < -20.0 };
            prop_assert!(near, "{} {}", bare, close);
        }
    }
}
