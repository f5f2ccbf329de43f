//! The buffers of a thread that scores, and its cache of term weights.

use std::ops::Range;
use std::sync::Arc;

use tamis_mail::LimitsHit;
use tamis_model::{ClassId, DocumentSums, Readings, TermEntry, TermTable};
use tamis_store::error::Result;
use tamis_store::store::layers::{DecodedTerm, Layers, SharedExtent, SharedTerms};
use tamis_tokenizer::{CountVector, TermCount, TermId, Vocabulary};

use crate::extract::extraction::Extraction;
use crate::extract::part_verdict::{DecidingPart, PartVerdict};

/// Reusable buffers and a cache of term weights: after a few documents, scoring hardly allocates and looks up only new
/// words. The cache holds the first 229,376 terms, or as many as fit in 32 MB of weights; about 60 MB in all. It starts
/// over once eight times as many terms have found no room. When the scratch is used with another filter, it keeps what
/// it caches of a [shared model](crate::Filter::set_fallback) behind both.
#[derive(Default)]
pub struct Scratch {
    pub(crate) counted: Extraction,
    pub(crate) memo: Memo,
    pub(crate) readings: Readings,
    pub(crate) parts: PartSums,
    /// What parts of the last document say, if they were weighed.
    pub(crate) part: Option<PartVerdict>,
    /// The log-odds with what they add.
    pub(crate) lifted: f64,
    pub(crate) posterior: Vec<f64>,
    pub(crate) labels: Vec<LabelScore>,
}

/// The buffers of a thread that scores parts.
#[derive(Default)]
pub(crate) struct PartSums {
    /// By place in the document, one more than the number of the stretch that was counted last, and where it is in `counts`.
    pub(super) marks: Vec<[u32; 2]>,
    /// The terms of a stretch, with their occurrences.
    pub(super) counts: Vec<(u32, u32)>,
    /// The sums of each stretch, of what lies outside the body, and of a part.
    pub(super) stretches: Vec<DocumentSums>,
    pub(super) outside: DocumentSums,
    pub(super) part: DocumentSums,
    pub(super) readings: Readings,
    pub(super) z: Vec<f64>,
}

/// A label of a document, with its score.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct LabelScore {
    /// The label.
    pub label: ClassId,
    /// The probability that the document has it.
    pub probability: f64,
    /// Its log-odds, in nats.
    pub log_odds: f64,
}

impl Scratch {
    /// The posterior probability of every class for the last document, in class order. Those of many labels need not sum
    /// to 1.
    pub fn probabilities(&self) -> &[f64] {
        &self.posterior
    }

    /// The labels of the last document, the likeliest first: any number of them in a model of
    /// [many labels](crate::Filter::has_many_labels), otherwise the verdict, or none if it is unsure.
    ///
    /// ```
    /// use tamis_train::options::Labels;
    /// use tamis_train::{Document, Kind, Scratch, TrainOptions, Trainer, join_labels};
    ///
    /// let mut options = TrainOptions::new(Kind::Text);
    /// options.labels = Labels::Many;
    /// let mut trainer = Trainer::new(options)?;
    /// for day in 0..20 {
    ///     trainer.add("fruit", Document::Text(&format!("apples and pears, day {day}")))?;
    ///     trainer.add("metal", Document::Text(&format!("iron and tin, day {day}")))?;
    ///     trainer.add(&join_labels(["fruit", "metal"]), Document::Text(&format!("tin of pears, day {day}")))?;
    ///     trainer.add(&join_labels([]), Document::Text(&format!("rain and wind, day {day}")))?;
    /// }
    /// let (filter, mut scratch) = (trainer.finish()?.into_filter()?, Scratch::default());
    /// let mut labels = |text| -> Result<Vec<&str>, tamis_train::Error> {
    ///     filter.score_text(text, &mut scratch)?;
    ///     Ok(scratch.labels().iter().filter_map(|of| filter.classes().label(of.label)).collect())
    /// };
    /// assert_eq!(labels("a pear and apples")?, ["fruit"]);
    /// assert_eq!(labels("tin of pears")?.len(), 2);
    /// assert_eq!(labels("wind")?.len(), 0);
    /// # Ok::<(), tamis_train::Error>(())
    /// ```
    pub fn labels(&self) -> &[LabelScore] {
        &self.labels
    }

