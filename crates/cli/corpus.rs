//! Going through many documents: several at a time, results in order, past those that cannot be read.

use std::borrow::Cow;
use std::fs::File;
use std::io::{IsTerminal, Read};
use std::mem;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;
use tamis_filter::{Document, Error, Kind, Limits, Recipe};

use crate::args::InputArgs;
use crate::output::{Loaded, counted, say};
use crate::records::Cells;
use crate::shown::{plain, shown};
use crate::sources::{self, Columns, Content, Holds, Item, Layout, Place, Source};

/// All documents of a command.
pub(crate) struct Corpus<'a> {
    pub(crate) kind: Kind,
    places: Vec<Place>,
    input: &'a InputArgs,
    labelled: bool,
    unreadable: usize,
    /// Of tables, the column that holds the labels.
    target: Option<String>,
}

/// What is left when all documents were gone through.
pub(crate) struct Finished<S> {
    /// The state of every worker.
    pub(crate) states: Vec<S>,
    /// Documents that could not be read; each was named.
    pub(crate) unreadable: usize,
}

/// The documents worked on at a time, and the bytes of those that come out of larger files.
const BATCH: usize = 1024;
const BATCH_BYTES: usize = 16 << 20;

/// Documents that a worker takes at most at once, so that none has many left when the others are done.
const TOGETHER: usize = 8;

/// Bytes of the buffer that a worker reads files into, and keeps from one to the next.
const LEAST_KEPT: usize = 64 << 10;
const MOST_KEPT: usize = 1 << 20;

impl<'a> Corpus<'a> {
    /// Lists the documents of all sources and tells what each was taken for. `expected` is the kind they must have,
    /// and what has it.
    pub(crate) fn find(
        arguments: &[String],
        labelled: bool,
        input: &'a InputArgs,
        expected: Option<(Kind, &str)>,
    ) -> Result<Self> {
        let mut corpus = Corpus::empty(Kind::Text, labelled, input);
        let mut kind = expected.map(|(kind, whose)| (kind, whose.to_owned()));
        for argument in arguments {
            let found = sources::find(&Source::parse(argument), labelled, input.kind)?;
            match &kind {
                Some((known, whose)) if *known != found.kind && !found.places.is_empty() => bail!(
                    "{}: expected {known}, as {} is, got {}; --as mail or --as text settles what documents are",
                    shown(argument),
                    shown(whose),
                    found.kind
                ),
                Some(_) => (),
                None => kind = Some((found.kind, argument.clone())),
            }
            // of a file that is a document there is nothing to tell
            if !matches!(&found.places[..], [Place { holds: Holds::One, path, .. }] if path.as_os_str() == argument.as_str())
            {
                say!("{}: {}, {}", shown(argument), found.kind, counted(found.places.len() as u64, "file"));
            }
            if found.unlabelled > 0 {
                say!(
                    "{}: left out {} beside the folders of labels",
                    shown(argument),
                    counted(found.unlabelled as u64, "file")
                );
            }
            found.unreadable.iter().for_each(|error| say!("tamis: {error}"));
            corpus.unreadable += found.unreadable.len();
            corpus.places.extend(found.places);
        }
        corpus.kind = kind.map_or(Kind::Text, |(kind, _)| kind);
        Ok(corpus)
    }

    fn empty(kind: Kind, labelled: bool, input: &'a InputArgs) -> Self {
        Corpus { kind, places: Vec::new(), input, labelled, unreadable: 0, target: None }
    }

    /// As [`find`](Self::find), for the documents that a model is of.
    pub(crate) fn find_for(
        arguments: &[String],
        labelled: bool,
        input: &'a InputArgs,
        recipe: &Recipe,
    ) -> Result<Self> {
        match recipe.kind {
            Kind::Table => Corpus::find_rows(arguments, labelled, input, recipe.target.as_deref()),
            kind => Corpus::find(arguments, labelled, input, Some((kind, "the model"))),
        }
    }

