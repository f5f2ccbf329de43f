//! A model's scoring, ready to run over its counts.

use tamis_model::{
    COEFFICIENT_ONE, ClassId, ClassTotals, Classes, CorrectionOptions, Counts, ExpectedNaiveBayes,
    NaiveBayes, OneAgainstRest, Temperature, TermWeight, Transform, WeightedLogOdds, WeightedVector,
    corrected,
};
use tamis_tokenizer::{CountRow, CountVector, TermId};

use crate::error::{Error, Result};
use crate::extractor::Counted;
use crate::format::Header;
use crate::mixed::MixedScorer;
use crate::scoring::Scoring;
use crate::store::{Layers, Store, TermByTerm};

/// What spam is called, in any case.
const SPAM_LABELS: [&str; 4] = ["spam", "junk", "unwanted", "phish"];

/// The class that counts as spam by its label: the first of `spam`, `junk`, `unwanted` and `phish` that is one, in any
/// case. A model of two classes that has one is a spam filter.
pub fn spam_class(classes: &Classes) -> Option<ClassId> {
    let find = |name: &&str| classes.iter().find(|(_, label)| label.eq_ignore_ascii_case(name));
    SPAM_LABELS.iter().find_map(find).map(|(class, _)| class)
}

/// Of two classes the one that raw scores, log-odds of a [`Decision`](crate::Decision) and its options are about: `spam`,
/// else the last. Model files keep it, so it does not follow [`spam_class`].
pub fn positive_class(classes: &Classes) -> ClassId {
    let spam = classes.index(SPAM_LABELS[0]).filter(|_| classes.len() == 2);
    spam.unwrap_or(classes.len().saturating_sub(1) as ClassId)
}

/// Scoring derived from a header: a few numbers, whatever the size of the model.
pub(crate) enum Scorer {
    Weighted(WeightedScorer),
    NaiveBayes(NaiveBayes),
    OneAgainstRest(TopicScorer),
    Expected(ExpectedScorer),
    Mixed(Box<MixedScorer>),
}

impl Scorer {
    /// `totals` and `n_features` are the header's, with what was learned since it was written, and what a model behind it
    /// adds.
    pub(crate) fn new(header: &Header, totals: &[ClassTotals], n_features: u64) -> Result<Self> {
        let n_classes = header.classes.len();
        header.check()?;
        match &header.scoring {
            Scoring::Weighted(weighted) => {
                let positive = positive_class(&header.classes);
                weighted.correction.as_ref().map_or(Ok(()), CorrectionOptions::check)?;
                let log_odds = WeightedLogOdds::new(weighted.alpha, totals, n_features, positive)?;
                Ok(Scorer::Weighted(WeightedScorer { log_odds, correction: weighted.correction, positive }))
            }
            Scoring::NaiveBayes(parameters) => {
                let summary = header.summary.as_ref();
                let summary = summary.ok_or_else(|| Error::inconsistent("header", "a summary", "none"))?;
                let bayes = NaiveBayes::new(parameters, summary)?;
                if bayes.n_classes() != n_classes {
                    return Err(Error::inconsistent("header", n_classes, bayes.n_classes()));
                }
                Ok(Scorer::NaiveBayes(bayes))
            }
            Scoring::OneAgainstRest(weighted) => {
                weighted.correction.as_ref().map_or(Ok(()), CorrectionOptions::check)?;
                let scorer = OneAgainstRest::new(weighted.alpha, totals, n_features)?;
                let mix = weighted.correction.map(|options| options.mix);
                Ok(Scorer::OneAgainstRest(TopicScorer { scorer, mix, temperature: header.temperature }))
            }
            Scoring::ExpectationMaximization(settings) => {
                Ok(Scorer::Expected(ExpectedScorer::new(header, settings.transform)?))
            }
            Scoring::Mixed(settings) => {
                let table = header.table.as_ref();
                let table = table.ok_or_else(|| Error::inconsistent("header", "a table", "none"))?;
                let scorer = MixedScorer::new(settings, &header.recipe, table, &header.totals)?;
                Ok(Scorer::Mixed(Box::new(scorer)))
            }
        }
    }
}

/// Naive Bayes from documents with and without labels.
pub(crate) struct ExpectedScorer {
    model: ExpectedNaiveBayes,
    transform: Transform,
    /// Documents with and without labels.
    documents: u64,
}

