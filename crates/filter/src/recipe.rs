use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tamis_mail::Limits;
use tamis_tokenizer::{TermCount, TokenizerOptions};
use xxhash_rust::xxh3::xxh3_128;

use crate::columns::{Column, ColumnKind};

/// The version of the code that turns documents into terms, recorded in every model.
///
/// A model is only used by the version it was trained with, because other terms would meet its counts.
pub const RECIPE_VERSION: u16 = 1;

/// What sort of documents a model is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Kind {
    /// Raw RFC 5322 messages.
    Mail,
    /// Plain text.
    Text,
    /// Rows of a table, whose columns the recipe lists.
    Table,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Mail => "mail",
            Kind::Text => "text",
            Kind::Table => "table",
        })
    }
}

/// Of what documents can be taken for: mail or text.
impl FromStr for Kind {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "mail" => Ok(Kind::Mail),
            "text" => Ok(Kind::Text),
            _ => Err(format!("expected mail or text, got {s:?}")),
        }
    }
}

/// How documents become terms: every setting that matters, recorded in the model.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Recipe {
    /// The version of the code; [`RECIPE_VERSION`] by default.
    pub version: u16,
    /// Mail, text or rows of a table.
    pub kind: Kind,
    /// How text is cut into terms.
    pub tokenizer: TokenizerOptions,
    /// How much of a message is read.
    pub limits: Limits,
    /// Of mail, only the words of body and subject. By default, headers, structure and links as well.
    pub content_only: bool,
    /// Header fields that are no evidence, besides those that [`tamis_mail::ignored`] lists; a name that ends with
    /// `*` stands for all that begin so. None by default.
    pub ignored_headers: Vec<String>,
    /// Score every stretch of about this many bytes of body text by itself as well, and go by the highest score, so
    /// that other text around it cannot hide a message. Off by default; only mail and text of two labels with
    /// [`Scoring::Weighted`](crate::Scoring::Weighted) have windows.
    pub windows: Option<u32>,
    /// The columns that rows of a table are learned from; none of mail and text. A model has them in the order of
    /// their names.
    pub columns: Vec<Column>,
    /// The column that held the labels, for whoever reads such a table again; not read here.
    pub target: Option<String>,
}

impl Recipe {
    /// The default recipe for a kind of documents.
    pub fn new(kind: Kind) -> Self {
        let tokenizer = match kind {
            Kind::Mail => TokenizerOptions::mail(),
            Kind::Text | Kind::Table => TokenizerOptions::text(),
        };
        Recipe {
            version: RECIPE_VERSION,
            kind,
            tokenizer,
            limits: Limits::default(),
            content_only: false,
            ignored_headers: Vec::new(),
            windows: None,
            columns: Vec::new(),
            target: None,
        }
    }
}

impl Recipe {
    /// Bytes of the stretches that the body is cut into: half a window, so that every passage of half a window's
    /// length lies whole in one.
    pub(crate) fn stretch(&self) -> usize {
        self.windows.map_or(usize::MAX, |window| (window as usize).div_ceil(2))
    }

    /// The digest of a document that has nothing to learn from. All such have it, which does not make them equal.
    pub(crate) fn digest_of_nothing(&self) -> [u8; 16] {
        let reals = self.columns.iter().filter(|column| column.kind == ColumnKind::Gaussian);
        digest(self.version, &[], &vec![None; reals.count()])
    }
}

/// One document to learn from or to score.
///
/// A model of mail takes `Mail` and `Fields`, a model of text takes `Text` and `Fields`, a model of a table `Fields`.
#[derive(Clone, Copy, Debug)]
pub enum Document<'a> {
    /// A raw RFC 5322 message.
    Mail(&'a [u8]),
    /// Plain text.
    Text(&'a str),
    /// Named fields of text: `("subject", "...")`; the field with the empty name is the body. Of a table, a row: the
    /// cells of its columns by their names. A column without a field is missing, others are passed over.
    Fields(&'a [(&'a str, &'a str)]),
}

/// The identity of a document: of its terms and their numbers, of its real values if it is a row, and of the recipe's
/// version.
///
/// The terms are added up, each mixed with its number, so that they need no order.
pub(crate) fn digest(version: u16, terms: &[TermCount], reals: &[Option<f64>]) -> [u8; 16] {
    let sum = terms.iter().fold(0u128, |sum, term| sum.wrapping_add(mix(term.fingerprint, term.count)));
    let mut bytes = Vec::with_capacity(2 + 8 + 16 + 8 * reals.len());
    bytes.extend(version.to_le_bytes());
    bytes.extend((terms.len() as u64).to_le_bytes());
    bytes.extend(sum.to_le_bytes());
    for real in reals {
        // no value that can be learned has these bits
        bytes.extend(real.unwrap_or(f64::NAN).to_bits().to_le_bytes());
    }
    xxh3_128(&bytes).to_le_bytes()
}

/// 128 bits of a term and its number; the fingerprint is a hash already.
fn mix(fingerprint: u64, count: u32) -> u128 {
    let odd = u64::from(count) << 1 | 1;
    let low = (fingerprint ^ fingerprint >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_mul(odd);
    let product = u128::from(fingerprint ^ 0xd6e8_feb8_6659_fd93) * u128::from(low | 1);
    product ^ u128::from(low ^ low >> 32)
}
