//! What people call a document: of mail its Message-ID.

use tamis_train::exchange::import;
use tamis_train::{
    Document, Filter, Keep, Kind, LearnOptions, LearnOutcome, Learner, MergeOptions, Model, TrainOptions,
    Trainer, merge,
};

use crate::support::{World, stderr, stdout};

/// A mail of some words; the terms of two are equal if the words are, whatever they are called.
fn mail(words: &str, name: &str) -> String {
    format!("Message-ID: <{name}@example.org>\nSubject: {words}\n\n{words}\n")
}

/// Six mails, of which two are one under two names, and one has none.
fn mails() -> Vec<(&'static str, String)> {
    vec![
        ("ham", mail("soup at noon", "20")),
        ("ham", mail("soup at noon", "11")),
        ("ham", mail("a walk at five", "30")),
        ("spam", mail("cheap pills", "40")),
        ("spam", mail("cheap pills", "40")),
        ("spam", "Subject: buy now\n\nbuy now\n".to_owned()),
    ]
}

fn train<'a>(options: &TrainOptions, mails: impl IntoIterator<Item = &'a (&'static str, String)>) -> Trainer {
    let mut trainer = Trainer::new(options.clone()).unwrap();
    for (label, mail) in mails {
        trainer.add(label, Document::Mail(mail.as_bytes())).unwrap();
    }
    trainer
}

fn names(filter: &Filter) -> Vec<Option<String>> {
    let mut names: Vec<_> = filter.documents().map(|known| known.unwrap().name).collect();
    names.sort();
    names
}

fn named(names: &[&str]) -> Vec<Option<String>> {
    let name = |name: &&str| Some(format!("{name}@example.org"));
    std::iter::once(None).chain(names.iter().map(name)).collect()
}

fn filter(model: &Model) -> Filter {
    Filter::from_bytes(model.as_bytes().to_vec()).unwrap()
}

#[test]
fn the_least_name_of_equal_mail_stays_whatever_order_it_came_in() {
    let mails = mails();
    for (repeat, keep) in [(false, Keep::Vectors), (true, Keep::Vectors), (false, Keep::Digests)] {
        let mut options = TrainOptions::new(Kind::Mail);
        options.repeat = repeat;
        options.keep = Some(keep);
        let model = train(&options, &mails).finish().unwrap();
        assert_eq!(names(&filter(&model)), named(&["11", "30", "40"]));
        assert!(train(&options, mails.iter().rev()).finish().unwrap() == model);
        for split in 1..mails.len() {
            for (first, second) in [mails.split_at(split), (&mails[split..], &mails[..split])] {
                let mut trainer = train(&options, first);
                trainer.merge(train(&options, second)).unwrap();
                assert!(trainer.finish().unwrap() == model, "{split}");
            }
        }
    }
}

