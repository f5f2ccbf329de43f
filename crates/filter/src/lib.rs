//! The tamis filter: train, open, score and explain; the model file
