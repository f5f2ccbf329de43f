//! The program and the library as their users meet them.
#![allow(clippy::unwrap_used, clippy::print_stderr, unreachable_pub)]

mod attacks;
mod compressed;
mod crash;
mod crowd;
mod decisions;
mod delivery;
mod determinism;
mod evasion;
mod examples;
mod exchange;
mod files;
mod format_page;
mod fuzz_corpus;
mod golden_output;
mod hostile;
mod learn;
mod limits;
mod model_file;
mod names;
mod newcomer;
mod pairs;
mod public_corpora;
mod readme;
mod rooms;
mod score;
mod sources;
mod stdin;
mod support;
mod tables;
mod theory_page;
mod topics;
mod trees;
mod twice;
mod verdicts;
mod words;
