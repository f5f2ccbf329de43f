//! Users and groups of the system, by name or number.

use std::fs;
use std::net::IpAddr;

use serde::Deserialize;

/// What the system calls whoever has no user here, as processes of another user namespace.
const NOBODY: u32 = 65_534;

/// A user of the system: a name in `/etc/passwd`, or a number. Not `nobody`, whom many can be.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Debug)]
#[serde(try_from = "String")]
pub struct UserId(pub u32);

/// A group of the system: a name in `/etc/group`, or a number.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Debug)]
#[serde(try_from = "String")]
pub struct GroupId(pub u32);

/// Who may ask for the models of all users: a user of the system, or who connects from an address.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Debug)]
#[serde(try_from = "String")]
pub enum MailServer {
    /// Over a Unix socket.
    User(UserId),
    /// Over TCP.
    Address(IpAddr),
}

impl TryFrom<String> for UserId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match id_of("/etc/passwd", &text) {
            Some(NOBODY) => Err(format!("expected a user that others cannot be, got {text:?}")),
            id => id.map(UserId).ok_or_else(|| format!("expected a user of this system, got {text:?}")),
        }
    }
}

impl TryFrom<String> for GroupId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let id = id_of("/etc/group", &text);
        id.map(GroupId).ok_or_else(|| format!("expected a group of this system, got {text:?}"))
    }
}

impl TryFrom<String> for MailServer {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.parse::<IpAddr>() {
            Ok(address) => Ok(MailServer::Address(address.to_canonical())),
            Err(_) => text.try_into().map(MailServer::User),
        }
    }
}

/// The number of a user or group, from the system's list.
fn id_of(list: &str, name: &str) -> Option<u32> {
    name.parse().ok().or_else(|| find(list, |fields| (fields[0] == name).then(|| fields[2].parse().ok())?))
}

/// The name of a user, from the system's list.
pub(crate) fn user_name(id: u32) -> Option<String> {
    find("/etc/passwd", |fields| (fields[2].parse() == Ok(id)).then(|| fields[0].to_owned()))
}

/// The first that `pick` takes of the lines of a list, cut at the colons: name, password, number.
fn find<T>(list: &str, mut pick: impl FnMut([&str; 3]) -> Option<T>) -> Option<T> {
    let text = fs::read_to_string(list).ok()?;
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        pick([fields.next()?, fields.next()?, fields.next()?])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_known_by_name_and_number_and_nobody_is_none() {
        let user = |text: &str| UserId::try_from(text.to_owned());
        assert_eq!((user("root"), user("7000")), (Ok(UserId(0)), Ok(UserId(7000))));
        assert_eq!(
            (user_name(0).as_deref(), GroupId::try_from("root".to_owned())),
            (Some("root"), Ok(GroupId(0)))
        );
        for text in ["nobody", "65534", "no such user", "", "-1"] {
            assert!(user(text).unwrap_err().contains("expected"), "{text}");
        }
        let address = MailServer::try_from("::ffff:10.0.0.1".to_owned());
        assert_eq!(address, Ok(MailServer::Address([10, 0, 0, 1].into())));
        assert!(MailServer::try_from("10.0.0".to_owned()).is_err());
    }
}
