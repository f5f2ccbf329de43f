//! Tests of what the header promises about threads, files that change, and texts that C keeps.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

use tamis_train::options::VectorSpace;
use tamis_train::{Document, Kind, LearnOptions, Learner, TrainOptions, Trainer};
use tempfile::TempDir;

use super::*;

const SPAM: &str = "cheap pills at noon";

/// A text model in a folder of its own, and a handle on it.
struct World {
    folder: TempDir,
    filter: *mut TamisFilter,
}

/// A handle that threads share, as C would.
#[derive(Clone, Copy)]
struct Shared(*const TamisFilter);

// SAFETY: `TamisFilter` is `Sync`, and outlives the threads of these tests
unsafe impl Send for Shared {}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut trainer = Trainer::new(TrainOptions::new(Kind::Text)).unwrap();
        for (label, text) in [("ham", "soup at noon"), ("spam", "cheap pills"), ("ham", "tea and toast")] {
            trainer.add(label, Document::Text(text)).unwrap();
        }
        let path = folder.path().join("model.tamis");
        trainer.finish().unwrap().save(&path).unwrap();
        let path = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the text ends with a zero
        let filter = unsafe { tamis_open(path.as_ptr()) };
        assert!(!filter.is_null());
        World { folder, filter }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // SAFETY: opened above, and all threads have ended
        unsafe { tamis_free(self.filter) };
    }
}

fn score(Shared(filter): Shared, document: &str) -> TamisScore {
    let mut score = std::mem::MaybeUninit::uninit();
    // SAFETY: an open model, the bytes of a text, and room for a score, which is filled in if the call succeeds
    unsafe {
        let answer = tamis_score_text(filter, document.as_ptr(), document.len(), score.as_mut_ptr());
        assert_eq!(answer, 0, "{}", text(tamis_last_error()));
        score.assume_init()
    }
}

fn learn(Shared(filter): Shared, label: &CStr, document: &str) -> i32 {
    // SAFETY: an open model, text that ends with a zero, and the bytes of a text
    unsafe { tamis_learn_text(filter, label.as_ptr(), document.as_ptr(), document.len()) }
}

fn text(pointer: *const c_char) -> &'static str {
    // SAFETY: the text belongs to a handle that stays open while the test uses it
    unsafe { CStr::from_ptr(pointer) }.to_str().unwrap()
}

#[test]
fn threads_score_while_one_learns() {
    let world = World::new();
    let (shared, done) = (Shared(world.filter), &AtomicBool::new(false));
    let n_scored = std::thread::scope(|scope| {
        let scoring = (0..4).map(|_| {
            scope.spawn(move || {
                let mut n = 0;
                while !done.load(Ordering::Relaxed) || n == 0 {
                    let score = score(shared, SPAM);
                    assert!(["ham", "spam", "unsure"].contains(&text(score.label)));
                    assert_eq!(text(score.scored_label), "spam");
                    n += 1;
                }
                n
            })
        });
        let scoring: Vec<_> = scoring.collect();
        for n in 0..20 {
            let document = format!("{SPAM} w{n}");
            assert_eq!(learn(shared, c"spam", &document), 1);
            assert_eq!(learn(shared, c"spam", &document), 0);
            assert_eq!(learn(shared, c"ham", &document), 1);
            // SAFETY: an open model and the bytes of a text; a null label stands for any
            let forgot =
                unsafe { tamis_forget_text(shared.0, std::ptr::null(), document.as_ptr(), document.len()) };
            assert_eq!(forgot, 1);
        }
        done.store(true, Ordering::Relaxed);
        scoring.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
    });
    assert!(n_scored >= 4);
}

#[test]
fn what_others_learn_is_known_after_a_reload_and_labels_stay() {
    let world = World::new();
    let shared = Shared(world.filter);
    let before = score(shared, SPAM);
    // SAFETY: an open model
    let reload = || unsafe { tamis_reload(world.filter) };
    assert_eq!(reload(), 0);
    let mut learner =
        Learner::open(world.folder.path().join("model.tamis"), LearnOptions::default()).unwrap();
    learner.add_label("apples").unwrap();
    learner.learn("ham", Document::Text(SPAM)).unwrap();
    learner.commit().unwrap();
    assert_eq!(score(shared, SPAM).log_odds, before.log_odds);
    assert_eq!(reload(), 1);
    assert_ne!(score(shared, SPAM).log_odds, before.log_odds);
    // the model that they came from is closed
    assert_eq!(text(before.scored_label), "spam");
}

