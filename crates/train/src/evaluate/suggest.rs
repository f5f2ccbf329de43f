//! What to label next: the documents that would teach a model most.

use std::collections::{BTreeMap, HashMap, HashSet};

use rayon::prelude::*;
use tamis_filter::extract::document::Document;
use tamis_filter::extract::document::digest;
use tamis_filter::extract::extraction::Extraction;
use tamis_filter::score::filter::Filter;
use tamis_filter::score::verdict::Score;
use tamis_filter::scorers::scratch::{LabelScore, Scratch};
use tamis_store::error::{Error, Result};
use tamis_store::file::documents::StoredDocument;
use tamis_store::kind::Kind;
use tamis_tokenizer::{CountRow, Vocabulary, is_piece};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::evaluate::design::Design;

/// A digest, and where a document stands among those that are drawn: by a hash of the digest.
type Key = (u64, [u8; 16]);

/// Documents without a label that a thread has seen, from which [`Suggestions`] are chosen.
///
/// A sample is kept, which depends only on the documents and on how many the model has learned, not on their order.
/// Documents that the model knows and documents without words are left out; of equal ones, the one with the least `place`
/// is kept. `P` says where a document is.
pub struct Unlabelled<'a, P> {
    known: &'a Known<'a>,
    scratch: Scratch,
    counted: Extraction,
    vocabulary: Vocabulary,
    kept: BTreeMap<Key, Candidate<P>>,
}

/// The documents that a model knows already.
pub struct Known<'a> {
    filter: &'a Filter,
    digests: HashSet<[u8; 16]>,
    /// A sample of them, if their terms are stored.
    terms: Vec<Terms>,
    most: usize,
}

/// A document worth a label, by [`Suggestions`].
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Suggestion<'s, P> {
    /// Where it is.
    pub place: &'s P,
    /// What the model says of it.
    pub score: Score,
    /// The labels that the model gives it, see [`Scratch::labels`].
    pub labels: &'s [LabelScore],
}

/// The terms of a document by their fingerprints, with their counts.
type Terms = Vec<(u64, u32)>;

struct Candidate<P> {
    place: P,
    terms: Terms,
    judged: Judged,
    is_left: bool,
}

/// What a model says of a document.
struct Judged {
    score: Score,
    labels: Vec<LabelScore>,
    /// How unsure its label is, 0 to 1.
    doubt: f64,
}

/// Documents that are considered at a time, and learned ones that they are compared with: enough that more change little,
/// few enough that all pairs are compared in a second.
const SAMPLE: usize = 1_000;
/// Most suggestions at a time.
const MOST: usize = 5_000;

impl<'a> Known<'a> {
    /// The documents that a model knows, for up to `n` suggestions.
    ///
    /// # Errors
    /// [`ErrorKind::Settings`](crate::ErrorKind::Settings) if the model is of a table or `n` is not 1 to 5,000;
    /// otherwise if the model is damaged.
    pub fn new(filter: &'a Filter, n: usize) -> Result<Self> {
        let (store, recipe) = (filter.store(), filter.extractor().recipe());
        if recipe.kind == Kind::Table {
            return Err(Error::option("model", "expected a model of mail or text, got one of a table"));
        }
        if !(1..=MOST).contains(&n) {
            return Err(Error::option("n", format!("expected 1 to {MOST} suggestions, got {n}")));
        }
        let (mut digests, mut terms) = (HashSet::new(), Vec::new());
        // in the order of digests, which are hashes: the first are a sample
        for document in store.documents() {
            let StoredDocument { digest, vector, .. } = document?;
            if terms.len() < SAMPLE && !vector.row().ids().is_empty() {
                terms.push(words_of(filter, vector.row())?);
            }
            digests.insert(digest);
        }
        Ok(Known { filter, digests, terms, most: SAMPLE.max(n) })
    }
}

/// The terms of a learned document, without pieces of words.
fn words_of(filter: &Filter, row: CountRow<'_>) -> Result<Terms> {
    let (store, has_pieces) = (filter.store(), filter.extractor().recipe().pieces);
    let mut words = Terms::new();
    for (id, count) in row.iter() {
        if !(has_pieces && is_piece(store.text(id)?)) {
            words.push((store.fingerprint(id)?, count));
        }
    }
    Ok(words)
}

