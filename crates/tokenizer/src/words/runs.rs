//! Runs of bytes that contain words; in ASCII the runs are the words.

use crate::bits::next_non_ascii;
use crate::words::scan::{Shape, Spans, for_each_batch};

/// A run of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Run<'a> {
    /// Words that are all ASCII.
    Ascii(Spans<'a>),
    /// A run that is not all ASCII.
    NonAscii(NonAscii),
}

/// A run with non-ASCII characters. Its words do not depend on text before `after` or from `end` on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NonAscii {
    /// End of the previous run.
    pub(crate) after: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Calls `emit` with all runs of a text, in order.
#[inline(always)]
pub(crate) fn for_each_run<S: Shape>(text: &str, mut emit: impl FnMut(Run<'_>)) {
    let bytes = text.as_bytes();
    // the next non-ASCII byte, unless it is before the current run
    let mut non_ascii = next_non_ascii(bytes, 0);
    let mut after = 0;
    for_each_batch::<S>(bytes, 0, |Spans { mut spans, are_short }| {
        while let Some((&[start, end], rest)) = spans.split_first() {
            if non_ascii < start {
                // if a word has non-ASCII letters, the first letter usually is one
                non_ascii = if bytes[start].is_ascii() { next_non_ascii(bytes, start) } else { start };
            }
            if non_ascii < end {
                emit(Run::NonAscii(NonAscii { after, start, end }));
                (after, spans) = (end, rest);
                continue;
            }
            let is_ascii = |span: &&[usize; 2]| span[1] <= non_ascii;
            let ascii = match spans.last().filter(is_ascii) {
                Some(_) => spans.len(),
                None => spans.iter().take_while(is_ascii).count(),
            };
            let (ascii, rest) = spans.split_at(ascii);
            emit(Run::Ascii(Spans { spans: ascii, are_short }));
            (after, spans) = (ascii.last().map_or(end, |span| span[1]), rest);
        }
    });
}
