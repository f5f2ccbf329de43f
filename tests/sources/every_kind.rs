//! Every kind of source that DESIGN and README name, through the program.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::support::{World, root, stderr, stdout, wait_for};

fn message(subject: &str, body: &str) -> String {
    format!(
        "From: a@example.org\nTo: b@example.org\nDate: Mon, 2 Mar 2026 10:00:00 +0000\nSubject: {subject}\n\n{body}\n"
    )
}

fn learned(world: &World, arguments: &[&str]) -> String {
    let mut train = vec!["train"];
    train.extend(arguments);
    world.succeed(&train).lines().next().unwrap().to_owned()
}

#[test]
fn mbox_maildir_and_folder_of_the_same_mail_give_the_same_model() {
    let world = World::new();
    let (mut ham, mut spam) = (String::new(), String::new());
    for i in 0..3 {
        for (label, mbox, body) in [("ham", &mut ham, "soup at noon"), ("spam", &mut spam, "cheap pills")] {
            let message = message(&format!("number {i}"), body);
            world.write(&format!("folder/{label}/{i}.eml"), &message);
            world.write(&format!("{label}-box/cur/{i}.host,S=3:2,S"), &message);
            mbox.push_str(&format!("From a@example.org Mon Mar  2 10:00:0{i} 2026\n{message}\n"));
        }
    }
    fs::create_dir_all(world.path("ham-box/new")).unwrap();
    fs::create_dir_all(world.path("spam-box/new")).unwrap();
    world.write("ham-mbox", &ham);
    world.write("spam.mbox", &spam);
    let expected = "learned 6 documents (3 ham, 3 spam)";
    assert!(learned(&world, &["-m", "1.tamis", "folder"]).starts_with(expected));
    assert!(learned(&world, &["-m", "2.tamis", "ham=ham-box", "spam=spam-box"]).starts_with(expected));
    assert!(learned(&world, &["-m", "3.tamis", "ham=ham-mbox", "spam=spam.mbox"]).starts_with(expected));
    assert!(learned(&world, &["-m", "4.tamis", "folder/spam", "folder/ham"]).starts_with(expected));
    let model = |n| fs::read(world.path(&format!("{n}.tamis"))).unwrap();
    assert!(model(1) == model(2) && model(1) == model(3) && model(1) == model(4));
    let rows = world.succeed(&["label", "-m", "1.tamis", "--unsure", "0", "ham-mbox"]);
    assert!(rows.contains("\nham-mbox:3,ham,"), "{rows}");
    assert!(world.fail(&["train", "ham-box"]).contains("LABEL="));
}

#[test]
fn tables_bring_labels_and_texts() {
    let world = World::new();
    world.write("a.csv", "Text,label\n\"iron, tin\",metal\n\"apples\nand pears\",fruit\n");
    world.write("b.tsv", "label\ttext\nmetal\tiron, tin\nfruit\tapples and pears\n");
    world.write(
        "c.jsonl",
        "{\"label\":\"metal\",\"text\":\"iron, tin\"}\n{\"label\":\"fruit\",\"text\":\"apples and pears\"}\n",
    );
    world.write("d.csv", "kind;x\n");
    for (i, table) in ["a.csv", "b.tsv", "c.jsonl"].iter().enumerate() {
        assert!(
            learned(&world, &["-m", &format!("{i}.tamis"), table])
                .starts_with("learned 2 documents (1 fruit, 1 metal)")
        );
    }
    let model = |n| fs::read(world.path(&format!("{n}.tamis"))).unwrap();
    assert!(model(0) == model(1) && model(0) == model(2));
    let rows = world.succeed(&["label", "-m", "0.tamis", "a.csv", "b.tsv"]);
    let paths: Vec<_> = rows.lines().skip(1).map(|row| row.split(',').next().unwrap()).collect();
    assert_eq!(paths, ["a.csv:2", "a.csv:3", "b.tsv:2", "b.tsv:3"]);
    world.write("e.jsonl", "{\"label\":\"metal\",\"text\":\"iron\"}\nnot json\n{\"text\":\"no label\"}\n{\"label\":\"fruit\",\"text\":\"figs\"}\n");
    let output = world.run(&["train", "-m", "e.tamis", "e.jsonl"]);
    assert!(stdout(&output).starts_with("learned 2 documents"));
    let said = stderr(&output);
    assert!(
        said.contains("e.jsonl:2")
            && said.contains("e.jsonl:3")
            && said.contains("2 documents could not be read"),
        "{said}"
    );
    assert_eq!(world.run(&["train", "--strict", "-m", "e.tamis", "e.jsonl"]).status.code(), Some(3));
}

