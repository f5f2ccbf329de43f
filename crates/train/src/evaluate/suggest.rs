//! What to label next: the documents that would teach a model most.

use std::collections::{BTreeMap, HashMap, HashSet};

use rayon::prelude::*;
use tamis_filter::extract::document::{Document, digest};
use tamis_filter::extract::extraction::Extraction;
use tamis_filter::score::filter::Filter;
use tamis_filter::score::verdict::Score;
use tamis_filter::scorers::scratch::{LabelScore, Scratch};
use tamis_store::error::{Error, Result};
use tamis_store::file::documents::StoredDocument;
use tamis_store::kind::Kind;
use tamis_tokenizer::{CountRow, Vocabulary, is_piece};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A digest, and where a document stands among those that are drawn: by a hash of the digest.
type SampleKey = (u64, [u8; 16]);

/// Documents without a label that a thread has seen, from which [`Suggestions`] are chosen.
///
/// A sample is kept, which depends only on the documents and on how many the model has learned, not on their order.
/// Documents that the model knows and documents without words are left out; of equal ones, the one with the least `place`
/// is kept. `P` says where a document is.
pub struct CandidatePool<'a, P> {
    known: &'a KnownDocuments<'a>,
    scratch: Scratch,
    counted: Extraction,
    vocabulary: Vocabulary,
    kept: BTreeMap<SampleKey, PoolDocument<P>>,
}

/// The documents that a model knows already.
pub struct KnownDocuments<'a> {
    filter: &'a Filter,
    digests: HashSet<[u8; 16]>,
    /// A sample of them, if their terms are stored.
    terms: Vec<TermCounts>,
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
type TermCounts = Vec<(u64, u32)>;

struct PoolDocument<P> {
    place: P,
    terms: TermCounts,
    scored: CandidateScore,
    is_left: bool,
}

