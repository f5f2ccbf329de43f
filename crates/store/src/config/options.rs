//! Options as users give them, in the program as in Python: their rules, and the settings that they make.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use tamis_model::{
    ClassPrior, Classes, Counting, Likelihood, Parameters, Select, Smoothing, WeightedOptions,
};
use tamis_tokenizer::{Ngrams, PieceLengths};

use crate::config::column::{Column, ColumnKind};
use crate::config::decision::{Decision, DecisionOptions, check_share};
use crate::config::labels::positive_class;
use crate::config::recipe::{Keep, Recipe};
use crate::config::refinement::Refinement;
use crate::config::scoring::{ExpectationMaximization, Mixed, Scoring};
use crate::config::training::{Labels, TrainOptions};
use crate::error::{Error, Result};
use crate::kind::Kind;

/// Scoring options as a user gives them; `None` stands for the default.
///
/// ```
/// use tamis_train::options::{LikelihoodName, ScoringOptions};
/// use tamis_train::{Classes, Kind, Recipe, Scoring};
///
/// let (recipe, classes) = (Recipe::new(Kind::Text), Classes::new(["fruit", "metal"]).unwrap());
/// let options = ScoringOptions { min_df: Some(2), ..ScoringOptions::default() };
/// let error = options.scoring(&recipe, &classes, 100).unwrap_err().to_string();
/// assert!(error.starts_with("min_df: expected naive Bayes, got weighted scoring"));
///
/// let likelihood = Some("bernoulli".parse::<LikelihoodName>().unwrap());
/// let scoring = ScoringOptions { likelihood, ..options }.scoring(&recipe, &classes, 100)?;
/// assert!(matches!(scoring, Scoring::NaiveBayes(parameters) if parameters.features.min_df == 2));
/// # Ok::<(), tamis_train::Error>(())
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ScoringOptions {
    /// Weighted scoring, the default, or a likelihood of naive Bayes.
    pub likelihood: Option<LikelihoodName>,
    /// Smoothing added to every count.
    pub alpha: Option<f64>,
    /// Naive Bayes: the estimator of the probabilities.
    pub estimate: Option<Estimate>,
    /// Naive Bayes: the class prior.
    pub class_prior: Option<PriorOption>,
    /// Naive Bayes: whether every occurrence of a term counts, not only its presence.
    pub occurrences: bool,
    /// Naive Bayes: minimum document frequency.
    pub min_df: Option<u64>,
    /// Naive Bayes: maximum document frequency, as a share of the documents.
    pub max_df: Option<f64>,
    /// Naive Bayes: maximum number of terms.
    pub max_features: Option<usize>,
    /// Naive Bayes: keeps the terms that tell the labels apart best.
    pub select: Option<Select>,
    /// Weighted scoring: the exponent of idf.
    pub idf_power: Option<f64>,
    /// Weighted scoring and tables: whether logistic regression corrects the counts.
    pub correction: Option<bool>,
    /// Weighted scoring: C of the correction's logistic regression.
    pub regularisation: Option<f64>,
    /// Whether there are unlabelled documents. A likelihood of naive Bayes, `lambda` or `iterations` then asks for
    /// expectation maximization.
    pub unlabelled: bool,
    /// Expectation maximization: the weight of an unlabelled document.
    pub lambda: Option<f64>,
    /// Expectation maximization: maximum number of iterations.
    pub iterations: Option<usize>,
    /// The seed of all random choices.
    pub seed: Option<u64>,
}

/// The name of a scoring: `weighted`, or a likelihood of naive Bayes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LikelihoodName {
    /// [`Scoring::Weighted`].
    Weighted,
    /// [`Scoring::NaiveBayes`] with this likelihood.
    NaiveBayes(Likelihood),
}

impl FromStr for LikelihoodName {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        if name == "weighted" {
            return Ok(LikelihoodName::Weighted);
        }
        name.parse().map(LikelihoodName::NaiveBayes).map_err(|_| {
            let names = Likelihood::ALL.map(|likelihood| likelihood.to_string()).join(", ");
            format!("expected one of weighted, {names}, got {name:?}")
        })
    }
}

