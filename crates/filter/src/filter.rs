use std::path::Path;
use std::sync::Arc;

use tamis_mail::LimitsHit;
use tamis_model::{ClassId, Classes, Counts, Readings, log_sum_exp, softmax};
use tamis_tokenizer::Vocabulary;

use crate::documents::{NO_DATE, Remembered};
use crate::error::{Error, Result};
use crate::extractor::{Counted, Extractor};
use crate::fallback::Fallback;
use crate::labels::unknown_label;
use crate::map::Bytes;
use crate::memo::{Additive, Memo};
use crate::names::named;
use crate::recipe::{self, Document};
use crate::scorer::{Scorer, WeightedScorer, positive_class, spam_class};
use crate::scoring::Decision;
use crate::source::Source;
use crate::store::{Information, Store};

/// A trained model, open for scoring.
///
/// It is `Send + Sync`, holds no locks and keeps no state between documents: share one among threads, and give
/// each thread a [`Scratch`].
///
/// ```
/// use tamis_filter::{Document, Kind, Scratch, TrainOptions, Trainer};
///
/// let mut trainer = Trainer::new(TrainOptions::new(Kind::Mail))?;
/// trainer.add("ham", Document::Mail(b"Subject: lunch\n\nSoup at noon?\n"))?;
/// trainer.add("spam", Document::Mail(b"Subject: pills\n\nCheap pills, buy now!\n"))?;
/// let filter = trainer.finish()?.into_filter()?;
///
/// let mut scratch = Scratch::default();
/// let score = filter.score_mail(b"Subject: offer\n\nbuy cheap pills\n", &mut scratch)?;
/// assert_eq!(filter.label_of(&score), "spam");
/// assert!(score.log_odds > 0.0);
/// # Ok::<(), tamis_filter::Error>(())
/// ```
pub struct Filter {
    pub(crate) store: Store,
    pub(crate) scorer: Scorer,
    /// Another than the model's own.
    decision: Option<Decision>,
    /// The class that counts as spam.
    spam: Option<ClassId>,
    /// The least probability of a verdict, where that is no matter of thresholds.
    least_probability: f64,
    pub(crate) extractor: Extractor,
    /// The shared model behind it.
    pub(crate) fallback: Option<Fallback>,
    source: Option<Source>,
    /// Tells it from every other filter there is.
    pub(crate) identity: Arc<()>,
}

/// Reusable buffers, and what the terms met lately say: with one that has seen a few documents, scoring hardly
/// allocates, and looks up only new words. It remembers up to 131,072 terms and 16 MB of what they say of the classes, some
/// 30 MB in all; then it begins anew.
#[derive(Default)]
pub struct Scratch {
    pub(crate) counted: Counted,
    pub(crate) memo: Memo,
    readings: Readings,
    posterior: Vec<f64>,
}

impl Scratch {
    /// The posterior probability of every class for the document scored last, in class order.
    pub fn probabilities(&self) -> &[f64] {
        &self.posterior
    }

    /// Which limits cut something off the message scored last: the score is of the rest. None of what is no message.
    ///
    /// ```
    /// use tamis_filter::{Document, Kind, Scratch, TrainOptions, Trainer};
    ///
    /// let mut trainer = Trainer::new(TrainOptions::new(Kind::Mail))?;
    /// trainer.add("ham", Document::Mail(b"Subject: lunch\n\nSoup at noon?\n"))?;
    /// trainer.add("spam", Document::Mail(b"Subject: pills\n\nCheap pills, buy now!\n"))?;
    /// let filter = trainer.finish()?.into_filter()?;
    ///
    /// let mut scratch = Scratch::default();
    /// filter.score_mail(&b"soup ".repeat(1_000_000), &mut scratch)?;
    /// assert_eq!(scratch.limits_hit().to_string(), "bytes, text");
    /// # Ok::<(), tamis_filter::Error>(())
    /// ```
    pub fn limits_hit(&self) -> LimitsHit {
        self.counted.limits_hit()
    }

    /// The columns, by their number in the recipe, that were missing of the row scored last.
    pub fn missing(&self) -> &[usize] {
        self.counted.missing()
    }
}

/// What a filter says of one document.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Score {
    /// The verdict: of two classes by the model's thresholds, of more the likeliest. `None` is unsure: between the
    /// thresholds, or with nothing to go by because no term is known or, without smoothing, because it is impossible in
    /// every class.
    pub label: Option<ClassId>,
    /// The class that probability and log-odds are about: that of spam in a spam filter, else the likeliest.
    pub about: ClassId,
    /// The posterior probability of that class.
    pub probability: f64,
    /// Its log-odds against all others, in nats.
    pub log_odds: f64,
    /// Distinct terms of the document that the model knows; by mixed naive Bayes, columns of the row that took part.
    pub known_terms: usize,
}

