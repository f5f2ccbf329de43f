//! The theory's examples, scikit-learn's numbers, and what must always hold.
#![allow(clippy::unwrap_used, reason = "clippy knows tests by their attribute, not their helpers")]

mod mixed;
mod real;
mod sampling;
#[path = "../../model/tests/support.rs"]
#[allow(dead_code, reason = "the tests of tamis-model use the rest")]
mod support;
mod worked_examples;