#[test]
fn a_model_of_bytes_scores_and_does_not_learn() {
    let world = World::new();
    let file = std::fs::read(world.folder.path().join("model.tamis")).unwrap();
    // SAFETY: the bytes of a file
    let filter = unsafe { tamis_open_bytes(file.as_ptr(), file.len()) };
    let (of_bytes, of_file) = (Shared(filter), Shared(world.filter));
    assert_eq!(score(of_bytes, SPAM).log_odds, score(of_file, SPAM).log_odds);
    assert_eq!(learn(of_bytes, c"ham", SPAM), -1);
    assert!(text(tamis_last_error()).starts_with("expected a model that was opened by tamis_open"));
    // SAFETY: opened above and not used later
    unsafe {
        assert_eq!(tamis_reload(filter), 0);
        tamis_free(filter);
    }
}

#[test]
fn an_explanation_outlives_its_model() {
    let world = World::new();
    let log_odds = score(Shared(world.filter), SPAM).log_odds;
    // SAFETY: an open model and the bytes of a text; the explanation is freed at the end
    unsafe {
        let explanation = tamis_explain_text(world.filter, SPAM.as_ptr(), SPAM.len());
        drop(world);
        let why = &*explanation;
        let terms = std::slice::from_raw_parts(why.terms, why.n_terms);
        assert_eq!([text(why.label), text(why.against)], ["spam", "ham"]);
        assert!(terms.iter().any(|term| text(term.term) == "pills" && term.count == 1));
        let sum = terms.iter().fold(why.intercept, |sum, term| sum + term.contribution);
        assert!((sum - log_odds).abs() < 1e-9 && why.score.log_odds == log_odds);
        tamis_explanation_free(explanation);
    }
}

#[test]
fn a_vector_beside_a_text_is_scored_explained_and_learned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.tamis");
    let mut options = TrainOptions::new(Kind::Text);
    options.recipe.vectors = Some(VectorSpace { dimensions: 2, encoder: String::new() });
    let mut trainer = Trainer::new(options).unwrap();
    for n in 0..40 {
        let noise = (n * n % 7) as f32 / 8.0;
        for (label, vector) in [("ham", [1.0, noise]), ("spam", [noise, 1.0])] {
            trainer.add(label, Document::Text(&format!("{label}{n} word")).with_vector(&vector)).unwrap();
        }
    }
    trainer.finish().unwrap().save(&path).unwrap();
    let c_path = CString::new(path.to_str().unwrap()).unwrap();
    let given = |vector: &[f32]| TamisDocument {
        vector: vector.as_ptr(),
        n_vector: vector.len(),
        ..TamisDocument::text(b"word".as_ptr(), 4)
    };
    // SAFETY: text that ends with a zero, an open model until the end, bytes and numbers of a document, room for a score
    unsafe {
        let filter = tamis_open(c_path.as_ptr());
        let log_odds = |document: TamisDocument| {
            let mut score = std::mem::MaybeUninit::uninit();
            assert_eq!(tamis_score(filter, &document, score.as_mut_ptr()), 0, "{}", text(tamis_last_error()));
            score.assume_init().log_odds
        };
        let [ham, spam] = [&[0.9, 0.2], &[0.2, 0.9]];
        let odds = [ham, spam].map(|vector| log_odds(given(vector)));
        assert!(odds[0] < -0.5 && odds[1] > 0.5, "{odds:?}");
        assert_eq!(log_odds(given(&[])), score(Shared(filter), "word").log_odds);
        let explanation = tamis_explain(filter, &given(spam));
        let terms = std::slice::from_raw_parts((*explanation).terms, (*explanation).n_terms);
        assert!(terms.iter().any(|term| text(term.term) == "vector of 2"));
        tamis_explanation_free(explanation);
        assert_eq!(tamis_learn(filter, c"spam".as_ptr(), &given(spam)), 1);
        assert_eq!(tamis_learn(filter, c"spam".as_ptr(), &given(spam)), 0);
        assert_eq!(tamis_forget(filter, std::ptr::null(), &given(spam)), 1);
        assert_eq!(tamis_learn(filter, c"spam".as_ptr(), &given(&[1.0, f32::NAN])), -1);
        assert!(text(tamis_last_error()).contains("got NaN"));
        assert_eq!(tamis_learn(filter, c"spam".as_ptr(), &given(&[1.0; 3])), -1);
        assert!(text(tamis_last_error()).contains("expected 2 features, got 3"));
        let missing = TamisDocument { vector: std::ptr::null(), ..given(ham) };
        assert_eq!(tamis_learn(filter, c"spam".as_ptr(), &missing), -1);
        assert_eq!(text(tamis_last_error()), "vector: expected a pointer to 2 numbers, got NULL");
        assert_eq!(tamis_learn(filter, c"spam".as_ptr(), std::ptr::null()), -1);
        tamis_free(filter);
    }
}
