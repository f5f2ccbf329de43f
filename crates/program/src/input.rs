//! Standard input and files, decoded.

pub(crate) mod decoded;
pub(crate) mod stream;
