//! Mixed naive Bayes: a table of trips by hand, the models it contains, and what must always hold.

use std::f64::consts::PI;

use proptest::prelude::*;
use tamis_model::{
    ClassId, ClassPrior, ColumnLikelihood, Counts, FeatureLimits, GaussianParameters, GaussianStatistics,
    Likelihood, MixedNaiveBayes, NaiveBayes, ObservationError, Parameters, ParametersError, Smoothing,
    Statistics, StatisticsError,
};
use tamis_testing::check_near;
use tamis_textbook::{
    CategoricalNaiveBayes, CategoricalStatistics, Feature, GaussianNaiveBayes, MixedParameters,
    MixedStatistics, Value,
};
use tamis_tokenizer::{CountRow, CountVector, TermId};

/// Mode (walk, bike, bus, car), miles, raining, flat tyre.
const TRIPS: [(ClassId, f64, bool, bool); 16] = [
    (0, 0.5, false, false),
    (0, 1.0, false, true),
    (0, 1.0, true, true),
    (0, 0.5, false, false),
    (1, 1.5, false, false),
    (1, 2.5, false, false),
    (1, 3.0, true, false),
    (1, 1.0, false, true),
    (2, 3.0, true, false),
    (2, 5.0, true, true),
    (2, 4.0, false, true),
    (2, 8.0, true, false),
    (3, 8.0, true, false),
    (3, 12.0, false, false),
    (3, 6.0, true, true),
    (3, 10.0, false, false),
];

/// The maximum likelihood estimates, by hand: mean and variance of the miles, trips of four with rain, with a
/// flat tyre.
const ESTIMATES: [(f64, f64, f64, f64); 4] =
    [(0.75, 0.0625, 1.0, 2.0), (2.0, 0.625, 1.0, 1.0), (5.0, 3.5, 3.0, 2.0), (9.0, 5.0, 2.0, 1.0)];

const PRIOR: [f64; 4] = [0.2, 0.4, 0.2, 0.2];

fn trips() -> MixedStatistics {
    let mut statistics = MixedStatistics::new(4, vec![Feature::Real, Feature::Flag, Feature::Flag]);
    for (class, miles, rain, flat) in TRIPS {
        statistics.observe(class, &[Value::Real(miles), Value::Flag(rain), Value::Flag(flat)]).unwrap();
    }
    statistics
}

fn parameters(alpha: f64) -> MixedParameters {
    let (alpha, prior) = (Smoothing::try_from(alpha).unwrap(), ClassPrior::Given(PRIOR.to_vec()));
    let mut parameters = of_terms(Parameters { alpha, prior, ..Parameters::default() });
    parameters.var_smoothing = 0.0;
    parameters
}

fn of_terms(terms: Parameters) -> MixedParameters {
    let mut parameters = MixedParameters::default();
    parameters.terms = terms;
    parameters
}

#[test]
fn trips_by_maximum_likelihood() {
    let statistics = trips();
    let model = statistics.fit(&parameters(1e-12)).unwrap();
    check_near("joint", model.class_log_prior(), &PRIOR.map(f64::ln), 1e-12);
    let ColumnLikelihood::Gaussian(miles) = &model.parts()[0] else { panic!("miles are real") };
    let mut out = Vec::new();
    for (class, (mean, variance, rain, flat)) in (0..).zip(ESTIMATES) {
        assert_eq!((miles.mean(class), miles.variance(class)), (Some(mean), Some(variance)));
        for (feature, (value, rate)) in
            [(true, rain), (false, 4.0 - rain), (true, flat), (false, 4.0 - flat)].into_iter().enumerate()
        {
            let mut values = [Value::Missing; 3];
            values[1 + feature / 2] = Value::Flag(value);
            assert_eq!(statistics.joint_log_likelihood(&model, &values, &mut out), Ok(1));
            let got = out[usize::from(class)] - PRIOR[usize::from(class)].ln();
            assert!((got - (rate / 4.0).ln()).abs() < 1e-10);
        }
    }
}