/// How naive Bayes estimates probabilities.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Estimate {
    /// The mean of the posterior; alpha is the parameter of the Dirichlet prior. The default.
    Mean,
    /// The mode of the posterior; alpha is at least 1.
    Map,
    /// Maximum likelihood, without alpha.
    Ml,
}

impl Estimate {
    /// The names, as they are parsed.
    pub const NAMES: [&str; 3] = ["mean", "map", "ml"];
}

impl FromStr for Estimate {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        let mut all = Estimate::NAMES.into_iter().zip([Estimate::Mean, Estimate::Map, Estimate::Ml]);
        let known = all.find(|(known, _)| *known == name).map(|(_, estimate)| estimate);
        known.ok_or_else(|| format!("expected mean, map or ml, got {name:?}"))
    }
}

/// A class prior, as given before the labels are known: `learned`, `smoothed`, `uniform` or `LABEL=P,LABEL=P`.
#[derive(Clone, PartialEq, Debug)]
pub enum PriorOption {
    /// A prior that needs no labels.
    Rule(ClassPrior),
    /// The share of each label.
    Shares(BTreeMap<String, f64>),
}

impl FromStr for PriorOption {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let rule = match text {
            "learned" => ClassPrior::Learned,
            "smoothed" => ClassPrior::Smoothed,
            "uniform" => ClassPrior::Uniform,
            _ => {
                let shares = text.split(',').map(label_and_share).collect::<Option<_>>();
                return shares.map(PriorOption::Shares).ok_or_else(|| {
                    format!("expected learned, smoothed, uniform or LABEL=P,LABEL=P, got {text:?}")
                });
            }
        };
        Ok(PriorOption::Rule(rule))
    }
}

fn label_and_share(text: &str) -> Option<(String, f64)> {
    let (label, share) = text.rsplit_once('=')?;
    Some((label.to_owned(), share.parse().ok()?))
}

impl PriorOption {
    fn for_classes(&self, classes: &Classes) -> Result<ClassPrior> {
        let shares = match self {
            PriorOption::Rule(prior) => return Ok(prior.clone()),
            PriorOption::Shares(shares) => shares,
        };
        if let Some(label) = shares.keys().find(|label| classes.index(label).is_none()) {
            let message = format_args!("expected labels of the documents ({classes}), got {label:?}");
            return refused("class_prior", message);
        }
        let share = |(_, label)| match shares.get(label) {
            Some(share) => Ok(*share),
            None => refused("class_prior", format!("expected a share for {label:?}")),
        };
        classes.iter().map(share).collect::<Result<_>>().map(ClassPrior::Given)
    }
}

impl ScoringOptions {
    /// The scoring that the options ask for, given the labels and the number of documents, labelled or not.
    ///
    /// # Errors
    /// An option is out of range, or does not suit the recipe, the labels or the other options.
    pub fn scoring(&self, recipe: &Recipe, classes: &Classes, n_documents: u64) -> Result<Scoring> {
        let prior = self.class_prior.as_ref().map(|prior| prior.for_classes(classes)).transpose()?;
        self.with_prior(recipe, prior, n_documents)
    }

    fn with_prior(&self, recipe: &Recipe, prior: Option<ClassPrior>, n_documents: u64) -> Result<Scoring> {
        match (Scoring::for_recipe(recipe), self.likelihood) {
            (Scoring::Mixed(mixed), _) => self.mixed(mixed, recipe, prior),
            // what applies to a column of any kind asks for one likelihood of all
            _ if recipe.has_other_columns() && self.asks_for_mixed() => {
                self.mixed(Mixed::default(), recipe, prior)
            }
            _ if self.asks_for_em() => self.expectation_maximization(prior, n_documents),
            (_, Some(LikelihoodName::NaiveBayes(likelihood))) => self.naive_bayes(likelihood, prior),
            _ => self.weighted(),
        }
    }

    fn is_bayes(&self) -> bool {
        matches!(self.likelihood, Some(LikelihoodName::NaiveBayes(_)))
    }

    fn asks_for_mixed(&self) -> bool {
        let ScoringOptions { alpha, estimate, class_prior, correction, .. } = self;
        alpha.is_some()
            || estimate.is_some()
            || class_prior.is_some()
            || correction.is_some()
            || self.is_bayes()
    }

