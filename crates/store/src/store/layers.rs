//! The terms used in scoring: those of a model and of the shared model behind it, with their statistics added.

use tamis_model::{Cell, ClassId, ClassTotals, ClassWeight, Counts, KnownTerm, KnownTerms};
use tamis_tokenizer::TermId;

use crate::error::{Error, Result};
use crate::file::log::Entry;
use crate::file::terms::{Runs, limited};
use crate::store::add::{add_bias, add_cells, add_totals, add_weights};
use crate::store::opened::Store;

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
    own: &'a Store,
    shared: Option<(&'a Store, &'a CombinedSums)>,
}

/// What a shared model knows about the terms that were looked up in it, under numbers of the caller. It depends on the
/// shared model alone, whichever user's model is in front of it.
#[derive(Default)]
pub struct SharedTerms {
    /// The outcome of each look-up, `None` if there was none.
    found: Vec<Option<Option<SharedTerm>>>,
    cells: Vec<Cell>,
    weights: Vec<ClassWeight>,
}

/// A term of a shared model: its id there, and where its cells and weights begin and end.
#[derive(Clone, Copy)]
struct SharedTerm {
    id: TermId,
    cells: [u32; 2],
    weights: [u32; 2],
}

/// A state of [`SharedTerms`] to return to: how much had been looked up.
#[derive(Clone, Copy, Default)]
pub struct Extent {
    terms: usize,
    cells: usize,
    weights: usize,
}

impl SharedTerms {
    /// How much is known.
    pub fn extent(&self) -> Extent {
        Extent { terms: self.found.len(), cells: self.cells.len(), weights: self.weights.len() }
    }

    /// Drops everything that was looked up since `extent` was taken.
    pub fn truncate(&mut self, Extent { terms, cells, weights }: Extent) {
        self.found.truncate(terms);
        self.cells.truncate(cells);
        self.weights.truncate(weights);
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.found[..]) + size_of_val(&self.cells[..]) + size_of_val(&self.weights[..])
    }

    /// Returns the term with this number and fingerprint. The first call looks it up.
    fn get(&mut self, number: usize, fingerprint: u64, shared: &Store) -> Result<Option<SharedTerm>> {
        if number >= self.found.len() {
            self.found.resize(number + 1, None);
        }
        if let Some(known) = self.found[number] {
            return Ok(known);
        }
        let found = match shared.look_up(fingerprint)? {
            Some((id, runs)) => Some(self.decode(id, runs, shared)?),
            None => None,
        };
        self.found[number] = Some(found);
        Ok(found)
    }

    fn decode(&mut self, id: TermId, runs: Runs<'_>, shared: &Store) -> Result<SharedTerm> {
        let end = |n: usize| limited("cells of terms", n as u64);
        let (cells, weights) = (end(self.cells.len())?, end(self.weights.len())?);
        shared.cells_of(id, runs, |cell| self.cells.push(cell))?;
        shared.values_of(id, runs, |class, units| {
            self.weights.push(ClassWeight { class, units });
            Ok(())
        })?;
        let [cells, weights] = [[cells, end(self.cells.len())?], [weights, end(self.weights.len())?]];
        Ok(SharedTerm { id, cells, weights })
    }

    fn cells(&self, term: SharedTerm) -> &[Cell] {
        &self.cells[term.cells[0] as usize..term.cells[1] as usize]
    }

    fn weights(&self, term: SharedTerm) -> &[ClassWeight] {
        &self.weights[term.weights[0] as usize..term.weights[1] as usize]
    }
}

