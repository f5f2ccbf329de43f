//! Documents to count vectors, as a recipe says.

use tamis_mail::{Message, Piece, Scope};
use tamis_tokenizer::{CountRow, CountVector, TermId, Tokenizer, stretches};

use crate::columns::{ColumnKind, Columns};
use crate::error::{Error, Result};
use crate::recipe::{Document, Kind, RECIPE_VERSION, Recipe};

/// A recipe made ready to run.
pub(crate) struct Extractor {
    recipe: Recipe,
    tokenizer: Tokenizer,
    columns: Columns,
}

/// A document as counts, and the buffers that made it so.
#[derive(Default)]
pub(crate) struct Counted {
    scratch: tamis_tokenizer::Scratch,
    term: String,
    /// Terms of everything but the body.
    outside: Vec<TermId>,
    body: Vec<TermId>,
    /// Terms that speak of the body as a whole.
    of_whole: Vec<TermId>,
    /// Where in `body` each stretch, half a window, ends.
    stretches: Vec<usize>,
    ids: Vec<TermId>,
    whole: CountVector,
    windows: Vec<CountVector>,
    n_windows: usize,
    date: Option<i64>,
    /// Of a row, the values of the columns of real values.
    reals: Vec<Option<f64>>,
    /// Where in `outside` the terms of each other column end, and these terms.
    group_ends: Vec<usize>,
    groups: Vec<CountVector>,
    /// The columns that are missing.
    missing: Vec<usize>,
}

impl Counted {
    /// The whole document.
    pub(crate) fn whole(&self) -> CountRow<'_> {
        self.whole.row()
    }

    /// Its windows: what lies outside the body with one stretch of the body. None if the body is no longer than one.
    pub(crate) fn windows(&self) -> impl Iterator<Item = CountRow<'_>> {
        self.windows[..self.n_windows].iter().map(CountVector::row)
    }

    /// When the document was written, in seconds since 1970, where it says so.
    pub(crate) fn date(&self) -> Option<i64> {
        self.date
    }

    /// The values of a row's columns of real values, in their order; `None` if missing.
    pub(crate) fn reals(&self) -> &[Option<f64>] {
        &self.reals
    }

    /// The terms of each other column of a row.
    pub(crate) fn groups(&self) -> impl Iterator<Item = CountRow<'_>> {
        self.groups[..self.group_ends.len()].iter().map(CountVector::row)
    }

    /// The columns that a row has no cell of.
    pub(crate) fn missing(&self) -> &[usize] {
        &self.missing
    }

    fn clear(&mut self) {
        self.date = None;
        self.outside.clear();
        self.body.clear();
        self.of_whole.clear();
        self.stretches.clear();
        self.n_windows = 0;
        self.reals.clear();
        self.group_ends.clear();
        self.missing.clear();
    }

    /// Ends a stretch of the body, if there is anything in it.
    fn end_stretch(&mut self) {
        if self.body.len() > self.stretches.last().copied().unwrap_or(0) {
            self.stretches.push(self.body.len());
        }
    }

    /// Counts what was gathered.
    fn count(&mut self) {
        self.ids.clear();
        self.ids.extend(self.outside.iter().chain(&self.body).chain(&self.of_whole));
        self.whole.assign_ids(&mut self.ids);
        self.groups.resize_with(self.groups.len().max(self.group_ends.len()), CountVector::default);
        let mut start = 0;
        for (group, end) in self.groups.iter_mut().zip(&self.group_ends) {
            self.ids.clear();
            self.ids.extend(&self.outside[start..*end]);
            group.assign_ids(&mut self.ids);
            start = *end;
        }
        if self.stretches.len() <= 2 {
            return;
        }
        let mut start = 0;
        for pair in self.stretches.windows(2) {
            self.ids.clear();
            self.ids.extend(self.outside.iter().chain(&self.body[start..pair[1]]));
            if self.windows.len() == self.n_windows {
                self.windows.push(CountVector::default());
            }
            self.windows[self.n_windows].assign_ids(&mut self.ids);
            self.n_windows += 1;
            start = pair[0];
        }
    }
}

