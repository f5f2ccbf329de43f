//! Tests of spamd.
