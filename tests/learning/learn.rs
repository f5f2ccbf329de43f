//! Learning, forgetting and retraining, as the program is used.

use std::fs;

use crate::support::{World, feed, inbox, root, stderr, stdout, verdict_fields};

fn inbox_path(name: &str) -> String {
    root().join("corpora/mail/inbox").join(name).display().to_string()
}

fn learn(world: &World, arguments: &[&str], input: &[u8]) -> String {
    let output = world.run_with_input(&[&["learn"][..], arguments].concat(), input);
    assert!(output.status.success(), "learn {arguments:?}: {}", stderr(&output));
    stdout(&output)
}

#[test]
fn a_message_is_the_same_however_it_came() {
    let world = World::with_mail_model();
    let raw = inbox("01.eml");
    assert_eq!(learn(&world, &["spam"], &raw), "spam: learned 1 document\n");
    let text = String::from_utf8_lossy(&raw);
    let with_crlf = text.replace('\n', "\r\n");
    let from_a_mailbox = format!(
        "From x@example.org Mon Jan  1 00:00:00 2024\nStatus: RO\nX-Mozilla-Status: 0001\nX-UID: 7\n\
         X-Spam-Flag: YES\nX-Tamis: spam; probability=0.9\n{text}"
    );
    let passed = world.run_with_input(&["score", "--passthrough"], &raw).stdout;
    verdict_fields(&raw, &passed);
    for again in [&raw, with_crlf.as_bytes(), from_a_mailbox.as_bytes(), &passed] {
        assert_eq!(learn(&world, &["spam"], again), "spam: learned 0 documents, 1 already known\n");
    }
    // as a file, in an mbox, in a Maildir
    world.write("one.eml", &raw);
    world.write("some.mbox", format!("From x@example.org Mon Jan  1 00:00:00 2024\n{text}\n"));
    world.write("Maildir/cur/1:2,S", &raw);
    world.write("Maildir/new/.keep", "");
    for path in ["one.eml", "some.mbox", "Maildir"] {
        let said = learn(&world, &["spam", path], b"");
        assert_eq!(said, "spam: learned 0 documents, 1 already known\n", "{path}");
    }
    assert_eq!(learn(&world, &["spam", "--files-from", "-"], b"one.eml\nsome.mbox\n"), {
        "spam: learned 0 documents, 2 already known\n"
    });
    assert_eq!(learn(&world, &["ham"], &raw), "ham: learned 0 documents, 1 moved from another label\n");
    world.succeed(&["verify"]);
}

#[test]
fn a_message_without_a_message_id_moves_too_when_its_way_got_longer() {
    let world = World::with_mail_model();
    let message = |way: &str, date: &str, body: &str| {
        format!("{way}From: a@example.org\nTo: b@example.org\nDate: {date}\nSubject: pills\n\n{body}\n")
            .into_bytes()
    };
    let way = "Received: from gateway.example.net by mx.example.org; Mon, 2 Mar 2026 10:00:05 +0000\n";
    let (date, body) = ("Mon, 2 Mar 2026 10:00:00 +0000", "cheap pills of another kind");
    assert_eq!(learn(&world, &["ham"], &message("", date, body)), "ham: learned 1 document\n");
    let moved = "spam: learned 0 documents, 1 moved from another label\n";
    assert_eq!(learn(&world, &["spam"], &message(way, date, body)), moved);
    assert_eq!(learn(&world, &["ham"], &message(way, date, "soup at noon")), "ham: learned 1 document\n");
}

#[test]
fn what_is_forgotten_leaves_no_trace_in_any_score() {
    let world = World::with_mail_model();
    let scores = || {
        let inbox = root().join("corpora/mail/inbox").display().to_string();
        world.succeed(&["label", &inbox])
    };
    let before = scores();
    for name in ["01.eml", "02.eml"] {
        learn(&world, &["ham"], &inbox(name));
    }
    assert_ne!(scores(), before);
    // the one by a digest, without being at hand
    let suspects = world.succeed(&["inspect", "--json", "--suspects=1000"]);
    assert!(suspects.contains("digest"), "{suspects}");
    for name in ["02.eml", "01.eml"] {
        let output = world.run_with_input(&["forget", "ham"], &inbox(name));
        assert!(stdout(&output).starts_with("forgot 1 document: "), "{}", stderr(&output));
    }
    assert_eq!(scores(), before);
    let output = world.run_with_input(&["forget"], &inbox("01.eml"));
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("was never learned"), "{}", stderr(&output));
    assert_eq!(scores(), before);
}

