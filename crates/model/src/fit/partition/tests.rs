use tamis_testing::check_near;
use tamis_tokenizer::{CountVector, TermId};

use super::*;
use crate::counts::{Statistics, TF_UNIT};
use crate::fit::calibration::TAUS;
use crate::linear::{Columns, WeightedOptions};
use crate::numbers::{SplitMix64, softplus};
use crate::validation::{Example, SmoothingChoice};

/// Generated documents of some classes, and their counts.
struct Set {
    rows: Vec<(ClassId, CountVector)>,
    counts: Statistics,
    columns: Columns,
    options: WeightedOptions,
}

impl Set {
    fn new(n_classes: usize, n: usize) -> Set {
        let mut random = SplitMix64::new(n_classes as u64);
        let mut document = |i: usize| {
            let class = random.below(n_classes);
            let mut terms = vec![(500 + random.below(9), 1)];
            terms.extend((0..6).map(|at| (at * 40 + random.below(40), 1 + i as u32 % 2)));
            terms.extend((0..2).map(|at| (300 + at * 80 + (class + random.below(3)) % n_classes, 1)));
            let terms = terms.into_iter().take(if i % 100 == 7 { 0 } else { 9 });
            let terms = terms.map(|(term, tf)| (term as TermId, tf));
            (class as ClassId, CountVector::from_pairs(terms).unwrap())
        };
        let rows: Vec<_> = (0..n).map(&mut document).collect();
        let mut counts = Statistics::new(n_classes);
        rows.iter().for_each(|(class, row)| counts.observe_times(*class, row.row(), 1).unwrap());
        let (columns, options) = (Columns::new(n_classes, 1).unwrap(), WeightedOptions::default());
        Set { rows, counts, columns, options }
    }

    /// The documents, dealt to partitions.
    fn deal(&self, n_partitions: usize) -> Vec<Vec<Example<'_>>> {
        let mut dealt = vec![Vec::new(); n_partitions];
        for (i, (class, row)) in self.rows.iter().enumerate() {
            let document = Example {
                row: row.row(),
                class: *class,
                multiplicity: 1,
                group: i as u64,
                fraction: 0,
                vector: &[],
            };
            dealt[i % n_partitions].push(document);
        }
        dealt
    }

    fn choices(&self) -> Choices {
        Choices::for_classes(self.columns.n_classes())
    }

    fn partitions<'a>(&'a self, dealt: &'a [Vec<Example<'_>>], choices: &Choices) -> Vec<Partition<'a>> {
        let partition = |documents: &'a Vec<_>| {
            let columns = self.columns.clone();
            let problem = FitProblem {
                counts: &self.counts,
                documents,
                columns,
                beside: Default::default(),
                options: &self.options,
            };
            Partition::new(problem, &self.counts, choices, dealt.len() as u32).unwrap()
        };
        dealt.iter().map(partition).collect()
    }
}

