//! Merges a partial into a trainer.

use tamis_model::{ClassId, Counts, Statistics, Stretch, VectorStatistics};
use tamis_store::disk::spool::spill;
use tamis_store::error::{Error, Result};
use tamis_store::file::documents::{NO_DATE, decode_dense, decode_vector};
use tamis_store::file::partial::PartialHeader;
use tamis_store::file::terms::{Runs, limited, take_run};
use tamis_store::file::varint::{take_array, take_varint, unzigzag};
use tamis_store::store::information::check_equal;
use tamis_tokenizer::{CountVector, TermId, fingerprint};

use super::Partial;
use crate::gather::document::{More, TrainingDocument, UNLABELLED};
use crate::gather::merged::Shard;
use crate::gather::rows::RowId;
use crate::train::trainer::Trainer;

impl Trainer {
    /// Adds everything that a partial has counted, as [`merge`](Self::merge) does. Needs memory only for the counts so
    /// far and for this partial.
    ///
    /// # Errors
    /// [`ErrorKind::Settings`](crate::ErrorKind::Settings) if the options differ;
    /// [`names`](crate::TrainOptions::names) must be off. Also if there are too many labels, a count overflows or a
    /// temporary file cannot be used. The trainer is lost then; the partial stays.
    pub fn merge_partial(mut self, partial: &Partial) -> Result<Trainer> {
        check_equal("options", &self.options, partial.options())?;
        for (_, label) in partial.classes().iter() {
            self.class_of(label)?;
        }
        // ids of the partial's classes here; unlabelled documents come last
        let classes = partial.classes().iter().map(|(_, label)| self.classes.index(label));
        let classes: Vec<_> = classes.map(|class| class.unwrap_or_default()).chain([UNLABELLED]).collect();
        self.counts_alone |= partial.header.counts_alone;
        self.add_texts(partial)?;
        let header = &partial.header;
        let ids = add_terms(&mut self.parts[0], header, partial.section(0)?, &classes)?;
        let mut documents = FieldReader(partial.section(1)?);
        let n_reals = self.options.recipe.n_reals();
        let mut gone = header.vectors.as_ref().map(VectorStatistics::emptied);
        let (mut counted, has_terms) = (vec![0u64; header.documents.len()], self.options.needs_terms());
        for _ in 0..header.n_different {
            let part = &mut self.parts[0];
            let mut keep = |vector: &CountVector| {
                part.rows
                    .push(vector.row().iter().map(|(id, count)| (ids[id as usize], count)))
                    .map_err(spill)
            };
            let mut document = documents.document(ids.len(), has_terms, &mut keep)?;
            ensure(document.more().reals.iter().all(|(column, _)| *column < n_reals))?;
            let class = usize::from(document.class);
            let Some(counted) = counted.get_mut(class) else { return Err(broken()) };
            *counted = counted.saturating_add(document.multiplicity.into());
            if let Some(gone) =
                gone.as_mut().filter(|_| header.counts_alone && !document.more().dense.is_empty())
            {
                gone.observe_times(document.class, &document.more().dense, document.multiplicity)?;
            }
            document.class = classes[class];
            self.remember(document)?;
        }
        ensure(documents.0.is_empty() && (counted == header.documents || header.counts_alone))?;
        if let (Some(mut vectors), Some(gone), true) = (header.vectors.clone(), gone, header.counts_alone) {
            vectors.subtract(&gone)?;
            let mut moved = VectorStatistics::new(self.classes.len(), vectors.n_dimensions())?;
            moved.merge_moved(&vectors, &classes[..vectors.documents().len().min(classes.len())])?;
            self.add_elsewhere(Some(&moved))?;
        }
        self.tally.n_equal = self.tally.n_equal.saturating_add(header.n_equal);
        let missing = self.tally.missing.iter_mut().zip(&header.missing);
        missing.for_each(|(here, there)| *here = here.saturating_add(*there));
        Ok(self)
    }

    /// Adds the texts of a partial, if it is still open which families of terms there are.
    fn add_texts(&mut self, partial: &Partial) -> Result<()> {
        let header = &partial.header;
        let Some(texts) = self.texts.as_mut().filter(|_| header.has_texts) else {
            self.texts = None;
            return Ok(());
        };
        let before = texts.places.len();
        let is_known = |label: &str| header.classes.index(label).is_some();
        texts.add_section(partial.section(2)?, |given| ensure(given.label.is_none_or(is_known)))?;
        // texts include the documents that did not count
        let not_counted = if header.options.counts_once() { header.n_equal } else { 0 };
        let all = header.documents.iter().fold(not_counted, |sum, of_class| sum.saturating_add(*of_class));
        ensure(all == (texts.places.len() - before) as u64)
    }
}