#[test]
fn mail_and_text_do_not_mix() {
    let world = World::new();
    world.write("mail/ham/1.eml", message("lunch", "soup"));
    world.write("mail/spam/1.eml", message("pills", "buy"));
    world.write("text/fruit/1.txt", "apples");
    world.write("text/metal/1.txt", "iron");
    world.succeed(&["train", "-m", "mail.tamis", "mail"]);
    let said = stderr(&world.run(&["train", "-m", "text.tamis", "text"]));
    assert!(said.contains("text: text, 2 files"), "{said}");
    for (model, documents) in [("mail.tamis", "text"), ("text.tamis", "mail")] {
        let said = world.fail(&["label", "-m", model, documents]);
        assert!(said.contains("--as"), "{said}");
    }
    assert!(world.fail(&["train", "mail", "text"]).contains("expected mail, as mail is, got text"));
    assert_eq!(world.succeed(&["label", "-m", "text.tamis", "--as", "text", "mail"]).lines().count(), 3);
    let said = world.fail(&["label", "-m", "text.tamis", "--as", "mail", "mail"]);
    assert!(said.contains("expected text"), "{said}");
}

#[test]
fn documents_are_filed_by_label() {
    let world = World::new();
    let topics = root().join("corpora/topics").display().to_string();
    world.succeed(&["train", &format!("{topics}/train")]);
    let rows = world.succeed(&[
        "label",
        "--all",
        "--sort-into",
        "sorted",
        "--by",
        "link",
        &format!("{topics}/test"),
    ]);
    let header = "path,label,probability,log_odds,probability_astronomy,probability_cooking,probability_cycling,probability_gardening,probability_programming";
    assert_eq!(rows.lines().next(), Some(header));
    let mut filed = 0;
    for label in ["astronomy", "cooking", "cycling", "gardening", "programming"] {
        let rows_of = rows.lines().filter(|row| row.split(',').nth(1) == Some(label)).count();
        let files = fs::read_dir(world.path("sorted").join(label)).unwrap().count();
        assert_eq!(files, rows_of, "{label}");
        filed += files;
    }
    assert_eq!(filed + 1, rows.lines().count());
    for row in rows.lines().skip(1) {
        let sum: f64 = row.split(',').skip(4).map(|p| p.parse::<f64>().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-5, "{row}");
    }
    let jsonl = world.succeed(&["label", "--format", "jsonl", "--all", &format!("{topics}/test")]);
    for line in jsonl.lines() {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(object["path"].is_string() && object["probabilities"]["cooking"].is_number());
    }
}

#[test]
fn the_model_is_where_it_is_said_to_be() {
    let world = World::new();
    world.write("t/a/1", "apples");
    world.write("t/b/1", "iron");
    world.succeed(&["train", "t"]);
    assert!(world.path(".local/share/tamis/model.tamis").is_file());
    let run = |name: &str, value: &str| {
        let output = world.command(&["train", "t"]).env(name, world.path(value)).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    };
    run("XDG_DATA_HOME", "data");
    assert!(world.path("data/tamis/model.tamis").is_file());
    run("TAMIS_MODEL", "mine.tamis");
    assert!(world.path("mine.tamis").is_file());
}