#[test]
fn without_names_mail_is_the_same_however_it_is_called() {
    let mut options = TrainOptions::new(Kind::Mail);
    options.names = false;
    let model = train(&options, &mails()).finish().unwrap();
    assert_eq!(names(&filter(&model)), [const { None }; 4]);
    assert!(!filter(&model).information().stored.names);
    let others: Vec<_> = mails().into_iter().map(|(label, mail)| (label, mail.replace("0@", "9@"))).collect();
    // what it is found by again is the only difference
    let lines = |model: &Model| {
        let mut out = Vec::new();
        tamis_train::exchange::export(&filter(model), true, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let without_messages = |model: &Model| -> Vec<String> {
        let line = |line: &str| {
            let Some((before, rest)) = line.split_once("\"message\":\"") else { return line.to_owned() };
            before.to_owned() + rest.split_once("\",").unwrap().1
        };
        lines(model).lines().map(line).collect()
    };
    let other = train(&options, &others).finish().unwrap();
    assert_eq!(without_messages(&other), without_messages(&model));
    assert!(lines(&other) != lines(&model) && !lines(&model).contains("example.org"));
    let named = TrainOptions::new(Kind::Mail);
    assert!(train(&named, &others).finish().unwrap() != train(&named, &mails()).finish().unwrap());
    assert!(!TrainOptions::new(Kind::Text).names);
}

#[test]
fn names_are_learned_moved_and_forgotten_with_their_documents() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.tamis");
    train(&TrainOptions::new(Kind::Mail), &mails()).finish().unwrap().save(&path).unwrap();
    let before = std::fs::read(&path).unwrap();
    let mut learner = Learner::open(&path, LearnOptions::default()).unwrap();
    let new = mail("seen at last", "50");
    let known = mail("soup at noon", "15");
    let (new, known) = (Document::Mail(new.as_bytes()), Document::Mail(known.as_bytes()));
    assert_eq!(learner.learn("ham", new).unwrap(), LearnOutcome::New);
    assert_eq!(learner.learn("ham", known).unwrap(), LearnOutcome::Already);
    learner.commit().unwrap();
    let of_log = Filter::open(&path).unwrap();
    assert_eq!(names(&of_log), named(&["11", "30", "40", "50"]));
    learner.compact().unwrap();
    assert_eq!(names(learner.filter()), named(&["11", "30", "40", "50"]));
    learner.retrain().unwrap();
    assert_eq!(names(learner.filter()), named(&["11", "30", "40", "50"]));
    // a document that moves is called as it was, if that is less
    learner.learn("spam", known).unwrap();
    assert_eq!(names(learner.filter()), named(&["11", "30", "40", "50"]));
    assert_eq!(learner.forget(None, known).unwrap().as_deref(), Some("11@example.org"));
    let digest = learner.filter().digest(new).unwrap();
    assert_eq!(learner.forget_digest(Some("ham"), digest).unwrap().as_deref(), Some("50@example.org"));
    learner.learn("ham", known).unwrap();
    learner.compact().unwrap();
    assert_eq!(names(learner.filter()), named(&["15", "30", "40"]));
    learner.filter().verify().unwrap();
    assert_ne!(std::fs::read(&path).unwrap(), before);
    drop(learner);
    // a model that keeps none keeps to it
    let mut options = TrainOptions::new(Kind::Mail);
    options.names = false;
    let path = folder.path().join("nameless.tamis");
    let mut learner = Learner::create(&path, options, ["ham", "spam"], LearnOptions::default()).unwrap();
    learner.learn("ham", new).unwrap();
    learner.compact().unwrap();
    assert_eq!(names(learner.filter()), [None]);
}

#[test]
fn names_come_along_when_models_are_merged_exported_and_never_when_they_are_given_away() {
    let options = TrainOptions::new(Kind::Mail);
    let model = train(&options, &mails()).finish().unwrap();
    let other = [("ham", mail("soup at noon", "05")), ("spam", mail("other pills", "60"))];
    let other = train(&options, &other).finish().unwrap();
    let [one, two] = [&model, &other].map(filter);
    for models in [[&one, &two], [&two, &one]] {
        for retrain in [false, true] {
            let mut options = MergeOptions::default();
            options.retrain = retrain;
            let merged = merge(&models, options).unwrap();
            assert_eq!(names(&filter(&merged)), named(&["05", "30", "40", "60"]));
            let mut options = MergeOptions::default();
            options.retrain = retrain;
            options.strip = true;
            let stripped = merge(&models, options).unwrap();
            assert_eq!(names(&filter(&stripped)), [const { None }; 5]);
            assert!(!filter(&stripped).information().stored.names);
            assert!(!String::from_utf8_lossy(stripped.as_bytes()).contains("@example.org"));
        }
    }
    let mut nameless = options;
    nameless.names = false;
    let nameless = filter(&train(&nameless, &mails()[..4]).finish().unwrap());
    let merged = merge(&[&one, &nameless], MergeOptions::default()).unwrap();
    assert_eq!(names(&filter(&merged)), [const { None }; 4], "who keeps no names gets none by merging");
    let mut text = Vec::new();
    tamis_train::exchange::export(&one, true, &mut text).unwrap();
    assert!(import(&text[..]).unwrap() == model);
    let text = String::from_utf8(text).unwrap();
    for name in ["a\\u0007b".to_owned(), "x".repeat(101)] {
        let changed = text.replacen("11@example.org", &name, 1);
        let error = import(changed.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("a name of at most 100 bytes"), "{error}");
    }
}

#[test]
fn suspects_are_shown_by_name_and_forgotten_by_it() {
    let world = World::with_mail_model();
    let shown = world.succeed(&["inspect", "--suspects=3"]);
    assert!(shown.contains("  document                          name\n"), "{shown}");
    assert!(
        shown.contains("remembered with their terms and names") && shown.contains(" --name NAME\n"),
        "{shown}"
    );
    let json = world.succeed(&["inspect", "--json", "--suspects=99"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["remembered"]["names"], true);
    let suspects = json["suspects"].as_array().unwrap();
    let name = suspects.iter().find_map(|suspect| suspect["name"].as_str()).unwrap();
    let forgot = world.succeed(&["forget", "--name", &format!("<{name}>")]);
    assert_eq!(forgot, format!("forgot 1 document: {name}\n"));
    let unknown = world.fail(&["forget", "--name", name]);
    assert!(unknown.contains("inspect --suspects") && unknown.contains(name), "{unknown}");
}

#[test]
fn mail_is_forgotten_by_its_message_id_and_not_named_without_names() {
    let world = World::new();
    for (i, (label, text)) in mails().into_iter().chain([("ham", mail("cheap pills", "70"))]).enumerate() {
        world.write(&format!("mail/{label}/{i}.eml"), text);
    }
    let train = ["train", "-m", "m", "--as", "mail", "--contradictions", "keep", "mail"];
    world.succeed(&train);
    fn forget<'a>(more: &[&'a str]) -> Vec<&'a str> {
        [&["forget", "-m", "m"], more].concat()
    }
    let unknown = world.fail(&forget(&["--name", "11@example.org", "--name", "20@example.org"]));
    assert!(unknown.contains("got 20@example.org"), "the other one of two names: {unknown}");
    assert_eq!(
        world.succeed(&forget(&["--name", "<11@example.org>", "--name", "30@example.org"])),
        "forgot 2 documents\n"
    );
    assert!(world.fail(&forget(&["spam", "--name", "70@example.org"])).contains("learned as spam"));
    assert_eq!(
        world.succeed(&forget(&["--name", "70@example.org"])),
        "forgot 1 document: 70@example.org\n",
        "not its equal of another label"
    );
    let output = world.run_with_input(&forget(&[]), mail("cheap pills", "70").as_bytes());
    assert_eq!(stdout(&output), "forgot 1 document: 40@example.org\n", "{}", stderr(&output));
    world.succeed(&[&train[..], &["--replace", "--no-names"]].concat());
    assert!(world.fail(&forget(&["--name", "11@example.org"])).contains("--no-names"));
    let output = world.run_with_input(&forget(&["spam"]), mail("cheap pills", "40").as_bytes());
    assert_eq!(stdout(&output), "forgot 1 document\n", "{}", stderr(&output));
    for (more, n) in [(&[][..], 1), (&["--no-names"], 0)] {
        let learn = [&["learn", "-m", "new", "ham"], more].concat();
        let output = world.run_with_input(&learn, mail("soup at noon", "11").as_bytes());
        assert!(output.status.success(), "{}", stderr(&output));
        let exported = world.succeed(&["export", "-m", "new", "--documents"]);
        assert_eq!(exported.matches("11@example.org").count(), n);
        std::fs::remove_file(world.path("new")).unwrap();
    }
}