impl Extractor {
    pub(crate) fn new(mut recipe: Recipe) -> Result<Self> {
        if recipe.version != RECIPE_VERSION {
            return Err(Error::RecipeVersion { expected: RECIPE_VERSION, got: recipe.version });
        }
        if recipe.windows == Some(0) {
            let expected = "at least 1 byte";
            return Err(Error::Option { option: "windows", expected, got: 0.0 });
        }
        let tokenizer = Tokenizer::new(recipe.tokenizer)?;
        recipe.tokenizer = tokenizer.options().clone();
        let columns = Columns::new(&mut recipe)?;
        Ok(Extractor { recipe, tokenizer, columns })
    }

    pub(crate) fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Counts a document. `find` gives the id of a term, and is told whether it is of the body.
    pub(crate) fn count(
        &self,
        document: Document<'_>,
        counted: &mut Counted,
        mut find: impl FnMut(&str, bool) -> Result<TermId>,
    ) -> Result<()> {
        counted.clear();
        let recipe = &self.recipe;
        let mut outcome = Ok(());
        match (document, recipe.kind) {
            (Document::Mail(raw), Kind::Mail) => {
                let message = Message::parse_ignoring(raw, &recipe.limits, &recipe.ignored_headers);
                counted.date = message.date();
                message.for_each_piece(recipe.content_only, recipe.stretch(), |piece| {
                    let added = match piece {
                        Piece::Words { prefix, text } => self.add_words(prefix, text, counted, &mut find),
                        Piece::Term(term, scope) => find(term, false).map(|id| {
                            match scope {
                                Scope::Message => &mut counted.outside,
                                Scope::Stretch => &mut counted.body,
                                Scope::Body => &mut counted.of_whole,
                            }
                            .push(id);
                        }),
                        Piece::EndOfStretch => {
                            counted.end_stretch();
                            Ok(())
                        }
                    };
                    outcome = std::mem::replace(&mut outcome, Ok(())).and(added);
                });
            }
            (Document::Text(text), Kind::Text) => {
                for stretch in stretches(text, recipe.stretch()) {
                    outcome = outcome.and(self.add_words("", stretch, counted, &mut find));
                    counted.end_stretch();
                }
            }
            (Document::Fields(fields), Kind::Table) => outcome = self.add_row(fields, counted, &mut find),
            (Document::Fields(fields), Kind::Mail | Kind::Text) => {
                let mut prefix = String::new();
                for (field, text) in fields {
                    prefix.clear();
                    if !field.is_empty() {
                        prefix.push_str(if field.eq_ignore_ascii_case("subject") { "s" } else { field });
                        prefix.push(':');
                    }
                    outcome = outcome.and(self.add_words(&prefix, text, counted, &mut find));
                }
            }
            (Document::Mail(_), expected) => return Err(Error::Kind { expected, got: Kind::Mail }),
            (Document::Text(_), expected) => return Err(Error::Kind { expected, got: Kind::Text }),
        }
        outcome?;
        counted.count();
        Ok(())
    }

    fn add_words(
        &self,
        prefix: &str,
        text: &str,
        counted: &mut Counted,
        find: &mut impl FnMut(&str, bool) -> Result<TermId>,
    ) -> Result<()> {
        let Counted { scratch, term, outside, body, .. } = counted;
        // a row has no body of its own: rows that say the same stay together
        let in_body = prefix.is_empty() || self.recipe.kind == Kind::Table;
        let mut add = |text: &str, ids: &mut Vec<TermId>| {
            let mut outcome = Ok(());
            self.terms(prefix, text, scratch, term, &mut |term| match find(term, in_body) {
                Ok(id) => ids.push(id),
                Err(error) => outcome = Err(error),
            });
            outcome
        };
        if prefix.is_empty() { add(text, body) } else { add(text, outside) }
    }

