//! Scoring: how counts become scores.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use tamis_model::{
    Choices, ClassPrior, Counting, EmOptions, Parameters, PartsTrial, RobinsonFisher, Smoothing,
    SmoothingTrial, TauTrial, Transform, WeightedOptions,
};

use crate::config::column::{Column, ColumnKind};
use crate::config::decision::LabelDecision;
use crate::config::recipe::{Keep, Recipe};
use crate::config::refinement::TriedRefinement;
use crate::error::{Error, Reason, Result};
use crate::kind::Kind;

/// How counts become scores; independent of counting.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Scoring {
    /// One-vs-rest log-odds weighted by idf and log tf, normalised for length and corrected by logistic regression,
    /// with all parameters chosen and calibrated on held-out documents. The default, for any number of classes.
    Weighted(WeightedOptions),
    /// Textbook naive Bayes, for any number of classes.
    NaiveBayes(Parameters),
    /// Naive Bayes by expectation maximization (EM), from documents with and without labels.
    ExpectationMaximization(ExpectationMaximization),
    /// Naive Bayes of a table, with a likelihood per column. The default for a table with a column that is not text.
    Mixed(Mixed),
    /// Robinson's probabilities combined by Fisher's method, for two classes: the scoring of an imported bogofilter
    /// word list, until enough documents are learned for [`Scoring::Weighted`]. See
    /// `import_bogofilter`.
    RobinsonFisher(RobinsonFisher),
}

/// The settings of [`Scoring::ExpectationMaximization`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ExpectationMaximization {
    /// The likelihood (multinomial or Bernoulli), its smoothing and prior, and the options of EM.
    pub options: EmOptions,
    /// The tf-idf transform of counts for the multinomial likelihood.
    pub transform: Transform,
}

impl ExpectationMaximization {
    /// The default for `documents` documents, labelled or not: log tf, idf, length 5, and a minimum document frequency
    /// of 5 from 10,000 documents on, lower for fewer.
    pub fn for_documents(documents: u64) -> Self {
        let min_df = (documents / 2_000).clamp(1, 5);
        let mut transform = Transform::default();
        (transform.min_df, transform.norm) = (min_df, NonZeroU32::new(5));
        ExpectationMaximization { options: EmOptions::default(), transform }
    }
}

/// The settings of [`Scoring::Mixed`]. Real values are normally distributed within a class, with the maximum likelihood
/// estimates of mean and variance; missing cells, and categories that were never learned, are left out of the product.
/// Held-out rows then calibrate the product, unless `correction` is off.
///
/// ```
/// use tamis_train::options::{Column, ColumnKind, Mixed};
/// use tamis_train::{Document, Kind, Scoring, Scratch, TrainOptions, Trainer};
///
/// let mut options = TrainOptions::new(Kind::Table);
/// options.recipe.columns =
///     vec![Column::new("miles", ColumnKind::Gaussian), Column::new("raining", ColumnKind::Bernoulli)];
/// let mut textbook = Mixed::default(); // what a table gets by default
/// textbook.correction = false;
/// options.scoring = Some(Scoring::Mixed(textbook));
/// let mut trainer = Trainer::new(options)?;
/// for (mode, miles, raining) in
///     [("walk", "0.5", "no"), ("walk", "1.5", "no"), ("bus", "3.0", "no"), ("bus", "7.0", "yes")]
/// {
///     trainer.add(mode, Document::Fields(&[("miles", miles), ("raining", raining)]))?;
/// }
/// let filter = trainer.finish()?.into_filter()?;
/// let score = filter.score_fields(&[("miles", "NA"), ("raining", "yes")], &mut Scratch::default())?;
/// assert_eq!(filter.label_of(&score), "bus");
/// assert!((score.probability - 2.0 / 3.0).abs() < 1e-12); // (1+1)/(2+2) to (0+1)/(2+2)
/// # Ok::<(), tamis_train::Error>(())
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Mixed {
    /// Smoothing of categories, and of yes and no; 1 (Laplace's) by default.
    pub alpha: Smoothing,
    /// Smoothing of the words of texts, counted by presence; 0.1 by default.
    pub text_alpha: Smoothing,
    /// The class prior; by default the class's share of the rows.
    pub prior: ClassPrior,
    /// Added to every variance, as a portion of the largest variance of a column; 1e-9 by default.
    pub var_smoothing: f64,
    /// Whether held-out rows choose how far columns of each kind are trusted, and how far variances are moved towards
    /// their mean over classes ([`MixedChoices`](tamis_model::MixedChoices)); `true` by default. If not, probabilities
    /// are those of the textbook.
    pub correction: bool,
}

