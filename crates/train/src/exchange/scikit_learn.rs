//! Import of scikit-learn's naive Bayes.

use std::collections::BTreeMap;
use std::io::{BufRead, Read};

use serde::Deserialize;
use tamis_model::{
    Cell, ClassPrior, Classes, Counting, Counts, Likelihood, Parameters, Smoothing, Statistics,
};
use tamis_store::config::labels::check_labels;
use tamis_store::config::recipe::Recipe;
use tamis_store::config::scoring::Scoring;
use tamis_store::error::{Error, Reason, Result};
use tamis_store::file::fitted::FittedScoring;
use tamis_store::file::header::{Changes, ModelHeader};
use tamis_store::kind::Kind;
use tamis_tokenizer::{Ngrams, Scratch, Tokenizer, fingerprint};

use crate::exchange::bogofilter::BogofilterImport;
use crate::exchange::import::{Draft, DraftTerm};
use crate::model::Model;

/// Maximum length of the text in bytes: about fifty million counts.
const LIMIT: u64 = 1 << 30;

/// scikit-learn's default pattern of a token: two or more word characters.
const PATTERN: &str = r"(?u)\b\w\w+\b";

/// The JSON object that the guide's script writes.
#[derive(Deserialize)]
struct ScikitModel {
    /// The name of the estimator.
    model: String,
    /// Its parameters.
    options: VectorizerOptions,
    /// The name of the vectorizer.
    vectorizer: String,
    /// Those of its parameters that define what a term is.
    words: WordPattern,
    #[serde(default)]
    stop_words: Vec<String>,
    classes: Vec<String>,
    class_count: Vec<f64>,
    terms: Vec<String>,
    /// By class, then by term.
    counts: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
struct VectorizerOptions {
    alpha: f64,
    fit_prior: Option<bool>,
    class_prior: Option<Vec<f64>>,
    #[serde(default)]
    norm: bool,
}

#[derive(Deserialize)]
struct WordPattern {
    analyzer: String,
    binary: bool,
    lowercase: bool,
    ngram_range: [u8; 2],
    strip_accents: Option<String>,
    token_pattern: Option<String>,
    /// Names of user-defined functions.
    tokenizer: Option<String>,
    preprocessor: Option<String>,
}

/// Makes a model of text from scikit-learn's `MultinomialNB` or `ComplementNB` with its `CountVectorizer`, as the
/// script in the [guide for analysts](https://docs.rs/tamis) writes them: a JSON object.
///
/// The same terms get the same log-probabilities. Two things are lost. scikit-learn does not count the documents that
/// contain a term (unless `binary`), so that number is set to the highest possible. And scikit-learn splits text into
/// words by a regular expression, this crate by UAX #29: [`BogofilterImport::lost`] counts the terms that would be split
/// differently here and so never occur. The model knows no documents, so none can be forgotten.
///
/// # Errors
/// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged) if the text is not such an object, or has something without a
/// counterpart here: other estimators, counts that are not whole numbers, terms without counts, user-defined functions.
pub fn import_scikit_learn(input: impl BufRead) -> Result<(Model, BogofilterImport)> {
    let mut text = Vec::new();
    let read = input.take(LIMIT + 1).read_to_end(&mut text);
    read.map_err(|source| Reason::Io { path: "input".into(), source })?;
    if text.len() as u64 > LIMIT {
        return Err(unlike(format!("at most {LIMIT} bytes"), "more"));
    }
    let written: ScikitModel = serde_json::from_slice(&text).map_err(|error| Reason::Import {
        line: error.line() as u64,
        expected: "what the script for scikit-learn writes".to_owned(),
        got: format!("something else at column {} ({:?})", error.column(), error.classify()),
    })?;
    drop(text);
    written.check()?;
    let classes = Classes::new(written.classes.iter().map(String::as_str))?;
    check_labels(&classes)?;
    if classes.len() != written.classes.len() {
        return Err(unlike("labels that differ", "equal ones"));
    }
    let recipe = written.recipe()?;
    let (terms, statistics) = written.terms(&classes)?;
    let lost = unmet(&recipe, &terms)?;
    let parameters = written.parameters()?;
    let Ok(summary) = parameters.summarize(&statistics);
    let scoring = FittedScoring::NaiveBayes { parameters, summary };
    let imported = BogofilterImport { taken: terms.len() as u64, lost, cut: 0 };
    let totals = statistics.totals().to_vec();
    let header = ModelHeader {
        asked: Some(Default::default()),
        changes: Changes {
            since_training: statistics.totals().iter().map(|t| t.documents).sum(),
            ..Changes::default()
        },
        ..ModelHeader::new(recipe, scoring, classes, totals)
    };
    Ok((Draft::with_terms(header, terms, Vec::new())?.finish()?, imported))
}

impl ScikitModel {
    /// Refuses what has no counterpart here.
    fn check(&self) -> Result<()> {
        let WordPattern { analyzer, strip_accents, token_pattern, tokenizer, preprocessor, .. } = &self.words;
        let is_known = ["MultinomialNB", "ComplementNB"].contains(&self.model.as_str());
        let functions = [tokenizer, preprocessor, strip_accents];
        let differing = [
            (is_known, "MultinomialNB or ComplementNB", self.model.as_str()),
            (self.vectorizer == "CountVectorizer", "CountVectorizer", self.vectorizer.as_str()),
            (analyzer == "word", "analyzer=\"word\"", analyzer.as_str()),
            (
                functions.iter().all(|given| given.is_none()),
                "no tokenizer, preprocessor or strip_accents",
                "one",
            ),
            (token_pattern.as_deref() == Some(PATTERN), "scikit-learn's own token_pattern", "another"),
        ];
        if let Some((_, expected, got)) = differing.into_iter().find(|(is_same, ..)| !is_same) {
            return Err(unlike(expected, got));
        }
        let n = self.classes.len();
        let rows = [
            self.class_count.len(),
            self.counts.len(),
            self.options.class_prior.as_ref().map_or(n, Vec::len),
        ];
        match rows.into_iter().find(|rows| *rows != n) {
            Some(rows) => Err(unlike(format!("counts of {n} classes"), rows)),
            None => Ok(()),
        }
    }

