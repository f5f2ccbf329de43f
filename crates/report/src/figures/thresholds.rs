//! What thresholds between two classes cost: the documents lost and missed by threshold, and the ROC curve. Its axis is
//! logarithmic: for a filter, what happens below 1 % of ham lost matters most.

use tamis_model::metrics::RocPoint;
use tamis_train::evaluate::OperatingPoint;

use crate::draw::{
    ACROSS, Anchor, Axis, BOTTOM, LegendKey, MARK_SHAPES, Scale, Svg, TOP, WIDTH, draw_axes, draw_legend,
    percent_tick, plain_tick,
};
use crate::figures::{Chart, DataTable};
use crate::text::{Name, count, grouped, nats, nats_cell, number, percent, percent_cell, share};

const HEIGHT: f64 = 360.0;

/// The width of a mark's name.
const NAME: f64 = 34.0;

/// The thresholds between two classes. The positive class is looked for.
pub(crate) struct ThresholdCharts<'a> {
    pub(crate) negative: Name<'a>,
    pub(crate) positive: Name<'a>,
    pub(crate) negatives: u64,
    pub(crate) positives: u64,
    /// Whether the positive class is spam.
    pub(crate) is_spam: bool,
    /// The ROC curve, from the highest threshold to the lowest.
    pub(crate) curve: &'a [RocPoint],
    pub(crate) points: &'a [OperatingPoint],
    /// The thresholds in use.
    pub(crate) band: Option<[f64; 2]>,
}

