//! The program killed and starved while it learns: what it acknowledged stays, and the model stays whole.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use tamis_train::{Document, Filter, Kind, LearnOptions, LearnOutcome, Learner, TrainOptions, Trainer};

use crate::faults::model_file::mail;
use crate::mail::attacks::Random;
use crate::support::{TAMIS, World, skip, stderr, stdout, wait_for};

pub const MODEL: &str = "model.tamis";
/// Enough for no fold.
pub const NEVER: usize = 128 << 20;

/// A world with a model of the mails from 0 to `n`.
pub fn of_first(n: usize) -> World {
    let world = World::new();
    let mut trainer = Trainer::new(TrainOptions::new(Kind::Mail)).unwrap();
    for (label, mail) in (0..n).map(mail) {
        trainer.add(label, Document::Mail(mail.as_bytes())).unwrap();
    }
    trainer.finish().unwrap().save(world.path(MODEL)).unwrap();
    world
}

pub fn options(log_limit: usize, lock_timeout: Duration) -> LearnOptions {
    let mut options = LearnOptions::default();
    options.lock_timeout = lock_timeout;
    options.log_limit = log_limit;
    options.retrain = false;
    options
}

/// Arguments to learn a mail from standard input.
fn arguments(label: &str, log_limit: usize) -> Vec<String> {
    ["learn", label, "-m", MODEL, "--log-limit", &log_limit.to_string()].map(str::to_owned).to_vec()
}

/// A program in a world, behind others that start it.
fn spawn(world: &World, before: &[String], arguments: &[String], input: &str) -> Child {
    let program: Vec<&str> = before.iter().map(String::as_str).chain([TAMIS]).collect();
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).args(arguments).current_dir(world.path("")).env("HOME", world.path(""));
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // it may be killed before it reads
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child
}

fn learn(world: &World, before: &[String], number: usize, log_limit: usize) -> Output {
    let (label, mail) = mail(number);
    spawn(world, before, &arguments(label, log_limit), &mail).wait_with_output().unwrap()
}

#[track_caller]
pub fn must_learn(world: &World, number: usize, log_limit: usize) {
    let output = learn(world, &[], number, log_limit);
    assert!(output.status.success(), "{number}: {}", stderr(&output));
}

/// The model is whole, remembers exactly the mails below `n`, and whoever changed it holds it no more. Of the next one
/// nobody knows; returns whether it is there.
#[track_caller]
pub fn check(world: &World, n: usize) -> bool {
    // threads of a program that was killed may end a moment after it
    let lock_timeout = Duration::from_secs(5);
    let mut learner = Learner::open(world.path(MODEL), options(NEVER, lock_timeout)).unwrap();
    learner.filter().verify().unwrap();
    let documents = learner.filter().information().size.documents;
    assert!(documents == n || documents == n + 1, "{documents} of {n}");
    for number in 0..documents {
        let (label, mail) = mail(number);
        let learned = learner.learn(label, Document::Mail(mail.as_bytes())).unwrap();
        assert_eq!(learned, LearnOutcome::Already, "{number} of {n}");
    }
    documents > n
}

/// How to stop a writer.
#[derive(Debug)]
enum Kill {
    /// At a call, the first or a later one: of a file, by `strace`.
    At(&'static str, PathBuf, usize),
    /// When a file grows past so many blocks of 512 bytes, within the call that writes.
    Size(u64),
    /// After so many microseconds.
    After(u64),
}

impl Kill {
    /// What to start a program with that is to be killed so.
    fn before(&self) -> Vec<String> {
        let words = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
        match self {
            Kill::At(call, path, nth) => words(&format!(
                "strace -f -qq -o /dev/null -P {} -e trace={call} -e inject={call}:signal=KILL:when={nth}",
                path.display()
            )),
            Kill::Size(blocks) => {
                ["sh", "-c", "ulimit -f \"$0\"; exec \"$@\"", &blocks.to_string()].map(str::to_owned).to_vec()
            }
            Kill::After(_) => Vec::new(),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Kill::At(call, ..) => call,
            Kill::Size(_) => AMID,
            Kill::After(_) => "at any time",
        }
    }
}

/// What tells one state of a file from another.
fn state(path: PathBuf) -> Option<(u64, u64, i64, i64)> {
    fs::metadata(path).ok().map(|m| (m.ino(), m.len(), m.mtime(), m.mtime_nsec()))
}

/// What a killed writer was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Hit {
    Append,
    /// Before the slot is written.
    Segment,
    /// The same of a segment that takes the place of others.
    Merge,
    Slot,
    Fold,
    Elsewhere,
}