impl Default for Mixed {
    fn default() -> Self {
        Mixed {
            alpha: Smoothing::LAPLACE,
            text_alpha: small_alpha(),
            prior: ClassPrior::Learned,
            var_smoothing: 1e-9,
            correction: true,
        }
    }
}

impl Mixed {
    /// The likelihood of a column of this kind, and its minimum number of terms.
    pub fn parameters_of(&self, kind: ColumnKind) -> (Parameters, u64) {
        let (alpha, least) = match kind {
            ColumnKind::Text => (self.text_alpha, 0),
            ColumnKind::Bernoulli => (self.alpha, 2),
            ColumnKind::Categorical | ColumnKind::Gaussian => (self.alpha, 0),
        };
        (Parameters { alpha, prior: ClassPrior::Uniform, ..Scoring::parameters() }, least)
    }
}

/// The choices that [`Scoring::Weighted`] made on held-out documents, with the losses (nats per document) that decided.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ModelSelection {
    /// The values chosen, or fixed by hand.
    pub choices: Choices,
    /// The same, with stacking weights refitted to documents learned one by one since then.
    pub refitted: Option<Box<Choices>>,
    /// The smoothings and powers of idf that were tried; empty if there were too few documents to choose by.
    pub smoothing: Vec<SmoothingTrial>,
    /// The shares of the counts on top of which the correction was tried.
    pub taus: Vec<TauTrial>,
    /// How well class shares, counts and correction predict held-out documents, and how far each is trusted; `None` if
    /// no document could be held out.
    pub parts: Option<PartsTrial>,
    /// The number of documents that were held out together with others that are variations of the same text, see
    /// [`NearDuplicates`](tamis_model::NearDuplicates).
    pub near_duplicates: u64,
    /// The number of groups of documents that are copies or near-duplicates, as a share of all documents: intervals count
    /// groups.
    pub independent: f64,
    /// The refinements that were tried, in order.
    pub refinements: Vec<TriedRefinement>,
    /// How unlabelled documents were used, if there were any.
    pub unlabelled: Option<Unlabelled>,
    /// The decision on each label, in a model of many labels; otherwise empty.
    pub labels: Vec<LabelDecision>,
}

/// How [`Scoring::Weighted`] used the unlabelled documents it was trained with: a teacher labels them, and the model
/// learns them like the others (self-training). Held-out labelled documents choose the teacher and calibrate the model,
/// so that it is not worse than with the labels alone.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Unlabelled {
    /// The number of unlabelled documents. Those without terms, and those that also have a label, are left out.
    pub documents: u64,
    /// The teacher that labelled them; `None` if they were not learned.
    pub teacher: Option<Teacher>,
    /// The candidates; empty if too few documents are labelled to choose by.
    pub tried: Vec<TriedTeacher>,
}

impl Unlabelled {
    /// Whether the unlabelled documents were learned.
    pub fn is_learned(&self) -> bool {
        self.teacher.is_some()
    }

    /// The mean log loss of held-out labelled documents with this teacher, in nats per document; `None` if it was not
    /// tried.
    pub fn loss(&self, teacher: Option<Teacher>) -> Option<f64> {
        self.tried.iter().find(|tried| tried.teacher == teacher).map(|tried| tried.loss)
    }
}

/// The model that labels unlabelled documents.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Teacher {
    /// The model trained on the labelled documents.
    LabelsAlone,
    /// Naive Bayes by expectation maximization, with its defaults.
    ExpectationMaximization,
}

/// A candidate for learning from unlabelled documents, and how well the model then predicts labelled ones.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct TriedTeacher {
    /// The teacher; `None` for learning from the labelled documents alone.
    pub teacher: Option<Teacher>,
    /// The mean log loss of held-out labelled documents, in nats per document.
    pub loss: f64,
}

