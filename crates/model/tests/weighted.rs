//! What must be true of weighted log-odds and what is fitted to them, for two classes and more.

use proptest::prelude::*;
use tamis_model::metrics::log_loss;
use tamis_model::{
    Choices, ClassId, ClassTotals, Coefficient, Columns, CorrectedStatistics, Correction, Counts, Documents,
    Example, FitProblem, LEAST_BELIEF, Lesson, Readings, SmoothingChoice, Statistics, WeightedFit,
    WeightedLogOdds, WeightedOptions,
};
use tamis_testing::near;
use tamis_tokenizer::{CountRow, CountVector};

const TERMS: u32 = 14;

#[derive(Clone, Debug)]
struct Document {
    row: CountVector,
    class: ClassId,
    copies: u32,
    group: u64,
}

fn documents(n_classes: ClassId) -> impl Strategy<Value = Vec<Document>> {
    let row = proptest::collection::btree_map(0..TERMS, 1..6u32, 0..8);
    let document = (row, 0..n_classes, 1..3u32, 0..9u64).prop_map(|(row, class, copies, group)| Document {
        row: CountVector::from_pairs(row).unwrap(),
        class,
        copies,
        group,
    });
    proptest::collection::vec(document, 1..25)
}

/// A number of classes, and documents of some of them.
fn cases() -> impl Strategy<Value = (usize, Vec<Document>)> {
    (2usize..5).prop_flat_map(|n_classes| (Just(n_classes), documents(n_classes as ClassId)))
}

fn labelled(documents: &[Document]) -> Vec<Example<'_>> {
    let labelled = |d: &'_ Document| (d.class, d.copies, d.group);
    let with_row = |d| {
        let (class, multiplicity, group) = labelled(d);
        Example { row: d.row.row(), class, multiplicity, group, fraction: 0, vector: &[] }
    };
    documents.iter().map(with_row).collect()
}

fn learn(n_classes: usize, documents: &[Document]) -> Statistics {
    let mut statistics = Statistics::new(n_classes);
    for d in documents {
        statistics.observe_times(d.class, d.row.row(), d.copies).unwrap();
    }
    statistics
}

fn choices(n_classes: usize, idf_power: f64) -> Choices {
    Choices {
        idf_power,
        bayes: [0.7, 0.4],
        stack: [0.6, 1.3, 0.0, 0.0, 0.2],
        ..Choices::for_classes(n_classes)
    }
}

fn scorer(choices: &Choices, statistics: &Statistics, bias: &[i64]) -> WeightedLogOdds {
    let columns = Columns::new(statistics.totals().len(), 1).unwrap();
    WeightedLogOdds::new(choices, bias, statistics.totals(), statistics.n_features() as u64, &columns)
        .unwrap()
}

fn read(
    scorer: &WeightedLogOdds,
    statistics: &Statistics,
    correction: &Correction,
    row: CountRow<'_>,
) -> Vec<f64> {
    let (mut readings, mut z) = (Readings::default(), Vec::new());
    let Ok(()) = scorer.read(&mut CorrectedStatistics::new(statistics, Some(correction)), row, &mut readings);
    scorer.log_odds(&readings, &mut z);
    z
}

fn fit(n_classes: usize, documents: &[Document], options: &WeightedOptions) -> WeightedFit {
    fit_to(&learn(n_classes, documents), &labelled(documents), options)
}

fn fit_to(counts: &Statistics, documents: &dyn Documents, options: &WeightedOptions) -> WeightedFit {
    let columns = Columns::new(counts.totals().len(), 1).unwrap();
    let smoothing = SmoothingChoice::new(counts, documents, &columns, options);
    FitProblem { counts, documents, columns, beside: Default::default(), options }.solve(smoothing).unwrap()
}

