//! The results of extracting a document besides its terms.

use std::ops::Range;

use tamis_mail::{LimitsHit, Scope};
use tamis_model::Stretch;
use tamis_store::file::documents::message;
use tamis_tokenizer::{CountRow, CountVector, Occurrence, TermCount, TermId, Vocabulary, VocabularyFull};

use crate::extract::part_verdict::PlaceInBody;

/// The results of extracting a document besides its terms, which the vocabulary counts. Also holds buffers.
#[derive(Default)]
pub struct Extraction {
    pub(super) tokenizer_scratch: tamis_tokenizer::Scratch,
    /// Text and spans of prefixed terms.
    pub(super) prefixed: (String, Vec<[usize; 2]>),
    pairs: Vec<(TermId, u32)>,
    /// The error if the vocabulary was full.
    pub(super) full: Option<VocabularyFull>,
    /// The number of different words; their pieces come after them.
    pub(super) n_words: usize,
    /// With parts or columns: where terms occur.
    pub(super) places: Places,
    /// Whether documents are identified, as those that are learned are.
    pub(crate) identifies: bool,
    pub facts: DocumentFacts,
    /// Bytes of a text, or of all texts of a row, that may still be read.
    pub(super) bytes_left: usize,
    /// The real values of a row, in column order; `None` if missing.
    pub reals: Vec<Option<f64>>,
    /// The missing columns of a row.
    pub missing: Vec<usize>,
    /// The rows of the whole document and of its columns.
    whole: CountVector,
    groups: Vec<CountVector>,
}

/// Positions among the document's terms.
#[derive(Default)]
pub(super) struct Places {
    /// Whether the parts of mails and texts are wanted.
    pub(super) wants_parts: bool,
    /// Whether the document is a row, and a mail.
    pub(super) is_row: bool,
    pub(super) is_mail: bool,
    /// Of the terms of a row.
    pub(super) columns: Vec<u32>,
    /// End of each column's terms in `columns`.
    pub(super) group_ends: Vec<usize>,
    /// Of the terms of the body.
    body: Vec<u32>,
    /// The parts of the body: the end of each in `body`, and whether people see it.
    parts: Vec<BodyPart>,
    is_seen: bool,
    /// The number of parts that have ended, with the empty ones.
    ended: usize,
    /// Of the pieces of each word, and where the pieces of each word end.
    pieces: Vec<u32>,
    piece_ends: Vec<usize>,
}

struct BodyPart {
    end: usize,
    /// Its number, counting empty ones.
    number: usize,
    is_seen: bool,
}

/// About as many terms of the body are scored by themselves, together with as many that follow: some 250 bytes of a mail.
/// Texts are often as short as half of that.
const STRETCH_OF_MAIL: usize = 40;
const STRETCH_OF_TEXT: usize = 20;

/// What is known of a document beside its terms. Only with [`identifying`](Extraction::identifying) are there a hash of
/// its body, its date and its name.
#[derive(Clone, PartialEq, Default)]
pub struct DocumentFacts {
    /// A hash of the body, in order: the words of a mail, all of a text or a row.
    pub body_hash: u64,
    /// The date of the document in seconds since 1970, if known.
    pub date: Option<i64>,
    /// The name of the document; may be empty.
    pub name: String,
    /// Of a mail without a name, the fields that do not change in transit.
    pub(super) stable_fields: String,
    /// The limits that truncated the document.
    pub limits_hit: LimitsHit,
    /// Whether the document was HTML, so that its tags were left out.
    pub is_html: bool,
    /// The dense vector of the document; empty if it has none.
    pub dense: Vec<f32>,
    /// The places of the words of a mail's body among its terms; none if these are not single words.
    pub(crate) body_words: Vec<Range<usize>>,
}

impl Extraction {
    /// Buffers that also compute the hash of the body, date and name.
    pub fn identifying() -> Self {
        Extraction { identifies: true, ..Self::default() }
    }

    /// Sets whether the stretches of the next documents are wanted.
    pub fn want_parts(&mut self, wanted: bool) {
        self.places.wants_parts = wanted;
    }

