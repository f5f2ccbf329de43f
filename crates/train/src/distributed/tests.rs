use tamis_filter::extract::document::Document;
use tamis_filter::scorers::scratch::Scratch;
use tamis_store::config::decision::HeldOutPerformance;
use tamis_store::config::recipe::Keep;
use tamis_store::config::refinement::Refinement;
use tamis_store::config::scoring::Scoring;
use tamis_store::config::training::TrainOptions;
use tamis_store::error::Reason;
use tamis_store::kind::Kind;

use super::lead::DistributedTrainer;
use super::plan::FitPlan;
use crate::distributed::partial::Partial;
use crate::model::Model;
use crate::tests::taught;
use crate::train::trainer::Trainer;

fn options() -> TrainOptions {
    let mut options = TrainOptions::new(Kind::Text);
    options.refinements.clear();
    options
}

/// Of a spam filter, each with several stretches.
fn long_documents(n: u32) -> Vec<(String, String)> {
    let all = documents(n, 2).into_iter().zip(documents(n + 20, 2).into_iter().skip(20));
    let long = |((label, text), (_, other)): ((String, String), (String, String))| {
        (
            label.replace("label0", "ham").replace("label1", "spam"),
            [text.repeat(12), other.repeat(9)].join(" "),
        )
    };
    all.map(long).collect()
}

/// Generated documents: three words shared by all, two of the label, and one of many.
fn documents(n: u32, n_labels: u32) -> Vec<(String, String)> {
    let document = |i: u32| {
        let word = |of: u32, among: u32| i.wrapping_mul(2_654_435_761).rotate_left(7 * of) % among;
        let label = word(0, n_labels);
        let other = (label + u32::from(word(1, 7) == 0)) % n_labels;
        let text = format!(
            "w{} w{} w{} l{label}x{} l{other}y{} r{}",
            word(2, 30),
            word(3, 30),
            word(4, 9),
            word(1, 8),
            word(2, 5),
            word(3, 400)
        );
        (format!("label{label}"), text)
    };
    (0..n).map(document).collect()
}

fn count<'a>(options: &TrainOptions, rows: impl IntoIterator<Item = &'a (String, String)>) -> Partial {
    taught(options.clone(), rows.into_iter().cloned()).into_partial().unwrap()
}

fn lead(options: &TrainOptions, partials: &[Partial]) -> DistributedTrainer {
    let new = || Trainer::new(options.clone()).unwrap();
    let counts = |all: Trainer, p: &Partial| all.merge_partial(&p.without_documents().unwrap()).unwrap();
    let counts = partials.iter().fold(new(), counts);
    let share = DistributedTrainer::sample_share(counts.n_documents());
    let sample = |all: Trainer, p: &Partial| all.merge_partial(&p.sample(share).unwrap()).unwrap();
    DistributedTrainer::new(counts, partials.iter().fold(new(), sample), partials.len() as u32).unwrap()
}

/// Fits partitions. Changes arrive merged in pairs, last first, or one by one.
pub(crate) fn fit(options: &TrainOptions, partials: &[Partial], merges: bool) -> Model {
    let mut lead = lead(options, partials);
    let plan = FitPlan::from_bytes(lead.plan()).unwrap();
    let mut states: Vec<Option<Vec<u8>>> = vec![None; partials.len()];
    while !lead.is_done() {
        let correction = lead.correction().unwrap();
        let mut changes = Vec::new();
        for (partial, state) in partials.iter().zip(&mut states) {
            let round = plan.round(partial, state.as_deref(), &correction).unwrap();
            // repeating a task gives the same result
            assert!(plan.round(partial, state.as_deref(), &correction).unwrap().change == round.change);
            *state = Some(round.state);
            changes.push(round.change);
        }
        if merges {
            let pairs = changes.rchunks(2).map(|two| plan.merge(two.iter().map(Vec::as_slice)).unwrap());
            changes = pairs.collect();
        }
        changes.iter().for_each(|change| lead.add(change).unwrap());
    }
    assert!(lead.n_rounds() <= 10);
    lead.finish().unwrap()
}

