//! A model's scoring, ready to run over its counts.

use tamis_model::{
    ClassId, ClassTotals, Counts, DocumentSums, ExpectedNaiveBayes, NaiveBayes, Readings, RobinsonScorer,
    TermEntry, Transform, WeightedLogOdds, WeightedVector,
};
use tamis_tokenizer::{CountRow, CountVector, TermId};

use crate::config::roles::positive_class;
use crate::config::scoring::Scoring;
use crate::error::{Error, Result};
use crate::extract::counted::Counted;
use crate::file::header::Header;
use crate::score::memo::Additive;
use crate::score::mixed::MixedScorer;
use crate::store::layers::{DecodedTerm, Layers};
use crate::store::store::Store;

/// The scoring derived from a header: a few numbers, whatever the size of the model.
pub(crate) enum Scorer {
    Weighted(WeightedScorer),
    NaiveBayes(NaiveBayes),
    Expected(ExpectedScorer),
    Mixed(Box<MixedScorer>),
    Robinson(RobinsonScorer),
}

impl Scorer {
    /// `totals`, `n_features` and `bias` include changes since the header was written, and those of a shared model.
    pub(crate) fn new(
        header: &Header,
        totals: &[ClassTotals],
        n_features: u64,
        bias: &[i64],
    ) -> Result<Self> {
        let n_classes = header.classes.len();
        header.check()?;
        match &header.scoring {
            Scoring::Weighted(options) => {
                options.check()?;
                let choices = header.choices();
                let choices = choices.ok_or_else(|| Error::inconsistent("header", "choices", "none"))?;
                let positive = positive_class(&header.classes);
                let log_odds = WeightedLogOdds::new(choices, bias, totals, n_features, positive)?;
                Ok(Scorer::Weighted(WeightedScorer { log_odds, positive }))
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
            Scoring::ExpectationMaximization(settings) => {
                Ok(Scorer::Expected(ExpectedScorer::new(header, settings.transform)?))
            }
            Scoring::Mixed(settings) => {
                let table = header.table.as_ref();
                let table = table.ok_or_else(|| Error::inconsistent("header", "a table", "none"))?;
                let scorer = MixedScorer::new(settings, &header.recipe, table, &header.totals)?;
                Ok(Scorer::Mixed(Box::new(scorer)))
            }
            Scoring::RobinsonFisher(parameters) => {
                Ok(Scorer::Robinson(parameters.scorer(totals, positive_class(&header.classes))?))
            }
        }
    }
}

/// Naive Bayes fitted by expectation maximization to documents with and without labels.
pub(crate) struct ExpectedScorer {
    pub(crate) model: ExpectedNaiveBayes,
    transform: Transform,
    /// The number of documents, labelled and unlabelled.
    documents: u64,
}

impl ExpectedScorer {
    fn new(header: &Header, transform: Transform) -> Result<Self> {
        let model = header.em_model.clone();
        let model = model.ok_or_else(|| Error::inconsistent("header", "an expected model", "none"))?;
        if model.n_classes() != header.classes.len() || !model.is_consistent() {
            return Err(Error::inconsistent("header", header.classes.len(), model.n_classes()));
        }
        let documents = header.totals.iter().fold(0u64, |sum, t| sum.saturating_add(t.documents));
        Ok(ExpectedScorer { model, transform, documents })
    }

    /// Writes the joint log-likelihoods of a document to `out`, given the sums over its terms; returns the number of
    /// known terms.
    pub(crate) fn scores(&self, sums: &DocumentSums, out: &mut Vec<f64>) -> usize {
        self.model.joint_log_likelihood_of(&self.transform, sums, out)
    }

    /// The log-odds of a class against another before any term.
    pub(crate) fn intercept(&self, [of, against]: [ClassId; 2]) -> f64 {
        let intercept =
            |class: ClassId| self.model.intercept().get(usize::from(class)).copied().unwrap_or(0.0);
        intercept(of) - intercept(against)
    }

    /// The contribution of every known term of a row to the log-odds of a class against another.
    pub(crate) fn contributions(
        &self,
        store: &Store,
        row: CountRow<'_>,
        classes: [ClassId; 2],
    ) -> Result<Vec<(TermId, f64)>> {
        let mut weights = WeightedVector::default();
        self.weigh_row(store, row, &mut weights)?;
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

    /// Writes the contribution of a term of `weight` to the joint log-likelihood of each class to `out`; returns
    /// whether the term is known.
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

    pub(crate) fn weigh_row(
        &self,
        store: &Store,
        row: CountRow<'_>,
        weights: &mut WeightedVector,
    ) -> Result<()> {
        self.transform.apply(row, self.documents, |term| store.document_frequency(term), weights)
    }
}

/// Weighted log-odds with correction.
pub(crate) struct WeightedScorer {
    pub(crate) log_odds: WeightedLogOdds,
    /// With two classes, the class that log-odds refer to.
    pub(crate) positive: ClassId,
}

impl WeightedScorer {
    /// Whether there are two classes, so that the score is a single number.
    pub(crate) fn is_of_two(&self) -> bool {
        self.log_odds.columns().is_one()
    }

