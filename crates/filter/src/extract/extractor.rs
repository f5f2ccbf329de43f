//! The extractor: turns documents into counts of terms by a recipe.

use std::borrow::Cow;

use tamis_mail::{Message, Piece, Scope, for_each_bogofilter_token, markup_to_text};
use tamis_model::VectorStatistics;
use tamis_store::config::column::ColumnKind;
use tamis_store::config::columns::TableColumns;
use tamis_store::config::recipe::{RECIPE_VERSION, Recipe, VectorSpace};
use tamis_store::error::{Error, Reason, Result};
use tamis_store::file::documents::document_name;
use tamis_store::kind::Kind;
use tamis_tokenizer::{
    Batch, Ngrams, Occurrence, Tokenizer, TokenizerOptions, Vocabulary, WordRule, fingerprint, undisguised,
};

use crate::extract::document::Document;
use crate::extract::extraction::{Extraction, chain};

/// A compiled recipe.
pub struct Extractor {
    recipe: Recipe,
    tokenizer: Tokenizer,
    columns: TableColumns,
    /// Whether words of a mail's body can contain colons.
    has_colons: bool,
}

impl Extractor {
    pub fn new(mut recipe: Recipe) -> Result<Self> {
        let got = recipe.version;
        Reason::RecipeVersion { expected: RECIPE_VERSION, got }.unless(got == RECIPE_VERSION)?;
        if let Some(VectorSpace { dimensions, .. }) = &recipe.vectors {
            let most = VectorStatistics::MAX_DIMENSIONS;
            let message = format_args!("expected 1 to {most} dimensions, got {dimensions}");
            Error::ensure_option((1..=most).contains(&(*dimensions as usize)), "vectors", message)?;
        }
        let tokenizer = Tokenizer::new(recipe.tokenizer)?;
        recipe.tokenizer = tokenizer.options().clone();
        let columns = TableColumns::new(&mut recipe)?;
        let TokenizerOptions { word_rule, terms, .. } = tokenizer.options();
        let plain = *word_rule == WordRule::Mail && matches!(terms, Ngrams::Words { .. });
        let has_colons = recipe.kind == Kind::Mail && !plain;
        Ok(Extractor { recipe, tokenizer, columns, has_colons })
    }

    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Counts the terms of a document in the vocabulary.
    pub fn count(
        &self,
        document: Document<'_>,
        counted: &mut Extraction,
        vocabulary: &mut Vocabulary,
    ) -> Result<()> {
        counted.clear();
        vocabulary.begin_document();
        let recipe = &self.recipe;
        counted.places.is_row = recipe.kind == Kind::Table;
        counted.places.is_mail = recipe.kind == Kind::Mail;
        counted.bytes_left = recipe.limits.bytes;
        counted.tokenizer_scratch.grow_by_at_most((document.n_bytes() / 2).max(LEAST_GROWTH));
        match (document, recipe.kind) {
            (Document::Mail(raw), Kind::Mail) => self.add_mail(raw, counted, vocabulary),
            (Document::Text(text), Kind::Text) => {
                let text = counted.within_limit(text);
                let text = if recipe.raw { Cow::Borrowed(text) } else { markup_to_text(text) };
                counted.facts.is_html = matches!(text, Cow::Owned(_));
                self.add_words("", &text, Scope::Part, counted, vocabulary);
                counted.end_part();
            }
            (Document::Fields(fields), Kind::Table) => self.add_row(fields, counted, vocabulary)?,
            (Document::Fields(fields), Kind::Mail) if recipe.bogofilter => {
                for (field, text) in fields {
                    for_each_bogofilter_token(field, text, |piece| {
                        self.add_piece(piece, counted, vocabulary)
                    });
                }
            }
            (Document::Fields(fields), Kind::Mail | Kind::Text) => {
                let mut prefix = String::new();
                for (field, text) in fields {
                    prefix.clear();
                    if !field.is_empty() {
                        prefix.push_str(if field.eq_ignore_ascii_case("subject") { "s" } else { field });
                        prefix.push(':');
                    }
                    let text = counted.within_limit(text);
                    let scope = if field.is_empty() { Scope::Part } else { Scope::Message };
                    self.add_words(&prefix, text, scope, counted, vocabulary);
                    counted.end_part();
                }
            }
            (Document::Embedded { of, vector }, _) => {
                return self.count_embedded(*of, vector, counted, vocabulary);
            }
            (Document::Counted(of), expected) if of.kind == expected => of.count(counted, vocabulary)?,
            (Document::Counted(of), expected) => {
                return Err(Reason::Kind { expected, got: of.kind }.into());
            }
            (Document::Mail(_), expected) => return Err(Reason::Kind { expected, got: Kind::Mail }.into()),
            (Document::Text(_), expected) => return Err(Reason::Kind { expected, got: Kind::Text }.into()),
        }
        counted.facts.limits_hit.text |= counted.tokenizer_scratch.is_cut();
        counted.n_words = vocabulary.document().len();
        if let Some(lengths) = recipe.pieces {
            let outcome = vocabulary.count_pieces(lengths, |term| self.word_in(term));
            outcome.err().into_iter().for_each(|full| counted.full = Some(full));
            if counted.places.are_wanted() && counted.full.is_none() {
                counted.place_pieces(vocabulary);
            }
        }
        counted.full.take().map_or(Ok(()), |full| Err(full.into()))
    }

