//! Who guesses passwords: a pause after each wrong one, by address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::lock::lock;
use crate::net::Peer;

/// Wrong passwords without a pause. The pause after the next is the first one, and each is twice the one before.
const FREE: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How long after its pause an address is remembered, and the number of addresses that are.
const MEMORY: Duration = Duration::from_secs(600);
const MOST: usize = 1_000;

/// The number of wrong passwords of an address, and when the next may be tried.
struct Guesser {
    n: u32,
    next: Instant,
}

/// Those who guess.
#[derive(Default)]
pub(super) struct Guesses(Mutex<HashMap<IpAddr, Guesser>>);

impl Guesses {
    /// Notes that a password is tried, which counts as wrong until [`forgive`](Self::forgive), so that those who try many
    /// at a time wait too.
    ///
    /// # Errors
    /// The time to wait before the next try.
    pub(super) fn note(&self, peer: Peer, now: Instant) -> Result<(), Duration> {
        let mut guessers = lock(&self.0);
        guessers.retain(|_, guesser| now < guesser.next + MEMORY);
        if guessers.len() >= MOST {
            guessers.clear();
        }
        let guesser = guessers.entry(network(peer)).or_insert(Guesser { n: 0, next: now });
        if guesser.next > now {
            return Err(guesser.next - now);
        }
        guesser.n += 1;
        if let Some(n) = guesser.n.checked_sub(FREE + 1) {
            guesser.next = now + LONGEST_PAUSE.min(FIRST_PAUSE * 2_u32.saturating_pow(n.min(16)));
        }
        Ok(())
    }

    /// Forgets a peer, whose password was right.
    pub(super) fn forgive(&self, peer: Peer) {
        lock(&self.0).remove(&network(peer));
    }
}

/// The address; of IPv6 the network, in which one host has many. Processes of this machine are one.
fn network(peer: Peer) -> IpAddr {
    let Peer::Address(address) = peer else { return Ipv6Addr::UNSPECIFIED.into() };
    match address.ip().to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !0 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_by_address_and_end() {
        let (guesses, now) = (Guesses::default(), Instant::now());
        let peer = |address: &str| Peer::Address(address.parse().unwrap());
        let (one, other) = (peer("192.0.2.1:80"), peer("192.0.2.2:80"));
        (0..=FREE).for_each(|_| guesses.note(one, now).unwrap());
        assert_eq!(guesses.note(peer("[::ffff:192.0.2.1]:99"), now), Err(FIRST_PAUSE));
        guesses.note(other, now).unwrap();
        guesses.note(one, now + FIRST_PAUSE).unwrap();
        assert_eq!(guesses.note(one, now + FIRST_PAUSE), Err(2 * FIRST_PAUSE));
        // long after, all is forgotten
        let later = now + 2 * MEMORY;
        (0..FREE).for_each(|_| guesses.note(one, later).unwrap());
        guesses.forgive(one);
        (0..=FREE).for_each(|_| guesses.note(one, later).unwrap());
        assert!(guesses.note(one, later).is_err());
        (0..=FREE).for_each(|_| guesses.note(peer("[2001:db8::1]:80"), now).unwrap());
        assert!(guesses.note(peer("[2001:db8::2]:80"), now).is_err());
        guesses.note(peer("[2001:db8:0:1::1]:80"), now).unwrap();
        // a number of addresses is remembered, whatever comes
        for n in 0..2 * MOST as u32 {
            guesses.note(Peer::Address((n.to_be_bytes(), 80).into()), now).unwrap();
        }
        assert!(guesses.0.lock().unwrap().len() <= MOST);
    }
}
