//! The score of mail and text: weighted log-odds, corrected; one column a class against the rest (one-vs-rest).

pub(crate) mod choices;
pub(crate) mod coefficients;
pub(crate) mod columns;
pub(crate) mod weighted;
