//! Exact word segmentation with the Unicode crates: slow, and right for any text.

use crate::characters::normalize::Normalizer;
use crate::terms::options::TokenizerOptions;
use crate::words::unspaced::{BigramRuns, Segment};

/// Buffers reused from text to text.
#[derive(Clone, Default, Debug)]
pub(crate) struct ExactBuffers {
    pub(crate) normalizer: Normalizer,
    lower: String,
}

/// Calls `emit` with every word and every pair of a text. In words that are not all ASCII, folds only the ASCII.
pub(crate) fn for_each_piece(
    options: &TokenizerOptions,
    text: &str,
    buffers: &mut ExactBuffers,
    mut emit: impl FnMut(Segment<'_>),
) {
    #[cfg(test)]
    tamis_testing::step(text.len());
    let ExactBuffers { normalizer, lower } = buffers;
    let text = if options.normalize { normalizer.normalize(text) } else { text };
    let text = if options.fold_case {
        // lower-casing ASCII moves no word boundary
        lower.clear();
        lower.push_str(text);
        lower.make_ascii_lowercase();
        lower
    } else {
        text
    };
    if options.unspaced_bigrams {
        let mut runs = BigramRuns::new(text, options.has_fours());
        options.word_rule.for_each_word_plainly(text, |word| runs.word(word, &mut emit));
        runs.finish(&mut emit);
    } else {
        options.word_rule.for_each_word_plainly(text, |word| emit(Segment::Word(word.text)));
    }
}