    /// Counts a document that has a vector. If it has no words, the vector is what it is known by.
    fn count_embedded(
        &self,
        document: Document<'_>,
        vector: &[f32],
        counted: &mut Extraction,
        vocabulary: &mut Vocabulary,
    ) -> Result<()> {
        self.count(document, counted, vocabulary)?;
        let expected = self.recipe.vectors.as_ref().map_or(0, |space| space.dimensions as usize);
        VectorStatistics::check(expected, vector)?;
        counted.facts.dense.clear();
        counted.facts.dense.extend_from_slice(vector);
        if vocabulary.document().is_empty() {
            let values = vector.iter().map(|value| f64::from(value + 0.0));
            counted.reals.extend(values.clone().map(Some));
            let hash = values.fold(counted.facts.body_hash, |hash, value| chain(hash, value.to_bits()));
            counted.facts.body_hash = hash;
        }
        Ok(())
    }

    /// Where the word begins in a term, after the prefix of its field. `None` if the term has no pieces: only single
    /// words of a text, or of a mail's body or subject, have pieces.
    pub fn word_in(&self, term: &str) -> Option<usize> {
        let Ngrams::Words { max, .. } = self.recipe.tokenizer.terms else { return None };
        let start = term.rfind(':').map_or(0, |colon| colon + 1);
        let (prefix, word) = term.split_at(start);
        let has_pieces = match self.recipe.kind {
            Kind::Mail => prefix.is_empty() || prefix == "s:",
            // a pair can look like a word of such a field
            Kind::Text => max == 1 || !prefix.contains(' '),
            // a category may have a colon, but no name of a column has an equals sign
            Kind::Table => start > 0 && !prefix.contains('='),
        };
        // pairs have spaces, and signs begin with ^
        (has_pieces && !word.contains(' ') && !term.contains('^')).then_some(start)
    }

    /// Calls `emit` with every term of `text`, prefixed with `prefix`.
    pub fn for_each_term(&self, prefix: &str, text: &str, mut emit: impl FnMut(&str)) {
        let (mut buffer, mut spans) = (String::new(), Vec::new());
        self.tokenizer.for_each_batch(text, &mut Default::default(), |batch| {
            self.prefix(prefix, batch, &mut buffer, &mut spans);
            Batch::each(&buffer, &spans).flat_map(|batch| batch.iter()).for_each(&mut emit);
        });
    }

