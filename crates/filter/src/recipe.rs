use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tamis_mail::{Limits, Message};
use tamis_tokenizer::{Tokenizer, TokenizerOptions};
use xxhash_rust::xxh3::Xxh3;

use crate::error::{Error, Result};

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
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Mail => "mail",
            Kind::Text => "text",
        })
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(s: &str) -> std::result::Result<Self, String> {
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
    /// Mail or text.
    pub kind: Kind,
    /// How text is cut into terms.
    pub tokenizer: TokenizerOptions,
    /// How much of a message is read.
    pub limits: Limits,
}

impl Recipe {
    /// The default recipe for a kind of documents.
    pub fn new(kind: Kind) -> Self {
        let tokenizer = match kind {
            Kind::Mail => TokenizerOptions::mail(),
            Kind::Text => TokenizerOptions::text(),
        };
        Recipe { version: RECIPE_VERSION, kind, tokenizer, limits: Limits::default() }
    }
}

/// One document to learn from or to score.
///
/// A model of mail takes `Mail` and `Fields`, a model of text takes `Text` and `Fields`.
#[derive(Clone, Copy, Debug)]
pub enum Document<'a> {
    /// A raw RFC 5322 message.
    Mail(&'a [u8]),
    /// Plain text.
    Text(&'a str),
    /// Named fields of text: `("subject", "...")`; the field with the empty name is the body.
    Fields(&'a [(&'a str, &'a str)]),
}

/// Reusable buffers of term extraction.
#[derive(Default)]
pub(crate) struct TermScratch {
    tokenizer: tamis_tokenizer::Scratch,
    term: String,
}

/// A recipe made ready to run.
pub(crate) struct Extractor {
    recipe: Recipe,
    tokenizer: Tokenizer,
}

impl Extractor {
    pub(crate) fn new(mut recipe: Recipe) -> Result<Self> {
        if recipe.version != RECIPE_VERSION {
            return Err(Error::RecipeVersion { expected: RECIPE_VERSION, got: recipe.version });
        }
        let tokenizer = Tokenizer::new(recipe.tokenizer)?;
        recipe.tokenizer = tokenizer.options().clone();
        Ok(Extractor { recipe, tokenizer })
    }

    pub(crate) fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Emits every term of a document, in order, with repetitions, and whether it is of the body.
    pub(crate) fn for_each_term(
        &self,
        document: Document<'_>,
        scratch: &mut TermScratch,
        mut emit: impl FnMut(&str, bool),
    ) -> Result<()> {
        match (document, self.recipe.kind) {
            (Document::Mail(raw), Kind::Mail) => {
                Message::parse(raw, &self.recipe.limits)
                    .for_each_field(|field, text| self.field_terms(field, text, scratch, &mut emit));
            }
            (Document::Text(text), Kind::Text) => self.field_terms("", text, scratch, &mut emit),
            (Document::Fields(fields), _) => {
                for (field, text) in fields {
                    self.field_terms(field, text, scratch, &mut emit);
                }
            }
            (Document::Mail(_), expected) => return Err(Error::Kind { expected, got: Kind::Mail }),
            (Document::Text(_), expected) => return Err(Error::Kind { expected, got: Kind::Text }),
        }
        Ok(())
    }

    /// Terms of a named field carry its name; a term of the body that contains a colon is marked,
    /// so that nothing in a body can pose as a header.
    fn field_terms(
        &self,
        field: &str,
        text: &str,
        scratch: &mut TermScratch,
        emit: &mut impl FnMut(&str, bool),
    ) {
        let TermScratch { tokenizer, term: buffer } = scratch;
        self.tokenizer.for_each_term(text, tokenizer, |term| {
            if field.is_empty() && !(self.recipe.kind == Kind::Mail && term.contains(':')) {
                return emit(term, true);
            }
            buffer.clear();
            buffer.push_str(if field.is_empty() { "body" } else { field });
            buffer.push(':');
            buffer.push_str(term);
            emit(buffer, field.is_empty());
        });
    }
}

/// The identity of a document: of its terms and their numbers, and of the recipe's version.
///
/// `terms` are (fingerprint, occurrences), fingerprints strictly increasing.
pub(crate) fn digest(version: u16, terms: impl Iterator<Item = (u64, u32)>) -> [u8; 16] {
    let mut hash = Xxh3::new();
    hash.update(&version.to_le_bytes());
    for (fingerprint, count) in terms {
        hash.update(&fingerprint.to_le_bytes());
        hash.update(&count.to_le_bytes());
    }
    hash.digest128().to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(kind: Kind, document: Document<'_>) -> Vec<String> {
        let extractor = Extractor::new(Recipe::new(kind)).unwrap();
        let mut terms = Vec::new();
        extractor
            .for_each_term(document, &mut TermScratch::default(), |t, _| terms.push(t.to_owned()))
            .unwrap();
        terms
    }

    #[test]
    fn fields_prefix_their_terms_and_a_body_cannot_pose_as_a_header() {
        let mail = terms(Kind::Mail, Document::Mail(b"Subject: Cheap pills\n\nsubject:cheap offer\n"));
        assert!(mail.contains(&"subject:cheap".to_owned()));
        assert_eq!(mail.iter().filter(|t| *t == "subject:cheap").count(), 1);
        assert!(mail.contains(&"offer".to_owned()));

        let mut recipe = Recipe::new(Kind::Mail);
        recipe.tokenizer.word_rule = tamis_tokenizer::WordRule::Unicode;
        let extractor = Extractor::new(recipe).unwrap();
        let mut found = Vec::new();
        let fields = [("", "subject:cheap")];
        extractor
            .for_each_term(Document::Fields(&fields), &mut TermScratch::default(), |t, _| {
                found.push(t.to_owned())
            })
            .unwrap();
        assert!(!found.contains(&"subject:cheap".to_owned()), "{found:?}");
    }

    #[test]
    fn the_wrong_kind_is_an_error() {
        let extractor = Extractor::new(Recipe::new(Kind::Text)).unwrap();
        let got = extractor.for_each_term(Document::Mail(b"x"), &mut TermScratch::default(), |_, _| ());
        assert!(matches!(got, Err(Error::Kind { expected: Kind::Text, got: Kind::Mail })));
    }

    #[test]
    fn another_recipe_is_refused() {
        let recipe = Recipe { version: RECIPE_VERSION + 1, ..Recipe::new(Kind::Text) };
        assert!(matches!(Extractor::new(recipe), Err(Error::RecipeVersion { .. })));
    }
}
