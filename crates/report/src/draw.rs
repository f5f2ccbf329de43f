//! Drawings: scales, axes and marks, as SVG. Pure functions of numbers, so equal figures are equal bytes.

pub(crate) mod axes;
pub(crate) mod scale;
pub(crate) mod svg;
