//! The score of mail and text: weighted log-odds plus a correction, one column per class (one-vs-rest).

mod choices;
mod coefficients;
mod columns;
mod correction_sum;
mod weighted;

pub use choices::{Choices, HeldOut, PartScores, PartsTrial, SmoothingTrial, TauTrial, WeightedOptions};
pub(crate) use choices::{DEFAULT_STRENGTH, MOST, PARTS, STRENGTHS};
pub(crate) use coefficients::{COEFFICIENT_ONE, GroupCoefficients};
pub use coefficients::{ClassWeight, Coefficient, Coefficients, CorrectedStatistics, Correction};
pub use columns::Columns;
pub(crate) use correction_sum::CorrectionSum;
pub(crate) use weighted::{LOGS, Logs, norm, powered, vector_length};
pub use weighted::{Readings, WeightedLogOdds, priors};
