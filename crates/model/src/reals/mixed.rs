//! Mixed naive Bayes: features of different kinds in one model.

use std::mem;

use serde::{Deserialize, Serialize};
use tamis_tokenizer::{CountRow, TermId};

use crate::bayes::{ClassPrior, NaiveBayes, ParametersError};
use crate::counts::{Cell, ClassTotals, Counts, DocumentSums, TermEntry, read_cells};
use crate::reals::gaussian::GaussianFeature;

/// The likelihood of one feature of a mixed model.
///
/// Parts over terms read the same counts, each part its own group of terms: those given to
/// [`Parameters::summarize_terms`](crate::Parameters::summarize_terms). The prior of their [`NaiveBayes`] is ignored.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnLikelihood {
    /// A real value.
    Gaussian(GaussianFeature),
    /// One of several outcomes, such as a category or a flag: a multinomial whose documents have one term. An empty
    /// row, or a term without counts, is an outcome never seen, `alpha / (n_c + alpha V)`. Pass `None` if such an
    /// outcome cannot occur.
    Category(NaiveBayes),
    /// A bag of words, multinomial or Bernoulli. Terms without counts are skipped.
    Terms(NaiveBayes),
}

/// How far the features of each kind are trusted: the power of their likelihood in the product.
///
/// Naive Bayes takes features as independent, which they seldom are, so that its probabilities are too extreme. Powers
/// below 1 make up for that; [`MixedFit`](crate::MixedFit) finds those that predict held-out rows best. By default all
/// are 1, as in the textbook.
///
/// Source: Guo et al., "On Calibration of Modern Neural Networks" (2017): a temperature, here one for each kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trust {
    /// Of real values.
    pub reals: f64,
    /// Of categories, and of yes and no.
    pub categories: f64,
    /// Of texts.
    pub texts: f64,
}

impl Default for Trust {
    fn default() -> Self {
        Trust { reals: 1.0, categories: 1.0, texts: 1.0 }
    }
}

impl From<[f64; 3]> for Trust {
    fn from([reals, categories, texts]: [f64; 3]) -> Self {
        Trust { reals, categories, texts }
    }
}

impl Trust {
    /// The trust in a feature.
    pub fn power(&self, part: &ColumnLikelihood) -> f64 {
        match part {
            ColumnLikelihood::Gaussian(_) => self.reals,
            ColumnLikelihood::Category(_) => self.categories,
            ColumnLikelihood::Terms(_) => self.texts,
        }
    }
}

/// How a mixed model departs from the textbook, as [`MixedFit`](crate::MixedFit) chose it. The default is the textbook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MixedChoices {
    /// How far variances are moved towards their mean over classes, see
    /// [`GaussianParameters`](crate::GaussianParameters); 0 to 1.
    pub shrinkage: f64,
    /// The powers of the likelihoods.
    pub trust: Trust,
    /// The mean log loss of held-out rows by the textbook and with these choices, in nats; `None` if no row was held
    /// out.
    pub losses: Option<[f64; 2]>,
}

/// Naive Bayes over features of different kinds: `p(c)` times the likelihood of each feature, be it a real value, a
/// category or a text.
///
/// The joint log-likelihood of a document and a class is `log p(c) + sum over parts of log p(part | c)` in nats, each
/// part times the [`Trust`] in its kind; the sum leaves out missing parts (`None`). Densities and probabilities may be multiplied, because a feature has the same
/// unit in all classes, which cancels in the posterior.
///
/// Assembled with [`new`](Self::new) from parts that read the same counts, such as those of a memory-mapped file.
/// `MixedStatistics` of `tamis-textbook` learn and fit a model in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct MixedNaiveBayes {
    class_log_prior: Vec<f64>,
    parts: Vec<ColumnLikelihood>,
    trust: Trust,
}

impl MixedNaiveBayes {
    /// Assembles a model. The prior takes the documents of each class from `totals`.
    ///
    /// # Errors
    /// No classes; a prior that does not fit them; a part with a different number of classes, or of a complement
    /// likelihood, whose scores are not probabilities.
    pub fn new(
        prior: &ClassPrior,
        totals: &[ClassTotals],
        parts: Vec<ColumnLikelihood>,
    ) -> Result<MixedNaiveBayes, ParametersError> {
        let class_log_prior = prior.log_prior(totals)?;
        for part in &parts {
            if let ColumnLikelihood::Category(model) | ColumnLikelihood::Terms(model) = part {
                model.likelihood().check_generative()?;
            }
        }
        let n_classes = |part: &ColumnLikelihood| match part {
            ColumnLikelihood::Gaussian(feature) => feature.n_classes(),
            ColumnLikelihood::Category(model) | ColumnLikelihood::Terms(model) => Some(model.n_classes()),
        };
        match parts.iter().filter_map(n_classes).find(|&n| n != totals.len()) {
            Some(n) => {
                let (expected, got) = ("parts of as many classes as the model", n as u64);
                Err(ParametersError::Summary { expected, got })
            }
            None => Ok(MixedNaiveBayes { class_log_prior, parts, trust: Trust::default() }),
        }
    }

    /// Raises the likelihoods of the features to the powers of `trust`.
    #[must_use]
    pub fn with_trust(self, trust: Trust) -> Self {
        MixedNaiveBayes { trust, ..self }
    }

    /// The powers of the likelihoods.
    pub fn trust(&self) -> &Trust {
        &self.trust
    }

    /// The logarithm of each class's prior probability.
    pub fn class_log_prior(&self) -> &[f64] {
        &self.class_log_prior
    }

    /// The parts, in the order they were given.
    pub fn parts(&self) -> &[ColumnLikelihood] {
        &self.parts
    }

