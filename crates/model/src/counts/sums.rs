//! Scoring by sums: the weights of a term are derived once, and the score of a document follows from their sums over
//! its terms.

use std::mem;

/// The weights of a term, independent of the document. [`DocumentSums`] multiplies each by a function of the term's
/// count and adds it up. What they mean is up to the scorer; the default adds nothing.
///
/// Filled by [`WeightedLogOdds::weigh_term`](crate::WeightedLogOdds::weigh_term),
/// [`NaiveBayes::weigh_term`](crate::NaiveBayes::weigh_term) and
/// [`ExpectedNaiveBayes::weigh_term`](crate::ExpectedNaiveBayes::weigh_term).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TermEntry {
    /// Whether the term counts as known.
    pub(crate) is_known: bool,
    /// The term's weight in a document that contains it once.
    pub(crate) weight: f64,
    /// The weight before the idf power is applied, for the length of the document vector.
    pub(crate) full: f64,
    /// The term's weight in every class that lacks it.
    pub(crate) absent: f64,
    /// Columns of the classes that have the term, each with what the term adds to it per unit of weight.
    pub(crate) cells: Vec<(usize, f64)>,
}

impl TermEntry {
    /// Empties the entry, keeping its memory.
    pub fn clear(&mut self) {
        self.cells.clear();
        *self = TermEntry { cells: mem::take(&mut self.cells), ..TermEntry::default() };
    }

    /// The number of sums the entry needs.
    fn n_sums(&self) -> usize {
        self.cells.iter().map(|(at, _)| at + 1).max().unwrap_or(0)
    }
}

/// Sums over the terms of a document.
///
/// ```
/// use tamis_model::{Counts, DocumentSums, Likelihood, NaiveBayes, Parameters, Statistics, TermEntry};
/// use tamis_tokenizer::CountVector;
///
/// let mut statistics = Statistics::new(2);
/// statistics.observe(0, CountVector::from_pairs([(0, 1), (1, 1)])?.row())?;
/// statistics.observe(1, CountVector::from_pairs([(1, 1), (2, 4)])?.row())?;
/// let model = Parameters::default().fit(&statistics)?;
///
/// let document = CountVector::from_pairs([(0, 2), (2, 1)])?;
/// let (mut entry, mut sums) = (TermEntry::default(), DocumentSums::default());
/// sums.begin(model.n_sums());
/// for (term, count) in document.row().iter() {
///     let cells: Vec<_> = statistics.cells(term).collect();
///     model.weigh_term(statistics.totals(), term, &cells, &mut entry);
///     sums.add(&entry, model.amount(count));
/// }
/// let (mut joint, mut expected) = (Vec::new(), Vec::new());
/// assert_eq!(model.joint_log_likelihood_of(&sums, &mut joint), 2);
/// let Ok(2) = model.joint_log_likelihood(&statistics, document.row(), &mut expected) else { unreachable!() };
/// assert!(joint.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DocumentSums {
    pub(crate) scalars: Scalars,
    /// One per column.
    pub(crate) columns: Vec<f64>,
}

/// The sums common to all scorers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Scalars {
    /// The sum of v, a term's weight in the document.
    pub(crate) weight: f64,
    /// The sum of v^2.
    pub(crate) square: f64,
    /// The sum of squares of the full weight.
    pub(crate) full_square: f64,
    /// The sum of v times the weight in classes that lack the term.
    pub(crate) absent: f64,
    /// The number of known terms.
    pub(crate) known: usize,
}

impl Scalars {
    /// Adds a term; returns v.
    #[inline(always)]
    fn add(&mut self, [weight, full, absent]: [f64; 3], amount: f64) -> f64 {
        let (v, full) = (amount * weight, amount * full);
        self.weight += v;
        self.square += v * v;
        self.full_square += full * full;
        self.absent += v * absent;
        v
    }
}

impl DocumentSums {
    /// Starts a new document, for a scorer with `n_sums` sums.
    pub fn begin(&mut self, n_sums: usize) {
        self.scalars = Scalars::default();
        self.columns.clear();
        self.columns.resize(n_sums, 0.0);
    }

    /// Adds the sums over other terms.
    pub fn add_sums(&mut self, other: &DocumentSums) {
        let (to, Scalars { weight, square, full_square, absent, known }) = (&mut self.scalars, other.scalars);
        to.weight += weight;
        to.square += square;
        to.full_square += full_square;
        to.absent += absent;
        to.known += known;
        self.columns.iter_mut().zip(&other.columns).for_each(|(to, sum)| *to += sum);
    }