/// p(mode | what is known), straight from Bayes' rule, with one trip of each outcome more.
fn posterior(miles: Option<f64>, rain: Option<bool>, flat: Option<bool>) -> Vec<f64> {
    let rate = |with: f64, value: bool| (if value { with } else { 4.0 - with } + 1.0) / (4.0 + 2.0);
    let joint = |(prior, (mean, variance, rainy, flats)): (f64, (f64, f64, f64, f64))| {
        let density = |x: f64| (-(x - mean).powi(2) / (2.0 * variance)).exp() / (2.0 * PI * variance).sqrt();
        let p = miles.map_or(1.0, density) * rain.map_or(1.0, |value| rate(rainy, value));
        prior * p * flat.map_or(1.0, |value| rate(flats, value))
    };
    let joint: Vec<f64> = PRIOR.into_iter().zip(ESTIMATES).map(joint).collect();
    joint.iter().map(|p| p / joint.iter().sum::<f64>()).collect()
}

#[test]
fn trips_by_bayes_rule() {
    let statistics = trips();
    let model = statistics.fit(&parameters(1.0)).unwrap();
    let mut out = Vec::new();
    for miles in [None, Some(0.7), Some(2.0), Some(4.5), Some(20.0)] {
        for rain in [None, Some(false), Some(true)] {
            for flat in [None, Some(false), Some(true)] {
                let flag = |value: Option<bool>| value.map_or(Value::Missing, Value::Flag);
                let values = [miles.map_or(Value::Missing, Value::Real), flag(rain), flag(flat)];
                let known = statistics.predict_proba(&model, &values, &mut out).unwrap();
                assert_eq!(
                    known,
                    [miles.is_some(), rain.is_some(), flat.is_some()]
                        .into_iter()
                        .filter(|known| *known)
                        .count()
                );
                check_near("joint", &out, &posterior(miles, rain, flat), 1e-12);
            }
        }
    }
    // of nothing, the prior
    statistics.predict_proba(&model, &[Value::Missing; 3], &mut out).unwrap();
    check_near("joint", &out, &PRIOR, 1e-12);
}

#[test]
fn what_is_missing_is_not_learned() {
    let mut statistics = trips();
    let before = statistics.fit(&parameters(1.0)).unwrap();
    statistics.observe(2, &[Value::Missing; 3]).unwrap();
    let after = statistics.fit(&parameters(1.0)).unwrap();
    let (mut a, mut b) = (Vec::new(), Vec::new());
    let values = [Value::Real(3.0), Value::Flag(true), Value::Flag(true)];
    trips().joint_log_likelihood(&before, &values, &mut a).unwrap();
    statistics.joint_log_likelihood(&after, &values, &mut b).unwrap();
    assert_eq!(a, b);
    assert_eq!(statistics.counts().totals()[2].documents, 5);
}

