//! Reliability: whether probabilities can be believed.

use tamis_train::evaluate::ReliabilityBin;

use crate::draw::{
    ACROSS, Anchor, Axis, LegendKey, MarkShape, Scale, Svg, TOP, WIDTH, draw_axes, draw_legend, plain_tick,
};
use crate::figures::{Chart, DataTable};
use crate::text::{Name, count, grouped, number, percent, percent_cell, share};

/// Where the plot of shares ends, where the histogram below it lies, and where the drawing ends.
const BOTTOM: f64 = 300.0;
const BARS: [f64; 2] = [450.0, 365.0];
const HEIGHT: f64 = 484.0;

/// Creates the figure for the probabilities of `label` or, without one, of the likeliest label.
pub(crate) fn reliability(bins: &[ReliabilityBin], label: Option<&str>) -> Chart {
    let what = label.map_or("were labelled right".to_owned(), |label| format!("were {}", Name(label)));
    let x = Scale::linear([-0.05, 1.05], ACROSS);
    let y = Scale::linear([0.0, 1.0], [BOTTOM, TOP]);
    let mut svg = Svg::new(WIDTH, HEIGHT);
    let name = match label {
        Some(label) => format!("probability of {} that was given", Name(label)),
        None => "probability that was given to the likeliest label".to_owned(),
    };
    let x_axis = Axis::new(x, "", 11.0, plain_tick);
    draw_axes(&mut svg, &x_axis, &Axis::new(y, format!("share that {what}"), 5.0, plain_tick));
    svg.line("lc", [x.at(0.0), y.at(0.0)], [x.at(1.0), y.at(1.0)]);
    let filled = || bins.iter().filter(|bin| bin.documents > 0);
    for bin in filled() {
        let (at, ends) = (x.at(bin.mean), [bin.interval.low, bin.interval.high].map(|end| y.at(end)));
        svg.line("bar", [at, ends[0]], [at, ends[1]]);
        ends.iter().for_each(|end| svg.line("bar", [at - 4.0, *end], [at + 4.0, *end]));
        svg.mark("mb", MarkShape::Circle, [at, y.at(share(bin.positives, bin.documents))]);
    }
    histogram(&mut svg, bins, &x, &name);
    let entries = [
        (
            LegendKey::Mark("mb", MarkShape::Circle),
            format!("documents of about this probability that {what}"),
        ),
        (LegendKey::Line("bar"), "95 % interval (Wilson)".to_owned()),
        (LegendKey::Line("lc"), "where the points would lie if probabilities were exact".to_owned()),
    ];
    draw_legend(&mut svg, &entries);
    Chart {
        title: "What probabilities are worth (reliability)".to_owned(),
        finding: filled().find(|bin| bin.low < 0.9 && 0.9 < bin.high).map(|bin| finding(bin, &what)),
        note: "Below the plot, the number of documents of each probability (heights are logarithmic): where they are few, \
               the intervals are wide."
            .to_owned(),
        description: format!("Points of the share of documents that {what}, over their probability, with intervals."),
        drawing: svg,
        tables: vec![table(bins, label)],
        ..Chart::default()
    }
}

fn histogram(svg: &mut Svg, bins: &[ReliabilityBin], x: &Scale, name: &str) {
    let most = bins.iter().map(|bin| bin.documents).max().unwrap_or(0);
    let heights = Scale::of_counts(most, BARS);
    for bin in bins.iter().filter(|bin| bin.documents > 0) {
        let (left, right, top) =
            (x.at(bin.low) + 2.0, x.at(bin.high) - 2.0, heights.at(bin.documents as f64));
        svg.rect("fc", [left, top], [right - left, BARS[0] - top]);
        let middle = (left + right) / 2.0;
        svg.text("small", [middle, top - 4.0], Anchor::Middle, &grouped(bin.documents));
    }
    let [left, right] = x.ends();
    svg.line("axis", [left, BARS[0]], [right, BARS[0]]);
    svg.text("name", [(left + right) / 2.0, BARS[0] + 18.0], Anchor::Middle, name);
    svg.upright("name", [14.0, (BARS[0] + BARS[1]) / 2.0], Anchor::Middle, "documents");
}

/// A sentence on the documents with probabilities around 0.9.
fn finding(bin: &ReliabilityBin, what: &str) -> String {
    let [documents, positives] = [bin.documents, bin.positives].map(grouped);
    let part = share(bin.positives, bin.documents);
    let [low, high] = [bin.interval.low, bin.interval.high];
    let verdict = match bin.mean - part {
        _ if high - low > 0.3 => "too few to tell what 0.9 is worth",
        _ if low <= bin.mean && bin.mean <= high => "0.9 can be believed here",
        beyond if beyond > 0.05 => "0.9 is too high here",
        beyond if beyond > 0.0 => "0.9 can nearly be believed here, it is a little too high",
        beyond if beyond > -0.05 => "0.9 can be believed here, it is a little too low",
        _ => "0.9 is too low here",
    };
    let [part, low, high] = [part, low, high].map(percent);
    format!(
        "Of {documents} documents given about 0.9 (0.85 to 0.95), {positives} {what}: {part} ({low} to {high}); {verdict}."
    )
}

fn table(bins: &[ReliabilityBin], label: Option<&str>) -> DataTable {
    let row = |bin: &ReliabilityBin| {
        let unless_empty = |cell: String| if bin.documents == 0 { String::new() } else { cell };
        vec![
            format!("{:.2} to {:.2}", bin.low, bin.high),
            count(bin.documents),
            unless_empty(number(bin.mean, &format!("{:.4}", bin.mean))),
            count(bin.positives),
            unless_empty(percent_cell(share(bin.positives, bin.documents))),
            unless_empty(percent_cell(bin.interval.low)),
            unless_empty(percent_cell(bin.interval.high)),
        ]
    };
    let what = label.map_or("right".to_owned(), |label| Name(label).to_string());
    let head = ["probability", "documents", "mean", &what, "share", "from", "to (95 %)"];
    DataTable::new("Documents by probability", &head, bins.iter().map(row).collect())
}
