//! The costs of a threshold: ham lost and spam missed, by threshold.

use tamis_model::metrics::RocPoint;
use tamis_train::evaluate::OperatingPoint;

use crate::draw::axes::{self, ACROSS, Axis, BOTTOM, TOP, WIDTH, percent_tick, plain_tick};
use crate::draw::scale::Scale;
use crate::draw::svg::{Anchor, Svg};
use crate::figure::{Figure, Table};
use crate::figures::legend::{self, SHAPES, Sample};
use crate::figures::two::{Two, in_ten_thousand, marked};
use crate::text::{Name, Plain, count, nats, number, percent, share};

const HEIGHT: f64 = 360.0;

/// The width of a mark's name.
const NAME: f64 = 34.0;

/// Creates the figure. `curve` runs from the highest threshold to the lowest; `band` holds the thresholds in use.
pub(crate) fn costs(
    two: &Two<'_>,
    curve: &[RocPoint],
    points: &[OperatingPoint],
    band: Option<[f64; 2]>,
) -> Figure {
    Figure {
        title: "What a threshold costs".to_owned(),
        finding: finding(two, points),
        note: format!(
            "A document is called {} if its log-odds are above the threshold. Moving it to the right loses less {} and \
             misses more {}. The vertical axis is logarithmic; its lower edge is none.",
            Name(two.positive),
            Name(two.negative),
            Name(two.positive)
        ),
        description: format!(
            "Two curves over the threshold: {} falls to the right, {} rises.",
            two.plain_lost(),
            two.plain_missed()
        ),
        drawing: draw(two, curve, points, band),
        beside: None,
        tables: vec![table(two, points)],
        is_open: true,
    }
}

fn draw(two: &Two<'_>, curve: &[RocPoint], points: &[OperatingPoint], band: Option<[f64; 2]>) -> Svg {
    let ends = ends(two, curve, points, band);
    let lowest = 10f64.powf(share(1, two.negatives.max(two.positives)).log10().floor()).max(1e-6);
    let x = Scale::linear(ends, ACROSS);
    let y = Scale::logarithmic([lowest, 1.0], [HEIGHT - BOTTOM, TOP]);
    let mut svg = Svg::new(WIDTH, HEIGHT);
    if let Some([lower, upper]) = band {
        svg.rect("band", [x.at(lower), TOP], [x.at(upper) - x.at(lower), HEIGHT - BOTTOM - TOP]);
    }
    let name = format!("threshold: log-odds of {}, in nats", Plain(two.positive));
    let x_axis = Axis::new(x, name, 8.0, plain_tick);
    let y_axis = Axis::new(y, "share of its documents", 0.0, percent_tick);
    axes::draw(&mut svg, &x_axis, &y_axis);
    let lost = |point: Option<&RocPoint>| share(point.map_or(0, |p| p.false_positives), two.negatives);
    let missed = |point: Option<&RocPoint>| {
        let found = point.map_or(0, |p| p.true_positives);
        share(two.positives.saturating_sub(found), two.positives)
    };
    svg.steps("la", places(curve, [&x, &y], ends, lost));
    svg.steps("lb", places(curve, [&x, &y], ends, missed));
    let mut entries = vec![(Sample::Line("la"), two.plain_lost()), (Sample::Line("lb"), two.plain_missed())];
    entries.extend(draw_marks(&mut svg, two, points, [&x, &y]));
    if band.is_some_and(|[lower, upper]| lower < upper) {
        entries.push((Sample::Box("band"), "unsure, by the thresholds in use".to_owned()));
    }
    legend::draw(&mut svg, ACROSS[0], &entries);
    svg
}

