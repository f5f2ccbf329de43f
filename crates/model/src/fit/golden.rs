//! Compares fitting, step by step, with formulas written out: tests/golden/recipe.json, written by recipe.py beside it.

use serde::Deserialize;
use tamis_tokenizer::CountVector;

use super::*;
use crate::Smoothing;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/recipe.json");

/// A number a column of each document; none of a document without terms.
type Numbers = Vec<Option<Vec<f64>>>;

/// Class, copies, and how often which term.
type Document = (ClassId, u32, Vec<(u32, u32)>);

#[derive(Deserialize)]
struct Set {
    name: String,
    n_classes: usize,
    documents: Vec<Document>,
    grid: Vec<[f64; 3]>,
    left_out: Vec<LeftOut>,
    k: [f64; 2],
    offsets: Numbers,
    correction: Vec<Optimum>,
    held_out: HeldOutScores,
    q: Vec<f64>,
}

#[derive(Deserialize)]
struct LeftOut {
    alpha: Smoothing,
    power: f64,
    scores: Numbers,
}

#[derive(Deserialize)]
struct Optimum {
    #[serde(rename = "C")]
    c: f64,
    tau: f64,
    coefficients: Numbers,
    biases: Vec<f64>,
    objective: f64,
    objective_of_ten_passes: [f64; 3],
    objective_of_all_passes: [f64; 3],
}

#[derive(Deserialize)]
struct HeldOutScores {
    #[serde(rename = "B")]
    bayes: Numbers,
    #[serde(rename = "d")]
    correction: Numbers,
    known: Vec<Option<bool>>,
}

fn sets() -> Vec<Set> {
    serde_json::from_str(&std::fs::read_to_string(GOLDEN).unwrap()).unwrap()
}

/// What a set is learned from.
struct Learned {
    rows: Vec<(ClassId, u32, CountVector)>,
    counts: Statistics,
    columns: Columns,
    options: WeightedOptions,
}

impl Learned {
    fn new(set: &Set) -> Learned {
        let rows = set.documents.iter().map(|(class, copies, terms)| {
            (*class, *copies, CountVector::from_pairs(terms.iter().copied()).unwrap())
        });
        let rows: Vec<_> = rows.collect();
        let mut counts = Statistics::new(set.n_classes);
        for (class, copies, row) in &rows {
            counts.observe_times(*class, row.row(), *copies).unwrap();
        }
        Learned {
            rows,
            counts,
            columns: Columns::new(set.n_classes, 1).unwrap(),
            options: Default::default(),
        }
    }

    fn documents(&self) -> Vec<Labelled<'_>> {
        let mut documents = Vec::new();
        for (group, (class, multiplicity, row)) in (0..).zip(&self.rows) {
            documents.push(Labelled { row: row.row(), class: *class, multiplicity: *multiplicity, group });
        }
        documents
    }

    fn fit<'a>(&'a self, documents: &'a [Labelled<'a>]) -> Fit<'a> {
        Fit { counts: &self.counts, documents, windows: &[], columns: self.columns, options: &self.options }
    }
}

/// The choices of step 1.
fn choices(set: &Set) -> Choices {
    let LeftOut { alpha, power, .. } = set.left_out[0];
    Choices { alpha, idf_power: power, bayes: set.k, ..Choices::for_classes(set.n_classes) }
}

fn assert_close(what: &str, got: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (got, expected) in got.iter().zip(expected) {
        assert!((got - expected).abs() <= tolerance, "{what}: {got}, expected {expected}");
    }
}

#[test]
fn smoothing_idf_and_k_are_chosen() {
    for set in sets() {
        let learned = Learned::new(&set);
        let choice =
            SmoothingChoice::new(&learned.counts, &learned.documents(), learned.columns, &learned.options);
        assert_eq!((choice.alpha, choice.idf_power), (set.left_out[0].alpha, set.left_out[0].power));
        assert_eq!(choice.tried.len(), set.grid.len());
        for [alpha, power, loss] in &set.grid {
            let tried = choice.tried.iter().find(|(a, p, _)| (a.alpha(), *p) == (*alpha, *power)).unwrap();
            assert_close(&format!("{}, loss of {alpha} {power}", set.name), &[tried.2], &[*loss], 1e-6);
        }
        assert_close(&format!("{}, k", set.name), &choice.bayes, &set.k, 1e-6);
    }
}

#[test]
fn documents_are_left_out_exactly() {
    for set in sets() {
        let learned = Learned::new(&set);
        for LeftOut { alpha, power, scores } in &set.left_out {
            let left_out = LeaveOneOut::new(*alpha, &learned.counts, learned.columns);
            let mut got = [Vec::new()];
            for (document, expected) in learned.documents().iter().zip(scores) {
                left_out.scores(document.row, document.class, &[*power], &mut got);
                let without_terms = vec![0.0; learned.columns.len()];
                let expected = expected.as_ref().unwrap_or(&without_terms);
                assert_close(&format!("{}, {power}", set.name), &got[0], expected, 1e-9);
            }
        }
    }
}

#[test]
fn offsets_are_log_odds() {
    for set in sets() {
        let learned = Learned::new(&set);
        let (documents, choices) = (learned.documents(), choices(&set));
        let fit = learned.fit(&documents);
        let competitors = Competitors::new(&fit, &choices);
        let got = odds(&choices, &fit, &learned.counts, &competitors, &[]);
        for (got, expected) in got.chunks(learned.columns.len()).zip(&set.offsets) {
            let Some(expected) = expected else { continue };
            let got: Vec<_> = got.iter().map(|o| f64::from(*o)).collect();
            assert_close(&format!("{}, offsets", set.name), &got, expected, 1e-5);
        }
    }
}