/// What a writer is to do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Job {
    Append,
    Segment,
    Fold,
}

impl Job {
    fn log_limit(self) -> usize {
        match self {
            Job::Append => NEVER,
            Job::Segment => 1,
            Job::Fold => 0,
        }
    }
}

/// Where a writer is killed whose file grows too large, with a signal of its own.
const AMID: &str = "amid a write";

struct Harness {
    world: World,
    random: Random,
    has_strace: bool,
    /// Mails that the model knows.
    n: usize,
    hits: BTreeMap<(&'static str, Hit), usize>,
}

impl Harness {
    fn new(seed: u64) -> Self {
        let strace = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
        let has_strace = strace.is_ok_and(|output| output.status.success());
        Harness { world: of_first(30), random: Random(seed), has_strace, n: 30, hits: BTreeMap::new() }
    }

    /// As the kernel knows it, for `strace`.
    fn folder(&self) -> PathBuf {
        fs::canonicalize(self.world.path("")).unwrap()
    }

    fn temporary(&self) -> PathBuf {
        self.folder().join(format!(".tamis-{MODEL}.tmp"))
    }

    fn pick(&mut self, job: Job) -> Kill {
        let model = fs::metadata(self.world.path(MODEL)).unwrap().len();
        let is_fold = job == Job::Fold;
        match self.random.below(3) {
            0 if self.has_strace && job == Job::Segment => {
                let call = ["write", "fdatasync"][self.random.below(2)];
                // first of the record, then of the segment, then of the slot
                Kill::At(call, self.folder().join(MODEL), [1, 2, 2, 3][self.random.below(4)])
            }
            0 if self.has_strace && is_fold => {
                let (temporary, folder) = (self.temporary(), self.folder());
                let calls = [
                    ("openat", &temporary),
                    ("write", &temporary),
                    ("fsync", &temporary),
                    ("/^rename", &temporary),
                    ("fsync", &folder),
                ];
                let (call, path) = calls[self.random.below(calls.len())];
                Kill::At(call, path.clone(), 1)
            }
            0 if self.has_strace => {
                Kill::At(["write", "fdatasync"][self.random.below(2)], self.folder().join(MODEL), 1)
            }
            1 if is_fold => Kill::Size(self.random.below(model as usize / 512) as u64),
            1 => Kill::Size(model / 512 + 1 + self.random.below(2) as u64),
            _ => Kill::After(self.random.below(15_000) as u64),
        }
    }

