//! Checks the schema in the footer of a Parquet file, which the reader follows without a limit of depth.
//!
//! The footer is a struct of Thrift's compact protocol. Its field 2 is a list of structs, the elements of the schema, each
//! before its children; field 5 of an element is their number.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// Maximum bytes of a footer.
const MOST_BYTES: u32 = 256 << 20;

/// Maximum depth of a schema, and of other structs in the footer.
const DEEPEST: usize = 64;

const STRUCT: u8 = 12;

/// Whether the file has a footer whose schema is not too deep.
pub(crate) fn has_shallow_schema(file: &mut File) -> std::io::Result<bool> {
    let mut end = [0; 8];
    let n_bytes = file.seek(SeekFrom::End(0))?;
    if n_bytes < end.len() as u64 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-(end.len() as i64)))?;
    file.read_exact(&mut end)?;
    let [a, b, c, d, ..] = end;
    let length = u32::from_le_bytes([a, b, c, d]);
    if length > MOST_BYTES || u64::from(length) + end.len() as u64 > n_bytes {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-(end.len() as i64) - i64::from(length)))?;
    let mut footer = Vec::new();
    file.take(length.into()).read_to_end(&mut footer)?;
    Ok(Thrift(&footer).footer().is_some())
}

/// Bytes of Thrift's compact protocol that are still to be read. `None` from a function means that they are damaged, or
/// too deep.
struct Thrift<'a>(&'a [u8]);

impl Thrift<'_> {
    fn footer(&mut self) -> Option<()> {
        let mut id = 0;
        while let Some(kind) = self.field(&mut id)? {
            match (id, kind) {
                (2, 9) => self.schema()?,
                _ => self.skip(kind, DEEPEST)?,
            }
        }
        Some(())
    }

    fn schema(&mut self) -> Option<()> {
        let (n, kind) = self.list()?;
        // of each element above the next one, the number of children that are still to come
        let mut above: Vec<u64> = Vec::new();
        for _ in 0..n {
            if let Some(children) = above.last_mut() {
                *children -= 1;
            }
            let children = if kind == STRUCT { self.element()? } else { return None };
            above.push(children);
            while above.last() == Some(&0) {
                above.pop();
            }
            if above.len() > DEEPEST {
                return None;
            }
        }
        Some(())
    }

    /// The number of an element's children.
    fn element(&mut self) -> Option<u64> {
        let (mut id, mut children) = (0, 0);
        while let Some(kind) = self.field(&mut id)? {
            match (id, kind) {
                (5, 5) => children = self.number()? >> 1,
                _ => self.skip(kind, DEEPEST)?,
            }
        }
        Some(children)
    }

    /// The kind of the next field of a struct, whose last one was `id`; `Some(None)` at the end.
    fn field(&mut self, id: &mut u64) -> Option<Option<u8>> {
        let head = self.byte()?;
        if head == 0 {
            return Some(None);
        }
        *id = if head >> 4 == 0 { self.number()? >> 1 } else { *id + u64::from(head >> 4) };
        Some(Some(head & 15))
    }

    /// The number of a list's elements, and their kind.
    fn list(&mut self) -> Option<(u64, u8)> {
        let head = self.byte()?;
        let n = if head >> 4 == 15 { self.number()? } else { u64::from(head >> 4) };
        Some((n, head & 15))
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            // in a field, the kind is the value
            1 | 2 => (),
            3 => _ = self.byte()?,
            4..=6 => _ = self.number()?,
            7 => self.advance(8)?,
            8 => {
                let n = self.number()?;
                self.advance(n)?;
            }
            9 | 10 => {
                let (n, kind) = self.list()?;
                (0..n).try_for_each(|_| if kind < 3 { self.advance(1) } else { self.skip(kind, depth) })?;
            }
            STRUCT => {
                let mut id = 0;
                while let Some(kind) = self.field(&mut id)? {
                    self.skip(kind, depth)?;
                }
            }
            // no footer has a map
            _ => return None,
        }
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Some(number);
            }
        }
        None
    }

    fn advance(&mut self, n: u64) -> Option<()> {
        self.0 = self.0.get(usize::try_from(n).ok()?..)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer whose schema has this many groups, one within the other.
    fn nested(groups: u8) -> Vec<u8> {
        let element = |children: u8| [0x48, 1, b'g', 0x15, 2 * children, 0];
        let elements = (0..groups).flat_map(|_| element(1)).chain(element(0));
        [0x15, 2, 0x19, 0xfc, groups + 1].into_iter().chain(elements).chain([0]).collect()
    }

    #[test]
    fn a_schema_may_be_deep_to_a_limit() {
        for (groups, is_fine) in [(0, true), (60, true), (70, false), (120, false)] {
            assert_eq!(Thrift(&nested(groups)).footer().is_some(), is_fine, "{groups}");
        }
        // width is no depth
        let wide: Vec<u8> =
            [0x29, 0xfc, 100].into_iter().chain([0x48, 1, b'c', 0].repeat(100)).chain([0]).collect();
        assert!(Thrift(&wide).footer().is_some());
    }

    #[test]
    fn damaged_footers_are_refused() {
        let footer = nested(5);
        for end in 0..footer.len() {
            assert!(Thrift(&footer[..end]).footer().is_none(), "{end}");
        }
        // structs in structs, and a list of more elements than there are bytes
        assert!(Thrift(&[0x3c; 1000]).footer().is_none());
        assert!(Thrift(&[0x39, 0xf5, 0xff, 0xff, 0xff, 0x7f]).footer().is_none());
    }
}