#[test]
fn options_change_the_model_and_are_recorded() {
    let world = World::new();
    world.write("t/a/1.txt", "The running apples and the pears 苹果很好吃");
    world.write("t/b/1.txt", "Iron and the runners of tin");
    world.write("stop.txt", "the and of");
    world.succeed(&[
        "train",
        "t",
        "--stop-words",
        "stop.txt",
        "--stem",
        "english",
        "--ngrams",
        "1-2",
        "--likelihood",
        "bernoulli",
        "--alpha",
        "1",
        "--class-prior",
        "a=0.25,b=0.75",
        "--min-chars",
        "2",
    ]);
    let shown = world.succeed(&["inspect", "--terms", "50"]);
    for expected in [
        "bernoulli",
        "alpha 1",
        "stems of english",
        "sequences of 1 to 2",
        "3 stop words",
        "  run\n",
        "苹果",
        "  iron runner\n",
    ] {
        assert!(shown.contains(expected), "{expected:?} is missing:\n{shown}");
    }
    assert!(!shown.contains("  the\n"));
    let explained =
        world.succeed(&["explain", "--json", &world.write("x.txt", "apple").display().to_string()]);
    let object: serde_json::Value = serde_json::from_str(&explained).unwrap();
    assert_eq!(object["terms"][0]["documents"]["a"], 1);
    assert!(
        world
            .fail(&["train", "t", "--likelihood", "multinomial", "--class-prior", "a=1,c=0"])
            .contains("(a, b)")
    );
    assert!(world.fail(&["train", "t", "--stem", "greek"]).contains("greek"));
    assert!(world.fail(&["train", "t", "--ngrams", "3-1"]).contains("3"));
    world.succeed(&["verify"]);
}

#[test]
fn an_explanation_adds_up() {
    let world = World::with_mail_model();
    let file = root().join("corpora/mail/inbox/01.eml").display().to_string();
    let explained = world.succeed(&["explain", "--json", "--terms", "5", &file]);
    let object: serde_json::Value = serde_json::from_str(&explained).unwrap();
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    let shown: f64 = object["terms"].as_array().unwrap().iter().map(|t| number(&t["contribution"])).sum();
    let sum = shown + number(&object["other_contribution"]) + number(&object["intercept"]);
    assert!((sum - number(&object["log_odds"])).abs() < 1e-9);
    assert_eq!(object["terms"].as_array().unwrap().len(), 5);
}

#[test]
fn no_label_leads_out_of_the_folder_to_sort_into() {
    let world = World::new();
    world.write("train.csv", "label,text\n../../out,apple pear\nin,iron tin\n");
    world.write("docs/a.txt", "apple");
    world.succeed(&["train", "-m", "t.tamis", "train.csv"]);
    world.succeed(&["label", "-m", "t.tamis", "--sort-into", "deep/sorted", "docs"]);
    assert!(world.path("deep/sorted/..%2F..%2Fout/a.txt").exists() && !world.path("out").exists());
}

#[test]
fn nothing_is_moved_by_a_model_that_was_changed() {
    let world = World::with_mail_model();
    let mail = "Subject: lunch\n\nSoup at noon?\n";
    ["a.eml", "c.eml"].iter().for_each(|name| drop(world.write(name, mail)));
    let mut command =
        world.command(&["label", "--sort-into", "sorted", "--by", "move", "a.eml", "-", "c.eml"]);
    command.env("RAYON_NUM_THREADS", "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // until it has the model open, and waits for the second
    let maps = || fs::read_to_string(format!("/proc/{}/maps", child.id())).unwrap();
    wait_for(|| maps().contains("model.tamis"), maps);
    fs::write(world.path(".local/share/tamis/model.tamis"), "no model").unwrap();
    child.stdin.take().unwrap().write_all(mail.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(world.path("c.eml").exists(), "{}", stderr(&output));
}