#[test]
fn refused_rows_change_nothing() {
    let mut statistics = MixedStatistics::new(2, vec![Feature::Flag, Feature::Real, Feature::Text]);
    let text = CountVector::from_pairs([(3, 1)]).unwrap();
    let row = [Value::Flag(true), Value::Real(2.0), Value::Text(text.row())];
    statistics.observe(1, &row).unwrap();
    let before = statistics.clone();
    let kind = ObservationError::Kind { feature: 0, expected: "flag", got: "category" };
    assert_eq!(statistics.observe(0, &[Value::Category(1), Value::Missing, Value::Missing]), Err(kind));
    let short = ObservationError::Features { expected: 3, got: 1 };
    assert_eq!(statistics.observe(0, &row[..1]), Err(short.clone()));
    for bad in [f64::NAN, f64::INFINITY] {
        let error = statistics.observe(0, &[Value::Flag(false), Value::Real(bad), Value::Missing]);
        assert!(matches!(error, Err(ObservationError::Value { feature: 1, .. })), "{error:?}");
    }
    let unknown = StatisticsError::UnknownClass { expected: 2, got: 2 };
    assert_eq!(statistics.observe(2, &row), Err(ObservationError::Counts(unknown)));
    // forgetting what was not learned: another flag, another class, the real value that was missing
    let unseen = ObservationError::Unseen { feature: 0, got: 0 };
    assert_eq!(statistics.forget(1, &[Value::Flag(false), row[1], row[2]]), Err(unseen));
    assert!(statistics.forget(0, &row).is_err());
    assert!(statistics.forget(1, &[row[0], Value::Missing, row[2]]).is_err());
    assert_eq!(
        statistics.merge(&MixedStatistics::new(2, vec![Feature::Flag])),
        Err(ObservationError::Schema)
    );
    assert!(statistics.merge(&MixedStatistics::new(3, before.features().to_vec())).is_err());
    assert_eq!(statistics, before);
    let smoothed = ClassPrior::Smoothed;
    let terms = Parameters { prior: smoothed, ..Parameters::default() };
    let model = statistics.fit(&of_terms(terms)).unwrap();
    assert_eq!(statistics.joint_log_likelihood(&model, &row[..1], &mut Vec::new()), Err(short));
    statistics.forget(1, &row).unwrap();
    assert_eq!(statistics, MixedStatistics::new(2, before.features().to_vec()));
}

#[test]
fn real_features_alone_are_gaussian_naive_bayes() {
    let rows: [(ClassId, [Option<f64>; 2]); 6] = [
        (0, [Some(1.0), Some(30.0)]),
        (1, [Some(4.0), None]),
        (0, [Some(2.5), Some(10.0)]),
        (1, [Some(3.0), Some(25.0)]),
        (1, [None, Some(60.0)]),
        (0, [Some(2.0), None]),
    ];
    let mut gaussian = GaussianStatistics::new(2, 2);
    let mut mixed = MixedStatistics::new(2, vec![Feature::Real; 2]);
    let values = |row: [Option<f64>; 2]| row.map(|x| x.map_or(Value::Missing, Value::Real));
    for (class, row) in rows {
        gaussian.observe(class, &row).unwrap();
        mixed.observe(class, &values(row)).unwrap();
    }
    let expected = GaussianNaiveBayes::new(&GaussianParameters::default(), &gaussian).unwrap();
    let model = mixed.fit(&MixedParameters::default()).unwrap();
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for (_, row) in rows {
        let known = mixed.joint_log_likelihood(&model, &values(row), &mut a).unwrap();
        assert_eq!(known, expected.joint_log_likelihood(&row, &mut b));
        check_near("joint", &a, &b, 1e-12);
    }
}

#[test]
fn categories_alone_are_categorical_naive_bayes() {
    let rows: [(ClassId, [Option<u32>; 2]); 5] = [
        (0, [Some(0), Some(4)]),
        (1, [Some(1), None]),
        (0, [Some(1), Some(2)]),
        (1, [Some(0), Some(4)]),
        (1, [None, Some(0)]),
    ];
    let mut categorical = CategoricalStatistics::new(2, [5, 0]);
    let schema = [5, 0].map(|min_categories| Feature::Category { min_categories });
    let mut mixed = MixedStatistics::new(2, schema.to_vec());
    let values = |row: [Option<u32>; 2]| row.map(|c| c.map_or(Value::Missing, Value::Category));
    for (class, row) in rows {
        categorical.observe(class, &row).unwrap();
        mixed.observe(class, &values(row)).unwrap();
    }
    let alpha = Smoothing::try_from(0.3).unwrap();
    let expected = CategoricalNaiveBayes::new(&ClassPrior::Learned, alpha, &categorical).unwrap();
    let terms = Parameters { alpha, ..Parameters::default() };
    let model = mixed.fit(&of_terms(terms)).unwrap();
    let (mut a, mut b) = (Vec::new(), Vec::new());
    // declared but never seen, below the highest but never seen, out of range
    for row in rows.iter().map(|(_, row)| *row).chain([[Some(4), Some(3)], [Some(5), Some(5)]]) {
        let known = mixed.joint_log_likelihood(&model, &values(row), &mut a).unwrap();
        assert_eq!(known, expected.joint_log_likelihood(&categorical, &row, &mut b));
        check_near("joint", &a, &b, 1e-12);
    }
}