/// A learned document that a model which had not seen it would have labelled otherwise.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Suspect {
    /// Its identity, see [`Filter::digest`].
    pub digest: [u8; 16],
    /// The class it was learned under.
    pub class: ClassId,
    /// When it was written, in seconds since 1970, where it says so.
    pub date: Option<i64>,
    /// What it is called, where that is remembered.
    pub name: Option<String>,
    /// Its held-out log-odds of the positive class, in nats.
    pub log_odds: f64,
}

impl Filter {
    /// Opens a model file, mapping it: the cost does not grow with its size.
    ///
    /// A file that is replaced by renaming, as [`Model::save`](crate::Model::save) does, or appended to, as
    /// [`Learner`](crate::Learner) does, stays what it was for who has it open. One that others may **change in place**
    /// (`cp new model`, `cat new > model`) is another matter: ask [`check_unchanged`](Self::check_unchanged) before a score
    /// is used; and since reading a mapped page that the file no longer has ends the process by SIGBUS, handle that
    /// signal, as the program `tamis` does, or use [`Filter::read`], which does not map. The same goes for network file
    /// systems.
    ///
    /// # Errors
    /// If the file cannot be read, is no regular file, no model, damaged in its header, or was made by another version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let source = Source::open(path.as_ref())?;
        let bytes = source.map()?;
        Filter::from_source(bytes, source)
    }

    /// Reads a model file into memory: the cost grows with its size, and nothing that is done to the file later
    /// matters.
    ///
    /// ```
    /// use tamis_filter::Filter;
    /// # use tamis_filter::{Document, Kind, Scratch, TrainOptions, Trainer};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("model.tamis");
    /// # let mut trainer = Trainer::new(TrainOptions::new(Kind::Text))?;
    /// # trainer.add("fruit", Document::Text("apples"))?;
    /// # trainer.add("metal", Document::Text("iron"))?;
    /// # trainer.finish()?.save(&path)?;
    /// let filter = Filter::read(&path)?;
    /// std::fs::write(&path, "something else")?;
    /// filter.check_unchanged()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Filter::open`]; [`Error::Changed`](crate::Error::Changed) if the file was changed while it was read.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let mut tries = 3;
        loop {
            tries -= 1;
            let source = Source::open(path.as_ref())?;
            let filter = source.read().and_then(|bytes| Filter::from_source(bytes, source));
            match filter {
                // a learner made a segment meanwhile
                Err(Error::Changed { .. } | Error::Length { .. }) if tries > 0 => (),
                filter => return filter,
            }
        }
    }

    fn from_source(bytes: Bytes, source: Source) -> Result<Self> {
        Filter::new(Store::new(bytes, Some(&source))?, Some(source))
    }

    /// A filter over the bytes of a model file, without a map.
    ///
    /// # Errors
    /// As [`Filter::open`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self> {
        Filter::from_map(Bytes::Owned(bytes))
    }

    pub(crate) fn from_map(bytes: Bytes) -> Result<Self> {
        Filter::new(Store::new(bytes, None)?, None)
    }

    fn new(store: Store, source: Option<Source>) -> Result<Self> {
        let scorer = Scorer::new(&store.header, &store.totals, store.n_features(), store.bias())?;
        let extractor = Extractor::new(store.header.recipe.clone())?;
        let spam = spam_class(&store.header.classes);
        Ok(Filter {
            store,
            scorer,
            decision: None,
            spam,
            least_probability: 0.0,
            extractor,
            fallback: None,
            source,
            identity: Arc::default(),
        })
    }

    /// Opens the file again if it was replaced since; returns whether it was.
    ///
    /// On an error the filter stays as it is. A filter made of bytes never changes, nor does a
    /// [fallback](Self::set_fallback): others may have it too.
    ///
    /// # Errors
    /// As [`Filter::open`] and [`Filter::set_fallback`].
    pub fn reload_if_changed(&mut self) -> Result<bool> {
        let Some(source) = &self.source else { return Ok(false) };
        if source.is_at_its_path()? {
            return Ok(false);
        }
        *self = self.reopened(source.path())?;
        Ok(true)
    }

    /// What is in a file now, mapped or read as this one was, with the decision, the label of spam and the fallback of this filter.
    pub(crate) fn reopened(&self, path: &Path) -> Result<Filter> {
        let mut filter = if self.store.is_mapped() { Filter::open(path)? } else { Filter::read(path)? };
        (filter.decision, filter.least_probability) = (self.decision, self.least_probability);
        let spam = self.spam.and_then(|spam| filter.classes().index(self.classes().label(spam)?));
        filter.spam = spam.or(filter.spam);
        if let Some(shared) = self.fallback() {
            filter.set_fallback(shared.clone())?;
        }
        Ok(filter)
    }

    /// Makes sure that the file, and that of a [fallback](Self::set_fallback), was not changed in place since it was
    /// opened: then every score up to now is by the model that was opened, and by it alone.
    ///
    /// Costs a system call where nothing happened. That a [`Learner`](crate::Learner) appended to the file, or that it was
    /// replaced by another, is no change. A filter whose file was [read](Self::read) or that was made of bytes never
    /// changes.
    ///
    /// # Errors
    /// [`Error::Changed`](crate::Error::Changed) if it was; what the filter says is then of no use, and it should be opened again.
    pub fn check_unchanged(&self) -> Result<()> {
        if let Some(source) = self.source.as_ref().filter(|_| self.store.is_mapped()) {
            source.check_unchanged(|| self.store.is_as_read())?;
        }
        self.fallback().map_or(Ok(()), |shared| shared.check_unchanged())
    }

    /// What the model says of itself.
    pub fn information(&self) -> Information<'_> {
        self.store.information()
    }

    /// The labels, in the order of their class ids.
    pub fn classes(&self) -> &Classes {
        &self.store.header.classes
    }

    /// The class that counts as spam, if there is one: by its label, see [`spam_class`], or by
    /// [`set_spam_label`](Self::set_spam_label).
    pub fn spam(&self) -> Option<ClassId> {
        self.spam
    }

    /// Lets this label count as spam, whatever it is called.
    ///
    /// # Errors
    /// If the model does not know it.
    pub fn set_spam_label(&mut self, label: &str) -> Result<()> {
        self.spam = Some(self.classes().index(label).ok_or_else(|| unknown_label(label, self.classes()))?);
        Ok(())
    }

    /// Whether this is a spam filter: of two classes, one of which counts as spam. Probability and log-odds are of spam
    /// then, and by default a document is unsure unless one of the two has a probability of 0.6.
    pub fn is_spam_filter(&self) -> bool {
        self.spam.is_some() && self.classes().len() == 2
    }

    /// The log-odds from which a document is spam, in nats, where one of two classes is spam; of more classes those from
    /// which it surely is.
    pub fn spam_threshold(&self) -> f64 {
        let decision = self.decision();
        let least = self.least_probability.max(0.5);
        match &self.scorer {
            Scorer::Weighted(scorer) if scorer.is_of_two() => match self.spam == Some(scorer.positive) {
                true => decision.upper,
                false => decision.mirrored().upper,
            },
            _ => (least / (1.0 - least)).ln(),
        }
    }

    /// The label of a score, `unsure` if it has none.
    pub fn label_of(&self, score: &Score) -> &str {
        score.label.and_then(|class| self.classes().label(class)).unwrap_or("unsure")
    }

    /// Scores a raw RFC 5322 message.
    ///
    /// # Errors
    /// If the model is of text, or damaged where this message touches it.
    pub fn score_mail(&self, raw: &[u8], scratch: &mut Scratch) -> Result<Score> {
        self.score(Document::Mail(raw), scratch)
    }

    /// Scores plain text.
    ///
    /// # Errors
    /// If the model is of mail, or damaged where this text touches it.
    pub fn score_text(&self, text: &str, scratch: &mut Scratch) -> Result<Score> {
        self.score(Document::Text(text), scratch)
    }

    /// Scores named fields of text, of which the field with the empty name is the body; or a row of a table.
    ///
    /// # Errors
    /// If a cell is not what its column holds, or the model is damaged where this document touches it.
    pub fn score_fields(&self, fields: &[(&str, &str)], scratch: &mut Scratch) -> Result<Score> {
        self.score(Document::Fields(fields), scratch)
    }

    /// Scores any document.
    ///
    /// # Errors
    /// If the document is not of the model's kind, a cell of a row is not what its column holds, or the model is
    /// damaged where it touches it.
    pub fn score(&self, document: Document<'_>, scratch: &mut Scratch) -> Result<Score> {
        let known = match &self.scorer {
            Scorer::Weighted(scorer) => {
                self.add_up(scorer, document, scratch)?;
                let Scratch { memo, readings, posterior, .. } = &mut *scratch;
                scorer.log_odds.read_sums(&memo.sums, readings);
                scorer.log_odds.log_odds(readings, posterior);
                if scorer.is_of_two() {
                    return self.score_two(scorer, scratch);
                }
                readings.known_terms
            }
            Scorer::NaiveBayes(bayes) => {
                self.add_up(bayes, document, scratch)?;
                bayes.joint_log_likelihood_of(&scratch.memo.sums, &mut scratch.posterior)
            }
            Scorer::Expected(scorer) => {
                self.add_up(scorer, document, scratch)?;
                scorer.scores(&scratch.memo.sums, &mut scratch.posterior)
            }
            Scorer::Mixed(scorer) => {
                self.add_up(&**scorer, document, scratch)?;
                let Scratch { memo, counted, posterior, .. } = &mut *scratch;
                scorer.joint_log_likelihood(counted.reals(), &memo.sums, posterior)
            }
        };
        let posterior = &mut scratch.posterior;
        let score = likeliest(self.spam, known, posterior);
        let is_sure = |class: &ClassId| posterior[usize::from(*class)] >= self.least_probability;
        Ok(Score { label: score.label.filter(is_sure), ..score })
    }

    /// From score to verdict, where there are two classes. Unless it was told otherwise, a model of two topics leaves
    /// nothing unsure that it knows a term of, a spam filter what is between its thresholds.
    pub fn decision(&self) -> Decision {
        self.decision.unwrap_or_else(|| {
            let of_model = self.fallback().map_or(self.store.header.decision, |shared| shared.decision());
            if self.is_spam_filter() { of_model.of_spam_filter(self.classes()) } else { of_model }
        })
    }

    /// Leaves a document unsure unless its likeliest label has this probability, in a model of any kind; 0 leaves none
    /// unsure that has a known term.
    ///
    /// # Errors
    /// If it is not at least 0 and below 1.
    pub fn set_unsure(&mut self, least_probability: f64) -> Result<()> {
        let decision = self.decision().unsure_below(least_probability)?;
        match self.of_two() {
            Some(_) => self.decision = Some(decision),
            None => self.least_probability = least_probability,
        }
        Ok(())
    }

    /// Decides by other thresholds or another prior than the model's own; no effect on models of more than two
    /// classes and on plain naive Bayes.
    pub fn set_decision(&mut self, decision: Decision) {
        self.decision = Some(decision);
    }

    /// The identity under which the model remembers, or would remember, a document: a digest of its terms.
    ///
    /// # Errors
    /// If the document is not of the model's kind, or the model is damaged where it touches it.
    pub fn digest(&self, document: Document<'_>) -> Result<[u8; 16]> {
        let (mut counted, mut terms) = (Counted::default(), Vocabulary::without_texts());
        self.extractor.count(document, &mut counted, &mut terms)?;
        Ok(recipe::digest(self.extractor.recipe().version, terms.document(), counted.reals()))
    }

    /// The remembered documents whose held-out score contradicts their label, the worst first: likely mislabelled.
    ///
    /// Reads all that is remembered. None where nothing was held out: in models of more than two classes and in plain
    /// naive Bayes.
    ///
    /// # Errors
    /// If the model is damaged.
    pub fn suspects(&self) -> Result<Vec<Suspect>> {
        let (positive, decision) = (positive_class(self.classes()), self.decision());
        let Some(choices) = self.store.header.choices() else { return Ok(Vec::new()) };
        let mut suspects = Vec::new();
        for remembered in self.store.documents() {
            let Remembered { digest, class, date, name, held_out, .. } = remembered?;
            let Some(held_out) = held_out else { continue };
            let log_odds = decision.log_odds(choices.log_odds(held_out));
            if (log_odds > 0.0) != (class == positive) {
                let (date, name) = ((date != NO_DATE).then_some(date), named(name));
                suspects.push(Suspect { digest, class, date, name, log_odds });
            }
        }
        suspects.sort_by(|a, b| b.log_odds.abs().total_cmp(&a.log_odds.abs()).then(a.digest.cmp(&b.digest)));
        Ok(suspects)
    }

    /// The scorer, if it is a weighted one of two classes.
    fn of_two(&self) -> Option<&WeightedScorer> {
        match &self.scorer {
            Scorer::Weighted(scorer) if scorer.is_of_two() => Some(scorer),
            _ => None,
        }
    }

    /// Of two classes, whose log-odds are in the place of the posterior.
    fn score_two(&self, scorer: &WeightedScorer, scratch: &mut Scratch) -> Result<Score> {
        let known_terms = scratch.readings.known_terms;
        let mut log_odds = scratch.posterior.first().copied().unwrap_or(0.0);
        if scratch.counted.has_windows() {
            self.rows(scratch);
            let highest =
                scorer.best(self.layers(), &scratch.counted)?.map_or(log_odds, |(highest, _)| highest);
            log_odds = scorer.of_windows(highest);
        }
        let score = verdict(&self.decision(), scorer.positive, self.spam, log_odds, known_terms);
        scratch.posterior.clear();
        scratch.posterior.resize(2, 1.0 - score.probability);
        scratch.posterior[usize::from(score.about)] = score.probability;
        Ok(score)
    }

    /// Counts the terms of a document, and adds up what they say.
    fn add_up(&self, scorer: &impl Additive, document: Document<'_>, scratch: &mut Scratch) -> Result<()> {
        let Scratch { counted, memo, .. } = scratch;
        memo.prepare(&self.identity, scorer.n_sums());
        let outcome = self.extractor.count(document, counted, &mut memo.terms);
        // also of a document that cannot be counted to its end: terms that are new are of this document and no other
        let added = memo.add_up(self.layers(), scorer);
        outcome.and(added)
    }

    /// Makes the rows of the document that was counted.
    pub(crate) fn rows(&self, Scratch { counted, memo, .. }: &mut Scratch) {
        let n_terms = self.layers().n_terms();
        counted.rows(memo.document(), |place| memo.id(place, n_terms));
    }

    /// Checks the whole model: every checksum, and everything its parts promise one another.
    ///
    /// # Errors
    /// The first thing found wrong.
    pub fn verify(&self) -> Result<()> {
        self.store.verify()
    }
}

