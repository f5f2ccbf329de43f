//! `tamis learn --spool`: a correction outlives a busy model, a full disk and a process that is killed, and counts once.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{TAMIS, World, feed, inbox, stderr, stdout};

const MODEL: &str = ".local/share/tamis/model.tamis";

/// Learns with the spool. Returns the exit status, what was printed, and what was said.
fn learn(world: &World, arguments: &[&str], input: &[u8]) -> (Option<i32>, String, String) {
    let output =
        world.run_with_input(&[&["learn", "--spool", "spool", "--wait", "0"], arguments].concat(), input);
    (output.status.code(), stdout(&output), stderr(&output))
}

/// Learns what waits in the spool; nothing may be refused.
#[track_caller]
fn drain(world: &World) -> String {
    let (status, printed, said) = learn(world, &[], b"");
    assert_eq!((status, &said[..]), (Some(0), ""));
    printed
}

/// The files of the spool in the order of their names, hidden ones too.
fn files(world: &World) -> Vec<PathBuf> {
    let mut files: Vec<_> =
        fs::read_dir(world.path("spool")).into_iter().flatten().map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

/// The number of documents of each label.
fn documents(world: &World) -> (u64, u64) {
    let told: serde_json::Value = serde_json::from_str(&world.succeed(&["inspect", "--json"])).unwrap();
    let of = |label: &str| {
        let its = told["classes"].as_array().unwrap().iter().find(|its| its["label"] == label).unwrap();
        its["totals"]["documents"].as_u64().unwrap()
    };
    (of("ham"), of("spam"))
}

#[test]
fn what_a_busy_model_cannot_learn_waits_and_is_learned_in_order() {
    let world = World::with_mail_model();
    let (ham, spam) = documents(&world);
    let busy = world.lock(MODEL);
    for (label, name) in [("spam", "01.eml"), ("spam", "02.eml"), ("ham", "01.eml")] {
        let (status, printed, said) = learn(&world, &[label], &inbox(name));
        assert_eq!((status, &printed[..]), (Some(0), ""), "{said}");
        assert!(said.lines().count() == 1 && said.contains("the message waits in spool"), "{said}");
    }
    let mode = |path: &PathBuf| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&world.path("spool")), 0o700);
    assert_eq!(files(&world).iter().map(mode).collect::<Vec<_>>(), [0o600; 3]);
    assert_eq!(documents(&world), (ham, spam));
    // without a label, a busy model is an error
    assert_eq!(learn(&world, &[], b"").0, Some(3));
    drop(busy);
    let (status, printed, said) = learn(&world, &["spam"], &inbox("03.eml"));
    let expected = "ham: learned 0 documents, 1 moved from another label\nspam: learned 3 documents\n";
    assert_eq!((status, &printed[..], &said[..]), (Some(0), expected, ""));
    assert_eq!(documents(&world), (ham + 1, spam + 2));
    assert!(files(&world).is_empty());
    assert_eq!(drain(&world), "");
    world.succeed(&["verify"]);
}

#[test]
fn a_message_learned_before_its_file_could_be_removed_counts_once() {
    let world = World::with_mail_model();
    let (ham, spam) = documents(&world);
    let busy = world.lock(MODEL);
    learn(&world, &["spam"], &inbox("01.eml"));
    let file = files(&world).remove(0);
    let content = fs::read(&file).unwrap();
    drop(busy);
    assert_eq!(drain(&world), "spam: learned 1 document\n");
    // as if the process had been killed in between
    fs::write(&file, content).unwrap();
    assert_eq!(drain(&world), "spam: learned 0 documents, 1 already known\n");
    assert_eq!((documents(&world), files(&world).len()), ((ham, spam + 1), 0));
}

#[test]
fn whenever_a_learner_is_killed_nothing_is_lost_or_counted_twice() {
    let world = World::with_mail_model();
    let (ham, spam) = documents(&world);
    for wait in 0..12 {
        let busy = (wait % 3 == 0).then(|| world.lock(MODEL));
        let n_whole = || {
            let is_hidden = |path: &PathBuf| path.file_name().unwrap().as_encoded_bytes().starts_with(b".");
            files(&world).iter().filter(|path| !is_hidden(path)).count()
        };
        let before = n_whole();
        let mut child = world.command(&["learn", "--spool", "spool", "spam"]);
        let child = child.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = child.spawn().unwrap();
        let mail = format!("Subject: kill {wait}\nMessage-ID: <{wait}@example.org>\n\nword{wait}\n");
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), mail.as_bytes()).unwrap();
        // it is in the spool, or was learned already
        let end = Instant::now() + Duration::from_secs(60);
        while n_whole() <= before && child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < end);
        }
        std::thread::sleep(Duration::from_millis(wait));
        let _ = child.kill();
        child.wait().unwrap();
        drop(busy);
    }
    drain(&world);
    assert_eq!(documents(&world), (ham, spam + 12));
    world.succeed(&["verify"]);
}

#[test]
fn learners_at_once_share_a_spool_and_even_make_the_model() {
    let world = World::new();
    let one = |n: u64| {
        let label = if n.is_multiple_of(2) { "spam" } else { "ham" };
        let mail = format!("Subject: crowd {n}\nMessage-ID: <{n}@example.org>\n\nword{n}\n");
        let mut command = world.command(&["learn", "--spool", "spool"]);
        // others only empty the spool
        if n < 24 {
            command.arg(label);
        }
        let output = feed(command, mail.as_bytes());
        assert!(output.status.success() && !stderr(&output).contains("refused"), "{}", stderr(&output));
    };
    fs::create_dir(world.path("spool")).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || (0..4).for_each(|n| one(4 * thread + n)));
        }
    });
    drain(&world);
    assert_eq!((documents(&world), files(&world).len()), ((12, 12), 0));
    world.succeed(&["verify"]);
}

