//! Going through many documents: several at a time, results in order, past those that cannot be read.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::mem;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;
use tamis_filter::{Document, Error, Kind, Limits, Recipe};

use crate::args::InputArgs;
use crate::duplicates;
use crate::output::{Loaded, counted, grouped, say};
use crate::records::Cells;
use crate::shown::{plain, shown_path, told};
use crate::sources::{
    self, Columns, Content, Found, Holds, Item, Layout, Place, Source, foreign, foreign_in_folder,
};

/// All documents of a command.
pub(crate) struct Corpus<'a> {
    pub(crate) kind: Kind,
    places: Vec<Place>,
    input: &'a InputArgs,
    labelled: bool,
    unreadable: usize,
    /// Paths that the user named and that could not be read.
    failed: AtomicUsize,
    /// Of tables, the column that holds the labels.
    target: Option<String>,
}

/// What is asked of sources.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Documents with labels.
    Labelled,
    /// Documents, with labels or without.
    Documents,
    /// The documents of those sources that are there.
    WhatIsThere,
}

/// Why there is no result for a document.
enum Skipped {
    /// It could not be read.
    Unreadable(String),
    /// It is a file of another kind, which nobody named.
    Foreign(&'static str),
}

impl From<String> for Skipped {
    fn from(error: String) -> Self {
        Skipped::Unreadable(error)
    }
}

/// Files of other kinds, and what cannot be read of a file, that are named; the others are counted.
const NAMED: usize = 5;

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

/// What could not be read: of the rows or messages of a file five are named, the others counted.
#[derive(Default)]
struct Complaints {
    path: PathBuf,
    n: usize,
}

impl Complaints {
    fn say(&mut self, item: &Item, error: &str) {
        if item.path != self.path {
            self.finish();
            *self = Complaints { path: item.path.clone(), n: 0 };
        }
        self.n += 1;
        if self.n <= NAMED {
            say!("tamis: {}: {error}", shown_path(&item.name));
        }
    }

    /// Says how many were not named of the file worked on last.
    fn finish(&self) {
        if self.n > NAMED {
            say!("tamis: {}: ... and {} more such", shown_path(&self.path), grouped((self.n - NAMED) as u64));
        }
    }
}

impl<'a> Corpus<'a> {
    /// Lists the documents of all sources and tells what each was taken for. `expected` is the kind they must have,
    /// and what has it; a single document is taken for it.
    pub(crate) fn find(
        arguments: &[OsString],
        wanted: Wanted,
        input: &'a InputArgs,
        expected: Option<(Kind, &str)>,
    ) -> Result<Self> {
        let mut corpus = Corpus::empty(Kind::Text, wanted, input);
        let mut kind = expected.map(|(kind, whose)| (kind, whose.to_owned()));
        for argument in arguments {
            let source = Source::parse(argument);
            let Some(found) =
                corpus.found(sources::find(&source, corpus.labelled, input.kind, input.holds()), wanted)?
            else {
                continue;
            };
            let name = shown_path(argument);
            match (&kind, found.kind) {
                (Some((known, whose)), Some(got)) if *known != got && !found.places.is_empty() => bail!(
                    "{name}: expected {known}, as {whose} is, got {got}; --as mail or --as text settles what documents are"
                ),
                (None, Some(got)) => kind = Some((got, name.clone())),
                _ => (),
            }
            if let (Some(Kind::Mail), [Place { holds: Holds::Csv | Holds::Tsv | Holds::Jsonl, .. }]) =
                (input.kind, &found.places[..])
            {
                bail!("{name}: expected mail, as --as says, got a table");
            }
            // of a file that is a document there is nothing to tell
            if !matches!(&found.places[..], [Place { holds: Holds::One, named: true, .. }]) {
                let files = counted(found.places.len() as u64, "file");
                match found.kind {
                    Some(kind) => say!("{name}: {kind}, {files}"),
                    None if found.places.is_empty() => say!("{name}: no documents found"),
                    None => say!("{name}: {files}"),
                }
            }
            corpus.add(argument, found);
        }
        corpus.kind = kind.map_or_else(|| sources::recognise(&corpus.places), |(kind, _)| kind);
        corpus.leave_out_duplicates(&[]);
        Ok(corpus)
    }

    fn empty(kind: Kind, wanted: Wanted, input: &'a InputArgs) -> Self {
        let labelled = wanted == Wanted::Labelled;
        let failed = AtomicUsize::new(0);
        Corpus { kind, places: Vec::new(), input, labelled, unreadable: 0, failed, target: None }
    }

    /// What was found, or nothing if that may be.
    fn found(&self, found: Result<Found>, wanted: Wanted) -> Result<Option<Found>> {
        match found {
            Err(error) if wanted == Wanted::WhatIsThere => {
                say!("tamis: {}", told(&error));
                self.failed.fetch_add(1, Ordering::Relaxed);
                Ok(None)
            }
            found => found.map(Some),
        }
    }