/// Some correction: of every document one coefficient.
fn some_correction(n_classes: usize, documents: &[Document]) -> Correction {
    let mut correction = Correction::default();
    let n_columns = if n_classes == 2 { 1 } else { n_classes };
    for (i, d) in documents.iter().enumerate() {
        let sign = if i % 2 == 0 { 1 } else { -1 };
        let coefficient = Coefficient {
            class: (i % n_columns) as ClassId,
            bias: 3_000 * sign,
            units: (9_000 + i as i64) * sign,
        };
        correction.add(d.row.row(), &[coefficient]).unwrap();
    }
    correction
}

/// The formula as it stands in the documentation, over all classes and terms.
fn dense(choices: &Choices, statistics: &Statistics, correction: &Correction, row: CountRow<'_>) -> Vec<f64> {
    let (a, v) = (choices.alpha.alpha(), statistics.n_features().max(1) as f64);
    let totals = statistics.totals();
    let sum = |of: fn(&ClassTotals) -> u64| totals.iter().map(of).sum::<u64>() as f64;
    let (all, documents) = (sum(|t| t.df), sum(|t| t.documents));
    let classes = if totals.len() == 2 { 1..2 } else { 0..totals.len() };
    let one_column = totals.len() == 2;
    let known: Vec<_> = row.iter().filter(|(term, _)| statistics.document_frequency(*term) > 0).collect();
    let column = |(column, class): (usize, usize)| {
        let (mut dot, mut square, mut length, mut d) = (0.0, 0.0, 0.0, 0.0);
        for &(term, tf) in &known {
            let df = statistics.document_frequency(term) as f64;
            let n = statistics
                .cells(term)
                .find(|c| usize::from(c.class) == class)
                .map_or(0.0, |c| f64::from(c.df));
            let own = totals[class].df as f64;
            let w = ((n + a) / (own + a * v)).ln() - ((df - n + a) / (all - own + a * v)).ln();
            let idf = ((documents + 1.0) / df).ln();
            let log_tf = (16.0 * f64::from(1 + tf).log2()).round() * std::f64::consts::LN_2 / 16.0;
            let weight = idf.powf(choices.idf_power);
            dot += log_tf * weight * w;
            square += (log_tf * weight).powi(2);
            length += (log_tf * idf).powi(2);
            let u =
                correction.weights(term).find(|w| usize::from(w.class) == column).map_or(0.0, |w| w.value());
            d += log_tf * idf * idf * u;
        }
        let s = if square > 0.0 { dot / square.sqrt() } else { dot };
        let bias = correction.bias().get(column).copied().unwrap_or(0) as f64 / f64::from(1 << 12);
        let d = d / length.sqrt().max(1.0) + bias;
        let share = (totals[class].documents as f64 + 0.5) / (documents + 0.5 * totals.len() as f64);
        let p = if one_column { 1.0 } else { share.ln() };
        let [q0, q1, .., q4] = choices.stack;
        q0 * (choices.bayes[0] * s + choices.bayes[1] * p) + q1 * d + q4 * p
    };
    classes.enumerate().map(column).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn it_is_the_formula((n_classes, documents) in cases(), probe in documents(2), idf_power in prop_oneof![Just(0.0), Just(0.5), Just(1.0), Just(1.6)]) {
        let (statistics, choices) = (learn(n_classes, &documents), choices(n_classes, idf_power));
        let correction = some_correction(n_classes, &documents);
        let scorer = scorer(&choices, &statistics, correction.bias());
        prop_assume!(statistics.totals().iter().all(|totals| totals.documents > 0));
        for d in probe.iter().chain(&documents) {
            let got = read(&scorer, &statistics, &correction, d.row.row());
            let expected = dense(&choices, &statistics, &correction, d.row.row());
            prop_assert_eq!(got.len(), expected.len());
            for (got, expected) in got.iter().zip(expected) {
                prop_assert!(near(*got, expected, 1e-9), "{got} {expected}");
            }
        }
    }

    #[test]
    fn contributions_add_up((n_classes, documents) in cases(), probe in documents(2)) {
        let (statistics, choices) = (learn(n_classes, &documents), choices(n_classes, 0.5));
        let correction = some_correction(n_classes, &documents);
        let scorer = scorer(&choices, &statistics, correction.bias());
        prop_assume!(statistics.totals().iter().all(|totals| totals.documents > 0));
        for d in &probe {
            let z = read(&scorer, &statistics, &correction, d.row.row());
            let mut terms = CorrectedStatistics::new(&statistics, Some(&correction));
            let mut contributions = Vec::new();
            let Ok(before) =
                scorer.contributions(&mut terms, d.row.row(), [1, 0], &mut contributions);
            let sum = before + contributions.iter().map(|(_, share)| share).sum::<f64>();
            let expected = if n_classes == 2 { z[0] } else { z[1] - z[0] };
            prop_assert!(near(sum, expected, 1e-9), "{sum} {expected}");
        }
    }

    #[test]
    fn a_fit_is_finite_and_the_same_on_any_threads((n_classes, documents) in cases(), seed in any::<u64>()) {
        let mut options = WeightedOptions::default();
        options.seed = seed;
        let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let one = pool(1).install(|| fit(n_classes, &documents, &options));
        let more = pool(3).install(|| fit(n_classes, &documents, &options));
        prop_assert_eq!(&one, &more);
        prop_assert_eq!(one.choices.check(), Ok(()));
        let mut sum = Correction::default();
        for (i, d) in documents.iter().enumerate() {
            let coefficients: Vec<_> = one.coefficients.of_document(i).collect();
            prop_assert!(coefficients.is_sorted_by(|a, b| a.class < b.class));
            prop_assert!(!d.row.row().is_empty() || coefficients.is_empty());
            sum.add(d.row.row(), &coefficients).unwrap();
        }
        prop_assert_eq!(&one.correction, &sum);
        for held in &one.held_out {
            prop_assert!(held.log_odds(&one.choices, &one.prior).iter().all(|z| z.is_finite()));
        }
    }

    #[test]
    fn a_class_without_documents_is_never_the_answer((n_classes, documents) in cases(), empty in 0..4 as ClassId) {
        let documents: Vec<_> = documents.into_iter().filter(|d| d.class != empty).collect();
        prop_assume!(usize::from(empty) < n_classes && !documents.is_empty());
        let fitted = fit(n_classes, &documents, &WeightedOptions::default());
        let statistics = learn(n_classes, &documents);
        let scorer = scorer(&fitted.choices, &statistics, fitted.correction.bias());
        for d in &documents {
            let z = read(&scorer, &statistics, &fitted.correction, d.row.row());
            match (n_classes, empty) {
                (2, 1) => prop_assert!(z[0] <= 0.0),
                (2, _) => prop_assert!(z[0] > 0.0),
                _ => {
                    let least = documents.iter().map(|d| z[usize::from(d.class)]).fold(f64::INFINITY, f64::min);
                    prop_assert!(least > z[usize::from(empty)]);
                }
            }
        }
    }

    /// One more document is moved to its label, and no further: what is right without a correction gets none, and one that gets
    /// less than the most it may have is a nat past its threshold or its rivals.
    #[test]
    fn a_correction_moves_a_document_as_far_as_needed((n_classes, documents) in cases()) {
        let (last, others) = documents.split_last().unwrap();
        let fitted = fit(n_classes, others, &WeightedOptions::default());
        let mut statistics = learn(n_classes, others);
        prop_assume!(statistics.totals().iter().all(|totals| totals.documents > 1) && !last.row.row().is_empty());
        let options = WeightedOptions::default();
        let (row, class, thresholds) = (last.row.row(), last.class, [[-0.4, 2.9]]);
        let document = Example { row, class, multiplicity: 1, group: 0, fraction: 0, vector: &[] };
        let lesson = |before, is_counted| Lesson { document, before, is_counted, beside: Default::default(), thresholds: &thresholds };
        let before = scorer(&fitted.choices, &statistics, fitted.correction.bias());
        let unlearned = statistics.clone();
        statistics.observe(class, row).unwrap();
        let mut terms = CorrectedStatistics::new(&unlearned, Some(&fitted.correction));
        let n_features = statistics.n_features() as u64;
        let Ok(taught) =
            before.online_step(&mut terms, unlearned.totals(), n_features, &options, &lesson(&[], false));
        let after = scorer(&fitted.choices, &statistics, fitted.correction.bias());
        // how far the document is on the side of its label, in nats, with these coefficients
        let ahead = |coefficients: &[Coefficient]| {
            let mut correction = fitted.correction.clone();
            correction.add(row, coefficients).unwrap();
            let z = read(&after, &statistics, &correction, row);
            match (n_classes, class) {
                (2, 1) => z[0] - thresholds[0][1],
                (2, _) => thresholds[0][0] - z[0],
                _ => {
                    let of_others = z.iter().enumerate().filter(|(at, _)| *at != usize::from(class));
                    z[usize::from(class)] - of_others.map(|(_, z)| *z).fold(f64::NEG_INFINITY, f64::max)
                }
            }
        };
        let is_own = |column: ClassId| if n_classes == 2 { class == 1 } else { column == class };
        for coefficient in &taught {
            prop_assert!(coefficient.units > 0 && is_own(coefficient.class) || coefficient.units < 0 && !is_own(coefficient.class));
            // or one document would move the scores of all others
            prop_assert_eq!(coefficient.bias, 0);
        }
        let (unmoved, moved) = (ahead(&[]), ahead(&taught));
        prop_assert!(taught.is_empty() || unmoved <= 1.0, "{taught:?} at {unmoved}");
        prop_assert!(moved >= unmoved - 1e-9 && moved < f64::max(1.01, unmoved + 1e-9), "{moved} after {unmoved}");

        // it has what it needs, or the most that it may have
        let mut correction = fitted.correction.clone();
        correction.add(row, &taught).unwrap();
        let mut terms = CorrectedStatistics::new(&statistics, Some(&correction));
        let lesson = lesson(&taught, true);
        let Ok(again) = after.online_step(&mut terms, statistics.totals(), n_features, &options, &lesson);
        for (again, taught) in again.iter().zip(&taught) {
            prop_assert!(n_classes > 2 || (again.units - taught.units).abs() < 1 << 6, "{again:?} {taught:?}");
        }
        prop_assert!(again.len() >= taught.len() && (n_classes > 2 || again.len() == taught.len() || moved > 0.99));
    }
}

