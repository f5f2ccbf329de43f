//! The text of a document, word by word, with each word's contribution to the score.

use std::collections::HashMap;

use tamis_tokenizer::Ngrams;

use crate::extract::document::Document;
use crate::score::explain::Explanation;
use crate::score::filter::Filter;

/// A word of a document, with the text up to the next word, and its contribution to the log-odds.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct ExplainedWord {
    /// The word as written.
    pub text: String,
    /// Its share of the contributions of its terms, in nats. The occurrences of a term share its contribution equally,
    /// and so do the two words of a pair.
    pub contribution: f64,
}

/// Maximum number of words of a document: nobody reads more.
const MOST: usize = 5_000;

impl Filter {
    /// The words of the document that `explanation` explains, in order; at most 5,000. Of a mail, these are the words
    /// of subject and body.
    ///
    /// ```
    /// use tamis_train::{Document, Kind, Scratch, TrainOptions, Trainer};
    ///
    /// let mut trainer = Trainer::new(TrainOptions::new(Kind::Text))?;
    /// trainer.add("fruit", Document::Text("apples and pears"))?;
    /// trainer.add("metal", Document::Text("iron and tin"))?;
    /// let filter = trainer.finish()?.into_filter()?;
    /// let document = Document::Text("apples, now");
    /// let explanation = filter.explain(document, &mut Scratch::default())?;
    /// let words = filter.explain_words(document, &explanation);
    /// assert_eq!((words[0].text.as_str(), words[1].contribution), ("apples, ", 0.0));
    /// assert!(words[0].contribution > 0.0);
    /// # Ok::<(), tamis_train::Error>(())
    /// ```
    pub fn explain_words(&self, document: Document<'_>, explanation: &Explanation) -> Vec<ExplainedWord> {
        let of_one = |count: u32| f64::from(count.max(1));
        let adds: HashMap<&str, f64> =
            explanation.terms.iter().map(|t| (t.term.as_str(), t.contribution / of_one(t.count))).collect();
        let mut words: Vec<ExplainedWord> = Vec::new();
        document.for_each_text(self.extractor.recipe(), |prefix, text| {
            let pieces = pieces(text, MOST.saturating_sub(words.len()));
            if let Some(last) = words.last_mut().filter(|_| !pieces.is_empty()) {
                last.text.push_str("\n\n");
            }
            let sum_of = |text: &str, counts: fn(&str) -> bool| {
                let mut sum = 0.0;
                self.extractor.for_each_term(prefix, text, |term| {
                    if counts(&term[prefix.len()..]) {
                        sum += adds.get(term).copied().unwrap_or(0.0);
                    }
                });
                sum
            };
            // within the text, no word is at an end
            let sum = |text: &str| sum_of(text, |term| !begins(term) && !ends(term));
            let alone: Vec<f64> = pieces.iter().map(|piece| sum(piece)).collect();
            let mut all = alone.clone();
            if !matches!(self.extractor.recipe().tokenizer.terms, Ngrams::Words { max: 1, .. }) {
                for (at, pair) in pieces.windows(2).enumerate() {
                    // what the pair adds beyond its two words
                    let half = (sum(&pair.concat()) - alone[at] - alone[at + 1]) / 2.0;
                    all[at..at + 2].iter_mut().for_each(|sum| *sum += half);
                }
            }
            if let [first, .., last] | [first @ last] = &pieces[..] {
                all[0] += sum_of(first, begins);
                all[pieces.len() - 1] += sum_of(last, ends);
            }
            let word =
                |(text, contribution): (&&str, f64)| ExplainedWord { text: (*text).to_owned(), contribution };
            words.extend(pieces.iter().zip(all).map(word));
        });
        words
    }
}

/// Whether a term is a sequence of words that begins, or ends, the text.
fn begins(term: &str) -> bool {
    term.starts_with("^ ")
}

fn ends(term: &str) -> bool {
    term.ends_with(" ^")
}

/// The words of a text, each with the blanks after it; at most `most`.
fn pieces(text: &str, most: usize) -> Vec<&str> {
    let (mut pieces, mut start, mut is_blank) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        if is_blank && !c.is_whitespace() {
            pieces.push(&text[start..at]);
            start = at;
        }
        is_blank = c.is_whitespace();
        if pieces.len() >= most {
            return pieces;
        }
    }
    if start < text.len() && pieces.len() < most {
        pieces.push(&text[start..]);
    }
    pieces
}
