//! What a correction changes, and what it must leave as it is.

use super::*;

/// A text of twelve words, six of which are of its kind.
fn text(kind: &str, number: usize) -> String {
    let words =
        (0..6).map(|n| format!("{kind}{} any{} ", (number * 5 + n * n) % 23, (number * 3 + n * 7) % 41));
    words.collect::<String>() + &format!("own{kind}{number}")
}

fn texts(kind: &str, numbers: std::ops::Range<usize>) -> Vec<String> {
    numbers.map(|number| text(kind, number)).collect()
}

/// Trained on letters and newsletters, which are ham, and on spam.
fn filter_of_newsletters() -> Model {
    let ham = texts("letter", 0..160).into_iter().chain(texts("news", 0..60));
    let all =
        ham.map(|text| ("ham", text)).chain(texts("spam", 0..160).into_iter().map(|text| ("spam", text)));
    let mut options = TrainOptions { refinements: Vec::new(), ..TrainOptions::new(Kind::Text) };
    // a price at which so small a model is sure
    options.decision.cost = Some(19.0);
    let mut trainer = Trainer::new(options).unwrap();
    all.for_each(|(label, text)| trainer.add(label, Document::Text(&text)).unwrap());
    trainer.finish().unwrap()
}

fn n_labelled(filter: &Filter, label: &str, texts: &[String]) -> usize {
    let verdict = |text: &String| filter.score_text(text, &mut Scratch::default()).unwrap().label;
    texts.iter().filter(|text| verdict(text).and_then(|id| filter.classes().label(id)) == Some(label)).count()
}

/// Some newsletters are spam to their reader, one `learn` each: they become spam, and those that were learned as ham stay it;
/// in a model of its own and in one before a shared model.
#[test]
fn corrections_carry_nothing_else_along() {
    let folder = tempfile::tempdir().unwrap();
    let shared = filter_of_newsletters();
    for is_behind in [false, true] {
        let path = folder.path().join(format!("{is_behind}.tamis"));
        let open = || match is_behind {
            true => Learner::create_behind(
                &path,
                Arc::new(shared.clone().into_filter().unwrap()),
                LearnOptions::default(),
            ),
            false => Learner::open(&path, LearnOptions::default()),
        };
        if !is_behind {
            shared.save(&path).unwrap();
        }
        let marked = texts("news", 100..115);
        for text in &marked {
            let mut learner = open().unwrap();
            assert_eq!(learner.learn("spam", Document::Text(text)).unwrap(), LearnOutcome::New);
            learner.commit().unwrap();
        }
        let learner = open().unwrap();
        let filter = learner.filter();
        assert_eq!(n_labelled(filter, "spam", &marked), marked.len(), "{is_behind}");
        assert_eq!(n_labelled(filter, "spam", &texts("news", 0..60)), 0, "{is_behind}");
        assert_eq!(n_labelled(filter, "ham", &texts("letter", 0..160)), 160, "{is_behind}");
        assert_eq!(n_labelled(filter, "spam", &texts("spam", 0..160)), 160, "{is_behind}");
        // nothing else was counted as a correction, and what the file says is what was applied
        let store = filter.store();
        assert!(
            store.changes().corrected >= 1
                && (is_behind || store.changes().since_training == marked.len() as u64)
        );
        assert!(filter.verify().is_ok());
        let n = if is_behind { 0 } else { 380 } + marked.len();
        assert!(is_behind && filter.store().n_documents() >= n || filter.store().n_documents() == n);
    }
}

#[test]
fn what_is_right_gets_no_coefficient_and_is_no_correction() {
    let folder = tempfile::tempdir().unwrap();
    filter_of_newsletters().save(model_path(&folder)).unwrap();
    let mut learner = open(&folder, None, LOG_ALONE);
    for (label, text) in [("ham", text("letter", 500)), ("spam", text("spam", 500))] {
        learner.learn(label, Document::Text(&text)).unwrap();
        let digest = learner.filter().digest(Document::Text(&text)).unwrap();
        let [known] = &learner.known(digest).unwrap()[..] else { panic!("{label}: known once") };
        assert_eq!(
            (&known.coefficients[..], learner.filter.store().changes().corrected),
            (&[][..], 0),
            "{label}"
        );
    }
    learner.learn("spam", Document::Text(&text("letter", 501))).unwrap();
    assert_eq!(learner.filter.store().changes().corrected, 1);
    learner.commit().unwrap();
    learner.compact().unwrap();
    assert_eq!(Filter::open(model_path(&folder)).unwrap().information().changes.corrected, 1);
}

/// A label that comes late is found as soon as by training anew, long before a tenth of all documents are new.
#[test]
fn a_label_that_comes_late_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = model_path(&folder);
    filter_of_newsletters().save(&path).unwrap();
    let mut learner = Learner::open(&path, LearnOptions::default()).unwrap();
    learner.add_label("rain").unwrap();
    for text in texts("rain", 0..10) {
        learner.learn("rain", Document::Text(&text)).unwrap();
        learner.commit().unwrap();
    }
    let found = n_labelled(learner.filter(), "rain", &texts("rain", 50..90));
    assert!(found >= 36, "{found} of 40");
    let since_fit = learner.filter().information().changes.since_fit;
    assert!(since_fit <= 1, "{since_fit} changes since it was fitted");
    assert_eq!(n_labelled(learner.filter(), "spam", &texts("spam", 0..160)), 160);
}