/// Adds terms and their counts. Returns their ids in `part`.
fn add_terms(
    part: &mut Shard,
    header: &PartialHeader,
    section: &[u8],
    classes: &[ClassId],
) -> Result<Vec<TermId>> {
    let mut documents = vec![0; part.statistics.totals().len()];
    let (mut unlabelled, mut ids, mut cells) = (0, Vec::new(), Vec::new());
    for (of_class, class) in header.documents.iter().zip(classes) {
        let sum = documents.get_mut(usize::from(*class)).unwrap_or(&mut unlabelled);
        *sum = of_class.saturating_add(*sum);
    }
    let mut labelled = Statistics::with_documents(documents);
    let mut unlabelled = Statistics::with_documents([unlabelled]);
    let (mut terms, mut last) = (FieldReader(section), None);
    for _ in 0..limited("terms", header.n_terms)? {
        let text = terms.run()?;
        let text = str::from_utf8(text).map_err(|e| Error::inconsistent("terms", "text in UTF-8", e))?;
        let (before, next) = (last, fingerprint(text));
        let is_next = before.is_none_or(|before| before < next);
        Error::ensure(is_next, "terms", "increasing fingerprints", text)?;
        last = Some(next);
        ids.push(part.vocabulary.intern(text)?);
        cells.clear();
        let mut without_label = Vec::new();
        let runs = Runs { cells: terms.run()?, weights: &[] };
        runs.for_each_cell(header.documents.len(), |mut cell| {
            cell.class = classes[usize::from(cell.class)];
            match cell.class {
                UNLABELLED => {
                    cell.class = 0;
                    without_label.push(cell);
                }
                _ => cells.push(cell),
            }
        })?;
        labelled.push_term(&mut cells)?;
        unlabelled.push_term(&mut without_label)?;
    }
    Error::ensure(terms.0.is_empty(), "terms", "no more bytes", terms.0.len())?;
    part.statistics.merge_mapped(&labelled, &ids)?;
    part.unlabelled.merge_mapped(&unlabelled, &ids)?;
    Ok(ids)
}

fn ensure(is_well: bool) -> Result<()> {
    if is_well { Ok(()) } else { Err(broken()) }
}

fn broken() -> Error {
    Error::inconsistent("documents", "documents that add up to the counts", "others")
}

/// The unread bytes of a section.
struct FieldReader<'a>(&'a [u8]);

impl<'a> FieldReader<'a> {
    fn number(&mut self) -> Result<u64> {
        take_varint(&mut self.0).ok_or_else(broken)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        take_array(&mut self.0).ok_or_else(broken)
    }

    fn run(&mut self) -> Result<&'a [u8]> {
        take_run(&mut self.0).ok_or_else(broken)
    }

    /// Reads a document with the partial's class id. `keep` stores its stretches and, if they are there, its terms.
    fn document(
        &mut self,
        n_terms: usize,
        has_terms: bool,
        keep: &mut impl FnMut(&CountVector) -> Result<RowId>,
    ) -> Result<TrainingDocument> {
        let digest = self.bytes()?;
        let [group, message] = [self.bytes()?, self.bytes()?].map(u64::from_le_bytes);
        let class = ClassId::try_from(self.number()?).map_err(|_| broken())?;
        let multiplicity = u32::try_from(self.number()?).ok().filter(|n| *n > 0).ok_or_else(broken)?;
        let fraction = i32::try_from(unzigzag(self.number()?)).map_err(|_| broken())?;
        let date = self.number()?.checked_sub(1).map(unzigzag).filter(|date| *date != NO_DATE);
        let cuts = self.number()?;
        let mut reals = Vec::new();
        for _ in 0..self.number()? {
            let column = self.number()? as usize;
            reals.push((column, f64::from_bits(u64::from_le_bytes(self.bytes()?))));
        }
        let dense = decode_dense(&mut self.0)?;
        let vector = decode_vector(self.run()?, n_terms)?;
        let terms = has_terms.then(|| keep(&vector)).transpose()?;
        let mut stretches = Vec::new();
        for _ in 0..self.number()? {
            let flags = self.number()?;
            let terms = keep(&decode_vector(self.run()?, n_terms)?)?;
            stretches.push(Stretch { terms, ends_part: flags & 1 != 0, is_seen: flags & 2 != 0 });
        }
        let (name, reals) = (Box::default(), reals.into());
        let more = More { date, name, message, cuts, stretches, reals, dense, fraction };
        let mut document = TrainingDocument::new(digest, group, more);
        (document.class, document.multiplicity, document.terms) = (class, multiplicity, terms);
        Ok(document)
    }
}