    /// Limits that truncated the last document; empty if it was read completely.
    ///
    /// ```
    /// use tamis_train::{Document, Kind, Scratch, TrainOptions, Trainer};
    ///
    /// let mut trainer = Trainer::new(TrainOptions::new(Kind::Mail))?;
    /// trainer.add("ham", Document::Mail(b"Subject: lunch\n\nSoup at noon?\n"))?;
    /// trainer.add("spam", Document::Mail(b"Subject: pills\n\nCheap pills, buy now!\n"))?;
    /// let filter = trainer.finish()?.into_filter()?;
    ///
    /// let mut scratch = Scratch::default();
    /// filter.score_mail(&b"soup ".repeat(1_000_000), &mut scratch)?;
    /// assert_eq!(scratch.limits_hit().to_string(), "text");
    /// # Ok::<(), tamis_train::Error>(())
    /// ```
    pub fn limits_hit(&self) -> LimitsHit {
        self.counted.facts.limits_hit
    }

    /// The missing columns of the last row, as indices into the columns of the recipe.
    pub fn missing(&self) -> &[usize] {
        &self.counted.missing
    }

    /// Sets whether the next documents are counted as [`Filter::counted`](crate::Filter::counted) needs it, which makes
    /// scoring some percent slower; false by default.
    pub fn keep_counts(&mut self, keeps: bool) {
        self.counted.identifies = keeps;
        if keeps && !self.memo.keeps_texts {
            self.memo = Memo { keeps_texts: true, ..Memo::default() };
        }
    }

    /// Builds the rows of the counted document.
    pub(crate) fn build_rows(&mut self, layers: Layers<'_>) {
        let Scratch { counted, memo, .. } = self;
        let n_terms = layers.n_terms();
        counted.rows(memo.document(), |place| memo.id(place, n_terms));
    }

    /// The row of the part that decides about the last document, if it is not the whole and its places are known; and what is
    /// added to the log-odds of the row.
    pub(crate) fn deciding_row(&self, layers: Layers<'_>) -> (Option<CountVector>, f64) {
        let Some(part) = &self.part else { return (None, 0.0) };
        match self.part_row(layers).zip(part.deciding.as_ref()) {
            Some((row, deciding)) => (Some(row), -deciding.price),
            None => (None, part.lift),
        }
    }

    fn part_row(&self, layers: Layers<'_>) -> Option<CountVector> {
        let Scratch { counted, memo, .. } = self;
        let id = |place: usize| memo.id(place, layers.n_terms());
        let mut is_left_out = vec![false; memo.document().len()];
        let mut leave_out = |places: &[u32]| {
            let pieces =
                places.iter().flat_map(|place| std::iter::once(place).chain(counted.pieces_of(*place)));
            pieces.for_each(|place| is_left_out[*place as usize] = true);
        };
        let DecidingPart { stretches, .. } = self.part.as_ref()?.deciding.as_ref()?;
        counted.stretches().next()?;
        let (mut window, is_window) = (Vec::new(), stretches.is_some());
        for (at, stretch) in counted.stretches().enumerate() {
            if stretches.as_ref().is_some_and(|of| of.contains(&at)) {
                window.extend_from_slice(stretch.terms);
            }
            if is_window || !stretch.is_seen {
                leave_out(stretch.terms);
            }
        }
        let rest = memo.document().iter().enumerate().filter(|(place, _)| !is_left_out[*place]);
        let rest = rest.filter_map(|(place, term)| Some((id(place)?, term.count)));
        let inside = counted.row(&window, id);
        CountVector::from_pairs(rest.chain(inside.row().iter())).ok()
    }
}

/// A cache of terms with their ids and weights: most words of a text occurred before and need no look-up. When it is
/// full, further terms are dropped after their document; after many such drops it is cleared, since the kind of text
/// may have changed.
pub(crate) struct Memo {
    /// The model that the weights are from, and the shared model behind it.
    model: Option<Arc<()>>,
    behind: Option<Arc<()>>,
    pub terms: Vocabulary,
    /// Whether the texts of terms are kept, whatever the model.
    keeps_texts: bool,
    /// What the shared model knows of the terms. It stays when the model in front of it changes.
    shared: SharedTerms,
    weights: WeightCache,
    /// Sums over the terms of the current document.
    pub sums: DocumentSums,
    new: Vec<TermCount>,
    entry: TermEntry,
    kept: CacheExtent,
    /// Number of terms looked up but not kept.
    passed: usize,
    limits: CacheLimits,
}

/// The ids and weights of terms in one model, by their numbers in the vocabulary.
struct WeightCache {
    /// How often the model has changed.
    round: u32,
    /// The round in which each term was looked up.
    rounds: Vec<u32>,
    /// Their ids; `None` for an unknown term.
    ids: Vec<Option<TermId>>,
    /// How many documents have each, up to 255.
    documents: Vec<u8>,
    /// Their entries in the table.
    places: Vec<u32>,
    table: TermTable,
}

/// What is kept after the current document.
#[derive(Clone, Copy, Default)]
struct CacheExtent {
    terms: usize,
    /// The size of their weights.
    bytes: usize,
    shared: SharedExtent,
}

