/// Several terms of a text, in order.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The text, from which no more than the spans need be read.
    pub(crate) text: &'a str,
    /// Where each term begins and ends; at most [`Batch::MOST`].
    pub(crate) spans: &'a [[usize; 2]],
}

impl<'a> Batch<'a> {
    /// Terms in one batch at most.
    pub const MOST: usize = 64;

    /// The terms that begin and end at these places of a text, as many batches as it takes.
    pub fn each(text: &'a str, spans: &'a [[usize; 2]]) -> impl Iterator<Item = Batch<'a>> {
        spans.chunks(Batch::MOST).map(move |spans| Batch { text, spans })
    }

    /// Calls `emit` with a batch of this term alone.
    pub(crate) fn of_one(term: &str, emit: &mut impl FnMut(Batch<'_>)) {
        emit(Batch { text: term, spans: &[[0, term.len()]] });
    }

    /// The terms.
    pub fn iter(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let text = self.text;
        self.spans.iter().map(|[start, end]| &text[*start..*end])
    }
}
