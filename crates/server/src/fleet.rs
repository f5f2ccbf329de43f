//! Several servers with one model: each tells the others what it learned, through a stream in Redis or Valkey.
//!
//! The stream has one order for all. Each server applies every record in this order, its own too, so that all end at the
//! same counts; see `tamis_train::replication`. Without the store a server goes on by itself and catches up.

pub(crate) mod follower;
pub(crate) mod position;
pub(crate) mod sender;
pub(crate) mod store;
