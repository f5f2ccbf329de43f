//! The documents of a command: finds them in all sources, and visits them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, bail};
use tamis_program::{ERROR, counted, note, say, shown_path, told};
use tamis_train::{Classes, Kind, Recipe};

use crate::args::{GroupArgs, InputArgs};
use crate::formats::holds::Holds;
use crate::formats::labels::{RowLabels, whole_number};
use crate::formats::record::{TableRecord, TableRow};
use crate::input::complaints::Complaints;
use crate::input::file::{InputFile, SourceArg, SourceScope, leave_out};
use crate::input::find::{find, find_tables, recognise};
use crate::input::items::whole_rows;
use crate::input::listing::SourceFiles;
use crate::input::reading::FileReader;
use crate::input::stock::{REFUSED, Stock};
use crate::input::vectors::VectorSource;

/// All documents of a command.
pub(crate) struct Corpus<'a> {
    pub(crate) kind: Kind,
    pub(super) files: Vec<InputFile>,
    pub(crate) input: &'a InputArgs,
    pub(super) wanted: SourceScope,
    pub(super) unreadable: usize,
    /// Paths named by the user that could not be read.
    pub(super) failed: AtomicUsize,
    /// Number of rows that have no label, where each needs one.
    pub(crate) without_label: AtomicUsize,
    /// In tables, the column that holds the labels.
    pub(super) target: Option<String>,
    /// How labels are read.
    pub(super) labels: RowLabels,
    /// Labels that are taken for these if they are the same number: `1.0` for `1`.
    pub(super) known: Classes,
    /// Whether that happened.
    pub(super) has_decimals: AtomicBool,
    /// How documents are grouped, if at all.
    pub(super) groups: Option<&'a GroupArgs>,
    /// The column of tables that holds the weights of rows.
    pub(super) weight: Option<&'a str>,
    /// What makes documents of files.
    pub(super) reader: FileReader,
    /// What the last pass has found.
    stock: Mutex<Stock>,
    /// The vectors of the documents.
    pub(super) vectors: VectorSource,
    /// Whether any document that was read has a group.
    pub(super) has_groups: AtomicBool,
    /// Whether progress is shown on a terminal.
    pub(crate) has_bar: bool,
}

