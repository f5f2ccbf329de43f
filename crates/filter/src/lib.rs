//! The tamis filter: train, open, score and explain; the model file.
#![deny(unsafe_code)]

mod blocks;
mod documents;
mod error;
mod explain;
mod filter;
mod format;
mod map;
mod recipe;
mod save;
mod store;
mod trainer;

pub use error::{Error, Result};
pub use explain::{Explanation, TermContribution};
pub use filter::{Filter, Score, Scratch};
pub use format::FORMAT_VERSION;
pub use recipe::{Document, Kind, RECIPE_VERSION, Recipe};
pub use store::Information;
pub use trainer::{Keep, Model, TrainOptions, Trainer};

pub use tamis_mail::Limits;
pub use tamis_model::{
    ClassId, ClassPrior, ClassTotals, Classes, Counting, FeatureLimits, Likelihood, Parameters, Smoothing,
};
pub use tamis_tokenizer::{Language, Terms, TokenizerOptions, WordRule};