    fn asks_for_em(&self) -> bool {
        self.unlabelled && (self.is_bayes() || self.lambda.is_some() || self.iterations.is_some())
    }

    /// Checks that options of naive Bayes are given only with naive Bayes. Needs no recipe, but does not apply to
    /// tables.
    ///
    /// # Errors
    /// An option of naive Bayes is given, and scoring is weighted.
    pub fn check(&self) -> Result<()> {
        if self.asks_for_em() || self.is_bayes() {
            return Ok(());
        }
        let others = ScoringOptions {
            likelihood: None,
            alpha: None,
            idf_power: None,
            correction: None,
            regularisation: None,
            ..self.clone()
        };
        others.expect_none(
            "expected naive Bayes, got weighted scoring, the default; choose a likelihood such as multinomial or \
             bernoulli to train naive Bayes, or leave this option out",
        )
    }

    /// Refuses the first of these options that is given. What suits the scoring is left out before.
    fn expect_none(&self, message: &str) -> Result<()> {
        let options = [
            ("likelihood", self.likelihood.is_some()),
            ("alpha", self.alpha.is_some()),
            ("estimate", self.estimate.is_some()),
            ("class_prior", self.class_prior.is_some()),
            ("occurrences", self.occurrences),
            ("min_df", self.min_df.is_some()),
            ("max_df", self.max_df.is_some()),
            ("max_features", self.max_features.is_some()),
            ("select", self.select.is_some()),
            ("idf_power", self.idf_power.is_some()),
            ("correction", self.correction.is_some()),
            ("regularisation", self.regularisation.is_some()),
            ("lambda", self.lambda.is_some()),
            ("iterations", self.iterations.is_some()),
        ];
        let given = options.iter().find(|(_, is_given)| *is_given);
        given.map_or(Ok(()), |(name, _)| refused(name, message))
    }

    /// The smoothing that `alpha` and `estimate` mean together.
    fn smoothing(&self) -> Result<Option<Smoothing>> {
        let Some(alpha) = self.alpha else {
            return Ok((self.estimate == Some(Estimate::Ml)).then(Smoothing::maximum_likelihood));
        };
        match self.estimate {
            None | Some(Estimate::Mean) => in_range("alpha", Smoothing::try_from(alpha).map(Some)),
            Some(Estimate::Map) => in_range("alpha", Smoothing::map(alpha).map(Some)),
            Some(Estimate::Ml) => {
                refused("alpha", "expected none with the estimate ml, which smooths nothing")
            }
        }
    }

    fn weighted(&self) -> Result<Scoring> {
        self.check()?;
        let mut options = WeightedOptions::default();
        options.idf_power = self.idf_power;
        in_range("idf_power", options.check())?;
        options.regularisation = self.regularisation.unwrap_or(options.regularisation);
        in_range("regularisation", options.check())?;
        options.correction = self.correction.unwrap_or(options.correction);
        let message = "expected none without a correction, which leaves nothing to regularise";
        let is_well = options.correction || self.regularisation.is_none();
        Error::ensure_option(is_well, "regularisation", message)?;
        options.alpha = self.smoothing()?;
        options.seed = self.seed.unwrap_or(options.seed);
        Ok(Scoring::Weighted(options))
    }

    fn naive_bayes(&self, likelihood: Likelihood, prior: Option<ClassPrior>) -> Result<Scoring> {
        let ScoringOptions { idf_power, correction, regularisation, .. } = *self;
        let of_weighted = ScoringOptions { idf_power, correction, regularisation, ..Default::default() };
        of_weighted.expect_none("expected weighted scoring, got naive Bayes")?;
        let message =
            format_args!("expected a likelihood other than {likelihood}, which counts presence only");
        let is_well = !self.occurrences || !likelihood.counts_presence_only();
        Error::ensure_option(is_well, "occurrences", message)?;
        let mut parameters = Parameters { likelihood, ..Scoring::parameters() };
        if self.occurrences {
            parameters.counting = Counting::Occurrences;
        }
        parameters.alpha = self.smoothing()?.unwrap_or(parameters.alpha);
        parameters.prior = prior.unwrap_or(parameters.prior);
        let features = &mut parameters.features;
        features.min_df = self.min_df.unwrap_or(features.min_df);
        (features.max_df, features.max_features) = (self.max_df, self.max_features);
        features.select = self.select;
        Ok(Scoring::NaiveBayes(parameters))
    }

