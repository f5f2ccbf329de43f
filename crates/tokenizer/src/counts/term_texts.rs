//! The texts of terms, by id.

use std::ops::Range;

use crate::counts::table::TermId;

/// The texts of a [`Vocabulary`](crate::Vocabulary) without its index, which takes several times the memory.
#[derive(Clone, Default, Debug)]
pub struct TermTexts {
    /// All texts, concatenated: text i ends at `ends[i]`.
    texts: String,
    ends: Vec<usize>,
}

impl TermTexts {
    /// The text of a term, or `None` for an unknown id.
    pub fn get(&self, id: TermId) -> Option<&str> {
        ((id as usize) < self.ends.len()).then(|| &self.texts[self.span(id)])
    }

    /// All texts, in order of id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).map(|id| &self.texts[self.span(id as TermId)])
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.texts.push_str(text);
        self.ends.push(self.texts.len());
    }

    /// Replaces a text. Moves all later texts, which is acceptable because collisions are rare.
    pub(crate) fn replace(&mut self, id: TermId, text: &str) {
        let span = self.span(id);
        self.texts.replace_range(span.clone(), text);
        for end in &mut self.ends[id as usize..] {
            *end = *end - span.len() + text.len();
        }
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.ends.truncate(len);
        self.texts.truncate(self.ends.last().copied().unwrap_or(0));
    }

    /// Where the text of a known id is.
    fn span(&self, id: TermId) -> Range<usize> {
        let id = id as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] };
        start..self.ends[id]
    }
}
