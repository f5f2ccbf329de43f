//! Fitting the correction: one-vs-rest logistic regression by dual coordinate ascent, with cross-validation.

pub(crate) mod ascent;
pub(crate) mod competitors;
pub(crate) mod cross_fit;
pub(crate) mod fit;
pub(crate) mod online_step;