impl<'a, P: Ord> Unlabelled<'a, P> {
    /// Starts without documents.
    pub fn new(known: &'a Known<'a>) -> Self {
        Unlabelled {
            known,
            scratch: Scratch::default(),
            counted: Extraction::default(),
            vocabulary: Vocabulary::without_texts(),
            kept: BTreeMap::new(),
        }
    }

    /// Adds a document; `place` is called if it is kept for now.
    ///
    /// # Errors
    /// As [`Filter::score`], and those of `place`.
    pub fn add<E: From<Error>>(
        &mut self,
        document: Document<'_>,
        place: impl FnOnce() -> std::result::Result<P, E>,
    ) -> std::result::Result<(), E> {
        let Unlabelled { known, scratch, counted, vocabulary, kept } = self;
        let filter = known.filter;
        filter.extractor().count(document, counted, vocabulary)?;
        let (words, recipe) = (counted.words(vocabulary.document()), filter.extractor().recipe());
        let digest = digest(recipe.version, words, counted.reals());
        let key = (xxh3_64_with_seed(&digest, filter.store().n_documents() as u64), digest);
        let is_late = kept.len() >= known.most && kept.last_key_value().is_some_and(|(last, _)| key > *last);
        if words.is_empty() || is_late || known.digests.contains(&digest) {
            return Ok(());
        }
        let place = place()?;
        if let Some(same) = kept.get_mut(&key) {
            if place < same.place {
                same.place = place;
            }
            return Ok(());
        }
        let terms = words.iter().map(|term| (term.fingerprint, term.count)).collect();
        let judged = Judged::new(filter, document, scratch)?;
        kept.insert(key, Candidate { place, terms, judged, is_left: true });
        if kept.len() > known.most {
            kept.pop_last();
        }
        Ok(())
    }
}

impl Judged {
    fn new(filter: &Filter, document: Document<'_>, scratch: &mut Scratch) -> Result<Self> {
        let score = filter.score(document, scratch)?;
        Ok(Judged { score, labels: scratch.labels().to_vec(), doubt: doubt(filter, scratch.probabilities()) })
    }
}

/// The documents without a label that would teach a model most, the first one first.
///
/// A document is worth more the less sure its label is, the more words it has, and the more of the other documents
/// resemble it, if none of those that have a label, or were suggested before it, does. Resemblance is the cosine of tf-idf
/// vectors. Of the learned documents, a thousand are compared, if the model remembers their terms.
///
/// ```
/// use tamis_train::evaluate::{Known, Suggestions, Unlabelled};
/// use tamis_train::{Document, Error, Kind, TrainOptions, Trainer};
///
/// let mut trainer = Trainer::new(TrainOptions::new(Kind::Text))?;
/// trainer.add("fruit", Document::Text("apples and pears"))?;
/// trainer.add("metal", Document::Text("iron and tin"))?;
/// let filter = trainer.finish()?.into_filter()?;
///
/// let known = Known::new(&filter, 2)?;
/// let mut unlabelled = Unlabelled::new(&known);
/// for (n, text) in ["oak and ash", "an ash tree", "pears and apples", "tin roof"].into_iter().enumerate() {
///     unlabelled.add(Document::Text(text), || Ok::<_, Error>(n))?;
/// }
/// let mut suggestions = Suggestions::new(&known, [unlabelled]);
/// // of the two that are about nothing known, the longer one
/// let first = suggestions.next().map(|first| *first.place);
/// assert_eq!(first, Some(1));
/// # Ok::<(), Error>(())
/// ```
pub struct Suggestions<P> {
    candidates: Vec<Candidate<P>>,
    design: Design,
}

