//! The crate as its users meet it: against scikit-learn's numbers and textbooks, and what must always hold.
#![allow(clippy::unwrap_used, reason = "clippy knows tests by their attribute, not their helpers")]

mod em;
mod expected;
mod golden;
mod properties;
mod support;
mod unsmoothed;
mod vectors;
mod weighted;
