//! What the handlers of a connection share.

use std::sync::Arc;

use axum::Extension;

use crate::net::peer::Peer;
use crate::service::serving::Service;

/// What the handlers of a connection share.
pub(super) struct Context {
    pub(super) service: Arc<Service>,
    pub(super) peer: Peer,
}

/// The context as handlers get it.
pub(super) type Shared = Extension<Arc<Context>>;
