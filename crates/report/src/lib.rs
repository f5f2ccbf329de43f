//! Reports with pictures: how good a filter is, what a model is made of, why a document got its score.
//!
//! A [`Page`] is one string of HTML with drawings in SVG: no script, nothing loaded, light and dark, to be printed. Every
//! figure has a title, a description and its numbers in a table; labels, terms and names of files stay text whatever is
//! in them. Equal numbers give equal bytes.
//!
//! [`EvaluationReport`] draws what `tamis evaluate` measures, [`explanation_page`] an explanation, [`model_page`] a model,
//! [`score_page`] a score. Curves are thinned to what can be seen, so that a page of a hundred thousand documents is as small
//! as one of a thousand.
#![forbid(unsafe_code)]

// The rooms, the lowest first: none uses one that comes after it (tests/rooms.rs).
mod text;

mod draw;

mod figure;

mod figures;

mod page;

mod reports;

pub use page::Page;
pub use reports::evaluation::EvaluationReport;
pub use reports::explanation::explanation_page;
pub use reports::mislabels::Mislabel;
pub use reports::model::model_page;
pub use reports::score::score_page;
pub use text::{counted, grouped};

/// The README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