    /// Lists tables whose rows are documents of many columns, labelled by the target.
    pub(crate) fn find_rows(
        arguments: &[String],
        labelled: bool,
        input: &'a InputArgs,
        target: Option<&str>,
    ) -> Result<Self> {
        let mut corpus = Corpus::empty(Kind::Table, labelled, input);
        corpus.target = target.map(str::to_owned);
        if let Some(kind) = input.kind {
            bail!("--as {kind}: expected none for a table with many columns");
        }
        if input.label_column.is_some() || input.text_column.is_some() {
            bail!(
                "--label-column and --text-column: expected none, since a model of a table has its columns"
            );
        }
        for argument in arguments {
            let source = Source::parse(argument);
            if source.label.is_some() {
                bail!(
                    "{}: expected a table, whose rows have their labels, got a label before it",
                    shown(argument)
                );
            }
            let found = sources::find_tables(&source)?;
            say!("{}: {}, {}", shown(argument), found.kind, counted(found.places.len() as u64, "file"));
            found.unreadable.iter().for_each(|error| say!("tamis: {error}"));
            corpus.unreadable += found.unreadable.len();
            corpus.places.extend(found.places);
        }
        Ok(corpus)
    }

    /// The rows of all tables; those that cannot be read are left out.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Result<Cells>> {
        self.places.iter().flat_map(|place| -> Box<dyn Iterator<Item = Result<Cells>>> {
            match sources::whole_rows(place, None) {
                Ok(rows) => Box::new(rows.filter_map(|row| row.content.ok()).map(Ok)),
                Err(error) => Box::new(std::iter::once(Err(error))),
            }
        })
    }

    /// Does `work` for every document, on all threads, and then `done` with the results, in order.
    ///
    /// Every worker has a state made by `start`. A document that cannot be read is named and counted; an error of
    /// `work` or `done` ends it all.
    pub(crate) fn for_each<S: Send, T: Send>(
        &self,
        limits: &Limits,
        start: impl Fn() -> Result<S> + Sync,
        work: impl Fn(&mut S, &Item, Document<'_>) -> Result<T> + Sync,
        mut done: impl FnMut(&Item, T) -> Result<()>,
    ) -> Result<Finished<S>> {
        let states = Mutex::new(Vec::new());
        let run = |item: &Item| -> Result<Result<T, String>> {
            // At most one state a thread, since a worker puts its own back before it takes the next document.
            let free = states.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let (mut state, mut buffer) = free.map_or_else(|| start().map(|s| (s, Vec::new())), Ok)?;
            let result = self.read(item, limits, &mut buffer).map(|bytes| {
                let loaded = match &item.content {
                    Content::Text(text) => Loaded::Text(Cow::Borrowed(text)),
                    Content::Row(cells) => Loaded::row(cells),
                    _ => Loaded::new(self.kind, bytes),
                };
                work(&mut state, item, loaded.document())
            });
            states.lock().unwrap_or_else(PoisonError::into_inner).push((state, buffer));
            match result {
                Err(error) => Ok(Err(error)),
                Ok(result) => finish_one(item, result),
            }
        };
        fn finish_one<T>(item: &Item, result: Result<T>) -> Result<Result<T, String>> {
            match result {
                Err(error) if matches!(error.downcast_ref(), Some(Error::Cell { .. })) => {
                    Ok(Err(error.to_string()))
                }
                result => result.with_context(|| shown(&item.name).into_owned()).map(Ok),
            }
        }
        let mut unreadable = self.unreadable;
        let bar = self.progress_bar();
        let mut settle = |(batch, results): (Vec<Item>, Vec<Result<Result<T, String>>>)| -> Result<()> {
            for (item, result) in batch.iter().zip(results) {
                match result? {
                    Ok(result) => done(item, result)?,
                    Err(error) => {
                        unreadable += 1;
                        bar.suspend(|| say!("tamis: {}: {error}", shown(&item.name)));
                    }
                }
            }
            bar.inc(batch.len() as u64);
            bar.set_length(bar.length().unwrap_or_default().max(bar.position()));
            Ok(())
        };
        let mut before = None;
        let outcome = self.for_each_batch(limits, &mut |batch| {
            let mut results = Vec::new();
            // while the other threads begin with this batch, the one before is settled here
            rayon::in_place_scope(|scope| {
                scope.spawn(|_| results = batch.par_iter().with_max_len(TOGETHER).map(run).collect());
                before.take().map_or(Ok(()), &mut settle)
            })?;
            before = Some((batch, results));
            Ok(())
        });
        // also if what comes after it cannot be read
        before.map_or(Ok(()), settle)?;
        outcome?;
        bar.finish_and_clear();
        let states = states.into_inner().unwrap_or_else(PoisonError::into_inner);
        let states = states.into_iter().map(|(state, _)| state).collect();
        Ok(Finished { states, unreadable })
    }

    /// The bytes of a document; those of a file are read into the buffer.
    fn read<'i>(&self, item: &'i Item, limits: &Limits, buffer: &'i mut Vec<u8>) -> Result<&'i [u8], String> {
        if self.labelled && item.label.as_deref().is_none_or(str::is_empty) {
            return Err(match (&item.content, &self.target) {
                (Content::Unreadable(error), _) => error.clone(),
                (_, Some(target)) => format!("column {target:?}: expected a label, got none"),
                (_, None) => "expected a label, got none".to_owned(),
            });
        }
        match &item.content {
            Content::Mail(bytes) => Ok(bytes),
            Content::Text(_) | Content::Row(_) => Ok(&[]),
            Content::Unreadable(error) => Err(error.clone()),
            Content::File => {
                // Of a message no more than is looked at, and one byte to tell that there was more.
                let most =
                    if self.kind == Kind::Mail { (limits.bytes as u64).saturating_add(1) } else { u64::MAX };
                buffer.clear();
                buffer.shrink_to(MOST_KEPT);
                // room for most documents, so that reading one takes two calls
                buffer.reserve(LEAST_KEPT);
                let read = File::open(&item.path).and_then(|file| file.take(most).read_to_end(buffer));
                read.map(|_| &buffer[..]).map_err(|e| plain(&e))
            }
        }
    }

    fn for_each_batch(&self, limits: &Limits, run: &mut impl FnMut(Vec<Item>) -> Result<()>) -> Result<()> {
        let layout = match self.kind {
            Kind::Table => Layout::Rows { target: self.target.as_deref(), labelled: self.labelled },
            Kind::Mail | Kind::Text => {
                let InputArgs { label_column, text_column, .. } = self.input;
                Layout::Text(Columns {
                    label: label_column.as_deref().unwrap_or("label"),
                    text: text_column.as_deref().unwrap_or("text"),
                })
            }
        };
        let (mut batch, mut bytes) = (Vec::new(), 0);
        for place in &self.places {
            for item in sources::items(place, &layout, limits.bytes.saturating_add(1))? {
                bytes += match &item.content {
                    Content::Mail(content) => content.len(),
                    Content::Text(content) => content.len(),
                    Content::Row(cells) => cells.iter().map(|(_, cell)| cell.len()).sum(),
                    _ => 0,
                };
                batch.push(item);
                if batch.len() == BATCH || bytes >= BATCH_BYTES {
                    run(mem::take(&mut batch))?;
                    bytes = 0;
                }
            }
        }
        run(batch)
    }

    fn progress_bar(&self) -> ProgressBar {
        if !std::io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::new(self.places.len() as u64);
        let template = "{bar:40} {human_pos}/{human_len} documents, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar
    }

    /// Says how many documents could not be read, and whether that is an error.
    pub(crate) fn conclude(&self, unreadable: usize) -> u8 {
        if unreadable == 0 {
            return 0;
        }
        say!("tamis: {} could not be read", counted(unreadable as u64, "document"));
        if self.input.strict { crate::ERROR } else { 0 }
    }
}