/// Limits of what is kept. The last document may take as much again.
#[derive(Clone, Copy)]
struct CacheLimits {
    terms: usize,
    bytes: usize,
}

/// The cache is cleared when the terms looked up but not kept exceed the limit of terms this many times.
const PASSED: usize = 8;

impl WeightCache {
    fn new(n_sums: usize) -> Self {
        let table = TermTable::new(n_sums);
        let (ids, documents) = (Vec::new(), Vec::new());
        WeightCache { round: 0, rounds: Vec::new(), ids, documents, places: Vec::new(), table }
    }

    /// Keeps the first terms, whose weights have this size.
    fn truncate(&mut self, terms: usize, bytes: usize) {
        self.rounds.truncate(terms);
        self.ids.truncate(terms);
        self.documents.truncate(terms);
        self.places.truncate(terms);
        self.table.truncate(bytes);
    }

    /// Makes room for as many terms.
    fn grow(&mut self, terms: usize) {
        self.rounds.resize(terms, self.round);
        self.ids.resize(terms, None);
        self.documents.resize(terms, 0);
        self.places.resize(terms, TermTable::NOTHING);
    }

    fn has(&self, number: usize) -> bool {
        self.rounds.get(number) == Some(&self.round)
    }

    /// Takes note of a term that was looked up, without weights so far.
    fn insert(&mut self, number: usize, id: Option<TermId>, documents: u64) {
        self.rounds[number] = self.round;
        self.ids[number] = id;
        self.documents[number] = u8::try_from(documents).unwrap_or(u8::MAX);
        self.places[number] = TermTable::NOTHING;
    }
}

impl Default for Memo {
    fn default() -> Self {
        Memo {
            model: None,
            behind: None,
            terms: Vocabulary::without_texts(),
            keeps_texts: false,
            shared: SharedTerms::default(),
            weights: WeightCache::new(0),
            sums: DocumentSums::default(),
            new: Vec::new(),
            entry: TermEntry::default(),
            kept: CacheExtent::default(),
            passed: 0,
            // few enough that the terms of another document seldom make the table grow
            limits: CacheLimits { terms: 7 << 15, bytes: 32 << 20 },
        }
    }
}

impl Memo {
    /// An empty cache for a model and the shared one behind it.
    fn of_model(&self, model: &Arc<()>, behind: Option<&Arc<()>>, n_sums: usize, terms: Vocabulary) -> Memo {
        let weights = WeightCache::new(n_sums);
        let kept = CacheExtent { bytes: weights.table.bytes(), ..CacheExtent::default() };
        let (model, behind) = (Some(model.clone()), behind.cloned());
        let Memo { keeps_texts, limits, .. } = *self;
        Memo { model, behind, terms, keeps_texts, weights, kept, limits, ..Memo::default() }
    }

    /// Prepares to score a document with `model`: drops the cache of another model, and terms of the previous document
    /// that are not kept. What is cached of the shared model `behind` it stays. The texts of terms are kept only with
    /// `has_pieces`, to find the pieces of words in them, or to tell them.
    pub(crate) fn prepare(
        &mut self,
        model: &Arc<()>,
        behind: Option<&Arc<()>>,
        n_sums: usize,
        has_pieces: bool,
    ) {
        let is = |known: &Option<Arc<()>>, it| known.as_ref().is_some_and(|known| Arc::ptr_eq(known, it));
        let is_same = is(&self.model, model);
        let has_behind = || self.model.is_some() && behind.is_some_and(|it| is(&self.behind, it));
        let is_full = self.passed > PASSED * self.limits.terms || self.weights.round == u32::MAX;
        if is_full || !is_same && !has_behind() {
            let terms =
                if has_pieces || self.keeps_texts { Vocabulary::new() } else { Vocabulary::without_texts() };
            *self = self.of_model(model, behind, n_sums, terms);
        } else if !is_same {
            self.model = Some(model.clone());
            self.weights.round += 1;
            self.kept.bytes = TermTable::new(n_sums).bytes();
        }
        let CacheExtent { terms, bytes, shared } = self.kept;
        self.terms.truncate(terms);
        self.shared.truncate(shared);
        self.weights.truncate(terms, bytes);
        self.sums.begin(n_sums);
    }

    /// A cache for another model. Its current document has all terms of this cache, so that summing over it looks them
    /// up.
    pub(crate) fn with_same_terms(&self, model: &Arc<()>, behind: Option<&Arc<()>>, n_sums: usize) -> Memo {
        let mut memo = self.of_model(model, behind, n_sums, self.terms.clone());
        memo.terms.truncate(self.kept.terms);
        memo.terms.begin_document_of((0..).take(self.kept.terms).map(|id| (id, 1)));
        memo.sums.begin(n_sums);
        memo
    }

