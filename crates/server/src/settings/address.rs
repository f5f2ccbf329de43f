//! Where a door listens.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use serde::Deserialize;

/// Where to listen: `tcp:127.0.0.1:7783`, `unix:/run/tamis/spamd.sock` or `systemd:NAME`, a socket that systemd hands
/// over under that name (`FileDescriptorName=`).
#[derive(Clone, PartialEq, Eq, Deserialize, Debug)]
#[serde(try_from = "String")]
pub enum Address {
    /// An address and a port.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
    /// A socket handed over by systemd.
    Systemd(String),
}

impl Address {
    /// A port of 127.0.0.1.
    pub fn loopback(port: u16) -> Self {
        Address::Tcp(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))
    }
}

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let expected = || format!("expected tcp:ADDRESS:PORT, unix:/PATH or systemd:NAME, got {text:?}");
        match text.split_once(':').ok_or_else(expected)? {
            ("tcp", address) => address.parse().map(Address::Tcp).map_err(|_| expected()),
            ("unix", path) if path.starts_with('/') => Ok(Address::Unix(path.into())),
            ("systemd", name) if !name.is_empty() => Ok(Address::Systemd(name.to_owned())),
            _ => Err(expected()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => write!(f, "tcp:{address}"),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Systemd(name) => write!(f, "systemd:{name}"),
        }
    }
}
