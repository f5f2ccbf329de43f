//! Reports with pictures: how good a filter is, what a model is made of, why a document got its score.
//!
//! A [`Page`] is one string of HTML with drawings in SVG. It runs no script, loads nothing, follows light and dark
//! mode, and can be printed. Every figure has a title, a description and its numbers in a table. Labels, terms and file
//! names stay text whatever they contain. Equal numbers give equal bytes.
//!
//! [`EvaluationReport`] draws what `tamis evaluate` measures, [`explanation_page`] an explanation, [`model_page`] a
//! model, [`score_page`] a score, and [`drift_page`] how new documents differ. Curves are thinned to what can be seen, so that the page for a hundred thousand
//! documents is as small as the page for a thousand.
#![forbid(unsafe_code)]

// The rooms, the lowest first: none uses one that comes after it (tests/code/rooms.rs).
mod text;

mod draw;

mod figures;

mod reports;

pub use reports::Page;
pub use reports::drift::drift_page;
pub use reports::evaluation::EvaluationReport;
pub use reports::explanation::{explanation_page, score_page};
pub use reports::mislabels::Mislabel;
pub use reports::model::model_page;
pub use text::{counted, cut, grouped, shown};

/// The README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
