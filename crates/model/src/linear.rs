//! The score of mail and text: weighted log-odds plus a correction, one column per class (one-vs-rest).

pub(crate) mod choices;
pub(crate) mod coefficients;
pub(crate) mod columns;
pub(crate) mod tried;
pub(crate) mod weighted;
