//! A plot: two axes with their ticks, and the space between them.

use crate::draw::scale::Scale;
use crate::draw::svg::{Anchor, Svg};

/// The width of a plot, and the margins that hold ticks and the names of axes.
pub(crate) const WIDTH: f64 = 640.0;
pub(crate) const LEFT: f64 = 66.0;
pub(crate) const RIGHT: f64 = 18.0;
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
pub(crate) fn draw(svg: &mut Svg, x: &Axis, y: &Axis) {
    draw_x(svg, x, y.scale.ends());
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
pub(crate) fn draw_x(svg: &mut Svg, x: &Axis, [bottom, top]: [f64; 2]) {
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