    fn add_mail(&self, raw: &[u8], counted: &mut Extraction, vocabulary: &mut Vocabulary) {
        let recipe = &self.recipe;
        let message = Message::parse_ignoring(raw, &recipe.limits, &recipe.ignored_headers);
        if counted.identifies {
            counted.facts.date = message.date();
            counted.facts.name = message.header("message-id").map(document_name).unwrap_or_default();
            let stable =
                ["from", "to", "date", "subject"].into_iter().filter_map(|name| message.header(name));
            // line ends, which no name has, tell them from one
            stable.for_each(|value| counted.facts.stable_fields.extend(["\n", value]));
        }
        counted.facts.limits_hit = message.limits_hit();
        let add = |piece: Piece<'_>| self.add_piece(piece, counted, vocabulary);
        match recipe.bogofilter {
            true => message.for_each_bogofilter_token(add),
            false => message.for_each_piece(recipe.content_only, add),
        }
        if counted.identifies {
            let unread = message.parts().iter().filter(|part| part.unread.is_some());
            let contents = unread.filter_map(|part| part.content);
            let hash = contents.fold(counted.facts.body_hash, |hash, content| chain(hash, content.hash));
            counted.facts.body_hash = hash;
        }
    }

    fn add_piece(&self, piece: Piece<'_>, counted: &mut Extraction, vocabulary: &mut Vocabulary) {
        match piece {
            Piece::Words { prefix, text, scope } => self.add_words(prefix, text, scope, counted, vocabulary),
            Piece::Terms(batch, scope) => {
                // bogofilter's tokens of the body stand for its words
                let in_group = self.recipe.bogofilter && counted.identifies && scope == Scope::Part;
                let outcome = vocabulary.count_batch(batch, |occurrences| {
                    if in_group {
                        let chain = |hash, occurrence: &Occurrence| chain(hash, occurrence.fingerprint);
                        counted.facts.body_hash = occurrences.iter().fold(counted.facts.body_hash, chain);
                    }
                    counted.places.add(scope, occurrences);
                });
                outcome.err().into_iter().for_each(|full| counted.full = Some(full));
            }
            Piece::EndOfPart => counted.end_part(),
        }
    }

    fn add_words(
        &self,
        prefix: &str,
        text: &str,
        scope: Scope,
        counted: &mut Extraction,
        vocabulary: &mut Vocabulary,
    ) {
        let Extraction {
            tokenizer_scratch, prefixed: (buffer, spans), identifies, facts, places, full, ..
        } = counted;
        // a row has no body: equal rows form a group
        let in_group = *identifies && (prefix.is_empty() || self.recipe.kind == Kind::Table);
        let mut hash = facts.body_hash;
        let mut counted = |are_signs: bool, occurrences: &[Occurrence]| {
            // programs that deliver mail quote and wrap it
            if in_group && !(are_signs && self.recipe.kind == Kind::Mail) {
                hash = occurrences.iter().fold(hash, |hash, occurrence| chain(hash, occurrence.fingerprint));
            }
            places.add(scope, occurrences);
        };
        let text = if self.recipe.tokenizer.normalize { undisguised(text) } else { Cow::Borrowed(text) };
        let as_they_are = prefix.is_empty() && !self.has_colons;
        let is_body = prefix.is_empty()
            && self.recipe.kind == Kind::Mail
            && matches!(self.recipe.tokenizer.terms, Ngrams::Words { max: 1, .. });
        self.tokenizer.for_each_batch(&text, tokenizer_scratch, |batch| {
            let start = vocabulary.document().len();
            let mut counted = |occurrences: &[Occurrence]| counted(batch.are_signs(), occurrences);
            let outcome = if as_they_are {
                vocabulary.count_batch(batch, &mut counted)
            } else {
                self.prefix(prefix, batch, buffer, spans);
                Batch::each(buffer, spans).try_for_each(|batch| vocabulary.count_batch(batch, &mut counted))
            };
            outcome.err().into_iter().for_each(|error| *full = Some(error));
            if is_body && !batch.are_signs() {
                // where the new words are: the same word elsewhere has a prefix
                facts.body_words.push(start..vocabulary.document().len());
            }
        });
        facts.body_hash = hash;
    }