fn accuracy(model: &Model, rows: &[(String, String)]) -> f64 {
    let filter = model.clone().into_filter().unwrap();
    let right = |(label, text): &&(String, String)| {
        let score = filter.score(Document::Text(text), &mut Scratch::default()).unwrap();
        filter.classes().label(score.scored_class) == Some(label.as_str())
    };
    rows.iter().filter(right).count() as f64 / rows.len() as f64
}

#[test]
fn partitions_in_any_order_give_the_same_bytes_and_nearly_the_scores_of_one_machine() {
    for n_labels in [2, 5] {
        let (rows, options) = (documents(1_500, n_labels), options());
        let (train, test) = rows.split_at(1_000);
        let mut by_label: Vec<_> = train.iter().collect();
        by_label.sort();
        let parts = by_label.chunks(300).map(|rows| count(&options, rows.iter().copied()));
        let mut partials: Vec<_> = parts.chain([count(&options, [])]).collect();
        let model = fit(&options, &partials, false);
        partials.reverse();
        assert!(model == fit(&options, &partials, true), "{n_labels}");
        let one = count(&options, train).to_trainer().unwrap().finish().unwrap();
        let (one, distributed) = (accuracy(&one, test), accuracy(&model, test));
        assert!(one > 0.75 && distributed > one - 0.02, "{n_labels}: {one} {distributed}");
        let filter = model.into_filter().unwrap();
        filter.verify().unwrap();
        assert_eq!(filter.information().size.documents, 0);
    }
}

#[test]
fn without_a_correction_there_are_no_rounds() {
    let mut options = options();
    let mut weighted = tamis_model::WeightedOptions::default();
    weighted.correction = false;
    options.scoring = Some(Scoring::Weighted(weighted));
    let rows = documents(900, 3);
    let (one, parts) = (count(&options, &rows), rows.chunks(400).map(|rows| count(&options, rows)));
    let model = fit(&options, &parts.collect::<Vec<_>>(), false);
    // the sample has all documents, so everything is chosen as on one machine; only the stored documents are missing
    let one = one.to_trainer().unwrap().finish().unwrap().into_filter().unwrap();
    let model = model.into_filter().unwrap();
    let scores = |filter: &crate::Filter, text: &str| {
        filter.score(Document::Text(text), &mut Scratch::default()).unwrap()
    };
    rows.iter().for_each(|(_, text)| assert_eq!(scores(&one, text), scores(&model, text)));
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let (rows, options) = (documents(600, 2), options());
    let partials: Vec<_> = rows.chunks(200).map(|rows| count(&options, rows)).collect();
    let mut lead = lead(&options, &partials);
    let plan = FitPlan::from_bytes(lead.plan()).unwrap();
    let correction = lead.correction().unwrap();
    let rounds: Vec<_> = partials.iter().map(|p| plan.round(p, None, &correction).unwrap()).collect();
    // another round, another partition's state, other documents, other files
    assert!(plan.round(&partials[0], Some(&rounds[0].state), &correction).is_err());
    assert!(lead.finish().is_err());
    lead = self::lead(&options, &partials);
    lead.add(&plan.merge(rounds.iter().map(|round| &round.change[..])).unwrap()).unwrap();
    let next = lead.correction().unwrap();
    assert!(plan.round(&partials[0], None, &next).is_err());
    assert!(lead.add(&rounds[0].change).is_err());
    assert!(plan.round(&partials[0], Some(&rounds[0].state[..40]), &next).is_err());
    assert!(plan.round(&partials[0], Some(&rounds[0].change), &next).is_err());
    let other = count(&options, &[("label0".into(), "never seen elsewhere".into())]);
    assert!(plan.round(&other, Some(&rounds[0].state), &next).is_err());
    let counts = partials[0].without_documents().unwrap();
    let error = plan.round(&counts, None, &correction).err().unwrap();
    assert!(matches!(error.reason(), Reason::CountsAlone), "{error}");
    let error = counts.to_trainer().unwrap().finish().err().unwrap();
    assert!(matches!(error.reason(), Reason::CountsAlone), "{error}");
    assert!(FitPlan::from_bytes(partials[0].as_bytes()).is_err());
}