/// What a model says of a document.
struct CandidateScore {
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

impl<'a> KnownDocuments<'a> {
    /// The documents that a model knows, for up to `n` suggestions.
    ///
    /// # Errors
    /// [`ErrorKind::Settings`](crate::ErrorKind::Settings) if the model is of a table or `n` is not 1 to 5,000;
    /// otherwise if the model is damaged.
    pub fn new(filter: &'a Filter, n: usize) -> Result<Self> {
        let (store, recipe) = (filter.store(), filter.extractor().recipe());
        let message = "expected a model of mail or text, got one of a table";
        Error::ensure_option(recipe.kind != Kind::Table, "model", message)?;
        let message = format_args!("expected 1 to {MOST} suggestions, got {n}");
        Error::ensure_option((1..=MOST).contains(&n), "n", message)?;
        let (mut digests, mut terms) = (HashSet::new(), Vec::new());
        // in the order of digests, which are hashes: the first are a sample
        for document in store.documents() {
            let StoredDocument { digest, vector, .. } = document?;
            if terms.len() < SAMPLE && !vector.row().ids().is_empty() {
                terms.push(words_of(filter, vector.row())?);
            }
            digests.insert(digest);
        }
        Ok(KnownDocuments { filter, digests, terms, most: SAMPLE.max(n) })
    }
}

/// The terms of a learned document, without pieces of words.
fn words_of(filter: &Filter, row: CountRow<'_>) -> Result<TermCounts> {
    let (store, has_pieces) = (filter.store(), filter.extractor().recipe().pieces.is_some());
    let mut words = TermCounts::new();
    for (id, count) in row.iter() {
        if !(has_pieces && is_piece(store.text(id)?)) {
            words.push((store.fingerprint(id)?, count));
        }
    }
    Ok(words)
}

impl<'a, P: Ord> CandidatePool<'a, P> {
    /// Starts without documents.
    pub fn new(known: &'a KnownDocuments<'a>) -> Self {
        CandidatePool {
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
        let CandidatePool { known, scratch, counted, vocabulary, kept } = self;
        let filter = known.filter;
        filter.extractor().count(document, counted, vocabulary)?;
        let (words, recipe) = (counted.words(vocabulary.document()), filter.extractor().recipe());
        let digest = digest(recipe.version, words, &counted.reals);
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
        let scored = CandidateScore::new(filter, document, scratch)?;
        kept.insert(key, PoolDocument { place, terms, scored, is_left: true });
        if kept.len() > known.most {
            kept.pop_last();
        }
        Ok(())
    }
}

impl CandidateScore {
    fn new(filter: &Filter, document: Document<'_>, scratch: &mut Scratch) -> Result<Self> {
        let score = filter.score(document, scratch)?;
        Ok(CandidateScore {
            score,
            labels: scratch.labels().to_vec(),
            doubt: doubt(filter, scratch.probabilities()),
        })
    }
}

/// The documents without a label that would teach a model most, the first one first.
///
/// A document is worth more the less sure its label is, the more words it has, and the more of the other documents
/// resemble it, if none of those that have a label, or were suggested before it, does. Resemblance is the cosine of tf-idf
/// vectors. Of the learned documents, a thousand are compared, if the model remembers their terms.
///
/// ```
/// use tamis_train::evaluate::{KnownDocuments, Suggestions, CandidatePool};
/// use tamis_train::{Document, Error, Kind, TrainOptions, Trainer};
///
/// let mut trainer = Trainer::new(TrainOptions::new(Kind::Text))?;
/// trainer.add("fruit", Document::Text("apples and pears"))?;
/// trainer.add("metal", Document::Text("iron and tin"))?;
/// let filter = trainer.finish()?.into_filter()?;
///
/// let known = KnownDocuments::new(&filter, 2)?;
/// let mut unlabelled = CandidatePool::new(&known);
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
    candidates: Vec<PoolDocument<P>>,
    design: Design,
}

impl<P: Ord> Suggestions<P> {
    /// Chooses among the documents of all threads.
    pub fn new<'a>(
        known: &KnownDocuments<'_>,
        unlabelled: impl IntoIterator<Item = CandidatePool<'a, P>>,
    ) -> Self {
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
        let worths = left.map(|(i, (of, gain))| (of.scored.doubt * (of.terms.len() as f64).sqrt() * gain, i));
        // of equals the first
        let (_, i) = worths.max_by(|(a, i), (b, j)| a.total_cmp(b).then(j.cmp(i)))?;
        self.design.observe(i);
        let PoolDocument { place, scored: CandidateScore { score, labels, .. }, is_left, .. } =
            &mut self.candidates[i];
        *is_left = false;
        Some(Suggestion { place, score: *score, labels })
    }

