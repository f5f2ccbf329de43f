//! Options for a trainer.

use anyhow::Result;
use tamis_filter::{Kind, Pairs, Pieces, Recipe, Scoring, TrainOptions};
use tamis_program::note;

use crate::args::recipe::{RecipeArgs, recipe};
use crate::args::scoring::ScoringArgs;
use crate::args::values::Choice;

/// The training options that are known before the labels.
pub(crate) fn train_options(
    recipe_args: &RecipeArgs,
    scoring_args: &ScoringArgs,
    kind: Kind,
) -> Result<TrainOptions> {
    let mut options = TrainOptions::new(kind);
    options.recipe = recipe(recipe_args, kind)?;
    if recipe_args.ngrams.is_some() {
        options.pairs = Pairs::Fixed;
    }
    if recipe_args.pieces.is_some_and(|pieces| pieces != Choice::Auto) {
        options.pieces = Pieces::Fixed;
    }
    if !scoring_args.asks_for_naive_bayes() {
        // fails before all documents are read
        scoring_args.weighted()?;
    } else {
        options.scoring = Some(Scoring::NaiveBayes(Scoring::parameters()));
    }
    Ok(options)
}

/// Prints a note if pairs or pieces of words became terms without being asked for.
pub(crate) fn say_chosen_terms(asked: &TrainOptions, got: &Recipe) {
    let has_pairs = got.tokenizer.terms != asked.recipe.tokenizer.terms;
    let has_pieces = got.pieces && !asked.recipe.pieces;
    let terms = match (has_pairs, has_pieces) {
        (false, false) => return,
        (true, false) => "words and pairs of words",
        (false, true) => "words and pieces of words",
        (true, true) => "words, pairs and pieces of words",
    };
    note!("{terms} are terms, since they predict left-out documents better");
}
