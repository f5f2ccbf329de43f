//! Fitting the correction: one-vs-rest logistic regression by dual coordinate ascent, with cross-validation. A fit can
//! be divided into partitions of the documents.

pub(crate) mod ascent;
pub(crate) mod choose;
pub(crate) mod column_fit;
pub(crate) mod competitors;
pub(crate) mod cross_fit;
pub(crate) mod fit;
pub(crate) mod online_step;
pub(crate) mod partition;
pub(crate) mod sample;
pub(crate) mod tried;
