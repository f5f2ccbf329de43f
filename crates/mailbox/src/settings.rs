//! Settings: which mailboxes there are, and what their folders mean.

pub(crate) mod account;
pub(crate) mod places;
