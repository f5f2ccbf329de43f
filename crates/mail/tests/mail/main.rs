//! Whole messages: of every shape, hostile, and real.
mod corpus;
mod hostile;
mod passthrough;
mod shapes;