/// A term in each layer: its id there and its entry in the file.
#[derive(Clone, Copy, Default)]
struct Found<'a> {
    own: Option<(TermId, Runs<'a>)>,
    shared: Option<(TermId, Runs<'a>)>,
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
    pub fn add(&mut self, own: &mut Store, shared: &Store, entry: Entry) -> Result<()> {
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
    /// `own` alone, or over a shared model.
    pub fn new(own: &'a Store, shared: Option<(&'a Store, &'a CombinedSums)>) -> Self {
        Layers { own, shared }
    }

    /// The model itself.
    pub fn own(&self) -> &'a Store {
        self.own
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
        Ok(self.look_up(fingerprint)?.map(|(id, _)| id))
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

    /// Looks up the term with this fingerprint in both models.
    #[inline]
    fn look_up(&self, fingerprint: u64) -> Result<Option<(TermId, Found<'a>)>> {
        let own = self.own.look_up(fingerprint)?;
        let shared = self.shared.map(|(shared, _)| shared.look_up(fingerprint)).transpose()?.flatten();
        let id = match (own, shared) {
            (Some((id, _)), _) => id,
            (None, Some((id, _))) => self.first_shared() + id,
            (None, None) => return Ok(None),
        };
        Ok(Some((id, Found { own, shared })))
    }

    fn found(&self, id: TermId) -> Result<Found<'a>> {
        if let Some((shared, id)) = self.of_shared(id) {
            return Ok(Found { own: None, shared: Some((id, shared.runs(id)?)) });
        }
        match self.shared {
            None => Ok(Found { own: Some((id, self.own.runs(id)?)), shared: None }),
            Some(_) => {
                let found = self.look_up(self.own.fingerprint(id)?)?;
                Ok(found.map(|(_, found)| found).unwrap_or_default())
            }
        }
    }

    #[inline]
    fn cells(&self, found: Found<'a>, mut visit: impl FnMut(Cell)) -> Result<()> {
        match (found.own, found.shared.zip(self.shared)) {
            (Some((id, runs)), None) => self.own.cells_of(id, runs, visit),
            (None, Some(((id, runs), (shared, _)))) => shared.cells_of(id, runs, visit),
            (None, None) => Ok(()),
            (Some((own_id, own)), Some(((id, runs), (shared, _)))) => {
                let mut cells = Vec::new();
                self.own.cells_of(own_id, own, |cell| cells.push(cell))?;
                shared.cells_of(id, runs, |cell| cells.push(cell))?;
                add_cells(&mut cells)?;
                cells.into_iter().for_each(&mut visit);
                Ok(())
            }
        }
    }

    /// Visits the weights of a term as real numbers.
    #[inline]
    fn weights(&self, found: Found<'a>, mut visit: impl FnMut(ClassId, f64)) -> Result<()> {
        match (found.own, found.shared) {
            (Some((id, runs)), None) => self.own.weights_of(id, runs, visit),
            _ => self.values(found, |class, units| {
                visit(class, ClassWeight { class, units }.value());
                Ok(())
            }),
        }
    }

    #[inline]
    fn values(&self, found: Found<'a>, mut visit: impl FnMut(ClassId, i64) -> Result<()>) -> Result<()> {
        match (found.own, found.shared.zip(self.shared)) {
            (Some((id, runs)), None) => self.own.values_of(id, runs, visit),
            (None, Some(((id, runs), (shared, _)))) => shared.values_of(id, runs, visit),
            (None, None) => Ok(()),
            (Some((own_id, own)), Some(((id, runs), (shared, _)))) => {
                let mut weights = Vec::new();
                let mut push = |class, units| {
                    weights.push(ClassWeight { class, units });
                    Ok(())
                };
                self.own.values_of(own_id, own, &mut push)?;
                shared.values_of(id, runs, &mut push)?;
                add_weights(&mut weights)?;
                weights.into_iter().try_for_each(|weight| visit(weight.class, weight.units))
            }
        }
    }
}

/// A term of the layers, found and decoded once.
pub struct DecodedTerm<'a> {
    layers: Layers<'a>,
    id: TermId,
    cells: Vec<Cell>,
    weights: Vec<(ClassId, f64)>,
    /// The weights of both layers while they are added.
    units: Vec<ClassWeight>,
}

impl<'a> DecodedTerm<'a> {
    /// A decoder without a term yet.
    pub fn new(layers: Layers<'a>) -> Self {
        DecodedTerm { layers, id: 0, cells: Vec::new(), weights: Vec::new(), units: Vec::new() }
    }

    /// Looks up and decodes the term with this fingerprint. Returns its id if it is known.
    pub fn look_up(&mut self, fingerprint: u64) -> Result<Option<TermId>> {
        let Some((id, found)) = self.layers.look_up(fingerprint)? else { return Ok(None) };
        self.decode(id, found)?;
        Ok(Some(id))
    }

    /// As [`look_up`](Self::look_up), but caches what the shared model knows under `number`.
    pub fn look_up_by(
        &mut self,
        number: usize,
        fingerprint: u64,
        known: &mut SharedTerms,
    ) -> Result<Option<TermId>> {
        let Some((store, _)) = self.layers.shared else { return self.look_up(fingerprint) };
        let own = self.layers.own.look_up(fingerprint)?;
        let shared = known.get(number, fingerprint, store)?;
        self.id = match (own, shared) {
            (Some((id, _)), _) => id,
            (None, Some(shared)) => self.layers.first_shared() + shared.id,
            (None, None) => return Ok(None),
        };
        self.cells.clear();
        self.weights.clear();
        self.units.clear();
        if let Some((id, runs)) = own {
            let store = self.layers.own;
            store.cells_of(id, runs, |cell| self.cells.push(cell))?;
            match shared {
                None => store.weights_of(id, runs, |class, weight| self.weights.push((class, weight)))?,
                Some(_) => store.values_of(id, runs, |class, units| {
                    self.units.push(ClassWeight { class, units });
                    Ok(())
                })?,
            }
        }
        let Some(shared) = shared else { return Ok(Some(self.id)) };
        self.cells.extend_from_slice(known.cells(shared));
        self.units.extend_from_slice(known.weights(shared));
        if own.is_some() {
            add_cells(&mut self.cells)?;
            add_weights(&mut self.units)?;
        }
        self.weights.extend(self.units.iter().map(|weight| (weight.class, weight.value())));
        Ok(Some(self.id))
    }

    #[inline]
    fn decode(&mut self, id: TermId, found: Found<'a>) -> Result<()> {
        self.id = id;
        self.cells.clear();
        self.weights.clear();
        self.layers.cells(found, |cell| self.cells.push(cell))?;
        self.layers.weights(found, |class, weight| self.weights.push((class, weight)))
    }

    /// Its id.
    pub fn id(&self) -> TermId {
        self.id
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
        self.decode(id, self.layers.found(id)?)?;
        Ok(self.known())
    }
}
