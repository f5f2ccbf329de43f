//! Named bars from a common line: values above zero go to the right, values below to the left.

use crate::draw::{Anchor, Svg, WIDTH};
use crate::figures::{Chart, DataTable};
use crate::text::{Name, cut, width};

/// A bar: its name, its value, and the value as text. Texts are HTML without elements.
pub(crate) struct Bar {
    pub(crate) name: String,
    /// `None` for a sum, which would dwarf the other bars.
    pub(crate) value: Option<f64>,
    pub(crate) shown: String,
}

const ROW: f64 = 21.0;
const NUMBERS: f64 = 76.0;
/// The minimum width of the bars.
const LEAST: f64 = 160.0;

/// Maximum length of a name in characters, and the width of a character.
const LONGEST: usize = 36;
const CHARACTER: f64 = 7.6;

/// The colours of values above zero and below.
pub(crate) const PLAIN: [&str; 2] = ["fa", "fb"];
pub(crate) const FOR_SPAM: [&str; 2] = ["fb", "fa"];

/// Maximum number of labels with a bar each.
pub(crate) const MOST_LABELS: usize = 60;

impl Bar {
    /// Escapes the name of the bar and cuts it to what has room.
    pub(crate) fn new(name: &str, value: f64, shown: String) -> Self {
        Bar { name: Name(&cut(name, LONGEST)).to_string(), value: Some(value), shown }
    }
}

/// Creates the chart of bars and a table of their numbers.
pub(crate) fn chart(title: impl Into<String>, bars: &[Bar], colours: [&str; 2], table: DataTable) -> Chart {
    Chart { title: title.into(), drawing: draw(bars, colours), tables: vec![table], ..Chart::default() }
}

/// Draws bars one below the other. Infinite bars reach the edge.
fn draw(bars: &[Bar], colours: [&str; 2]) -> Svg {
    let names = CHARACTER * bars.iter().map(|bar| width(&bar.name)).fold(0.0, f64::max) + 14.0;
    // names never take room from the bars
    let wide = WIDTH.max(names + NUMBERS + LEAST);
    let values = || bars.iter().filter_map(|bar| bar.value);
    let finite = values().filter(|value| value.is_finite());
    let [low, high] = finite.fold([0.0, 0.0], |[low, high]: [f64; 2], v| [low.min(v), high.max(v)]);
    let is_below = |value: f64| value < 0.0 || value.is_nan();
    let has = |below: bool| values().any(|value| is_below(value) == below && value != 0.0);
    let longest = if high - low > 0.0 { high.max(-low) } else { 1.0 };
    let below = if has(true) { (-low).max(longest / 8.0) } else { 0.0 };
    let above = if has(false) { high.max(longest / 8.0) } else { longest / 8.0 };
    let height = 8.0 + ROW * bars.len() as f64;
    let mut svg = Svg::new(wide, height);
    let (left, right) = (names, wide - NUMBERS);
    let per_unit = (right - left) / (below + above);
    let zero = left + below * per_unit;
    for (n, bar) in bars.iter().enumerate() {
        let middle = 4.0 + ROW * (n as f64 + 0.5);
        svg.text("key", [names - 10.0, middle + 4.0], Anchor::End, &bar.name);
        svg.text("small", [wide, middle + 4.0], Anchor::End, &bar.shown);
        let Some(value) = bar.value else { continue };
        let end = match value {
            value if value.is_finite() => zero + value * per_unit,
            value if is_below(value) => left,
            _ => right,
        };
        let colour = colours[usize::from(is_below(value))];
        svg.rect(colour, [zero.min(end), middle - 6.5], [(zero - end).abs(), 13.0]);
    }
    svg.line("axis", [zero, 2.0], [zero, height - 2.0]);
    svg
}
