//! The terms that scoring is of: a model's own, and those of a shared model behind it. Their statistics add up.

use tamis_model::{Cell, ClassId, ClassTotals, ClassWeight, Counts, KnownTerm, KnownTerms};
use tamis_tokenizer::TermId;

use crate::error::{Error, Result};
use crate::file::terms::{Runs, limited};
use crate::store::add::{add_bias, add_cells, add_totals, add_weights};
use crate::store::store::Store;

/// What adds up of a model and the shared one behind it, besides the terms.
#[derive(Default)]
pub(crate) struct CombinedSums {
    pub(crate) totals: Vec<ClassTotals>,
    /// Terms with counts in either.
    pub(crate) n_features: u64,
}

/// A model's terms with, if there is one, those of a shared model behind it. The ids of the latter begin after those of
/// the former; a term that both know has the id of its own model.
#[derive(Clone, Copy)]
pub(crate) struct Layers<'a> {
    own: &'a Store,
    shared: Option<(&'a Store, &'a CombinedSums)>,
}

/// A term in both layers: its id there, and what the file says of it.
#[derive(Clone, Copy, Default)]
struct Found<'a> {
    own: Option<(TermId, Runs<'a>)>,
    shared: Option<(TermId, Runs<'a>)>,
}

/// Terms to look up at most to tell how many both models know: so few cost nothing, and their share is that of all to a
/// percent.
const SAMPLE: u64 = 1 << 12;

impl CombinedSums {
    /// Of models that are alike.
    pub(crate) fn new(own: &Store, shared: &Store) -> Result<Self> {
        let mut totals = own.totals.clone();
        totals.iter_mut().zip(&shared.totals).try_for_each(|(to, of)| add_totals(to, of))?;
        let [n_own, n_shared] = [own, shared].map(Store::n_features);
        let all = n_own.saturating_add(n_shared);
        let n_features = all.saturating_sub(known_to_both(own, shared)?);
        let n_ids = own.n_terms() as u64 + shared.n_terms() as u64;
        // so that every term has an id, and some are left for terms that neither knows
        limited("terms of two models", n_ids)?;
        Ok(CombinedSums { totals, n_features })
    }
}

/// How many terms have counts in both models: exactly for up to [`SAMPLE`] terms, else by those with the lowest
/// fingerprints, which are as good as drawn by lot and lie together in both files.
fn known_to_both(own: &Store, shared: &Store) -> Result<u64> {
    let halvings = own.n_features().div_ceil(SAMPLE).max(1).next_power_of_two().ilog2();
    let highest = u64::MAX >> halvings;
    let mut both = 0;
    let [n_base, n_all] = [own.base.n_terms, own.n_terms()].map(|n| n as TermId);
    for (is_new, ids) in [(false, 0..n_base), (true, n_base..n_all)] {
        for id in ids {
            let fingerprint = own.fingerprint(id)?;
            if fingerprint > highest {
                // those of the file are in order
                if is_new { continue } else { break }
            }
            let Some(other) = shared.find(fingerprint)? else { continue };
            both += u64::from(own.has_counts(id)? && shared.has_counts(other)?);
        }
    }
    Ok(both << halvings)
}

impl<'a> Layers<'a> {
    pub(crate) fn new(own: &'a Store, shared: Option<(&'a Store, &'a CombinedSums)>) -> Self {
        Layers { own, shared }
    }

    /// The totals of each class.
    pub(crate) fn totals(&self) -> &'a [ClassTotals] {
        self.shared.map_or(&self.own.totals, |(_, sums)| &sums.totals)
    }

    /// How many ids of terms there are: they are below this.
    pub(crate) fn n_terms(&self) -> usize {
        self.own.n_terms() + self.shared.map_or(0, |(shared, _)| shared.n_terms())
    }

    /// The bias of each column of the correction.
    pub(crate) fn bias(&self) -> Result<Vec<i64>> {
        let mut bias = self.own.bias().to_vec();
        if let Some((shared, _)) = self.shared {
            add_bias(&mut bias, shared.bias())?;
        }
        Ok(bias)
    }

    /// Terms with counts.
    pub(crate) fn n_features(&self) -> u64 {
        self.shared.map_or_else(|| self.own.n_features(), |(_, sums)| sums.n_features)
    }

    /// The id of the term with this fingerprint.
    pub(crate) fn find(&self, fingerprint: u64) -> Result<Option<TermId>> {
        Ok(self.look_up(fingerprint)?.map(|(id, _)| id))
    }

    /// The text of a term.
    pub(crate) fn text(&self, id: TermId) -> Result<&'a str> {
        match self.of_shared(id) {
            Some((shared, id)) => shared.text(id),
            None => self.own.text(id),
        }
    }

    /// Every term by one id.
    pub(crate) fn ids(&self) -> impl Iterator<Item = Result<TermId>> + '_ {
        let is_own = |id| match self.of_shared(id) {
            Some((shared, own)) => Ok(self.own.find(shared.fingerprint(own)?)?.is_some()),
            None => Ok(false),
        };
        (0..self.n_terms() as TermId).filter_map(move |id| match is_own(id) {
            Ok(true) => None,
            Ok(false) => Some(Ok(id)),
            Err(error) => Some(Err(error)),
        })
    }

    /// Prepares for these terms to be looked up.
    pub(crate) fn touch(&self, fingerprints: impl Iterator<Item = u64> + Clone) {
        self.own.touch(fingerprints.clone());
        self.shared.iter().for_each(|(shared, _)| shared.touch(fingerprints.clone()));
    }

    fn first_shared(&self) -> TermId {
        // checked when the layers were put together; what is learned since comes out of the 2^32 that are left
        self.own.n_terms() as TermId
    }

    /// The shared model, and the id there, of a term that the model itself does not know.
    fn of_shared(&self, id: TermId) -> Option<(&'a Store, TermId)> {
        let (shared, _) = self.shared?;
        Some((shared, id.checked_sub(self.first_shared())?))
    }

    /// The term with this fingerprint, if either model knows it.
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

