//! Models from text: what [`Filter::export`] wrote, and the word lists of bogofilter.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, Read};

use serde_json::Number;
use tamis_model::{Cell, Choices, ClassId, Classes, Coefficient, Counts, Statistics, WeightedOptions};
use tamis_tokenizer::{CountVector, Scratch, TermId, Tokenizer, fingerprint};
use zerocopy::IntoBytes;

use crate::config::decision::Decision;
use crate::config::keep::Keep;
use crate::config::recipe::Recipe;
use crate::config::scoring::{Chosen, Scoring};
use crate::disk::model::Model;
use crate::error::{Error, Result};
use crate::exchange::export::{DocumentLine, EXPORT_VERSION, Head, TermLine, weighed};
use crate::file::documents::{NO_DATE, Remembered, encode_coefficients, encode_vector};
use crate::file::header::Header;
use crate::file::names::{self, is_name};
use crate::file::terms::Size;
use crate::kind::Kind;
use crate::score::filter::Filter;
use crate::store::summarize::summarize;
use crate::train::sections::{seal, term_sections};

/// The most bytes of a line: of a document with tens of millions of different terms.
const LINE_LIMIT: u64 = 1 << 30;

/// Makes the model that [`Filter::export`] wrote, byte for byte if it was with documents. Without them, it knows no
/// document and remembers only digests of those that it learns later.
///
/// Text is trusted no more than a model file: everything is checked, as [`Filter::verify`] does.
///
/// # Errors
/// [`Error::Import`] with the first line that cannot be taken; others if the lines contradict one another.
pub fn import(input: impl BufRead) -> Result<Model> {
    let mut lines = Lines { input, line: 0, bytes: Vec::new() };
    let head: Head = lines
        .parse("the first line of an exported model")?
        .ok_or_else(|| lines.unlike("a model", "nothing"))?;
    if head.tamis_export != EXPORT_VERSION {
        return Err(lines.unlike(format!("version {EXPORT_VERSION}"), head.tamis_export));
    }
    let has_documents = head.documents;
    let mut draft = Draft::new(head);
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

/// Lines of a file, of bounded length.
struct Lines<R> {
    input: R,
    /// The number of the last line read, from 1.
    line: u64,
    bytes: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    fn next(&mut self) -> Result<Option<&[u8]>> {
        self.bytes.clear();
        self.line += 1;
        let read = self.input.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut self.bytes);
        let n = read.map_err(|source| Error::Io { path: "input".into(), source })?;
        if n as u64 == LINE_LIMIT {
            return Err(self.unlike(format!("at most {LINE_LIMIT} bytes"), "more"));
        }
        Ok((n > 0).then(|| self.bytes.trim_ascii_end()))
    }

    fn parse<T: serde::de::DeserializeOwned>(&mut self, what: &str) -> Result<Option<T>> {
        if self.next()?.is_none() {
            return Ok(None);
        }
        self.read(what).map(Some)
    }

    /// What the last line says. Where it says something else, only the place is told: what stands there may be a word of
    /// somebody's mail.
    fn read<T: serde::de::DeserializeOwned>(&self, what: &str) -> Result<T> {
        serde_json::from_slice(&self.bytes).map_err(|error| {
            let got = if error.is_data() { "something else" } else { "a line that is no JSON" };
            self.unlike(what, format!("{got} at column {}", error.column()))
        })
    }

    fn unlike(&self, expected: impl ToString, got: impl ToString) -> Error {
        Error::Import { line: self.line, expected: expected.to_string(), got: got.to_string() }
    }
}

/// What a line should say, and what it says.
type Unlike = (String, String);

/// A term to be written.
struct Term {
    fingerprint: u64,
    text: String,
    cells: Vec<Cell>,
    weights: Vec<(ClassId, i64)>,
}

/// A model in the making: the counts of the header are those that the terms must add up to.
struct Draft {
    header: Header,
    terms: Vec<Term>,
    documents: Vec<(Remembered, Vec<(u64, u32)>)>,
}

