//! Words to terms: length limits, stop words, stemming. Emits terms in batches.

use std::mem;
use std::ops::Range;

use crate::characters::fold_into;
use crate::characters::normalize::Normalizer;
use crate::characters::rules::is_unspaced;
use crate::terms::language::StemCache;
use crate::terms::options::{CheckedOptions, TokenizerOptions};
use crate::terms::walk::Walk;
use crate::words::WordRule;
use crate::words::batch::{Batch, term};
use crate::words::scan::{NonAscii, SHORT, Spans, TextRun};
use crate::words::unspaced::{BigramRuns, WordSegment};

/// Buffers reused from text to text.
#[derive(Clone, Default, Debug)]
pub(crate) struct TermBuffers {
    /// The folded text, followed by terms that do not occur in it verbatim.
    bytes: Vec<u8>,
    /// Spans of the pending terms, then of the pending words.
    spans: Vec<[usize; 2]>,
    pub(crate) exact: ExactBuffers,
    folded: String,
    stems: StemCache,
}

/// Calls `emit` with the terms of a text, each of a single word.
pub(crate) fn for_each_batch(
    options: &CheckedOptions,
    text: &str,
    buffers: &mut TermBuffers,
    emit: impl FnMut(Batch<'_>),
) {
    buffers.bytes.clear();
    buffers.bytes.extend_from_slice(text.as_bytes());
    if options.fold_case {
        // folding everything at once is faster than word by word
        buffers.bytes.make_ascii_lowercase();
    }
    let plain = options.stemmer.is_none() && options.stop_words.is_empty();
    let mut words = PendingWords { options, text, buffers, n_terms: 0, plain, emit };
    if options.word_rule == WordRule::Mail && options.normalize && moves_runs_of_mail(text) {
        words.exactly(0..text.len());
    } else {
        options.word_rule.for_each_run(text, |run| match run {
            TextRun::Ascii(found) => words.ascii(found),
            TextRun::NonAscii(run) => words.non_ascii(run),
        });
    }
    words.flush();
}

/// Whether the text contains [`SOLIDUS`]. ASCII such as `=` composes with it, and then no longer separates mail runs.
fn moves_runs_of_mail(text: &str) -> bool {
    // a vectorized test for the first byte of that mark, which hardly any text contains
    let has = |block: &[u8]| block.iter().fold(0, |has, byte| has | u8::from(*byte == 0xcc)) != 0;
    text.as_bytes().chunks(256).any(has) && text.contains(SOLIDUS)
}

const SOLIDUS: char = '\u{338}';

/// The pending words of a text.
struct PendingWords<'a, F> {
    options: &'a CheckedOptions,
    text: &'a str,
    buffers: &'a mut TermBuffers,
    /// The number of spans that are terms already; the others are still words.
    n_terms: usize,
    /// Whether words become terms unchanged, apart from the length limits.
    plain: bool,
    emit: F,
}

