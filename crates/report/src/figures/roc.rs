//! The ROC curve, with a logarithmic axis: for a filter, what happens below 1 % of ham lost matters most.

use tamis_model::metrics::RocPoint;
use tamis_train::evaluate::OperatingPoint;

use crate::draw::axes::{self, ACROSS, Axis, BOTTOM, TOP, WIDTH, percent_tick};
use crate::draw::scale::Scale;
use crate::draw::svg::{Anchor, Svg};
use crate::figure::{Figure, Table};
use crate::figures::legend::{self, SHAPES, Sample};
use crate::figures::two::{Two, marked};
use crate::text::{Name, Plain, count, number, percent, share};

const HEIGHT: f64 = 360.0;

/// Creates the figure. `curve` runs from the highest threshold to the lowest.
pub(crate) fn roc(two: &Two<'_>, curve: &[RocPoint], points: &[OperatingPoint]) -> Figure {
    let rate = |false_positives: u64| share(false_positives, two.negatives);
    let found = |true_positives: u64| share(true_positives, two.positives);
    // zero false positives have no place on a logarithmic axis: they go to the left edge
    let lowest = 10f64.powf(rate(1).log10().floor()).clamp(1e-6, 1e-3);
    let n_clean = curve.iter().take_while(|point| point.false_positives == 0).count();
    let clean = n_clean.checked_sub(1).map_or(0, |last| curve[last].true_positives);
    let least = ((found(clean) * 10.0).floor() / 10.0).min(0.9);
    let x = Scale::logarithmic([lowest, 1.0], ACROSS);
    let y = Scale::linear([least, 1.0], [HEIGHT - BOTTOM, TOP]);
    let place = |fpr: f64, tpr: f64| [x.at(fpr), y.at(tpr)];

    let mut svg = Svg::new(WIDTH, HEIGHT);
    let x_axis = Axis::new(x, format!("share of {}", two.plain_lost()), 0.0, percent_tick);
    let y_axis = Axis::new(y, format!("share of {} found", Plain(two.positive)), 5.0, percent_tick);
    axes::draw(&mut svg, &x_axis, &y_axis);
    let drawn = curve[n_clean..].iter().map(|p| place(rate(p.false_positives), found(p.true_positives)));
    svg.steps("la", std::iter::once(place(lowest, found(clean))).chain(drawn));
    let entries = draw_marks(&mut svg, two, points, [&x, &y]);
    legend::draw(&mut svg, ACROSS[0], &entries);
    Figure {
        title: format!("How much {} is found (ROC curve)", Name(two.positive)),
        finding: finding(two, points),
        note: format!(
            "Further up is better: more {} found. Further left is safer: less {}. The axis of the share lost is \
             logarithmic; its left edge is none. The vertical axis begins at {}.",
            Name(two.positive),
            two.lost(),
            percent_tick(least)
        ),
        description: format!(
            "A curve that rises from {} at the left, where no document is called {} wrongly, to 100 % at the right, \
             with marks at 0.1, 0.5 and 1 %.",
            percent(found(clean)),
            Plain(two.positive)
        ),
        drawing: svg,
        beside: None,
        tables: vec![table(two, points)],
        is_open: false,
    }
}

/// Marks points of the curve. Returns the legend of the marks.
fn draw_marks(
    svg: &mut Svg,
    two: &Two<'_>,
    points: &[OperatingPoint],
    [x, y]: [&Scale; 2],
) -> Vec<(Sample, String)> {
    let mut entries = Vec::new();
    for (point, shape) in marked(points).zip(SHAPES) {
        let [at, height] = [x.at(point.max_fpr), y.at(two.found(point))];
        svg.line("guide", [at, HEIGHT - BOTTOM], [at, TOP]);
        svg.mark("mb", shape, [at, height]);
        svg.text("small", [at, TOP - 6.0], Anchor::Middle, &percent_tick(point.max_fpr));
        let (most, found) = (percent_tick(point.max_fpr), percent(two.found(point)));
        let text =
            format!("at most {most} of {}: {found} of {} found", two.plain_lost(), Plain(two.positive));
        entries.push((Sample::Mark("mb", shape), text));
    }
    entries
}

fn finding(two: &Two<'_>, points: &[OperatingPoint]) -> Option<String> {
    let point = points.iter().find(|point| point.max_fpr == 0.001)?;
    let found = percent(two.found(point));
    Some(format!("{found} of {} is found with at most 1 in 1,000 {}.", Name(two.positive), two.lost()))
}

fn table(two: &Two<'_>, points: &[OperatingPoint]) -> Table {
    let row = |point: &OperatingPoint| {
        let rate = share(point.false_positives, two.negatives);
        let caught = two.positives - point.missed.min(two.positives);
        vec![
            percent_tick(point.max_fpr),
            count(point.false_positives),
            number(rate, &percent(rate)),
            count(caught),
            number(two.found(point), &percent(two.found(point))),
        ]
    };
    let (lost, found) = (two.lost(), format!("{} found", Name(two.positive)));
    let head = ["at most", &lost, "share", &found, "share"];
    Table::new("Points of the curve", &head, points.iter().map(row).collect())
}
