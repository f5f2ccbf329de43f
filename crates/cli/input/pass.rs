//! A pass over the documents of a corpus: they are read ahead, processed by all threads, and finished in order.

use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::{mem, slice};

use anyhow::{Result, anyhow, bail};
use rayon::prelude::*;
use tamis_mail::{lacks_header, mbox, not_mail};
use tamis_program::{note, plain, read_document, shown_path, told};
use tamis_train::{Document, Error, ErrorKind, Kind, Limits, Trainer, is_missing};

use crate::formats::holds::Holds;
use crate::formats::labels::Label;
use crate::formats::record::TableRow;
use crate::formats::table::{TextColumns, TextRow};
use crate::input::archive::archive_members;
use crate::input::complaints::{Complaints, SkipReason};
use crate::input::corpus::Corpus;
use crate::input::file::{InputFile, SourceScope};
use crate::input::items::{Content, Item, cell_of, text_rows, whole_rows};
use crate::input::reading::{DocumentView, most_of_document};
use crate::output::PassProgress;

/// The result of a pass.
pub(crate) struct PassResult<S> {
    /// The state of every worker.
    pub(crate) states: Vec<S>,
    /// Number of documents that could not be read.
    pub(crate) unreadable: usize,
}

/// The label, group and weight of a document.
#[derive(Clone, Copy)]
pub(crate) struct Attributes<'a> {
    /// Empty if the document has no label.
    pub(crate) label: &'a str,
    /// The name of its group, if it has one.
    pub(crate) group: Option<&'a str>,
    pub(crate) weight: f64,
}

/// Documents processed at a time, and the maximum bytes of those that come out of larger files.
const BATCH: usize = 1024;
const BATCH_BYTES: usize = 16 << 20;

/// Documents that a worker takes at a time. Few, so that no worker has many left when the others are done.
const TOGETHER: usize = 8;

/// Why a row is not learned whose label is one of the words that stand for a missing cell.
const MISSING_LABEL: &str = "without a label, such as NA; --na-labels takes it as a label";

/// Bounds of the buffer that a worker reads files into and keeps from one file to the next, in bytes.
const LEAST_KEPT: usize = 64 << 10;
const MOST_KEPT: usize = 1 << 20;

/// A document of a batch, and how far it has come.
struct BatchItem<'p, T> {
    item: Item<'p>,
    state: PassState<T>,
}

enum PassState<T> {
    Waiting,
    Done(T),
    Skipped(SkipReason),
    /// The error that ends the pass.
    Failed(anyhow::Error),
}

