//! From labelled documents to a model.

pub(crate) mod duplicates;
pub(crate) mod finish;
pub(crate) mod fit;
pub(crate) mod fitting;
pub(crate) mod learned;
pub(crate) mod ordered;
pub(crate) mod packed;
pub(crate) mod pairs;
pub(crate) mod rows;
pub(crate) mod sections;
pub(crate) mod trainer;
pub(crate) mod union;
