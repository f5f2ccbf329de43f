//! Dense vectors, such as sentence embeddings: exact second moments, and a linear discriminant derived from them.

mod discriminant;
mod fit;
mod statistics;

pub use discriminant::VectorDiscriminant;
pub use fit::{VectorDocument, VectorFit};
pub use statistics::VectorStatistics;