/// A term of layers, decoded: found once, then read over and over.
pub(crate) struct DecodedTerm<'a> {
    layers: Layers<'a>,
    id: TermId,
    cells: Vec<Cell>,
    weights: Vec<(ClassId, f64)>,
}

impl<'a> DecodedTerm<'a> {
    /// None yet.
    pub(crate) fn new(layers: Layers<'a>) -> Self {
        DecodedTerm { layers, id: 0, cells: Vec::new(), weights: Vec::new() }
    }

    /// Takes the term with this fingerprint in place of the one before; returns its id, if it is known.
    pub(crate) fn look_up(&mut self, fingerprint: u64) -> Result<Option<TermId>> {
        let Some((id, found)) = self.layers.look_up(fingerprint)? else { return Ok(None) };
        self.decode(id, found)?;
        Ok(Some(id))
    }

    #[inline]
    fn decode(&mut self, id: TermId, found: Found<'a>) -> Result<()> {
        self.id = id;
        self.cells.clear();
        self.weights.clear();
        self.layers.cells(found, |cell| self.cells.push(cell))?;
        self.layers.weights(found, |class, weight| self.weights.push((class, weight)))
    }

    pub(crate) fn id(&self) -> TermId {
        self.id
    }

    /// Its counts and weights.
    pub(crate) fn known(&self) -> KnownTerm<'_> {
        KnownTerm { cells: &self.cells, weights: &self.weights }
    }

    /// The totals of the counts that its cells are of.
    pub(crate) fn totals(&self) -> &'a [ClassTotals] {
        self.layers.totals()
    }

    pub(crate) fn text(&self) -> Result<&'a str> {
        self.layers.text(self.id)
    }
}

impl KnownTerms for DecodedTerm<'_> {
    type Error = Error;

    /// Takes the term with this id in place of the one before.
    fn term(&mut self, id: TermId) -> Result<KnownTerm<'_>> {
        self.decode(id, self.layers.found(id)?)?;
        Ok(self.known())
    }
}