    fn mixed(&self, mut mixed: Mixed, recipe: &Recipe, prior: Option<ClassPrior>) -> Result<Scoring> {
        let others = ScoringOptions { class_prior: None, correction: None, ..self.clone() };
        let is_smoothed = |c: &Column| matches!(c.kind, ColumnKind::Categorical | ColumnKind::Bernoulli);
        ScoringOptions { alpha: None, estimate: None, ..others.clone() }.expect_none(
            "expected none for a table, whose options of scoring are alpha, estimate, class prior and correction",
        )?;
        if !recipe.columns.iter().any(is_smoothed) {
            others.expect_none("expected a categorical or bernoulli column, since it applies to no other")?;
        }
        mixed.alpha = self.smoothing()?.unwrap_or(mixed.alpha);
        mixed.prior = prior.unwrap_or(mixed.prior);
        mixed.correction = self.correction.unwrap_or(mixed.correction);
        Ok(Scoring::Mixed(mixed))
    }

    fn expectation_maximization(&self, prior: Option<ClassPrior>, n_documents: u64) -> Result<Scoring> {
        let others = ScoringOptions { likelihood: None, alpha: None, class_prior: None, ..self.clone() };
        ScoringOptions { lambda: None, iterations: None, ..others }.expect_none(
            "expected none for unlabelled documents with a likelihood, lambda or iterations, whose only other options \
             of scoring are alpha, class prior and seed",
        )?;
        let mut settings = ExpectationMaximization::for_documents(n_documents);
        let options = &mut settings.options;
        options.likelihood = match self.likelihood {
            None => options.likelihood,
            Some(LikelihoodName::NaiveBayes(own)) if own.is_generative() => own,
            Some(_) => {
                return refused("likelihood", "expected multinomial or bernoulli for unlabelled documents");
            }
        };
        options.alpha = self.smoothing()?.unwrap_or(options.alpha);
        options.prior = prior.unwrap_or(std::mem::take(&mut options.prior));
        options.lambda = self.lambda.unwrap_or(options.lambda);
        options.max_iterations = self.iterations.unwrap_or(options.max_iterations);
        options.seed = self.seed.unwrap_or(options.seed);
        Ok(Scoring::ExpectationMaximization(settings))
    }
}

fn refused<T>(option: &'static str, message: impl fmt::Display) -> Result<T> {
    Err(Error::option(option, message))
}

/// Names the option in the error of a value out of its range.
fn in_range<T>(option: &'static str, value: std::result::Result<T, impl fmt::Display>) -> Result<T> {
    value.map_err(|error| Error::option(option, error))
}

/// A range of lengths, `3` or `3-5`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The smallest length.
    pub min: u8,
    /// The largest length.
    pub max: u8,
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (min, max) = text.split_once('-').unwrap_or((text, text));
        match (min.parse(), max.parse()) {
            (Ok(min), Ok(max)) => Ok(Span { min, max }),
            _ => Err(format!("expected a range such as 3-5, got {text:?}")),
        }
    }
}

/// Whether pieces of words are terms, as a user says it: `auto`, `on` (of four characters), `off`, or their lengths, such
/// as `2-5`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PieceOption {
    /// If held-out documents are then predicted better.
    #[default]
    Auto,
    /// No.
    Off,
    /// Of these lengths.
    On(PieceLengths),
}

impl FromStr for PieceOption {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "auto" => Ok(PieceOption::Auto),
            "off" => Ok(PieceOption::Off),
            "on" => Ok(PieceOption::On(PieceLengths::FOUR)),
            _ => match text.parse().map(|Span { min, max }| PieceLengths { min, max }) {
                Ok(lengths) if lengths.are_in_range() => Ok(PieceOption::On(lengths)),
                _ => Err(format!("expected auto, on, off or lengths from 2 to 5, such as 2-5, got {text:?}")),
            },
        }
    }
}

