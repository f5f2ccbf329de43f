/// Several terms of a text, in order.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The text, from which no more than the spans need be read.
    pub(crate) text: &'a str,
    /// Where each term begins and ends.
    pub(crate) spans: &'a [(usize, usize)],
}

impl<'a> Batch<'a> {
    /// Terms in one batch at most.
    pub(crate) const MOST: usize = 32;

    /// Calls `emit` with a batch of this term alone.
    pub(crate) fn of_one(term: &str, emit: &mut impl FnMut(Batch<'_>)) {
        emit(Batch { text: term, spans: &[(0, term.len())] });
    }

    /// The terms.
    pub fn iter(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let text = self.text;
        self.spans.iter().map(|(start, end)| &text[*start..*end])
    }
}

/// Words of a text on their way into batches.
pub(crate) struct Batches<'t, F> {
    pub(crate) text: &'t str,
    spans: [(usize, usize); Batch::MOST],
    n: usize,
    pub(crate) emit: F,
}

impl<'t, F: FnMut(Batch<'_>)> Batches<'t, F> {
    pub(crate) fn new(text: &'t str, emit: F) -> Self {
        Batches { text, spans: [(0, 0); Batch::MOST], n: 0, emit }
    }

    /// A word that stands in the text.
    #[inline(always)]
    pub(crate) fn push(&mut self, start: usize, end: usize) {
        self.spans[self.n] = (start, end);
        self.n += 1;
        if self.n == Batch::MOST {
            self.flush();
        }
    }

    /// A word that does not stand in the text as it is.
    pub(crate) fn push_other(&mut self, word: &str) {
        self.flush();
        Batch::of_one(word, &mut self.emit);
    }

    /// Emits the words that wait.
    #[inline(never)]
    pub(crate) fn flush(&mut self) {
        if self.n > 0 {
            (self.emit)(Batch { text: self.text, spans: &self.spans[..self.n] });
            self.n = 0;
        }
    }
}
