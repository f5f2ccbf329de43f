//! Descriptors: each connection needs one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::settings::ServerSettings;

/// Descriptors that are not of connections: models and logs while they are opened, sockets that listen.
const OTHERS: u64 = 128;

impl ServerSettings {
    /// Raises the limit of descriptors of this process to what the connections of all doors need, as far as the system
    /// lets it. Returns what is missing, as a line of text.
    pub fn raise_descriptor_limit(&self) -> Option<String> {
        let needed = OTHERS + self.n_doors() * self.limits.connections as u64;
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        if current.is_some_and(|current| current < needed) {
            let raised = maximum.map_or(needed, |maximum| maximum.min(needed));
            // otherwise it stays as it is, which is told below
            let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum });
        }
        let got = getrlimit(Resource::Nofile).current.filter(|got| *got < needed)?;
        let share = self.connections_per_door();
        Some(format!(
            "limits.connections: expected a limit of {needed} descriptors (ulimit -n, LimitNOFILE=), got {got}; each door \
             takes {share} connections"
        ))
    }

    /// Maximum number of connections of a door: as set, but at most its share of the descriptors, so that no door takes
    /// those of another.
    pub(crate) fn connections_per_door(&self) -> usize {
        let free = getrlimit(Resource::Nofile).current.map(|all| all.saturating_sub(OTHERS) / self.n_doors());
        let share = free.and_then(|share| usize::try_from(share).ok()).unwrap_or(usize::MAX);
        self.limits.connections.min(share.max(1))
    }

    fn n_doors(&self) -> u64 {
        self.doors().iter().filter(|addresses| !addresses.is_empty()).count().max(1) as u64
    }
}
