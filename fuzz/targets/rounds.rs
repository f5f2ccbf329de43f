//! Messages of a fit by partitions: as they come, and small ones with bytes changed behind their checksums.

use super::Choices;
use super::model::repair_base;
use std::sync::LazyLock;
use tamis_train::distributed::{DistributedTrainer, FitPlan, Partial};
use tamis_train::{Document, Kind, TrainOptions, Trainer};

/// A partition, and what was said in its first two rounds.
struct Said {
    partial: Partial,
    plan: FitPlan,
    /// Plan, correction, state, change.
    messages: [Vec<u8>; 4],
}

static SAID: LazyLock<[Said; 2]> = LazyLock::new(|| [said(2), said(3)]);

pub fn run(data: &[u8]) {
    let mut choices = Choices(data);
    let (base, repair) = (usize::from(choices.byte()) % 10, choices.flag());
    let said = &SAID[base % 2];
    let known = said.messages.get(base / 2);
    let mut message = known.map_or_else(|| choices.0.to_vec(), Vec::clone);
    if known.is_some() {
        choices.damage(&mut message);
    }
    let is_same = known == Some(&message);
    if repair {
        // a plan has two sections, all others one
        repair_base(&mut message, if base / 2 == 0 { 2 } else { 1 });
    }
    let [_, correction, state, _] = &said.messages;
    let all = [
        FitPlan::from_bytes(&message).is_ok_and(|plan| {
            let _ = plan.round(&said.partial, Some(state), correction);
            true
        }),
        said.plan.round(&said.partial, Some(state), &message).is_ok(),
        said.plan.round(&said.partial, Some(&message), correction).is_ok(),
        said.plan.merge([&message[..], &message[..]]).is_ok(),
    ];
    assert!(all[base / 2 % 4] || !is_same || repair, "damage was seen where there is none");
    assert!(is_same || repair || known.is_none() || !all.contains(&true), "damage was not noticed");
}

fn said(n_labels: usize) -> Said {
    let mut options = TrainOptions::new(Kind::Text);
    options.refinements.clear();
    let new = || Trainer::new(options.clone()).expect("options in range");
    let mut trainer = new();
    for i in 0..12 {
        let label = ["fruit", "metal", "wood"][i % n_labels];
        trainer.add(label, Document::Text(&format!("{label} and more {i}"))).expect("a document");
    }
    let partial = trainer.into_partial().expect("few documents");
    let counts = partial.without_documents().expect("the kind of documents that can be fitted so");
    let sample = partial.sample(1.0).expect("the kind of documents that can be fitted so");
    let merge = |part: &Partial| new().merge_partial(part).expect("the same options");
    let mut lead = DistributedTrainer::new(merge(&counts), merge(&sample), 1).expect("two labels");
    let plan = FitPlan::from_bytes(lead.plan()).expect("a plan");
    let correction = lead.correction().expect("few weights");
    let first = plan.round(&partial, None, &correction).expect("the first round");
    lead.add(&first.change).expect("the only partition");
    let correction = lead.correction().expect("few weights");
    let second = plan.round(&partial, Some(&first.state), &correction).expect("the second round");
    let messages = [lead.plan().to_vec(), correction, first.state, second.change];
    Said { partial, plan, messages }
}
