//! What must hold of expectation maximization, for all documents and options.

use proptest::prelude::*;
use tamis_model::{
    ClassId, ClassPrior, Counting, Em, EmError, EmOptions, ExpectedError, ExpectedNaiveBayes,
    ExpectedStatistics, Likelihood, ParametersError, Smoothing, StatisticsError, WeightedRow, WeightedVector,
    log_sum_exp, softmax,
};
use tamis_testing::near;
use tamis_tokenizer::TermId;

const CLASSES: usize = 3;
const TERMS: TermId = 10;

fn vector() -> impl Strategy<Value = WeightedVector> {
    let pairs = proptest::collection::btree_map(0..TERMS, 0.05..4.0, 0..8);
    pairs.prop_map(|pairs| WeightedVector::from_pairs(pairs).unwrap())
}

fn likelihood() -> impl Strategy<Value = Likelihood> {
    prop_oneof![Just(Likelihood::Bernoulli), Just(Likelihood::Multinomial)]
}

fn options() -> impl Strategy<Value = EmOptions> {
    let alpha = prop_oneof![Just(1.0), Just(0.1), Just(1e-3), 1e-4..5.0];
    let lambda = prop_oneof![Just(0.0), Just(0.1), Just(1.0)];
    let prior = prop_oneof![Just(ClassPrior::Smoothed), Just(ClassPrior::Uniform)];
    (likelihood(), alpha, lambda, prior, any::<u64>()).prop_map(|(likelihood, alpha, lambda, prior, seed)| {
        let alpha = Smoothing::try_from(alpha).unwrap();
        let mut em = EmOptions::default();
        em.likelihood = likelihood;
        em.alpha = alpha;
        em.prior = prior;
        em.lambda = lambda;
        em.seed = seed;
        em.max_iterations = 30;
        em.tolerance = 0.0;
        em
    })
}

#[derive(Debug)]
struct Documents {
    n_classes: usize,
    labelled: Vec<(ClassId, WeightedVector)>,
    unlabelled: Vec<WeightedVector>,
}

prop_compose! {
    /// Half of the time without any label.
    fn documents()(
        labelled in prop_oneof![
            Just(Vec::new()),
            proptest::collection::vec((0..CLASSES as ClassId, vector()), 1..8),
        ],
        unlabelled in proptest::collection::vec(vector(), 0..25),
    ) -> Documents {
        Documents { n_classes: CLASSES, labelled, unlabelled }
    }
}

impl Documents {
    fn fit(&self, options: &EmOptions) -> Result<Em, EmError> {
        let labelled: Vec<_> = self.labelled.iter().map(|(class, row)| (*class, row.row())).collect();
        let unlabelled: Vec<_> = self.unlabelled.iter().map(WeightedVector::row).collect();
        options.fit(self.n_classes, &labelled, &unlabelled)
    }

    /// The objective of a fitted model, straight from its definition.
    fn objective(&self, options: &EmOptions, em: &Em) -> f64 {
        let joint = |row: WeightedRow<'_>| {
            let mut out = Vec::new();
            em.model.joint_log_likelihood(&em.statistics, row, &mut out).unwrap();
            out
        };
        let mut sum = 0.0;
        for (class, row) in &self.labelled {
            sum += joint(row.row())[usize::from(*class)];
        }
        for row in &self.unlabelled {
            sum += options.lambda * log_sum_exp(&joint(row.row()));
        }
        for class in 0..CLASSES as ClassId {
            for term in 0..TERMS {
                let log_prob = em.model.feature_log_prob(&em.statistics, term, class).unwrap();
                let Some(log_prob) = log_prob else { continue };
                let both = options.likelihood == Likelihood::Bernoulli;
                let log_not = if both { (-log_prob.exp()).ln_1p() } else { 0.0 };
                sum += options.alpha.alpha() * (log_prob + log_not);
            }
            if options.prior == ClassPrior::Smoothed {
                sum += em.model.class_log_prior()[usize::from(class)];
            }
        }
        sum
    }
}

/// All numbers of a result, to the bit.
fn bits(em: &Em) -> Vec<u64> {
    let weights = (0..TERMS).flat_map(|term| em.statistics.weights(term).map(|(_, weight)| weight));
    let posteriors = em.posteriors.iter().flatten().map(|(_, p)| *p);
    let numbers = weights.chain(posteriors).chain(em.objective.iter().copied());
    numbers.map(f64::to_bits).collect()
}

