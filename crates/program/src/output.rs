//! Output for people.

pub(crate) mod dates;
pub(crate) mod expected;
pub(crate) mod shown;
pub(crate) mod status;
pub(crate) mod volume;