/// Runs `rounds` rounds, with the partitions in parallel.
fn fit(partitions: &mut [Partition<'_>], rounds: usize) -> Correction {
    let mut correction = Correction::default();
    for _ in 0..rounds {
        let round = |partition: &mut Partition<'_>| partition.round(&correction).unwrap();
        let changes: Vec<RoundChange> = partitions.par_iter_mut().map(round).collect();
        changes.iter().for_each(|change| correction.merge(&change.correction).unwrap());
    }
    correction
}

/// The objective, least at the optimum: the sum over columns of |w|^2 / 2 + the sum over documents of C ln(1 + exp(-s
/// z)).
fn objective(partitions: &[Partition<'_>]) -> f64 {
    let n_terms =
        partitions.iter().map(|partition| partition.trainer.problem.documents.n_terms()).max().unwrap();
    let mut sum = 0.0;
    for (at, column) in partitions[0].trainer.lanes.iter().enumerate() {
        let mut w = vec![0.0; n_terms + 1];
        let mut margins = Vec::new();
        for adds in [true, false] {
            for partition in partitions {
                let Partition { trainer, coefficients, .. } = partition;
                let ColumnTrainer { problem, source, competitors, odds, .. } = trainer;
                let group = &coefficients.groups[at / COLUMNS_TOGETHER];
                for document in 0..problem.documents.len() {
                    let terms = source.kept(document).unwrap();
                    let scale = f64::from(coefficients.scales[document]) * TF_UNIT;
                    let x = |(id, tf): (TermId, f32)| {
                        (id as usize, scale * f64::from(tf) * f64::from(source.terms.idf[id as usize]))
                    };
                    let Some(place) = competitors.place(document, column.column) else { continue };
                    if terms.is_empty() {
                        continue;
                    }
                    let c = group.values[document * group.columns.len() + at % COLUMNS_TOGETHER];
                    if adds {
                        terms.iter().map(x).for_each(|(term, x)| w[term] += f64::from(c) * x);
                        w[n_terms] += f64::from(c);
                        continue;
                    }
                    let z = f64::from(odds[place] * column.tau as f32)
                        + w[n_terms]
                        + terms.iter().map(x).map(|(term, x)| w[term] * x).sum::<f64>();
                    let class = problem.documents.label(document).class;
                    let is_own = problem.columns.is_positive(class, usize::from(column.column));
                    margins.push(if is_own { z } else { -z });
                }
            }
        }
        let c = partitions[0].ascent.c;
        sum += w.iter().map(|w| w * w).sum::<f64>() / 2.0;
        sum += margins.into_iter().map(|margin| c * softplus(-margin)).sum::<f64>();
    }
    sum
}

/// The two are equal bit for bit.
#[test]
fn a_single_partition_is_the_fit_of_one_machine() {
    for (n_classes, n) in [(2, 600), (3, 500), (40, 900)] {
        let set = Set::new(n_classes, n);
        let dealt = set.deal(1);
        let (counts, columns, options) = (&set.counts, set.columns.clone(), &set.options);
        let smoothing = SmoothingChoice::new(counts, &dealt[0], &columns, options);
        let expected =
            FitProblem { counts, documents: &dealt[0], columns, beside: Default::default(), options }
                .solve(smoothing)
                .unwrap();
        let mut partitions = set.partitions(&dealt, &expected.choices);
        let mut correction = fit(&mut partitions, 1);
        let mut coefficients = partitions[0].coefficients.clone();
        if n_classes == 2 {
            let column = TAUS.iter().position(|tau| *tau == expected.choices.tau).unwrap() as ClassId;
            (correction, coefficients) = (correction.column(column).unwrap(), coefficients.column(column));
        }
        assert!(
            correction == expected.correction && correction != Correction::default(),
            "{n_classes} classes"
        );
        assert!(coefficients == expected.coefficients, "{n_classes} classes");
    }
}

#[test]
fn partitions_converge_to_the_optimum_of_all_documents() {
    for (n_classes, n) in [(2, 640), (3, 640)] {
        let mut set = Set::new(n_classes, n);
        // so few documents converge slowly without more regularisation
        set.options.regularisation = 0.25;
        let optimum = |n_partitions: usize, rounds: usize| {
            let dealt = set.deal(n_partitions);
            let mut partitions = set.partitions(&dealt, &set.choices());
            partitions.iter_mut().for_each(|partition| partition.ascent.tolerance = 1e-5);
            fit(&mut partitions, rounds);
            objective(&partitions)
        };
        let expected = optimum(1, 100);
        for n_partitions in [8, 32] {
            let name = format!("{n_classes} classes, {n_partitions} partitions");
            check_near(&name, &[optimum(n_partitions, 150) / expected], &[1.0], 1e-5);
            // with the rounds of a real fit
            let few = optimum(n_partitions, ROUNDS) / expected;
            assert!(few < 1.002, "{name}: {few}");
        }
    }
}

/// Even if each partition has documents of one class only, or none.
#[test]
fn the_order_of_partitions_leaves_no_trace() {
    for n_classes in [2, 3, 12] {
        let set = Set::new(n_classes, 300);
        let mut dealt = vec![Vec::new(); n_classes + 1];
        for document in set.deal(1).concat() {
            dealt[usize::from(document.class)].push(document);
        }
        let n_partitions = dealt.len();
        let mut partitions = set.partitions(&dealt, &set.choices());
        let fitted = fit(&mut partitions, 3);

        let mut again = set.partitions(&dealt, &set.choices());
        let mut correction = Correction::default();
        for _ in 0..3 {
            let changes: Vec<_> = again.iter_mut().map(|p| p.round(&correction).unwrap()).collect();
            changes.iter().rev().for_each(|change| correction.merge(&change.correction).unwrap());
            assert_eq!(changes[n_partitions - 1], RoundChange::default());
        }
        assert!(correction == fitted && correction != Correction::default());

        // and it is the sum of all coefficients
        let mut sum = Correction::default();
        for (partition, documents) in partitions.iter().zip(&dealt) {
            for (at, document) in documents.iter().enumerate() {
                let own: Vec<_> = partition.coefficients.of_document(at).collect();
                sum.add(document.row, &own).unwrap();
            }
        }
        assert!(sum == correction);
    }
}