impl Draft {
    fn new(head: Head) -> Self {
        let Head { documents, recipe, keep, names, scoring, classes, totals, asked, changes, .. } = head;
        let Head { unfitted, decision, chosen, bias, expected, expected_model, table, .. } = head;
        let header = Header {
            keep: if documents { keep } else { Keep::Digests },
            names,
            recipe,
            scoring,
            classes,
            totals,
            asked,
            changes,
            unfitted,
            summary: None,
            table,
            decision,
            chosen,
            bias,
            expected_model,
            expected,
            size: Size::default(),
            lengths: Default::default(),
        };
        Draft { header, terms: Vec::new(), documents: Vec::new() }
    }

    /// The class of a label; of the empty one, that of documents without a label, if there are such.
    fn class(&self, label: &str) -> std::result::Result<ClassId, Unlike> {
        let n = self.header.classes.len();
        let without = || (label.is_empty() && self.header.totals.len() > n).then_some(n as ClassId);
        let class = self.header.classes.index(label).or_else(without);
        class.ok_or_else(|| ("a label of the first line".to_owned(), format!("{label:?}")))
    }

    fn add_term(&mut self, line: TermLine) -> std::result::Result<(), Unlike> {
        let mut cells = Vec::new();
        for (label, [df, tf]) in line.counts {
            if df == 0 || tf < df {
                return Err(("1 <= documents <= occurrences".to_owned(), format!("{df} and {tf}")));
            }
            cells.push(Cell { class: self.class(&label)?, df, tf });
        }
        let mut weights = Vec::new();
        for (label, number) in line.weights {
            let class = weighed(&self.header, self.class(&label)?);
            weights.push((class, weight(&self.header.scoring, &number)?));
        }
        // that of documents without a label comes last, though its name comes first
        cells.sort_unstable_by_key(|cell| cell.class);
        weights.sort_unstable();
        self.terms.push(Term { fingerprint: fingerprint(&line.term), text: line.term, cells, weights });
        Ok(())
    }

    fn add_document(&mut self, line: DocumentLine) -> std::result::Result<(), Unlike> {
        let hexadecimal = |digits: &str, n: usize| {
            let number = (digits.len() == n).then(|| u128::from_str_radix(digits, 16).ok()).flatten();
            number.ok_or_else(|| (format!("{n} hexadecimal digits"), "something else".to_owned()))
        };
        let coefficient = |(label, [bias, units]): (&String, &[i64; 2])| {
            Ok(Coefficient { class: weighed(&self.header, self.class(label)?), bias: *bias, units: *units })
        };
        let coefficients = line.coefficients.iter().map(coefficient);
        let name = Some(line.name).filter(|name| is_name(name)).map(String::into_boxed_str);
        let document = Remembered {
            digest: hexadecimal(&line.digest, 32)?.to_be_bytes(),
            class: self.class(&line.label)?,
            multiplicity: line.copies,
            date: line.date.unwrap_or(NO_DATE),
            group: hexadecimal(&line.group, 16)? as u64,
            name: name.ok_or_else(|| ("a name of at most 100 bytes".to_owned(), "another".to_owned()))?,
            coefficients: coefficients.collect::<std::result::Result<_, Unlike>>()?,
            held_out: line.held_out,
            learned: line.learned,
            vector: CountVector::default(),
        };
        let terms = line.terms.iter().map(|(term, count)| (fingerprint(term), *count)).collect();
        self.documents.push((document, terms));
        Ok(())
    }