#[test]
fn what_needs_all_documents_is_refused() {
    let (rows, fixed) = (documents(60, 2), options());
    let changes: [fn(&mut TrainOptions); 2] =
        [|options| options.refinements = vec![Refinement::Pairs], |options| options.repeat = false];
    for change in changes {
        let mut options = fixed.clone();
        change(&mut options);
        let partial = count(&options, &rows);
        for error in [partial.without_documents().err(), partial.sample(0.5).err()] {
            let error = error.unwrap();
            assert!(matches!(error.reason(), Reason::DistributedUnsupported { .. }), "{error}");
        }
    }
}

#[test]
fn samples_and_the_rest_are_the_whole() {
    let mut options = options();
    options.keep = Some(Keep::Vectors);
    for rows in [documents(500, 3), long_documents(500)] {
        check_samples(&options, &rows);
    }
}

fn check_samples(options: &TrainOptions, rows: &[(String, String)]) {
    let whole = count(options, rows);
    let half = whole.sample(0.5).unwrap();
    let n = |partial: &Partial| partial.documents().iter().sum::<u64>();
    assert!((200..300).contains(&n(&half)), "{}", n(&half));
    assert_eq!((n(&whole.sample(1.0).unwrap()), n(&whole.sample(0.0).unwrap())), (500, 0));
    assert!(whole.sample(1.0).unwrap().as_bytes() == whole.as_bytes());
    // every partition puts the same groups into the sample
    let parts = rows.chunks(99).map(|rows| count(options, rows).sample(0.5).unwrap());
    let merged = parts.fold(Trainer::new(options.clone()).unwrap(), |all, p| all.merge_partial(&p).unwrap());
    assert!(merged.into_partial().unwrap().as_bytes() == half.as_bytes());
}

#[test]
fn a_group_is_in_the_sample_or_not() {
    let (rows, options) = (documents(600, 3), options());
    let author = |i: usize| format!("author {}", i % 23);
    let count = |some: std::ops::Range<usize>| {
        let mut trainer = Trainer::new(options.clone()).unwrap();
        for i in some {
            let (label, text) = &rows[i];
            trainer.add_in_group(label, Some(&author(i)), Document::Text(text)).unwrap();
        }
        trainer.into_partial().unwrap()
    };
    let groups = |partial: &Partial| {
        let groups = partial.to_trainer().unwrap().documents.iter().map(|d| d.group).collect::<Vec<_>>();
        (groups.len(), groups.into_iter().collect::<std::collections::BTreeSet<_>>())
    };
    let (n, all) = groups(&count(0..rows.len()));
    let ((n_first, first), (_, second)) =
        (groups(&count(0..300).sample(0.5).unwrap()), groups(&count(300..600).sample(0.5).unwrap()));
    assert_eq!(first, second);
    assert!(all.len() == 23 && (3..20).contains(&first.len()) && n_first < n / 2, "{}", first.len());
    // whole groups are held out
    let partials = [count(0..250), count(250..600)];
    let filter = fit(&options, &partials, false).into_filter().unwrap();
    let groups = match filter.information().expected {
        Some(HeldOutPerformance::Accuracy { groups, .. }) => groups,
        expected => panic!("{expected:?}"),
    };
    assert!((1..=23).contains(&groups), "{groups}");
}

#[test]
fn damaged_messages_are_errors() {
    let (rows, options) = (documents(200, 2), options());
    let partials = [count(&options, &rows)];
    let lead = lead(&options, &partials);
    let plan = FitPlan::from_bytes(lead.plan()).unwrap();
    let correction = lead.correction().unwrap();
    let round = plan.round(&partials[0], None, &correction).unwrap();
    for message in [lead.plan(), &correction, &round.change, &round.state] {
        for at in (0..message.len()).step_by(1 + message.len() / 300) {
            let mut damaged = message.to_vec();
            damaged[at] ^= 0x55;
            let all = [
                FitPlan::from_bytes(&damaged).err(),
                plan.merge([&damaged[..]]).err(),
                plan.round(&partials[0], Some(&damaged), &correction).err(),
            ];
            assert!(all.iter().all(Option::is_some), "byte {at}");
            assert!(FitPlan::from_bytes(&message[..at]).is_err());
        }
    }
}