/// Documents of two classes, or of four, of which half the words come in pairs that say the same.
fn correlated(n: u32, n_classes: u32, seed: u32) -> Vec<Document> {
    let mut state = u64::from(seed) | 1;
    let mut below = |n: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as u32 % n
    };
    let document = |i: u32| {
        let class = i % n_classes;
        let mut pairs = Vec::new();
        for _ in 0..6 {
            let of = if below(10) < 6 { class } else { below(n_classes) };
            pairs.push((10 * of + below(6), 1));
        }
        // a word that three classes in four use in all its forms
        if below(4) != class % 4 {
            pairs.extend((100..108).map(|term| (term, 1)));
        }
        let row = CountVector::from_pairs(pairs).unwrap();
        Document { row, class: class as ClassId, copies: 1, group: u64::from(i) }
    };
    (0..n).map(document).collect()
}

#[test]
fn a_correction_improves_held_out_log_loss() {
    for n_classes in [2, 4] {
        let (train, test) = (correlated(800, n_classes, 1), correlated(800, n_classes, 77));
        let statistics = learn(n_classes as usize, &train);
        let loss = |options: &WeightedOptions| {
            let fitted = fit(n_classes as usize, &train, options);
            let scorer = scorer(&fitted.choices, &statistics, fitted.correction.bias());
            let p = |d: &Document| {
                let mut z = read(&scorer, &statistics, &fitted.correction, d.row.row());
                if let [one] = z[..] {
                    z = vec![0.0, one];
                }
                tamis_model::softmax(&mut z);
                (z[usize::from(d.class)], true)
            };
            log_loss(&test.iter().map(p).collect::<Vec<_>>()).unwrap()
        };
        let mut counts_alone = WeightedOptions::default();
        counts_alone.correction = false;
        let (with, without) = (loss(&WeightedOptions::default()), loss(&counts_alone));
        assert!(with < without, "{n_classes} classes: {with} {without}");
    }
}

