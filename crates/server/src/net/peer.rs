//! Who is at the other end of a connection, and whether they may teach.

use std::net::SocketAddr;

/// The other end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Peer {
    /// A process on this machine, by its user's number.
    User(u32),
    /// An address.
    Address(SocketAddr),
    /// A process on this machine whose user is not known.
    Unknown,
}

impl Peer {
    /// Whether the peer is a process of the server's own user, of root, or of one of `allowed`: users by name or
    /// number.
    pub(crate) fn is_trusted(self, allowed: &[String]) -> bool {
        let Peer::User(uid) = self else { return false };
        uid == 0
            || uid == rustix::process::geteuid().as_raw()
            || allowed.iter().any(|name| name.parse() == Ok(uid) || uid_of(name) == Some(uid))
    }
}

/// The number of a user, from the system's list.
fn uid_of(name: &str) -> Option<u32> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next() == Some(name) { fields.nth(1)?.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_processes_of_known_users_are_trusted() {
        let own = rustix::process::geteuid().as_raw();
        assert!(Peer::User(own).is_trusted(&[]) && Peer::User(0).is_trusted(&[]));
        assert!(!Peer::User(own + 7_000).is_trusted(&["root".to_owned()]));
        assert!(Peer::User(own + 7_000).is_trusted(&[(own + 7_000).to_string()]));
        assert_eq!(uid_of("root"), Some(0));
        let loopback = SocketAddr::from(([127, 0, 0, 1], 80));
        assert!(!Peer::Address(loopback).is_trusted(&["0".to_owned()]) && !Peer::Unknown.is_trusted(&[]));
    }
}
