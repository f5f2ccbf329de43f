//! A copy of a model file as it was when opened.

use std::borrow::Cow;
use std::ops::Range;

use crate::disk::spool::{Spool, spill};
use crate::error::{Reason, Result};
use crate::file::header;
use crate::store::opened::Store;
use crate::store::segment::Segment;

/// Bytes copied at a time.
const AT_ONCE: usize = 1 << 20;

impl Store {
    /// Returns the file as it was when opened, log included, with nothing that was written to it since. The copy is
    /// checked. `read` returns the bytes of a range of the file.
    pub fn copy<'a>(&self, read: impl Fn(Range<usize>) -> Result<Cow<'a, [u8]>>) -> Result<Spool> {
        let mut whole = Spool::default();
        let copy = |range: Range<usize>, whole: &mut Spool| {
            range.clone().step_by(AT_ONCE).try_for_each(|start| {
                let end = range.end.min(start + AT_ONCE);
                let bytes = read(start..end)?;
                if bytes.len() < end - start {
                    let got = start + bytes.len();
                    return Err(Reason::Length { expected: range.end as u64, got: got as u64 }.into());
                }
                whole.push(&bytes).map_err(spill)
            })
        };
        copy(0..self.end, &mut whole)?;
        let (start, log) = (self.log.0 as usize, &self.log.1);
        if !self.segments.is_empty() || !log.is_empty() {
            // the file's own slots may name segments written since
            let slots = self.slots.to_bytes(self.end, self.checksum);
            whole.push(&slots).map_err(spill)?;
            copy(self.end + slots.len()..start, &mut whole)?;
            whole.push(log).map_err(spill)?;
        }
        let map = whole.map().map_err(spill)?;
        self.check_all(map.as_deref().or(whole.in_memory()).unwrap_or_default())?;
        Ok(whole)
    }

    /// Checks that `bytes` have this model's header and segments, and verifies every checksum of the sections.
    pub fn check_all(&self, bytes: &[u8]) -> Result<()> {
        let got = header::checksum(bytes)?;
        if got != self.checksum {
            return Err(Reason::Checksum { part: "header", offset: 0, expected: self.checksum, got }.into());
        }
        self.segments.iter().try_for_each(|segment| segment.check_header(bytes, self.checksum))?;
        let of_segments = self.segments.iter().flat_map(Segment::sections);
        self.base.sections().into_iter().chain(of_segments).try_for_each(|section| section.verify(bytes))
    }
}
