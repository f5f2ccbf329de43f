/// Several terms of a text, in order.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The text, from which no more than the spans need be read. Bytes, because it is made in place: that the spans are
    /// text is not checked again for each occurrence.
    pub(crate) bytes: &'a [u8],
    /// Where each term begins and ends; at most [`Batch::MOST`].
    pub(crate) spans: &'a [[usize; 2]],
}

impl<'a> Batch<'a> {
    /// Terms in one batch at most.
    pub const MOST: usize = 64;

    /// The terms that begin and end at these places of a text, as many batches as it takes.
    pub fn each(text: &'a str, spans: &'a [[usize; 2]]) -> impl Iterator<Item = Batch<'a>> {
        Batch::of_bytes(text.as_bytes(), spans)
    }

    /// The same, of about equal size, for bytes that are text within the spans.
    pub(crate) fn of_bytes(bytes: &'a [u8], spans: &'a [[usize; 2]]) -> impl Iterator<Item = Batch<'a>> {
        let batches = spans.len().div_ceil(Batch::MOST);
        spans.chunks(spans.len().div_ceil(batches.max(1)).max(1)).map(move |spans| Batch { bytes, spans })
    }

    /// Calls `emit` with a batch of this term alone.
    pub(crate) fn of_one(term: &str, emit: &mut impl FnMut(Batch<'_>)) {
        emit(Batch { bytes: term.as_bytes(), spans: &[[0, term.len()]] });
    }

    /// The terms.
    pub fn iter(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let bytes = self.bytes;
        self.spans.iter().map(|span| term(bytes, *span))
    }
}

/// A term of a batch. What it gives for bytes that are no text does not matter: there are none.
pub(crate) fn term(bytes: &[u8], [start, end]: [usize; 2]) -> &str {
    std::str::from_utf8(&bytes[start..end]).unwrap_or_default()
}