#[test]
fn what_is_held_out_was_never_seen() {
    // documents of a group share a word that nothing else has: who has seen one knows the others
    let mut documents = correlated(400, 2, 5);
    for (i, d) in documents.iter_mut().enumerate() {
        let group = (i / 4 * 2 + i % 2) as u64;
        let pairs = d.row.row().iter().chain([(1_000 + group as u32, 3)]);
        (d.row, d.group) = (CountVector::from_pairs(pairs).unwrap(), group);
    }
    let statistics = learn(2, &documents);
    let fitted = fit(2, &documents, &WeightedOptions::default());
    assert_eq!(fitted.held_out.len(), documents.len());
    for held in &fitted.held_out {
        let own = documents[held.document].row.row();
        let known =
            own.ids().iter().filter(|id| **id < 1_000 && statistics.document_frequency(**id) > 0).count();
        assert_eq!(held.known_terms, known);
    }
}

#[test]
fn what_options_fix_is_not_chosen() {
    let documents = correlated(400, 2, 9);
    let free = fit(2, &documents, &WeightedOptions::default());
    assert_eq!((free.smoothing.tried.len(), free.taus.len()), (15, 2));
    let alpha = 0.7.try_into().unwrap();
    let mut options = WeightedOptions::default();
    options.alpha = Some(alpha);
    options.idf_power = Some(0.25);
    options.correction = false;
    let fixed = fit(2, &documents, &options);
    assert_eq!((fixed.choices.alpha, fixed.choices.idf_power), (alpha, 0.25));
    assert_eq!((fixed.choices.stack[1], fixed.taus.len()), (0.0, 0));
    assert_eq!(fixed.correction, Correction::default());
    // where no document can be left out nothing is chosen, and little is believed
    let none = fit(2, &documents[..2], &WeightedOptions::default());
    let default = Choices::for_classes(2);
    let stack = default.stack.map(|q| LEAST_BELIEF * q);
    assert_eq!((none.choices, none.parts), (Choices { stack, ..default }, None));
}

