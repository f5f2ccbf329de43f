//! Text to terms, and terms to count vectors over a vocabulary. No I/O, no model.
//!
//! ```text
//! text --WordRule--> words --Tokenizer--> terms --Vocabulary--> ids --> CountVector
//! ```
//!
//! * A [`WordRule`] says what a word is: Unicode text segmentation (UAX #29), or a rule for mail.
//! * [`normalize()`] undoes obfuscation: NFKC, invisible characters, look-alike letters.
//! * A [`Tokenizer`] turns words into terms: length, case folding, stop words, stemming, n-grams, signs; bigrams of
//!   characters for scripts without spaces; or n-grams of characters. [`TokenizerOptions`] control it all.
//! * A [`Vocabulary`] numbers terms and finds them by their 64-bit [`fingerprint`].
//! * A [`CountVector`] counts the terms of one document.
//!
//! ```
//! use tamis_tokenizer::{Scratch, Tokenizer, TokenizerOptions, Vocabulary};
//!
//! let mut options = TokenizerOptions::mail();
//! options.signs = false;
//! let tokenizer = Tokenizer::new(options)?;
//! let (mut vocabulary, mut scratch) = (Vocabulary::new(), Scratch::default());
//! for text in ["Win $1000 now! WIN!", "See you at ten"] {
//!     let counts = tokenizer.count(text, &mut vocabulary, &mut scratch)?;
//!     assert_eq!(counts.row().ids().len(), 4);
//! }
//! let terms: Vec<_> = vocabulary.iter().map(|(_, term)| term).collect();
//! assert_eq!(terms, ["win", "$1000", "now!", "win!", "see", "you", "at", "ten"]);
//!
//! let known = tokenizer.count_known("win or lose", &vocabulary, &mut scratch);
//! assert_eq!(known.row().ids(), [0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Nothing here panics, whatever the text; memory grows with the longest text and the number of distinct terms.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

// The rooms, the lowest first: none uses one that comes after it (tests/code/rooms.rs).
#[doc(hidden)]
pub mod bits;

mod error;

#[doc(hidden)]
pub mod reference;

mod characters;

mod words;

mod counts;

mod terms;

#[cfg(test)]
mod testing;

pub use characters::normalize::{normalize, normalize_within};
pub use counts::fingerprint::fingerprint;
pub use counts::table::TermId;
pub use counts::tally::TermCount;
pub use counts::term_texts::TermTexts;
pub use counts::vector::{CountRow, CountVector};
pub use counts::vocabulary::{Occurrence, Vocabulary};
pub use error::{CountError, OptionsError, ParseNameError, VocabularyFull};
pub use terms::language::{Language, stop_words};
pub use terms::options::{Ngrams, TokenizerOptions};
pub use terms::{Scratch, Tokenizer};
pub use words::WordRule;
pub use words::batch::Batch;
pub use words::disguise::undisguised;
pub use words::pieces::{PieceLengths, is_piece};
pub use words::unspaced::is_four;

/// The README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
