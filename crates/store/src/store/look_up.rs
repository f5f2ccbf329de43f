//! Looks up terms by fingerprint and by id, in sections, segments and the log.

use tamis_tokenizer::TermId;

use crate::error::{Error, Result};
use crate::file::terms::{GROUP, Runs};
use crate::store::opened::Store;
use crate::store::segment::Segment;

impl Store {
    /// The id of the term with this fingerprint.
    pub fn find(&self, fingerprint: u64) -> Result<Option<TermId>> {
        Ok(self.look_up(fingerprint)?.map(|(id, _)| id))
    }

    /// The id of the term with this fingerprint, and its entry in sections or segments, without the log.
    #[inline]
    pub(super) fn look_up(&self, fingerprint: u64) -> Result<Option<(TermId, Runs<'_>)>> {
        if let Some(found) = self.changed_since(fingerprint)? {
            return Ok(Some(found));
        }
        match self.base.find(&self.bytes, fingerprint)? {
            Some((place, group)) => Ok(Some((place as TermId, Runs::of(group.run(place % GROUP)?)?))),
            None => {
                let place = self.overlay.new_terms().find(fingerprint);
                Ok(place.map(|place| ((self.n_known + place) as TermId, Runs::default())))
            }
        }
    }

    /// The entry of a term in the newest segment that has it.
    #[inline]
    fn changed_since(&self, fingerprint: u64) -> Result<Option<(TermId, Runs<'_>)>> {
        for segment in self.segments.iter().rev() {
            if let Some((id, runs)) = segment.look_up(&self.bytes, fingerprint)? {
                return match (id as usize) < self.n_known {
                    true => Ok(Some((id, runs))),
                    false => Err(Error::inconsistent(
                        "terms of a segment",
                        format!("ids below {}", self.n_known),
                        id,
                    )),
                };
            }
        }
        Ok(None)
    }

    /// The entry of a term in sections or segments, without the log; empty if there is none.
    pub(super) fn runs(&self, id: TermId) -> Result<Runs<'_>> {
        let place = id as usize;
        if place >= self.n_known {
            return Ok(Runs::default());
        }
        if !self.segments.is_empty()
            && let Some((_, runs)) = self.changed_since(self.fingerprint(id)?)?
        {
            return Ok(runs);
        }
        if place >= self.base.n_terms {
            return Err(Error::inconsistent("ids of a segment", "terms that it speaks of", "others"));
        }
        let (group, place) = self.base.group_at(&self.bytes, place)?;
        Runs::of(group.run(place)?)
    }

    /// The segment that introduced a term.
    fn brought(&self, id: usize) -> Option<&Segment> {
        let next = self.segments.partition_point(|segment| segment.new_ids().end <= id);
        self.segments.get(next).filter(|segment| segment.new_ids().contains(&id))
    }

    /// The fingerprint of a term.
    pub fn fingerprint(&self, id: TermId) -> Result<u64> {
        let id = id as usize;
        if let Some((fingerprint, _)) = self.logged(id) {
            return Ok(fingerprint);
        }
        match self.brought(id) {
            Some(segment) => segment.fingerprint(&self.bytes, id),
            None => self.base.fingerprint(&self.bytes, id),
        }
    }

    /// The text of a term.
    pub fn text(&self, id: TermId) -> Result<&str> {
        let id = id as usize;
        if let Some((_, text)) = self.logged(id) {
            return Ok(text);
        }
        let Some(segment) = self.brought(id) else { return self.base.text(&self.bytes, id) };
        let found = segment.part.find(&self.bytes, segment.fingerprint(&self.bytes, id)?)?;
        let (place, _) = found
            .ok_or_else(|| Error::inconsistent("ids of a segment", "terms that it speaks of", "others"))?;
        segment.part.text(&self.bytes, place)
    }

    /// Fingerprint and text of a term that the log introduced.
    fn logged(&self, id: usize) -> Option<(u64, &str)> {
        self.overlay.new_terms().get(id.checked_sub(self.n_known)?)
    }

    /// Touches the data that looking up these terms will read, so that cache misses overlap.
    pub fn touch(&self, fingerprints: impl Iterator<Item = u64> + Clone) {
        let segments = self.segments.iter().map(|segment| &segment.part);
        segments.chain([&self.base]).for_each(|part| part.touch(&self.bytes, fingerprints.clone()));
    }
}
