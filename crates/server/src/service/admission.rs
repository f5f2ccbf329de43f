//! Limits on what the server takes on: bytes of messages that are in it at a time.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::models::failure::Failure;

/// Bytes are counted in units of this size, so that a message costs few operations.
const UNIT: usize = 4 << 10;

/// The bytes of all messages in flight.
pub(crate) struct Admission {
    units: Arc<Semaphore>,
    all: usize,
    /// Maximum bytes of a message.
    message_bytes: usize,
}

/// What to do with a message that is too long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TooLong {
    /// Refuse it, because all of it is needed.
    Refuse,
    /// Keep its beginning: it is only scored.
    Cut,
}

/// A message as it arrives. Its bytes count as in flight until it is dropped.
pub struct Incoming {
    bytes: Vec<u8>,
    limit: usize,
    too_long: TooLong,
    units: Arc<Semaphore>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Admission {
    pub(crate) fn new(bytes_in_flight: usize, message_bytes: usize) -> Self {
        let all = bytes_in_flight.div_ceil(UNIT);
        Admission { units: Arc::new(Semaphore::new(all)), all, message_bytes }
    }

    /// A message that is about to arrive.
    pub(crate) fn incoming(&self, too_long: TooLong) -> Incoming {
        Incoming {
            bytes: Vec::new(),
            limit: self.message_bytes,
            too_long,
            units: self.units.clone(),
            permit: None,
        }
    }

    /// Bytes in flight, rounded up.
    pub(crate) fn in_flight(&self) -> usize {
        (self.all - self.units.available_permits()) * UNIT
    }
}

impl Incoming {
    /// Makes room for `n` more bytes.
    ///
    /// # Errors
    /// [`Failure::Busy`] if too much is in flight, [`Failure::TooLarge`] if the message would be too long and may not be
    /// cut.
    pub fn reserve(&mut self, n: usize) -> Result<(), Failure> {
        let length = self.bytes.len().saturating_add(n);
        if length > self.limit && self.too_long == TooLong::Refuse {
            return Err(Failure::TooLarge(self.limit));
        }
        let wanted = length.min(self.limit).div_ceil(UNIT);
        let has = self.permit.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        if wanted > has {
            let more = u32::try_from(wanted - has).map_err(|_| Failure::Busy)?;
            let more = self.units.clone().try_acquire_many_owned(more).map_err(|_| Failure::Busy)?;
            match &mut self.permit {
                Some(permit) => permit.merge(more),
                none => *none = Some(more),
            }
        }
        Ok(())
    }

    /// Adds bytes, as far as the message may be long.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve).
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.reserve(bytes.len())?;
        let room = self.limit - self.bytes.len();
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        Ok(())
    }

    /// The bytes so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, to be changed or taken; they still count until this is dropped.
    pub fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_until_the_message_is_dropped() {
        let admission = Admission::new(4 * UNIT, 3 * UNIT);
        let mut first = admission.incoming(TooLong::Cut);
        first.push(&vec![0; UNIT + 1]).unwrap();
        first.push(&vec![0; 9 * UNIT]).unwrap();
        assert_eq!((first.bytes().len(), admission.in_flight()), (3 * UNIT, 3 * UNIT));
        let mut second = admission.incoming(TooLong::Refuse);
        second.push(&[0]).unwrap();
        assert_eq!(second.push(&vec![0; UNIT]), Err(Failure::Busy));
        drop(first);
        second.push(&vec![0; UNIT]).unwrap();
        assert_eq!(second.push(&vec![0; 3 * UNIT]), Err(Failure::TooLarge(3 * UNIT)));
        drop(second);
        assert_eq!(admission.in_flight(), 0);
    }
}
