//! Tests of milter.
