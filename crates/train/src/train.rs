//! Training: from labelled documents to a model.

pub(crate) mod calibration;
pub(crate) mod distributed;
pub(crate) mod finish;
pub(crate) mod fit;
pub(crate) mod label_decisions;
pub(crate) mod pairs;
pub(crate) mod partial;
pub(crate) mod pieces;
pub(crate) mod sections;
pub(crate) mod self_training;
pub(crate) mod solution;
pub(crate) mod table;
pub(crate) mod trainer;
pub(crate) mod unlabelled;
