//! Learning: how often the next document was wrong, by the number of documents learned before it.

use tamis_train::evaluate::LearningStep;

use crate::draw::{
    ACROSS, Axis, BOTTOM, LegendKey, Scale, Svg, TOP, WIDTH, draw_axes, draw_legend, percent_tick,
};
use crate::figures::{Chart, DataTable};
use crate::text::{count, counted, grouped, percent, percent_cell, share};

const HEIGHT: f64 = 330.0;

/// Creates the figure; `None` without steps.
pub(crate) fn learning(steps: &[LearningStep]) -> Option<Chart> {
    let last = steps.last()?;
    let wrong = |step: &LearningStep| share(step.wrong, step.documents);
    let unsure = |step: &LearningStep| share(step.unsure, step.documents);
    let highest = steps.iter().map(|step| wrong(step).max(unsure(step))).fold(0.0, f64::max).max(0.01);
    let x = Scale::linear([0.0, last.learned as f64], ACROSS);
    let y = Scale::linear([0.0, (1.05 * highest).min(1.0)], [HEIGHT - BOTTOM, TOP]);
    let mut svg = Svg::new(WIDTH, HEIGHT);
    let tick = |n: f64| grouped(n as u64);
    let y_axis = Axis::new(y, "share of the next documents", 5.0, percent_tick);
    draw_axes(&mut svg, &Axis::new(x, "documents learned", 7.0, tick), &y_axis);
    let place = |step: &LearningStep, share: f64| [x.at(step.learned as f64), y.at(share)];
    svg.curve("la", steps.iter().map(|step| place(step, unsure(step))));
    svg.curve("lb", steps.iter().map(|step| place(step, wrong(step))));
    let mut so_far = [0, 0];
    let running = steps.iter().map(|step| {
        so_far = [so_far[0] + step.wrong, so_far[1] + step.documents];
        place(step, share(so_far[0], so_far[1]))
    });
    svg.curve("lc", running);
    let entries = [("lb", "wrong"), ("la", "unsure"), ("lc", "wrong, of all so far")];
    draw_legend(&mut svg, &entries.map(|(class, text)| (LegendKey::Line(class), text.to_owned())));
    Some(Chart {
        title: "Learning".to_owned(),
        finding: Some(finding(steps)),
        note: format!(
            "Each document is scored by what was learned before it, then learned. A point is of {}.",
            counted(steps[0].documents, "document")
        ),
        description: "Lines of the share of wrong and unsure verdicts, over the number of documents learned."
            .to_owned(),
        drawing: svg,
        tables: vec![table(steps)],
        ..Chart::default()
    })
}

fn finding(steps: &[LearningStep]) -> String {
    let half = &steps[steps.len() / 2..];
    let sum = |of: fn(&LearningStep) -> u64| half.iter().map(of).sum::<u64>();
    let documents = sum(|step| step.documents);
    let [wrong, unsure] =
        [sum(|step| step.wrong), sum(|step| step.unsure)].map(|n| percent(share(n, documents)));
    format!("Of the last {}, {wrong} are wrong and {unsure} unsure.", counted(documents, "document"))
}

fn table(steps: &[LearningStep]) -> DataTable {
    let row = |step: &LearningStep| {
        let counts = [step.learned, step.documents, step.wrong, step.unsure].map(count);
        counts.into_iter().chain([percent_cell(share(step.wrong, step.documents))]).collect()
    };
    let head = ["learned", "documents", "wrong", "unsure", "wrong, share"];
    DataTable::new("", &head, steps.iter().map(row).collect()).with_texts(0)
}
