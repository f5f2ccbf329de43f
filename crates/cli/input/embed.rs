//! Gives the documents of a corpus their vectors.

use std::ffi::OsString;
use std::io;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, bail};
use tamis_program::{Stream, shown_path};
use tamis_train::options::VectorSpace;
use tamis_train::{Kind, Recipe};
use tempfile::TempPath;

use crate::formats::holds::Holds;
use crate::formats::record::TableRow;
use crate::formats::table::{TextColumns, rows};
use crate::input::corpus::Corpus;
use crate::input::encoder::Encoder;
use crate::input::file::{InputFile, SourceScope};
use crate::input::vectors::VectorSource;

impl<'a> Corpus<'a> {
    /// Finds the vectors of the documents for a model of this recipe, whose rows of a table have none.
    pub(super) fn embed(&mut self, recipe: &Recipe) -> Result<()> {
        self.vectors =
            VectorSource::for_model(&self.input.vectors, recipe, |encoder| self.encode(recipe, encoder))?;
        self.check_rows()
    }

    /// As [`embed`](Self::embed), for a new model: if there are vectors, the recipe gets their space.
    pub(crate) fn embed_new(&mut self, recipe: &mut Recipe) -> Result<()> {
        if self.kind == Kind::Table {
            return Ok(());
        }
        self.vectors = VectorSource::new(&self.input.vectors, |encoder| self.encode(recipe, encoder))?;
        self.check_rows()?;
        let dimensions = self.vectors.dimensions().or_else(|| self.first_vector());
        if let (None, Some(column)) = (dimensions, &self.input.vectors.vector_column) {
            bail!(
                "--vector-column: expected rows with an array of numbers in the column {column:?}, got none"
            );
        }
        let encoder = self.input.vectors.encoder_name().to_owned();
        recipe.vectors =
            dimensions.map(|n| VectorSpace { dimensions: u32::try_from(n).unwrap_or(u32::MAX), encoder });
        self.vectors = std::mem::take(&mut self.vectors).suit(recipe)?;
        Ok(())
    }

    /// Finds documents without labels, for the model of these.
    pub(crate) fn find_unlabelled(&self, arguments: &[OsString], recipe: &Recipe) -> Result<Corpus<'a>> {
        let expected = Some((self.kind, "the labelled source"));
        let mut more = Corpus::find(arguments, SourceScope::Documents, self.input, expected)?.without(self);
        if more.files.is_empty() {
            return Ok(more);
        }
        if self.input.vectors.vectors.is_some() {
            bail!(
                "--vectors: expected no --unlabelled, since the file has rows of the labelled documents alone"
            );
        }
        more.embed(recipe)?;
        Ok(more)
    }

    /// Checks that there are as many vectors as documents, if these are known without reading files.
    fn check_rows(&self) -> Result<()> {
        let are_known =
            self.vectors.dimensions().is_some() && self.files.iter().all(|file| file.holds == Holds::One);
        if are_known { self.vectors.conclude(self.files.len() as u64) } else { Ok(()) }
    }

    /// Sends the text of each document to an encoder, an empty one if it cannot be read. Streams are kept in temporary files
    /// until they are read again.
    fn encode(&mut self, recipe: &Recipe, encoder: &mut Encoder) -> Result<()> {
        let mut buffer = Vec::new();
        for at in 0..self.files.len() {
            let copy = self.files[at].take_stream()?.map(spool).transpose();
            let copy = copy.with_context(|| shown_path(&self.files[at].path))?;
            self.files[at].begin_again(copy.as_ref())?;
            let columns = self.columns();
            // what cannot be opened is told when it is its turn
            for item in self.items(&self.files[at], &recipe.limits).into_iter().flatten() {
                let text = self
                    .read(&item, &columns, &recipe.limits, &mut buffer, |_, document| document.text(recipe));
                encoder.send(&text.unwrap_or_default())?;
            }
            self.files[at].begin_again(copy.as_ref())?;
        }
        Ok(())
    }

    /// The length of the first vector in a column of the tables. Of standard input, only the first rows are known.
    fn first_vector(&self) -> Option<usize> {
        let column = self.vectors.column().unwrap_or_default();
        self.files.iter().filter(|file| file.holds.is_table()).find_map(|file| {
            let columns = TextColumns { vector: Some(column), ..self.columns() };
            let reader = match file.once.is_some() {
                true => Box::new(io::Cursor::new(file.start())),
                false => file.open().ok()?,
            };
            let (rows, _) = rows(reader, file.holds, &columns).ok()?;
            rows.filter_map(|TableRow { content, .. }| content.ok()).find_map(|record| {
                let row = record.may_have_vector(column).then(|| record.text_row(&columns).ok()).flatten();
                row.map(|row| row.vector.len()).filter(|length| *length > 0)
            })
        })
    }
}

impl InputFile {
    /// Lets a stream be read again from a copy of it.
    fn begin_again(&mut self, copy: Option<&TempPath>) -> Result<()> {
        if let Some(copy) = copy {
            self.once = Some(Arc::new(Mutex::new(Some(Stream::open(copy)?))));
        }
        Ok(())
    }
}

/// Copies a stream into a temporary file.
fn spool(stream: Stream) -> io::Result<TempPath> {
    let mut copy = tempfile::NamedTempFile::new()?;
    io::copy(&mut stream.into_reader()?, &mut copy)?;
    Ok(copy.into_temp_path())
}
