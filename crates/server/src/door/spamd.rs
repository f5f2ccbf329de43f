//! The door spamd.

use std::sync::Arc;

use crate::net::connection::Connection;
use crate::service::serving::Service;

/// Serves a connection until it ends.
pub(crate) async fn serve(connection: Connection, service: Arc<Service>) {
    let _ = (connection, service);
}

/// The answer to a connection that is one too many; empty to close it without one.
pub(crate) const FULL: &[u8] = b"";