#[test]
fn copies_are_as_documents_given_so_often() {
    let documents = correlated(240, 3, 3);
    let mut copied = Vec::new();
    for d in &documents {
        let copies = 1 + u32::from(d.group % 3 == 0);
        copied.push(Document { copies, ..d.clone() });
    }
    // equal documents are neighbours
    let each = |d: &Document| std::iter::repeat_n(Document { copies: 1, ..d.clone() }, d.copies as usize);
    let repeated: Vec<_> = copied.iter().flat_map(each).collect();
    let options = WeightedOptions::default();
    let fit =
        |documents: &[Document]| fit_to(&learn(3, documents), &EqualTexts(&labelled(documents)), &options);
    let (copied, repeated) = (fit(&copied), fit(&repeated));
    assert_eq!(copied.choices.alpha, repeated.choices.alpha);
    let close = |a: f64, b: f64, within: f64| assert!((a - b).abs() < within, "{a} {b}");
    close(copied.choices.bayes[0], repeated.choices.bayes[0], 1e-6);
    close(copied.choices.stack[0], repeated.choices.stack[0], 0.1);
    for column in 0..3 {
        // both are at the optimum but for the tolerance
        close(
            copied.correction.bias()[column] as f64 / 4_096.0,
            repeated.correction.bias()[column] as f64 / 4_096.0,
            1.0,
        );
    }
}

/// Documents whose groups are the copies of a text.
struct EqualTexts<'a>(&'a Vec<Example<'a>>);