    /// Adds what was found, and tells what was not taken.
    fn add(&mut self, argument: &OsStr, found: Found) {
        if let Some(left_out) = found.left_out.describe() {
            say!("{}: left out {left_out}", shown_path(argument));
        }
        found.unreadable.iter().for_each(|error| say!("tamis: {error}"));
        self.unreadable += found.unreadable.len();
        self.places.extend(found.places);
    }

    /// As [`find`](Self::find), for the documents that a model is of.
    pub(crate) fn find_for(
        arguments: &[OsString],
        wanted: Wanted,
        input: &'a InputArgs,
        recipe: &Recipe,
    ) -> Result<Self> {
        match recipe.kind {
            Kind::Table => Corpus::find_rows(arguments, wanted, input, recipe.target.as_deref()),
            kind => Corpus::find(arguments, wanted, input, Some((kind, "the model"))),
        }
    }

    /// As [`find`](Self::find), for a model that is yet to be made: of mail, unless folders, tables or names say otherwise.
    pub(crate) fn find_for_new(arguments: &[OsString], input: &'a InputArgs) -> Result<Self> {
        let mut corpus = Corpus::find(arguments, Wanted::Documents, input, None)?;
        let is_text = |place: &Place| place.path.extension().is_some_and(|e| e.eq_ignore_ascii_case("txt"));
        let is_mail = |place: &Place| place.named && place.holds == Holds::One && !is_text(place);
        if input.kind.is_none() && corpus.places.iter().all(is_mail) {
            corpus.kind = Kind::Mail;
        }
        Ok(corpus)
    }

    /// Takes single documents that were found for whatever model for what this one is of.
    ///
    /// # Errors
    /// If they are others.
    pub(crate) fn suit(&mut self, recipe: &Recipe) -> Result<()> {
        let is_single = |place: &Place| place.named && place.holds == Holds::One;
        let is_open = self.input.kind.is_none() && self.places.iter().all(is_single);
        match recipe.kind {
            kind if kind == self.kind => Ok(()),
            kind @ (Kind::Mail | Kind::Text) if is_open => {
                self.kind = kind;
                Ok(())
            }
            kind => bail!("expected {kind}, as the model is of, got {}", self.kind),
        }
    }

    /// Lists tables whose rows are documents of many columns, labelled by the target.
    pub(crate) fn find_rows(
        arguments: &[OsString],
        wanted: Wanted,
        input: &'a InputArgs,
        target: Option<&str>,
    ) -> Result<Self> {
        let mut corpus = Corpus::empty(Kind::Table, wanted, input);
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
            let (source, name) = (Source::parse(argument), shown_path(argument));
            if source.label.is_some() {
                bail!("{name}: expected a table, whose rows have their labels, got a label before it");
            }
            let Some(found) = corpus.found(sources::find_tables(&source, input.holds().1), wanted)? else {
                continue;
            };
            say!("{name}: table, {}", counted(found.places.len() as u64, "file"));
            corpus.add(argument, found);
        }
        corpus.leave_out_duplicates(&[]);
        Ok(corpus)
    }

    /// Leaves out files with labels that come before under the same label, and those that are `known`.
    fn leave_out_duplicates(&mut self, known: &[Place]) {
        if !self.labelled && known.is_empty() {
            return;
        }
        let n = duplicates::leave_out(&mut self.places, known);
        if n > 0 {
            let were = if n == 1 { "was" } else { "were" };
            say!("{} {were} given twice and counted once", counted(n, "file"));
        }
    }

    /// The labels that folders and names give; rows may have more.
    pub(crate) fn n_labels(&self) -> usize {
        self.places.iter().filter_map(|place| place.label.as_ref()).collect::<HashSet<_>>().len()
    }

    /// Leaves out the files of another corpus, and those that come twice.
    pub(crate) fn without(mut self, other: &Corpus<'_>) -> Self {
        self.leave_out_duplicates(&other.places);
        self
    }

