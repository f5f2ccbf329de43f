//! Why parameters or options were refused.

use crate::counts::ClassId;

/// Why parameters cannot make a model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParametersError {
    /// Smoothing that is not finite and greater than 0.
    #[error("smoothing: expected a finite number greater than 0, got {got}")]
    Smoothing {
        /// The value.
        got: f64,
    },
    /// A Dirichlet or Beta prior whose posterior may have no mode.
    #[error("concentration: expected a finite number of at least {expected}, got {got}")]
    Concentration {
        /// The smallest value allowed.
        expected: f64,
        /// The value.
        got: f64,
    },
    /// An unknown name.
    #[error("expected {expected}, got {got:?}")]
    Name {
        /// The known names.
        expected: &'static str,
        /// The name given.
        got: String,
    },
    /// A likelihood that gives no probabilities of documents, where those are needed.
    #[error("likelihood: expected {expected}, which give probabilities of documents, got {got}")]
    NotGenerative {
        /// The likelihoods that have them.
        expected: &'static str,
        /// The likelihood.
        got: String,
    },
    /// No classes.
    #[error("expected at least one class, got none")]
    NoClasses,
    /// Numbers of a different number of classes.
    #[error("expected numbers of {expected} classes, got {got}")]
    NumberOfClasses {
        /// The number of classes.
        expected: usize,
        /// The number of classes that numbers were given for.
        got: usize,
    },
    /// A class without documents: a learned prior needs at least one of each class.
    #[error(
        "a learned prior: expected at least {expected} document of class {class}, got {got}; choose a \
         smoothed or uniform prior"
    )]
    EmptyClass {
        /// The class.
        class: usize,
        /// Documents needed.
        expected: u64,
        /// Documents learned.
        got: u64,
    },
    /// A given prior without exactly one probability per class.
    #[error("prior: expected {expected} probabilities, got {got}")]
    PriorLength {
        /// The number of classes.
        expected: usize,
        /// The number of probabilities.
        got: usize,
    },
    /// A given prior that is not finite and greater than 0 for each class.
    #[error("prior: expected probabilities greater than 0, got {got}")]
    PriorValue {
        /// The probability.
        got: f64,
    },
    /// A given prior that does not add up to 1.
    #[error("prior: expected a sum of {expected}, got {got}")]
    PriorSum {
        /// 1.
        expected: f64,
        /// The sum.
        got: f64,
    },
    /// A maximum document frequency outside (0, 1].
    #[error("largest document frequency (max_df): expected a share above 0 and at most 1, got {got}")]
    MaxDf {
        /// The share.
        got: f64,
    },
    /// A limit that leaves no features.
    #[error("expected at least {expected} features, got {got}")]
    MaxFeatures {
        /// The smallest number allowed.
        expected: usize,
        /// The number asked for.
        got: usize,
    },
    /// Not exactly two classes, or a positive class that is neither, for a score of two classes.
    #[error("expected {expected} classes and a positive one of them, got {got} and {positive}")]
    TwoClasses {
        /// The number of classes; ids are below it.
        expected: usize,
        /// The actual number of classes.
        got: usize,
        /// The class given as the positive one.
        positive: ClassId,
    },
    /// A set of labels with one that does not exist.
    #[error("expected a label below {expected}, got {got}")]
    UnknownLabel {
        /// The number of labels; ids are below it.
        expected: usize,
        /// The label.
        got: ClassId,
    },
    /// An option of weighted scoring, or a number chosen by fitting, out of its range.
    #[error("expected {expected}, got {got}")]
    Weighted {
        /// The range.
        expected: &'static str,
        /// The value.
        got: f64,
    },
    /// An option out of its range.
    #[error("{name}: expected {expected}, got {got}")]
    OutOfRange {
        /// The option's name.
        name: &'static str,
        /// The range.
        expected: &'static str,
        /// The value.
        got: f64,
    },
    /// A variance or covariance that is singular: a feature is constant, or a linear function of earlier features.
    #[error(
        "feature {feature}{}: expected a finite variance of its own above {expected}, got {got}; add smoothing",
        class.map(|class| format!(" in class {class}")).unwrap_or_default()
    )]
    Singular {
        /// The class; `None` if all are concerned.
        class: Option<usize>,
        /// The feature, from 0.
        feature: usize,
        /// The lower bound of the feature's variance that earlier features do not explain.
        expected: f64,
        /// That variance.
        got: f64,
    },
    /// A summary that no counts can have, or one made with other parameters.
    #[error("inconsistent summary: expected {expected}, got {got}")]
    Summary {
        /// What should hold.
        expected: &'static str,
        /// The value that violates it.
        got: u64,
    },
}

/// Why [`Parameters::fit`](crate::Parameters::fit) failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FitError<E> {
    /// Reading the counts failed.
    #[error("{0}")]
    Counts(E),
    /// The parameters do not suit the counts.
    #[error(transparent)]
    Parameters(ParametersError),
}
