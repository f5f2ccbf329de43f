//! Documents by log-odds: one class upwards, the other downwards.

use tamis_train::evaluate::LogOddsBin;

use crate::draw::{
    ACROSS, Anchor, Axis, BOTTOM, LegendKey, Scale, Svg, TOP, WIDTH, draw_legend, draw_x_axis, plain_tick,
};
use crate::figures::{Chart, DataTable};
use crate::text::{Name, count, grouped, nats};

const HEIGHT: f64 = 360.0;
const MIDDLE: f64 = (TOP + HEIGHT - BOTTOM) / 2.0;

/// Creates the figure for the log-odds of the second of two labels or, without labels, of the likeliest label. `band`
/// holds the thresholds in use.
pub(crate) fn log_odds(bins: &[LogOddsBin], labels: Option<[&str; 2]>, band: Option<[f64; 2]>) -> Chart {
    let labels = labels.map(|labels| labels.map(Name));
    Chart {
        title: match labels {
            Some([negative, positive]) => format!("Log-odds of {negative} and of {positive}"),
            None => "Log-odds of right and of wrong labels".to_owned(),
        },
        note: "Heights are logarithmic, so that single documents on the wrong side are seen. The outermost bars hold all \
               documents beyond."
            .to_owned(),
        description: match labels {
            Some([negative, positive]) => format!(
                "Numbers of documents by log-odds: bars of {negative} upwards, of {positive} downwards."
            ),
            None => "Numbers of documents by log-odds: labelled wrong upwards, right downwards.".to_owned(),
        },
        drawing: draw(bins, labels, band),
        tables: vec![table(bins, labels)],
        ..Chart::default()
    }
}

fn draw(bins: &[LogOddsBin], labels: Option<[Name<'_>; 2]>, band: Option<[f64; 2]>) -> Svg {
    let [first, last] = [bins.first().map_or(0.0, |bin| bin.high), bins.last().map_or(1.0, |bin| bin.low)];
    // the open-ended bins are as wide as the others
    let width = bins.get(1).map_or(1.0, |bin| if bin.high.is_finite() { bin.high - bin.low } else { 1.0 });
    let x = Scale::linear([first - width, last + width], ACROSS);
    let most = bins.iter().map(|bin| bin.negatives.max(bin.positives)).max().unwrap_or(0);
    let [up, down] = [TOP, HEIGHT - BOTTOM].map(|end| Scale::of_counts(most, [MIDDLE, end]));
    let mut svg = Svg::new(WIDTH, HEIGHT);
    if let Some([lower, upper]) = band {
        let top = [x.at(lower), TOP];
        svg.rect("band", top, [x.at(upper) - x.at(lower), HEIGHT - BOTTOM - TOP]);
    }
    let name = labels.map_or("log-odds of the likeliest label, in nats".to_owned(), |[_, positive]| {
        format!("log-odds of {positive}, in nats")
    });
    draw_x_axis(&mut svg, &Axis::new(x, name, 9.0, plain_tick), [HEIGHT - BOTTOM, TOP]);
    draw_heights(&mut svg, [up, down]);
    let colours = colours(labels);
    for bin in bins {
        let low = if bin.low.is_finite() { bin.low } else { bin.high - width };
        let (left, right) =
            (x.at(low) + 0.5, x.at(if bin.high.is_finite() { bin.high } else { low + width }) - 0.5);
        for (class, n, scale) in [(colours[0], bin.negatives, up), (colours[1], bin.positives, down)] {
            let end = scale.at(n as f64);
            svg.rect(class, [left, MIDDLE.min(end)], [right - left, (MIDDLE - end).abs()]);
        }
    }
    svg.line("axis", [ACROSS[0], MIDDLE], [ACROSS[1], MIDDLE]);
    draw_legend(&mut svg, &entries(labels, band));
    svg
}

/// Draws the axis of heights, which runs up and down from the middle.
fn draw_heights(svg: &mut Svg, scales: [Scale; 2]) {
    let tick = |n: f64| grouped(n as u64);
    let mut y_axis = Axis::new(scales[0], "documents (logarithmic)", 0.0, tick);
    for scale in scales {
        for (at, label) in y_axis.ticks.iter().map(|(n, label)| (scale.at(*n), label)) {
            svg.line("grid", [ACROSS[0], at], [ACROSS[1], at]);
            svg.text("tick", [ACROSS[0] - 6.0, at + 4.0], Anchor::End, label);
        }
        // labels zero only once
        y_axis.ticks.retain(|(n, _)| *n > 0.0);
    }
    svg.upright("name", [14.0, MIDDLE], Anchor::Middle, &y_axis.name);
}

/// The colours of the two directions: documents labelled right have the first colour, and so does ham.
fn colours(labels: Option<[Name<'_>; 2]>) -> [&'static str; 2] {
    if labels.is_some() { ["fa", "fb"] } else { ["fb", "fa"] }
}

fn entries(labels: Option<[Name<'_>; 2]>, band: Option<[f64; 2]>) -> Vec<(LegendKey, String)> {
    let [up, down] = match labels {
        Some(labels) => labels.map(|label| label.to_string()),
        None => ["the label is wrong", "the label is right"].map(str::to_owned),
    };
    let mut entries = vec![
        (LegendKey::Box(colours(labels)[0]), format!("upwards: {up}")),
        (LegendKey::Box(colours(labels)[1]), format!("downwards: {down}")),
    ];
    if let Some([lower, upper]) = band.filter(|[lower, upper]| lower < upper) {
        entries
            .push((LegendKey::Box("band"), format!("unsure: between {} and {}", nats(lower), nats(upper))));
    }
    entries
}

fn table(bins: &[LogOddsBin], labels: Option<[Name<'_>; 2]>) -> DataTable {
    let end = |end: f64| if end.is_finite() { plain_tick(end) } else { String::new() };
    let row =
        |bin: &LogOddsBin| vec![end(bin.low), end(bin.high), count(bin.negatives), count(bin.positives)];
    let names = match labels {
        Some(labels) => labels.map(|label| label.to_string()),
        None => ["wrong", "right"].map(str::to_owned),
    };
    let head = ["from", "to below", &names[0], &names[1]];
    DataTable::new("Documents by log-odds", &head, bins.iter().map(row).collect()).with_texts(0)
}
