//! The program and the libraries as they are met: help, manual, completions, examples, the C API.

mod capi;
mod completions;
mod examples;
mod golden_output;
mod manual;
mod newcomer;
mod readme;
mod terminal;
mod words;
