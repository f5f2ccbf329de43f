use serde::{Deserialize, Serialize};
use tamis_mail::Limits;
use tamis_tokenizer::TokenizerOptions;

use crate::config::column::Column;
use crate::kind::Kind;

/// The version of the code that turns documents into terms, recorded in every model.
///
/// A model is only used by the version it was trained with, because other terms would meet its counts.
pub const RECIPE_VERSION: u16 = 1;

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
}