    fn add_row(
        &self,
        fields: &[(&str, &str)],
        counted: &mut Counted,
        find: &mut impl FnMut(&str, bool) -> Result<TermId>,
    ) -> Result<()> {
        let cells = self.columns.cells(fields);
        for (i, (column, cell)) in self.recipe.columns.iter().zip(cells).enumerate() {
            if cell.is_none() {
                counted.missing.push(i);
            }
            let prefix = self.columns.prefix(i);
            match (column.kind, cell) {
                (ColumnKind::Gaussian, cell) => {
                    counted.reals.push(cell.map(|cell| column.number(cell)).transpose()?);
                    continue;
                }
                (_, None) => (),
                (ColumnKind::Text, Some(cell)) => self.add_words(prefix, cell, counted, find)?,
                (ColumnKind::Categorical | ColumnKind::Bernoulli, Some(cell)) => {
                    column.write_term(prefix, cell, &mut counted.term)?;
                    counted.outside.push(find(&counted.term, true)?);
                }
            }
            counted.group_ends.push(counted.outside.len());
        }
        Ok(())
    }

    /// Terms of a field carry its prefix; a term of a mail's body that contains a colon is marked, so that nothing
    /// in a body can pose as a header.
    fn terms(
        &self,
        prefix: &str,
        text: &str,
        scratch: &mut tamis_tokenizer::Scratch,
        buffer: &mut String,
        emit: &mut impl FnMut(&str),
    ) {
        let mail = self.recipe.kind == Kind::Mail;
        self.tokenizer.for_each_term(text, scratch, |term| {
            let prefix = if prefix.is_empty() && mail && term.contains(':') { "body:" } else { prefix };
            if prefix.is_empty() {
                return emit(term);
            }
            buffer.clear();
            buffer.push_str(prefix);
            buffer.push_str(term);
            emit(buffer);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(recipe: Recipe, document: Document<'_>) -> Result<(Vec<String>, Counted)> {
        let extractor = Extractor::new(recipe)?;
        let (mut terms, mut counted) = (Vec::new(), Counted::default());
        extractor.count(document, &mut counted, |term, _| {
            let id = terms.iter().position(|known| known == term).unwrap_or(terms.len());
            terms.truncate(terms.len().max(id));
            if id == terms.len() {
                terms.push(term.to_owned());
            }
            Ok(id as TermId)
        })?;
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
        recipe.tokenizer.word_rule = tamis_tokenizer::WordRule::Unicode;
        let (terms, _) = count(recipe, Document::Fields(&[("", "s:cheap")])).unwrap();
        assert_eq!(terms, ["body:s:cheap"]);
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
    fn windows_hold_what_lies_outside_the_body_and_a_stretch_of_it() {
        let recipe = Recipe { content_only: true, windows: Some(20), ..Recipe::new(Kind::Mail) };
        let body = "Subject: hi\n\naaaa bbbb cccc dddd eeee ffff gggg\n";
        let (terms, counted) = count(recipe, Document::Mail(body.as_bytes())).unwrap();
        let text = |row: CountRow<'_>| {
            row.ids().iter().map(|id| terms[*id as usize].as_str()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(text(counted.whole()), "s:hi aaaa bbbb cccc dddd eeee ffff gggg");
        let windows: Vec<_> = counted.windows().map(text).collect();
        assert_eq!(windows, ["s:hi aaaa bbbb cccc dddd eeee", "s:hi dddd eeee ffff gggg"]);
    }

    #[test]
    fn the_wrong_kind_and_another_recipe_are_refused() {
        let got = count(Recipe::new(Kind::Text), Document::Mail(b"x")).err();
        assert!(matches!(got, Some(Error::Kind { expected: Kind::Text, got: Kind::Mail })));
        let recipe = Recipe { version: RECIPE_VERSION + 1, ..Recipe::new(Kind::Text) };
        assert!(matches!(Extractor::new(recipe), Err(Error::RecipeVersion { .. })));
        let recipe = Recipe { windows: Some(0), ..Recipe::new(Kind::Mail) };
        assert!(matches!(Extractor::new(recipe), Err(Error::Option { option: "windows", .. })));
    }
}
