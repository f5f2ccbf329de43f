//! Import: restores a model from the text that [`export`](super::export()) wrote.

use std::collections::HashMap;
use std::io::{BufRead, Read};

use serde_json::Number;
use tamis_filter::score::filter::Filter;
use tamis_model::{Cell, ClassId, Classes, Coefficient, Counts, Statistics};
use tamis_store::config::labels::labels_of;
use tamis_store::config::recipe::Keep;
use tamis_store::config::scoring::Scoring;
use tamis_store::error::{Error, Reason, Result};
use tamis_store::file::documents::{NO_DATE, StoredDocument, is_name};
use tamis_store::file::fitted::FittedScoring;
use tamis_store::file::header::ModelHeader;
use tamis_store::file::terms::fingerprint_of;
use tamis_tokenizer::{CountVector, TermId};
use zerocopy::IntoBytes;

use crate::exchange::export::{DocumentLine, EXPORT_VERSION, ExportHead, TermLine, weighed};
use crate::fit::sections::{DocumentSections, seal, term_sections};
use crate::model::Model;

/// Restores the model that [`export`](super::export) wrote, byte for byte if documents were exported.
/// Otherwise, the model knows no documents, and stores only digests of those it learns later.
///
/// The text is trusted no more than a model file: everything is checked, as [`Filter::verify`](crate::Filter::verify)
/// does.
///
/// # Errors
/// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged) with the first line that cannot be read; others if lines
/// contradict one another.
pub fn import(input: impl BufRead) -> Result<Model> {
    let mut lines = LineReader { input, line: 0, bytes: Vec::new() };
    if lines.next()?.is_none() {
        return Err(lines.unlike("a model", "nothing"));
    }
    let head: ExportHead = lines.read("the first line of an exported model")?;
    if head.tamis_export != EXPORT_VERSION {
        return Err(lines.unlike(format!("version {EXPORT_VERSION}"), head.tamis_export));
    }
    let has_documents = head.documents;
    let mut draft = Draft::new(head)?;
    while lines.next()?.is_some() {
        let added = match (lines.read("a term"), has_documents) {
            (Ok(term), _) => draft.add_term(term),
            (Err(error), false) => return Err(error),
            (Err(_), true) => draft.add_document(lines.read("a term or a document")?),
        };
        added.map_err(|(expected, got)| lines.unlike(expected, got))?;
    }
    draft.finish()
}

/// What was expected of a line, and what it has.
pub(super) type Mismatch = (String, String);

/// A term to be written.
pub(super) struct DraftTerm {
    pub(super) fingerprint: u64,
    pub(super) text: String,
    pub(super) cells: Vec<Cell>,
    pub(super) weights: Vec<(ClassId, i64)>,
}

/// A document, with its terms by fingerprint, each with its count.
pub(super) type ImportedDocument = (StoredDocument, Vec<(u64, u32)>);

/// A model being built; its terms must sum to the counts of the header.
pub(super) struct Draft {
    pub(super) header: ModelHeader,
    /// The labels of weights and coefficients.
    columns: Classes,
    pub(super) terms: Vec<DraftTerm>,
    pub(super) documents: Vec<ImportedDocument>,
}

impl Draft {
    pub(super) fn new(ExportHead { documents, model: mut written, .. }: ExportHead) -> Result<Self> {
        if !documents {
            written.keep = Keep::Digests;
        }
        if let Scoring::NaiveBayes(parameters) = &written.scoring {
            // until the terms are read
            let Ok(of_nothing) = parameters.summarize(&Statistics::new(written.classes.len()));
            written.summary = Some(of_nothing);
        }
        let header =
            ModelHeader::try_from(written).map_err(|wrong| Error::inconsistent("header", wrong, "others"))?;
        Draft::with_terms(header, Vec::new(), Vec::new())
    }

    pub(super) fn with_terms(
        header: ModelHeader,
        terms: Vec<DraftTerm>,
        documents: Vec<ImportedDocument>,
    ) -> Result<Self> {
        let columns = labels_of(&header.classes)?.into_owned();
        Ok(Draft { header, columns, terms, documents })
    }

    /// The class of a label; the empty label stands for unlabelled documents, if there are any.
    pub(super) fn class(&self, label: &str) -> std::result::Result<ClassId, Mismatch> {
        let n = self.header.classes.len();
        let without = || (label.is_empty() && self.header.totals.len() > n).then_some(n as ClassId);
        let class = self.header.classes.index(label).or_else(without);
        class.ok_or_else(|| ("a label of the first line".to_owned(), format!("{label:?}")))
    }

    /// The class or column of a label's weights.
    fn column(&self, label: &str) -> std::result::Result<ClassId, Mismatch> {
        let column = self.columns.index(label).map_or_else(|| self.class(label), Ok);
        column.map(|column| weighed(&self.header, column))
    }

    pub(super) fn add_term(&mut self, line: TermLine) -> std::result::Result<(), Mismatch> {
        let mut cells = Vec::new();
        for (label, [df, tf]) in line.counts {
            if df == 0 || tf < df {
                return Err(("1 <= documents <= occurrences".to_owned(), format!("{df} and {tf}")));
            }
            cells.push(Cell { class: self.class(&label)?, df, tf });
        }
        let mut weights = Vec::new();
        for (label, number) in line.weights {
            let class = self.column(&label)?;
            weights.push((class, weight(&self.header.scoring, &number)?));
        }
        // the class of unlabelled documents comes last, though its name sorts first
        cells.sort_unstable_by_key(|cell| cell.class);
        weights.sort_unstable();
        self.terms.push(DraftTerm {
            fingerprint: fingerprint_of(&line.term),
            text: line.term,
            cells,
            weights,
        });
        Ok(())
    }

