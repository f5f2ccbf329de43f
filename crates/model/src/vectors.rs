//! Dense vectors, such as sentence embeddings: exact second moments, and a linear discriminant derived from them.

mod discriminant;
mod statistics;

pub use discriminant::VectorDiscriminant;
pub use statistics::VectorStatistics;
