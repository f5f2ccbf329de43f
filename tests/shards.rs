//! Training in shards: partials, clusters, the fit by partitions.

mod cluster;
mod distributed_fit;
mod partials;