    /// Writes the joint log-likelihood (nats) of a document and each class to `out`; returns the number of parts used.
    /// `reals` are the values of the Gaussian parts and `rows` those of the parts over terms, each in the order of the
    /// parts; a value that is `None` or absent is missing. A row may only have terms of its part's group.
    ///
    /// # Errors
    /// Reading the counts fails; `out` is then unspecified.
    pub fn joint_log_likelihood<C: Counts>(
        &self,
        counts: &C,
        reals: &[Option<f64>],
        rows: &[Option<CountRow<'_>>],
        out: &mut Vec<f64>,
    ) -> Result<usize, C::Error> {
        let (mut cells, mut entry, mut sums) = (Vec::new(), TermEntry::default(), DocumentSums::default());
        sums.begin(self.n_sums());
        let of_terms = |part: &usize| !matches!(self.parts[*part], ColumnLikelihood::Gaussian(_));
        for (part, row) in (0..self.parts.len()).filter(of_terms).zip(rows) {
            let Some(row) = row else { continue };
            for (term, count) in row.iter() {
                read_cells(counts, term, &mut cells)?;
                self.weigh_term(part, counts.totals(), term, &cells, &mut entry);
                sums.add(&entry, self.amount(part, count));
            }
            if row.is_empty() {
                // an empty row is not a missing one
                sums.columns[self.n_terms_of(part)] += 1.0;
            }
        }
        Ok(self.joint_log_likelihood_of(reals, &sums, out))
    }

    /// The number of [`DocumentSums`] that the model needs: one per class (two if a part has no smoothing), and two per
    /// part.
    pub fn n_sums(&self) -> usize {
        self.first_of_parts() + 2 * self.parts.len()
    }

    /// Index of the first sum of the parts. Each part has two sums of amounts: over its terms that are features, and
    /// over all its terms.
    fn first_of_parts(&self) -> usize {
        let n_sums = |part: &ColumnLikelihood| match part {
            ColumnLikelihood::Gaussian(_) => 0,
            ColumnLikelihood::Category(model) | ColumnLikelihood::Terms(model) => model.n_sums(),
        };
        self.parts.iter().map(n_sums).max().unwrap_or(0).max(self.class_log_prior.len())
    }

    /// Index of the sum over all terms of a part. The sum over its features comes before it.
    fn n_terms_of(&self, part: usize) -> usize {
        self.first_of_parts() + 2 * part + 1
    }

    /// The factor of a term of part `part` that occurs `count` times; 0 if the part is Gaussian or unknown.
    pub fn amount(&self, part: usize, count: u32) -> f64 {
        match self.parts.get(part) {
            Some(ColumnLikelihood::Category(model) | ColumnLikelihood::Terms(model)) => model.amount(count),
            Some(ColumnLikelihood::Gaussian(_)) | None => 0.0,
        }
    }

    /// Writes the weights of a term of part `part`, with these `cells`, to `out`; none if the part is Gaussian or
    /// unknown. `totals` must belong to the same counts.
    pub fn weigh_term(
        &self,
        part: usize,
        totals: &[ClassTotals],
        term: TermId,
        cells: &[Cell],
        out: &mut TermEntry,
    ) {
        out.clear();
        if let Some(part_of) = self.parts.get(part)
            && let ColumnLikelihood::Category(model) | ColumnLikelihood::Terms(model) = part_of
        {
            model.weigh_term(totals, term, cells, out);
            let (trust, n) = (self.trust.power(part_of), self.class_log_prior.len());
            // factors of zero, which follow those of the classes, are counted as they are
            out.cells.iter_mut().filter(|(at, _)| *at < n).for_each(|(_, weight)| *weight *= trust);
            // a term without counts is a term of the part, too
            let known = mem::replace(&mut out.weight, 1.0);
            let n_terms = self.n_terms_of(part);
            out.cells.extend([(n_terms - 1, known), (n_terms, 1.0)]);
        }
    }

    /// As [`joint_log_likelihood`](Self::joint_log_likelihood), from the sums over the terms of the document's parts. A
    /// part without terms is missing.
    pub fn joint_log_likelihood_of(
        &self,
        reals: &[Option<f64>],
        sums: &DocumentSums,
        out: &mut Vec<f64>,
    ) -> usize {
        let (mut reals, mut known) = (reals.iter().copied(), 0);
        let (of_classes, of_parts) = sums.columns.split_at(self.first_of_parts().min(sums.columns.len()));
        out.clear();
        out.extend_from_slice(of_classes);
        out.iter_mut().zip(&self.class_log_prior).for_each(|(out, prior)| *out += prior);
        for (part, [amount, n_terms]) in self.parts.iter().zip(of_parts.as_chunks().0) {
            let trust = self.trust.power(part);
            let is_there = match part {
                ColumnLikelihood::Gaussian(feature) => {
                    let out = &mut out[..self.class_log_prior.len()];
                    feature.add_times(trust, reals.next().flatten(), out)
                }
                ColumnLikelihood::Category(model) if *n_terms > 0.0 => {
                    // a term without counts is an outcome never seen
                    model.add_without_cells(trust, if *amount > 0.0 { *amount } else { 1.0 }, out);
                    true
                }
                ColumnLikelihood::Terms(model) if *n_terms > 0.0 => {
                    model.add_without_cells(trust, *amount, out);
                    true
                }
                ColumnLikelihood::Category(_) | ColumnLikelihood::Terms(_) => false,
            };
            known += usize::from(is_there);
        }
        let n = self.class_log_prior.len();
        for at in 0..n {
            if out.get(at + n).is_some_and(|zeros| *zeros != 0.0) {
                out[at] = f64::NEG_INFINITY;
            }
        }
        out.truncate(n);
        known
    }
}
