//! What theory offers besides: categories, mixed columns, costs of decisions, priors of one distribution, samples.

pub(crate) mod categorical;
pub(crate) mod decision;
pub(crate) mod estimate;
pub(crate) mod mixed;
pub(crate) mod mixed_statistics;
pub(crate) mod sample;
