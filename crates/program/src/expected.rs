//! The expected performance of a model, in words.

use tamis_report::counted;
use tamis_train::information::{HeldOutPerformance, Interval};
use tamis_train::{Filter, Kind, Scoring, positive_class};

use crate::output::shown;

/// The word for a document of this kind.
pub fn noun(kind: Kind) -> &'static str {
    match kind {
        Kind::Mail => "message",
        Kind::Text => "document",
        Kind::Table => "row",
    }
}

/// The expected performance on documents like those learned, in words; `None` if it is unknown for this scoring.
pub fn expectation(filter: &Filter) -> Option<String> {
    let information = filter.information();
    if information.expected.is_none() && !matches!(information.scoring, Scoring::Weighted(_)) {
        return None;
    }
    let is_mail = information.recipe.kind == Kind::Mail;
    let documents = format!("{}s", noun(information.recipe.kind));
    let Some(expected) = information.expected else {
        return Some("too few documents to tell what to expect".to_owned());
    };
    let (HeldOutPerformance::Detection { groups, .. }
    | HeldOutPerformance::Accuracy { groups, .. }
    | HeldOutPerformance::Labels { groups, .. }) = expected;
    let near_duplicates = match information.chosen.map_or(0, |chosen| chosen.near_duplicates) {
        0 => String::new(),
        n => format!("; {} held out together", counted(n, "near-duplicate")),
    };
    let (on, how) = match groups {
        0 => ("drawn like these", format!("95 % interval{near_duplicates}")),
        _ => ("of new groups", format!("{}, each held out as a whole", counted(groups, "group"))),
    };
    let on = format!("{documents} {on}");
    // `0.38 % (0.17 to 0.75)`; groups have no intervals, since documents of a group are similar
    let share = |part: u64, whole: u64| {
        let Interval { low, high } = information.interval(part, whole);
        let interval = format!(" ({:.2} to {:.2})", 100.0 * low, 100.0 * high);
        let interval = if groups == 0 { &interval } else { "" };
        format!("{:.2} %{interval}", 100.0 * part as f64 / whole as f64)
    };
    let labelled_right = |right: u64, all: u64| {
        Some(format!("expected on {on}: {} labelled right ({how})", share(right, all)))
    };
    let (negatives, false_positives, positives, missed) = match expected {
        HeldOutPerformance::Detection { negatives, false_positives, positives, missed, .. } => {
            (negatives, false_positives, positives, missed)
        }
        HeldOutPerformance::Accuracy { documents, right, .. } => return labelled_right(right, documents),
        HeldOutPerformance::Labels { found, wrong, missed, .. } => {
            let [given, have] = [found + wrong, found + missed].map(|n| n.max(1));
            return Some(format!(
                "expected on {on}: {} of the labels given right, {} of those that documents have missed ({how})",
                share(found, given),
                share(missed, have)
            ));
        }
    };
    let Some(spam) = filter.spam() else {
        let all = negatives + positives;
        return labelled_right(all - false_positives - missed, all);
    };
    let (mut ham_lost, mut spam_missed) = (share(false_positives, negatives), share(missed, positives));
    if spam != positive_class(information.classes) {
        std::mem::swap(&mut ham_lost, &mut spam_missed);
    }
    let label = |class| shown(information.classes.label(class).unwrap_or_default());
    let (ham, spam) = (label(1 - spam), label(spam));
    let lost = if is_mail { "lost".to_owned() } else { format!("called {spam}") };
    Some(format!(
        "expected on {on}: {ham_lost} of {ham} {lost}, {spam_missed} of {spam} missed or unsure ({how})"
    ))
}
