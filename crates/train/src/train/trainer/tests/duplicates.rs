use proptest::prelude::*;
use tamis_filter::extract::document::Document;
use tamis_store::config::recipe::Keep;
use tamis_store::config::scoring::Scoring;
use tamis_store::config::training::TrainOptions;
use tamis_store::kind::Kind;

use super::*;
use crate::evaluate::Prequential;

const LABELS: [&str; 3] = ["ham", "spam", "eggs"];

/// Words in two orders, on two days: the same terms, but another body. A long one has several stretches, so that the
/// words are in others.
fn mail((word, flip, day): (u8, bool, u8), is_long: bool) -> String {
    let (a, b) = (format!("w{word}"), format!("v{}", word / 2));
    let between = if is_long { " and so on and on and on".repeat(20) } else { String::new() };
    let body = if flip { format!("{a}{between} {b}") } else { format!("{b}{between} {a}") };
    format!("Subject: x\nDate: {} Oct 2001 10:00:00 +0000\n\n{body}\n", day % 2 + 1)
}

/// A trainer that knows all labels; of long mail, those of a spam filter.
fn train(options: &TrainOptions, documents: &[RawExample], are_long: bool) -> Trainer {
    let mut trainer = Trainer::new(options.clone()).unwrap();
    for label in &LABELS[..if are_long { 2 } else { 3 }] {
        trainer.class_of(label).unwrap();
    }
    documents.iter().for_each(|given| add(&mut trainer, given, are_long));
    trainer
}

/// The number of a label, an optional number of a group, and a mail.
type RawExample = (usize, Option<u8>, (u8, bool, u8));

fn add(trainer: &mut Trainer, (label, group, document): &RawExample, is_long: bool) {
    let (group, mail) = (group.map(|group| format!("group {group}")), mail(*document, is_long));
    trainer.add_in_group(LABELS[*label], group.as_deref(), Document::Mail(mail.as_bytes())).unwrap();
}

fn scoring() -> impl Strategy<Value = (Option<Scoring>, Keep)> {
    let bayes = || {
        Some(Scoring::NaiveBayes(tamis_model::Parameters {
            prior: tamis_model::ClassPrior::Smoothed,
            ..Scoring::parameters()
        }))
    };
    prop_oneof![Just((None, Keep::Vectors)), Just((bayes(), Keep::Digests)), Just((bayes(), Keep::Vectors)),]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Distributes mail over trainers in any order, and adds it before or after merging.
    #[test]
    fn equal_mail_counts_once_whatever_the_shares(
        all in proptest::collection::vec(
            (0usize..3, proptest::option::of(0u8..3), (0u8..6, any::<bool>(), any::<u8>())), 0..20,
        ),
        cuts in (0usize..20, 0usize..20),
        (scoring, keep) in scoring(), are_long: bool, repeat: bool,
    ) {
        let options = TrainOptions { scoring, keep: Some(keep), repeat, ..TrainOptions::new(Kind::Mail) };
        let n_labels = if are_long { 2 } else { 3 };
        let all: Vec<_> = all.into_iter().map(|(label, group, mail)| (label % n_labels, group, mail)).collect();
        let at_once = train(&options, &all, are_long);
        let (first, second) = (cuts.0.min(cuts.1).min(all.len()), cuts.0.max(cuts.1).min(all.len()));
        let mut shares = train(&options, &all[second..], are_long);
        shares.merge(train(&options, &all[..first], are_long)).unwrap();
        all[first..second].iter().rev().for_each(|given| add(&mut shares, given, are_long));
        prop_assert_eq!(shares.n_equal(), at_once.n_equal());
        prop_assert_eq!(at_once.documents.len() as u64 + shares.n_equal(), all.len() as u64);
        prop_assert_eq!(shares.n_documents(), if repeat { all.len() } else { at_once.documents.len() } as u64);
        prop_assert_eq!(shares.contradictions(), at_once.contradictions());
        let (at_once, shares) = (at_once.finish().unwrap(), shares.finish().unwrap());
        prop_assert_eq!(at_once.as_bytes(), shares.as_bytes());
        at_once.into_filter().unwrap().verify().unwrap();
    }
}