    fn finish(mut self) -> Result<Model> {
        self.terms.sort_unstable_by_key(|term| term.fingerprint);
        let mut statistics = Statistics::with_documents(self.header.totals.iter().map(|t| t.documents));
        for term in &mut self.terms {
            statistics.push_term(&mut term.cells)?;
        }
        if statistics.totals() != self.header.totals {
            return Err(Error::inconsistent("header", "totals that the terms add up to", "others"));
        }
        let Ok(summary) = summarize(&self.header.scoring, &statistics);
        self.header.summary = summary;
        let terms = &self.terms;
        let sections = term_sections(terms.len(), |writer, id| {
            let Term { fingerprint, text, cells, weights } = &terms[id as usize];
            writer.push(*fingerprint, text, cells.iter().copied(), weights.iter().copied())
        })?;
        let documents = self.document_sections()?;
        let model = seal(self.header, sections, documents)?;
        // terms twice, documents that do not add up: what a file is checked for
        Filter::from_bytes(model.as_bytes().to_vec())?.verify()?;
        Ok(model)
    }

    fn document_sections(&mut self) -> Result<(Vec<u8>, Vec<u8>)> {
        let ids: HashMap<u64, TermId> = self.terms.iter().map(|term| term.fingerprint).zip(0..).collect();
        let (keep, has_coefficients) = (self.header.keep, self.header.has_coefficients());
        self.documents.sort_by_key(|(document, _)| document.key());
        let (mut records, mut vectors) = (Vec::new(), Vec::new());
        for (document, terms) in &self.documents {
            let pairs: Option<Vec<_>> =
                terms.iter().map(|(print, count)| Some((*ids.get(print)?, *count))).collect();
            let row = pairs.and_then(|pairs| CountVector::from_pairs(pairs).ok()).ok_or_else(|| {
                Error::inconsistent("documents", "terms that have lines, each with a count", "others")
            })?;
            names::encode(&document.name, &mut vectors);
            if has_coefficients {
                encode_coefficients(&document.coefficients, &mut vectors);
            }
            if keep == Keep::Vectors {
                encode_vector(row.row(), &mut vectors);
            }
            records.extend_from_slice(document.record(vectors.len() as u64).as_bytes());
        }
        Ok((records, vectors))
    }
}

/// A weight as the file has it.
fn weight(scoring: &Scoring, number: &Number) -> std::result::Result<i64, Unlike> {
    let weight = match scoring {
        Scoring::ExpectationMaximization(_) => {
            let float = number.as_f64().map(|weight| weight as f32);
            float.filter(|float| float.is_finite() && *float >= 0.0).map(|float| float.to_bits().into())
        }
        _ => number.as_i64().filter(|units| *units != 0),
    };
    weight.ok_or_else(|| ("a weight".to_owned(), number.to_string()))
}

/// What became of another program's tokens.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Imported {
    /// Those that have a counterpart here.
    pub taken: u64,
    /// Those that have none.
    pub lost: u64,
    /// Counts larger than the number of messages, taken as that.
    pub cut: u64,
}

/// Makes a model of mail with the labels ham and spam of what `bogoutil -d wordlist.db` prints: a line a token, with the
/// spam and the ham that contain it.
///
/// Words of bodies and subjects, of addresses, and hosts have counterparts here. What is told of other fields and of MIME
/// has none, nor is anything known of documents: none can be forgotten, and nothing fitted anew to them. Tokens that
/// differ in case only are one here if they are words of the body or the subject, with the sum of their counts.
///
/// # Errors
/// [`Error::Import`] with the first line that is none of such a list, or if `.MSG_COUNT` is missing.
pub fn import_bogofilter(input: impl BufRead) -> Result<(Model, Imported)> {
    let mut lines = Lines { input, line: 0, bytes: Vec::new() };
    let recipe = Recipe::new(Kind::Mail);
    let (tokenizer, mut scratch) = (Tokenizer::new(recipe.tokenizer.clone())?, Scratch::default());
    let (mut counts, mut imported) = (BTreeMap::<String, [u64; 2]>::new(), Imported::default());
    let mut messages = None;
    while let Some(line) = lines.next()? {
        let line = String::from_utf8_lossy(line).into_owned();
        let mut fields = line.split_ascii_whitespace();
        let token = fields.next().unwrap_or_default();
        let numbers: Vec<u32> = fields.map_while(|field| field.parse().ok()).collect();
        let (2 | 3, [spam, ham, ..]) = (numbers.len(), &numbers[..]) else {
            let got = format!("a word and {} numbers", numbers.len());
            return Err(lines.unlike("a token, its numbers of spam and ham, and perhaps a date", got));
        };
        let of_both = [u64::from(*ham), u64::from(*spam)];
        if token == ".MSG_COUNT" {
            messages = Some(of_both);
        } else if !token.starts_with('.') && of_both != [0, 0] {
            match counterpart(token, &tokenizer, &mut scratch) {
                Some(term) => {
                    let sums = counts.entry(term).or_default();
                    *sums = [sums[0].saturating_add(of_both[0]), sums[1].saturating_add(of_both[1])];
                    imported.taken += 1;
                }
                None => imported.lost += 1,
            }
        }
    }
    let messages = messages.ok_or_else(|| lines.unlike("a line of .MSG_COUNT", "none"))?;
    Ok((of_counts(recipe, counts, messages, &mut imported)?, imported))
}