impl ModelSelection {
    /// The defaults, for when there are too few documents to choose by.
    pub fn for_classes(n_classes: usize) -> Self {
        let choices = Choices::for_classes(n_classes);
        ModelSelection {
            choices,
            refitted: None,
            smoothing: Vec::new(),
            taus: Vec::new(),
            parts: None,
            near_duplicates: 0,
            independent: 1.0,
            refinements: Vec::new(),
            unlabelled: None,
            labels: Vec::new(),
        }
    }

    /// The defaults, except for the values that `options` fixes.
    pub(crate) fn for_options(options: &WeightedOptions, n_classes: usize) -> Self {
        let chosen = ModelSelection::for_classes(n_classes);
        ModelSelection { choices: chosen.choices.fixed_by(options), ..chosen }
    }

    /// The choices used in scoring.
    pub fn in_use(&self) -> &Choices {
        self.refitted.as_deref().unwrap_or(&self.choices)
    }
}

/// The first column that is not text.
fn not_text(recipe: &Recipe) -> Option<&Column> {
    recipe.columns.iter().find(|column| column.kind != ColumnKind::Text)
}

fn small_alpha() -> Smoothing {
    // 0.1 is in range.
    Smoothing::try_from(0.1).unwrap_or(Smoothing::LAPLACE)
}

impl Scoring {
    /// The default for a recipe: [`Scoring::Mixed`] for a table without a column of text, otherwise
    /// [`Scoring::Weighted`].
    pub fn for_recipe(recipe: &Recipe) -> Self {
        match recipe.kind == Kind::Table && !recipe.has_text() {
            true => Scoring::Mixed(Mixed::default()),
            false => Scoring::Weighted(WeightedOptions::default()),
        }
    }

    /// The options of weighted scoring.
    pub fn weighted(&self) -> Option<&WeightedOptions> {
        match self {
            Scoring::Weighted(options) => Some(options),
            _ => None,
        }
    }

    /// What a model is called that is fitted to all documents at once, so that it cannot be merged, nor learn one by
    /// one or on many machines; `None` for other models.
    pub fn fitted_at_once(&self, recipe: &Recipe) -> Option<&'static str> {
        match self {
            Scoring::Weighted(_) if not_text(recipe).is_some() => Some("a table of columns other than text"),
            Scoring::Weighted(_) | Scoring::NaiveBayes(_) | Scoring::RobinsonFisher(_) => None,
            Scoring::ExpectationMaximization(_) => Some("expectation maximization"),
            Scoring::Mixed(_) => Some("a table of columns other than text"),
        }
    }

    /// Checks that this scoring supports the recipe and `keep`.
    pub fn check(&self, recipe: &Recipe, keep: Keep) -> Result<()> {
        let fail =
            |expected: &str, got: String| Err(Reason::Columns { expected: expected.into(), got }.into());
        let is_well = recipe.vectors.is_none() || self.weighted().is_some();
        Error::ensure_option(is_well, "vectors", "expected weighted scoring, got another")?;
        match (self, not_text(recipe)) {
            (Scoring::Mixed(_), _) if recipe.kind != Kind::Table => {
                fail("a table for mixed naive Bayes", recipe.kind.to_string())
            }
            (Scoring::Mixed(_), _) if keep == Keep::Vectors => {
                fail("digests of rows to remember for mixed naive Bayes", "terms as well".to_owned())
            }
            (Scoring::Weighted(_), Some(_)) if keep == Keep::Vectors => {
                fail("digests of rows to remember for columns other than text", "terms as well".to_owned())
            }
            (Scoring::Mixed(_), _) | (_, None) => Ok(()),
            (Scoring::Weighted(_), Some(_)) if recipe.has_text() => Ok(()),
            (_, Some(column)) => fail(
                "nothing but text, or a text beside it for weighted scoring, except for mixed naive Bayes",
                format!("{:?}, {}", column.name, column.kind),
            ),
        }
    }

    /// The default parameters of naive Bayes: multinomial over presence with alpha 0.1 and learned priors.
    pub fn parameters() -> Parameters {
        Parameters {
            counting: Counting::Presence,
            // Measured: 0.01 to 0.1 is several times better than Laplace's 1 on mail and on topics.
            alpha: small_alpha(),
            ..Parameters::default()
        }
    }
}