/// What a document adds to the offset of all scores stays, or one odd message would take the others with it.
#[test]
fn correcting_the_oddest_message_leaves_the_verdicts_on_others() {
    let world = World::with_mail_model();
    let inbox = root().join("corpora/mail/inbox").display().to_string();
    let verdicts = || {
        let rows = world.succeed(&["label", &inbox]);
        rows.lines().map(|row| row.split(',').nth(1).unwrap().to_owned()).collect::<Vec<_>>()
    };
    let before = verdicts();
    let mail = root().join("corpora/mail").display().to_string();
    let told = world.succeed(&["inspect", "--json", "--suspects=3", &mail]);
    let suspects = serde_json::from_str::<serde_json::Value>(&told).unwrap()["suspects"].clone();
    let suspects = suspects.as_array().unwrap();
    assert_eq!(suspects.len(), 3);
    for suspect in suspects {
        world.succeed(&["forget", "--digest", suspect["digest"].as_str().unwrap()]);
        assert_eq!(verdicts(), before, "without {suspect}");
    }
}

#[test]
fn labels_are_those_that_the_model_knows() {
    let world = World::with_mail_model();
    let output = world.run_with_input(&["learn", "spma"], &inbox("01.eml"));
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("\"spam\""), "{}", stderr(&output));
    let output = world.run_with_input(&["forget", "--digest", "00"], b"");
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(learn(&world, &["news", "--new-label"], &inbox("03.eml")), "news: learned 1 document\n");
    assert_eq!(learn(&world, &["news"], &inbox("03.eml")), "news: learned 0 documents, 1 already known\n");
    assert!(world.succeed(&["inspect"]).contains("news"));
    world.succeed(&["verify"]);
}

#[test]
fn only_mistakes_are_learned_if_so_asked() {
    let world = World::with_mail_model();
    let spam = inbox("01.eml");
    assert_eq!(learn(&world, &["spam", "--if-wrong"], &spam), {
        "spam: learned 0 documents, 1 already labelled so\n"
    });
    assert_eq!(learn(&world, &["spam", "--margin", "100"], &spam), "spam: learned 1 document\n");
    let ham = inbox("02.eml");
    assert_eq!(learn(&world, &["spam", "--if-wrong"], &ham), "spam: learned 1 document\n");
}

#[test]
fn a_model_begins_with_its_first_message() {
    let world = World::new();
    let output = world.run_with_input(&["learn", "work", "-m", "m"], b"Subject: x\n\nbudget\n");
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("--labels work,"), "{}", stderr(&output));
    assert!(!world.path("m").exists());
    learn(&world, &["work", "-m", "m", "--labels", "work,home"], b"Subject: x\n\nbudget\n");
    learn(&world, &["home", "-m", "m"], b"Subject: y\n\nsupper\n");
    let output = world.run_with_input(&["score", "-m", "m"], b"Subject: z\n\nthe budget\n");
    assert!(stdout(&output).starts_with("work"), "{} {}", stdout(&output), stderr(&output));
    // at the default place, which is made
    learn(&world, &["spam"], &inbox("01.eml"));
    learn(&world, &["ham"], &inbox("02.eml"));
    world.succeed(&["verify"]);
}

#[test]
fn training_does_not_replace_what_was_taught() {
    let world = World::with_mail_model();
    let mail = root().join("corpora/mail").display().to_string();
    let (ham, spam) = (format!("ham={mail}/ham"), format!("spam={mail}/spam"));
    world.succeed(&["train", &ham, &spam]);
    learn(&world, &["ham"], &inbox("01.eml"));
    let said = world.fail(&["train", &ham, &spam]);
    assert!(said.contains("--replace"), "{said}");
    world.succeed(&["train", "--replace", &ham, &spam]);
}