impl ExpectedScorer {
    fn new(header: &Header, transform: Transform) -> Result<Self> {
        let model = header.expected_model.clone();
        let model = model.ok_or_else(|| Error::inconsistent("header", "an expected model", "none"))?;
        if model.n_classes() != header.classes.len() || !model.is_consistent() {
            return Err(Error::inconsistent("header", header.classes.len(), model.n_classes()));
        }
        let documents = header.totals.iter().fold(0u64, |sum, t| sum.saturating_add(t.documents));
        Ok(ExpectedScorer { model, transform, documents })
    }

    /// Writes the joint log-likelihoods to `out`, and what the terms weigh to `weights`; returns how many are known.
    pub(crate) fn scores(
        &self,
        store: &Store,
        row: CountRow<'_>,
        weights: &mut WeightedVector,
        out: &mut Vec<f64>,
    ) -> Result<usize> {
        self.weigh(store, row, weights)?;
        self.model.joint_log_likelihood(store, weights.row(), out)
    }

    /// What is said before any term, of a class against another.
    pub(crate) fn intercept(&self, [of, against]: [ClassId; 2]) -> f64 {
        let intercept =
            |class: ClassId| self.model.intercept().get(usize::from(class)).copied().unwrap_or(0.0);
        intercept(of) - intercept(against)
    }

    /// What every known term of a row adds to the log-odds of a class against another.
    pub(crate) fn contributions(
        &self,
        store: &Store,
        row: CountRow<'_>,
        classes: [ClassId; 2],
    ) -> Result<Vec<(TermId, f64)>> {
        let mut weights = WeightedVector::default();
        self.weigh(store, row, &mut weights)?;
        let mut contributions = Vec::new();
        let mut joint = Vec::new();
        for (id, weight) in weights.row().iter() {
            if self.term_weights(store, id, weight, &mut joint)? {
                let [of, against] = classes.map(|class| joint[usize::from(class)]);
                contributions.push((id, of - against));
            }
        }
        Ok(contributions)
    }

    /// What a term of this weight adds to the joint log-likelihood of each class, in `out`; nothing if it is unknown.
    pub(crate) fn term_weights(
        &self,
        store: &Store,
        id: TermId,
        weight: f64,
        out: &mut Vec<f64>,
    ) -> Result<bool> {
        let lone = WeightedVector::from_pairs([(id, weight)]).unwrap_or_default();
        let known = self.model.joint_log_likelihood(store, lone.row(), out)? > 0;
        out.iter_mut().zip(self.model.intercept()).for_each(|(joint, intercept)| *joint -= intercept);
        Ok(known)
    }

    fn weigh(&self, store: &Store, row: CountRow<'_>, weights: &mut WeightedVector) -> Result<()> {
        self.transform.apply(row, self.documents, |term| store.document_frequency(term), weights)
    }
}

/// What weighted scoring needs of a term; the default of one that is not known.
#[derive(Clone, Copy, Default)]
pub(crate) struct CorrectedTerm {
    weight: TermWeight,
    /// Fixed point.
    correction: i32,
    is_known: bool,
}

/// Weighted log-odds of two classes, corrected.
pub(crate) struct WeightedScorer {
    log_odds: WeightedLogOdds,
    correction: Option<CorrectionOptions>,
    pub(crate) positive: ClassId,
}