    /// The cells of a row that are learned, by column, each as it is written most plainly: rows that are learned alike are
    /// equal.
    pub fn plain_row<'a>(&self, fields: &[(&str, &'a str)]) -> Result<Vec<(&str, Cow<'a, str>)>> {
        let (mut row, mut term) = (Vec::new(), String::new());
        let cells = self.columns.cells(fields)?;
        for (column, cell) in self.recipe.columns.iter().zip(cells) {
            let Some(cell) = cell else { continue };
            let plain = match column.kind {
                ColumnKind::Gaussian => Cow::Owned(column.number(cell)?.to_string()),
                ColumnKind::Bernoulli => {
                    column.write_term("", cell, &mut term)?;
                    Cow::Owned(term.clone())
                }
                ColumnKind::Categorical | ColumnKind::Text => Cow::Borrowed(cell),
            };
            row.push((&*column.name, plain));
        }
        Ok(row)
    }

    fn add_row(
        &self,
        fields: &[(&str, &str)],
        counted: &mut Extraction,
        vocabulary: &mut Vocabulary,
    ) -> Result<()> {
        let cells = self.columns.cells(fields)?;
        for (i, (column, cell)) in self.recipe.columns.iter().zip(cells).enumerate() {
            if cell.is_none() {
                counted.missing.push(i);
            }
            let prefix = self.columns.prefix(i);
            match (column.kind, cell) {
                (ColumnKind::Gaussian, cell) => {
                    let real = cell.map(|cell| column.number(cell)).transpose()?;
                    let bits = real.map_or(0, f64::to_bits);
                    counted.facts.body_hash = chain(counted.facts.body_hash, bits);
                    counted.reals.push(real);
                    continue;
                }
                (_, None) => (),
                (ColumnKind::Text, Some(cell)) => {
                    let cell = counted.within_limit(cell);
                    self.add_words(prefix, cell, Scope::Message, counted, vocabulary);
                }
                (ColumnKind::Categorical | ColumnKind::Bernoulli, Some(cell)) => {
                    column.write_term(prefix, cell, &mut counted.prefixed.0)?;
                    let fingerprint = fingerprint(&counted.prefixed.0);
                    counted.facts.body_hash = chain(counted.facts.body_hash, fingerprint);
                    let place = vocabulary.count_fingerprinted(fingerprint, &counted.prefixed.0)?;
                    counted.places.columns.push(place as u32);
                }
            }
            counted.places.group_ends.push(counted.places.columns.len());
        }
        Ok(())
    }

    /// Prefixes the terms of a field. A term of a mail's body that contains a colon is marked, so that nothing in a
    /// body can pose as a header.
    fn prefix(&self, prefix: &str, batch: Batch<'_>, text: &mut String, spans: &mut Vec<[usize; 2]>) {
        text.clear();
        spans.clear();
        for term in batch.iter() {
            let start = text.len();
            let is_marked = prefix.is_empty() && self.has_colons && term.contains(':');
            text.push_str(if is_marked { "body:" } else { prefix });
            text.push_str(term);
            spans.push([start, text.len()]);
        }
    }
}