#[test]
fn mail_of_equal_terms_is_equal_whatever_their_order_and_its_date() {
    let options = TrainOptions::new(Kind::Mail);
    let both = [(0, None, (1, false, 1)), (0, None, (1, true, 0))];
    let trainer = train(&options, &both, false);
    assert_eq!((trainer.n_documents(), trainer.n_equal()), (1, 1));
    let other = train(&options, &[both[1], both[0]], false);
    assert_eq!(trainer.documents[0].group, other.documents[0].group);
    assert_eq!(trainer.documents[0].date(), other.documents[0].date());
}

#[test]
fn equal_documents_of_several_groups_are_one_record_in_the_least_of_them() {
    let groups = |names: &[Option<&str>], repeat| {
        let mut trainer = Trainer::new(TrainOptions { repeat, ..TrainOptions::new(Kind::Text) }).unwrap();
        for name in names {
            trainer.add_in_group("ham", *name, Document::Text("boiled ham")).unwrap();
        }
        assert_eq!((trainer.documents.len(), trainer.n_equal()), (1, names.len() as u64 - 1));
        assert_eq!(trainer.documents[0].multiplicity, if repeat { names.len() as u32 } else { 1 });
        trainer.documents[0].group
    };
    let [alice, bob] = ["alice", "bob"].map(|name| groups(&[Some(name)], true));
    assert_ne!(alice, bob);
    for repeat in [false, true] {
        assert_eq!(groups(&[Some("alice"), Some("bob")], repeat), alice.min(bob));
        assert_eq!(groups(&[Some("bob"), Some("alice"), Some("bob")], repeat), alice.min(bob));
        // a named group precedes an unnamed one
        assert_eq!(groups(&[None, Some("alice")], repeat), alice);
        assert_eq!(groups(&[Some("alice"), None, Some("")], repeat), alice);
    }
}

#[test]
fn mail_counts_once_and_text_as_often_as_given() {
    for (kind, repeat, expected) in
        [(Kind::Mail, false, 2), (Kind::Mail, true, 4), (Kind::Text, true, 4), (Kind::Text, false, 2)]
    {
        let mut options = TrainOptions::new(kind);
        assert_eq!(options.repeat, kind == Kind::Text);
        options.repeat = repeat;
        let mut trainer = Trainer::new(options).unwrap();
        for label in ["ham", "ham", "ham", "spam"] {
            trainer.add(label, Document::Fields(&[("", "soup at noon")])).unwrap();
        }
        assert_eq!((trainer.n_documents(), trainer.n_equal()), (expected, 2));
        assert_eq!(trainer.contradictions()[0].classes, [(0, expected as u32 - 1), (1, 1)]);
        let filter = trainer.finish().unwrap().into_filter().unwrap();
        assert_eq!(filter.n_contradictions().unwrap(), 1);
        filter.verify().unwrap();
    }
}

#[test]
fn documents_without_terms_are_never_equal() {
    for repeat in [false, true] {
        let options = TrainOptions { repeat, keep: Some(Keep::Vectors), ..TrainOptions::new(Kind::Text) };
        let texts = [("ham", ""), ("spam", " - "), ("ham", "?"), ("ham", "soup"), ("spam", "pills")];
        let count = || taught(options.clone(), texts);
        let mut trainer = count();
        assert_eq!((trainer.n_documents(), trainer.n_equal()), (5, 0));
        assert!(trainer.contradictions().is_empty());
        trainer.merge(count()).unwrap();
        let (documents, equal) = if repeat { (10, 2) } else { (8, 2) };
        assert_eq!((trainer.n_documents(), trainer.n_equal()), (documents, equal));
        let filter = trainer.finish().unwrap().into_filter().unwrap();
        assert_eq!(filter.n_contradictions().unwrap(), 0);
        filter.verify().unwrap();
    }
}

#[test]
fn online_learning_learns_equal_mail_once() {
    let document = |i: usize| {
        if i.is_multiple_of(2) { "Subject: lunch\n\nsoup at noon" } else { "Subject: pills\n\nbuy now" }
    };
    let score = |repeat, n| {
        let options = TrainOptions { repeat, ..TrainOptions::new(Kind::Mail) };
        let mut online = Prequential::new(options, ["ham", "spam"]).unwrap();
        for i in 0..n {
            online.next(LABELS[i % 2], Document::Mail(document(i).as_bytes())).unwrap();
        }
        online.next("spam", Document::Mail(b"Subject: soup\n\nbuy soup")).unwrap().score.log_odds
    };
    assert_eq!(score(false, 2), score(false, 8));
    assert_eq!(score(true, 2), score(true, 8));
}
