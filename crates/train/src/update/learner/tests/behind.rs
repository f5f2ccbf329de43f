//! Models of users, with a shared model behind them, and models that others change.

use std::time::Duration;

use tamis_filter::score::live::LiveFilter;

use super::*;

/// A shared model of mail that knows a word of each label.
fn shared(word: &str) -> Model {
    let mail = |text| format!("Subject: {text}\n\n{text}\n");
    let mails = [("ham", mail("lunch at noon")), ("spam", mail(word))];
    taught(TrainOptions::new(Kind::Mail), mails).finish().unwrap()
}

fn log_odds(filter: &Filter) -> f64 {
    filter.score_mail(b"Subject: pills\n\npills", &mut Scratch::default()).unwrap().log_odds
}

#[test]
fn a_users_model_is_like_the_shared_one_and_none_is_made_that_cannot_be() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.tamis");
    let mut options = TrainOptions::new(Kind::Mail);
    options.recipe.tokenizer.terms = tamis_tokenizer::Ngrams::Words { min: 1, max: 2 };
    options.names = false;
    let mails = [("good", "Subject: lunch\n\nnoon\n"), ("junk", "Subject: pills\n\ncheap\n")];
    let shared = |options| Arc::new(taught(options, mails).finish().unwrap().into_filter().unwrap());
    let weighted = shared(options.clone());
    let like = weighted.options_behind();
    assert!(like.recipe == options.recipe && !like.names);
    for label in ["good", "junk"] {
        let mut learner = Learner::create_behind(&path, weighted.clone(), LearnOptions::default()).unwrap();
        learner.learn(label, Document::Mail(format!("Subject: {label}\n\n").as_bytes())).unwrap();
        assert!(!learner.commit().unwrap());
        assert_eq!(learner.into_filter().classes(), weighted.classes());
    }
    // naive Bayes cannot have a model behind it
    let bayes = shared(TrainOptions { scoring: Some(Scoring::NaiveBayes(Default::default())), ..like });
    let path = folder.path().join("other.tamis");
    assert!(Learner::create_behind(&path, bayes, LearnOptions::default()).is_err());
    assert!(!path.exists());
}

#[test]
fn two_writers_take_turns_and_who_waits_in_vain_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.tamis");
    shared("pills").save(&path).unwrap();
    let learner = Learner::open(&path, LearnOptions::default()).unwrap();
    let options = LearnOptions { lock_timeout: Duration::from_millis(20), ..LearnOptions::default() };
    assert!(matches!(Learner::open(&path, options).err().unwrap().reason(), Reason::Locked { .. }));
    let filter = learner.into_filter();
    assert!(Learner::open(&path, options).is_ok());
    assert!(filter.is_current().unwrap());
}

#[test]
fn a_model_is_retrained_when_that_is_due() {
    let folder = tempfile::tempdir().unwrap();
    let shared = Arc::new(shared("pills").into_filter().unwrap());
    for (is_due, retrain, behind) in [(true, true, false), (false, false, false), (false, true, true)] {
        let path = folder.path().join(format!("{retrain}-{behind}.tamis"));
        let options = LearnOptions { log_limit: 0, retrain, ..LearnOptions::default() };
        let mut learner = Learner::create(&path, shared.options_behind(), ["ham", "spam"], options).unwrap();
        if behind {
            learner.set_fallback(shared.clone()).unwrap();
        }
        for i in 0..8 {
            let mail = format!("Subject: {i}\n\nword{i} {}", ["lunch", "pills"][i % 2]);
            learner.learn(["ham", "spam"][i % 2], Document::Mail(mail.as_bytes())).unwrap();
        }
        assert_eq!(learner.commit().unwrap(), is_due, "{retrain}, {behind}");
        assert_eq!(learner.filter().information().changes.since_fit == 0, is_due);
        assert!(!learner.commit().unwrap());
    }
}

/// Opening one of a thousand users' models must stay cheap.
#[test]
fn the_log_of_a_small_model_stays_short() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.tamis");
    let shared = Arc::new(shared("pills").into_filter().unwrap());
    for i in 0..60 {
        let mut learner = Learner::create_behind(&path, shared.clone(), LearnOptions::default()).unwrap();
        let words: String = (0..200).map(|n| format!("word{} ", i * 150 + n)).collect();
        let mail = format!("Subject: {i}\n\n{words}");
        learner.learn(["ham", "spam"][i % 2], Document::Mail(mail.as_bytes())).unwrap();
        learner.commit().unwrap();
        let filter = learner.into_filter();
        let information = filter.information();
        assert!(information.file.log_bytes <= 32 << 10, "{i}: {}", information.file.log_bytes);
        assert_eq!(information.size.documents, i + 1);
    }
}

#[test]
fn a_shared_model_that_was_replaced_is_taken_by_all_who_hold_it() {
    let folder = tempfile::tempdir().unwrap();
    let [path, own] = ["shared.tamis", "own.tamis"].map(|name| folder.path().join(name));
    let [first, second] = ["pills", "watches"].map(shared);
    first.save(&path).unwrap();
    let live = LiveFilter::new(Filter::open(&path).unwrap());
    let learner = Learner::create_behind(&own, live.filter(), LearnOptions::default()).unwrap();
    drop(learner);
    let mut users: Vec<_> = (0..3).map(|_| Filter::open(&own).unwrap()).collect();
    for user in &mut users {
        user.set_live_fallback(&live).unwrap();
        assert!(user.is_current().unwrap() && user.reopened().unwrap().is_none());
    }
    let before = log_odds(&users[0]);
    second.save(&path).unwrap();
    for user in &mut users {
        assert!(!user.is_current().unwrap());
        *user = user.reopened().unwrap().unwrap();
        assert!(user.reopened().unwrap().is_none());
        assert!(log_odds(user) != before);
        // one shared model for all
        assert!(Arc::ptr_eq(user.fallback().unwrap(), &live.filter()));
    }
}

#[test]
fn a_model_written_in_place_is_opened_again_and_answers_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.tamis");
    let models = ["pills", "watches"].map(shared);
    let expected = models.clone().map(|model| log_odds(&model.into_filter().unwrap()));
    models[0].save(&path).unwrap();
    let live = LiveFilter::new(Filter::open(&path).unwrap());
    let ask = || live.ask(|filter, scratch| filter.score_mail(b"Subject: pills\n\npills", scratch));
    assert_eq!(ask().unwrap().log_odds, expected[0]);
    for (model, expected) in models.iter().zip(expected).rev() {
        std::fs::write(&path, model.as_bytes()).unwrap();
        assert_eq!(ask().unwrap().log_odds, expected);
    }
    std::fs::write(&path, "no model").unwrap();
    assert!(ask().is_err());
    std::fs::write(&path, models[1].as_bytes()).unwrap();
    assert!(live.reload().unwrap());
    assert!(ask().is_ok());
}