    /// Goes through the documents once more, but not those of streams, until `visit` has seen enough. Files are not read.
    pub(crate) fn for_each_item(&self, limits: &Limits, mut visit: impl FnMut(&Item) -> bool) -> Result<()> {
        let layout = self.layout();
        for place in self.places.iter().filter(|place| place.once.is_none()) {
            for item in self.items(place, &layout, limits)? {
                if !visit(&item) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The rows of all tables; those that cannot be read are left out.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Result<Cells>> {
        self.places.iter().flat_map(|place| -> Box<dyn Iterator<Item = Result<Cells>>> {
            match sources::whole_rows(place, None, self.input.shape()) {
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
        let run = |item: &Item| -> Result<Result<T, Skipped>> {
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
        fn finish_one<T>(item: &Item, result: Result<T>) -> Result<Result<T, Skipped>> {
            match result {
                Err(error) if matches!(error.downcast_ref(), Some(Error::Cell { .. })) => {
                    Ok(Err(error.to_string().into()))
                }
                result => result.with_context(|| shown_path(&item.name)).map(Ok),
            }
        }
        let (mut unreadable, mut foreign) = (self.unreadable, 0);
        let mut complaints = Complaints::default();
        let bar = self.progress_bar();
        let mut settle = |(batch, results): (Vec<Item>, Vec<Result<Result<T, Skipped>>>)| -> Result<()> {
            for (item, result) in batch.iter().zip(results) {
                match result? {
                    Ok(result) => done(item, result)?,
                    Err(Skipped::Unreadable(error)) => {
                        unreadable += 1;
                        self.failed.fetch_add(usize::from(item.named), Ordering::Relaxed);
                        bar.suspend(|| complaints.say(item, &error));
                    }
                    Err(Skipped::Foreign(what)) => {
                        foreign += 1;
                        if foreign <= NAMED {
                            bar.suspend(|| say!("tamis: {}: passed over: {what}", shown_path(&item.name)));
                        }
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
        complaints.finish();
        if foreign > NAMED {
            say!("tamis: passed over {} that are neither mail nor text", counted(foreign as u64, "file"));
        }
        let states = states.into_inner().unwrap_or_else(PoisonError::into_inner);
        let states = states.into_iter().map(|(state, _)| state).collect();
        Ok(Finished { states, unreadable })
    }

    /// The bytes of a document; those of a file are read into the buffer.
    fn read<'i>(
        &self,
        item: &'i Item,
        limits: &Limits,
        buffer: &'i mut Vec<u8>,
    ) -> Result<&'i [u8], Skipped> {
        if self.labelled && item.label.as_deref().is_none_or(str::is_empty) {
            return Err(Skipped::Unreadable(match (&item.content, &self.target) {
                (Content::Unreadable(error), _) => error.clone(),
                (_, Some(target)) => format!("column {target:?}: expected a label, got none"),
                (_, None) => "expected a label, got none".to_owned(),
            }));
        }
        let bytes = match &item.content {
            Content::Bytes(bytes) => bytes,
            Content::Text(_) | Content::Row(_) => return Ok(&[]),
            Content::Unreadable(error) => return Err(error.clone().into()),
            Content::File => {
                buffer.clear();
                buffer.shrink_to(MOST_KEPT);
                // room for most documents, so that reading one takes two calls
                buffer.reserve(LEAST_KEPT);
                sources::read_document(&item.path, self.most_of_one(limits), buffer)
                    .map_err(|e| plain(&e))?;
                if let Some(what) = foreign_in_folder(buffer).filter(|_| !item.named) {
                    return Err(Skipped::Foreign(what));
                }
                buffer
            }
        };
        match foreign(bytes).filter(|_| item.named) {
            Some(what) => Err(format!("expected {}, got {what}", self.kind).into()),
            None => Ok(bytes),
        }
    }

    /// Bytes that are read of a document: of a message no more than is looked at, and one to tell that there was more.
    fn most_of_one(&self, limits: &Limits) -> u64 {
        if self.kind == Kind::Mail { (limits.bytes as u64).saturating_add(1) } else { u64::MAX }
    }

    /// What is read of tables.
    fn layout(&self) -> Layout<'_> {
        match self.kind {
            Kind::Table => Layout::Rows {
                target: self.target.as_deref(),
                labelled: self.labelled,
                shape: self.input.shape(),
            },
            Kind::Mail | Kind::Text => {
                let InputArgs { label_column, text_column, .. } = self.input;
                Layout::Text(Columns {
                    label: label_column.as_deref().unwrap_or("label"),
                    text: text_column.as_deref().unwrap_or("text"),
                    shape: self.input.shape(),
                })
            }
        }
    }

    /// The documents of a place, as far as they are read.
    fn items<'p>(
        &self,
        place: &'p Place,
        layout: &'p Layout<'p>,
        limits: &Limits,
    ) -> Result<Box<dyn Iterator<Item = Item> + 'p>> {
        sources::items(place, layout, limits.bytes.saturating_add(1), self.most_of_one(limits))
    }

    fn for_each_batch(&self, limits: &Limits, run: &mut impl FnMut(Vec<Item>) -> Result<()>) -> Result<()> {
        let layout = self.layout();
        let (mut batch, mut bytes) = (Vec::new(), 0);
        for place in &self.places {
            let items = match self.items(place, &layout, limits) {
                // one that nobody named is told, and the others are gone through
                Err(error) if !place.named => Box::new(std::iter::once(Item::unreadable(place, &error))),
                items => items?,
            };
            for item in items {
                bytes += match &item.content {
                    Content::Bytes(content) => content.len(),
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

    /// Says how many documents could not be read, and whether that is an error: it is if the user named one.
    pub(crate) fn conclude(&self, unreadable: usize) -> u8 {
        let failed = self.failed.load(Ordering::Relaxed);
        if unreadable > 0 {
            say!("tamis: {} could not be read", counted(unreadable as u64, "document"));
        }
        if failed > 0 || unreadable > 0 && self.input.strict { crate::ERROR } else { 0 }
    }
}
