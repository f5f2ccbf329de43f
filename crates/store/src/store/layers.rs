//! The terms used in scoring: those of a model and of the shared model behind it, with their statistics added.

use std::borrow::Cow;

use tamis_model::{Cell, ClassId, ClassTotals, ClassWeight, Counts, KnownTerm, KnownTerms, VectorStatistics};
use tamis_tokenizer::TermId;

use crate::error::{Error, Result};
use crate::file::log::LogEntry;
use crate::file::terms::{Runs, limited};
use crate::store::opened::Store;
use crate::store::overlay::{add_bias, add_cells, add_totals, add_weights};

/// The statistics, other than those of terms, of a model and the shared model behind it, added.
pub struct CombinedSums {
    /// Documents and counts of each class.
    pub totals: Vec<ClassTotals>,
    /// Number of terms with counts in either model.
    pub n_features: u64,
    common: CommonTerms,
}

/// The number of terms with counts in both models. It is exact for up to [`SAMPLE`] terms. Above that it is estimated
/// from the terms with the lowest fingerprints, which are as good as a random sample and lie together in both files.
#[derive(Clone, Copy, Default)]
struct CommonTerms {
    /// One term in 2^`halvings` is in the sample.
    halvings: u32,
    /// Number of common terms in the sample.
    in_sample: u64,
    /// Look-ups so far.
    looked_up: u64,
}

/// The terms of a model and, if there is one, of the shared model behind it. Ids of the shared model follow those of
/// the model itself. A term in both has its id in the model itself.
#[derive(Clone, Copy)]
pub struct Layers<'a> {
    /// The model itself.
    pub own: &'a Store,
    /// The model behind it, and the sums of both.
    pub shared: Option<(&'a Store, &'a CombinedSums)>,
}

/// What a shared model knows about the terms that were looked up in it, keyed by the caller's numbers. It depends on the
/// shared model alone, whichever user's model is in front of it.
#[derive(Default)]
pub struct SharedTerms {
    terms: Vec<SharedTerm>,
    cells: Vec<Cell>,
    weights: Vec<ClassWeight>,
}

/// The outcome of looking a term up in a shared model.
#[derive(Clone, Copy, Default)]
enum SharedTerm {
    /// It was not looked up.
    #[default]
    Untried,
    Unknown,
    /// Its id there, and where its cells and weights begin and end.
    Known {
        id: TermId,
        cells: [u32; 2],
        weights: [u32; 2],
    },
}

/// A state of [`SharedTerms`] to return to: how much had been looked up.
#[derive(Clone, Copy, Default)]
pub struct SharedExtent {
    terms: usize,
    cells: usize,
    weights: usize,
}

impl SharedTerms {
    /// How much is known.
    pub fn extent(&self) -> SharedExtent {
        SharedExtent { terms: self.terms.len(), cells: self.cells.len(), weights: self.weights.len() }
    }

    /// Drops everything that was looked up since `extent` was taken.
    pub fn truncate(&mut self, SharedExtent { terms, cells, weights }: SharedExtent) {
        self.terms.truncate(terms);
        self.cells.truncate(cells);
        self.weights.truncate(weights);
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.terms[..]) + size_of_val(&self.cells[..]) + size_of_val(&self.weights[..])
    }

    /// Appends the cells and weights of the term with this number and fingerprint, and returns its id in the shared model.
    /// The first call looks it up.
    fn read(
        &mut self,
        (number, fingerprint): (usize, u64),
        shared: &Store,
        cells: &mut Vec<Cell>,
        weights: &mut Vec<ClassWeight>,
    ) -> Result<Option<TermId>> {
        if number >= self.terms.len() {
            self.terms.resize(number + 1, SharedTerm::Untried);
        }
        if matches!(self.terms[number], SharedTerm::Untried) {
            self.terms[number] = match shared.look_up(fingerprint)? {
                Some((id, runs)) => self.decode(id, runs, shared)?,
                None => SharedTerm::Unknown,
            };
        }
        let SharedTerm::Known { id, cells: [start, end], weights: [first, last] } = self.terms[number] else {
            return Ok(None);
        };
        cells.extend_from_slice(&self.cells[start as usize..end as usize]);
        weights.extend_from_slice(&self.weights[first as usize..last as usize]);
        Ok(Some(id))
    }

    fn decode(&mut self, id: TermId, runs: Runs<'_>, shared: &Store) -> Result<SharedTerm> {
        let end = |n: usize| limited("cells of terms", n as u64);
        let starts = [end(self.cells.len())?, end(self.weights.len())?];
        shared.read((id, runs), &mut self.cells, &mut self.weights)?;
        let [cells, weights] = [[starts[0], end(self.cells.len())?], [starts[1], end(self.weights.len())?]];
        Ok(SharedTerm::Known { id, cells, weights })
    }
}

/// Most terms that are looked up to estimate how many are in both models: cheap, and exact to a percent.
const SAMPLE: u64 = 1 << 12;

impl CombinedSums {
    /// Adds the statistics of compatible models.
    pub fn new(own: &Store, shared: &Store) -> Result<Self> {
        Self::with(own, shared, CommonTerms::count(own, shared)?)
    }