impl<P: Ord> Suggestions<P> {
    /// Chooses among the documents of all threads.
    pub fn new<'a>(known: &Known<'_>, unlabelled: impl IntoIterator<Item = Unlabelled<'a, P>>) -> Self {
        let mut kept = BTreeMap::new();
        for (key, candidate) in unlabelled.into_iter().flat_map(|of_thread| of_thread.kept) {
            match kept.get_mut(&key) {
                None => _ = kept.insert(key, candidate),
                Some(same) if candidate.place < same.place => *same = candidate,
                Some(_) => (),
            }
        }
        let candidates: Vec<_> = kept.into_values().take(known.most).collect();
        let terms: Vec<_> = known.terms.iter().chain(candidates.iter().map(|of| &of.terms)).collect();
        let vectors = Vectors::new(&terms);
        let design =
            Design::new(known.terms.len(), candidates.len(), |i, row| vectors.write_covariance(i, row));
        Suggestions { candidates, design }
    }

    /// The next suggestion; `None` if there are no more documents.
    #[expect(clippy::should_implement_trait, reason = "what it returns borrows from this")]
    pub fn next(&mut self) -> Option<Suggestion<'_, P>> {
        let gains: Vec<_> = (0..self.candidates.len()).into_par_iter().map(|i| self.design.gain(i)).collect();
        let left = self.candidates.iter().zip(gains).enumerate().filter(|(_, (of, _))| of.is_left);
        let worths = left.map(|(i, (of, gain))| (of.judged.doubt * (of.terms.len() as f64).sqrt() * gain, i));
        // of equals the first
        let (_, i) = worths.max_by(|(a, i), (b, j)| a.total_cmp(b).then(j.cmp(i)))?;
        self.design.observe(i);
        let Candidate { place, judged: Judged { score, labels, .. }, is_left, .. } = &mut self.candidates[i];
        *is_left = false;
        Some(Suggestion { place, score: *score, labels })
    }

    /// Scores the documents that are left again, after the model has learned. `document` gives the document at a place;
    /// without one, the score stays.
    ///
    /// # Errors
    /// As [`Filter::score`].
    pub fn score_again(
        &mut self,
        filter: &Filter,
        document: impl Fn(&P) -> Option<Document<'_>>,
    ) -> Result<()> {
        let mut scratch = Scratch::default();
        for Candidate { place, judged, .. } in self.candidates.iter_mut().filter(|of| of.is_left) {
            if let Some(document) = document(place) {
                *judged = Judged::new(filter, document, &mut scratch)?;
            }
        }
        Ok(())
    }
}

/// How unsure a label is, 0 to 1: one minus the lead of the likeliest label over the next one; of many labels, how unsure
/// the least sure one is.
fn doubt(filter: &Filter, probabilities: &[f64]) -> f64 {
    if filter.has_many_labels() {
        return probabilities.iter().map(|p| 1.0 - (2.0 * p - 1.0).abs()).fold(0.0, f64::max);
    }
    let (mut first, mut second) = (0.0_f64, 0.0_f64);
    for p in probabilities {
        (first, second) = (first.max(*p), second.max(p.min(first)));
    }
    1.0 - (first - second)
}

/// The tf-idf vectors of documents, each of length 1.
struct Vectors {
    rows: Vec<Vec<(u32, f32)>>,
    n_terms: usize,
}

impl Vectors {
    fn new(documents: &[&Terms]) -> Self {
        let mut terms: HashMap<u64, (u32, u32)> = HashMap::new();
        for (fingerprint, _) in documents.iter().copied().flatten() {
            // fewer than 2^32: a document has at most 2^20 terms
            let id = terms.len() as u32;
            terms.entry(*fingerprint).or_insert((id, 0)).1 += 1;
        }
        let n = documents.len() as f64;
        let row = |document: &&Terms| {
            let weigh = |(fingerprint, count): &(u64, u32)| {
                let (id, df) = terms[fingerprint];
                let idf = ((1.0 + n) / (1.0 + f64::from(df))).ln() + 1.0;
                (id, (1.0 + f64::from(*count).ln()) * idf)
            };
            let weights: Vec<_> = document.iter().map(weigh).collect();
            let norm = weights.iter().map(|(_, w)| w * w).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
            weights.into_iter().map(|(id, w)| (id, (w / norm) as f32)).collect()
        };
        Vectors { rows: documents.iter().map(row).collect(), n_terms: terms.len() }
    }

    /// Writes the covariance of a document's label with those of all: a share common to all documents, and their cosine.
    fn write_covariance(&self, i: usize, row: &mut [f32]) {
        let mut dense = vec![0.0_f32; self.n_terms];
        self.rows[i].iter().for_each(|(id, weight)| dense[*id as usize] = *weight);
        for (c, other) in row.iter_mut().zip(&self.rows) {
            *c = 1.0 + other.iter().map(|(id, weight)| weight * dense[*id as usize]).sum::<f32>();
        }
    }
}
