//! Learning: how often the next document was wrong, by the number of documents learned before it.

use tamis_train::evaluate::LearningStep;

use crate::draw::axes::{self, ACROSS, Axis, BOTTOM, TOP, WIDTH, percent_tick};
use crate::draw::scale::Scale;
use crate::draw::svg::Svg;
use crate::figure::{Figure, Table};
use crate::figures::legend::{self, Sample};
use crate::text::{count, counted, grouped, number, percent, share};

const HEIGHT: f64 = 330.0;

/// Creates the figure; `None` without steps.
pub(crate) fn learning(steps: &[LearningStep]) -> Option<Figure> {
    let last = steps.last()?;
    let wrong = |step: &LearningStep| share(step.wrong, step.documents);
    let unsure = |step: &LearningStep| share(step.unsure, step.documents);
    let highest = steps.iter().map(|step| wrong(step).max(unsure(step))).fold(0.0, f64::max).max(0.01);
    let x = Scale::linear([0.0, last.learned as f64], ACROSS);
    let y = Scale::linear([0.0, (1.05 * highest).min(1.0)], [HEIGHT - BOTTOM, TOP]);
    let mut svg = Svg::new(WIDTH, HEIGHT);
    let tick = |n: f64| grouped(n as u64);
    axes::draw(
        &mut svg,
        &Axis::new(x, "documents learned", 7.0, tick),
        &Axis::new(y, "share of the next documents", 5.0, percent_tick),
    );
    let place = |step: &LearningStep, share: f64| [x.at(step.learned as f64), y.at(share)];
    svg.curve("la", steps.iter().map(|step| place(step, unsure(step))));
    svg.curve("lb", steps.iter().map(|step| place(step, wrong(step))));
    let mut so_far = [0, 0];
    let running = steps.iter().map(|step| {
        so_far = [so_far[0] + step.wrong, so_far[1] + step.documents];
        place(step, share(so_far[0], so_far[1]))
    });
    svg.curve("lc", running);
    let entries = [
        (Sample::Line("lb"), "wrong"),
        (Sample::Line("la"), "unsure"),
        (Sample::Line("lc"), "wrong, of all so far"),
    ];
    let entries = entries.map(|(sample, text)| (sample, text.to_owned()));
    legend::draw(&mut svg, ACROSS[0], &entries);
    Some(Figure {
        title: "Learning".to_owned(),
        finding: Some(finding(steps)),
        note: format!(
            "Each document is scored by what was learned before it, then learned. A point is of {}.",
            counted(steps[0].documents, "document")
        ),
        description: "Lines of the share of wrong and unsure verdicts, over the number of documents learned."
            .to_owned(),
        drawing: svg,
        beside: None,
        tables: vec![table(steps)],
        is_open: false,
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

fn table(steps: &[LearningStep]) -> Table {
    let row = |step: &LearningStep| {
        let part = share(step.wrong, step.documents);
        let counts = [step.learned, step.documents, step.wrong, step.unsure].map(count);
        counts.into_iter().chain([number(part, &percent(part))]).collect()
    };
    let head = ["learned", "documents", "wrong", "unsure", "wrong, share"];
    Table::new("", &head, steps.iter().map(row).collect()).with_texts(0)
}
