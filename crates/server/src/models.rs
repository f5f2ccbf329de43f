//! The models: one that all share, one a user behind which it stands, and others by name.

pub(crate) mod background;
pub(crate) mod failure;
pub(crate) mod learning;
pub(crate) mod model;
pub(crate) mod registry;
pub(crate) mod users;
pub(crate) mod waiting;
