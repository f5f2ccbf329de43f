//! How documents become terms.

use std::borrow::Borrow;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use tamis_mail::decode_text;
use tamis_program::{note, shown_path};
use tamis_train::options::{
    Labels, Language, PieceOption, Refinement, Span, TermOptions, WordRule, stop_words,
};
use tamis_train::{Filter, Information, Kind, TrainOptions};

use crate::args::values::{at_least, either};
use crate::formats::labels::RowLabels;

/// How documents become terms.
#[derive(Args, Clone, PartialEq, Default, Debug)]
#[command(next_help_heading = "Terms")]
pub(crate) struct RecipeArgs {
    /// For mail, use only the words of body and subject, not headers, structure or links
    #[arg(long)]
    content_only: bool,
    /// For text, keep the tags of HTML. By default, only its text is read
    #[arg(long)]
    raw: bool,
    /// Read at most this many bytes of a document [default: 64 MiB of a message, 16 MiB of a text or row]
    #[arg(long, value_name = "BYTES", value_parser = at_least::<usize>(1))]
    most_bytes: Option<usize>,
    /// Ignore this header field; NAME* stands for all fields that begin with NAME. Fields added by filters and
    /// mailboxes are always ignored
    #[arg(long, value_name = "NAME")]
    ignore_header: Vec<String>,
    /// How text is split into words: unicode (UAX #29; the default for text) or mail (keeps $ ' ! % -; the default for
    /// mail)
    #[arg(long, value_name = "RULE")]
    words: Option<WordRule>,
    /// Distinguish upper and lower case
    #[arg(long)]
    keep_case: bool,
    /// Leave out the most frequent words of a language, such as english or en, or the words in a file, separated by
    /// white space. Write ./english for a file with the name of a language
    #[arg(long, value_name = "LANGUAGE|FILE")]
    stop_words: Option<PathBuf>,
    /// Reduce words to their stems in this language
    #[arg(long, value_name = "LANGUAGE")]
    stem: Option<Language>,
    /// Use sequences of words as terms: 1-2 for words and pairs [default: 1; for text 1-2 with --ends if that predicts
    /// held-out documents better]
    #[arg(long, value_name = "MIN-MAX", conflicts_with = "characters")]
    ngrams: Option<Span>,
    /// With --ngrams, also use those with the beginning or the end of the text
    #[arg(long, requires = "ngrams")]
    ends: bool,
    /// Also use pieces of words as terms, which forms of a word share: on (of four characters), off, or lengths from 2 to
    /// 5, such as 2-5 [default: for text if that predicts held-out documents better]
    #[arg(long, value_name = "on|off|MIN-MAX")]
    pieces: Option<PieceOption>,
    /// Also use signs as terms, namely punctuation, hashtags, mentions and capitals: on or off [default: on for mail,
    /// and for text if that predicts held-out documents better]
    #[arg(long, value_name = "on|off", hide_possible_values = true, value_parser = either(["on", "off"], "on"))]
    signs: Option<bool>,
    /// Use sequences of characters as terms instead of words: 3-5
    #[arg(long, value_name = "MIN-MAX")]
    characters: Option<Span>,
    /// Leave out words with fewer characters [default: 1]
    #[arg(long, value_name = "N")]
    min_chars: Option<u16>,
    /// Replace a word with more characters by its length [default: 24 for mail, 64 for text]
    #[arg(long, value_name = "N")]
    max_chars: Option<u16>,
}

impl RecipeArgs {
    /// The options of training for documents of this kind, as far as the arguments set them.
    pub(crate) fn train_options(&self, kind: Kind, labels: RowLabels) -> Result<TrainOptions> {
        let mut options = TrainOptions::new(kind);
        options.labels = if labels == RowLabels::One { Labels::One } else { Labels::Many };
        let recipe = &mut options.recipe;
        recipe.raw = self.raw;
        recipe.content_only = self.content_only;
        recipe.limits.bytes = self.most_bytes.unwrap_or(recipe.limits.bytes);
        recipe.ignored_headers = self.ignore_header.clone();
        let tokenizer = &mut recipe.tokenizer;
        tokenizer.word_rule = self.words.unwrap_or(tokenizer.word_rule);
        tokenizer.fold_case &= !self.keep_case;
        tokenizer.stemmer = self.stem;
        tokenizer.min_chars = self.min_chars.unwrap_or(tokenizer.min_chars);
        tokenizer.max_chars = self.max_chars.unwrap_or(tokenizer.max_chars);
        if let Some(path) = &self.stop_words {
            tokenizer.stop_words = words_of(path)?;
        }
        options.set_terms(TermOptions {
            ngrams: self.ngrams,
            ends: self.ends,
            characters: self.characters,
            pieces: self.pieces.unwrap_or_default(),
            signs: self.signs,
        })?;
        Ok(options)
    }
}

/// The stop words of a language, or the words in a file.
fn words_of(path: &Path) -> Result<Vec<String>> {
    let unknown = match stop_words(path.to_str().unwrap_or_default()) {
        Ok(words) => return Ok(words.map(str::to_owned).collect()),
        Err(unknown) => unknown,
    };
    if !path.exists() && path.extension().is_none() && path.components().count() == 1 {
        bail!("--stop-words: {unknown}, or a file");
    }
    let words = std::fs::read(path).with_context(|| format!("--stop-words {}", shown_path(path)))?;
    Ok(decode_text(&words, None).split_whitespace().map(str::to_owned).collect())
}

/// Prints a note if there are more terms than words.
pub(crate) fn say_chosen_terms(information: &Information<'_>) {
    let tried = information.chosen.map_or(&[][..], |chosen| &chosen.refinements);
    let chosen = || tried.iter().filter(|tried| tried.is_chosen()).map(|tried| tried.refinement);
    let are_terms = |refinement: &Refinement| match refinement {
        // all lengths take the place of four characters
        Refinement::Pieces => chosen().all(|of| of != Refinement::AllPieces),
        Refinement::Regularisation => false,
        Refinement::AllPieces | Refinement::Pairs | Refinement::Signs => true,
    };
    let names: Vec<_> = chosen().filter(are_terms).map(Refinement::name).collect();
    if !names.is_empty() {
        let terms = listed(&[&["words"], &names[..]].concat(), "and");
        note!("{terms} are terms, since they predict held-out documents better");
    }
}

/// Prints a note if a merged model lacks terms that one of the models has.
pub(crate) fn say_left_out(merged: &Information<'_>, models: &[Filter]) {
    let is_gone = |family: &Refinement| {
        let mut recipes = models.iter().map(|model| model.information().recipe);
        !merged.recipe.has(*family) && recipes.any(|recipe| recipe.has(*family))
    };
    let families = [Refinement::Pairs, Refinement::Pieces, Refinement::Signs];
    let gone: Vec<_> = families.into_iter().filter(is_gone).map(Refinement::name).collect();
    if !gone.is_empty() {
        note!("left out {}, since not all models have them as terms", listed(&gone, "and"));
    }
}

/// `one, two and three`, with this word in place of `and`.
pub(crate) fn listed<S: Borrow<str> + Display>(names: &[S], and: &str) -> String {
    match names {
        [others @ .., last] if !others.is_empty() => format!("{} {and} {last}", others.join(", ")),
        names => names.concat(),
    }
}
