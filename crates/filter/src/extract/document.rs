//! A document to learn from or to score, and its digest.

use tamis_mail::{Message, Piece, markup_to_text};
use tamis_store::config::recipe::Recipe;
use tamis_tokenizer::TermCount;
use xxhash_rust::xxh3::xxh3_128;

use crate::extract::counted::CountedDocument;

/// One document to learn from or to score.
///
/// A model of mail takes `Mail` and `Fields`, a model of text takes `Text` and `Fields`, a model of a table `Fields`.
#[derive(Clone, Copy, Debug)]
pub enum Document<'a> {
    /// A raw RFC 5322 message.
    Mail(&'a [u8]),
    /// Text. Of HTML only the text is read, unless [`Recipe::raw`](crate::Recipe::raw) is set.
    Text(&'a str),
    /// Named fields of text: `("subject", "...")`; the field with the empty name is the body. For a table, a row: cells
    /// by column name. A column without a field is missing; other fields are ignored.
    Fields(&'a [(&'a str, &'a str)]),
    /// The counts of a mail or text that was scored before. A [`Trainer`](crate::TrainOptions) does not take them.
    Counted(&'a CountedDocument),
    /// A document with a dense vector beside it, for a model that has [vectors](Recipe::vectors). Any document may lack its
    /// vector: what it says is then left out. The text identifies a document, or its vector if it has no text.
    Embedded {
        /// The document; an empty text if there is nothing but the vector.
        of: &'a Document<'a>,
        /// Finite numbers of at most 1,024 in magnitude, as many as the model's vectors have. About unit length is best.
        vector: &'a [f32],
    },
}

impl<'a> Document<'a> {
    /// The document with a vector beside it; as it is if that is empty.
    pub fn with_vector(&'a self, vector: &'a [f32]) -> Document<'a> {
        if vector.is_empty() { *self } else { Document::Embedded { of: self, vector } }
    }

    /// The document, and the vector beside it; an empty one if it has none.
    pub fn apart(mut self) -> (Document<'a>, &'a [f32]) {
        let mut dense: &[f32] = &[];
        while let Document::Embedded { of, vector } = self {
            dense = if dense.is_empty() { vector } else { dense };
            self = *of;
        }
        (self, dense)
    }
}

impl Document<'_> {
    /// The text that is cut into words, for an encoder of sentences: of a mail its subject and its body, between empty lines.
    /// Of other fields and of [`Counted`](Document::Counted) documents there is none.
    ///
    /// ```
    /// use tamis_filter::{Document, Kind, Recipe};
    ///
    /// let mail = Document::Mail(b"Subject: Pears\n\nA pound of them, please.\n");
    /// assert_eq!(mail.text(&Recipe::new(Kind::Mail)).trim_end(), "Pears\n\nA pound of them, please.");
    /// ```
    pub fn text(self, recipe: &Recipe) -> String {
        let mut all = String::new();
        self.for_each_text(recipe, |_, text| {
            all.push_str(if all.is_empty() { "" } else { "\n\n" });
            all.push_str(text);
        });
        all
    }

    /// Calls `emit` with the prefix of the terms and the text, for each text of a document that is cut into words: of a
    /// mail, those of subject and body.
    pub(crate) fn for_each_text(self, recipe: &Recipe, mut emit: impl FnMut(&str, &str)) {
        match self.apart().0 {
            Document::Text(text) if recipe.raw => emit("", text),
            Document::Text(text) => emit("", &markup_to_text(text)),
            Document::Mail(raw) => {
                let message = Message::parse_ignoring(raw, &recipe.limits, &recipe.ignored_headers);
                message.for_each_piece(true, |piece| {
                    if let Piece::Words { prefix, text, .. } = piece {
                        emit(prefix, text);
                    }
                });
            }
            Document::Fields(_) | Document::Counted(_) | Document::Embedded { .. } => (),
        }
    }

    /// The length of all that it holds, in bytes.
    pub fn n_bytes(self) -> usize {
        match self {
            Document::Mail(raw) => raw.len(),
            Document::Text(text) => text.len(),
            Document::Fields(fields) => fields.iter().map(|(_, text)| text.len()).sum(),
            Document::Counted(of) => of.n_bytes(),
            Document::Embedded { of, vector } => of.n_bytes() + size_of_val(vector),
        }
    }
}

/// The digest of a document: a hash of its terms and counts, of the real values of a row, and of the recipe's version.
///
/// Hashes of (term, count) are summed, so that the order does not matter.
pub fn digest(version: u16, terms: &[TermCount], reals: &[Option<f64>]) -> [u8; 16] {
    let sum = terms.iter().fold(0u128, |sum, term| sum.wrapping_add(mix(term.fingerprint, term.count)));
    let mut bytes = Vec::with_capacity(2 + 8 + 16 + 8 * reals.len());
    bytes.extend(version.to_le_bytes());
    bytes.extend((terms.len() as u64).to_le_bytes());
    bytes.extend(sum.to_le_bytes());
    for real in reals {
        // no valid value has these bits
        bytes.extend(real.unwrap_or(f64::NAN).to_bits().to_le_bytes());
    }
    xxh3_128(&bytes).to_le_bytes()
}

/// A 128-bit hash of a term and its count; the fingerprint is a hash already.
fn mix(fingerprint: u64, count: u32) -> u128 {
    let odd = u64::from(count) << 1 | 1;
    let low = (fingerprint ^ fingerprint >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_mul(odd);
    let product = u128::from(fingerprint ^ 0xd6e8_feb8_6659_fd93) * u128::from(low | 1);
    product ^ u128::from(low ^ low >> 32)
}

/// The digest of documents without terms. They share it, but do not count as equal.
pub fn digest_of_nothing(recipe: &Recipe) -> [u8; 16] {
    digest(recipe.version, &[], &vec![None; recipe.n_reals()])
}
