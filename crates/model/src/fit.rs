//! Fitting the correction: logistic regression by dual coordinate ascent, all columns and folds together.

pub(crate) mod ascent;
pub(crate) mod competitors;
pub(crate) mod cross_fit;
pub(crate) mod fit;
pub(crate) mod online_step;