    fn with(own: &Store, shared: &Store, common: CommonTerms) -> Result<Self> {
        let mut totals = own.totals.clone();
        totals.iter_mut().zip(&shared.totals).try_for_each(|(to, of)| add_totals(to, of))?;
        let [n_own, n_shared] = [own, shared].map(Store::n_features);
        let all = n_own.saturating_add(n_shared);
        let n_features = all.saturating_sub(common.in_sample << common.halvings);
        let n_ids = own.n_terms() as u64 + shared.n_terms() as u64;
        // so that every term has an id, and some ids are left for terms that neither model knows
        limited("terms of two models", n_ids)?;
        Ok(CombinedSums { totals, n_features, common })
    }

    /// Adds a log entry to the model itself. Looks up only the entry's terms, unless the sample changes.
    ///
    /// # Errors
    /// On an error, the entry may have been added without the sums.
    pub fn add(&mut self, own: &mut Store, shared: &Store, entry: LogEntry) -> Result<()> {
        let ids = entry.document.vector.row().ids().to_vec();
        let n_known = own.n_terms();
        let known = ids.iter().copied().filter(|id| (*id as usize) < n_known);
        let mut common = self.common;
        let before = common.count_of(own, shared, known)?;
        own.add(entry)?;
        let after = common.count_of(own, shared, ids.into_iter())?;
        common.in_sample = (common.in_sample + after).saturating_sub(before);
        if common.halvings != CommonTerms::halvings(own) {
            let looked_up = common.looked_up;
            common = CommonTerms::count(own, shared)?;
            common.looked_up += looked_up;
        }
        *self = Self::with(own, shared, common)?;
        Ok(())
    }
}

impl CommonTerms {
    fn count(own: &Store, shared: &Store) -> Result<Self> {
        let mut common = CommonTerms { halvings: Self::halvings(own), ..CommonTerms::default() };
        let [n_base, n_all] = [own.base.n_terms, own.n_terms()].map(|n| n as TermId);
        // the file's terms are sorted by fingerprint
        let mut end = 0;
        while end < n_base && own.fingerprint(end)? <= common.highest() {
            end += 1;
        }
        common.in_sample = common.count_of(own, shared, (0..end).chain(n_base..n_all))?;
        Ok(common)
    }

    fn halvings(own: &Store) -> u32 {
        own.n_features().div_ceil(SAMPLE).max(1).next_power_of_two().ilog2()
    }

    /// The highest fingerprint in the sample.
    fn highest(self) -> u64 {
        u64::MAX >> self.halvings
    }

    /// The number of the model's own terms `ids` that are in the sample and have counts in both models.
    fn count_of(&mut self, own: &Store, shared: &Store, ids: impl Iterator<Item = TermId>) -> Result<u64> {
        let mut both = 0;
        for id in ids {
            self.looked_up += 1;
            let fingerprint = own.fingerprint(id)?;
            if fingerprint > self.highest() {
                continue;
            }
            let Some(other) = shared.find(fingerprint)? else { continue };
            both += u64::from(own.has_counts(id)? && shared.has_counts(other)?);
        }
        Ok(both)
    }
}

impl<'a> Layers<'a> {
    /// The statistics of dense vectors, of both models together; `None` if there are none.
    pub fn vectors(&self) -> Option<Cow<'a, VectorStatistics>> {
        let own = self.own.vectors.as_ref();
        let shared = self.shared.and_then(|(shared, _)| shared.vectors.as_ref());
        let mut vectors = Cow::Borrowed(own.or(shared)?);
        if let (Some(_), Some(shared)) = (own, shared) {
            // sums that overflow leave the user's own
            let _ = vectors.to_mut().merge(shared);
        }
        Some(vectors)
    }

    /// The number of look-ups so far to count the terms of both models.
    pub fn looked_up(&self) -> u64 {
        self.shared.map_or(0, |(_, sums)| sums.common.looked_up)
    }

    /// The totals of each class.
    pub fn totals(&self) -> &'a [ClassTotals] {
        self.shared.map_or(&self.own.totals, |(_, sums)| &sums.totals)
    }

    /// The number of term ids; all are below it.
    pub fn n_terms(&self) -> usize {
        self.own.n_terms() + self.shared.map_or(0, |(shared, _)| shared.n_terms())
    }

    /// The bias of each column of the correction.
    pub fn bias(&self) -> Result<Vec<i64>> {
        let mut bias = self.own.bias().to_vec();
        if let Some((shared, _)) = self.shared {
            add_bias(&mut bias, shared.bias())?;
        }
        Ok(bias)
    }

    /// Number of terms with counts.
    pub fn n_features(&self) -> u64 {
        self.shared.map_or_else(|| self.own.n_features(), |(_, sums)| sums.n_features)
    }

    /// The id of the term with this fingerprint.
    pub fn find(&self, fingerprint: u64) -> Result<Option<TermId>> {
        if let Some(id) = self.own.find(fingerprint)? {
            return Ok(Some(id));
        }
        let id = self.shared.map(|(shared, _)| shared.find(fingerprint)).transpose()?.flatten();
        Ok(id.map(|id| self.first_shared() + id))
    }

    /// The text of a term.
    pub fn text(&self, id: TermId) -> Result<&'a str> {
        match self.of_shared(id) {
            Some((shared, id)) => shared.text(id),
            None => self.own.text(id),
        }
    }

    /// The ids of all terms, each term once.
    pub fn ids(self) -> impl Iterator<Item = Result<TermId>> + 'a {
        let is_own = move |id| match self.of_shared(id) {
            Some((shared, own)) => Ok(self.own.find(shared.fingerprint(own)?)?.is_some()),
            None => Ok(false),
        };
        (0..self.n_terms() as TermId).filter_map(move |id| match is_own(id) {
            Ok(true) => None,
            Ok(false) => Some(Ok(id)),
            Err(error) => Some(Err(error)),
        })
    }

    /// Prefetches the data that looking up these terms will read.
    pub fn touch(&self, fingerprints: impl Iterator<Item = u64> + Clone) {
        self.own.touch(fingerprints.clone());
        self.shared.iter().for_each(|(shared, _)| shared.touch(fingerprints.clone()));
    }

    fn first_shared(&self) -> TermId {
        // checked in `new`; terms learned since take ids from the 2^32 left for them
        self.own.n_terms() as TermId
    }

    /// The shared model and the term's id in it, if only the shared model knows the term.
    fn of_shared(&self, id: TermId) -> Option<(&'a Store, TermId)> {
        let (shared, _) = self.shared?;
        Some((shared, id.checked_sub(self.first_shared())?))
    }
}