    /// The whole document; call [`rows`](Self::rows) before.
    pub fn whole(&self) -> CountRow<'_> {
        self.whole.row()
    }

    /// The terms of each categorical, flag or text column of a row.
    pub fn groups(&self) -> impl Iterator<Item = CountRow<'_>> {
        self.groups[..self.places.group_ends.len()].iter().map(CountVector::row)
    }

    /// The stretches of the body, of which each has the positions of its terms among those of the document. A part of the
    /// body is cut into equal ones. None unless they are wanted.
    pub fn stretches(&self) -> impl Iterator<Item = Stretch<&[u32]>> {
        let stretch = if self.places.is_mail { STRETCH_OF_MAIL } else { STRETCH_OF_TEXT };
        let mut start = 0;
        self.places.parts.iter().flat_map(move |BodyPart { end, is_seen, .. }| {
            let part = &self.places.body[std::mem::replace(&mut start, *end)..*end];
            let n = ((part.len() + stretch / 2) / stretch).max(1);
            (0..n).map(move |i| Stretch {
                terms: &part[part.len() * i / n..part.len() * (i + 1) / n],
                ends_part: i + 1 == n,
                is_seen: *is_seen,
            })
        })
    }

    /// Where some stretches lie, which are of one part of the body.
    pub(crate) fn place_of(&self, stretches: Range<usize>) -> Option<PlaceInBody> {
        let (mut parts, mut start) = (self.places.parts.iter(), 0);
        let lengths: Vec<_> =
            self.stretches().map(|stretch| (stretch.terms.len(), stretch.ends_part)).collect();
        for part in lengths.split_inclusive(|(_, ends_part)| *ends_part) {
            let number = parts.next()?.number;
            if stretches.end <= start + part.len() {
                let before =
                    |at: usize| part[..at - start].iter().map(|(length, _)| length).sum::<usize>() as f64;
                let all = before(start + part.len());
                let share = before(stretches.start.max(start)) / all..before(stretches.end) / all;
                return Some(PlaceInBody { number, share });
            }
            start += part.len();
        }
        None
    }

    /// Whether words have pieces whose places are known.
    pub(crate) fn has_pieces(&self) -> bool {
        !self.places.piece_ends.is_empty()
    }

    /// The places of the pieces of the word at a place.
    pub(crate) fn pieces_of(&self, place: u32) -> &[u32] {
        let Places { pieces, piece_ends, .. } = &self.places;
        let place = place as usize;
        let start = place.checked_sub(1).map_or(0, |before| piece_ends.get(before).copied().unwrap_or(0));
        piece_ends.get(place).map_or(&[][..], |end| &pieces[start..*end])
    }

    /// A hash of the cuts between stretches: equal words can be cut at different places.
    pub fn cuts(&self, terms: &[TermCount]) -> u64 {
        self.stretches().fold(0, |hash, Stretch { terms: places, ends_part, is_seen }| {
            let sum = |sum: u64, place: &u32| sum.wrapping_add(terms[*place as usize].fingerprint);
            chain(hash, places.iter().fold(u64::from(ends_part) + 2 * u64::from(is_seen), sum))
        })
    }

    /// The words among the terms of the document, without the pieces after them.
    pub fn words<'t>(&self, terms: &'t [TermCount]) -> &'t [TermCount] {
        &terms[..self.n_words.min(terms.len())]
    }

    /// A hash of what does not change of a mail in transit; see [`message`]. Only with
    /// [`identifying`](Self::identifying).
    pub fn message(&self) -> u64 {
        let DocumentFacts { name, stable_fields, body_hash, .. } = &self.facts;
        message(if name.is_empty() { stable_fields } else { name }, *body_hash)
    }

    /// Builds the rows of the whole document and its columns. `id` gives the id of a position in `terms`, the terms of the
    /// document; terms without an id are left out.
    pub fn rows(&mut self, terms: &[TermCount], id: impl Fn(usize) -> Option<TermId>) {
        self.pairs.clear();
        self.pairs.extend(terms.iter().enumerate().filter_map(|(at, term)| Some((id(at)?, term.count))));
        self.whole.assign_pairs(&mut self.pairs);
        let (mut groups, mut start) = (std::mem::take(&mut self.groups), 0);
        groups.resize_with(groups.len().max(self.places.group_ends.len()), CountVector::default);
        for (row, end) in groups.iter_mut().zip(&self.places.group_ends) {
            let places = &self.places.columns[std::mem::replace(&mut start, *end)..*end];
            let mut pairs = std::mem::take(&mut self.pairs);
            pairs.clear();
            pairs.extend(self.ids(places, &id));
            row.assign_pairs(&mut pairs);
            self.pairs = pairs;
        }
        self.groups = groups;
    }

    /// The row of the terms at some places, each as often as it is there, with the pieces of words.
    pub fn row(&self, places: &[u32], id: impl Fn(usize) -> Option<TermId>) -> CountVector {
        CountVector::from_pairs(self.ids(places, &id)).unwrap_or_default()
    }

    fn ids<'a>(
        &'a self,
        places: &'a [u32],
        id: &'a impl Fn(usize) -> Option<TermId>,
    ) -> impl Iterator<Item = (TermId, u32)> + 'a {
        let all = places.iter().flat_map(|place| std::iter::once(place).chain(self.pieces_of(*place)));
        all.filter_map(|place| Some((id(*place as usize)?, 1)))
    }

    /// Records the positions of the pieces of each word.
    pub(super) fn place_pieces(&mut self, vocabulary: &Vocabulary) {
        for word in &vocabulary.document()[..self.n_words] {
            // fewer than 2^32
            self.places.pieces.extend(vocabulary.piece_places(word.id).map(|place| place as u32));
            self.places.piece_ends.push(self.places.pieces.len());
        }
    }

    /// Forgets the document, its parts and columns.
    pub fn clear(&mut self) {
        let Places { columns, group_ends, body, parts, pieces, piece_ends, .. } = &mut self.places;
        [columns, body, pieces].into_iter().for_each(Vec::clear);
        [group_ends, piece_ends].into_iter().for_each(Vec::clear);
        parts.clear();
        self.places.ended = 0;
        self.full = None;
        let facts = &mut self.facts;
        (facts.body_hash, facts.date) = (0, None);
        facts.name.clear();
        facts.stable_fields.clear();
        (facts.limits_hit, facts.is_html) = (LimitsHit::default(), false);
        facts.dense.clear();
        facts.body_words.clear();
        self.reals.clear();
        self.missing.clear();
    }

    /// The beginning of a text that the limit still allows, in whole characters.
    pub(super) fn within_limit<'a>(&mut self, text: &'a str) -> &'a str {
        let read = &text[..text.floor_char_boundary(self.bytes_left)];
        self.bytes_left -= read.len();
        if read.len() < text.len() {
            (self.facts.limits_hit.bytes, self.facts.limits_hit.text) = (true, true);
        }
        read
    }

    /// Ends a part of the body, unless empty.
    pub(super) fn end_part(&mut self) {
        let Places { body, parts, is_seen, ended, .. } = &mut self.places;
        if body.len() > parts.last().map_or(0, |part| part.end) {
            parts.push(BodyPart { end: body.len(), number: *ended, is_seen: *is_seen });
        }
        *ended += 1;
    }
}

impl Places {
    /// Whether it takes note of any place.
    pub(super) fn are_wanted(&self) -> bool {
        self.wants_parts || self.is_row
    }

    /// Takes note of terms, if their places are wanted.
    pub(super) fn add(&mut self, scope: Scope, occurrences: &[Occurrence]) {
        let to = match scope {
            _ if self.is_row => &mut self.columns,
            Scope::Part | Scope::Unseen if self.wants_parts => &mut self.body,
            Scope::Message | Scope::Body | Scope::Part | Scope::Unseen => return,
        };
        self.is_seen = scope == Scope::Part;
        // a document has fewer than 2^32 terms
        to.extend(occurrences.iter().map(|occurrence| occurrence.place as u32));
    }
}

/// Adds one more term to a hash of terms in order.
pub(super) fn chain(group: u64, fingerprint: u64) -> u64 {
    (group.rotate_left(23) ^ fingerprint).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