    /// Adds a term of the document; `amount` is the scorer's function of its count.
    pub fn add(&mut self, entry: &TermEntry, amount: f64) {
        let TermEntry { is_known, weight, full, absent, cells } = entry;
        let v = self.scalars.add([*weight, *full, *absent], amount);
        self.scalars.known += usize::from(*is_known);
        for (at, number) in cells {
            if let Some(sum) = self.columns.get_mut(*at) {
                *sum += v * number;
            }
        }
    }
}

/// The entries of many terms in one array, so that reading a term touches one short stretch of memory.
///
/// An entry is dense (8 bytes per sum), or sparse (16 bytes per number) if it has numbers for less than a third of its
/// sums; either takes 32 bytes more.
///
/// Invariant: in a table of few sums every entry is dense.
#[derive(Clone, Debug)]
pub struct TermTable {
    n_sums: usize,
    /// Entry after entry, starting with the empty one. Each has [`HEAD`] numbers, the last of which holds the bits of an
    /// [`EntryLayout`], then one number per sum (dense), or pairs of a sum's index (as bits) and its number (sparse).
    numbers: Vec<f64>,
}

/// Weight, full weight, absent weight, and the shape.
const HEAD: usize = 4;

/// Up to this many sums fit in registers; their entries are always dense.
const FEW: usize = 8;

/// The layout of an entry: `n` numbers or pairs.
struct EntryLayout {
    is_known: bool,
    is_sparse: bool,
    n: usize,
}

impl EntryLayout {
    #[inline(always)]
    fn from_bits(number: f64) -> EntryLayout {
        let bits = number.to_bits();
        EntryLayout { is_known: bits & 1 != 0, is_sparse: bits & 2 != 0, n: (bits >> 2) as usize }
    }

    fn bits(&self) -> f64 {
        f64::from_bits((self.n as u64) << 2 | u64::from(self.is_sparse) << 1 | u64::from(self.is_known))
    }
}

impl TermTable {
    /// The place of the empty entry.
    pub const NOTHING: u32 = 0;

    /// An empty table for a scorer with `n_sums` sums.
    pub fn new(n_sums: usize) -> Self {
        let mut table = TermTable { n_sums, numbers: Vec::new() };
        table.push(&TermEntry::default());
        table
    }

    /// The memory of the entries, in bytes.
    pub fn bytes(&self) -> usize {
        self.numbers.len() * size_of::<f64>()
    }

    /// Removes the latest entries until `bytes` are left, an earlier value of [`bytes`](Self::bytes).
    pub fn truncate(&mut self, bytes: usize) {
        self.numbers.truncate(bytes / size_of::<f64>());
    }

    /// Adds an entry and returns its place; `None` if the table is full or too narrow for the entry.
    pub fn push(&mut self, entry: &TermEntry) -> Option<u32> {
        let place = u32::try_from(self.numbers.len()).ok()?;
        let TermEntry { is_known, weight, full, absent, ref cells } = *entry;
        let used = if cells.is_empty() { 0 } else { entry.n_sums() };
        if used > self.n_sums {
            return None;
        }
        let is_few = self.n_sums <= FEW;
        let is_sparse = !is_few && 3 * cells.len() < used;
        let n = if is_sparse { cells.len() } else { used };
        let n = if is_few { self.n_sums } else { n };
        let shape = EntryLayout { is_known, is_sparse, n };
        self.numbers.extend_from_slice(&[weight, full, absent, shape.bits()]);
        if is_sparse {
            self.numbers.extend(cells.iter().flat_map(|(at, number)| [f64::from_bits(*at as u64), *number]));
        } else {
            let row = self.numbers.len();
            self.numbers.resize(row + n, 0.0);
            cells.iter().for_each(|(at, number)| self.numbers[row + at] += number);
        }
        Some(place)
    }

    /// Adds the entries at these places to `sums`, each times its amount. Places beyond the table are skipped; all
    /// others must come from [`push`](Self::push).
    #[inline]
    pub fn accumulate(&self, terms: impl Iterator<Item = (u32, f64)>, sums: &mut DocumentSums) {
        match self.n_sums {
            1 => self.add_few::<1>(terms, sums),
            2 => self.add_few::<2>(terms, sums),
            3 => self.add_few::<3>(terms, sums),
            4 => self.add_few::<4>(terms, sums),
            6 => self.add_few::<6>(terms, sums),
            8 => self.add_few::<8>(terms, sums),
            _ => self.add_many(terms, sums),
        }
    }