impl<F: FnMut(Batch<'_>)> PendingWords<'_, F> {
    /// Adds words of the text that are all ASCII.
    #[inline(always)]
    fn ascii(&mut self, Spans { spans, are_short }: Spans<'_>) {
        let options = self.options;
        let fit = || are_short && options.min_chars == 1 && usize::from(options.max_chars) >= SHORT;
        if self.plain && fit() && self.buffers.spans.is_empty() {
            // the common case
            return (self.emit)(Batch { bytes: &self.buffers.bytes, spans, are_signs: false });
        }
        self.buffers.spans.extend_from_slice(spans);
        if self.buffers.spans.len() >= Batch::MOST {
            self.flush();
        }
    }

    /// Adds the words of a run that is not all ASCII.
    #[inline(always)]
    fn non_ascii(&mut self, run: NonAscii) {
        let TermBuffers { bytes, spans, .. } = &mut *self.buffers;
        let places = [run.after, run.start, run.end];
        let mut walked = Walk::run(self.options, self.text, places, bytes, spans);
        while let Err(unusual) = walked {
            self.exactly(unusual.start..unusual.end);
            let TermBuffers { bytes, spans, .. } = &mut *self.buffers;
            walked = Walk::resume(self.options, self.text, &unusual, bytes, spans);
        }
        if self.buffers.spans.len() >= Batch::MOST {
            self.flush();
        }
    }

    /// Emits the pending terms.
    #[inline(never)]
    fn flush(&mut self) {
        self.make_terms();
        let TermBuffers { bytes, spans, .. } = &mut *self.buffers;
        Batch::of_bytes(bytes, spans).for_each(&mut self.emit);
        spans.clear();
        bytes.truncate(self.text.len());
        self.n_terms = 0;
    }

    /// Turns the pending words into terms.
    fn make_terms(&mut self) {
        let options = self.options;
        // a word has no more characters than bytes
        let most = if self.plain && options.min_chars == 1 { usize::from(options.max_chars) } else { 0 };
        let is_term = |[start, end]: [usize; 2]| end - start <= most;
        let all = self.buffers.spans.len();
        let words = mem::replace(&mut self.n_terms, all)..all;
        if self.buffers.spans[words.clone()].iter().fold(true, |are, span| are & is_term(*span)) {
            return;
        }
        self.n_terms = words.start;
        for i in words {
            let span = self.buffers.spans[i];
            if let Some(span) = if is_term(span) { Some(span) } else { self.term(span) } {
                self.buffers.spans[self.n_terms] = span;
                self.n_terms += 1;
            }
        }
        self.buffers.spans.truncate(self.n_terms);
    }

    /// Returns the term that a word becomes, if any.
    #[inline(never)]
    fn term(&mut self, span: [usize; 2]) -> Option<[usize; 2]> {
        let TermBuffers { bytes, stems, .. } = &mut *self.buffers;
        let word = term(bytes, span);
        let is_pair = word.chars().next().is_some_and(is_unspaced);
        if is_pair {
            return (!self.options.is_stop_word(word)).then_some(span);
        }
        match WordTerm::decide(word, word.chars().count(), self.options, stems) {
            WordTerm::Nothing => None,
            WordTerm::Itself => Some(span),
            WordTerm::Other(other) => {
                bytes.extend_from_slice(other.as_bytes());
                Some([bytes.len() - other.len(), bytes.len()])
            }
        }
    }

    /// Handles a part of the text with the exact code.
    #[cold]
    fn exactly(&mut self, part: Range<usize>) {
        self.make_terms();
        let mut buffers = mem::take(&mut self.buffers.exact);
        for_each_piece(self.options, &self.text[part], &mut buffers, |piece| self.piece(piece));
        self.buffers.exact = buffers;
    }

    fn piece(&mut self, piece: WordSegment<'_>) {
        match piece {
            WordSegment::Pair(pair) if self.options.is_stop_word(pair) => {}
            WordSegment::Pair(pair) => self.push(pair),
            WordSegment::Word(word) => {
                let mut folded = mem::take(&mut self.buffers.folded);
                let chars = word.chars().count();
                let word = if self.options.fold_case {
                    fold_into(word, &mut folded);
                    &folded
                } else {
                    word
                };
                let mut stems = mem::take(&mut self.buffers.stems);
                match WordTerm::decide(word, chars, self.options, &mut stems) {
                    WordTerm::Nothing => {}
                    WordTerm::Itself => self.push(word),
                    WordTerm::Other(other) => self.push(other),
                }
                (self.buffers.stems, self.buffers.folded) = (stems, folded);
            }
        }
    }

    /// Adds a term that does not occur in the text verbatim.
    fn push(&mut self, term: &str) {
        let TermBuffers { bytes, spans, .. } = &mut *self.buffers;
        bytes.extend_from_slice(term.as_bytes());
        spans.push([bytes.len() - term.len(), bytes.len()]);
        self.n_terms = spans.len();
        if self.n_terms >= Batch::MOST {
            self.flush();
        }
    }
}

/// What a folded word becomes.
enum WordTerm<'a> {
    Nothing,
    Itself,
    Other(&'a str),
}

impl<'a> WordTerm<'a> {
    /// Decides about a word of `chars` characters. A word that is too long is replaced by its length.
    fn decide(word: &str, chars: usize, options: &CheckedOptions, stems: &'a mut StemCache) -> WordTerm<'a> {
        if chars > usize::from(options.max_chars) {
            return WordTerm::Other(LONG[(chars / 10).min(LONG.len() - 1)]);
        }
        if chars < usize::from(options.min_chars) || options.is_stop_word(word) {
            return WordTerm::Nothing;
        }
        options.stemmer.map_or(WordTerm::Itself, |language| WordTerm::Other(stems.stem(language, word)))
    }
}

/// Terms for words that are too long, by tens of characters.
static LONG: [&str; 21] = [
    "~long0", "~long1", "~long2", "~long3", "~long4", "~long5", "~long6", "~long7", "~long8", "~long9",
    "~long10", "~long11", "~long12", "~long13", "~long14", "~long15", "~long16", "~long17", "~long18",
    "~long19", "~long20",
];

/// Buffers reused from text to text.
#[derive(Clone, Default, Debug)]
pub(crate) struct ExactBuffers {
    pub(crate) normalizer: Normalizer,
    lower: String,
}

/// Calls `emit` with every word and every pair of a text. In words that are not all ASCII, folds only the ASCII.
fn for_each_piece(
    options: &TokenizerOptions,
    text: &str,
    buffers: &mut ExactBuffers,
    mut emit: impl FnMut(WordSegment<'_>),
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
        options.word_rule.for_each_word_plainly(text, |word| emit(WordSegment::Word(word.text)));
    }
}

#[cfg(test)]
mod tests {
    use unicode_normalization::char::compose;

    use super::*;

    /// Covers all cases of [`moves_runs_of_mail`].
    #[test]
    fn signs_that_part_runs_of_mail_are_made_one_with_one_mark() {
        let parts = |c: &char| !c.is_ascii_alphanumeric() && !"$'!%-".contains(*c);
        for sign in ('\0'..'\u{80}').filter(parts) {
            for mark in ('\u{80}'..=char::MAX).filter(|mark| compose(sign, *mark).is_some()) {
                assert_eq!(mark, SOLIDUS, "{sign}");
            }
        }
        assert!(moves_runs_of_mail(&format!("é{}=\u{338}", "x".repeat(300))));
        assert!(!moves_runs_of_mail("= a\u{301}"));
    }
}
