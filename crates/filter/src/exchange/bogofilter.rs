//! Import of bogofilter's word list.

use std::collections::BTreeMap;
use std::io::BufRead;

use tamis_model::{Cell, Choices, Classes, Counts, Statistics, WeightedOptions};
use tamis_tokenizer::{Scratch, Tokenizer, fingerprint};

use crate::config::recipe::Recipe;
use crate::config::scoring::{Chosen, Scoring};
use crate::disk::model::Model;
use crate::error::Result;
use crate::exchange::draft::{Draft, Term};
use crate::exchange::lines::Lines;
use crate::file::header::Header;
use crate::kind::Kind;

/// How many of another program's tokens were imported.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Imported {
    /// Tokens imported.
    pub taken: u64,
    /// Tokens without a counterpart, dropped.
    pub lost: u64,
    /// Counts above the number of messages, reduced to it.
    pub cut: u64,
}

/// Makes a model of mail with the labels ham and spam from the output of `bogoutil -d wordlist.db`: a line per token,
/// with the number of spam and ham messages that contain it.
///
/// Words of bodies, subjects and addresses, and hosts, are imported; tokens of other fields and of MIME have no
/// counterpart. The model knows no documents, so none can be forgotten and it cannot be retrained. Words of the body or
/// subject that differ only in case are merged, with the sum of their counts.
///
/// # Errors
/// [`ErrorKind::Import`](crate::ErrorKind::Import) with the first line that is not of such a list, or if `.MSG_COUNT`
/// is missing.
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

/// The term of a bogofilter token, if it has a counterpart.
fn counterpart(token: &str, tokenizer: &Tokenizer, scratch: &mut Scratch) -> Option<String> {
    let is_ip = |host: &str| host.parse::<std::net::Ipv4Addr>().is_ok();
    let mut word = |prefix: &str, text: &str| {
        let mut terms = Vec::new();
        tokenizer.for_each_term(text, scratch, |term| terms.push(format!("{prefix}{term}")));
        // a token that is not exactly one word here has no counterpart
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

/// A model of mail from these counts of messages, ham and spam.
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
            // both fit, since the number of messages fits 32 bits
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
    // without documents there is no correction
    let chosen = Chosen::for_classes(classes.len());
    let chosen = Chosen { choices: Choices { stack: [1.0, 0.0, 0.0], ..chosen.choices }, ..chosen };
    let scoring = Scoring::Weighted(WeightedOptions::default());
    let header = Header {
        asked: Some(Default::default()),
        changes: messages.iter().sum(),
        chosen: Some(chosen),
        ..Header::new(recipe, scoring, classes, statistics.totals().to_vec())
    };
    Draft { header, terms, documents: Vec::new() }.finish()
}