    /// Looks up the new terms of the current document, and sums over all its terms. `amount` is the factor of a term that
    /// occurs so many times, and `weigh` writes its weights. On an error the cache is cleared, so that only documents with
    /// the damaged term fail.
    pub(crate) fn sum_weights(
        &mut self,
        layers: Layers<'_>,
        amount: impl Fn(u32) -> f64,
        weigh: impl Fn(&DecodedTerm<'_>, &mut TermEntry) -> Result<()>,
    ) -> Result<()> {
        if self.weights.places.len() < self.terms.len() || self.weights.round > 0 {
            let outcome = self.look_up(layers, &amount, weigh);
            if outcome.is_err() {
                self.model = None;
            }
            outcome?;
        }
        // terms that add nothing are summed too: skipping them would be an unpredictable branch
        let Memo { terms, weights: WeightCache { places, table, .. }, sums, .. } = self;
        let terms = terms.document().iter();
        table.accumulate(terms.map(|term| (places[term.id as usize], amount(term.count))), sums);
        Ok(())
    }

    /// Looks up the new terms of the current document.
    fn look_up(
        &mut self,
        layers: Layers<'_>,
        amount: impl Fn(u32) -> f64,
        weigh: impl Fn(&DecodedTerm<'_>, &mut TermEntry) -> Result<()>,
    ) -> Result<()> {
        let Memo { terms, shared, weights, new, kept, .. } = self;
        new.clear();
        new.extend(terms.document().iter().filter(|term| !weights.has(term.id as usize)));
        // in the order of the file, so that neighbours are read together
        new.sort_unstable_by_key(|term| term.fingerprint);
        if kept.terms == 0 {
            // the first document: nothing of the file is in the cache yet
            layers.touch(new.iter().map(|term| term.fingerprint));
        }
        let is_small = kept.bytes + shared.bytes() <= self.limits.bytes;
        let mut is_kept = is_small && kept.terms <= self.limits.terms;
        weights.grow(terms.len());
        let mut term = DecodedTerm::new(layers);
        for new in &*new {
            let number = new.id as usize;
            let id = term.look_up(number, new.fingerprint, shared)?;
            weights.insert(number, id, term.known().document_frequency());
            if id.is_none() {
                continue;
            }
            weigh(&term, &mut self.entry)?;
            let has_room = weights.table.bytes() <= 2 * self.limits.bytes;
            match has_room.then(|| weights.table.push(&self.entry)).flatten() {
                Some(place) => weights.places[number] = place,
                None => {
                    // no room in the table, and the document may be long: sum at once
                    self.sums.add(&self.entry, amount(new.count));
                    is_kept = false;
                }
            }
        }
        if is_kept {
            let shared = shared.extent();
            *kept = CacheExtent { terms: terms.len(), bytes: weights.table.bytes(), shared };
        } else {
            self.passed += new.len();
            // kept terms from another model were looked up in this model for this document only
            for term in new.iter().filter(|term| (term.id as usize) < kept.terms) {
                weights.rounds[term.id as usize] = u32::MAX;
            }
        }
        Ok(())
    }

    /// Sums over terms at some places in the current document, each with its occurrences.
    pub(crate) fn sum_places(
        &self,
        terms: impl Iterator<Item = (u32, u32)>,
        amount: impl Fn(u32) -> f64,
        sums: &mut DocumentSums,
    ) {
        let (document, WeightCache { places, table, .. }) = (self.document(), &self.weights);
        let entry = |place: u32| places[document[place as usize].id as usize];
        table.accumulate(terms.map(|(place, count)| (entry(place), amount(count))), sums);
    }

    /// The terms of the current document.
    pub(crate) fn document(&self) -> &[TermCount] {
        self.terms.document()
    }

    /// The occurrences of the terms at these places of the document, and of those that more than `few` documents have.
    pub(crate) fn occurrences(&self, places: &[Range<usize>], few: u8) -> [u64; 2] {
        let mut sums = [0; 2];
        for term in places.iter().filter_map(|places| self.document().get(places.clone())).flatten() {
            let is_common = self.weights.documents[term.id as usize] > few;
            sums[0] += u64::from(term.count);
            sums[1] += u64::from(term.count) * u64::from(is_common);
        }
        sums
    }

    /// The id of the term at a position in the document. An unknown term gets an id past all known ones: it has no
    /// counts and no weight, but makes the document longer. `None` if no id is left.
    pub(crate) fn id(&self, place: usize, n_terms: usize) -> Option<TermId> {
        let unknown = || TermId::try_from(n_terms + place).ok();
        self.weights.ids[self.document()[place].id as usize].or_else(unknown)
    }
}

#[cfg(test)]
mod tests;
