//! Groups: documents of an author, a thread or a customer are held out together.

use std::fs;

use serde_json::Value;
use tamis_testing::public_corpus;

use crate::support::World;

/// A document of a made-up author, who writes under one label and has words of his own.
struct Written {
    label: String,
    author: String,
    text: String,
}

/// Documents of these authors: two words in three are the author's own, the others hint at the label.
fn written(authors: std::ops::Range<u32>) -> Vec<Written> {
    let document = |author: u32, i: u32| {
        let mut state = author * 1_000 + i;
        let mut draw = |among: u32| {
            state = u32::from_le_bytes(md5::compute(state.to_le_bytes()).0[..4].try_into().unwrap());
            state % among
        };
        let label = author % 3;
        let own = (0..6).map(|_| format!("author{author}x{}", draw(4))).collect::<Vec<_>>();
        let hints = (0..3).map(|_| {
            let of = if draw(10) < 4 { label } else { draw(3) };
            format!("topic{of}x{}", draw(12))
        });
        let text = own.into_iter().chain(hints.collect::<Vec<_>>()).collect::<Vec<_>>().join(" ");
        Written { label: format!("label{label}"), author: format!("author {author}"), text }
    };
    authors.flat_map(|author| (0..10).map(move |i| document(author, i))).collect()
}

fn csv<'a>(rows: impl IntoIterator<Item = &'a Written>) -> String {
    let row = |w: &Written| format!("{},{},{}\n", w.label, w.author, w.text);
    std::iter::once("label,author,text\n".to_owned()).chain(rows.into_iter().map(row)).collect()
}

/// The share labelled right that `train` says to expect.
fn expected(said: &str) -> f64 {
    let line = said.lines().find(|line| line.starts_with("expected on")).unwrap();
    let percent = line.split_once(": ").unwrap().1.split(' ').next().unwrap();
    percent.parse::<f64>().unwrap() / 100.0
}

fn accuracy(world: &World, arguments: &[&str]) -> f64 {
    figure(world, arguments, "accuracy")
}

fn figure(world: &World, arguments: &[&str], name: &str) -> f64 {
    let all = [&["evaluate", "--json"][..], arguments].concat();
    serde_json::from_str::<Value>(&world.succeed(&all)).unwrap()[name].as_f64().unwrap()
}

/// A world with the documents of some authors and of others.
fn world() -> World {
    let world = World::new();
    world.write("train.csv", csv(&written(0..45)));
    world.write("new.csv", csv(&written(45..90)));
    world
}

#[test]
fn what_is_expected_with_groups_holds_for_new_authors() {
    let world = world();
    let train = ["train", "--pieces", "off", "train.csv", "-m"];
    let plain = world.succeed(&[&train[..], &["plain"]].concat());
    let by_author = world.succeed(&[&train[..], &["by-author", "--group", "author"]].concat());
    assert!(plain.contains("expected on documents drawn like these"), "{plain}");
    let how = "labelled right (45 groups, each held out as a whole)";
    assert!(
        by_author.contains("expected on documents of new groups") && by_author.contains(how),
        "{by_author}"
    );
    let truth = accuracy(&world, &["-m", "by-author", "new.csv"]);
    assert!((expected(&by_author) - truth).abs() < 0.08, "{by_author}, and {truth}");
    assert!(expected(&plain) > accuracy(&world, &["-m", "plain", "new.csv"]) + 0.25, "{plain}");
}

/// What is given twice from beginning to end is no more evidence than what is given once.
#[test]
fn a_file_given_twice_promises_and_says_the_same() {
    let world = world();
    let twice = written(0..45).into_iter().chain(written(0..45)).collect::<Vec<_>>();
    world.write("twice.csv", csv(&twice));
    let said = |file: &str| {
        let promise = expected(&world.succeed(&["train", "-m", &format!("{file}.tamis"), file]));
        let of_new = |name| figure(&world, &["-m", &format!("{file}.tamis"), "new.csv"], name);
        [promise, of_new("accuracy"), of_new("log_loss")]
    };
    let (once, twice) = (said("train.csv"), said("twice.csv"));
    for (once, twice) in once.iter().zip(twice) {
        assert!((once - twice).abs() < 0.005, "{once} and {twice}");
    }
}

#[test]
fn counts_alone_are_believed_as_far_as_new_authors_bear_them_out() {
    let world = world();
    let log_loss = |group: &[&str]| {
        let train = ["train", "-m", "m", "train.csv", "--pieces", "off", "--correction", "off"];
        world.succeed(&[&train[..], group].concat());
        figure(&world, &["-m", "m", "new.csv"], "log_loss")
    };
    let (plain, by_author) = (log_loss(&[]), log_loss(&["--group", "author"]));
    assert!(by_author < plain - 0.02, "{by_author} by author, {plain}");
    // 450 documents of 45 authors are 45 witnesses
    assert!(world.succeed(&["inspect", "-m", "m"]).contains("believed to 8"));
}