#[test]
fn a_model_learned_by_runs_of_one_label_is_as_good_as_a_trained_one() {
    let (taught, trained) = (World::new(), World::with_mail_model());
    let mail = root().join("corpora/mail").display().to_string();
    for label in ["ham", "spam"] {
        let output = taught.run(&["learn", label, "--log-limit", "0", &format!("{mail}/{label}")]);
        assert!(stderr(&output).contains("retrained on"), "{}", stderr(&output));
    }
    let inbox = format!("{mail}/inbox");
    // documents are remembered without their parts, whose price is then the default
    let labels = |world: &World| {
        let rows = world.succeed(&["label", &inbox]);
        rows.lines().map(|row| row.split(',').take(2).collect::<String>()).collect::<Vec<_>>()
    };
    assert_eq!(labels(&taught), labels(&trained));
    let said = taught.succeed(&["retrain"]);
    assert!(said.contains("expected on messages drawn like these"), "{said}");
    assert_eq!(labels(&taught), labels(&trained));
}

#[test]
fn a_damaged_model_of_a_user_leaves_the_shared_one() {
    let world = World::with_mail_model();
    fs::rename(world.path(".local/share/tamis/model.tamis"), world.path("shared.tamis")).unwrap();
    let mails = [inbox_path("01.eml"), inbox_path("02.eml"), inbox_path("03.eml")];
    let mails = mails.each_ref().map(String::as_str);
    let of_user = ["-m", "user.tamis", "--fallback", "shared.tamis"];
    let run = |command: &[&str]| {
        let output = world.run(&[command, &of_user, &mails].concat());
        (output.status.code(), stdout(&output), stderr(&output))
    };
    let by_shared = world.succeed(&[&["label", "-m", "shared.tamis"], &mails[..]].concat());
    assert_eq!(run(&["learn", "ham"]).0, Some(0));
    let by_both = run(&["label"]).1;
    assert_ne!(by_both, by_shared);
    let whole = fs::read(world.path("user.tamis")).unwrap();
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        bytes
    };
    // in the magic and in the header; more of the learned documents may be cut off, as by a crash
    let flipped = [0, 40, 200].map(flipped);
    let cut = [0, 1, 100, 500].map(|length| whole[..length].to_vec());
    for damaged in cut.into_iter().chain(flipped) {
        fs::write(world.path("user.tamis"), &damaged).unwrap();
        let (status, answers, said) = run(&["label"]);
        assert_eq!((status, &answers), (Some(0), &by_shared), "{said}");
        assert!(said.starts_with("tamis: user.tamis: ") && said.lines().count() == 1, "{said}");
        assert!(said.contains("a whole copy") && said.contains("; until then the shared model"), "{said}");
        let (status, _, said) = run(&["learn", "ham"]);
        assert!(status == Some(3) && said.contains("a whole copy"), "{said}");
        assert_eq!(fs::read(world.path("user.tamis")).unwrap(), damaged);
    }
    fs::write(world.path("user.tamis"), &whole).unwrap();
    assert_eq!(run(&["label"]), (Some(0), by_both, String::new()));
}