    #[inline]
    fn add_few<const N: usize>(&self, terms: impl Iterator<Item = (u32, f64)>, sums: &mut DocumentSums) {
        let (mut scalars, mut columns) = (sums.scalars, [0.0; N]);
        for (place, amount) in terms {
            let place = place as usize;
            let entry = self.numbers.get(place..place + HEAD + N).and_then(<[f64]>::split_first_chunk);
            let Some(([weight, full, absent, shape], row)) = entry else { continue };
            let v = scalars.add([*weight, *full, *absent], amount);
            scalars.known += usize::from(EntryLayout::from_bits(*shape).is_known);
            columns.iter_mut().zip(row).for_each(|(sum, number)| *sum += v * number);
        }
        sums.scalars = scalars;
        sums.columns.iter_mut().zip(columns).for_each(|(to, sum)| *to += sum);
    }

    #[inline]
    fn add_many(&self, terms: impl Iterator<Item = (u32, f64)>, sums: &mut DocumentSums) {
        let (mut scalars, columns) = (sums.scalars, &mut sums.columns[..]);
        // a dense entry waiting to be added together with the next one
        let mut waiting: (&[f64], f64) = (&[], 0.0);
        for (place, amount) in terms {
            let entry = self.numbers.get(place as usize..).and_then(<[f64]>::split_first_chunk);
            let Some(([weight, full, absent, shape], rest)) = entry else { continue };
            let EntryLayout { is_known, is_sparse, n } = EntryLayout::from_bits(*shape);
            let v = scalars.add([*weight, *full, *absent], amount);
            scalars.known += usize::from(is_known);
            if is_sparse {
                add_rows([mem::take(&mut waiting), (&[], 0.0)], columns);
                for [at, number] in rest.as_chunks().0.iter().take(n) {
                    if let Some(sum) = columns.get_mut(at.to_bits() as usize) {
                        *sum += v * number;
                    }
                }
            } else if n > 0 {
                let row = (&rest[..n.min(rest.len())], v);
                if waiting.0.is_empty() {
                    waiting = row;
                } else {
                    add_rows([mem::take(&mut waiting), row], columns);
                }
            }
        }
        add_rows([waiting, (&[], 0.0)], columns);
        sums.scalars = scalars;
    }
}

/// Adds two rows to `sums`, each times its factor. Two at once take little longer than one.
#[inline(always)]
fn add_rows(rows: [(&[f64], f64); 2], sums: &mut [f64]) {
    let [(one, of_one), (other, of_other)] =
        rows.map(|(row, amount)| (&row[..row.len().min(sums.len())], amount));
    let n = one.len().min(other.len());
    let (of_both, beyond) = sums.split_at_mut(n);
    for ((sum, one), other) in of_both.iter_mut().zip(one).zip(other) {
        *sum = (*sum + of_one * one) + of_other * other;
    }
    for (row, amount) in [(&one[n..], of_one), (&other[n..], of_other)] {
        beyond.iter_mut().zip(row).for_each(|(sum, number)| *sum += amount * number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entries() -> impl Strategy<Value = (usize, Vec<(TermEntry, f64)>)> {
        (1usize..70).prop_flat_map(|n_sums| {
            let cells = prop::collection::btree_map(0..n_sums, -9.0..9.0, 0..=n_sums);
            let entry = (any::<bool>(), 0.0..3.0, 0.0..3.0, -9.0..0.0, cells, 0u8..4);
            let entry = entry.prop_map(|(is_known, weight, full, absent, cells, amount)| {
                let cells = cells.into_iter().collect();
                (TermEntry { is_known, weight, full, absent, cells }, f64::from(amount))
            });
            (Just(n_sums), prop::collection::vec(entry, 0..20))
        })
    }

    proptest! {
        #[test]
        fn entries_of_a_table_add_up_as_they_do_alone((n_sums, entries) in entries()) {
            let mut table = TermTable::new(n_sums);
            let [mut expected, mut sums] = [DocumentSums::default(), DocumentSums::default()];
            [&mut expected, &mut sums].into_iter().for_each(|sums| sums.begin(n_sums));
            let mut terms = vec![(TermTable::NOTHING, 7.0), (u32::MAX, 1.0)];
            for (entry, amount) in &entries {
                let bytes = table.bytes();
                let place = table.push(entry);
                table.truncate(bytes);
                prop_assert_eq!(table.push(entry), place);
                expected.add(entry, *amount);
                terms.push((place.unwrap(), *amount));
            }
            table.accumulate(terms.into_iter(), &mut sums);
            prop_assert_eq!(sums.scalars, expected.scalars);
            for (got, expected) in sums.columns.iter().zip(&expected.columns) {
                prop_assert!((got - expected).abs() <= 1e-12, "{got} {expected}");
            }
            let beyond = TermEntry { cells: vec![(n_sums, 1.0)], ..TermEntry::default() };
            prop_assert_eq!(table.push(&beyond), None);
        }
    }
}
