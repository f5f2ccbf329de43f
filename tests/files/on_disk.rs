//! What a model is on the disk: a regular file, private, its lock its owner's and gone if it was for nothing.

use std::fs::{self, Permissions};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::process::{Command, Output};
use std::time::Duration;

use tamis_train::{Error, ErrorKind, Filter, LearnOptions, Learner, Lock};

use crate::faults::crash::{MODEL, must_learn, of_first};
use crate::faults::model_file::mail;
use crate::support::{TAMIS, World, feed, skip, stderr};

const LOCK: &str = "model.tamis.lock";
/// An owner whom no system has.
const SOMEONE: u32 = 54_321;

fn mode(world: &World, name: &str) -> u32 {
    fs::metadata(world.path(name)).unwrap().mode() & 0o777
}

/// What is in the world, by name.
fn names(world: &World) -> Vec<String> {
    let names = fs::read_dir(world.path("")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// Two messages to learn, and every command that takes a model.
fn commands(model: &str) -> Vec<Vec<&str>> {
    let line = |words: &'static str| words.split(' ').collect::<Vec<_>>();
    let commands = [
        "score m/ham/1.eml",
        "label m",
        "explain m/ham/1.eml",
        "evaluate m",
        "inspect",
        "verify",
        "export",
        "learn ham m/ham/1.eml",
        "learn --labels ham,spam ham m/ham/1.eml",
        "forget m/ham/1.eml",
        "retrain",
        "expire --keep 1",
        "train m",
        "train --replace m",
        "import --replace export.jsonl",
        "merge --replace good.tamis good.tamis",
    ];
    commands.map(|command| [line(command), vec!["-m", model]].concat()).to_vec()
}

/// A world with mail, a model and its export.
fn with_mail() -> World {
    let world = World::new();
    world.write("m/ham/1.eml", mail(0).1);
    world.write("m/spam/1.eml", mail(1).1);
    world.succeed(&["train", "-m", "good.tamis", "m"]);
    let export = world.succeed(&["export", "-m", "good.tamis"]);
    world.write("export.jsonl", export);
    fs::remove_file(world.path("good.tamis.lock")).unwrap();
    world
}

#[test]
fn only_regular_files_are_models() {
    let world = with_mail();
    assert!(Command::new("mkfifo").arg(world.path("pipe")).status().unwrap().success());
    let _listener = UnixListener::bind(world.path("socket")).unwrap();
    fs::create_dir(world.path("folder")).unwrap();
    symlink("pipe", world.path("link")).unwrap();
    let before = names(&world);
    for (model, what) in
        [("pipe", "a pipe"), ("socket", "a socket"), ("folder", "a folder"), ("link", "a pipe")]
    {
        for command in commands(model) {
            let said = world.fail(&command);
            assert!(said.contains(&format!("got {what}")), "{command:?}: {said}");
        }
        // and as the shared one
        let said = world.fail(&["score", "--fallback", model, "m/ham/1.eml"]);
        assert!(said.contains(&format!("got {what}")), "{model}: {said}");
    }
    assert_eq!(names(&world), before);
    assert!(fs::symlink_metadata(world.path("pipe")).unwrap().file_type().is_fifo());
    assert!(fs::symlink_metadata(world.path("link")).unwrap().is_symlink());
    // a device is only read here: what would write to it could replace it
    symlink("/dev/null", world.path("null")).unwrap();
    let said = world.fail(&["score", "-m", "null", "m/ham/1.eml"]);
    assert!(said.contains("got a device"), "{said}");
    // standard input is as good as what is there
    let mut command = world.command(&["verify", "-m", "/dev/stdin"]);
    command.stdin(fs::File::open(world.path("good.tamis")).unwrap());
    assert!(command.output().unwrap().status.success());
}

#[test]
fn a_library_is_refused_what_is_no_regular_file() {
    let world = of_first(30);
    assert!(Command::new("mkfifo").arg(world.path("pipe")).status().unwrap().success());
    let model = Filter::open(world.path(MODEL)).unwrap();
    let model = tamis_train::merge(&[&model], Default::default()).unwrap();
    let pipe = world.path("pipe");
    let outcomes = [
        Filter::open(&pipe).err(),
        Learner::open(&pipe, LearnOptions::default()).err(),
        Lock::wait(&pipe, Duration::ZERO).err(),
        model.save(&pipe).err(),
    ];
    assert!(outcomes.iter().all(|error| is_other_file(error.as_ref(), "a pipe")), "{outcomes:?}");
    // what comes to the place after it was looked at
    let lock = Lock::wait(world.path("new.tamis"), Duration::ZERO).unwrap();
    assert!(Command::new("mkfifo").arg(world.path("new.tamis")).status().unwrap().success());
    assert!(is_other_file(lock.save(&model).err().as_ref(), "a pipe"));
    let filter = Filter::open(world.path(MODEL)).unwrap();
    fs::rename(&pipe, world.path(MODEL)).unwrap();
    assert!(is_other_file(filter.reopened().err().as_ref(), "a pipe"));
}

/// Whether an error says that a file was expected, and something else was there.
fn is_other_file(error: Option<&Error>, got: &str) -> bool {
    error.is_some_and(|error| {
        let words = format!("expected a regular file, as a model and its lock must be, got {got}");
        error.kind() == ErrorKind::Io && error.to_string().contains(&words)
    })
}

#[test]
fn a_lock_is_a_regular_file_of_that_name() {
    let world = of_first(30);
    fs::remove_file(world.path(LOCK)).unwrap();
    assert!(Command::new("mkfifo").arg(world.path(LOCK)).status().unwrap().success());
    let wait = || Lock::wait(world.path(MODEL), Duration::ZERO).err();
    assert!(is_other_file(wait().as_ref(), "a pipe"));
    fs::remove_file(world.path(LOCK)).unwrap();
    world.write("other", "");
    symlink("other", world.path(LOCK)).unwrap();
    assert!(is_other_file(wait().as_ref(), "a link"));
}

#[test]
fn a_failed_command_leaves_no_lock_behind() {
    let world = with_mail();
    world.write("bad.jsonl", "nonsense\n");
    world.write("one/ham/1.eml", mail(0).1);
    let before = names(&world);
    let failing = [
        "train -m new.tamis nowhere",
        "train -m new.tamis one",
        "train -m nowhere/new.tamis m",
        "train -m good.tamis --max-fpr 0.1% m",
        "learn -m new.tamis ham nowhere.eml",
        "learn -m good.tamis ham nowhere.eml",
        "learn -m good.tamis eggs m/ham/1.eml",
        "forget -m good.tamis nowhere.eml",
        "forget -m new.tamis m/ham/1.eml",
        "merge -m new.tamis nowhere.tamis",
        "merge -m good.tamis good.tamis",
        "merge -m new.tamis good.tamis bad.jsonl",
        "import -m new.tamis bad.jsonl",
        "import -m good.tamis export.jsonl",
        "retrain -m bad.jsonl",
        "expire -m new.tamis --keep 1",
    ];
    for command in failing {
        world.fail(&command.split(' ').collect::<Vec<_>>());
        assert_eq!(names(&world), before, "{command}");
    }
    assert!(Learner::open(world.path("new.tamis"), LearnOptions::default()).is_err());
    assert_eq!(names(&world), before);
}

#[test]
fn who_waits_for_a_lock_that_is_removed_takes_another() {
    let world = World::new();
    let path = world.path(MODEL);
    let first = Lock::wait(&path, Duration::ZERO).unwrap();
    std::thread::scope(|scope| {
        let waiters: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| drop(Lock::wait(&path, Duration::from_secs(60)).unwrap())))
            .collect();
        assert_eq!(Lock::wait(&path, Duration::ZERO).err().unwrap().kind(), ErrorKind::Locked);
        drop(first);
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    });
    assert_eq!(names(&world), [""; 0]);
}

