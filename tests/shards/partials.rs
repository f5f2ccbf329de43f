//! `train --partial` and `merge`: shards counted by themselves give the model of one training.

use std::fs;

use crate::support::{World, root, stderr};

/// Trains on these sources, as partials count them, and as so many partials merged at once and in a tree.
fn check(options: &[&str], sources: &[&[String]]) {
    let world = World::new();
    let arguments = |first: &[&str], sources: &[String]| {
        let sources = sources.iter().map(String::as_str);
        let all = first.iter().chain(options).copied().chain(sources);
        all.map(str::to_owned).collect::<Vec<_>>()
    };
    let succeed = |arguments: Vec<String>| {
        let output = world.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    };
    succeed(arguments(&["train", "-m", "whole", "--repeat", "--no-names"], &sources.concat()));
    let names: Vec<_> = (0..sources.len()).map(|i| format!("{i}.partial")).collect();
    for (name, sources) in names.iter().zip(sources) {
        succeed(arguments(&["train", "--partial", "-m", name], sources));
    }
    let merge = |first: &[&str], partials: &[String]| {
        world.succeed(&first.iter().copied().chain(partials.iter().map(String::as_str)).collect::<Vec<_>>())
    };
    merge(&["merge", "-m", "once"], &names);
    let half = names.len() / 2;
    merge(&["merge", "--partial", "-m", "a.partial"], &names[half..]);
    merge(&["merge", "--partial", "-m", "b.partial", "a.partial"], &names[..half]);
    merge(&["merge", "-m", "tree", "b.partial"], &[]);
    let [whole, once, tree] = ["whole", "once", "tree"].map(|name| fs::read(world.path(name)).unwrap());
    assert!(once == whole && tree == whole, "{options:?}");
}

/// The corpus of topics, a source a label.
fn topics() -> Vec<String> {
    let folder = root().join("corpora/topics/train");
    let mut labels: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    labels.sort();
    let source = |label: &std::ffi::OsString| {
        let label = label.to_str().unwrap();
        format!("{label}={}", folder.join(label).display())
    };
    labels.iter().map(source).collect()
}

fn mail() -> Vec<String> {
    let source = |label| format!("{label}={}", root().join("corpora/mail").join(label).display());
    ["ham", "spam"].map(source).into()
}

#[test]
fn partials_of_one_label_each_become_the_model_of_all() {
    let topics = topics();
    let each: Vec<_> = topics.chunks(1).collect();
    for options in [
        &[][..],
        &["--likelihood", "multinomial"],
        &["--documents"],
        &["--correction", "off", "--ngrams", "1-2"],
    ] {
        check(options, &each);
    }
    let mail = mail();
    let each: Vec<_> = mail.chunks(1).collect();
    check(&[], &each);
    // the costs of mistakes are settled when all is there
    check(&["--cost", "fp=9"], &each);
}

#[test]
fn rows_may_be_dealt_in_any_way() {
    let world = World::new();
    let row =
        |i: usize| format!("{},word{} and word{} number{i}\n", ["good", "bad"][i % 2], i % 17, i * i % 23);
    let shard = |of: usize| (0..300).filter(|i| i * i % 5 == of).map(row).collect::<String>();
    let shards = [0, 1, 4].map(|of| {
        let path = world.write(&format!("{of}.csv"), format!("label,text\n{}", shard(of)));
        vec![path.display().to_string()]
    });
    check(&[], &shards.each_ref().map(Vec::as_slice));
}

#[test]
fn documents_without_labels_may_lie_in_any_shard() {
    let world = World::new();
    for (name, labelled, unlabelled) in
        [("1", "good", "a bad and dull film\n"), ("2", "bad", "a good film\n")]
    {
        fs::create_dir_all(world.path(name).join(labelled)).unwrap();
        world.write(&format!("{name}/{labelled}/text"), format!("a very {labelled} film\n"));
        world.write(&format!("{name}.txt"), unlabelled);
        let (source, partial) = (format!("{labelled}={name}/{labelled}"), format!("{name}.partial"));
        let unlabelled = format!("{name}.txt");
        world.succeed(&["train", "--partial", "-m", &partial, &source, "--unlabelled", &unlabelled]);
    }
    world.succeed(&["merge", "-m", "merged", "2.partial", "1.partial"]);
    world.succeed(&[
        "train",
        "-m",
        "whole",
        "good=1/good",
        "bad=2/bad",
        "--unlabelled=1.txt",
        "--unlabelled=2.txt",
    ]);
    assert!(fs::read(world.path("merged")).unwrap() == fs::read(world.path("whole")).unwrap());
}

#[test]
fn models_and_partials_do_not_mix() {
    let world = World::new();
    let mail = mail();
    world.succeed(&["train", "-m", "a", &mail[0], &mail[1]]);
    world.succeed(&["train", "--partial", "-m", "p", &mail[0]]);
    // counted again, it replaces itself
    world.succeed(&["train", "--partial", "-m", "p", &mail[0]]);
    for (arguments, expected) in [
        (&["merge", "-m", "x", "a", "p"][..], "p: expected a model, got a partial"),
        (&["merge", "-m", "x", "p", "a"], "a: expected a partial, got a model"),
        (&["merge", "--partial", "-m", "x", "a"], "a: expected a partial, got a model"),
        (&["merge", "--strip", "-m", "x", "p"], "--strip: expected models, got partials"),
        (&["merge", "-m", "x", "p"], "expected documents of at least 2 labels, got 1"),
        (&["score", "-m", "p", "p"], "p: expected a model, got a partial"),
        (&["train", "--partial", "-m", "a", &mail[0]], "a: this file is not a partial"),
        (&["merge", "--partial", "-m", "a", "p"], "a: this file is not a partial"),
        (&["train", "-m", "p", &mail[0], &mail[1]], "p: this is a partial, not a model"),
        (&["train", "--partial", &mail[0]], "--model <FILE>"),
    ] {
        let error = world.fail(arguments);
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
    world.succeed(&["train", "--partial", "-m", "q", &mail[1], "--stem", "english"]);
    let error = world.fail(&["merge", "-m", "x", "p", "q"]);
    assert!(error.contains("q: ") && error.contains("options.recipe.tokenizer.stemmer"), "{error}");
}