    /// Lets the program learn the next mail and kills it meanwhile; returns whether it was killed.
    fn kill_once(&mut self) -> bool {
        let job = [Job::Append, Job::Segment, Job::Fold][self.random.below(3)];
        let log_limit = job.log_limit();
        if job == Job::Segment && self.random.below(2) == 0 {
            // something to merge with, which whoever writes after a crash left none of
            must_learn(&self.world, self.n, log_limit);
            self.n += 1;
        }
        let kill = self.pick(job);
        let (temporary, model) = (state(self.temporary()), state(self.world.path(MODEL)));
        let segment = if job == Job::Segment && self.would_merge() { Hit::Merge } else { Hit::Segment };
        let (label, mail) = mail(self.n);
        let mut child = spawn(&self.world, &kill.before(), &arguments(label, log_limit), &mail);
        if let Kill::After(time) = kill {
            std::thread::sleep(Duration::from_micros(time));
            child.kill().unwrap();
        }
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            self.n += 1;
            assert!(!check(&self.world, self.n), "{kill:?}");
            return false;
        }
        assert!(output.status.signal().is_some(), "{kill:?}: {}", stderr(&output));
        let is_there = check(&self.world, self.n);
        let hit = match (&kill, job) {
            _ if state(self.temporary()) != temporary => Hit::Fold,
            (Kill::At(..), Job::Fold) => Hit::Fold,
            (Kill::At(..), Job::Append) => Hit::Append,
            // it was time to write the file anew
            (_, Job::Segment) if state(self.world.path(MODEL)) == model => Hit::Elsewhere,
            (Kill::At(_, _, 1), Job::Segment) => Hit::Append,
            (Kill::At(_, _, 2), Job::Segment) => segment,
            (Kill::At(..), Job::Segment) => Hit::Slot,
            // the record comes before the segment
            (_, Job::Segment) if is_there => segment,
            _ if self.has_more_than_counts() => Hit::Append,
            _ => Hit::Elsewhere,
        };
        *self.hits.entry((kill.name(), hit)).or_default() += 1;
        must_learn(&self.world, self.n, NEVER);
        self.n += 1;
        assert!(!check(&self.world, self.n), "{kill:?}");
        true
    }

    /// Whether the next segment takes the place of others, as a copy of the model shows.
    fn would_merge(&self) -> bool {
        let copy = self.world.path("copy.tamis");
        fs::copy(self.world.path(MODEL), &copy).unwrap();
        let segments = |learner: &Learner| learner.filter().information().file.segments;
        let mut learner = Learner::open(&copy, options(Job::Segment.log_limit(), Duration::ZERO)).unwrap();
        let before = segments(&learner);
        let (label, mail) = mail(self.n);
        learner.learn(label, Document::Mail(mail.as_bytes())).unwrap();
        learner.commit().unwrap();
        let after = segments(&learner);
        drop(learner);
        fs::remove_file(&copy).unwrap();
        let _ = fs::remove_file(self.world.path("copy.tamis.lock"));
        (1..=before).contains(&after)
    }

    fn has_more_than_counts(&self) -> bool {
        let whole = Filter::open(self.world.path(MODEL)).unwrap().information().file.bytes;
        fs::metadata(self.world.path(MODEL)).unwrap().len() > whole as u64
    }

    /// How often it was hit; where the call can be chosen, only by SIGKILL.
    fn hit(&self, what: Hit) -> usize {
        let is_counted = |how: &str| !(self.has_strace && how == AMID);
        self.hits.iter().filter(|((how, hit), _)| *hit == what && is_counted(how)).map(|(_, n)| n).sum()
    }

    fn run(&mut self, kills: usize, of_each: usize) {
        let mut killed = 0;
        let phases: &[Hit] = match self.has_strace {
            true => &[Hit::Append, Hit::Segment, Hit::Merge, Hit::Slot, Hit::Fold],
            // the slot is written too quickly to be hit by chance
            false => &[Hit::Append, Hit::Segment, Hit::Merge, Hit::Fold],
        };
        while killed < kills || phases.iter().any(|phase| self.hit(*phase) < of_each) {
            killed += usize::from(self.kill_once());
            assert!(self.n < 10 * kills, "{:?}", self.hits);
        }
        self.world.succeed(&["verify", "-m", MODEL]);
        must_learn(&self.world, self.n, 0);
        let left = fs::read_dir(self.world.path("")).unwrap().map(|entry| entry.unwrap().file_name());
        let mut left: Vec<_> = left.collect();
        left.sort();
        assert_eq!(left, [MODEL, "model.tamis.lock"]);
        let acknowledged = self.n + 1 - 30;
        eprintln!("{killed} writers killed, {acknowledged} mails acknowledged, none lost: {:?}", self.hits);
    }
}