    /// Scores the documents that are left again, after the model has learned. `document` passes on the
    /// document at a place; without one, the score stays.
    ///
    /// # Errors
    /// As [`Filter::score`].
    pub fn score_again(
        &mut self,
        filter: &Filter,
        document: impl Fn(&P, &mut dyn FnMut(Document<'_>) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let mut scratch = Scratch::default();
        for PoolDocument { place, scored, .. } in self.candidates.iter_mut().filter(|of| of.is_left) {
            document(place, &mut |document| {
                *scored = CandidateScore::new(filter, document, &mut scratch)?;
                Ok(())
            })?;
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
    fn new(documents: &[&TermCounts]) -> Self {
        let mut terms: HashMap<u64, (u32, u32)> = HashMap::new();
        for (fingerprint, _) in documents.iter().copied().flatten() {
            // fewer than 2^32: a document has at most 2^20 terms
            let id = terms.len() as u32;
            terms.entry(*fingerprint).or_insert((id, 0)).1 += 1;
        }
        let n = documents.len() as f64;
        let row = |document: &&TermCounts| {
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

/// Which of many unknown values would tell most about all of them.
///
/// The values are a Gaussian process with a known covariance. An observed value has noise of variance 0.3. What an
/// observation is worth is by how much it lowers the sum of the variances of all values (V-optimality): values that
/// resemble many others come first, and values like those observed already come last.
///
/// Memory is 4 bytes for each pair of values, and a call takes time in proportion to the pairs.
///
/// Source: Seo, Wallat, Graepel and Obermayer, "Gaussian Process Regression: Active Data Selection and Test Point
/// Rejection" (2000), section 3, after Cohn, Ghahramani and Jordan (1996).
#[derive(Clone, Debug)]
struct Design {
    /// The covariance of the values given what was observed, row by row.
    covariance: Vec<f32>,
    n: usize,
}

/// The variance of the noise of an observation, where that of a value is 1 or 2: chosen on 20 Newsgroups and Ohsumed.
const NOISE: f32 = 0.3;

impl Design {
    /// Starts with `n_observed` values that were observed before and `n` that were not, which have the numbers from 0
    /// here. `row` gets the number of a value among all, the observed ones first, and writes its covariance with each.
    fn new(n_observed: usize, n: usize, row: impl Fn(usize, &mut [f32]) + Sync) -> Self {
        let all = n_observed + n;
        let mut covariance = vec![0.0; all * all];
        covariance.par_chunks_mut(all.max(1)).enumerate().for_each(|(i, of_row)| row(i, of_row));
        // what is eliminated need not be kept up to date
        (0..n_observed).for_each(|i| eliminate(&mut covariance, all, i, i + 1));
        let rest = covariance.chunks(all.max(1)).skip(n_observed).flat_map(|row| &row[n_observed..]);
        Design { covariance: rest.copied().collect(), n }
    }

    /// By how much observing a value would lower the sum of all variances.
    fn gain(&self, i: usize) -> f64 {
        let row = &self.covariance[i * self.n..][..self.n];
        let squares: f64 = row.iter().map(|c| f64::from(*c).powi(2)).sum();
        squares / f64::from(row[i].max(0.0) + NOISE)
    }

    /// Observes a value: the variances of those like it fall.
    fn observe(&mut self, i: usize) {
        eliminate(&mut self.covariance, self.n, i, 0);
    }
}

/// Subtracts from the rows and columns from `start` on what the value `i` explains.
fn eliminate(covariance: &mut [f32], n: usize, i: usize, start: usize) {
    let of_i = covariance[i * n..][..n].to_vec();
    let variance = of_i[i].max(0.0) + NOISE;
    covariance.par_chunks_mut(n).enumerate().skip(start).with_min_len(64).for_each(|(j, row)| {
        let share = of_i[j] / variance;
        row[start..].iter_mut().zip(&of_i[start..]).for_each(|(c, of_i)| *c -= share * of_i);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The covariance of points on a line, the first five close together.
    fn of_line(i: usize, row: &mut [f32]) {
        let place = |i: usize| if i < 5 { i as f32 / 10.0 } else { 10.0 + 3.0 * i as f32 };
        row.iter_mut().enumerate().for_each(|(j, c)| *c = (-(place(i) - place(j)).powi(2)).exp());
    }

    #[test]
    fn what_resembles_many_comes_first_and_then_what_is_unlike_it() {
        let mut design = Design::new(0, 9, of_line);
        assert!((0..9).all(|i| design.gain(2) >= design.gain(i)));
        design.observe(2);
        assert!(design.gain(8) > design.gain(1));
    }

    #[test]
    fn the_gain_is_what_observing_saves() {
        let mut design = Design::new(0, 9, of_line);
        let variance = |design: &Design| (0..9).map(|i| f64::from(design.covariance[10 * i])).sum::<f64>();
        for i in [2, 2, 8, 0] {
            let (before, gain) = (variance(&design), design.gain(i));
            design.observe(i);
            assert!((before - variance(&design) - gain).abs() < 1e-5, "value {i}");
        }
    }

    #[test]
    fn values_observed_before_are_values_observed() {
        let known = Design::new(4, 6, of_line);
        let mut all = Design::new(0, 10, of_line);
        (0..4).for_each(|i| all.observe(i));
        for i in 0..6 {
            let of_rest: f64 = (4..10).map(|j| f64::from(all.covariance[10 * (4 + i) + j]).powi(2)).sum();
            let variance = f64::from(all.covariance[11 * (4 + i)] + NOISE);
            assert!((known.gain(i) - of_rest / variance).abs() < 1e-5, "value {i}");
        }
    }

    #[test]
    fn nothing_can_be_designed() {
        Design::new(3, 0, of_line);
        Design::new(0, 0, of_line);
    }
}