impl<'a> Corpus<'a> {
    /// Lists the documents of all sources and prints what each was taken for. `expected` is the kind that they must
    /// have, and what requires it. A single document is taken for that kind.
    pub(crate) fn find(
        arguments: &[OsString],
        wanted: SourceScope,
        input: &'a InputArgs,
        expected: Option<(Kind, &str)>,
    ) -> Result<Self> {
        let mut corpus = Corpus {
            kind: Kind::Text,
            files: Vec::new(),
            input,
            wanted,
            unreadable: 0,
            failed: AtomicUsize::default(),
            without_label: AtomicUsize::default(),
            target: None,
            labels: RowLabels::One,
            known: Classes::default(),
            has_decimals: AtomicBool::new(false),
            groups: None,
            weight: None,
            reader: FileReader::new(&input.text)?,
            stock: Mutex::default(),
            vectors: VectorSource::default(),
            has_groups: AtomicBool::new(false),
            has_bar: !input.is_by_line,
        };
        let is_table = matches!(expected, Some((Kind::Table, _)));
        let mut kind = expected.map(|(kind, whose)| (kind, whose.to_owned()));
        for argument in arguments {
            let source = SourceArg::parse(argument);
            let name = shown_path(argument);
            let found = match is_table {
                true if source.label.is_some() => {
                    bail!("{name}: expected a table without a label before it, since its rows have labels")
                }
                // without a look at what is not yet there
                _ if input.is_by_line => {
                    let holds = input.input_format.unwrap_or_default();
                    let file = InputFile { named: true, ..InputFile::found(source.path, None, holds) };
                    let kind = Some(if is_table { Kind::Table } else { Kind::Text });
                    Ok(SourceFiles { files: vec![file], kind, ..SourceFiles::default() })
                }
                true => find_tables(&source, input.input_format),
                false => find(&source, wanted, input.kind, input.mbox, input.input_format),
            };
            let found = match found {
                // the source may be missing
                Err(error) if wanted == SourceScope::WhatIsThere => {
                    say!("tamis: {}", told(&error));
                    corpus.failed.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                found => found?,
            };
            match (&kind, found.kind) {
                (Some((known, whose)), Some(got)) if *known != got && !found.files.is_empty() => {
                    bail!(
                        "{name}: expected {known}, as {whose} is, got {got}; choose with --as mail or --as text"
                    )
                }
                (None, Some(got)) => kind = Some((got, name.clone())),
                _ => (),
            }
            if input.kind == Some(Kind::Mail)
                && let [file] = &found.files[..]
                && file.holds.is_table()
            {
                bail!("{name}: expected mail, as --as says, got a table");
            }
            // print nothing for a file that is one document
            if !matches!(&found.files[..], [InputFile { holds: Holds::One, named: true, .. }]) {
                let files = counted(found.files.len() as u64, "file");
                match found.kind {
                    Some(kind) => note!("{name}: {kind}, {files}"),
                    None if found.files.is_empty() => note!("{name}: no documents found"),
                    None => note!("{name}: {files}"),
                }
            }
            corpus.add(argument, found);
        }
        corpus.files.iter_mut().for_each(|file| file.sheet = input.sheet.as_deref().map(Into::into));
        let kind = kind.map_or_else(|| recognise(&corpus.files), |(kind, _)| Ok(Some(kind)))?;
        corpus.kind = kind.unwrap_or(Kind::Text);
        corpus.leave_out_duplicates(&[]);
        Ok(corpus)
    }

    /// Finds labelled documents, including those in the input's list. A target, if given, labels the rows of tables.
    pub(crate) fn find_labelled(
        arguments: &[OsString],
        input: &'a InputArgs,
        target: Option<&str>,
    ) -> Result<Self> {
        let arguments = input.list.add_to(arguments)?;
        match target {
            Some(_) => Corpus::find_rows(&arguments, SourceScope::Labelled, input, target),
            None => Corpus::find(&arguments, SourceScope::Labelled, input, None),
        }
    }

    /// Whether each document must have a label.
    pub(super) fn is_labelled(&self) -> bool {
        self.wanted == SourceScope::Labelled
    }

    /// Reads labels like this. Those that are the same number as one of `known` are taken for it.
    pub(crate) fn labelled(self, labels: RowLabels, known: &Classes) -> Self {
        Corpus { labels, known: known.clone(), ..self }
    }

    /// Takes labels such as `1.0` for `1` from now on if both are among the labels. Returns whether any are.
    pub(crate) fn unite_numbers(&mut self, labels: &Classes) -> Result<bool> {
        let is_other = |label: &&str| whole_number(label).is_none_or(|whole| labels.index(whole).is_none());
        self.known = Classes::new(labels.iter().map(|(_, label)| label).filter(is_other))?;
        Ok(self.known.len() < labels.len())
    }

    /// A row's own label, without blanks around it.
    pub(super) fn spelt<'l>(&self, own: Cow<'l, str>) -> Cow<'l, str> {
        let is_known = |label: &str| self.known.index(label).is_some();
        let known = whole_number(own.trim()).filter(|whole| !is_known(own.trim()) && is_known(whole));
        self.has_decimals.fetch_or(known.is_some(), Ordering::Relaxed);
        let label = known.unwrap_or_else(|| own.trim());
        if label.len() == own.len() { own } else { Cow::Owned(label.to_owned()) }
    }

    /// Takes the rows of tables for rows of this label, which they must not contradict.
    pub(crate) fn under(mut self, label: &str) -> Self {
        let tables = self.files.iter_mut().filter(|file| file.holds.is_table());
        tables.for_each(|file| file.label = Some(label.into()));
        self
    }

    /// Groups the documents if `groups` asks for that.
    pub(crate) fn grouped(self, groups: &'a GroupArgs) -> Self {
        Corpus { groups: Some(groups).filter(|groups| groups.are_given()), ..self }
    }

    /// Gives each row the weight in this column.
    pub(crate) fn weighted(self, weight: Option<&'a str>) -> Self {
        Corpus { weight, ..self }
    }

    /// The column of tables that holds the groups, if there is one.
    pub(crate) fn group_column(&self) -> Option<&str> {
        self.groups?.group.as_deref()
    }

    /// Adds the documents found, and prints what was left out.
    fn add(&mut self, argument: &OsStr, found: SourceFiles) {
        if let Some(left_out) = found.left_out.describe() {
            note!("{}: left out {left_out}", shown_path(argument));
        }
        found.unreadable.iter().for_each(|error| say!("tamis: {error}"));
        self.unreadable += found.unreadable.len();
        self.files.extend(found.files);
    }

    /// Finds documents of the model's kind, including those in the input's list.
    pub(crate) fn find_for(
        arguments: &[OsString],
        wanted: SourceScope,
        input: &'a InputArgs,
        recipe: &Recipe,
    ) -> Result<Self> {
        let arguments = input.list.add_to(arguments)?;
        let mut corpus = match recipe.kind {
            Kind::Table => Corpus::find_rows(&arguments, wanted, input, recipe.target.as_deref()),
            kind => Corpus::find(&arguments, wanted, input, Some((kind, "the model"))),
        }?;
        corpus.embed(recipe)?;
        Ok(corpus)
    }

    /// As [`find_for`](Self::find_for), for a new model. It is for mail, unless folders, tables or names say otherwise.
    pub(crate) fn find_for_new(
        arguments: &[OsString],
        wanted: SourceScope,
        input: &'a InputArgs,
    ) -> Result<Self> {
        let mut corpus = Corpus::find(&input.list.add_to(arguments)?, wanted, input, None)?;
        let is_text = |file: &InputFile| file.path.extension().is_some_and(|e| e.eq_ignore_ascii_case("txt"));
        let is_mail = |file: &InputFile| file.named && file.holds == Holds::One && !is_text(file);
        if input.kind.is_none() && corpus.files.iter().all(is_mail) {
            corpus.kind = Kind::Mail;
        }
        Ok(corpus)
    }

    /// Whether the only document is a named message without any bytes.
    pub(crate) fn is_an_empty_message(&self) -> bool {
        let is_empty = |file: &InputFile| file.named && file.holds == Holds::One && file.start().is_empty();
        self.kind == Kind::Mail && matches!(&self.files[..], [file] if is_empty(file))
    }

    /// Takes single documents, found before the model was known, for the model's kind.
    ///
    /// # Errors
    /// If they are of another kind.
    pub(crate) fn suit(&mut self, recipe: &Recipe) -> Result<()> {
        let is_single = |file: &InputFile| file.named && file.holds == Holds::One;
        let is_open = self.input.kind.is_none() && self.files.iter().all(is_single);
        match recipe.kind {
            kind if kind == self.kind => (),
            kind @ (Kind::Mail | Kind::Text) if is_open => self.kind = kind,
            kind => bail!("expected {kind}, which the model is for, got {}", self.kind),
        }
        if self.vectors.are_unknown() { self.embed(recipe) } else { Ok(()) }
    }

    /// Lists tables whose rows are documents with many columns, labelled by the target.
    fn find_rows(
        arguments: &[OsString],
        wanted: SourceScope,
        input: &'a InputArgs,
        target: Option<&str>,
    ) -> Result<Self> {
        if let Some(kind) = input.kind {
            bail!("--as {kind}: expected none for a table with many columns");
        }
        if input.label_column.is_some() || input.text_column.is_some() {
            bail!("--label-column and --text-column: expected none, since the model has its columns");
        }
        if let Some(option) = input.vectors.option() {
            bail!("{option}: expected none for a table with many columns, whose model has no vectors");
        }
        let corpus = Corpus::find(arguments, wanted, input, Some((Kind::Table, "the model")))?;
        Ok(Corpus { target: target.map(str::to_owned), ..corpus })
    }

    /// Leaves out labelled files that occurred before under the same label, and files that are `known`.
    fn leave_out_duplicates(&mut self, known: &[InputFile]) {
        if !self.is_labelled() && known.is_empty() {
            return;
        }
        let n = leave_out(&mut self.files, known);
        if n > 0 {
            let were = if n == 1 { "was" } else { "were" };
            note!("{} {were} given twice and counted once", counted(n, "file"));
        }
    }

    /// Leaves out the files of another corpus, and repeated files.
    pub(crate) fn without(mut self, other: &Corpus<'_>) -> Self {
        self.leave_out_duplicates(&other.files);
        self
    }

    /// The rows of all tables. Rows that cannot be read are left out.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Result<TableRecord>> {
        self.files.iter().flat_map(|file| -> Box<dyn Iterator<Item = Result<TableRecord>>> {
            match whole_rows(file, None, self.input.shape()) {
                Ok(rows) => Box::new(rows.filter_map(|TableRow { content, .. }| content.ok()).map(Ok)),
                Err(error) => Box::new(std::iter::once(Err(error))),
            }
        })
    }

    /// Prints what was found, and how many documents could not be read. Returns the exit status: an error if the user named
    /// one of them, if there is nothing else, or with --strict.
    pub(crate) fn conclude(&self, unreadable: usize) -> u8 {
        let failed = self.failed.load(Ordering::Relaxed);
        if unreadable > 0 {
            say!("tamis: {} could not be read", counted(unreadable as u64, "document"));
        }
        let stock = self.stock();
        if let Some(line) = stock.line() {
            note!("{line}");
        }
        if stock.is_all_refused() && failed == 0 {
            say!("tamis: expected documents that can be read, got none");
        }
        if failed > 0 || stock.is_all_refused() || unreadable > 0 && self.input.strict { ERROR } else { 0 }
    }

    /// What the last pass has found.
    pub(crate) fn stock(&self) -> Stock {
        self.stock.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Remembers what a pass has found.
    pub(super) fn take_stock(&self, read: u64, complaints: &Complaints) {
        let skipped = complaints.skipped.iter().filter(|((noun, _), _)| *noun == "file");
        let mut not_read: BTreeMap<_, _> = skipped.map(|((_, what), n)| (what.clone(), *n)).collect();
        if complaints.unreadable > 0 {
            not_read.insert(REFUSED.to_owned(), complaints.unreadable as u64);
        }
        let stock = Stock { read, formats: self.reader.take_formats(), not_read };
        *self.stock.lock().unwrap_or_else(PoisonError::into_inner) = stock;
    }
}