/// What terms are, as far as a user says it; training decides the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TermOptions {
    /// Sequences of so many words.
    pub ngrams: Option<Span>,
    /// With sequences of words, also those with an end of the text.
    pub ends: bool,
    /// Sequences of so many characters instead of words.
    pub characters: Option<Span>,
    /// Pieces of words.
    pub pieces: PieceOption,
    /// Signs: punctuation, hashtags, mentions and capitals.
    pub signs: Option<bool>,
}

impl Recipe {
    /// Checks that the options suit the kind of documents.
    fn check(&self) -> Result<()> {
        let (kind, is_mail) = (self.kind, self.kind == Kind::Mail);
        let has_words = matches!(self.tokenizer.terms, Ngrams::Words { .. }) && kind != Kind::Table;
        let of_kind = |expected: &str| format!("expected {expected}, got {kind}");
        let of_words = || "expected text or mail with words as terms".to_owned();
        let given = [
            (!is_mail && self.content_only, "content_only", of_kind("mail")),
            (!is_mail && !self.ignored_headers.is_empty(), "ignore_header", of_kind("mail")),
            (kind != Kind::Text && self.raw, "raw", of_kind("text")),
            (self.pieces.is_some() && !has_words, "pieces", of_words()),
            (self.tokenizer.signs && !has_words, "signs", of_words()),
        ];
        let unsuited = given.into_iter().find(|(is_unsuited, ..)| *is_unsuited);
        unsuited.map_or(Ok(()), |(_, option, message)| refused(option, message))
    }
}

impl TrainOptions {
    /// Sets what terms are. Training decides what is not given.
    ///
    /// # Errors
    /// Both words and characters are given, or ends without sequences of words.
    pub fn set_terms(&mut self, given: TermOptions) -> Result<()> {
        let TermOptions { ngrams, ends, characters, pieces, signs } = given;
        let tokenizer = &mut self.recipe.tokenizer;
        tokenizer.ends = ends;
        match (ngrams, characters) {
            (Some(_), Some(_)) => return refused("characters", "expected none beside ngrams"),
            (Some(Span { min, max }), _) => tokenizer.terms = Ngrams::Words { min, max },
            (None, _) if ends => return refused("ends", "expected ngrams, such as 1-2"),
            (_, Some(Span { min, max })) => tokenizer.terms = Ngrams::Characters { min, max },
            _ => (),
        }
        tokenizer.signs = signs.unwrap_or(tokenizer.signs && characters.is_none());
        self.recipe.pieces = match pieces {
            PieceOption::On(lengths) => Some(lengths),
            PieceOption::Auto | PieceOption::Off => None,
        };
        self.refinements.retain(|family| match family {
            Refinement::Pieces | Refinement::AllPieces => pieces == PieceOption::Auto,
            Refinement::Pairs => ngrams.is_none(),
            Refinement::Signs => signs.is_none(),
            Refinement::Regularisation => true,
        });
        Ok(())
    }

    /// Checks what can be checked before documents are counted, and sets the kind of scoring that is `asked` for.
    /// [`ScoringOptions::scoring`] makes the scoring itself, once the labels are known.
    ///
    /// # Errors
    /// An option is out of range, or does not suit the kind of documents, the columns or the other options.
    pub fn prepare(&mut self, asked: &ScoringOptions) -> Result<()> {
        self.recipe.check()?;
        if asked.regularisation.is_some() {
            self.refinements.retain(|refinement| *refinement != Refinement::Regularisation);
        }
        self.scoring = match asked.with_prior(&self.recipe, None, 0)? {
            Scoring::Mixed(_) | Scoring::Weighted(_)
                if self.keep == Some(Keep::Vectors) && self.recipe.has_other_columns() =>
            {
                let message = "expected columns of text only, whose terms can be remembered";
                return refused("documents", message);
            }
            Scoring::Mixed(mixed) => Some(Scoring::Mixed(mixed)),
            Scoring::NaiveBayes(_) => Some(Scoring::NaiveBayes(Scoring::parameters())),
            Scoring::ExpectationMaximization(_) => {
                Some(Scoring::ExpectationMaximization(ExpectationMaximization::for_documents(0)))
            }
            _ => None,
        };
        Ok(())
    }