/// Whether tests may give files away; else says that it skips.
fn is_root(world: &World) -> bool {
    let probe = world.write("probe", "");
    let may = chown(&probe, Some(SOMEONE), Some(SOMEONE)).is_ok();
    fs::remove_file(probe).unwrap();
    if !may {
        skip("only root can give files away");
    }
    may
}

#[test]
fn what_root_makes_of_a_users_model_is_the_users() {
    let world = of_first(30);
    if !is_root(&world) {
        return;
    }
    let belongs = |name: &str| {
        let metadata = fs::metadata(world.path(name)).unwrap();
        assert_eq!((metadata.uid(), metadata.gid()), (SOMEONE, SOMEONE), "{name}");
    };
    fs::remove_file(world.path(LOCK)).unwrap();
    chown(world.path(MODEL), Some(SOMEONE), Some(SOMEONE)).unwrap();
    must_learn(&world, 30, 0);
    belongs(MODEL);
    belongs(LOCK);
    // one that was left by root before
    chown(world.path(LOCK), Some(0), Some(0)).unwrap();
    must_learn(&world, 31, crate::faults::crash::NEVER);
    belongs(LOCK);
    // neither what has something in it nor what has another name
    world.write(LOCK, "a diary");
    chown(world.path(LOCK), Some(0), Some(0)).unwrap();
    must_learn(&world, 32, 0);
    assert_eq!(fs::metadata(world.path(LOCK)).unwrap().uid(), 0);
    fs::write(world.path(LOCK), "").unwrap();
    fs::hard_link(world.path(LOCK), world.path("other")).unwrap();
    must_learn(&world, 33, 0);
    assert_eq!(fs::metadata(world.path(LOCK)).unwrap().uid(), 0);
    // a new one in the user's folder
    world.write("m/ham/1.eml", mail(0).1);
    world.write("m/spam/1.eml", mail(1).1);
    fs::create_dir(world.path("home")).unwrap();
    chown(world.path("home"), Some(SOMEONE), Some(SOMEONE)).unwrap();
    world.succeed(&["train", "-m", "home/new.tamis", "m"]);
    belongs("home/new.tamis");
    belongs("home/new.tamis.lock");
}

