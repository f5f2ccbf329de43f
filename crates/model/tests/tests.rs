//! The crate as its users meet it: against scikit-learn's numbers and textbooks, and what must always hold.
#![allow(clippy::unwrap_used, reason = "clippy knows tests by their attribute, not their helpers")]

mod em;
mod expected;
mod golden;
mod mixed;
mod properties;
mod real;
mod sampling;
mod support;
mod unsmoothed;
mod weighted;
mod worked_examples;