/// The verdict on log-odds between two classes, one of which may be spam; there is none if no term is known.
pub(crate) fn verdict(
    decision: &Decision,
    positive: ClassId,
    spam: Option<ClassId>,
    log_odds: f64,
    known_terms: usize,
) -> Score {
    let of_positive = decision.log_odds(log_odds);
    let is_positive = (known_terms > 0).then(|| decision.is_positive(of_positive)).flatten();
    let class = |is_positive: bool| if is_positive { positive } else { 1 - positive };
    let label = is_positive.map(class);
    let about = spam.or(label).unwrap_or(class(of_positive > 0.0));
    let log_odds = if about == positive { of_positive } else { -of_positive };
    Score { label, about, probability: sigmoid(log_odds), log_odds, known_terms }
}

/// The verdict by joint log-likelihoods, or what stands for them, which become the posterior.
pub(crate) fn likeliest(spam: Option<ClassId>, known_terms: usize, joint: &mut [f64]) -> Score {
    let best = (1..joint.len()).fold(0, |best, class| if joint[class] > joint[best] { class } else { best });
    let about = spam.filter(|_| joint.len() == 2).map_or(best, usize::from);
    // without smoothing a document can be impossible in every class: then all are as likely
    let impossible = joint[best] == f64::NEG_INFINITY;
    let log_odds = against_others(about, joint);
    Score {
        label: (known_terms > 0 && !impossible).then_some(best as ClassId),
        about: about as ClassId,
        probability: sigmoid(log_odds),
        log_odds,
        known_terms,
    }
}

/// Makes joint log-likelihoods the posterior; returns the log-odds of a class against all others.
fn against_others(class: usize, joint: &mut [f64]) -> f64 {
    let (before, from) = joint.split_at(class);
    let others = || before.iter().chain(&from[1..]).copied();
    let nearest = others().fold(f64::NEG_INFINITY, f64::max);
    // the exponentials below tell it too, unless there is nothing left of them
    let is_far = (joint[class] - nearest).abs() > 500.0;
    let of_far = is_far.then(|| joint[class] - log_sum_exp(&others().collect::<Vec<_>>()));
    softmax(joint);
    let others = joint[..class].iter().chain(&joint[class + 1..]).sum::<f64>();
    of_far.unwrap_or_else(|| (joint[class] / others).ln())
}

fn sigmoid(log_odds: f64) -> f64 {
    if log_odds >= 0.0 {
        1.0 / (1.0 + (-log_odds).exp())
    } else {
        let odds = log_odds.exp();
        odds / (1.0 + odds)
    }
}
