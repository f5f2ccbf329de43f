//! The results of extracting a document besides its terms.

use tamis_mail::LimitsHit;
use tamis_store::file::documents::message;
use tamis_tokenizer::{CountRow, CountVector, TermCount, TermId, Vocabulary, VocabularyFull};

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
    /// With windows or columns: where terms occur.
    pub(super) places: Places,
    pub(super) identity: Identity,
    pub(super) limits_hit: LimitsHit,
    pub(super) is_html: bool,
    /// Bytes of a text, or of all texts of a row, that may still be read.
    pub(super) bytes_left: usize,
    /// The real values of a row.
    pub(super) reals: Vec<Option<f64>>,
    /// The missing columns.
    pub(super) missing: Vec<usize>,
    /// The dense vector beside the document.
    pub(super) dense: Vec<f32>,
    /// The rows of the whole document, of its windows and of its columns.
    whole: CountVector,
    windows: Vec<CountVector>,
    n_windows: usize,
    groups: Vec<CountVector>,
}

/// Positions among the document's terms.
#[derive(Default)]
pub(super) struct Places {
    /// Of the terms outside the body, and in it.
    pub(super) outside: Vec<u32>,
    pub(super) body: Vec<u32>,
    /// End of each stretch (half a window) in `body`.
    pub(super) stretches: Vec<usize>,
    /// End of each column's terms in `outside`.
    pub(super) group_ends: Vec<usize>,
    /// Of the pieces of each word, and where the pieces of each word end.
    pieces: Vec<u32>,
    piece_ends: Vec<usize>,
}

/// What identifies a document.
#[derive(Clone, PartialEq, Default)]
pub(super) struct Identity {
    /// Whether it is wanted: for documents that are learned.
    pub(super) wanted: bool,
    /// A hash of the terms of the body, in order.
    pub(super) body_hash: u64,
    pub(super) date: Option<i64>,
    pub(super) name: String,
    /// Of a mail without a name, the fields that do not change in transit.
    pub(super) stable_fields: String,
}

impl Extraction {
    /// Buffers that also compute [`body_hash`](Self::body_hash), date and name.
    pub fn identifying() -> Self {
        Extraction { identity: Identity { wanted: true, ..Identity::default() }, ..Self::default() }
    }

    /// Sets whether the next documents are identified, as by [`identifying`](Self::identifying).
    pub(crate) fn identify(&mut self, wanted: bool) {
        self.identity.wanted = wanted;
    }

