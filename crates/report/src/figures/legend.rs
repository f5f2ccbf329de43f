//! The legend: what lines and marks mean, in rows below a plot.

use crate::draw::svg::{Anchor, Shape, Svg};

/// How an entry is drawn.
pub(crate) enum Sample {
    Line(&'static str),
    Mark(&'static str, Shape),
    Box(&'static str),
}

/// The height of a row.
pub(crate) const ROW: f64 = 19.0;

/// The shapes of marks, in the order of [`marked`](super::two::marked).
pub(crate) const SHAPES: [Shape; 3] = [Shape::Circle, Shape::Square, Shape::Diamond];

/// Draws the entries below the drawing so far, from `left` on, and makes the drawing higher by their rows. Texts are
/// HTML without elements.
pub(crate) fn draw(svg: &mut Svg, left: f64, entries: &[(Sample, String)]) {
    for (sample, text) in entries {
        let middle = svg.height + ROW / 2.0 - 4.0;
        match sample {
            Sample::Line(class) => svg.line(class, [left, middle], [left + 28.0, middle]),
            Sample::Mark(class, shape) => svg.mark(class, *shape, [left + 14.0, middle]),
            Sample::Box(class) => svg.rect(class, [left + 4.0, middle - 5.0], [20.0, 10.0]),
        }
        svg.text("key", [left + 36.0, middle + 4.0], Anchor::Start, text);
        svg.height += ROW;
    }
}
