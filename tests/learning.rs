//! Learning: one by one, again, together, over the years, and from other programs.

mod crowd;
mod determinism;
mod exchange;
mod learn;
mod scikit_learn;
mod spool;
mod twice;
mod upkeep;