proptest! {
    #[test]
    fn the_objective_never_falls(documents in documents(), options in options()) {
        let em = documents.fit(&options).unwrap();
        for pair in em.objective.windows(2) {
            prop_assert!(pair[1] >= pair[0] - 1e-9 * (1.0 + pair[0].abs()), "{:?}", em.objective);
        }
        let last = *em.objective.last().unwrap();
        prop_assert!(near(last, documents.objective(&options, &em), 1e-9));
        prop_assert!(em.objective.len() <= options.max_iterations + 1);
    }

    #[test]
    fn the_last_step_is_where_it_says(documents in documents(), options in options()) {
        let em = documents.fit(&options).unwrap();
        // the documents are all counted, and posteriors are those of the model
        let expected = documents.labelled.len() as f64 + options.lambda * documents.unlabelled.len() as f64;
        let counted: f64 = em.statistics.class_weights().iter().sum();
        prop_assert!(near(counted, expected, 1e-12) || em.objective.len() == 1);
        prop_assert_eq!(em.posteriors.len(), documents.unlabelled.len());
        let mut out = Vec::new();
        for (row, posterior) in documents.unlabelled.iter().zip(&em.posteriors) {
            em.model.joint_log_likelihood(&em.statistics, row.row(), &mut out).unwrap();
            softmax(&mut out);
            prop_assert!(posterior.iter().all(|&(class, p)| near(p, out[usize::from(class)], 1e-9)));
            prop_assert!(near(posterior.iter().map(|(_, p)| p).sum(), 1.0, 1e-12));
        }
    }

    #[test]
    fn weight_zero_leaves_the_labelled_alone(documents in documents(), likelihood in likelihood()) {
        prop_assume!(!documents.labelled.is_empty());
        let mut options = EmOptions::default();
        options.lambda = 0.0;
        options.likelihood = likelihood;
        let em = documents.fit(&options).unwrap();
        let mut alone = ExpectedStatistics::new(CLASSES, em.statistics.counting());
        documents.labelled.iter().for_each(|(class, row)| alone.observe(*class, row.row(), 1.0).unwrap());
        // their terms are known, though
        documents.unlabelled.iter().for_each(|row| alone.observe(0, row.row(), 0.0).unwrap());
        let model = ExpectedNaiveBayes::fit(&alone, likelihood, options.alpha, &options.prior).unwrap();
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for row in &documents.unlabelled {
            em.model.joint_log_likelihood(&em.statistics, row.row(), &mut a).unwrap();
            model.joint_log_likelihood(&alone, row.row(), &mut b).unwrap();
            prop_assert!(a.iter().zip(&b).all(|(a, b)| near(*a, *b, 1e-12)));
        }
    }

    #[test]
    fn threads_leave_no_trace(documents in documents(), options in options()) {
        let with = |n: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
            pool.install(|| bits(&documents.fit(&options).unwrap()))
        };
        let one = with(1);
        prop_assert_eq!(&with(3), &one);
        prop_assert_eq!(&with(2), &one);
    }
}

/// Documents of two topics whose words meet only in documents without labels.
fn topics() -> Documents {
    let row = |terms: &[TermId]| WeightedVector::from_pairs(terms.iter().map(|&term| (term, 1.0))).unwrap();
    let labelled = vec![(0, row(&[0])), (1, row(&[5]))];
    let chains = [[0, 1], [1, 2], [2, 3], [5, 6], [6, 7], [7, 8]];
    Documents {
        n_classes: 2,
        labelled,
        unlabelled: chains.iter().cycle().take(60).map(|terms| row(terms)).collect(),
    }
}

#[test]
fn labels_spread_along_words() {
    for likelihood in [Likelihood::Multinomial, Likelihood::Bernoulli] {
        let mut options = EmOptions::default();
        options.likelihood = likelihood;
        let em = topics().fit(&options).unwrap();
        for (i, posterior) in em.posteriors.iter().enumerate() {
            let best = posterior.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            assert_eq!(usize::from(best.0), i % 6 / 3, "{likelihood} {posterior:?}");
        }
    }
}

#[test]
fn seeds_decide_where_no_label_does() {
    let documents = Documents { labelled: Vec::new(), ..topics() };
    let fit = |seed| {
        let mut options = EmOptions::default();
        options.seed = seed;
        documents.fit(&options).unwrap()
    };
    assert_eq!(bits(&fit(1)), bits(&fit(1)));
    assert_ne!(bits(&fit(1)), bits(&fit(2)));
    // what it finds is better than where it began
    let em = fit(1);
    assert!(em.objective.len() > 1 && em.objective.last() > em.objective.first());
}

