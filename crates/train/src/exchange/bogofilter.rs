//! Import of bogofilter's word list.

use std::collections::BTreeMap;
use std::io::BufRead;

use tamis_model::{Cell, Classes, Counts, RobinsonFisher, Statistics};
use tamis_store::config::decision::Decision;
use tamis_store::config::recipe::{Keep, Recipe};
use tamis_store::error::Result;
use tamis_store::file::fitted::FittedScoring;
use tamis_store::file::header::{Changes, ModelHeader, Retention};
use tamis_store::kind::Kind;
use tamis_tokenizer::fingerprint;

use crate::exchange::import::{Draft, DraftTerm, LineReader};
use crate::model::Model;

/// How many of another program's tokens were imported.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct BogofilterImport {
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
/// The model answers as bogofilter does with the same list: it makes bogofilter's tokens ([`Recipe::bogofilter`]) and
/// scores them by bogofilter's formula ([`Scoring::RobinsonFisher`](crate::Scoring::RobinsonFisher)) and default
/// cutoffs. Learning adds to the counts. Once the model remembers 100 messages of each label,
/// [`Learner::retrain`](crate::Learner::retrain) fits [`Scoring::Weighted`](crate::Scoring::Weighted) to them and to
/// all counts. The messages of the list cannot be forgotten, since the model has only their counts. The tokens of MIME
/// parts (`mime:`) are dropped.
///
/// # Errors
/// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged) with the first line that does not belong to such a list, or if
/// `.MSG_COUNT` is missing; parameters out of range.
pub fn import_bogofilter(
    input: impl BufRead,
    parameters: RobinsonFisher,
) -> Result<(Model, BogofilterImport)> {
    parameters.check()?;
    let mut lines = LineReader { input, line: 0, bytes: Vec::new() };
    let (mut counts, mut imported) = (BTreeMap::<String, [u64; 2]>::new(), BogofilterImport::default());
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
        } else if token.starts_with("mime:") {
            imported.lost += 1;
        } else if !token.starts_with('.') && of_both != [0, 0] {
            // tokens that are not UTF-8 may become equal when decoded
            let sums = counts.entry(token.to_owned()).or_default();
            *sums = [sums[0].saturating_add(of_both[0]), sums[1].saturating_add(of_both[1])];
            imported.taken += 1;
        }
    }
    let messages = messages.ok_or_else(|| lines.unlike("a line of .MSG_COUNT", "none"))?;
    Ok((of_counts(counts, messages, parameters, &mut imported)?, imported))
}

/// Makes a model of mail from the numbers of ham and spam messages with each token, and of all `messages`.
fn of_counts(
    counts: BTreeMap<String, [u64; 2]>,
    messages: [u64; 2],
    parameters: RobinsonFisher,
    imported: &mut BogofilterImport,
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
            terms.push(DraftTerm { fingerprint: fingerprint(&text), text, cells, weights: Vec::new() });
        }
    }
    let mut recipe = Recipe::new(Kind::Mail);
    recipe.bogofilter = true;
    let header = ModelHeader {
        // to be fitted once enough is learned
        stored: Retention { keep: Keep::Vectors, names: true },
        unremembered: true,
        asked: Some(Default::default()),
        changes: Changes { since_training: messages.iter().sum(), ..Changes::default() },
        decision: Decision::between(log_odds(CUTOFFS[0]), log_odds(CUTOFFS[1])),
        ..ModelHeader::new(
            recipe,
            FittedScoring::RobinsonFisher(parameters),
            classes,
            statistics.totals().to_vec(),
        )
    };
    Draft::with_terms(header, terms, Vec::new())?.finish()
}

/// bogofilter's default cutoffs: the highest probability of ham, and the lowest one of spam.
const CUTOFFS: [f64; 2] = [0.45, 0.99];

fn log_odds(probability: f64) -> f64 {
    (probability / (1.0 - probability)).ln()
}

#[cfg(test)]
mod tests;
