//! Why parameters or options were refused.

use std::fmt;

use crate::counts::ClassId;

/// Why parameters cannot make a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ParametersError {
    /// Smoothing that is not finite and greater than 0.
    Smoothing {
        /// The value.
        got: f64,
    },
    /// A Dirichlet or Beta prior whose posterior may have no mode.
    Concentration {
        /// The smallest value allowed.
        expected: f64,
        /// The value.
        got: f64,
    },
    /// An unknown name.
    Name {
        /// The known names.
        expected: &'static str,
        /// The name given.
        got: String,
    },
    /// A likelihood that gives no probabilities of documents, where those are needed.
    NotGenerative {
        /// The likelihoods that have them.
        expected: &'static str,
        /// The likelihood.
        got: String,
    },
    /// No classes.
    NoClasses,
    /// Numbers of a different number of classes.
    NumberOfClasses {
        /// The number of classes.
        expected: usize,
        /// The number of classes that numbers were given for.
        got: usize,
    },
    /// A class without documents: a learned prior needs at least one of each class.
    EmptyClass {
        /// The class.
        class: usize,
        /// Documents needed.
        expected: u64,
        /// Documents learned.
        got: u64,
    },
    /// A given prior without exactly one probability per class.
    PriorLength {
        /// The number of classes.
        expected: usize,
        /// The number of probabilities.
        got: usize,
    },
    /// A given prior that is not finite and greater than 0 for each class.
    PriorValue {
        /// The probability.
        got: f64,
    },
    /// A given prior that does not add up to 1.
    PriorSum {
        /// 1.
        expected: f64,
        /// The sum.
        got: f64,
    },
    /// A maximum document frequency outside (0, 1].
    MaxDf {
        /// The share.
        got: f64,
    },
    /// A limit that leaves no features.
    MaxFeatures {
        /// The smallest number allowed.
        expected: usize,
        /// The number asked for.
        got: usize,
    },
    /// Not exactly two classes, or a positive class that is neither, for a score of two classes.
    TwoClasses {
        /// The number of classes; ids are below it.
        expected: usize,
        /// The actual number of classes.
        got: usize,
        /// The class given as the positive one.
        positive: ClassId,
    },
    /// A set of labels with one that does not exist.
    UnknownLabel {
        /// The number of labels; ids are below it.
        expected: usize,
        /// The label.
        got: ClassId,
    },
    /// An option of weighted scoring, or a number chosen by fitting, out of its range.
    Weighted {
        /// The range.
        expected: &'static str,
        /// The value.
        got: f64,
    },
    /// An option out of its range.
    OutOfRange {
        /// The option's name.
        name: &'static str,
        /// The range.
        expected: &'static str,
        /// The value.
        got: f64,
    },
    /// A variance or covariance that is singular: a feature is constant, or a linear function of earlier features.
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
    Summary {
        /// What should hold.
        expected: &'static str,
        /// The value that violates it.
        got: u64,
    },
}

tamis_tokenizer::error_messages! {
    ParametersError {
        Smoothing { got } => "smoothing: expected a finite number greater than 0, got {got}";
        Concentration { expected, got } =>
            "concentration: expected a finite number of at least {expected}, got {got}";
        Name { expected, got } => "expected {expected}, got {got:?}";
        NotGenerative { expected, got } =>
            "likelihood: expected {expected}, which give probabilities of documents, got {got}";
        NoClasses => "expected at least one class, got none";
        NumberOfClasses { expected, got } => "expected numbers of {expected} classes, got {got}";
        UnknownLabel { expected, got } => "expected a label below {expected}, got {got}";
        EmptyClass { class, expected, got } =>
            "a learned prior: expected at least {expected} document of class {class}, got {got}; choose a \
             smoothed or uniform prior";
        PriorLength { expected, got } => "prior: expected {expected} probabilities, got {got}";
        PriorValue { got } => "prior: expected probabilities greater than 0, got {got}";
        PriorSum { expected, got } => "prior: expected a sum of {expected}, got {got}";
        MaxDf { got } =>
            "largest document frequency (max_df): expected a share above 0 and at most 1, got {got}";
        MaxFeatures { expected, got } => "expected at least {expected} features, got {got}";
        TwoClasses { expected, got, positive } =>
            "expected {expected} classes and a positive one of them, got {got} and {positive}";
        Weighted { expected, got } => "expected {expected}, got {got}";
        OutOfRange { name, expected, got } => "{name}: expected {expected}, got {got}";
        Singular { class: None, feature, expected, got } =>
            "feature {feature}: expected a finite variance of its own above {expected}, got {got}; add smoothing";
        Singular { class: Some(class), feature, expected, got } =>
            "feature {feature} in class {class}: expected a finite variance of its own above {expected}, got {got}; \
             add smoothing";
        Summary { expected, got } => "inconsistent summary: expected {expected}, got {got}";
    }
}

/// Why [`Parameters::fit`](crate::Parameters::fit) failed.
#[derive(Clone, Debug, PartialEq)]
pub enum FitError<E> {
    /// Reading the counts failed.
    Counts(E),
    /// The parameters do not suit the counts.
    Parameters(ParametersError),
}

impl<E: fmt::Display> fmt::Display for FitError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FitError::Counts(e) => e.fmt(f),
            FitError::Parameters(e) => e.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for FitError<E> {}