fn text_parameters() -> impl Iterator<Item = Parameters> {
    let alpha = Smoothing::try_from(0.1).unwrap();
    let limits = [FeatureLimits::default(), FeatureLimits { min_df: 2, ..FeatureLimits::default() }];
    let kinds = [Likelihood::Bernoulli, Likelihood::Multinomial];
    let pairs = kinds.into_iter().flat_map(move |kind| limits.map(|features| (kind, features)));
    pairs.map(move |(likelihood, features)| Parameters {
        likelihood,
        features,
        alpha,
        ..Parameters::default()
    })
}

fn texts() -> [(ClassId, CountVector); 5] {
    let row = |pairs: &[(TermId, u32)]| CountVector::from_pairs(pairs.iter().copied()).unwrap();
    [
        (0, row(&[(9, 2), (1, 1)])),
        (1, row(&[(1, 3), (4, 1)])),
        (1, row(&[(4, 2)])),
        (0, row(&[])),
        (1, row(&[(9, 1), (7, 1), (1, 1)])),
    ]
}

#[test]
fn one_text_alone_is_naive_bayes() {
    let mut statistics = Statistics::new(2);
    let mut mixed = MixedStatistics::new(2, vec![Feature::Text]);
    for (class, text) in &texts() {
        statistics.observe(*class, text.row()).unwrap();
        mixed.observe(*class, &[Value::Text(text.row())]).unwrap();
    }
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for terms in text_parameters() {
        let expected = terms.fit(&statistics).unwrap();
        let model = mixed.fit(&of_terms(terms)).unwrap();
        for (_, text) in &texts() {
            mixed.joint_log_likelihood(&model, &[Value::Text(text.row())], &mut a).unwrap();
            let Ok(_) = expected.joint_log_likelihood(&statistics, text.row(), &mut b);
            check_near("joint", &a, &b, 1e-12);
        }
    }
}

#[test]
fn a_missing_text_is_not_an_empty_one() {
    let mut statistics = Statistics::new(2);
    let mut mixed = MixedStatistics::new(2, vec![Feature::Text]);
    for (class, text) in &texts() {
        statistics.observe(*class, text.row()).unwrap();
        mixed.observe(*class, &[Value::Text(text.row())]).unwrap();
        mixed.observe(0, &[Value::Missing]).unwrap();
    }
    // the same likelihoods as without the documents that have no text, another prior
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for terms in text_parameters() {
        let expected = terms.fit(&statistics).unwrap();
        let model = mixed.fit(&of_terms(terms)).unwrap();
        for (_, text) in &texts() {
            mixed.joint_log_likelihood(&model, &[Value::Text(text.row())], &mut a).unwrap();
            let Ok(_) = expected.joint_log_likelihood(&statistics, text.row(), &mut b);
            let moved = b.iter().zip(expected.class_log_prior()).zip(model.class_log_prior());
            check_near(
                "joint",
                &a,
                &moved.map(|((joint, old), new)| joint - old + new).collect::<Vec<_>>(),
                1e-12,
            );
        }
        assert_eq!(mixed.joint_log_likelihood(&model, &[Value::Missing], &mut a), Ok(0));
        assert_eq!(a, model.class_log_prior());
    }
}