impl ThresholdCharts<'_> {
    /// The name of false positives: `ham lost`.
    fn lost(&self) -> String {
        let ThresholdCharts { negative, positive, .. } = self;
        if self.is_spam { format!("{negative} lost") } else { format!("{negative} called {positive}") }
    }

    /// The name of false negatives: `spam missed`.
    fn missed(&self) -> String {
        format!("{} missed", self.positive)
    }

    /// The share of positives that is found at an operating point.
    fn found(&self, point: &OperatingPoint) -> f64 {
        share(self.positives - point.missed.min(self.positives), self.positives)
    }

    /// The operating points that curves mark: at 0.1, 0.5 and 1 % of the negatives.
    fn marked(&self) -> impl Iterator<Item = &OperatingPoint> {
        self.points.iter().filter(|point| [0.001, 0.005, 0.01].contains(&point.max_fpr))
    }

    /// The operating point that findings are about: at most 1 in 1,000 negatives are lost.
    fn main_point(&self) -> Option<&OperatingPoint> {
        self.points.iter().find(|point| point.max_fpr == 0.001)
    }

    /// Creates the figure of the documents lost and missed by threshold.
    pub(crate) fn costs(&self) -> Chart {
        let ThresholdCharts { negative, positive, .. } = self;
        let (lost, missed) = (self.lost(), self.missed());
        Chart {
            title: "What a threshold costs".to_owned(),
            finding: self.main_point().map(|point| self.cost_of(point)),
            note: format!(
                "A document is called {positive} if its log-odds are above the threshold. Moving it to the right loses \
                 less {negative} and misses more {positive}. The vertical axis is logarithmic; its lower edge is none."
            ),
            description: format!("Two curves over the threshold: {lost} falls to the right, {missed} rises."),
            drawing: self.draw_costs(),
            tables: vec![self.cost_table()],
            is_open: true,
            ..Chart::default()
        }
    }

    /// `The threshold +1.2 loses at most 1 in 1,000 ham here: 4 of 4,150 ham lost, 132 of 1,897 spam missed (6.96 %).`
    fn cost_of(&self, point: &OperatingPoint) -> String {
        let (threshold, negative, lost, missed) =
            (nats(point.threshold), self.negative, self.lost(), self.missed());
        let [n_lost, negatives, n_missed, positives] =
            [point.false_positives, self.negatives, point.missed, self.positives].map(grouped);
        let [share, limit] = [share(point.missed, self.positives), point.false_positive_limit].map(percent);
        format!(
            "The threshold {threshold} loses at most 1 in 1,000 {negative} here: {n_lost} of {negatives} {lost}, {n_missed} \
             of {positives} {missed} ({share}). On other documents it may be up to {limit} (95 % confidence)."
        )
    }

    fn draw_costs(&self) -> Svg {
        let ends = self.ends();
        let lowest = 10f64.powf(share(1, self.negatives.max(self.positives)).log10().floor()).max(1e-6);
        let x = Scale::linear(ends, ACROSS);
        let y = Scale::logarithmic([lowest, 1.0], [HEIGHT - BOTTOM, TOP]);
        let mut svg = Svg::new(WIDTH, HEIGHT);
        if let Some([lower, upper]) = self.band {
            svg.rect("band", [x.at(lower), TOP], [x.at(upper) - x.at(lower), HEIGHT - BOTTOM - TOP]);
        }
        let name = format!("threshold: log-odds of {}, in nats", self.positive);
        let x_axis = Axis::new(x, name, 8.0, plain_tick);
        let y_axis = Axis::new(y, "share of its documents", 0.0, percent_tick);
        draw_axes(&mut svg, &x_axis, &y_axis);
        let lost = |point: Option<&RocPoint>| share(point.map_or(0, |p| p.false_positives), self.negatives);
        let missed = |point: Option<&RocPoint>| {
            let found = point.map_or(0, |p| p.true_positives);
            share(self.positives.saturating_sub(found), self.positives)
        };
        svg.steps("la", self.places([&x, &y], ends, lost));
        svg.steps("lb", self.places([&x, &y], ends, missed));
        let mut entries = vec![(LegendKey::Line("la"), self.lost()), (LegendKey::Line("lb"), self.missed())];
        entries.extend(self.mark_costs(&mut svg, [&x, &y]));
        if self.band.is_some_and(|[lower, upper]| lower < upper) {
            entries.push((LegendKey::Box("band"), "unsure, by the thresholds in use".to_owned()));
        }
        draw_legend(&mut svg, &entries);
        svg
    }

    /// Marks the costs of operating points on both curves. Returns the legend of the marks.
    fn mark_costs(&self, svg: &mut Svg, [x, y]: [&Scale; 2]) -> Vec<(LegendKey, String)> {
        let (mut entries, mut before) = (Vec::new(), None::<f64>);
        let finite = self.marked().zip(MARK_SHAPES).filter(|(point, _)| point.threshold.is_finite());
        for (point, shape) in finite {
            let (at, most) = (x.at(point.threshold), percent_tick(point.max_fpr));
            svg.line("guide", [at, HEIGHT - BOTTOM], [at, TOP]);
            // a name that would overlap the one before is only in the legend
            if before.is_none_or(|before| (at - before).abs() > NAME) {
                svg.text("small", [at, TOP - 6.0], Anchor::Middle, &most);
                before = Some(at);
            }
            svg.mark("ma", shape, [at, y.at(share(point.false_positives, self.negatives))]);
            svg.mark("mb", shape, [at, y.at(share(point.missed, self.positives))]);
            let text = format!("at {}: at most {most} of {}", nats(point.threshold), self.lost());
            entries.push((LegendKey::Mark("ma", shape), text));
        }
        entries
    }

    /// The range of thresholds to draw: from the one that calls half the negatives positive to the one that misses half
    /// the positives, extended to zero and the marks.
    fn ends(&self) -> [f64; 2] {
        let half = |of: fn(&RocPoint) -> u64, all: u64| {
            let place = self.curve.partition_point(|point| of(point) <= all / 2);
            self.curve.get(place).map(|point| point.threshold)
        };
        let halves =
            [half(|p| p.false_positives, self.negatives), half(|p| p.true_positives, self.positives)];
        let marks = self.marked().map(|point| point.threshold).chain(self.band.into_iter().flatten());
        let all = halves.into_iter().flatten().chain(marks).filter(|end| end.is_finite());
        let [low, high] = all.fold([0.0, 0.0], |[low, high]: [f64; 2], end| [low.min(end), high.max(end)]);
        let margin = (0.04 * (high - low)).max(0.1);
        [low - margin, high + margin]
    }

    /// The places of a share over the thresholds between the ends. The share changes at each document's score.
    fn places(
        &self,
        [x, y]: [&Scale; 2],
        [low, high]: [f64; 2],
        share: impl Fn(Option<&RocPoint>) -> f64,
    ) -> Vec<[f64; 2]> {
        // the documents above a threshold are counted by the last point above it
        let n_above = |threshold: f64| self.curve.partition_point(|point| point.threshold > threshold);
        let place = |threshold: f64| [x.at(threshold), y.at(share(self.curve[..n_above(threshold)].last()))];
        let thresholds = self.curve.iter().rev().map(|point| point.threshold);
        let within = thresholds.filter(|threshold| *threshold > low && *threshold < high);
        std::iter::once(low).chain(within).chain([high]).map(place).collect()
    }

    fn cost_table(&self) -> DataTable {
        let row = |point: &OperatingPoint| {
            let probability = 1.0 / (1.0 + (-point.threshold).exp());
            vec![
                format!("{} in 10,000", grouped((10_000.0 * point.max_fpr).round() as u64)),
                nats_cell(point.threshold),
                number(probability, &format!("{probability:.4}")),
                count(point.false_positives),
                percent_cell(point.false_positive_limit),
                count(point.missed),
                percent_cell(share(point.missed, self.positives)),
            ]
        };
        let (lost, missed) = (self.lost(), self.missed());
        let most = format!("at most so many {lost}");
        let head = [&most, "threshold", "as probability", &lost, "95 % limit", &missed, "share"];
        let ThresholdCharts { negative, positive, .. } = self;
        let [negatives, positives] = [self.negatives, self.positives].map(grouped);
        let caption = format!("Operating points, on {negatives} {negative} and {positives} {positive}");
        DataTable::new(caption, &head, self.points.iter().map(row).collect())
    }

    /// Creates the figure of the ROC curve.
    pub(crate) fn roc(&self) -> Chart {
        let (positive, lost) = (self.positive, self.lost());
        let rate = |false_positives: u64| share(false_positives, self.negatives);
        let found = |true_positives: u64| share(true_positives, self.positives);
        // zero false positives have no place on a logarithmic axis: they go to the left edge
        let lowest = 10f64.powf(rate(1).log10().floor()).clamp(1e-6, 1e-3);
        let n_clean = self.curve.iter().take_while(|point| point.false_positives == 0).count();
        let clean = n_clean.checked_sub(1).map_or(0, |last| self.curve[last].true_positives);
        let least = ((found(clean) * 10.0).floor() / 10.0).min(0.9);
        let x = Scale::logarithmic([lowest, 1.0], ACROSS);
        let y = Scale::linear([least, 1.0], [HEIGHT - BOTTOM, TOP]);
        let place = |fpr: f64, tpr: f64| [x.at(fpr), y.at(tpr)];

        let mut svg = Svg::new(WIDTH, HEIGHT);
        let x_axis = Axis::new(x, format!("share of {lost}"), 0.0, percent_tick);
        let y_axis = Axis::new(y, format!("share of {positive} found"), 5.0, percent_tick);
        draw_axes(&mut svg, &x_axis, &y_axis);
        let drawn = self.curve[n_clean..].iter();
        let drawn = drawn.map(|p| place(rate(p.false_positives), found(p.true_positives)));
        svg.steps("la", std::iter::once(place(lowest, found(clean))).chain(drawn));
        let entries = self.mark_roc(&mut svg, [&x, &y]);
        draw_legend(&mut svg, &entries);
        let finding = |point: &OperatingPoint| {
            let found = percent(self.found(point));
            format!("{found} of {positive} is found with at most 1 in 1,000 {lost}.")
        };
        Chart {
            title: format!("How much {positive} is found (ROC curve)"),
            finding: self.main_point().map(finding),
            note: format!(
                "Further up is better: more {positive} found. Further left is safer: less {lost}. The axis of the share \
                 lost is logarithmic; its left edge is none. The vertical axis begins at {}.",
                percent_tick(least)
            ),
            description: format!(
                "A curve that rises from {} at the left, where no document is called {positive} wrongly, to 100 % at the \
                 right, with marks at 0.1, 0.5 and 1 %.",
                percent(found(clean))
            ),
            drawing: svg,
            tables: vec![self.roc_table()],
            ..Chart::default()
        }
    }

    /// Marks operating points of the ROC curve. Returns the legend of the marks.
    fn mark_roc(&self, svg: &mut Svg, [x, y]: [&Scale; 2]) -> Vec<(LegendKey, String)> {
        let mut entries = Vec::new();
        for (point, shape) in self.marked().zip(MARK_SHAPES) {
            let [at, height] = [x.at(point.max_fpr), y.at(self.found(point))];
            svg.line("guide", [at, HEIGHT - BOTTOM], [at, TOP]);
            svg.mark("mb", shape, [at, height]);
            let (most, found) = (percent_tick(point.max_fpr), percent(self.found(point)));
            svg.text("small", [at, TOP - 6.0], Anchor::Middle, &most);
            let (lost, positive) = (self.lost(), self.positive);
            let text = format!("at most {most} of {lost}: {found} of {positive} found");
            entries.push((LegendKey::Mark("mb", shape), text));
        }
        entries
    }

    fn roc_table(&self) -> DataTable {
        let row = |point: &OperatingPoint| {
            vec![
                percent_tick(point.max_fpr),
                count(point.false_positives),
                percent_cell(share(point.false_positives, self.negatives)),
                count(self.positives - point.missed.min(self.positives)),
                percent_cell(self.found(point)),
            ]
        };
        let (lost, found) = (self.lost(), format!("{} found", self.positive));
        let head = ["at most", &lost, "share", &found, "share"];
        DataTable::new("Points of the curve", &head, self.points.iter().map(row).collect())
    }
}