#[test]
fn a_writer_that_is_killed_loses_nothing_it_acknowledged() {
    Harness::new(1).run(10, 1);
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: 5 s"]
    fn thirty_writers_that_are_killed_lose_nothing_they_acknowledged() {
        Harness::new(1).run(30, 3);
    }
}

#[test]
#[ignore = "takes minutes"]
fn crash_five_hundred_kills() {
    Harness::new(2).run(500, 25);
}

/// Starts a program that may not let files grow past so many blocks, and says that the disk is full instead.
fn on_a_disk_of(blocks: u64) -> Vec<String> {
    ["sh", "-c", "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\"", &blocks.to_string()]
        .map(str::to_owned)
        .to_vec()
}

#[test]
fn a_full_disk_is_an_error_that_changes_nothing() {
    let world = of_first(30);
    must_learn(&world, 30, NEVER);
    let before = fs::read(world.path(MODEL)).unwrap();
    // the last lets a part of the record be written, which is longer than a block
    let long = (1_000..1_100).max_by_key(|number| mail(*number).1.len()).unwrap();
    for (blocks, log_limit) in
        [(0, 0), (1, 0), (3, 0), (0, NEVER), ((before.len() as u64).div_ceil(512), NEVER)]
    {
        let output = learn(&world, &on_a_disk_of(blocks), long, log_limit);
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        assert!(stderr(&output).contains(MODEL), "{}", stderr(&output));
        assert_eq!(fs::read(world.path(MODEL)).unwrap(), before, "{blocks}, {log_limit}");
        assert!(!world.path(&format!(".tamis-{MODEL}.tmp")).exists());
    }
    must_learn(&world, 31, NEVER);
    assert!(!check(&world, 32));
}

/// Runs a script in a name space of its own, where it may mount; `None` where that is not allowed.
fn with_mounts(world: &World, script: &str) -> Option<Output> {
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-euc", &format!("mount -t tmpfs none mnt && echo mounted\n{script}"), TAMIS]);
    let output = command.current_dir(world.path("")).output().ok()?;
    if !stdout(&output).contains("mounted") {
        skip(&format!("mounting is not allowed here: {}", stderr(&output)));
        return None;
    }
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    Some(output)
}

#[test]
fn a_disk_that_fills_up_and_one_that_cannot_be_written() {
    let world = of_first(30);
    fs::create_dir(world.path("mnt")).unwrap();
    for number in 0..200 {
        world.write(&format!("{number}.eml"), mail(number).1);
    }
    // until it is full, whether by an append or a fold
    for log_limit in [4_000, NEVER] {
        let script = format!(
            "mount -o remount,size=$(( $(stat -c %s {MODEL}) / 4096 * 4 + 60 ))k mnt
            cp {MODEL} mnt; n=30
            while \"$0\" learn $([ $((n % 2)) = 0 ] && echo ham || echo spam) -m mnt/{MODEL} --log-limit {log_limit} < $n.eml
            do n=$((n + 1)); done
            \"$0\" verify -m mnt/{MODEL}
            cp mnt/{MODEL} full.tamis; echo learned $n"
        );
        let Some(output) = with_mounts(&world, &script) else { return };
        assert!(stderr(&output).contains("no space left on the device"), "{}", stderr(&output));
        let learned = stdout(&output).lines().last().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
        assert!((31..199).contains(&learned), "{learned}");
        fs::rename(world.path("full.tamis"), world.path("other.tamis")).unwrap();
        let mut learner = Learner::open(world.path("other.tamis"), LearnOptions::default()).unwrap();
        assert_eq!(learner.filter().information().size.documents, learned);
        for (label, mail) in (0..learned).map(mail) {
            assert_eq!(learner.learn(label, Document::Mail(mail.as_bytes())).unwrap(), LearnOutcome::Already);
        }
    }
    let script = format!(
        "cp {MODEL} mnt; mount -o remount,ro mnt
        \"$0\" verify -m mnt/{MODEL}; \"$0\" score -m mnt/{MODEL} < 1.eml || [ $? -lt 3 ]
        if \"$0\" learn spam -m mnt/{MODEL} < 31.eml; then exit 1; fi"
    );
    let output = with_mounts(&world, &script).unwrap();
    assert!(stderr(&output).contains(&format!("mnt/{MODEL}")), "{}", stderr(&output));
}