/// Two columns in one vocabulary: even terms are a text's, odd ones the values of a category.
#[test]
fn put_together_from_counts_that_columns_share() {
    let both = |text: &CountVector, value: u32| {
        let terms = text.row().iter().map(|(term, count)| (2 * term, count));
        CountVector::from_pairs(terms.chain([(2 * value + 1, 1)])).unwrap()
    };
    let (mut shared, mut alone) = (Statistics::new(2), Statistics::new(2));
    let mut categories = CategoricalStatistics::new(2, [6]);
    for (i, (class, text)) in texts().iter().enumerate() {
        let value = [0, 2, 2, 1, 0][i];
        shared.observe(*class, both(text, value).row()).unwrap();
        alone.observe(*class, text.row()).unwrap();
        categories.observe(*class, &[Some(value)]).unwrap();
    }
    let n = shared.n_terms() as TermId;
    for parameters in text_parameters() {
        let Ok(summary) = parameters.summarize_terms(&shared, (0..n).step_by(2), 0);
        let text = NaiveBayes::new(&parameters, &summary).unwrap();
        let multinomial = Parameters { alpha: parameters.alpha, ..Parameters::default() };
        let Ok(summary) = multinomial.summarize_terms(&shared, (1..n).step_by(2), 6);
        assert_eq!(summary.n_features(), 6);
        let category = NaiveBayes::new(&multinomial, &summary).unwrap();
        let parts = vec![ColumnLikelihood::Terms(text), ColumnLikelihood::Category(category)];
        let model = MixedNaiveBayes::new(&ClassPrior::Learned, shared.totals(), parts).unwrap();
        let expected = parameters.fit(&alone).unwrap();
        let priors = ClassPrior::Uniform;
        let by_category = CategoricalNaiveBayes::new(&priors, parameters.alpha, &categories).unwrap();
        let (mut a, mut b, mut c) = (Vec::new(), Vec::new(), Vec::new());
        for (i, (_, text)) in texts().iter().enumerate() {
            // 5 is a category that was never seen
            let value = [0, 2, 1, 5, 2][i];
            let text_terms = text.row().iter().map(|(term, count)| (2 * term, count)).collect();
            let rows = [text_terms, vec![(2 * value + 1, 1)]];
            let rows = rows.map(|pairs: Vec<_>| CountVector::from_pairs(pairs).unwrap());
            let rows: Vec<Option<CountRow<'_>>> = rows.iter().map(|row| Some(row.row())).collect();
            assert_eq!(model.joint_log_likelihood(&shared, &[], &rows, &mut a), Ok(2));
            let Ok(_) = expected.joint_log_likelihood(&alone, text.row(), &mut b);
            by_category.joint_log_likelihood(&categories, &[Some(value)], &mut c);
            let sum = b.iter().zip(&c).map(|(b, c)| b + c - 0.5f64.ln());
            check_near("joint", &a, &sum.collect::<Vec<_>>(), 1e-12);
            // a row not given is missing
            assert_eq!(model.joint_log_likelihood(&shared, &[], &rows[..1], &mut a), Ok(1));
            check_near("joint", &a, &b, 1e-12);
        }
    }
}

#[test]
fn parts_are_of_the_same_classes() {
    let statistics = trips();
    let parts = statistics.fit(&parameters(1.0)).unwrap().parts().to_vec();
    let totals = Statistics::new(3);
    for part in parts {
        let model = MixedNaiveBayes::new(&ClassPrior::Uniform, totals.totals(), vec![part]);
        assert!(matches!(model, Err(ParametersError::Summary { got: 4, .. })));
    }
    let none = MixedNaiveBayes::new(&ClassPrior::Uniform, &[], Vec::new());
    assert_eq!(none, Err(ParametersError::NoClasses));
}