impl Corpus<'_> {
    /// Calls `work` for every document and its attributes, on all threads, and then `done` with the results, in order.
    /// While a batch is processed, the one before is finished and the one after is read.
    ///
    /// Every worker has a state made by `start`. A document that cannot be read is named and counted. An error of
    /// `work` or `done` ends the pass. So does asking for groups if no document has one.
    pub(crate) fn for_each<S: Send, T: Send>(
        &self,
        limits: &Limits,
        start: impl Fn() -> Result<S> + Sync,
        work: impl Fn(&mut S, &Item<'_>, Attributes<'_>, Document<'_>) -> Result<T> + Sync,
        mut done: impl FnMut(&Item<'_>, T) -> Result<()>,
    ) -> Result<PassResult<S>> {
        let (states, columns) = (Mutex::new(Vec::new()), self.columns());
        let run = |slots: &mut [BatchItem<'_, T>]| {
            // at most one state per thread, since a worker returns its own before it takes the next documents
            let free = states.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let (mut state, mut buffer) = match free.map_or_else(|| start().map(|s| (s, Vec::new())), Ok) {
                Ok(free) => free,
                Err(error) => return slots[0].state = PassState::Failed(error),
            };
            for BatchItem { item, state: reached } in slots {
                let work =
                    |given: Attributes<'_>, document: Document<'_>| work(&mut state, item, given, document);
                *reached = match self.read(item, &columns, limits, &mut buffer, work) {
                    Err(SkipReason::Contradicts(why)) => {
                        PassState::Failed(anyhow!(why).context(shown_path(&item.name())))
                    }
                    Err(reason) => PassState::Skipped(reason),
                    Ok(Ok(result)) => PassState::Done(result),
                    Ok(Err(error)) if is_of_row(&error, item) => PassState::Skipped(error.to_string().into()),
                    Ok(Err(error)) => PassState::Failed(error.context(shown_path(&item.name()))),
                };
            }
            states.lock().unwrap_or_else(PoisonError::into_inner).push((state, buffer));
        };
        let mut complaints = Complaints::default();
        let mut progress = self.progress();
        let mut n_read = 0;
        let mut settle = |batch: Vec<BatchItem<'_, T>>| -> Result<()> {
            progress.add(batch.len() as u64);
            for BatchItem { item, state } in batch {
                match state {
                    PassState::Waiting => (),
                    PassState::Done(result) => {
                        n_read += 1;
                        done(&item, result)?;
                    }
                    PassState::Failed(error) => return Err(error),
                    PassState::Skipped(reason) => {
                        let is_failure = item.named() && matches!(reason, SkipReason::Unreadable(_));
                        self.failed.fetch_add(usize::from(is_failure), Ordering::Relaxed);
                        progress.above(|| complaints.add(&item, reason));
                    }
                }
            }
            Ok(())
        };
        let mut batches = Batches::new(self, limits);
        let mut next = batches.next();
        let mut before = Vec::new();
        let outcome = loop {
            let mut batch = match next {
                Ok(batch) if batch.is_empty() => break Ok(()),
                Ok(batch) => batch,
                Err(error) => break Err(error),
            };
            if self.input.is_by_line {
                run(&mut batch);
                settle(batch)?;
                next = batches.next();
                continue;
            }
            let before_it = mem::take(&mut before);
            next = rayon::in_place_scope(|scope| {
                scope.spawn(|_| batch.par_chunks_mut(TOGETHER).for_each(run));
                settle(before_it).map(|()| batches.next())
            })?;
            before = batch;
        };
        // also if the documents after it cannot be read
        settle(before)?;
        outcome?;
        self.vectors.conclude(batches.n)?;
        progress.finish("read");
        complaints.finish();
        self.take_stock(n_read, &complaints);
        if self.has_decimals.load(Ordering::Relaxed) {
            note!("labels such as 1.0 were read as the whole number that they are");
        }
        let states = states.into_inner().unwrap_or_else(PoisonError::into_inner);
        let states: Vec<S> = states.into_iter().map(|(state, _)| state).collect();
        let lacks_groups = !states.is_empty() && !self.has_groups.load(Ordering::Relaxed);
        if let Some(groups) = self.groups.filter(|_| lacks_groups) {
            bail!("{}: expected documents with a group, got none", groups.option());
        }
        Ok(PassResult { states, unreadable: self.unreadable + complaints.unreadable })
    }

    /// Visits the documents again, except those of streams, until `visit` returns `false`. Files are not read.
    pub(crate) fn for_each_item(
        &self,
        limits: &Limits,
        mut visit: impl FnMut(&Item<'_>) -> bool,
    ) -> Result<()> {
        for file in self.files.iter().filter(|file| file.once.is_none()) {
            for item in self.items(file, limits)? {
                if !visit(&item) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The name of a document's group, given the one in its row.
    fn group<'g>(&self, item: &Item<'g>, in_row: Option<&'g str>) -> Option<&'g str> {
        let folder = || item.file.folder.as_deref();
        let group = if self.groups?.group_by.is_some() { folder() } else { in_row };
        let group = group.map(str::trim).filter(|group| !group.is_empty());
        self.has_groups.fetch_or(group.is_some(), Ordering::Relaxed);
        group
    }

    /// The weight in a row: 1 if none is asked for.
    fn weight_of(&self, cell: Option<&str>) -> Result<f64, String> {
        let Some(column) = self.weight else { return Ok(1.0) };
        let cell = cell.unwrap_or_default().trim();
        let weight = cell.parse().ok().filter(|weight| (0.0..=Trainer::MOST_WEIGHT).contains(weight));
        weight
            .ok_or_else(|| format!("column {column:?}: expected a weight from 0 to 1,000,000, got {cell:?}"))
    }

    /// Reads a document and passes it to `work` with its label. Files are read into the buffer.
    pub(super) fn read<R>(
        &self,
        item: &Item<'_>,
        columns: &TextColumns<'_>,
        limits: &Limits,
        buffer: &mut Vec<u8>,
        work: impl FnOnce(Attributes<'_>, Document<'_>) -> R,
    ) -> Result<R, SkipReason> {
        let whole = |label| Attributes { label, group: self.group(item, None), weight: 1.0 };
        let beside = |given: Attributes<'_>, document: Document<'_>, own| {
            let vector =
                self.vectors.beside(item.at, own).map_err(|error| SkipReason::Contradicts(told(&error)))?;
            Ok(work(given, document.with_vector(&vector)))
        };
        match &item.content {
            Content::Unreadable(error) => Err(error.clone().into()),
            Content::Row(record) if self.kind != Kind::Table => {
                let TextRow { label, text, group, weight, vector } = record.text_row(columns)?;
                let label = self.label(item, label)?;
                let group = self.group(item, group.as_deref());
                let weight = self.weight_of(weight.as_deref())?;
                beside(Attributes { label: &label, group, weight }, Document::Text(&text), vector)
            }
            Content::Row(record) => {
                let cells = record.named_cells()?;
                let label = self.label(item, record.label(&cells, self.target.as_deref(), self.labels))?;
                let group = self.group(item, cell_of(&cells, self.group_column()));
                let weight = self.weight_of(cell_of(&cells, self.weight))?;
                let given = Attributes { label: &label, group, weight };
                beside(given, DocumentView::row(&cells).document(), Vec::new())
            }
            Content::Bytes(bytes) => {
                let is_learned = item.file.holds == Holds::Mbox && self.wanted != SourceScope::WhatIsThere;
                if let Some(why) = is_learned.then(|| mbox::not_to_learn(bytes)).flatten() {
                    return Err(SkipReason::NotToLearn("message", why));
                }
                beside(whole(&self.label(item, Ok(None))?), self.whole(item, bytes)?.document(), Vec::new())
            }
            Content::File => {
                let label = self.label(item, Ok(None))?;
                buffer.clear();
                buffer.shrink_to(MOST_KEPT);
                // room for most documents, so that reading a document takes two calls
                buffer.reserve(LEAST_KEPT);
                let most = most_of_document(limits) as u64;
                read_document(&item.file.path, self.kind, item.named(), most, buffer)
                    .map_err(|e| plain(&e))?;
                beside(whole(&label), self.whole(item, buffer)?.document(), Vec::new())
            }
        }
    }

    /// The label given with the file, or else the document's own. Empty unless each document must have one; then a
    /// missing label is an error. A label in a table must be the one that the user gives the table.
    fn label<'l>(&self, item: &'l Item<'_>, own: Label<'l>) -> Result<Cow<'l, str>, SkipReason> {
        let given = item.file.label.as_deref();
        let given = given.or_else(|| item.member.as_ref()?.label.as_deref());
        let given = given.map(|given| self.labels.of_text(given.into()));
        let own = own.map(|own| own.map(|own| self.spelt(own)));
        let may_be_missing = !self.input.na_labels && item.file.holds != Holds::FastText;
        let is_missing =
            matches!(&own, Ok(Some(own)) if may_be_missing && !own.is_empty() && is_missing(own));
        let own = if is_missing { Ok(None) } else { own };
        if let (Some(given), Ok(Some(own)), true) = (&given, &own, item.file.named)
            && given != own
        {
            return Err(SkipReason::Contradicts(format!(
                "expected a row labelled {given:?}, as the command says, got {own:?}; without {given}, each row has its own label"
            )));
        }
        if !self.is_labelled() {
            return Ok(Cow::default());
        }
        let label = if given.is_some() { given } else { own? };
        let label = label.filter(|label| !label.is_empty());
        self.without_label.fetch_add(usize::from(label.is_none()), Ordering::Relaxed);
        label.ok_or_else(|| match &self.target {
            _ if is_missing => SkipReason::NotToLearn("row", MISSING_LABEL),
            Some(target) => format!("column {target:?}: expected a label, got none").into(),
            None => "expected a label, got none".to_owned().into(),
        })
    }

    /// Makes a document of these bytes. What is something else is an error if the user named it, and else skipped. In a
    /// folder, what is learned as mail must have a header.
    fn whole<'b>(&self, item: &Item<'_>, bytes: &'b [u8]) -> Result<DocumentView<'b>, SkipReason> {
        if item.file.holds == Holds::Mbox {
            return Ok(DocumentView::of_message(self.kind, bytes));
        }
        let is_file = item.file.once.is_none() && !item.file.in_maildir;
        let is_learned = self.kind == Kind::Mail && self.wanted != SourceScope::WhatIsThere;
        let needs_header = is_learned && !item.named() && !item.file.in_maildir;
        let read = match () {
            () if needs_header && bytes.is_empty() => Err("an empty file".to_owned()),
            () if needs_header && lacks_header(bytes) => {
                Err(not_mail(bytes).unwrap_or("a text without the header of mail").to_owned())
            }
            () if is_file && mbox::looks_like_mbox(bytes) && mbox::holds_several(bytes) => {
                Err("an mbox of several messages; --mbox reads it, or the name .mbox".to_owned())
            }
            () => self.reader.read(self.kind, Path::new(&item.name()), bytes),
        };
        read.map_err(|what| match item.named() || self.input.strict {
            true => format!("expected {}, got {what}", self.kind).into(),
            false => SkipReason::Foreign(what),
        })
    }

    /// The label of a document, without reading its text.
    pub(crate) fn label_of(&self, item: &Item<'_>) -> String {
        let label = match &item.content {
            Content::Row(_) => {
                let (columns, mut unused) = (self.columns(), Vec::new());
                self.read(item, &columns, &Limits::default(), &mut unused, |given, _| given.label.to_owned())
            }
            _ => self.label(item, Ok(None)).map(Cow::into_owned),
        };
        label.unwrap_or_default()
    }

    /// The columns of tables with label and text.
    pub(super) fn columns(&self) -> TextColumns<'_> {
        TextColumns {
            label: self.input.label_column.as_deref().unwrap_or("label"),
            text: self.input.text_column.as_deref().unwrap_or("text"),
            group: self.group_column(),
            weight: self.weight,
            vector: self.vectors.column(),
            labels: self.labels,
            shape: self.input.shape(),
        }
    }

    /// The documents of a file, in order.
    pub(super) fn items<'p>(&self, file: &'p InputFile, limits: &Limits) -> Result<Items<'p>> {
        let item = move |number, content| Item { file, number, member: None, at: 0, content };
        let rows = match file.holds {
            Holds::One => {
                let most = most_of_document(limits) as u64;
                let content = match file.take_stream()?.map(|stream| stream.into_document(self.kind, most)) {
                    None => Content::File,
                    Some(Ok(bytes)) => Content::Bytes(bytes),
                    Some(Err(error)) => Content::Unreadable(plain(&error)),
                };
                return Ok(Box::new(std::iter::once(item(None, content))));
            }
            Holds::Mbox => {
                let messages = mbox::Reader::new(file.open()?, limits.bytes.saturating_add(1));
                return Ok(Box::new((1..).zip(messages).map(move |(i, entry)| match entry {
                    Ok(entry) => item(Some(entry.number as u64), Content::Bytes(entry.bytes)),
                    Err(error) => item(Some(i), Content::Unreadable(plain(&error))),
                })));
            }
            Holds::Archive => {
                let members = archive_members(file)?.into_iter();
                return Ok(Box::new(
                    members
                        .map(move |(member, content)| Item { member: Some(member), ..item(None, content) }),
                ));
            }
            _ if self.kind == Kind::Table => {
                let needed = self.target.as_deref().filter(|_| self.is_labelled());
                whole_rows(file, needed, self.input.shape())?
            }
            _ => text_rows(file, &self.columns())?,
        };
        Ok(Box::new(rows.map(move |TableRow { line, content }| {
            item(Some(line), content.map_or_else(Content::Unreadable, Content::Row))
        })))
    }

    /// The progress of a pass, counted in bytes if files hold many documents.
    fn progress(&self) -> PassProgress {
        let holds_many = |file: &&InputFile| file.holds != Holds::One && file.once.is_none();
        let length = |file: &InputFile| std::fs::metadata(&file.path).map_or(0, |metadata| metadata.len());
        let bytes = self.files.iter().filter(holds_many).map(length).sum();
        PassProgress::new(self.files.len() as u64, bytes, self.has_bar)
    }
}

