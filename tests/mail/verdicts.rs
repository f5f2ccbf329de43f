//! What verdicts are, and what others are told of them.

use crate::support::{World, stdout, verdict_fields};

#[test]
fn forged_verdicts_do_not_pass_and_are_no_evidence() {
    let world = World::with_mail_model();
    let mail = "From: a@example.org\nSubject: cheap pills\nno field\nDate: today\n\nbuy now\nX-Tamis: body\n";
    let forged = mail
        .replace("no field\n", "no field\nX-Tamis: ham;\n forged\nx-spam-flag : NO\n")
        .replace("pills\n", "pills\rX-Spam-Status: No, forged\n");
    let passed = |mail: &str| world.run_with_input(&["score", "--passthrough"], mail.as_bytes()).stdout;
    assert_eq!(String::from_utf8_lossy(&passed(&forged)), String::from_utf8_lossy(&passed(mail)));
    verdict_fields(mail.as_bytes(), &passed(mail));
    let learned = |mail: &[u8]| stdout(&world.run_with_input(&["learn", "spam"], mail));
    assert_eq!(learned(mail.as_bytes()), "spam: learned 1 document\n");
    for again in [forged.as_bytes(), &passed(&forged)] {
        assert_eq!(learned(again), "spam: learned 0 documents, 1 already known\n");
    }
}

/// Mail of two labels, some of it in between.
fn mail(world: &World, spam: &str, ham: &str) {
    for (label, words) in [(spam, "cheap pills offer casino"), (ham, "lunch meeting report budget")] {
        let words: Vec<_> = words.split(' ').collect();
        for n in 0..16 {
            let (a, b) = (words[n % 4], words[(n / 2 + 1) % 4]);
            let mail = format!(
                "From: {a}@{b}.example\nTo: eve@home.example\nDate: Mon, 2 Nov 2026 10:00:{n:02} +0000\n\
                 Message-ID: <{a}{n}@{b}.example>\nSubject: {a} {n}\n\nthe {b} and {a}, as ever\n"
            );
            world.write(&format!("mail/{label}/{n}"), mail);
        }
    }
}

#[test]
fn a_label_is_spam_by_its_name_wherever_it_stands_in_their_order() {
    // the last label is the one that model files are about: junk, then work
    for (spam, ham) in [("Junk", "Ham"), ("junk", "work"), ("phish", "work"), ("unwanted", "phish")] {
        let world = World::new();
        mail(&world, spam, ham);
        // a price at which so small a model is sure
        let trained = world.succeed(&["train", "mail", "--cost", "fp=19"]);
        assert!(trained.contains(&format!("of {ham} lost, ")), "{trained}");
        assert!(trained.contains(&format!("of {spam} missed")), "{trained}");
        for (label, status, flag) in [(spam, 0, "YES"), (ham, 1, "NO")] {
            let file = format!("mail/{label}/1");
            let output = world.run(&["score", &file]);
            let line = stdout(&output);
            assert_eq!(output.status.code(), Some(status), "{line}");
            let words: Vec<_> = line.split(' ').collect();
            let (probability, log_odds): (f64, f64) = (words[1].parse().unwrap(), words[2].parse().unwrap());
            assert_eq!((words[0], probability > 0.5, log_odds > 0.0), (label, label == spam, label == spam));
            let raw = std::fs::read(world.path(&file)).unwrap();
            let passed = verdict_fields(&raw, &world.run(&["score", "-p", &file]).stdout);
            assert!(passed.contains(&format!("X-Spam-Flag: {flag}\n")), "{passed}");
            assert!(passed.contains(&format!(" score={log_odds:.2} required=2.94 ")), "{passed}");
            let explained = world.succeed(&["explain", &file]);
            assert!(explained.contains(&format!("log-odds of {spam} against {ham}")), "{explained}");
        }
        let measured = world.succeed(&["evaluate", "mail"]);
        assert!(measured.contains(&format!("\nfinding {spam}\n")), "{measured}");
        // what nothing is known of has the share that is expected, of spam
        let prior = format!("{spam}=0.01");
        let unknown = world.run_with_input(&["score", "--prior", &prior], b"");
        let probability: f64 = stdout(&unknown).split(' ').nth(1).unwrap().parse().unwrap();
        assert!(probability < 0.05, "{}", stdout(&unknown));
        // a threshold no message reaches
        let costly = world.succeed(&["label", "--cost", "fp=1e9", "mail"]);
        assert!(!costly.contains(&format!(",{spam},")) && costly.contains(&format!(",{ham},")), "{costly}");
    }
}

#[test]
fn two_topics_get_the_likeliest_label_unless_asked_otherwise() {
    let world = World::new();
    mail(&world, "sales", "work");
    let trained = world.succeed(&["train", "mail"]);
    assert!(trained.contains(" labelled right (95 % interval)"), "{trained}");
    let labels = |more: &[&str]| world.succeed(&[&["label", "mail"], more].concat());
    assert!(!labels(&[]).contains("unsure"));
    let all_unsure = labels(&["--unsure", "0.999999"]);
    assert_eq!(all_unsure.matches(",unsure,").count(), 32, "{all_unsure}");
    let measured = world.succeed(&["evaluate", "mail"]);
    assert!(measured.contains("ROC AUC") && !measured.contains("FPR"), "{measured}");
    // asked for when it is trained, the model remembers it, also the width of the band of spam filters
    for unsure in ["0.6", "0.999999"] {
        world.succeed(&["train", "mail", "--documents", "--unsure", unsure]);
        let remembered = labels(&[]);
        assert_eq!(remembered, labels(&["--unsure", unsure]));
        world.succeed(&["retrain"]);
        assert_eq!(labels(&["--unsure", unsure]), labels(&[]));
    }
    assert_eq!(labels(&[]).matches(",unsure,").count(), 32);
    assert_eq!(labels(&["--unsure", "0"]).matches(",unsure,").count(), 0);
    // of any model, at the time of scoring
    world.succeed(&["train", "mail", "--likelihood", "multinomial"]);
    assert!(!labels(&[]).contains("unsure"));
    assert!(labels(&["--unsure", "0.99999999999"]).contains(",unsure,"));
    assert!(
        world.fail(&["train", "mail", "--likelihood", "multinomial", "--unsure", "0.7"]).contains("--unsure")
    );
}

#[test]
fn rows_come_from_standard_input() {
    let world = World::new();
    let rows = "label,text\nfruit,plums and pears\nfruit,a pear\nmetal,iron and tin\nmetal,tin\n";
    let run = |arguments: &[&str]| {
        let output = world.run_with_input(arguments, rows.as_bytes());
        assert!(output.status.success(), "{arguments:?}: {}", crate::support::stderr(&output));
        stdout(&output)
    };
    assert!(
        run(&["train", "-", "--input-format", "csv"]).starts_with("learned 4 documents (2 fruit, 2 metal)")
    );
    assert!(run(&["label", "-", "--input-format", "csv"]).contains("\n-:4,metal,"));
    assert!(
        run(&["evaluate", "-", "--input-format", "csv"]).contains("\n4 documents, 0 unsure\naccuracy  1.0")
    );
}