    /// The whole document; call [`rows`](Self::rows) before.
    pub fn whole(&self) -> CountRow<'_> {
        self.whole.row()
    }

    /// The windows of the document: the terms outside the body, up to [`MOST_OUTSIDE`], with a window of the body.
    /// Empty if the body is a single window.
    pub fn windows(&self) -> impl Iterator<Item = CountRow<'_>> {
        self.windows[..self.n_windows].iter().map(CountVector::row)
    }

    /// The terms of each categorical, flag or text column of a row.
    pub fn groups(&self) -> impl Iterator<Item = CountRow<'_>> {
        self.groups[..self.places.group_ends.len()].iter().map(CountVector::row)
    }

    /// Whether the document was HTML, so that its tags were left out.
    pub fn is_html(&self) -> bool {
        self.is_html
    }

    /// Whether the body is long enough for windows.
    pub fn has_windows(&self) -> bool {
        self.places.stretches.len() > 2
    }

    /// A hash of the cuts between stretches, if there are windows: equal words can be cut at different places.
    pub fn cuts(&self, terms: &[TermCount]) -> u64 {
        let mut start = 0;
        let stretches = self.places.stretches.iter().take_while(|_| self.has_windows());
        stretches.fold(0, |hash, end| {
            let within = &self.places.body[std::mem::replace(&mut start, *end)..*end];
            let sum = |sum: u64, place: &u32| sum.wrapping_add(terms[*place as usize].fingerprint);
            chain(hash, within.iter().fold(0, sum))
        })
    }

    /// The words among the terms of the document, without the pieces after them.
    pub fn words<'t>(&self, terms: &'t [TermCount]) -> &'t [TermCount] {
        &terms[..self.n_words.min(terms.len())]
    }

    /// A hash of the body: the words of a mail, all of a text or a row. Only with [`identifying`](Self::identifying).
    pub fn body_hash(&self) -> u64 {
        self.identity.body_hash
    }

    /// The date of the document in seconds since 1970, if known. Only with [`identifying`](Self::identifying).
    pub fn date(&self) -> Option<i64> {
        self.identity.date
    }

    /// The name of the document; may be empty. Only with [`identifying`](Self::identifying).
    pub fn name(&self) -> &str {
        &self.identity.name
    }

    /// A hash of what does not change of a mail in transit; see [`message`]. Only with
    /// [`identifying`](Self::identifying).
    pub fn message(&self) -> u64 {
        let Identity { name, stable_fields, body_hash, .. } = &self.identity;
        message(if name.is_empty() { stable_fields } else { name }, *body_hash)
    }

    /// The limits that truncated the document.
    pub fn limits_hit(&self) -> LimitsHit {
        self.limits_hit
    }

    /// The real values of a row, in column order; `None` if missing.
    pub fn reals(&self) -> &[Option<f64>] {
        &self.reals
    }

    /// The dense vector of the document; empty if it has none.
    pub fn dense(&self) -> &[f32] {
        &self.dense
    }

    /// The missing columns of a row.
    pub fn missing(&self) -> &[usize] {
        &self.missing
    }

    /// Builds the rows of the whole document, its windows and its columns. `id` gives the id of a position in `terms`,
    /// the terms of the document; terms without an id are left out.
    pub fn rows(&mut self, terms: &[TermCount], id: impl Fn(usize) -> Option<TermId>) {
        let Extraction { places, whole, windows, n_windows, groups, pairs, .. } = self;
        let Places { outside, body, stretches, group_ends, pieces, piece_ends } = places;
        pairs.clear();
        pairs.extend(terms.iter().enumerate().filter_map(|(at, term)| Some((id(at)?, term.count))));
        whole.assign_pairs(pairs);
        let pieces_of = |place: u32| {
            let place = place as usize;
            let start = place.checked_sub(1).map_or(0, |before| piece_ends.get(before).copied().unwrap_or(0));
            piece_ends.get(place).map_or(&[][..], |end| &pieces[start..*end])
        };
        let mut count = |more: CountRow<'_>, places: &[u32], rows: &mut Vec<CountVector>, i: usize| {
            pairs.clear();
            pairs.extend(more.iter());
            let all = places.iter().flat_map(|place| std::iter::once(place).chain(pieces_of(*place)));
            pairs.extend(all.filter_map(|place| Some((id(*place as usize)?, 1))));
            rows.resize_with(rows.len().max(i + 1), CountVector::default);
            rows[i].assign_pairs(pairs);
        };
        let mut start = 0;
        for (i, end) in group_ends.iter().enumerate() {
            count(CountRow::default(), &outside[start..*end], groups, i);
            start = *end;
        }
        *n_windows = 0;
        if stretches.len() <= 2 {
            return;
        }
        // computed once: there can be many windows
        let mut all_outside = Vec::new();
        count(CountRow::default(), &outside[..outside.len().min(MOST_OUTSIDE)], &mut all_outside, 0);
        let mut start = 0;
        for pair in stretches.windows(2) {
            count(all_outside[0].row(), &body[start..pair[1]], windows, *n_windows);
            *n_windows += 1;
            start = pair[0];
        }
    }

    /// Records the positions of the pieces of each word.
    pub(super) fn place_pieces(&mut self, vocabulary: &Vocabulary) {
        for word in &vocabulary.document()[..self.n_words] {
            // fewer than 2^32
            self.places.pieces.extend(vocabulary.piece_places(word.id).map(|place| place as u32));
            self.places.piece_ends.push(self.places.pieces.len());
        }
    }

    /// Forgets the document, its windows and columns.
    pub fn clear(&mut self) {
        let Places { outside, body, stretches, group_ends, pieces, piece_ends } = &mut self.places;
        [outside, body, pieces].into_iter().for_each(Vec::clear);
        [stretches, group_ends, piece_ends].into_iter().for_each(Vec::clear);
        self.full = None;
        (self.identity.body_hash, self.identity.date) = (0, None);
        self.identity.name.clear();
        self.identity.stable_fields.clear();
        self.limits_hit = LimitsHit::default();
        self.is_html = false;
        self.n_windows = 0;
        self.reals.clear();
        self.missing.clear();
        self.dense.clear();
    }

    /// The beginning of a text that the limit still allows, in whole characters.
    pub(super) fn within_limit<'a>(&mut self, text: &'a str) -> &'a str {
        let read = &text[..text.floor_char_boundary(self.bytes_left)];
        self.bytes_left -= read.len();
        if read.len() < text.len() {
            (self.limits_hit.bytes, self.limits_hit.text) = (true, true);
        }
        read
    }

    /// Ends a stretch of the body, unless empty.
    pub(super) fn end_stretch(&mut self) {
        let Places { body, stretches, .. } = &mut self.places;
        if body.len() > stretches.last().copied().unwrap_or(0) {
            stretches.push(body.len());
        }
    }
}

/// Maximum number of occurrences outside the body in each window: more than real mail has, and few enough that a
/// message with many of them and many windows stays cheap.
pub(super) const MOST_OUTSIDE: usize = 4_096;

/// Adds one more term to a hash of terms in order.
pub(super) fn chain(group: u64, fingerprint: u64) -> u64 {
    (group.rotate_left(23) ^ fingerprint).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
