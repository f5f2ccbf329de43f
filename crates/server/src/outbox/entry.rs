//! A record on its way to the fleet: which model learned it, and which it is.

/// What one server has learned, for the others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// The model's name, as [`Model::name`](crate::models::model::Model::name).
    pub(crate) model: String,
    /// The process that learned it: a random number, so that a copied folder does not pretend to be this server.
    pub(crate) sender: u64,
    /// Which of its records this is, from 1. The others skip what they have had.
    pub(crate) number: u64,
    /// The bytes of the [`Record`](tamis_train::distributed::Record).
    pub(crate) record: Vec<u8>,
}

/// Maximum bytes of a model's name, and of a record: a mail has some kilobytes.
const MOST_NAME: usize = 1 << 10;
const MOST_RECORD: usize = 64 << 20;

impl Entry {
    /// Lengths, numbers, name and record, with a checksum.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend((self.model.len() as u32).to_le_bytes());
        out.extend((self.record.len() as u32).to_le_bytes());
        out.extend(self.sender.to_le_bytes());
        out.extend(self.number.to_le_bytes());
        out.extend(self.model.as_bytes());
        out.extend(&self.record);
        let sum = crc32fast::hash(&out[begin..]);
        out.extend(sum.to_le_bytes());
    }

    /// The first entry of `bytes`, and its length; `None` if it is not whole.
    pub(crate) fn read(bytes: &[u8]) -> Option<(Entry, usize)> {
        let number = |at: usize, n: usize| -> Option<u64> {
            let mut wide = [0; 8];
            wide[..n].copy_from_slice(bytes.get(at..at + n)?);
            Some(u64::from_le_bytes(wide))
        };
        let (name, record) = (number(0, 4)? as usize, number(4, 4)? as usize);
        if name > MOST_NAME || record > MOST_RECORD {
            return None;
        }
        let end = 24 + name + record;
        let sum = number(end, 4)?;
        if u64::from(crc32fast::hash(&bytes[..end])) != sum {
            return None;
        }
        let model = String::from_utf8(bytes[24..24 + name].to_vec()).ok()?;
        let entry = Entry {
            model,
            sender: number(8, 8)?,
            number: number(16, 8)?,
            record: bytes[24 + name..end].to_vec(),
        };
        Some((entry, end + 4))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn entries_come_back_and_no_part_of_one_does(
            model in "[a-z/]{0,9}", sender: u64, number: u64, record: Vec<u8>, cut: proptest::sample::Index,
        ) {
            let entry = Entry { model, sender, number, record };
            let mut bytes = Vec::new();
            entry.write(&mut bytes);
            prop_assert_eq!(Entry::read(&bytes), Some((entry, bytes.len())));
            prop_assert_eq!(Entry::read(&bytes[..cut.index(bytes.len())]), None);
        }

        #[test]
        fn other_bytes_are_no_entry(bytes: Vec<u8>) {
            prop_assert_eq!(Entry::read(&bytes), None);
        }
    }
}
