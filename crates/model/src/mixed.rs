//! Mixed naive Bayes: features of different kinds in one model, as the columns of a table are.

pub(crate) mod fit;
pub(crate) mod naive_bayes;
