//! Limits on what the server takes on: bytes of messages that are in it at a time.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::models::request::ServiceError;
use crate::record::Metrics;

/// Bytes are counted in units of this size, so that a message costs few operations.
const UNIT: usize = 4 << 10;

/// The bytes of all messages in flight.
pub(crate) struct Admission {
    units: Arc<Semaphore>,
    all: usize,
    /// Maximum bytes of a message.
    message_bytes: usize,
    metrics: Arc<Metrics>,
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
    /// Maximum number of bytes that are kept; may be changed before any have come.
    pub(crate) limit: usize,
    /// The number that came, those that were not kept too.
    n_arrived: usize,
    pub(crate) too_long: TooLong,
    units: Arc<Semaphore>,
    permit: Option<OwnedSemaphorePermit>,
    metrics: Arc<Metrics>,
}

impl Admission {
    pub(crate) fn new(bytes_in_flight: usize, message_bytes: usize, metrics: Arc<Metrics>) -> Self {
        let all = bytes_in_flight.div_ceil(UNIT);
        Admission { units: Arc::new(Semaphore::new(all)), all, message_bytes, metrics }
    }

    /// A message that is about to arrive.
    pub(crate) fn incoming(&self, too_long: TooLong) -> Incoming {
        Incoming {
            bytes: Vec::new(),
            limit: self.message_bytes,
            n_arrived: 0,
            too_long,
            units: self.units.clone(),
            permit: None,
            metrics: self.metrics.clone(),
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
    /// [`ServiceError::Busy`] if too much is in flight, [`ServiceError::TooLarge`] if the message would be too long and may not be
    /// cut.
    pub fn reserve(&mut self, n: usize) -> Result<(), ServiceError> {
        let length = self.bytes.len().saturating_add(n);
        if length > self.limit && self.too_long == TooLong::Refuse {
            return Err(ServiceError::TooLarge(self.limit));
        }
        let wanted = length.min(self.limit).div_ceil(UNIT);
        let has = self.permit.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        if wanted > has {
            let more = u32::try_from(wanted - has).ok();
            let more = more.and_then(|more| self.units.clone().try_acquire_many_owned(more).ok());
            let more = more.ok_or_else(|| {
                self.metrics.refused.fetch_add(1, Relaxed);
                ServiceError::Busy
            })?;
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
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), ServiceError> {
        self.n_arrived += bytes.len();
        self.reserve(bytes.len())?;
        let room = self.limit - self.bytes.len();
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        Ok(())
    }

    /// The bytes so far, as far as they are kept.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of bytes that came, those that were not kept too.
    pub fn n_arrived(&self) -> usize {
        self.n_arrived
    }

    /// Lets go of the bytes; they still count until this is dropped.
    pub fn clear(&mut self) {
        self.bytes = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_until_the_message_is_dropped() {
        let admission = Admission::new(4 * UNIT, 3 * UNIT, Arc::default());
        let mut first = admission.incoming(TooLong::Cut);
        first.push(&vec![0; UNIT + 1]).unwrap();
        first.push(&vec![0; 9 * UNIT]).unwrap();
        assert_eq!((first.bytes().len(), admission.in_flight()), (3 * UNIT, 3 * UNIT));
        let mut second = admission.incoming(TooLong::Refuse);
        second.push(&[0]).unwrap();
        assert_eq!(second.push(&vec![0; UNIT]), Err(ServiceError::Busy));
        drop(first);
        second.push(&vec![0; UNIT]).unwrap();
        assert_eq!(second.push(&vec![0; 3 * UNIT]), Err(ServiceError::TooLarge(3 * UNIT)));
        drop(second);
        assert_eq!(admission.in_flight(), 0);
    }
}