    /// Checks that requirements on decisions suit the scoring and the number of labels.
    ///
    /// # Errors
    /// One of them is given without weighted scoring of two labels.
    pub fn check_for(&self, n_labels: usize) -> Result<()> {
        let DecisionOptions { max_fpr, min_precision, cost, prior, unsure } = self.decision;
        let are_many = self.labels == Labels::Many;
        let is_weighted = matches!(self.scoring(), Scoring::Weighted(_));
        let expected = "expected weighted scoring for many labels, got naive Bayes";
        Error::ensure_option(is_weighted || !are_many, "labels", expected)?;
        let expected = "expected a model of many labels, got one label a document";
        Error::ensure_option(min_precision.is_none() || are_many, "min_precision", expected)?;
        if n_labels == 2 && !are_many && is_weighted {
            return Ok(());
        }
        let expected = "expected two labels and weighted scoring";
        let of_unsure =
            "expected two labels and weighted scoring; any model takes this option when it scores";
        let of_two = [
            ("max_fpr", max_fpr.is_some(), expected),
            ("cost", cost.is_some() && !are_many, expected),
            ("prior", prior.is_some(), expected),
            ("unsure", unsure.is_some() && !are_many, of_unsure),
        ];
        let given = of_two.iter().find(|(_, is_given, _)| *is_given);
        given.map_or(Ok(()), |(option, _, message)| refused(option, message))
    }
}

impl DecisionOptions {
    /// Checks that at most one of `max_fpr`, `min_precision`, `cost` and `unsure` is given, and the range of each.
    ///
    /// # Errors
    /// Several are given, or one is out of range.
    pub fn check(&self) -> Result<()> {
        let DecisionOptions { max_fpr, min_precision, cost, unsure, .. } = *self;
        if [max_fpr, min_precision, cost, unsure].iter().flatten().count() > 1 {
            let option = if unsure.is_some() { "unsure" } else { "cost" };
            return refused(option, "expected one of max_fpr, min_precision, cost and unsure");
        }
        for (option, share) in [("max_fpr", max_fpr), ("min_precision", min_precision)] {
            share.map_or(Ok(()), |share| check_share(option, share))?;
        }
        cost.map(|cost| Decision::PLAIN.with_cost(cost)).transpose()?;
        unsure.map(|unsure| Decision::PLAIN.with_unsure_below(unsure)).transpose()?;
        Ok(())
    }
}

/// The expected share of one of two labels, `LABEL=SHARE`.
///
/// ```
/// use tamis_train::options::LabelShare;
/// use tamis_train::Classes;
///
/// let classes = Classes::new(["ham", "spam"]).unwrap();
/// let prior: LabelShare = "ham=0.75".parse().unwrap();
/// assert_eq!(prior.of_positive(&classes).unwrap(), 0.25);
/// assert!("ham=75".parse::<LabelShare>().is_err());
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct LabelShare {
    label: String,
    share: f64,
}

impl LabelShare {
    /// The expected share of a label.
    ///
    /// # Errors
    /// The share is not between 0 and 1.
    pub fn new(label: String, share: f64) -> Result<Self> {
        check_share("prior", share)?;
        Ok(LabelShare { label, share })
    }

    /// The share of the [positive class](positive_class).
    ///
    /// # Errors
    /// The label is not one of two.
    pub fn of_positive(&self, classes: &Classes) -> Result<f64> {
        let LabelShare { label, share } = self;
        match classes.index(label).filter(|_| classes.len() == 2) {
            Some(class) if class == positive_class(classes) => Ok(*share),
            Some(_) => Ok(1.0 - share),
            None => refused("prior", format!("expected one of two labels, got {label:?}")),
        }
    }
}

impl FromStr for LabelShare {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let given = label_and_share(text).and_then(|(label, share)| LabelShare::new(label, share).ok());
        given.ok_or_else(|| format!("expected LABEL=SHARE with a share between 0 and 1, got {text:?}"))
    }
}

#[cfg(test)]
mod tests;