#[test]
fn what_can_never_be_learned_is_put_aside_and_stops_nothing() {
    let world = World::with_mail_model();
    let (ham, spam) = documents(&world);
    let busy = world.lock(MODEL);
    learn(&world, &["work"], &inbox("01.eml"));
    learn(&world, &["spam"], &inbox("02.eml"));
    drop(busy);
    for (name, content) in
        [("0-1", &b"spam"[..]), ("0-2", b""), ("0-3", b"\xff\nx"), (".00-4", b"spam\nhalf")]
    {
        world.write(&format!("spool/{name}"), content);
    }
    let (status, printed, said) = learn(&world, &[], b"");
    assert_eq!((status, &printed[..]), (Some(3), "spam: learned 1 document\n"), "{said}");
    assert_eq!(
        said.lines().filter(|line| line.contains("the message is kept as spool/")).count(),
        4,
        "{said}"
    );
    assert!(said.contains("\"work\"") && said.contains("--new-label adds it"), "{said}");
    let kept: Vec<_> = files(&world).iter().map(|path| path.display().to_string()).collect();
    assert_eq!(kept.iter().filter(|path| path.ends_with(".refused")).count(), 4, "{kept:?}");
    // they stay, and are not tried again
    assert_eq!((drain(&world), files(&world).len()), (String::new(), 5));
    assert_eq!(documents(&world), (ham, spam + 1));
    // at once: the user's own label is wrong
    let (status, _, said) = learn(&world, &["spma"], &inbox("03.eml"));
    assert!(status == Some(3) && said.contains("\"spma\""), "{said}");
    let (status, _, said) = learn(&world, &["spam"], b"");
    assert!(status == Some(3) && said.contains("expected a message to learn, got nothing"), "{said}");
    let refused =
        files(&world).into_iter().find(|path| fs::read(path).unwrap().starts_with(b"work\n")).unwrap();
    fs::rename(&refused, refused.with_extension("")).unwrap();
    assert_eq!(learn(&world, &["--new-label"], b"").1, "work: learned 1 document\n");
}

/// Files may have at most this number of blocks of 512 bytes: as little fits onto a full disk.
fn with_blocks(world: &World, blocks: u32, arguments: &[&str], input: &[u8]) -> (Option<i32>, String) {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f \"$0\"; exec \"$@\"", &blocks.to_string(), TAMIS]).args(arguments);
    let output = feed(world.at_home(command), input);
    (output.status.code(), stderr(&output))
}

#[test]
fn a_full_disk_loses_nothing_that_was_accepted() {
    let world = World::with_mail_model();
    let (ham, spam) = documents(&world);
    let arguments = ["learn", "--spool", "spool", "spam"];
    // there is room for the message, not for the model
    let (status, said) = with_blocks(&world, 100, &arguments, &inbox("01.eml"));
    assert!(status == Some(0) && said.contains("the message waits in spool"), "{said}");
    assert_eq!((documents(&world), files(&world).len()), ((ham, spam), 1));
    // there is no room at all: an error, and no half file
    let (status, said) = with_blocks(&world, 0, &arguments, &inbox("02.eml"));
    assert!(status == Some(3) && said.contains("the message is learned without the spool"), "{said}");
    assert_eq!(files(&world).len(), 1);
    assert_eq!(drain(&world), "spam: learned 1 document\n");
    // there is no spool: the model learns all the same
    world.write("file", "");
    let arguments = ["learn", "--spool", "file", "spam"];
    let output = world.run_with_input(&arguments, &inbox("02.eml"));
    assert_eq!((output.status.code(), &stdout(&output)[..]), (Some(0), "spam: learned 1 document\n"));
    assert_eq!(documents(&world), (ham, spam + 2));
    world.succeed(&["verify"]);
}

#[test]
fn the_spool_takes_one_message_of_mail() {
    let world = World::with_mail_model();
    world.write("a.eml", inbox("01.eml"));
    for arguments in [&["spam", "a.eml"][..], &["spam", "--files-from", "-"], &["spam", "--as", "text"]] {
        let (status, _, said) = learn(&world, arguments, b"");
        assert!(status == Some(3) && said.contains("--spool"), "{said}");
    }
    assert!(world.fail(&["learn"]).contains("LABEL"));
    // a corrected message moves; the log has it once
    let (_, printed, _) = learn(&world, &["spam", "--log", "log"], &inbox("01.eml"));
    assert_eq!(printed, "spam: learned 1 document\n");
    let (_, printed, _) = learn(&world, &["ham", "--log", "log"], &inbox("01.eml"));
    assert_eq!(printed, "ham: learned 0 documents, 1 moved from another label\n");
    assert_eq!(fs::read_to_string(world.path("log")).unwrap().lines().count(), 2);
    // a model of text learns none of it, and the message is not lost
    world.write("t/a/1.txt", "apples and pears");
    world.write("t/b/1.txt", "iron and tin");
    world.succeed(&["train", "-m", "text.tamis", "t"]);
    let (status, _, said) = learn(&world, &["a", "-m", "text.tamis"], &inbox("01.eml"));
    assert!(status == Some(0) && said.contains("expected a model of mail, got one of text"), "{said}");
    assert_eq!(files(&world).len(), 1);
}
