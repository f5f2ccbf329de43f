//! The recipe: how documents become terms, and what is remembered of them.

use serde::{Deserialize, Serialize};
use tamis_mail::Limits;
use tamis_tokenizer::{Ngrams, PieceLengths, TokenizerOptions};

use crate::config::column::{Column, ColumnKind};
use crate::config::refinement::Refinement;
use crate::kind::Kind;

/// The version of the code that turns documents into terms, recorded in every model.
///
/// A model is only used with the version it was trained with, because other terms would not match its counts.
pub const RECIPE_VERSION: u16 = 1;

/// The bytes of a text that are read by default.
const MOST_TEXT: usize = 16 << 20;

/// How documents become terms; recorded in the model.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Recipe {
    /// The version of the code; [`RECIPE_VERSION`] by default.
    pub version: u16,
    /// Mail, text or rows of a table.
    pub kind: Kind,
    /// How text is cut into terms.
    pub tokenizer: TokenizerOptions,
    /// Limits on how much of a message is read. Of a text, or of all texts of a row together, [`Limits::bytes`] are
    /// read: 16 MiB by default, since each different word takes memory.
    pub limits: Limits,
    /// For text: read HTML as it is, tags included. By default only its text is read; see
    /// [`tamis_mail::markup_to_text`].
    pub raw: bool,
    /// For mail: use only the words of body and subject. By default, headers, structure and links are used as well.
    pub content_only: bool,
    /// For mail: extract bogofilter's tokens, as `import_bogofilter` needs them,
    /// instead of our own words and terms. The tokenizer and `content_only` then have no effect. Off by default.
    pub bogofilter: bool,
    /// For text and mail: also count pieces of words; see
    /// [`Vocabulary::count_pieces`](tamis_tokenizer::Vocabulary::count_pieces). Of a mail, only words of body and
    /// subject have pieces. Needs words as terms. None by default, but [training](Refinement) may
    /// add them.
    pub pieces: Option<PieceLengths>,
    /// Header fields to ignore besides those of [`tamis_mail::ignored`]; a final `*` stands for any ending. None by
    /// default.
    pub ignored_headers: Vec<String>,
    /// The dense vectors that documents may have beside their text, such as sentence embeddings; none by default. Only with
    /// [`Scoring::Weighted`](crate::config::scoring::Scoring::Weighted).
    pub vectors: Option<VectorSpace>,
    /// The columns of a table to learn from; none for mail and text. A model stores them sorted by name.
    pub columns: Vec<Column>,
    /// The column with the labels, for programs that read such a table again. This crate does not use it.
    pub target: Option<String>,
}

/// The space of the dense vectors of documents. Vectors of another encoder mean something else, even if they are as long.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VectorSpace {
    /// The values of a vector: 1 to 4,096.
    pub dimensions: u32,
    /// What makes the vectors, as its user calls it; empty if that was not said.
    pub encoder: String,
}

/// What a model remembers of the documents it learned.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Keep {
    /// A digest, a label and a date: enough to recognise a document.
    Digests,
    /// The terms as well, about two bytes each: enough to forget a document by its digest, and to fit the model again
    /// after it has learned more.
    Vectors,
}

impl Recipe {
    /// Whether a column of a table is text.
    pub fn has_text(&self) -> bool {
        self.columns.iter().any(|column| column.kind == ColumnKind::Text)
    }

    /// Whether a column of a table is something else than text.
    pub fn has_other_columns(&self) -> bool {
        self.columns.iter().any(|column| column.kind != ColumnKind::Text)
    }

    /// Whether it has the terms of a refinement.
    pub fn has(&self, refinement: Refinement) -> bool {
        match refinement {
            Refinement::Pieces => self.pieces.is_some(),
            Refinement::AllPieces => self.pieces == Some(PieceLengths::ALL),
            Refinement::Pairs => self.tokenizer.terms != Ngrams::default(),
            Refinement::Signs => self.tokenizer.signs,
            Refinement::Regularisation => false,
        }
    }

    /// The number of columns of real values.
    pub fn n_reals(&self) -> usize {
        self.columns.iter().filter(|column| column.kind == ColumnKind::Gaussian).count()
    }

    /// The default recipe for a kind of documents.
    pub fn new(kind: Kind) -> Self {
        let tokenizer = match kind {
            Kind::Mail => TokenizerOptions::mail(),
            Kind::Text | Kind::Table => TokenizerOptions::text(),
        };
        let mut limits = Limits::default();
        if kind != Kind::Mail {
            limits.bytes = MOST_TEXT;
        }
        Recipe {
            version: RECIPE_VERSION,
            kind,
            tokenizer,
            limits,
            raw: false,
            content_only: false,
            bogofilter: false,
            pieces: None,
            ignored_headers: Vec::new(),
            vectors: None,
            columns: Vec::new(),
            target: None,
        }
    }
}