/// Whether an error is about one row only, which is skipped: a cell, or the label in the row.
fn is_of_row(error: &anyhow::Error, item: &Item<'_>) -> bool {
    match error.downcast_ref().map(Error::kind) {
        Some(ErrorKind::Document) => true,
        Some(ErrorKind::Label) => item.file.label.is_none(),
        _ => false,
    }
}

type Items<'p> = Box<dyn Iterator<Item = Item<'p>> + 'p>;

/// Reads the documents of a corpus in batches.
struct Batches<'c> {
    corpus: &'c Corpus<'c>,
    limits: &'c Limits,
    files: slice::Iter<'c, InputFile>,
    /// The documents of the current file.
    items: Items<'c>,
    /// How many documents have come.
    n: u64,
}

impl<'c> Batches<'c> {
    fn new(corpus: &'c Corpus<'_>, limits: &'c Limits) -> Self {
        Batches { corpus, limits, files: corpus.files.iter(), items: Box::new(std::iter::empty()), n: 0 }
    }

    /// The next batch; empty at the end.
    fn next<T>(&mut self) -> Result<Vec<BatchItem<'c, T>>> {
        let most = if self.corpus.input.is_by_line { 1 } else { BATCH };
        let (mut batch, mut bytes) = (Vec::with_capacity(most), 0);
        while batch.len() < most && bytes < BATCH_BYTES {
            if let Some(item) = self.items.next() {
                bytes += item.content.n_bytes();
                batch.push(BatchItem { item: Item { at: self.n, ..item }, state: PassState::Waiting });
                self.n += 1;
                continue;
            }
            let Some(file) = self.files.next() else { break };
            self.items = match self.corpus.items(file, self.limits) {
                // an unreadable file in a folder is reported, and the others are visited
                Err(error) if !file.named => Box::new(std::iter::once(Item::unreadable(file, &error))),
                items => items?,
            };
        }
        Ok(batch)
    }
}