    fn recipe(&self) -> Result<Recipe> {
        let mut recipe = Recipe::new(Kind::Text);
        // scikit-learn reads texts as they are
        recipe.raw = true;
        let options = &mut recipe.tokenizer;
        let [min, max] = self.words.ngram_range;
        options.terms = Ngrams::Words { min, max };
        options.fold_case = self.words.lowercase;
        options.stop_words = self.stop_words.clone();
        (options.normalize, options.unspaced_bigrams) = (false, false);
        (options.min_chars, options.max_chars) = (2, 256);
        recipe.tokenizer = Tokenizer::new(recipe.tokenizer)?.options().clone();
        Ok(recipe)
    }

    fn parameters(&self) -> Result<Parameters> {
        let VectorizerOptions { alpha, fit_prior, class_prior, norm } = &self.options;
        let mut parameters = Scoring::parameters();
        parameters.likelihood = match (self.model.as_str(), norm) {
            ("MultinomialNB", _) => Likelihood::Multinomial,
            (_, false) => Likelihood::Complement,
            (_, true) => Likelihood::ComplementNormalized,
        };
        parameters.counting = if self.words.binary { Counting::Presence } else { Counting::Occurrences };
        parameters.alpha = Smoothing::try_from(*alpha).map_err(|error| unlike("an alpha above 0", error))?;
        parameters.prior = match (class_prior, fit_prior) {
            (Some(shares), _) => {
                let by_label: BTreeMap<_, _> = self.classes.iter().zip(shares).collect();
                ClassPrior::Given(by_label.into_values().copied().collect())
            }
            (None, Some(false)) => ClassPrior::Uniform,
            _ => ClassPrior::Learned,
        };
        Ok(parameters)
    }

    /// The terms with their counts, and the sums of the counts.
    fn terms(&self, classes: &Classes) -> Result<(Vec<DraftTerm>, Statistics)> {
        let documents = self.class_count.iter().map(|count| whole(*count)).collect::<Result<Vec<_>>>()?;
        let class_of = |label: &String| classes.index(label).unwrap_or_default();
        let order: Vec<_> = self.classes.iter().map(class_of).collect();
        let mut by_class = vec![0u64; documents.len()];
        order.iter().zip(&documents).for_each(|(class, n)| by_class[usize::from(*class)] = (*n).into());
        let mut statistics = Statistics::with_documents(by_class);
        if let Some(counts) = self.counts.iter().find(|counts| counts.len() != self.terms.len()) {
            return Err(unlike(format!("counts of {} terms", self.terms.len()), counts.len()));
        }
        let mut terms = Vec::with_capacity(self.terms.len());
        for (at, text) in self.terms.iter().enumerate() {
            let mut cells = Vec::new();
            for ((counts, class), documents) in self.counts.iter().zip(&order).zip(&documents) {
                let tf = whole(counts[at])?;
                if tf > 0 && *documents == 0 || self.words.binary && tf > *documents {
                    return Err(unlike("no more counts than documents have", tf));
                }
                if tf > 0 {
                    cells.push(Cell { class: *class, df: tf.min(*documents), tf });
                }
            }
            if cells.is_empty() {
                let expected = "a count for every term, as a CountVectorizer fitted on the same texts gives";
                return Err(unlike(expected, "a term with none"));
            }
            cells.sort_unstable_by_key(|cell| cell.class);
            statistics.push_term(&mut cells)?;
            terms.push(DraftTerm {
                fingerprint: fingerprint(text),
                text: text.clone(),
                cells,
                weights: Vec::new(),
            });
        }
        Ok((terms, statistics))
    }
}

/// Counts the terms that cannot occur here, because text is split into words differently.
fn unmet(recipe: &Recipe, terms: &[DraftTerm]) -> Result<u64> {
    let (tokenizer, mut scratch) = (Tokenizer::new(recipe.tokenizer.clone())?, Scratch::default());
    let mut is_met = |text: &str| {
        let mut is_met = false;
        tokenizer.for_each_term(text, &mut scratch, |term| is_met |= term == text);
        is_met
    };
    Ok(terms.iter().filter(|term| !is_met(&term.text)).count() as u64)
}

/// Converts a count, which must be a whole number.
fn whole(count: f64) -> Result<u32> {
    let is_whole = count >= 0.0 && count <= u32::MAX.into() && count.fract() == 0.0;
    // in range, as checked
    is_whole
        .then_some(count as u32)
        .ok_or_else(|| unlike("whole counts (of a CountVectorizer, and without sample weights)", count))
}

fn unlike(expected: impl ToString, got: impl ToString) -> Error {
    Reason::Import { line: 1, expected: expected.to_string(), got: got.to_string() }.into()
}

#[cfg(test)]
mod tests {
    use tamis_filter::scorers::scratch::Scratch;