/// A term of the layers, found and decoded once.
pub struct DecodedTerm<'a> {
    layers: Layers<'a>,
    /// Its id.
    pub id: TermId,
    cells: Vec<Cell>,
    weights: Vec<(ClassId, f64)>,
    /// The weights as they are stored.
    units: Vec<ClassWeight>,
}

impl<'a> DecodedTerm<'a> {
    /// A decoder without a term yet.
    pub fn new(layers: Layers<'a>) -> Self {
        DecodedTerm { layers, id: 0, cells: Vec::new(), weights: Vec::new(), units: Vec::new() }
    }

    /// Looks up and decodes the term with this fingerprint; returns its id if it is known. `known` caches what the shared
    /// model knows of it, under `number`.
    pub fn look_up(
        &mut self,
        number: usize,
        fingerprint: u64,
        known: &mut SharedTerms,
    ) -> Result<Option<TermId>> {
        let Layers { own, shared } = self.layers;
        self.cells.clear();
        self.units.clear();
        let in_own = own.look_up(fingerprint)?;
        if let Some(found) = in_own {
            own.read(found, &mut self.cells, &mut self.units)?;
        }
        let in_shared = match shared {
            Some((shared, _)) => {
                known.read((number, fingerprint), shared, &mut self.cells, &mut self.units)?
            }
            None => None,
        };
        let id = match (in_own, in_shared) {
            (Some((id, _)), _) => id,
            (None, Some(id)) => self.layers.first_shared() + id,
            (None, None) => return Ok(None),
        };
        self.add_up(id, in_own.is_some() && in_shared.is_some())?;
        Ok(Some(id))
    }

    /// Adds what both models know of a term, if they do, and computes its weights.
    #[inline]
    fn add_up(&mut self, id: TermId, is_in_both: bool) -> Result<()> {
        self.id = id;
        if is_in_both {
            add_cells(&mut self.cells)?;
            add_weights(&mut self.units)?;
        }
        self.weights.clear();
        for weight in &self.units {
            self.weights.push((weight.class, self.layers.own.real_weight(*weight)?));
        }
        Ok(())
    }

    /// The counts and weights of the term.
    pub fn known(&self) -> KnownTerm<'_> {
        KnownTerm { cells: &self.cells, weights: &self.weights }
    }

    /// The totals that go with the term's cells.
    pub fn totals(&self) -> &'a [ClassTotals] {
        self.layers.totals()
    }

    /// Its text.
    ///
    /// # Errors
    /// If the file is damaged there.
    pub fn text(&self) -> Result<&'a str> {
        self.layers.text(self.id)
    }
}

impl KnownTerms for DecodedTerm<'_> {
    type Error = Error;

    /// Decodes the term with this id.
    fn term(&mut self, id: TermId) -> Result<KnownTerm<'_>> {
        let Layers { own, shared } = self.layers;
        self.cells.clear();
        self.units.clear();
        let (mut is_in_both, in_shared) = (false, self.layers.of_shared(id));
        if let Some((shared, id)) = in_shared {
            shared.read((id, shared.runs(id)?), &mut self.cells, &mut self.units)?;
        } else {
            own.read((id, own.runs(id)?), &mut self.cells, &mut self.units)?;
            if let Some((shared, _)) = shared
                && let Some(found) = shared.look_up(own.fingerprint(id)?)?
            {
                is_in_both = true;
                shared.read(found, &mut self.cells, &mut self.units)?;
            }
        }
        self.add_up(id, is_in_both)?;
        Ok(self.known())
    }
}