/// Bytes by which normalization may lengthen any document, however small. A long document may grow by half its length.
/// No text of a language comes near, but ligatures alone could make a text eleven times as long.
const LEAST_GROWTH: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::document::digest;
    use tamis_store::error::Error;
    use tamis_tokenizer::TermId;

    /// Returns the terms in the order of their first occurrence, and the document with their numbers as ids.
    fn count(recipe: Recipe, document: Document<'_>) -> Result<(Vec<String>, Extraction)> {
        let (mut counted, mut vocabulary) = (Extraction::default(), Vocabulary::new());
        Extractor::new(recipe)?.count(document, &mut counted, &mut vocabulary)?;
        counted.rows(vocabulary.document(), |at| Some(at as TermId));
        let terms = vocabulary.iter().map(|(_, term)| term.to_owned()).collect();
        Ok((terms, counted))
    }

    #[test]
    fn fields_prefix_their_terms_and_a_body_cannot_pose_as_a_header() {
        let mail = Document::Mail(b"Subject: Cheap pills\n\ns:cheap offer\n");
        let (terms, _) = count(Recipe::new(Kind::Mail), mail).unwrap();
        for term in ["s:cheap", "s:pills", "s", "cheap", "offer"] {
            assert!(terms.iter().any(|t| t == term), "{term} of {terms:?}");
        }
        let mut recipe = Recipe::new(Kind::Mail);
        recipe.tokenizer.word_rule = WordRule::Unicode;
        let (terms, _) = count(recipe, Document::Fields(&[("", "s:cheap")])).unwrap();
        assert_eq!(terms, ["body:s:cheap", "body:^:"]);
        let (terms, _) = count(Recipe::new(Kind::Mail), Document::Fields(&[("Subject", "cheap")])).unwrap();
        assert_eq!(terms, ["s:cheap"]);
    }

    #[test]
    fn content_only_is_body_and_subject() {
        let recipe = Recipe { content_only: true, ..Recipe::new(Kind::Mail) };
        let (terms, _) = count(recipe, Document::Mail(b"Subject: hi\nFrom: a@example.org\n\nyou\n")).unwrap();
        assert_eq!(terms, ["s:hi", "you"]);
    }

    #[test]
    fn markup_is_read_as_text_unless_asked_for_raw() {
        let html = Document::Text("<html><p>fish<b>es</b></html>");
        assert_eq!(count(Recipe::new(Kind::Text), html).unwrap().0, ["fishes"]);
        let raw = Recipe { raw: true, ..Recipe::new(Kind::Text) };
        assert_eq!(count(raw, html).unwrap().0, ["html", "p", "fish", "b", "es"]);
    }

    #[test]
    fn ligatures_do_not_make_ten_times_as_much_of_a_mail() {
        let ligatures = |n: usize| "\u{fdfa} ".repeat(n);
        let count = |n: usize| {
            let part = |more: &str| {
                format!("--B\nContent-Type: text/plain; charset=utf-8\n{more}\n{}\n", ligatures(n))
            };
            let (body, attached) = (part(""), part("Content-Disposition: attachment; filename=a.txt\n"));
            let head = format!("Subject: {}\nContent-Type: multipart/mixed; boundary=B\n\n", ligatures(n));
            let mail = format!("{head}{body}{attached}--B--\n");
            let (_, counted) = count(Recipe::new(Kind::Mail), Document::Mail(mail.as_bytes())).unwrap();
            let words = counted.whole().counts().iter().map(|count| *count as usize).sum::<usize>();
            (words, counted.facts.limits_hit.text)
        };
        let (words, is_cut) = count(2_000);
        assert!(words >= 4 * 3 * 2_000 && !is_cut);
        let (words, is_cut) = count(70_000);
        assert!(words <= 70_000 && is_cut, "{words} words");
    }

    #[test]
    fn mails_that_refer_to_different_files_are_different() {
        let identity = |file: &str, content_only| {
            let mail = format!(
                "From: a\nTo: b\nContent-Type: multipart/mixed; boundary=B\n\n--B\n\nSee attachment\n\
                 --B\nContent-Type: application/pdf\n\n%PDF-1.7\n{file}\n--B--\n"
            );
            let (mut counted, mut vocabulary) = (Extraction::identifying(), Vocabulary::new());
            let recipe = Recipe { content_only, ..Recipe::new(Kind::Mail) };
            let extractor = Extractor::new(recipe).unwrap();
            extractor.count(Document::Mail(mail.as_bytes()), &mut counted, &mut vocabulary).unwrap();
            (digest(0, vocabulary.document(), &[]), counted.facts.body_hash, counted.message())
        };
        for content_only in [false, true] {
            let [one, other] = ["one", "two"].map(|file| identity(file, content_only));
            assert!(one.0 != other.0 && one.1 != other.1 && one.2 != other.2);
            assert_eq!(one, identity("one", content_only));
        }
    }

    #[test]
    fn the_wrong_kind_and_another_recipe_are_refused() {
        let got = count(Recipe::new(Kind::Text), Document::Mail(b"x")).err();
        assert!(matches!(
            got.as_ref().map(Error::reason),
            Some(Reason::Kind { expected: Kind::Text, got: Kind::Mail })
        ));
        let recipe = Recipe { version: RECIPE_VERSION + 1, ..Recipe::new(Kind::Text) };
        assert!(matches!(Extractor::new(recipe).err().unwrap().reason(), Reason::RecipeVersion { .. }));
    }
}