/// Marks the costs of `points` on both curves. Returns the legend of the marks.
fn draw_marks(
    svg: &mut Svg,
    two: &Two<'_>,
    points: &[OperatingPoint],
    [x, y]: [&Scale; 2],
) -> Vec<(Sample, String)> {
    let (mut entries, mut before) = (Vec::new(), None::<f64>);
    for (point, shape) in marked(points).zip(SHAPES).filter(|(point, _)| point.threshold.is_finite()) {
        let at = x.at(point.threshold);
        svg.line("guide", [at, HEIGHT - BOTTOM], [at, TOP]);
        // a name that would overlap the one before is only in the legend
        if before.is_none_or(|before| (at - before).abs() > NAME) {
            svg.text("small", [at, TOP - 6.0], Anchor::Middle, &percent_tick(point.max_fpr));
            before = Some(at);
        }
        svg.mark("ma", shape, [at, y.at(share(point.false_positives, two.negatives))]);
        svg.mark("mb", shape, [at, y.at(share(point.missed, two.positives))]);
        let text = format!(
            "at {}: at most {} of {}",
            nats(point.threshold),
            percent_tick(point.max_fpr),
            two.plain_lost()
        );
        entries.push((Sample::Mark("ma", shape), text));
    }
    entries
}

/// The range of thresholds to draw: from the one that calls half the negatives positive to the one that misses half the
/// positives, extended to zero and the marks.
fn ends(two: &Two<'_>, curve: &[RocPoint], points: &[OperatingPoint], band: Option<[f64; 2]>) -> [f64; 2] {
    let half = |of: fn(&RocPoint) -> u64, all: u64| {
        let place = curve.partition_point(|point| of(point) <= all / 2);
        curve.get(place).map(|point| point.threshold)
    };
    let halves = [half(|p| p.false_positives, two.negatives), half(|p| p.true_positives, two.positives)];
    let marks = marked(points).map(|point| point.threshold).chain(band.into_iter().flatten());
    let all = halves.into_iter().flatten().chain(marks).chain([0.0]).filter(|end| end.is_finite());
    let [low, high] = all.fold([0.0, 0.0], |[low, high]: [f64; 2], end| [low.min(end), high.max(end)]);
    let margin = (0.04 * (high - low)).max(0.1);
    [low - margin, high + margin]
}

/// The places of a share over the thresholds between the ends. The share changes at each document's score.
fn places(
    curve: &[RocPoint],
    [x, y]: [&Scale; 2],
    [low, high]: [f64; 2],
    share: impl Fn(Option<&RocPoint>) -> f64,
) -> Vec<[f64; 2]> {
    // the documents above a threshold are counted by the last point above it
    let above = |threshold: f64| curve[..curve.partition_point(|p| p.threshold > threshold)].last();
    let within = curve.iter().rev().filter(|point| point.threshold > low && point.threshold < high);
    let steps = within.map(|point| [x.at(point.threshold), y.at(share(above(point.threshold)))]);
    let ends = [low, high].map(|end| [x.at(end), y.at(share(above(end)))]);
    [ends[0]].into_iter().chain(steps).chain([ends[1]]).collect()
}

fn finding(two: &Two<'_>, points: &[OperatingPoint]) -> Option<String> {
    let point = points.iter().find(|point| point.max_fpr == 0.001)?;
    let (lost, missed, limit) =
        (two.lost_at(point), two.missed_at(point), percent(point.false_positive_limit));
    Some(format!(
        "The threshold {} loses at most 1 in 1,000 {} here: {lost}, {missed}. On other documents it may be up to {limit} \
         (95 % confidence).",
        nats(point.threshold),
        Name(two.negative)
    ))
}

fn table(two: &Two<'_>, points: &[OperatingPoint]) -> Table {
    let row = |point: &OperatingPoint| {
        let probability = 1.0 / (1.0 + (-point.threshold).exp());
        let missed = share(point.missed, two.positives);
        vec![
            in_ten_thousand(point.max_fpr),
            number(point.threshold, &nats(point.threshold)),
            number(probability, &format!("{probability:.4}")),
            count(point.false_positives),
            number(point.false_positive_limit, &percent(point.false_positive_limit)),
            count(point.missed),
            number(missed, &percent(missed)),
        ]
    };
    let (lost, missed) = (two.lost(), two.missed());
    let head = [
        &format!("at most so many {lost}")[..],
        "threshold",
        "as probability",
        &lost,
        "95 % limit",
        &missed,
        "share",
    ];
    let caption = format!(
        "Operating points, on {} and {}",
        counted_of(two.negatives, two.negative),
        counted_of(two.positives, two.positive)
    );
    Table::new(caption, &head, points.iter().map(row).collect())
}

fn counted_of(n: u64, label: &str) -> String {
    format!("{} {}", crate::text::grouped(n), Name(label))
}
