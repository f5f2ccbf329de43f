//! The elements of a drawing.

use std::fmt::Write;

/// A drawing with its width and height, in units that are pixels unless the page is narrower.
pub(crate) struct Svg {
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// Whether the drawing keeps its size and scrolls where it does not fit, because its text would become too small.
    pub(crate) is_fixed: bool,
    pub(crate) body: String,
}

/// Which part of a text is at the given place.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// The shape of a mark. Shapes differ so that nobody has to tell colours apart.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    Circle,
    Square,
    Diamond,
}

impl Svg {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Svg { width, height, is_fixed: false, body: String::new() }
    }

    /// Appends an element. Writing to a string cannot fail.
    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        let _ = self.body.write_fmt(element);
    }

    /// Draws a line. `class` says how it looks.
    pub(crate) fn line(&mut self, class: &str, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2]) {
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(short);
        self.put(format_args!(r#"<path class="{class}" d="M{x1} {y1}L{x2} {y2}"/>"#));
    }

    pub(crate) fn rect(&mut self, class: &str, [x, y]: [f64; 2], [width, height]: [f64; 2]) {
        let [x, y, width, height] = [x, y, width.max(0.0), height.max(0.0)].map(short);
        self.put(format_args!(
            r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}"/>"#
        ));
    }

    /// Draws a cell. Resting the pointer on it shows `title`, which is HTML.
    pub(crate) fn cell(&mut self, class: &str, place: [f64; 2], size: [f64; 2], opacity: f64, title: &str) {
        let ([x, y], [width, height]) = (place.map(short), size.map(short));
        self.put(format_args!(
            r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}" fill-opacity="{opacity:.2}"><title>{title}</title></rect>"#
        ));
    }

    /// Draws text, which is HTML already.
    pub(crate) fn text(&mut self, class: &str, [x, y]: [f64; 2], anchor: Anchor, text: &str) {
        let ([x, y], anchor) = ([x, y].map(short), anchor.attribute());
        self.put(format_args!(r#"<text class="{class}" x="{x}" y="{y}"{anchor}>{text}</text>"#));
    }

    /// Draws text that runs upwards.
    pub(crate) fn upright(&mut self, class: &str, [x, y]: [f64; 2], anchor: Anchor, text: &str) {
        let ([x, y], anchor) = ([x, y].map(short), anchor.attribute());
        self.put(format_args!(
            r#"<text class="{class}" transform="translate({x} {y})rotate(-90)"{anchor}>{text}</text>"#
        ));
    }

    pub(crate) fn mark(&mut self, class: &str, shape: Shape, [x, y]: [f64; 2]) {
        let [x, y] = [x, y].map(short);
        let outline = match shape {
            Shape::Circle => "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
            Shape::Square => "m-4-4h8v8h-8z",
            Shape::Diamond => "m0-5.5l5.5 5.5-5.5 5.5-5.5-5.5z",
        };
        self.put(format_args!(r#"<path class="{class}" d="M{x} {y}{outline}"/>"#));
    }

    /// Draws a line through points. Leaves out points too near to the last one to be seen.
    pub(crate) fn curve(&mut self, class: &str, points: impl IntoIterator<Item = [f64; 2]>) {
        let path = path(points, false);
        self.put(format_args!(r#"<path class="{class}" d="{path}"/>"#));
    }

    /// Draws steps through points, first along, then up or down. Thinned in the same way.
    pub(crate) fn steps(&mut self, class: &str, points: impl IntoIterator<Item = [f64; 2]>) {
        let path = path(points, true);
        self.put(format_args!(r#"<path class="{class}" d="{path}"/>"#));
    }
}

/// Minimum distance between the points of a curve, except for the last.
const NEAREST: f64 = 0.4;

fn path(points: impl IntoIterator<Item = [f64; 2]>, has_steps: bool) -> String {
    let (mut path, mut drawn, mut skipped) = (String::new(), None, None);
    let mut draw = |[x, y]: [f64; 2]| {
        let [x, y] = [x, y].map(short);
        let _ = match (path.is_empty(), has_steps) {
            (true, _) => write!(path, "M{x} {y}"),
            (_, true) => write!(path, "H{x}V{y}"),
            (_, false) => write!(path, "L{x} {y}"),
        };
    };
    for [x, y] in points {
        let is_near = |[x0, y0]: [f64; 2]| (x - x0).abs() < NEAREST && (y - y0).abs() < NEAREST;
        if drawn.is_some_and(is_near) {
            skipped = Some([x, y]);
            continue;
        }
        draw([x, y]);
        (drawn, skipped) = (Some([x, y]), None);
    }
    skipped.into_iter().for_each(draw);
    path
}

impl Anchor {
    fn attribute(self) -> &'static str {
        match self {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        }
    }
}

/// Rounds a coordinate to one decimal.
fn short(number: f64) -> f64 {
    let tenths = (10.0 * number).round();
    // no -0
    if tenths == 0.0 || !tenths.is_finite() { 0.0 } else { tenths / 10.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_thinned_to_what_can_be_seen() {
        let points = (0..=100_000).map(|i| [f64::from(i) / 1_000.0, 50.0]);
        let thin = path(points, false);
        assert!(thin.len() < 3_000, "{} bytes", thin.len());
        assert!(thin.starts_with("M0 50L0.4 50L") && thin.ends_with("L100 50"), "{thin}");
        assert_eq!(path([[0.0, 0.0], [0.1, 0.1], [5.0, 9.0]], true), "M0 0H5V9");
        assert_eq!(path([], true), "");
    }
}
