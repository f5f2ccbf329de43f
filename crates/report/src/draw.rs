//! Drawings: scales, axes, marks and legends, as SVG. Pure functions of numbers, so equal figures are equal bytes.

use std::fmt::Write;

/// A drawing with its width and height, in units that are pixels unless the page is narrower.
#[derive(Default)]
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
pub(crate) enum MarkShape {
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

    pub(crate) fn mark(&mut self, class: &str, shape: MarkShape, [x, y]: [f64; 2]) {
        let [x, y] = [x, y].map(short);
        let outline = match shape {
            MarkShape::Circle => "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
            MarkShape::Square => "m-4-4h8v8h-8z",
            MarkShape::Diamond => "m0-5.5l5.5 5.5-5.5 5.5-5.5-5.5z",
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

/// Maps the numbers from `low` to `high` to the places from `start` to `end`. Numbers outside go to the nearer end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    kind: ScaleKind,
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum ScaleKind {
    Linear,
    Logarithmic,
    /// The logarithm of the count plus one, for counts from 0.
    OfCounts,
}

impl Scale {
    pub(crate) fn linear([low, high]: [f64; 2], [start, end]: [f64; 2]) -> Self {
        Scale { kind: ScaleKind::Linear, low, high: if high > low { high } else { low + 1.0 }, start, end }
    }

    /// Creates a logarithmic scale, for numbers above 0.
    pub(crate) fn logarithmic([low, high]: [f64; 2], [start, end]: [f64; 2]) -> Self {
        let high = if high > low { high } else { 10.0 * low };
        Scale { kind: ScaleKind::Logarithmic, low, high, start, end }
    }

    pub(crate) fn of_counts(highest: u64, [start, end]: [f64; 2]) -> Self {
        Scale { kind: ScaleKind::OfCounts, low: 0.0, high: highest.max(1) as f64, start, end }
    }

    pub(crate) fn at(&self, number: f64) -> f64 {
        let number = number.clamp(self.low, self.high);
        let part = match self.kind {
            ScaleKind::Linear => (number - self.low) / (self.high - self.low),
            ScaleKind::Logarithmic => (number / self.low).ln() / (self.high / self.low).ln(),
            ScaleKind::OfCounts => number.ln_1p() / self.high.ln_1p(),
        };
        self.start + part * (self.end - self.start)
    }

    pub(crate) fn ends(&self) -> [f64; 2] {
        [self.start, self.end]
    }

    /// Round numbers along the scale: powers of ten, or multiples of a step that yields about `wanted` of them.
    pub(crate) fn ticks(&self, wanted: f64) -> Vec<f64> {
        match self.kind {
            ScaleKind::Linear => {
                let step = round_up((self.high - self.low) / wanted);
                let (first, last) =
                    ((self.low / step - 1e-9).ceil() as i64, (self.high / step + 1e-9).floor() as i64);
                (first..=last).map(|n| tidy(n as f64 * step)).collect()
            }
            ScaleKind::Logarithmic => {
                let (first, last) =
                    ((self.low.log10() - 1e-9).ceil() as i32, (self.high.log10() + 1e-9).floor() as i32);
                (first..=last).map(|power| tidy(10f64.powi(power))).collect()
            }
            ScaleKind::OfCounts => {
                let powers = (0..20).map(|power| 10f64.powi(power)).take_while(|tick| *tick <= self.high);
                std::iter::once(0.0).chain(powers).collect()
            }
        }
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is at least `number`, which must be above 0.
fn round_up(number: f64) -> f64 {
    let power = 10f64.powf(number.log10().floor());
    let rounds = [1.0, 2.0, 5.0, 10.0].map(|times| times * power);
    rounds.into_iter().find(|round| *round >= number * (1.0 - 1e-9)).unwrap_or(rounds[3])
}

/// Rounds off the last digits, where binary fractions differ from decimal ones.
fn tidy(number: f64) -> f64 {
    format!("{number:.12e}").parse().unwrap_or(number)
}

/// The width of a plot, and the margins that hold ticks and the names of axes.
pub(crate) const WIDTH: f64 = 640.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 18.0;
pub(crate) const TOP: f64 = 18.0;
pub(crate) const BOTTOM: f64 = 48.0;

/// The ends of a horizontal axis.
pub(crate) const ACROSS: [f64; 2] = [LEFT, WIDTH - RIGHT];

/// An axis: its scale, its name, and its ticks with their labels.
pub(crate) struct Axis {
    pub(crate) scale: Scale,
    pub(crate) name: String,
    pub(crate) ticks: Vec<(f64, String)>,
}

impl Axis {
    /// Creates an axis with about `wanted` round ticks, which `label` names. `name` is HTML.
    pub(crate) fn new(
        scale: Scale,
        name: impl Into<String>,
        wanted: f64,
        label: impl Fn(f64) -> String,
    ) -> Self {
        let ticks = scale.ticks(wanted).into_iter().map(|tick| (tick, label(tick))).collect();
        Axis { scale, name: name.into(), ticks }
    }
}

/// Draws both axes.
pub(crate) fn draw_axes(svg: &mut Svg, x: &Axis, y: &Axis) {
    draw_x_axis(svg, x, y.scale.ends());
    let ([left, right], [bottom, top]) = (x.scale.ends(), y.scale.ends());
    for (tick, label) in &y.ticks {
        let at = y.scale.at(*tick);
        svg.line("grid", [left, at], [right, at]);
        svg.text("tick", [left - 6.0, at + 4.0], Anchor::End, label);
    }
    svg.line("axis", [left, bottom], [left, top]);
    svg.upright("name", [14.0, (bottom + top) / 2.0], Anchor::Middle, &y.name);
}

/// Draws the horizontal axis of a plot that reaches from `bottom` to `top`.
pub(crate) fn draw_x_axis(svg: &mut Svg, x: &Axis, [bottom, top]: [f64; 2]) {
    let [left, right] = x.scale.ends();
    for (tick, label) in &x.ticks {
        let at = x.scale.at(*tick);
        svg.line("grid", [at, bottom], [at, top]);
        svg.text("tick", [at, bottom + 16.0], Anchor::Middle, label);
    }
    svg.line("axis", [left, bottom], [right, bottom]);
    svg.text("name", [(left + right) / 2.0, bottom + 36.0], Anchor::Middle, &x.name);
}

/// The label of a tick at a share: `0.1 %`.
pub(crate) fn percent_tick(share: f64) -> String {
    format!("{}\u{a0}%", plain_tick(100.0 * share))
}

/// The label of a tick, without trailing zeros and with a typographic minus sign.
pub(crate) fn plain_tick(number: f64) -> String {
    let text = format!("{number:.9}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.replace('-', "\u{2212}") }
}

/// How an entry is drawn.
pub(crate) enum LegendKey {
    Line(&'static str),
    Mark(&'static str, MarkShape),
    Box(&'static str),
}

/// The height of a row.
const LEGEND_ROW: f64 = 19.0;

/// The shapes of the marks of a curve.
pub(crate) const MARK_SHAPES: [MarkShape; 3] = [MarkShape::Circle, MarkShape::Square, MarkShape::Diamond];

/// Draws the entries of a legend below the drawing so far, and makes the drawing higher by their rows. Texts are HTML
/// without elements.
pub(crate) fn draw_legend(svg: &mut Svg, entries: &[(LegendKey, String)]) {
    let left = ACROSS[0];
    for (sample, text) in entries {
        let middle = svg.height + LEGEND_ROW / 2.0 - 4.0;
        match sample {
            LegendKey::Line(class) => svg.line(class, [left, middle], [left + 28.0, middle]),
            LegendKey::Mark(class, shape) => svg.mark(class, *shape, [left + 14.0, middle]),
            LegendKey::Box(class) => svg.rect(class, [left + 4.0, middle - 5.0], [20.0, 10.0]),
        }
        svg.text("key", [left + 36.0, middle + 4.0], Anchor::Start, text);
        svg.height += LEGEND_ROW;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_places() {
        let linear = Scale::linear([0.0, 10.0], [100.0, 0.0]);
        assert_eq!(
            [0.0, 5.0, 10.0, 99.0, f64::NEG_INFINITY].map(|n| linear.at(n)),
            [100.0, 50.0, 0.0, 0.0, 100.0]
        );
        let log = Scale::logarithmic([0.001, 1.0], [0.0, 300.0]);
        assert!((log.at(0.01) - 100.0).abs() < 1e-9 && log.at(0.0) == 0.0);
        let counts = Scale::of_counts(999, [0.0, 90.0]);
        assert!((counts.at(9.0) - 30.0).abs() < 1e-9 && counts.at(0.0) == 0.0);
        // the range is empty
        assert!(Scale::linear([3.0, 3.0], [0.0, 1.0]).at(3.0).is_finite());
        assert!(Scale::of_counts(0, [0.0, 1.0]).at(0.0) == 0.0);
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(Scale::linear([-2.3, 4.1], [0.0, 1.0]).ticks(7.0), [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(Scale::linear([0.7, 1.0], [0.0, 1.0]).ticks(3.0), [0.7, 0.8, 0.9, 1.0]);
        assert_eq!(Scale::logarithmic([0.0005, 1.0], [0.0, 1.0]).ticks(0.0), [0.001, 0.01, 0.1, 1.0]);
        assert_eq!(Scale::of_counts(1_234, [0.0, 1.0]).ticks(0.0), [0.0, 1.0, 10.0, 100.0, 1_000.0]);
    }

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
