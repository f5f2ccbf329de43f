//! What is given twice: files, equal documents, equal documents under two labels, models.

use std::fs;

use crate::support::{World, stderr};

/// Mail of two labels, twenty messages each, in `ham` and `spam`.
fn world() -> World {
    let world = World::new();
    for i in 0..20 {
        world.write(
            &format!("ham/{i:02}.eml"),
            mail("lunch", &format!("soup at noon number{i} word{}", i % 3)),
        );
        world.write(
            &format!("spam/{i:02}.eml"),
            mail("pills", &format!("cheap offer number{i} word{}", i % 4)),
        );
    }
    world
}

fn mail(subject: &str, body: &str) -> String {
    format!("From: a@example.org\nTo: b@example.org\nSubject: {subject}\n\n{body}\n")
}

/// Trains with these sources; the model, and what was said.
fn train(world: &World, arguments: &[&str]) -> (Vec<u8>, String) {
    let output = world.run(&[&["train", "-m", "m"][..], arguments].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    (fs::read(world.path("m")).unwrap(), stderr(&output))
}

#[test]
fn the_same_file_given_twice_counts_once() {
    let world = world();
    let (once, said) = train(&world, &["ham=ham", "spam=spam"]);
    assert!(!said.contains("twice"), "{said}");
    std::os::unix::fs::symlink("ham", world.path("other")).unwrap();
    fs::hard_link(world.path("ham/03.eml"), world.path("linked.eml")).unwrap();
    for (sources, twice) in [
        (&["ham=ham", "ham=ham", "spam=spam"][..], "20 files were given twice and counted once\n"),
        (&["ham=ham/01.eml", "ham=ham", "spam=spam"], "1 file was given twice and counted once\n"),
        (
            &["ham=other", "ham=ham", "spam=spam", "spam=./spam/"],
            "40 files were given twice and counted once\n",
        ),
        (&["ham=linked.eml", "ham=ham", "spam=spam"], "1 file was given twice and counted once\n"),
    ] {
        // also where equal mail would count
        for repeat in [&[][..], &["--repeat"]] {
            let (model, said) = train(&world, &[sources, repeat].concat());
            assert!(said.contains(twice), "{said}");
            assert_eq!(model, once, "{sources:?}");
        }
    }
}

#[test]
fn the_same_table_given_twice_counts_once_and_its_equal_rows_as_often_as_they_are_there() {
    let world = World::new();
    world.write("t.csv", "label,text\na,soup soup\na,soup soup\nb,pills\nb,offer\nb,\na,\n");
    let said = stderr(&world.run(&["train", "-m", "m", "t.csv", "./t.csv"]));
    assert!(said.contains("1 file was given twice and counted once\n"), "{said}");
    assert!(said.contains("1 document equals another and counts as often as it is given\n"), "{said}");
    let about = world.succeed(&["inspect", "-m", "m"]);
    assert!(about.contains("documents   6 learned, 5 distinct ones remembered"), "{about}");
}

#[test]
fn equal_mail_counts_once_unless_asked() {
    let world = world();
    let (once, said) = train(&world, &["ham=ham", "spam=spam"]);
    assert!(!said.contains("equal"), "{said}");
    fs::create_dir(world.path("copies")).unwrap();
    for i in 0..10 {
        fs::copy(world.path("ham/01.eml"), world.path(&format!("copies/{i}.eml"))).unwrap();
    }
    for threads in ["1", "4"] {
        let (model, said) = train(&world, &["ham=copies", "ham=ham", "spam=spam", "--threads", threads]);
        assert!(
            said.contains("10 messages equal others and were counted once (--repeat counts each)\n"),
            "{said}"
        );
        assert_eq!(model, once);
        // also of what is counted only
        let bayes = ["--likelihood", "multinomial", "--no-documents", "--threads", threads];
        let (counted, _) = train(&world, &[&["ham=ham", "spam=spam"][..], &bayes].concat());
        let (model, _) = train(&world, &[&["ham=ham", "ham=copies", "spam=spam"][..], &bayes].concat());
        assert_eq!(model, counted);
    }
    let (_, said) = train(&world, &["ham=ham", "ham=copies", "spam=spam", "--repeat"]);
    assert!(said.contains("10 messages equal others and count as often as they are given\n"), "{said}");
    assert!(world.succeed(&["inspect", "-m", "m"]).contains("50 learned, 40 distinct"));
    let folds = world.run(&["evaluate", "--folds", "5", "ham=ham", "ham=copies", "spam=spam"]);
    assert!(String::from_utf8_lossy(&folds.stdout).starts_with("40 documents"), "{folds:?}");
}

#[test]
fn equal_documents_under_two_labels_are_named_and_refused_where_they_are_many() {
    let world = world();
    fs::copy(world.path("ham/07.eml"), world.path("spam/99.eml")).unwrap();
    let (_, said) = train(&world, &["ham=ham", "spam=spam"]);
    assert!(said.contains("2 documents equal others under another label, for example\n  ham/07.eml (ham) and spam/99.eml (spam)\n"), "{said}");
    let (kept, _) = train(&world, &["ham=ham", "spam=spam", "--contradictions", "keep"]);
    for sources in [&["ham=ham", "spam=ham", "spam=spam"][..], &["ham=ham", "spam=spam", "spam=ham/02.eml"]] {
        let said = world.fail(&[&["train", "-m", "m"][..], sources].concat());
        assert!(said.contains("  ham/02.eml (ham) and ham/02.eml (spam)\n"), "{said}");
        assert!(said.contains("--contradictions keep"), "{said}");
        assert_eq!(fs::read(world.path("m")).unwrap(), kept);
        train(&world, &[sources, &["--contradictions", "keep"]].concat());
        fs::write(world.path("m"), &kept).unwrap();
    }
    // five pairs are enough
    let said = world.fail(&["train", "-m", "m", "ham=ham", "spam=ham", "spam=spam"]);
    assert_eq!(said.matches(" and ham/").count(), 5, "{said}");
}

#[test]
fn a_message_of_an_mbox_and_a_row_are_named_where_they_contradict() {
    let world = world();
    let from = "From x@example.org Mon Jan  1 00:00:00 2024\n";
    world.write(
        "some.mbox",
        format!(
            "{from}{}\n{from}{}\n",
            mail("x", "one of its own"),
            fs::read_to_string(world.path("ham/02.eml")).unwrap()
        ),
    );
    let said = stderr(&world.run(&["train", "-m", "m", "ham=ham", "spam=spam", "spam=some.mbox"]));
    assert!(said.contains("  ham/02.eml (ham) and some.mbox:2 (spam)\n"), "{said}");
    world.write("t.csv", "label,text\na,soup\nb,pills\nb,\na,\nb,soup\n");
    let output = world.run(&["train", "-m", "t", "t.csv"]);
    let said = stderr(&output);
    // text is told, not refused
    assert!(output.status.success(), "{said}");
    assert!(said.contains("  t.csv:2 (a) and t.csv:6 (b)\n"), "{said}");
}

#[test]
fn a_model_given_twice_or_merged_with_itself_counts_once() {
    let world = world();
    world.succeed(&["train", "-m", "a", "ham=ham", "spam=spam"]);
    let expected = |said: String| said.lines().last().unwrap().to_owned();
    let of_a = expected(world.succeed(&["train", "-m", "a", "ham=ham", "spam=spam"]));
    fs::copy(world.path("a"), world.path("copy")).unwrap();
    for models in [&["a", "a"][..], &["a", "./a"], &["a", "copy", "a"]] {
        let said = world.succeed(&[&["merge", "--replace", "-m", "sum"][..], models].concat());
        assert!(said.starts_with("learned 40 documents (20 ham, 20 spam)"), "{said}");
        assert_eq!(expected(said), of_a);
        world.succeed(&["verify", "-m", "sum"]);
    }
    // the target among the sources
    let said = world.succeed(&["merge", "--replace", "-m", "a", "a", "copy"]);
    assert!(said.starts_with("learned 40 documents"), "{said}");
    let said = world.succeed(&["merge", "--replace", "--repeat", "-m", "sum", "a", "copy"]);
    assert!(said.starts_with("learned 80 documents"), "{said}");
}

#[test]
fn models_with_digests_only_that_share_documents_are_refused() {
    let world = world();
    world.succeed(&["train", "-m", "a", "--no-documents", "ham=ham", "spam=spam"]);
    fs::copy(world.path("a"), world.path("b")).unwrap();
    let said = world.fail(&["merge", "-m", "sum", "a", "b"]);
    assert!(said.contains("40 shared documents") && said.contains("--repeat"), "{said}");
    assert!(!world.path("sum").exists());
    assert!(world.succeed(&["merge", "-m", "sum", "a", "a"]).starts_with("learned 40 documents"));
    let said = world.succeed(&["merge", "--replace", "--repeat", "-m", "sum", "a", "b"]);
    assert!(said.starts_with("learned 80 documents"), "{said}");
    // known under another label there
    world.succeed(&["train", "-m", "b", "--no-documents", "ham=spam", "spam=ham"]);
    let said = stderr(&world.run(&["merge", "--replace", "-m", "sum", "a", "b"]));
    assert!(said.contains("40 documents known under several labels\n"), "{said}");
}

#[test]
fn what_has_a_label_is_not_learned_without_one_as_well() {
    let world = World::new();
    for (i, word) in ["soup", "noon", "pills", "offer"].into_iter().enumerate() {
        world.write(&format!("few/{}/{i}", if i < 2 { "a" } else { "b" }), format!("{word} word{i}"));
    }
    world.write("rest/x", "soup noon");
    let output = world.run(&["train", "-m", "m", "few", "--unlabelled", "few", "--unlabelled", "rest"]);
    assert!(stderr(&output).contains("4 files were given twice and counted once\n"), "{}", stderr(&output));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.starts_with("learned 4 documents (2 a, 2 b): "), "{said}");
    assert!(said.contains("left out 1 document without a label"), "{said}");
}