    /// Reads counts and correction for a row.
    pub(crate) fn read(&self, layers: Layers<'_>, row: CountRow<'_>, out: &mut Readings) -> Result<()> {
        self.log_odds.read(&mut DecodedTerm::new(layers), row, out)
    }

    /// Writes log-odds to `out`, see [`WeightedLogOdds::log_odds`]; returns the number of known terms.
    pub(crate) fn scores(&self, layers: Layers<'_>, row: CountRow<'_>, out: &mut Vec<f64>) -> Result<usize> {
        let mut readings = Readings::default();
        self.read(layers, row, &mut readings)?;
        self.log_odds.log_odds(&readings, out);
        Ok(readings.known_terms)
    }

    /// With two classes, the highest log-odds among the whole document and its windows, and the row that has them;
    /// `None` if no term is known.
    pub(crate) fn best<'a>(
        &self,
        layers: Layers<'_>,
        counted: &'a Counted,
    ) -> Result<Option<(f64, CountRow<'a>)>> {
        let mut best: Option<(f64, CountRow<'a>)> = None;
        let mut z = Vec::new();
        for row in std::iter::once(counted.whole()).chain(counted.windows()) {
            if self.scores(layers, row, &mut z)? > 0
                && let Some(&z) = z.first()
                && best.is_none_or(|(highest, _)| z > highest)
            {
                best = Some((z, row));
            }
        }
        Ok(best)
    }

    /// The log-odds of a document, given the highest log-odds of its windows.
    pub(crate) fn of_windows(&self, highest: f64) -> f64 {
        let [slope, offset] = self.log_odds.choices().line;
        slope * highest + offset
    }

    /// The log-odds of a class against another before any term, and the contribution of every known term of a row.
    pub(crate) fn contributions(
        &self,
        layers: Layers<'_>,
        row: CountRow<'_>,
        classes: [ClassId; 2],
    ) -> Result<(f64, Vec<(TermId, f64)>)> {
        let mut contributions = Vec::new();
        let mut term = DecodedTerm::new(layers);
        let intercept = self.log_odds.contributions(&mut term, row, classes, &mut contributions)?;
        Ok((intercept, contributions))
    }

    /// The contribution of a term to the log-odds of a class, in a document of this term alone: against the other class
    /// or, with more classes, by itself; `None` for an unknown term.
    pub(crate) fn term_weight(&self, layers: Layers<'_>, id: TermId, class: ClassId) -> Result<Option<f64>> {
        let lone = CountVector::from_pairs([(id, 1)]).unwrap_or_default();
        // with more than two classes every class has a column
        let against = if self.is_of_two() { 1 - class.min(1) } else { ClassId::MAX };
        let (_, contributions) = self.contributions(layers, lone.row(), [class, against])?;
        Ok(contributions.first().map(|(_, weight)| *weight))
    }
}

impl Additive for WeightedScorer {
    fn n_sums(&self) -> usize {
        self.log_odds.n_sums()
    }

    #[inline]
    fn amount(&self, count: u32) -> f64 {
        self.log_odds.amount(count)
    }

    fn weigh(&self, term: &DecodedTerm<'_>, entry: &mut TermEntry) -> Result<()> {
        self.log_odds.weigh_term(term.known(), entry);
        Ok(())
    }
}

impl Additive for NaiveBayes {
    fn n_sums(&self) -> usize {
        self.n_sums()
    }

    #[inline]
    fn amount(&self, count: u32) -> f64 {
        self.amount(count)
    }

    fn weigh(&self, term: &DecodedTerm<'_>, entry: &mut TermEntry) -> Result<()> {
        self.weigh_term(term.totals(), term.id(), term.known().cells, entry);
        Ok(())
    }
}

impl Additive for ExpectedScorer {
    fn n_sums(&self) -> usize {
        self.model.n_sums()
    }

    #[inline]
    fn amount(&self, count: u32) -> f64 {
        self.model.amount(&self.transform, count)
    }

    fn weigh(&self, term: &DecodedTerm<'_>, entry: &mut TermEntry) -> Result<()> {
        self.model.weigh_term(&self.transform, self.documents, term.known(), entry);
        Ok(())
    }
}

impl Additive for RobinsonScorer {
    fn n_sums(&self) -> usize {
        self.n_sums()
    }

    #[inline]
    fn amount(&self, count: u32) -> f64 {
        self.amount(count)
    }

    fn weigh(&self, term: &DecodedTerm<'_>, entry: &mut TermEntry) -> Result<()> {
        self.weigh_term(term.known(), entry);
        Ok(())
    }
}