/// The term here that a token of bogofilter is.
fn counterpart(token: &str, tokenizer: &Tokenizer, scratch: &mut Scratch) -> Option<String> {
    let is_ip = |host: &str| host.parse::<std::net::Ipv4Addr>().is_ok();
    let mut word = |prefix: &str, text: &str| {
        let mut terms = Vec::new();
        tokenizer.for_each_term(text, scratch, |term| terms.push(format!("{prefix}{term}")));
        // a token that is several words here, or none, is another thing
        terms.pop().filter(|_| terms.is_empty())
    };
    let Some((field, text)) = token.split_once(':') else { return word("", token) };
    match field {
        "subj" => word("s:", text),
        "from" | "to" => Some(token.to_owned()),
        "rtrn" => Some(format!("return-path:{text}")),
        "rcvd" if is_ip(text) => Some(format!("rcvdip:{text}")),
        "rcvd" if text.contains('.') => Some(format!("rcvd:{}", text.to_lowercase())),
        "url" if text.contains('.') && !is_ip(text) => Some(format!("url:h:{}", text.to_lowercase())),
        _ => None,
    }
}

/// A model of mail of so many messages, ham and spam.
fn of_counts(
    recipe: Recipe,
    counts: BTreeMap<String, [u64; 2]>,
    messages: [u64; 2],
    imported: &mut Imported,
) -> Result<Model> {
    let classes = Classes::new(["ham", "spam"])?;
    let mut statistics = Statistics::with_documents(messages);
    let mut terms = Vec::new();
    for (text, counts) in counts {
        let mut cells = Vec::new();
        for ((class, count), messages) in (0..).zip(counts).zip(messages) {
            imported.cut += u64::from(count > messages);
            // both fit: a number of messages was read as one of 32 bits
            let df = count.min(messages) as u32;
            if df > 0 {
                cells.push(Cell { class, df, tf: df });
            }
        }
        if !cells.is_empty() {
            statistics.push_term(&mut cells)?;
            terms.push(Term { fingerprint: fingerprint(&text), text, cells, weights: Vec::new() });
        }
    }
    // there are no documents that a correction could be of
    let chosen = Chosen::for_classes(classes.len());
    let chosen = Chosen { choices: Choices { stack: [1.0, 0.0, 0.0], ..chosen.choices }, ..chosen };
    let head = Head {
        tamis_export: EXPORT_VERSION,
        documents: false,
        recipe,
        keep: Keep::Digests,
        names: true,
        scoring: Scoring::Weighted(WeightedOptions::default()),
        decision: Decision::for_classes(&classes),
        classes,
        totals: statistics.totals().to_vec(),
        asked: Some(Default::default()),
        changes: messages.iter().sum(),
        unfitted: 0,
        chosen: Some(chosen),
        bias: Vec::new(),
        expected: None,
        expected_model: None,
        table: None,
    };
    Draft { terms, ..Draft::new(head) }.finish()
}

#[cfg(test)]
mod tests;