/// Coefficients by document and column, and the objective of what they add up to.
struct Climbed {
    coefficients: Vec<Vec<f64>>,
    biases: Vec<f64>,
    objective: f64,
}

/// The ascent of one column after the other.
fn climb(set: &Set, learned: &Learned, tau: f64, ascent: Ascent) -> Climbed {
    let (documents, choices) = (learned.documents(), choices(set));
    let fit = learned.fit(&documents);
    let competitors = Competitors::new(&fit, &choices);
    let full = fit.view(&choices, &competitors, &[], &learned.counts);
    let course = Course { fit: &fit, competitors: &competitors, full: &full, views: &[] };
    let mut all =
        Climbed { coefficients: vec![Vec::new(); documents.len()], biases: Vec::new(), objective: 0.0 };
    for column in (0..).take(learned.columns.len()) {
        let mut pupils = course.pupils(&full, [Some(Lane { column, tau })]);
        let mut weights = Weights::<1>::new(full.vectors.squares.len());
        ascent.climb(&full.vectors, &mut pupils, &mut weights);
        all.objective += objective(&full.vectors, &pupils, ascent.c);
        all.biases.push(pupils.iter().map(|pupil| f64::from(pupil.coefficients[0])).sum());
        for pupil in pupils {
            all.coefficients[pupil.document as usize].push(f64::from(pupil.coefficients[0]));
        }
    }
    all
}

/// What is least at the optimum, |w|^2 / 2 + sum of n C ln(1 + exp(-s z)), with w the sum of c x.
fn objective(vectors: &Vectors<'_>, pupils: &[Pupil<1>], c: f64) -> f64 {
    let vector = |document: u32| {
        let i = document as usize;
        let x = |(term, tf): (TermId, u32)| {
            let v = f64::from(tf_units(tf)) * TF_UNIT * f64::from(vectors.squares[term as usize]).sqrt();
            (term as usize, v * f64::from(vectors.scales[i]))
        };
        vectors.documents[i].row.iter().map(x).collect::<Vec<_>>()
    };
    let (mut weights, mut bias) = (vec![0.0; vectors.squares.len()], 0.0);
    for pupil in pupils {
        let coefficient = f64::from(pupil.coefficients[0]);
        bias += coefficient;
        vector(pupil.document).into_iter().for_each(|(term, x)| weights[term] += coefficient * x);
    }
    let loss = |pupil: &Pupil<1>| {
        let read: f64 = vector(pupil.document).into_iter().map(|(term, x)| weights[term] * x).sum();
        let z = f64::from(pupil.offsets[0]) + bias + read;
        let copies = vectors.documents[pupil.document as usize].weight();
        c * copies * crate::logs::softplus(if pupil.is_own[0] { -z } else { z })
    };
    let square: f64 = weights.iter().map(|w| w * w).sum::<f64>() + bias * bias;
    square / 2.0 + pupils.iter().map(loss).sum::<f64>()
}

fn ascent(c: f64, passes: usize, tolerance: f64, only_rivals: bool) -> Ascent {
    Ascent { c, passes, tolerance, seed: 0, only_rivals }
}

#[test]
fn coefficients_come_to_the_optimum_of_logistic_regression() {
    for set in sets() {
        let learned = Learned::new(&set);
        for optimum in &set.correction {
            let what = format!("{}, tau {}", set.name, optimum.tau);
            let got = climb(&set, &learned, optimum.tau, ascent(optimum.c, 2_000, 1e-6, false));
            assert_close(&what, &[got.objective], &[optimum.objective], 1e-6 * optimum.objective);
            assert_close(&what, &got.biases, &optimum.biases, 0.01);
            for (got, expected) in got.coefficients.iter().zip(&optimum.coefficients) {
                let expected = expected.as_deref().unwrap_or_default();
                assert_close(&what, got, expected, 1e-3);
            }
        }
    }
}

#[test]
fn passes_come_as_far_as_the_prototype() {
    for set in sets() {
        let learned = Learned::new(&set);
        let only_rivals = set.n_classes > 2;
        for optimum in &set.correction {
            let all = climb(&set, &learned, optimum.tau, ascent(optimum.c, 2_000, 1e-6, only_rivals));
            let [mean, ..] = optimum.objective_of_all_passes;
            assert_close(&set.name, &[all.objective], &[mean], 1e-3 * mean);
            let ten = climb(&set, &learned, optimum.tau, ascent(optimum.c, 10, TOLERANCE, only_rivals));
            let [_, _, most] = optimum.objective_of_ten_passes;
            assert!(ten.objective <= 1.01 * most, "{}: {}, expected {most}", set.name, ten.objective);
        }
    }
}

#[test]
fn counts_and_correction_are_added_up_by_held_out_scores() {
    for set in sets() {
        let learned = Learned::new(&set);
        let (documents, choices) = (learned.documents(), choices(&set));
        let fit = learned.fit(&documents);
        let competitors = Competitors::new(&fit, &choices);
        let full = fit.view(&choices, &competitors, &[], &learned.counts);
        let course = Course { fit: &fit, competitors: &competitors, full: &full, views: &[] };
        let scores = set.held_out.bayes.iter().zip(&set.held_out.correction).zip(&set.held_out.known);
        let held_out: Vec<_> = scores
            .enumerate()
            .map(|(document, ((bayes, correction), known))| HeldOut {
                document,
                weight: documents[document].weight(),
                known_terms: usize::from(*known == Some(true)),
                bayes: bayes.clone().unwrap_or_default(),
                correction: correction.clone().unwrap_or_default(),
                windows: Vec::new(),
            })
            .collect();
        let (stacked, _) = course.stack(choices, &held_out, true);
        assert_close(&format!("{}, q", set.name), &stacked.stack[..set.q.len()], &set.q, 1e-6);
    }
}