/// Runs the program with a umask that hides nothing, and a limit of the size of files in blocks.
fn openly(world: &World, blocks: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", "umask 000; ulimit -f \"$0\"; exec \"$@\"", blocks, TAMIS]).args(arguments);
    feed(world.at_home(command), mail(50).1.as_bytes())
}

#[test]
fn a_model_is_its_owners_alone_and_one_that_was_there_keeps_its_mode() {
    let world = World::new();
    world.write("m/ham/1.eml", mail(0).1);
    world.write("m/spam/1.eml", mail(1).1);
    let openly = |blocks: &str, arguments: &[&str]| openly(&world, blocks, arguments);
    let output = openly("unlimited", &["train", "m"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let modes = |names: [&str; 4]| names.map(|name| mode(&world, name));
    let folder = ".local/share/tamis";
    let [model, lock] = ["model.tamis", "model.tamis.lock"].map(|name| format!("{folder}/{name}"));
    assert_eq!(modes([".local/share", folder, &model, &lock]), [0o777, 0o700, 0o600, 0o600]);
    // what is appended, and what is written anew
    for limit in ["1000000", "0"] {
        for verb in ["learn", "forget"] {
            let output = openly("unlimited", &[verb, "ham", "--log-limit", limit]);
            assert!(output.status.success(), "{}", stderr(&output));
            assert_eq!(modes([".local/share", folder, &model, &lock]), [0o777, 0o700, 0o600, 0o600]);
        }
    }
    // who may write the model may also take the lock
    fs::set_permissions(world.path(&model), Permissions::from_mode(0o664)).unwrap();
    assert!(openly("unlimited", &["learn", "ham", "--log-limit", "0"]).status.success());
    assert_eq!(modes([".local/share", folder, &model, &lock]), [0o777, 0o700, 0o664, 0o660]);
    // and no longer once they may not
    fs::set_permissions(world.path(&model), Permissions::from_mode(0o640)).unwrap();
    for label in ["spam", "ham"] {
        assert!(openly("unlimited", &["learn", label, "--log-limit", "0"]).status.success());
    }
    assert_eq!(modes([".local/share", folder, &model, &lock]), [0o777, 0o700, 0o640, 0o600]);
    // killed amid the write of a private one
    fs::set_permissions(world.path(&model), Permissions::from_mode(0o600)).unwrap();
    let output = openly("1", &["train", "-m", "new.tamis", "m"]);
    assert!(!output.status.success());
    assert_eq!(mode(&world, ".tamis-new.tamis.tmp"), 0o600);
    let output = openly("1", &["forget", "ham", "--log-limit", "0"]);
    assert!(!output.status.success());
    assert_eq!(mode(&world, &format!("{folder}/.tamis-model.tamis.tmp")), 0o600);
}

#[test]
fn a_log_is_no_longer_than_it_can_be_read() {
    let said = World::new().fail(&["learn", "ham", "-m", MODEL, "--log-limit", "134217729", "m.eml"]);
    assert!(said.contains("up to 134217728, got \"134217729\""), "{said}");
}