#[test]
fn scores_that_are_no_probabilities_are_refused() {
    let mut statistics = Statistics::new(2);
    texts().iter().for_each(|(class, text)| statistics.observe(*class, text.row()).unwrap());
    for got in [Likelihood::Complement, Likelihood::ComplementNormalized] {
        let model = Parameters { likelihood: got, ..Parameters::default() }.fit(&statistics).unwrap();
        let refused =
            ParametersError::NotGenerative { expected: "bernoulli or multinomial", got: got.to_string() };
        for part in [ColumnLikelihood::Terms(model.clone()), ColumnLikelihood::Category(model)] {
            let model = MixedNaiveBayes::new(&ClassPrior::Uniform, statistics.totals(), vec![part]);
            assert_eq!(model, Err(refused.clone()));
        }
        let mut table = MixedStatistics::new(2, vec![Feature::Text]);
        for (class, text) in &texts() {
            table.observe(*class, &[Value::Text(text.row())]).unwrap();
        }
        let mut parameters = MixedParameters::default();
        parameters.terms.likelihood = got;
        assert_eq!(table.fit(&parameters), Err(refused));
    }
}

/// A document: its class, and a value or none for each kind of feature.
type Document = (ClassId, Option<f64>, Option<u32>, Option<bool>, Option<CountVector>);

fn document() -> impl Strategy<Value = Document> {
    let text = proptest::collection::btree_map(0..6u32, 1..4u32, 0..4);
    let text = text.prop_map(|pairs| CountVector::from_pairs(pairs).unwrap());
    let (real, category, flag) = (-1e3..1e3, 0..5u32, any::<bool>());
    use proptest::option::of;
    (0..3 as ClassId, of(real), of(category), of(flag), of(text))
}

fn values((_, real, category, flag, text): &Document) -> [Value<'_>; 4] {
    [
        real.map_or(Value::Missing, Value::Real),
        category.map_or(Value::Missing, Value::Category),
        flag.map_or(Value::Missing, Value::Flag),
        text.as_ref().map_or(Value::Missing, |text| Value::Text(text.row())),
    ]
}

fn learn(documents: &[Document]) -> MixedStatistics {
    let category = Feature::Category { min_categories: 0 };
    let mut statistics = MixedStatistics::new(3, vec![Feature::Real, category, Feature::Flag, Feature::Text]);
    documents.iter().for_each(|document| statistics.observe(document.0, &values(document)).unwrap());
    statistics
}

/// The joint log-likelihoods of some documents, by every likelihood of the text.
fn joints(statistics: &MixedStatistics, documents: &[Document]) -> Vec<f64> {
    let mut all = Vec::new();
    for terms in text_parameters() {
        let terms = Parameters { prior: ClassPrior::Smoothed, ..terms };
        let mut parameters = of_terms(terms);
        parameters.var_smoothing = 1e-3;
        let model = statistics.fit(&parameters).unwrap();
        let mut out = Vec::new();
        for document in documents {
            statistics.joint_log_likelihood(&model, &values(document), &mut out).unwrap();
            all.extend_from_slice(&out);
        }
    }
    all
}

proptest! {
    #[test]
    fn order_shards_and_what_was_forgotten_leave_no_trace(
        (documents, other) in proptest::collection::vec(document(), 0..20)
            .prop_flat_map(|d| (Just(d.clone()), Just(d).prop_shuffle())),
        size in 1..8usize,
        kept in 0..20usize,
    ) {
        let expected = joints(&learn(&documents), &documents);
        prop_assert!(expected.iter().all(|x| x.is_finite()));
        check_near("joint", &joints(&learn(&other), &documents), &expected, 1e-9);
        let mut merged = learn(&[]);
        for shard in other.chunks(size) {
            merged.merge(&learn(shard)).unwrap();
        }
        check_near("joint", &joints(&merged, &documents), &expected, 1e-9);
        let (kept, gone) = other.split_at(kept.min(other.len()));
        gone.iter().for_each(|document| merged.forget(document.0, &values(document)).unwrap());
        // what was forgotten is as unknown as if it had never been there
        check_near("joint", &joints(&merged, &documents), &joints(&learn(kept), &documents), 1e-9);
        kept.iter().for_each(|document| merged.forget(document.0, &values(document)).unwrap());
        prop_assert_eq!(merged, learn(&[]));
    }
}
