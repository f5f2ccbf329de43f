//! Counts that are nearly full, logs that are too long to be read, and commits that fail.

use super::*;

/// A model in which a term of ham has nearly as many occurrences as can be counted.
fn nearly_full(keep: Keep) -> Vec<u8> {
    let mut trainer = Trainer::new(TrainOptions {
        keep: Some(keep),
        refinements: Vec::new(),
        ..TrainOptions::new(Kind::Text)
    })
    .unwrap();
    trainer.add("eggs", Document::Text("w1 w2 full")).unwrap();
    trainer.add("ham", Document::Text("w3 full")).unwrap();
    trainer.count(Document::Text("full")).unwrap();
    let (term, ham) = (trainer.parts[0].vocabulary.document()[0].id, trainer.classes.index("ham").unwrap());
    trainer.parts[0].statistics.observe_terms(ham, &[(term, u32::MAX - 3)], 1).unwrap();
    trainer.finish().unwrap().as_bytes().to_vec()
}

/// Everything that a learner knows, and what it would write.
fn state(learner: &mut Learner) -> impl PartialEq + std::fmt::Debug + use<> {
    let score = learner.score(Document::Text("w1 w2 w3 w4 q")).unwrap();
    let store = learner.filter.store();
    let overlay = &store.overlay;
    let new_terms: Vec<_> = (0..)
        .map_while(|at| overlay.new_terms.get(at))
        .map(|(print, text)| (print, text.to_owned()))
        .collect();
    (
        format!("{:?}", learner.filter.information()),
        (
            store.totals.clone(),
            store.changes().since_training,
            store.changes().since_fit,
            store.n_documents(),
        ),
        (overlay.documents.clone(), new_terms, overlay.features, overlay.n_entries()),
        (learner.pending.clone(), counts(&learner.filter), score),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Learning may fail at once, or after the document was removed from another label.
    #[test]
    fn what_cannot_be_learned_leaves_everything_as_it_was(
        before in texts(), after in texts(), digests: bool, moves: bool, commits: bool,
        limits in limits(),
    ) {
        let start = nearly_full(if digests { Keep::Digests } else { Keep::Vectors });
        let files = [true, false].map(|is_refused| {
            let folder = tempfile::tempdir().unwrap();
            let mut learner = open(&folder, Some(&start), limits);
            let too_much = Document::Text("full full full full new w1 q");
            for (label, text) in &before {
                learner.learn(LABELS[label % 2], Document::Text(text)).unwrap();
            }
            if moves {
                learner.learn("eggs", too_much).unwrap();
            }
            if commits {
                learner.commit().unwrap();
            }
            if is_refused {
                let known = state(&mut learner);
                assert!(learner.learn("ham", too_much).is_err());
                assert_eq!(state(&mut learner), known);
            }
            for (label, text) in &after {
                learner.learn(LABELS[label % 2], Document::Text(text)).unwrap();
            }
            learner.commit().unwrap();
            model_bytes(&folder)
        });
        prop_assert_eq!(&files[0], &files[1]);
    }
}

#[test]
fn a_log_that_nobody_would_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = model_path(&folder);
    let options = LearnOptions { log_limit: LearnOptions::MAX_LOG_LIMIT + 1, ..LearnOptions::default() };
    let train = TrainOptions::new(Kind::Text);
    let outcomes = [
        Learner::create(&path, train.clone(), ["ham", "spam"], options).err(),
        Learner::open(&path, options).err(),
    ];
    for error in outcomes {
        let said = error.unwrap().to_string();
        assert!(said.contains("log_limit") && said.contains("134217728"), "{said}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let options = LearnOptions { log_limit: LearnOptions::MAX_LOG_LIMIT, ..options };
    Learner::create(&path, train, ["ham", "spam"], options).unwrap();
}

#[test]
fn a_commit_that_fails_can_be_tried_again() {
    let start = nearly_full(Keep::Vectors);
    for limits in [(0, false), (1, true), LOG_ALONE] {
        let files = [true, false].map(|fails| {
            let folder = tempfile::tempdir().unwrap();
            let (model, away) = (model_path(&folder), folder.path().join("away"));
            let mut learner = open(&folder, Some(&start), limits);
            learner.learn("eggs", Document::Text("w1 w2 w3")).unwrap();
            if fails {
                std::fs::rename(&model, &away).unwrap();
                std::fs::create_dir(&model).unwrap();
                let known = state(&mut learner);
                assert!(matches!(
                    learner.commit().err().unwrap().reason(),
                    Reason::NotAFile { got: "a folder", .. }
                ));
                assert_eq!(state(&mut learner), known);
                std::fs::remove_dir(&model).unwrap();
                std::fs::rename(&away, &model).unwrap();
            }
            learner.commit().unwrap();
            model_bytes(&folder)
        });
        assert_eq!(files[0], files[1]);
    }
}
