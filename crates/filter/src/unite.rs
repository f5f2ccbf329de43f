//! Several models as one: their terms with new ids, their documents in canonical order, what they share.

pub(crate) mod shared;
pub(crate) mod stores;