impl Documents for EqualTexts<'_> {
    fn len(&self) -> usize {
        Documents::len(self.0)
    }

    fn label(&self, document: usize) -> tamis_model::Label {
        self.0.label(document)
    }

    fn n_terms(&self) -> usize {
        self.0.n_terms()
    }

    fn n_pairs(&self) -> usize {
        self.0.n_pairs()
    }

    fn block(&self, block: usize, to: &mut tamis_model::Block) {
        self.0.block(block, to);
    }

    fn rows(&self, documents: &[usize]) -> Vec<CountVector> {
        self.0.rows(documents)
    }

    fn groups_are_copies(&self) -> bool {
        true
    }
}

/// Documents of two classes by the copies of each, all of them the same text.
fn one_text(copies: [u32; 2]) -> Vec<Document> {
    let row = CountVector::from_pairs([(0, 1), (1, 2), (2, 1)]).unwrap();
    (0..).zip(copies).map(|(class, copies)| Document { row: row.clone(), class, copies, group: 7 }).collect()
}

/// The probability of the first class for a document.
fn probability(documents: &[Document], row: CountRow<'_>) -> f64 {
    let statistics = learn(2, documents);
    let fitted = fit_to(&statistics, &EqualTexts(&labelled(documents)), &WeightedOptions::default());
    let scorer = scorer(&fitted.choices, &statistics, fitted.correction.bias());
    let z = read(&scorer, &statistics, &fitted.correction, row)[0];
    1.0 / (1.0 + z.exp())
}

#[test]
fn one_text_under_two_labels_has_the_probabilities_of_its_copies() {
    for (copies, expected) in [([900, 100], 0.9), ([9_000, 1_000], 0.9), ([30, 30], 0.5), ([40, 160], 0.2)] {
        let documents = one_text(copies);
        let got = probability(&documents, documents[0].row.row());
        assert!((got - expected).abs() < 0.02, "{copies:?}: {got}");
    }
}

#[test]
fn what_tells_nothing_is_not_believed() {
    // labels by chance: the shares of the classes are the best that can be said
    for (n_classes, n) in [(2, 10), (2, 40), (2, 400), (5, 50), (20, 200)] {
        let mut documents = correlated(n, n_classes, 11);
        // every label as often as before, but of other documents
        let labels: Vec<_> = documents.iter().map(|d| d.class).collect();
        let shuffled = |i: u32| (u64::from(i).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20, i);
        let mut order: Vec<_> = (0..n).map(shuffled).collect();
        order.sort_unstable();
        for (document, (_, i)) in documents.iter_mut().zip(order) {
            document.class = labels[i as usize];
        }
        let n_classes = n_classes as usize;
        let fitted = fit(n_classes, &documents, &WeightedOptions::default());
        let Some(parts) = fitted.parts else { panic!("{n_classes} classes: documents were held out") };
        assert!(parts.belief < 0.7, "{n_classes} classes, {n} documents: {parts:?}");
        let likeliest = fitted.held_out.iter().flat_map(|held| held.log_odds(&fitted.choices, &fitted.prior));
        let most = likeliest.map(f64::abs).fold(0.0, f64::max);
        assert!(most.is_finite() && most < 4.0, "{n_classes} classes, {n} documents: {most}");
    }
}

#[test]
fn a_fit_is_no_worse_than_class_shares_or_counts_alone() {
    for seed in 0..12 {
        for (n_classes, n) in [(2, 60), (2, 300), (4, 80), (12, 240)] {
            let documents = correlated(n, n_classes, 2 * seed);
            let Some(parts) = fit(n_classes as usize, &documents, &WeightedOptions::default()).parts else {
                panic!("documents were held out")
            };
            // both are fitted, so that of both is no worse but for the ridge
            assert!(parts.correction <= parts.counts + 0.05, "{parts:?}");
            assert!(parts.correction <= parts.shares + 0.05 || parts.belief < 0.1, "{parts:?}");
        }
    }
}