    pub(super) fn add_document(&mut self, line: DocumentLine) -> std::result::Result<(), Mismatch> {
        let hexadecimal = |digits: &str, n: usize| {
            let number = (digits.len() == n).then(|| u128::from_str_radix(digits, 16).ok()).flatten();
            number.ok_or_else(|| (format!("{n} hexadecimal digits"), "something else".to_owned()))
        };
        let coefficient = |(label, [bias, units]): (&String, &[i64; 2])| {
            Ok(Coefficient { class: self.column(label)?, bias: *bias, units: *units })
        };
        let coefficients = line.coefficients.iter().map(coefficient);
        let name = Some(line.name).filter(|name| is_name(name)).map(String::into_boxed_str);
        let document = StoredDocument {
            digest: hexadecimal(&line.digest, 32)?.to_be_bytes(),
            class: self.class(&line.label)?,
            multiplicity: line.copies,
            fraction: line.fraction,
            date: line.date.unwrap_or(NO_DATE),
            group: hexadecimal(&line.group, 16)? as u64,
            message: line.message.map_or(Ok(0), |message| hexadecimal(&message, 16))? as u64,
            name: name.ok_or_else(|| ("a name of at most 100 bytes".to_owned(), "another".to_owned()))?,
            coefficients: coefficients.collect::<std::result::Result<_, Mismatch>>()?,
            held_out: line.held_out,
            learned: line.learned,
            vector: CountVector::default(),
            dense: line.vector,
        };
        let terms = line.terms.iter().map(|(term, count)| (fingerprint_of(term), *count)).collect();
        self.documents.push((document, terms));
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Model> {
        self.terms.sort_unstable_by_key(|term| term.fingerprint);
        let mut statistics = Statistics::with_documents(self.header.totals.iter().map(|t| t.documents));
        for term in &mut self.terms {
            statistics.push_term(&mut term.cells)?;
        }
        let is_sum = statistics.totals() == self.header.totals;
        Error::ensure(is_sum, "header", "totals that the terms add up to", "others")?;
        let Ok(()) = self.header.scoring.summarize(&statistics);
        let terms = &self.terms;
        let sections = term_sections(terms.len(), |writer, id| {
            let DraftTerm { fingerprint, text, cells, weights } = &terms[id as usize];
            writer.push(*fingerprint, text, cells.iter().copied(), weights.iter().copied())
        })?;
        let documents = self.document_sections()?;
        let model = seal(self.header, sections, documents)?;
        // the checks of a model file, such as duplicate terms and sums of documents
        Filter::from_bytes(model.as_bytes().to_vec())?.verify()?;
        Ok(model)
    }

    pub(super) fn document_sections(&mut self) -> Result<DocumentSections> {
        let ids: HashMap<u64, TermId> = self.terms.iter().map(|term| term.fingerprint).zip(0..).collect();
        self.documents.sort_by_key(|(document, _)| document.key());
        let (mut records, mut vectors) = (Vec::new(), Vec::new());
        for (document, terms) in &mut self.documents {
            let pairs: Option<Vec<_>> =
                terms.iter().map(|(print, count)| Some((*ids.get(print)?, *count))).collect();
            let row = pairs.and_then(|pairs| CountVector::from_pairs(pairs).ok());
            document.vector = row.ok_or_else(|| {
                Error::inconsistent("documents", "terms that have lines, each with a count", "others")
            })?;
            records.extend_from_slice(self.header.encode_document(document, &mut vectors).as_bytes());
        }
        Ok(DocumentSections { documents: records.into(), vectors: vectors.into() })
    }
}

/// Converts a weight to its stored form.
pub(super) fn weight(scoring: &FittedScoring, number: &Number) -> std::result::Result<i64, Mismatch> {
    let weight = match scoring.has_expected_counts() {
        true => {
            let float = number.as_f64().map(|weight| weight as f32);
            float.filter(|float| float.is_finite() && *float >= 0.0).map(|float| float.to_bits().into())
        }
        false => number.as_i64().filter(|units| *units != 0),
    };
    weight.ok_or_else(|| ("a weight".to_owned(), number.to_string()))
}

/// Maximum length of a line in bytes: a document with tens of millions of distinct terms.
const LINE_LIMIT: u64 = 1 << 30;

/// Lines of a file, of bounded length.
pub(super) struct LineReader<R> {
    pub(super) input: R,
    /// The number of the last line read, from 1.
    pub(super) line: u64,
    pub(super) bytes: Vec<u8>,
}

impl<R: BufRead> LineReader<R> {
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>> {
        self.bytes.clear();
        self.line += 1;
        let read = self.input.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut self.bytes);
        let n = read.map_err(|source| Reason::Io { path: "input".into(), source })?;
        if n as u64 == LINE_LIMIT {
            return Err(self.unlike(format!("at most {LINE_LIMIT} bytes"), "more"));
        }
        Ok((n > 0).then(|| self.bytes.trim_ascii_end()))
    }

    /// Parses the last line read. Errors give only the position, since the text may be from somebody's mail.
    pub(super) fn read<T: serde::de::DeserializeOwned>(&self, what: &str) -> Result<T> {
        serde_json::from_slice(&self.bytes).map_err(|error| {
            let got = if error.is_data() { "something else" } else { "a line that is no JSON" };
            self.unlike(what, format!("{got} at column {}", error.column()))
        })
    }

    pub(super) fn unlike(&self, expected: impl ToString, got: impl ToString) -> Error {
        Reason::Import { line: self.line, expected: expected.to_string(), got: got.to_string() }.into()
    }
}

#[cfg(test)]
mod tests;