#[test]
fn folds_keep_groups_together() {
    let world = world();
    let truth = |options: &[&str]| {
        world.succeed(&[&["train", "-m", "m", "train.csv"][..], options].concat());
        accuracy(&world, &["-m", "m", "new.csv"])
    };
    for options in [&[][..], &["--correction", "off"], &["--likelihood", "multinomial"]] {
        let folds =
            |more: &[&str]| accuracy(&world, &[&["--folds", "5", "train.csv"], options, more].concat());
        let (plain, by_author, truth) = (folds(&[]), folds(&["--group", "author"]), truth(options));
        assert!((by_author - truth).abs() < 0.08, "{options:?}: {by_author}, and {truth}");
        assert!(plain > truth + 0.2, "{options:?}: {plain}, and {truth}");
    }
}

#[test]
fn rows_of_a_table_are_kept_together_and_the_group_is_no_column_to_learn() {
    let world = world();
    let folds = |more: &[&str]| {
        accuracy(&world, &[&["--folds", "5", "train.csv", "--target", "label"][..], more].concat())
    };
    let skipped = ["--column", "author=skip"];
    let by_author = folds(&["--group", "author"]);
    assert!(by_author + 0.25 < folds(&skipped), "{by_author}");
    let output = world.run(&["train", "-m", "m", "train.csv", "--target", "label", "--group", "author"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("author skipped"), "{said}");
}

#[test]
fn a_folder_below_that_of_the_label_is_a_group() {
    let world = world();
    for (i, Written { label, author, text }) in written(0..45).iter().enumerate() {
        world.write(&format!("train/{label}/{author}/deep{}/{i}.txt", i % 3), text);
    }
    let by_column = world.succeed(&["train", "-m", "rows", "train.csv", "--group", "author"]);
    let by_folder = world.succeed(&["train", "-m", "files", "train", "--group-by", "folder"]);
    assert_eq!(expected(&by_column), expected(&by_folder));
    let sources = [0, 1, 2].map(|label| format!("label{label}=train/label{label}"));
    let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
    let same = world.succeed(&[&["train", "-m", "same", "--group-by", "folder"][..], &sources].concat());
    assert_eq!(expected(&by_folder), expected(&same));
    let [rows, files, same] = ["rows", "files", "same"].map(|name| fs::read(world.path(name)).unwrap());
    assert!(rows == files && files == same);
}

#[test]
fn equal_groups_give_equal_bytes_in_any_order_and_split() {
    let world = World::new();
    let mut all = written(0..20);
    // texts that two authors share
    for i in 0..10 {
        let Written { label, text, .. } = &all[i * 20];
        let shared = Written { label: label.clone(), author: "author 7".to_owned(), text: text.clone() };
        all.push(shared);
    }
    world.write("all.csv", csv(&all));
    world.write("reversed.csv", csv(all.iter().rev()));
    let (odd, even): (Vec<_>, Vec<_>) = all.iter().enumerate().partition(|(i, _)| i % 2 == 1);
    world.write("odd.csv", csv(odd.into_iter().map(|(_, w)| w)));
    world.write("even.csv", csv(even.into_iter().map(|(_, w)| w)));
    let train = |arguments: &[&str]| {
        world.succeed(&[&["train", "-m", "m", "--documents", "--group", "author"][..], arguments].concat());
        fs::read(world.path("m")).unwrap()
    };
    let whole = train(&["all.csv"]);
    for arguments in
        [&["reversed.csv"][..], &["odd.csv", "even.csv"], &["--threads", "1", "even.csv", "odd.csv"]]
    {
        assert!(train(arguments) == whole, "{arguments:?}");
    }
    for half in ["odd", "even"] {
        let (partial, table) = (format!("{half}.partial"), format!("{half}.csv"));
        world.succeed(&["train", "--partial", "--documents", "-m", &partial, &table, "--group", "author"]);
    }
    world.succeed(&["merge", "-m", "merged", "even.partial", "odd.partial"]);
    assert!(fs::read(world.path("merged")).unwrap() == whole);
    // the groups are with the documents
    world.succeed(&["retrain", "-m", "m"]);
    assert!(fs::read(world.path("m")).unwrap() == whole);
    let exported = world.succeed(&["export", "--documents", "-m", "m"]);
    world.write("m.jsonl", exported);
    world.succeed(&["import", "-m", "imported", "m.jsonl"]);
    assert!(fs::read(world.path("imported")).unwrap() == whole);
    world.succeed(&["train", "-m", "plain", "--documents", "all.csv"]);
    assert!(fs::read(world.path("plain")).unwrap() != whole);
}

#[test]
fn documents_learned_one_by_one_have_groups_too() {
    let world = World::new();
    let all = written(0..30);
    let of = |label: &str| csv(all.iter().filter(|w| w.label == label && w.author != "author 3"));
    let labels = ["label0", "label1", "label2"];
    world.write("all.csv", csv(&all));
    world.write("one.csv", csv(all.iter().filter(|w| w.author == "author 3")));
    labels.iter().for_each(|label| _ = world.write(&format!("{label}.csv"), of(label)));
    let others = all.iter().filter(|w| w.author != "author 3");
    world.write("others.csv", csv(others));
    world.succeed(&["train", "-m", "m", "--documents", "others.csv", "--group", "author"]);
    world.succeed(&["learn", "-m", "m", "--no-retrain", "label0", "one.csv", "--group", "author"]);
    let retrained = world.succeed(&["retrain", "-m", "m"]);
    let whole = world.succeed(&["train", "-m", "whole", "--documents", "all.csv", "--group", "author"]);
    assert!(retrained.contains("(30 groups, each held out as a whole)"), "{retrained}");
    assert_eq!(expected(&retrained), expected(&whole));
}

#[test]
fn a_group_that_is_not_there_is_an_error() {
    let world = world();
    world.write("some.jsonl", "{\"label\": \"a\", \"text\": \"x\"}\n{\"label\": \"b\", \"text\": \"y\"}\n");
    world.write("flat/a/1.txt", "x");
    world.write("flat/b/1.txt", "y");
    for (arguments, expected) in [
        (&["train", "-m", "m", "train.csv", "--group", "writer"][..], "label, author, text"),
        (&["train", "-m", "m", "train.csv", "--group", "4"], "--group: expected a column"),
        (
            &["train", "-m", "m", "some.jsonl", "--group", "author"],
            "--group author: expected documents with a group",
        ),
        (
            &["train", "-m", "m", "flat", "--group-by", "folder"],
            "--group-by folder: expected documents with a group",
        ),
        (&["train", "-m", "m", "train.csv", "--target", "label", "--group", "writer"], "--group writer"),
        (&["evaluate", "train.csv", "--group", "author"], "expected --folds"),
        (&["evaluate", "--online", "train.csv", "--group", "author"], "expected --folds"),
    ] {
        let said = world.fail(arguments);
        assert!(said.contains(expected), "{arguments:?}: {said}");
        assert!(!world.path("m").exists(), "{arguments:?}");
    }
    // numbers count columns from 1, and a column may have gaps
    let by_name = world.succeed(&["train", "-m", "m", "train.csv", "--group", "author"]);
    assert_eq!(by_name, world.succeed(&["train", "-m", "m", "train.csv", "--group", "2"]));
    world.write("gaps.csv", csv(&written(0..45)).replace("author 7,", ","));
    let gaps = world.succeed(&["train", "-m", "m", "gaps.csv", "--group", "author"]);
    assert!(gaps.contains("(44 groups, each held out as a whole)"), "{gaps}");
}

#[test]
fn one_group_of_everything_tells_nothing() {
    let world = World::new();
    let one = |w: Written| Written { author: "all".to_owned(), ..w };
    world.write("one.csv", csv(&written(0..20).into_iter().map(one).collect::<Vec<_>>()));
    let said = world.succeed(&["train", "-m", "m", "one.csv", "--group", "author"]);
    assert!(said.contains("too few documents to tell what to expect"), "{said}");
    world.write(
        "by-label.csv",
        csv(&written(0..20)
            .into_iter()
            .map(|w| Written { author: w.label.clone(), ..w })
            .collect::<Vec<_>>()),
    );
    world.succeed(&["train", "-m", "m", "by-label.csv", "--group", "author"]);
    world.succeed(&["verify", "-m", "m"]);
}

/// The posts of a half of 20 Newsgroups as JSON lines of label, thread (the subject) and text.
fn posts(half: &std::path::Path) -> String {
    let mut lines = String::new();
    let folders = |path: &std::path::Path| {
        let mut all: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        all.sort();
        all
    };
    for label in folders(half) {
        for post in folders(&label) {
            // in latin-1 a byte is a character
            let text: String = fs::read(post).unwrap().into_iter().map(char::from).collect();
            let subject = text.lines().find_map(|line| line.strip_prefix("Subject:")).unwrap_or_default();
            let mut thread = subject.trim().to_lowercase();
            while let Some(rest) = thread.strip_prefix("re:") {
                thread = rest.trim().to_owned();
            }
            let label = label.file_name().unwrap().to_str();
            let row = serde_json::json!({"label": label, "thread": thread, "text": text});
            lines.push_str(&format!("{row}\n"));
        }
    }
    lines
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: 6 s"]
    fn threads_of_newsgroups_are_what_later_posts_are_new_in() {
        let Some(corpus) = public_corpus("20newsgroups-bydate") else { return };
        let world = World::new();
        for half in ["train", "test"] {
            world.write(&format!("{half}.jsonl"), posts(&corpus.join(half)));
        }
        let [plain, by_thread] = [&[][..], &["--group", "thread"]].map(|group| {
            expected(&world.succeed(&[&["train", "-m", "m", "train.jsonl"][..], group].concat()))
        });
        let later = accuracy(&world, &["-m", "m", "test.jsonl"]);
        println!("expected {plain}, of new threads {by_thread}, right of later posts {later}");
        assert!(later + 0.05 < plain && (by_thread - later).abs() < 0.03, "{plain} {by_thread} {later}");
    }
}