#[test]
fn who_waits_for_a_writer_is_told_and_a_killed_writer_holds_nothing() {
    let world = of_first(30);
    // it holds the model while it learns many messages, and is stopped amid them
    let many = (0..10_000).map(|n| format!("From x@example.org Mon Jan  1 00:00:00 2024\n{}\n", mail(n).1));
    world.write("many.mbox", many.collect::<String>());
    let mut command = world.command(&["learn", "ham", "-m", MODEL, "many.mbox"]);
    let mut holder = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let is_held = || Learner::open(world.path(MODEL), options(NEVER, Duration::ZERO)).is_err();
    wait_for(is_held, || "the writer holds the model".to_owned());
    let stopped = Command::new("kill").args(["-STOP", &holder.id().to_string()]).status().unwrap();
    assert!(stopped.success());
    let output = world.run_with_input(&["learn", "ham", "-m", MODEL, "--wait", "0"], mail(30).1.as_bytes());
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("another process is changing the model"), "{}", stderr(&output));
    // readers do not care
    world.succeed(&["verify", "-m", MODEL]);
    holder.kill().unwrap();
    holder.wait().unwrap();
    let output = world.run_with_input(&["learn", "ham", "-m", MODEL, "--wait", "0"], mail(30).1.as_bytes());
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(!check(&world, 31));
}

#[test]
fn a_model_that_is_a_link_stays_one() {
    let world = of_first(30);
    fs::create_dir(world.path("elsewhere")).unwrap();
    fs::rename(world.path(MODEL), world.path("elsewhere/real.tamis")).unwrap();
    std::os::unix::fs::symlink("elsewhere/real.tamis", world.path(MODEL)).unwrap();
    for (number, log_limit) in [(30, NEVER), (31, 0), (32, NEVER)] {
        must_learn(&world, number, log_limit);
        assert!(fs::symlink_metadata(world.path(MODEL)).unwrap().is_symlink());
    }
    world.succeed(&["retrain", "-m", MODEL]);
    assert!(fs::symlink_metadata(world.path(MODEL)).unwrap().is_symlink());
    assert!(!check(&world, 33));
    // and so does one to where there is none yet
    fs::remove_file(world.path("elsewhere/real.tamis")).unwrap();
    must_learn(&world, 0, NEVER);
    assert!(fs::symlink_metadata(world.path(MODEL)).unwrap().is_symlink());
    assert!(!check(&world, 1));
}

#[test]
fn what_a_killed_writer_left_is_not_read_for_more_than_it_is() {
    let world = of_first(30);
    must_learn(&world, 30, NEVER);
    let whole = fs::read(world.path(MODEL)).unwrap();
    must_learn(&world, 31, NEVER);
    let more = fs::read(world.path(MODEL)).unwrap();
    fs::write(world.path(MODEL), &more[..(whole.len() + more.len()) / 2]).unwrap();
    let reader = fs::File::open(world.path(MODEL)).unwrap();
    let left = reader.metadata().unwrap().len();
    must_learn(&world, 32, NEVER);
    // a reader may be halfway through what was left: it stays as it is
    assert_eq!(reader.metadata().unwrap().len(), left);
    must_learn(&world, 31, NEVER);
    assert!(!check(&world, 33));
}