#[test]
fn it_stops_where_it_is_told() {
    let fit = |max_iterations, tolerance| {
        let mut options = EmOptions::default();
        (options.max_iterations, options.tolerance) = (max_iterations, tolerance);
        topics().fit(&options).unwrap().objective.len() - 1
    };
    assert_eq!(fit(0, 0.0), 0);
    assert_eq!(fit(2, 0.0), 2);
    assert_eq!(fit(9, f64::INFINITY), 1);
    assert!(fit(1_000, 1e-9) < 1_000);
}

#[test]
fn bernoulli_sees_presence_only() {
    let documents = topics();
    let scaled = |row: &WeightedVector| {
        WeightedVector::from_pairs(row.row().iter().map(|(term, w)| (term, 7.5 * w))).unwrap()
    };
    let other = Documents {
        n_classes: documents.n_classes,
        labelled: documents.labelled.iter().map(|(class, row)| (*class, scaled(row))).collect(),
        unlabelled: documents.unlabelled.iter().map(scaled).collect(),
    };
    let mut options = EmOptions::default();
    options.likelihood = Likelihood::Bernoulli;
    let em = documents.fit(&options).unwrap();
    assert_eq!(em.statistics.counting(), Counting::Presence);
    assert_eq!(bits(&em), bits(&other.fit(&options).unwrap()));
}

#[test]
fn options_and_labels_are_checked() {
    let with = |change: &dyn Fn(&mut EmOptions)| {
        let mut options = EmOptions::default();
        change(&mut options);
        Documents { n_classes: 3, ..topics() }.fit(&options).map(|em| em.objective.len())
    };
    for lambda in [-0.1, f64::NAN, f64::INFINITY] {
        assert!(matches!(with(&|o| o.lambda = lambda), Err(EmError::Lambda { .. })));
    }
    for tolerance in [-0.1, f64::NAN] {
        assert!(matches!(with(&|o| o.tolerance = tolerance), Err(EmError::Tolerance { .. })));
    }
    for got in [Likelihood::Complement, Likelihood::ComplementNormalized] {
        let refused =
            ParametersError::NotGenerative { expected: "bernoulli or multinomial", got: got.to_string() };
        assert_eq!(with(&|o| o.likelihood = got), Err(EmError::Parameters(refused)));
    }
    let empty = ParametersError::EmptyClass { class: 2, expected: 1, got: 0 };
    assert_eq!(with(&|o| o.prior = ClassPrior::Learned), Err(EmError::Parameters(empty)));
    let none = EmOptions::default().fit(0, &[], &[]).unwrap_err();
    assert_eq!(none, EmError::Parameters(ParametersError::NoClasses));
    let unknown = EmOptions::default().fit(2, &[(2, WeightedRow::default())], &[]).unwrap_err();
    let expected = StatisticsError::UnknownClass { expected: 2, got: 2 };
    assert_eq!(unknown, EmError::Statistics(ExpectedError::Statistics(expected)));
}

#[test]
fn empty_and_extreme_documents() {
    // nothing at all, one class, documents without terms
    let em = EmOptions::default().fit(1, &[], &[]).unwrap();
    assert!(em.objective.len() > 1 && em.posteriors.is_empty());
    let em = EmOptions::default().fit(3, &[(1, WeightedRow::default())], &[WeightedRow::default()]).unwrap();
    assert!(em.posteriors[0].iter().any(|&(class, p)| class == 1 && p > 0.4));
    let huge = WeightedVector::from_pairs([(0, 1e100), (1, f64::from_bits(1))]).unwrap();
    for likelihood in [Likelihood::Multinomial, Likelihood::Bernoulli] {
        for lambda in [1e-300, 1e100] {
            let mut options = EmOptions::default();
            options.likelihood = likelihood;
            options.lambda = lambda;
            let em = options.fit(2, &[], &[huge.row(), huge.row(), WeightedRow::default()]).unwrap();
            let is_probability = |p: &f64| (0.0..=1.0 + 1e-12).contains(p);
            assert!(em.posteriors.iter().flatten().all(|(_, p)| is_probability(p)), "{likelihood} {lambda}");
            assert!(em.objective.iter().all(|x| !x.is_nan()), "{likelihood} {lambda}");
        }
    }
}