#[test]
fn users_have_models_of_their_own_and_a_shared_one_behind() {
    let world = World::with_mail_model();
    fs::rename(world.path(".local/share/tamis/model.tamis"), world.path("shared.tamis")).unwrap();
    let shared = fs::read(world.path("shared.tamis")).unwrap();
    let spam = inbox("01.eml");
    let run = |arguments: &[&str], input: &[u8]| {
        let mut command = world.command(arguments);
        command.env("TAMIS_FALLBACK", world.path("shared.tamis"));
        let output = feed(command, input);
        (output.status.code(), stdout(&output), stderr(&output))
    };
    // before a user has learned anything, the shared model speaks alone
    let (status, alone, said) = run(&["score"], &spam);
    assert_eq!((status, &said[..]), (Some(0), ""), "{alone}");
    let (_, of_shared, _) = run(&["score", "-m", "shared.tamis"], &spam);
    assert_eq!(alone, of_shared);
    // one's own model is made with the recipe, labels and scoring of the shared one, and goes before it
    let text = String::from_utf8_lossy(&spam);
    for n in 0..4 {
        let another = format!("{text}\nsee you at table {n}\n");
        let (status, _, said) = run(&["learn", "ham"], another.as_bytes());
        assert_eq!(status, Some(0), "{said}");
    }
    let (status, corrected, _) = run(&["score"], &spam);
    assert_eq!(status, Some(1), "{corrected}");
    let (_, explained, _) = run(&["explain"], &spam);
    assert!(explained.starts_with(corrected.trim()), "{explained}");
    let option = world.succeed(&["label", "--fallback", "shared.tamis", &inbox_path("01.eml")]);
    assert!(option.contains(",ham,"), "{option}");
    // nobody else's is changed by that
    assert_eq!(fs::read(world.path("shared.tamis")).unwrap(), shared);
    // a model that was named is not mixed with what is usual, only with what is asked for
    assert!(world.fail(&["score", "--fallback", "nowhere", &inbox_path("01.eml")]).contains("nowhere"));
    world.write("texts/a/1.txt", "apples");
    world.write("texts/b/1.txt", "iron");
    world.succeed(&["train", "-m", "texts.tamis", "texts"]);
    let (status, _, said) = run(&["score", "-m", "texts.tamis"], b"iron");
    assert_eq!((status, &said[..]), (Some(0), ""));
    // to learn and to score alike, and who makes a new one is told so
    let (status, _, said) = run(&["learn", "-m", "user.tamis", "ham"], &spam);
    assert!(status == Some(0) && said.contains("no shared model is used, since"), "{said}");
    let (_, with_variable, _) = run(&["score", "-m", "user.tamis"], &spam);
    let alone = world.run_with_input(&["score", "-m", "user.tamis"], &spam);
    assert_eq!(with_variable, stdout(&alone));
    let said =
        world.fail(&["score", "-m", "texts.tamis", "--fallback", "shared.tamis", &inbox_path("01.eml")]);
    assert!(said.contains("--fallback: models do not add up: recipe."), "{said}");
    // labels that the shared model does not have make no model
    let of_others =
        ["learn", "-m", "other.tamis", "--labels", "ham,junk", "--fallback", "shared.tamis", "ham"];
    let said = world.fail(&[&of_others[..], &[&inbox_path("01.eml")]].concat());
    assert!(said.contains("--labels: expected those of the shared model, ham,spam, got ham,junk"), "{said}");
    assert!(!world.path("other.tamis").exists());
}

#[test]
fn a_label_that_looks_like_another_is_refused_and_what_a_model_has_stays() {
    let world = World::new();
    world.write("t.csv", "label,text\na1,pears and plums\nb1,iron and tin\n");
    world.write("new.txt", "tin");
    world.succeed(&["train", "-m", "m.tamis", "t.csv"]);
    for label in ["B1", "b 1"] {
        let said = world.fail(&["learn", "-m", "m.tamis", "--new-label", label, "new.txt"]);
        assert!(said.contains("\"b1\"") && said.contains(&format!("{label:?}")), "{said}");
    }
    assert!(world.fail(&["learn", "-m", "m.tamis", "--new-label", "Unsure", "new.txt"]).contains("no label"));
    // a model of before
    let text = world.succeed(&["export", "-m", "m.tamis"]).replace("\"b1\"", "\"a1 \"");
    world.write("old.jsonl", text);
    world.succeed(&["import", "-m", "old.tamis", "old.jsonl"]);
    assert!(world.succeed(&["label", "-m", "old.tamis", "new.txt"]).contains("new.txt,a1 ,"));
    world.succeed(&["learn", "-m", "old.tamis", "--new-label", "c1", "new.txt"]);
}