impl WeightedScorer {
    /// The part of a document with the highest score, and that score; `None` if no term is known.
    pub(crate) fn best<'a>(
        &self,
        layers: Layers<'_>,
        counted: &'a Counted,
    ) -> Result<Option<(f64, CountRow<'a>)>> {
        let mut best: Option<(f64, CountRow<'a>)> = None;
        for row in std::iter::once(counted.whole()).chain(counted.windows()) {
            if let Some(score) = self.score(layers, row)?
                && best.is_none_or(|(highest, _)| score > highest)
            {
                best = Some((score, row));
            }
        }
        Ok(best)
    }

    /// What a document's score needs of a term.
    pub(crate) fn term(&self, terms: &TermByTerm<'_>, id: TermId) -> Result<Option<CorrectedTerm>> {
        let Some(weight) = self.log_odds.term(terms, id)? else { return Ok(None) };
        let correction = self.correction.map_or(Ok(0), |_| terms.correction(id))?;
        Ok(Some(CorrectedTerm { weight, correction, is_known: true }))
    }

    /// The score of a document of so many terms, with all that are known given; and how many these are.
    pub(crate) fn score_of(
        &self,
        terms: impl Iterator<Item = (CorrectedTerm, u32)>,
        n_terms: usize,
    ) -> (Option<f64>, usize) {
        let (mut correction, mut known) = (0i64, 0);
        let log_odds = self.log_odds.log_odds_of(terms.map(|(term, count)| {
            correction += i64::from(term.correction);
            known += usize::from(term.is_known);
            (term.weight, count)
        }));
        let score = log_odds.filter(|_| known > 0).map(|log_odds| match &self.correction {
            Some(options) => corrected(options, log_odds, correction as f64 * Self::unit(n_terms)),
            None => log_odds,
        });
        (score, known)
    }

    /// The score of a whole document; `None` if no term is known.
    pub(crate) fn score(&self, layers: Layers<'_>, row: CountRow<'_>) -> Result<Option<f64>> {
        let Some(log_odds) = self.log_odds.log_odds(&layers, row)? else { return Ok(None) };
        let Some(options) = &self.correction else { return Ok(Some(log_odds)) };
        let (terms, mut sum) = (TermByTerm::new(layers), 0i64);
        for id in row.ids() {
            sum += i64::from(terms.correction(*id)?);
        }
        Ok(Some(corrected(options, log_odds, sum as f64 * Self::unit(row.len()))))
    }

    /// What one unit of correction at a term adds to the score of a document of so many terms.
    fn unit(n_terms: usize) -> f64 {
        1.0 / (COEFFICIENT_ONE as f64 * (n_terms.max(1) as f64).sqrt())
    }

    /// What every known term of a row adds to its score.
    pub(crate) fn contributions(&self, layers: Layers<'_>, row: CountRow<'_>) -> Result<Vec<(TermId, f64)>> {
        let mut contributions = Vec::new();
        self.log_odds.contributions(&layers, row, &mut contributions)?;
        if let Some(options) = &self.correction {
            let terms = TermByTerm::new(layers);
            for (id, contribution) in &mut contributions {
                *contribution =
                    options.mix * *contribution + f64::from(terms.correction(*id)?) * Self::unit(row.len());
            }
        }
        Ok(contributions)
    }
}

impl WeightedScorer {
    /// What a term says that is all a document holds; `None` for an unknown one.
    pub(crate) fn term_weight(&self, layers: Layers<'_>, id: TermId) -> Result<Option<f64>> {
        let lone = CountVector::from_pairs([(id, 1)]).unwrap_or_default();
        Ok(self.contributions(layers, lone.row())?.first().map(|(_, weight)| *weight))
    }
}

/// Log-odds of each class against the rest, corrected and calibrated.
pub(crate) struct TopicScorer {
    pub(crate) scorer: OneAgainstRest,
    /// The share of the uncorrected score, where there is a correction.
    mix: Option<f64>,
    temperature: Temperature,
}

impl TopicScorer {
    /// Writes the logarithms of the classes' probabilities, up to a constant, to `out`; returns how many terms are
    /// known.
    pub(crate) fn scores(&self, layers: Layers<'_>, row: CountRow<'_>, out: &mut Vec<f64>) -> Result<usize> {
        let known = self.raw_scores(layers, row, out)?;
        self.temperature.apply(out, known);
        Ok(known)
    }

    fn raw_scores(&self, layers: Layers<'_>, row: CountRow<'_>, out: &mut Vec<f64>) -> Result<usize> {
        let terms = TermByTerm::new(layers);
        match self.mix {
            Some(mix) => self.scorer.corrected_scores(&terms, &terms, mix, row, out),
            None => self.scorer.scores(&terms, row, out),
        }
    }

    /// What every known term of a row adds to the score of a class against another.
    pub(crate) fn contributions(
        &self,
        layers: Layers<'_>,
        row: CountRow<'_>,
        classes: [ClassId; 2],
    ) -> Result<Vec<(TermId, f64)>> {
        let mut contributions = Vec::new();
        let terms = TermByTerm::new(layers);
        let correction = self.mix.map(|mix| (&terms, mix));
        self.scorer.contributions(&terms, correction, row, classes, &mut contributions)?;
        let factor = self.temperature.factor(contributions.len());
        contributions.iter_mut().for_each(|(_, contribution)| *contribution *= factor);
        Ok(contributions)
    }

    /// What a term says of each class that is all a document holds, before calibration, in `out`; nothing if it is
    /// unknown.
    pub(crate) fn term_weights(&self, layers: Layers<'_>, id: TermId, out: &mut Vec<f64>) -> Result<bool> {
        let lone = CountVector::from_pairs([(id, 1)]).unwrap_or_default();
        Ok(self.raw_scores(layers, lone.row(), out)? > 0)
    }
}

/// How many terms of a row the model knows.
pub(crate) fn known_terms(store: &Store, row: CountRow<'_>) -> usize {
    row.ids().partition_point(|id| (*id as usize) < store.n_terms())
}