    use super::*;

    fn written(change: impl Fn(&mut serde_json::Value)) -> String {
        let mut value = serde_json::json!({
            "scikit_learn": "1.7.2", "model": "MultinomialNB", "vectorizer": "CountVectorizer",
            "options": {"alpha": 1.0, "fit_prior": true, "class_prior": null, "force_alpha": true},
            "words": {"analyzer": "word", "binary": false, "lowercase": true, "ngram_range": [1, 1],
                      "strip_accents": null, "token_pattern": PATTERN, "tokenizer": null, "preprocessor": null},
            "stop_words": [], "classes": ["spam", "ham"], "class_count": [2.0, 1.0],
            "terms": ["pills", "lunch", "don"], "counts": [[3.0, 0.0, 1.0], [0.0, 1.0, 1.0]],
        });
        change(&mut value);
        value.to_string()
    }

    fn imported(change: impl Fn(&mut serde_json::Value)) -> Result<(Model, BogofilterImport)> {
        import_scikit_learn(written(change).as_bytes())
    }

    #[test]
    fn probabilities_are_those_of_the_formula() {
        let (model, imported) = imported(|_| ()).unwrap();
        assert_eq!(imported, BogofilterImport { taken: 3, lost: 0, cut: 0 });
        let filter = model.into_filter().unwrap();
        let score = filter.score_text("Pills, pills: lunch x", &mut Scratch::default()).unwrap();
        // (1 + 3) / (4 + 3) twice and 1 / 7, to 1 / 5 twice and 2 / 5; 2 of 3 documents
        let odds = 2.0 * (4.0 / 7.0) * (4.0 / 7.0) * (1.0 / 7.0) / (0.2 * 0.2 * 0.4);
        assert_eq!(filter.classes().label(score.scored_class), Some("spam"));
        assert!((score.log_odds - f64::ln(odds)).abs() < 1e-12, "{}", score.log_odds);
    }

    #[test]
    fn what_has_no_counterpart_is_refused() {
        for (pointer, value, expected) in [
            ("/model", "GaussianNB".into(), "MultinomialNB or ComplementNB"),
            ("/vectorizer", "TfidfVectorizer".into(), "CountVectorizer"),
            ("/words/analyzer", "char".into(), "analyzer"),
            ("/words/token_pattern", "x+".into(), "token_pattern"),
            ("/words/tokenizer", "mine".into(), "no tokenizer"),
            ("/counts/0/0", 0.5.into(), "whole counts"),
            ("/counts/0/0", (-1.0).into(), "whole counts"),
            ("/counts/0/0", 1e10.into(), "whole counts"),
            ("/counts/1", serde_json::json!([1.0]), "counts of 3 terms"),
            ("/counts/1", serde_json::json!([0.0, 0.0, 0.0]), "a count for every term"),
            ("/class_count", serde_json::json!([1.0]), "counts of 2 classes"),
            ("/classes/1", "spam".into(), "labels that differ"),
            ("/options/alpha", 0.0.into(), "alpha"),
            ("/options/alpha", "much".into(), "what the script"),
        ] {
            let error =
                imported(|written| *written.pointer_mut(pointer).unwrap() = value.clone()).err().unwrap();
            assert!(error.to_string().contains(expected), "{pointer}: {error}");
        }
        assert!(import_scikit_learn(&b"{\"model\""[..]).is_err());
        let binary = imported(|written| written["words"]["binary"] = true.into()).err().unwrap();
        assert!(binary.to_string().contains("no more counts than documents"), "{binary}");
    }

    #[test]
    fn terms_that_are_cut_otherwise_here_are_counted() {
        let (_, imported) = imported(|written| written["terms"][2] = "日本".into()).unwrap();
        assert_eq!(imported.lost, 1);
    }
}
