//! Mail is never lost: whatever is done to the model, the memory, the disk or the reader meanwhile, every message comes
//! out, with a whole model's verdict or unchanged.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use tamis_train::{Document, ErrorKind, Filter, Learner, Model, Scratch};

use crate::faults::crash::{MODEL, of_first, options};
use crate::faults::model_file::mail;
use crate::mail::attacks::Random;
use crate::support::{TAMIS, World, feed, stderr, stdout, verdict_fields};

const PRINT: [&str; 4] = ["score", "-e", "-m", MODEL];
const ARGUMENTS: [&str; 4] = ["score", "--passthrough", "-m", MODEL];

/// A world with a model, the bytes of that model and of another, and messages with what each makes of them.
struct Post {
    world: World,
    models: [Vec<u8>; 2],
    messages: Vec<(Vec<u8>, [Vec<u8>; 2])>,
}

/// The memory, in KiB, that the system needs to start the program at all: with less, its loader fails (127), or the
/// system stops it before its first instruction. Rust's own start may still fail (SIGABRT).
static LEAST_MEMORY: LazyLock<usize> = LazyLock::new(|| {
    let starts = |kibibytes: &usize| {
        let script = format!("ulimit -c 0; ulimit -v {kibibytes} && exec \"$0\" --version");
        let status = Command::new("sh").args(["-c", &script, TAMIS]).output().unwrap().status;
        status.success() || status.signal() == Some(libc::SIGABRT)
    };
    (1_000..200_000).step_by(100).find(starts).unwrap()
});

impl Post {
    fn new() -> Self {
        let (world, other) = (of_first(30), of_first(60));
        let models = [&world, &other].map(|world| fs::read(world.path(MODEL)).unwrap());
        let annotated = |world: &World, message: &[u8]| {
            let output = world.run_with_input(&ARGUMENTS, message);
            assert!(output.status.success(), "{}", stderr(&output));
            verdict_fields(message, &output.stdout);
            output.stdout
        };
        let message = |number: usize| {
            let mut message = mail(1_000 + number).1.into_bytes();
            if number == 0 {
                // more than is held of one
                message.extend(b"cheap pills for you\n".repeat(50_000));
            }
            let passed = [&world, &other].map(|world| annotated(world, &message));
            (message, passed)
        };
        let messages = (0..10).map(message).collect();
        Post { world, models, messages }
    }

    fn model(&self) -> PathBuf {
        self.world.path(MODEL)
    }

    /// Puts the first model where it was.
    fn restore(&self) {
        let path = self.model();
        if path.is_dir() || path.is_symlink() {
            fs::remove_dir(&path).or_else(|_| fs::remove_file(&path)).unwrap();
        }
        fs::write(self.world.path("new"), &self.models[0]).unwrap();
        fs::rename(self.world.path("new"), path).unwrap();
    }

    /// The message came out unchanged with an error, or with the verdict of one of the models; returns whether with.
    #[track_caller]
    fn check(&self, message: usize, output: &Output, what: &str) -> bool {
        let (raw, passed) = &self.messages[message];
        let (code, said) = (output.status.code(), stderr(output));
        match code {
            Some(0) => assert!(passed.contains(&output.stdout), "{what}: a verdict of no model: {said}"),
            Some(3) => assert!(*raw == output.stdout, "{what}: {} bytes: {said}", output.stdout.len()),
            _ => panic!("{what}: {:?}, {} bytes: {said}", output.status, output.stdout.len()),
        }
        code == Some(0)
    }
}

/// What is printed of a message whose verdict was written into it.
fn verdict(passed: &[u8]) -> String {
    let passed = String::from_utf8_lossy(passed);
    let line = passed.lines().find_map(|line| line.strip_prefix("X-Tamis: ")).unwrap();
    let mut parts = line.split("; ").map(|part| part.rsplit('=').next().unwrap());
    let mut next = || parts.next().unwrap();
    format!("{} {} {}\n", next(), next(), next())
}

/// Writes to a file in place, in one of the ways in which people do.
fn write_in_place(path: &Path, bytes: &[u8], way: usize) {
    match way % 4 {
        // cp, cat >
        0 => fs::write(path, bytes).unwrap(),
        // dd conv=notrunc, rsync --inplace
        1 => {
            let mut file = File::options().write(true).open(path).unwrap();
            file.write_all(bytes).unwrap();
            file.set_len(bytes.len() as u64).unwrap();
        }
        2 => File::options().write(true).open(path).unwrap().set_len(0).unwrap(),
        _ => File::options().write(true).open(path).unwrap().set_len(bytes.len() as u64 / 2).unwrap(),
    }
}

/// Passes `n` messages through while the model is overwritten and cut.
fn pass_while_overwritten(n: usize) {
    let post = Post::new();
    let (path, is_done) = (post.model(), AtomicBool::new(false));
    let n_scored = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random(3);
            while !is_done.load(Ordering::Relaxed) {
                write_in_place(&path, &post.models[random.below(2)], random.below(4));
                std::thread::sleep(std::time::Duration::from_micros(random.below(4_000) as u64));
            }
        });
        let verdicts: Vec<String> =
            post.messages.iter().flat_map(|(_, passed)| passed).map(|passed| verdict(passed)).collect();
        let score = |n: usize| {
            if n.is_multiple_of(4) {
                // what is printed is that of a whole model as well
                let output = feed(post.world.command(&PRINT), &post.messages[n / 4 % 10].0);
                let (printed, is_error) = (stdout(&output), output.status.code() == Some(3));
                assert!(is_error == printed.is_empty(), "{printed}: {}", stderr(&output));
                assert!(is_error || verdicts.contains(&printed), "{printed}: a verdict of no model");
                return usize::from(!is_error);
            }
            let output = feed(post.world.command(&ARGUMENTS), &post.messages[n % 10].0);
            usize::from(post.check(n % 10, &output, "overwritten"))
        };
        let n_scored = (0..n).map(score).sum::<usize>();
        is_done.store(true, Ordering::Relaxed);
        n_scored
    });
    eprintln!(
        "{n} messages while the model was overwritten and cut: {n_scored} with a verdict, the others unchanged"
    );
    assert!(n_scored > n / 10, "{n_scored}");
}

#[test]
fn a_model_overwritten_again_and_again_costs_no_message_and_gives_no_mixed_verdict() {
    pass_while_overwritten(30);
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: 10 s"]
    fn a_model_overwritten_for_long_costs_no_message_and_gives_no_mixed_verdict() {
        pass_while_overwritten(400);
    }
}

#[test]
fn a_filter_tells_that_its_file_was_written_to() {
    let post = Post::new();
    let path = post.model();
    let question = |filter: &Filter| filter.score_mail(&post.messages[0].0, &mut Scratch::default());
    // written over within a moment, and later
    for nap in [0, 30] {
        post.restore();
        std::thread::sleep(std::time::Duration::from_millis(nap));
        let (mapped, read) = (Filter::open(&path).unwrap(), Filter::read(&path).unwrap());
        let right = question(&mapped).unwrap();
        mapped.check_unchanged().unwrap();
        // the same content, then another of the same length
        let mut other = post.models[0].clone();
        write_in_place(&path, &other, 1);
        let at = other.len() / 2;
        other[at..].fill(0);
        write_in_place(&path, &other, 1);
        let said = mapped.check_unchanged().unwrap_err();
        assert_eq!(said.kind(), ErrorKind::Changed, "{said}");
        assert_eq!(question(&read).unwrap(), right);
        read.check_unchanged().unwrap();
    }
    // what is replaced, as it should be, stays
    post.restore();
    let filter = Filter::open(&path).unwrap();
    let right = question(&filter).unwrap();
    post.restore();
    filter.check_unchanged().unwrap();
    fs::remove_file(&path).unwrap();
    filter.check_unchanged().unwrap();
    assert_eq!(question(&filter).unwrap(), right);
}

/// Starts the program with a file as input, or as an argument, and no more memory than this.
fn pass_within(world: &World, kibibytes: usize, named: bool) -> Output {
    let input = if named { "mail" } else { "<mail" };
    let script = format!("ulimit -c 0; ulimit -v {kibibytes} && exec \"$0\" score -p -m {MODEL} {input}");
    let mut command = Command::new("sh");
    command.args(["-c", &script, TAMIS]).current_dir(world.path("")).stdin(Stdio::null());
    command.output().unwrap()
}

#[test]
fn a_large_message_comes_out_whole_however_little_memory_there_is() {
    let world = of_first(30);
    let message = format!("From: a@example.org\nSubject: x\n\n{}", "cheap pills for you\n".repeat(2 << 20));
    world.write("mail", &message);
    let message = message.as_bytes();
    let least = *LEAST_MEMORY;
    let (mut n_scored, mut n_unchanged) = (0, 0);
    let sizes =
        (0..10).map(|step| least + 200 * step).chain([least + 5_000, 80_000, 200_000, 300_000, 400_000]);
    for kibibytes in sizes.filter(|size| *size >= least) {
        for named in [false, true] {
            let output = pass_within(&world, kibibytes, named);
            let (out, said) = (&output.stdout, stderr(&output));
            let what = format!("{kibibytes} kB, by name: {named}, {} bytes, {said}", out.len());
            match output.status.code() {
                Some(0) => {
                    n_scored += 1;
                    verdict_fields(message, out);
                }
                Some(3) => {
                    n_unchanged += 1;
                    assert!(out == message, "{what}");
                }
                _ => panic!("{what}"),
            }
        }
    }
    eprintln!("a message of 40 MB: {n_scored} times with a verdict, {n_unchanged} times unchanged");
    assert!(n_scored > 4, "{n_scored}");
}

/// What happens while a message is passed through.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    Nothing,
    Overwritten,
    Truncated,
    Removed,
    Replaced,
    /// Learned into, and then replaced by a copy that was begun before.
    CopiedWhileLearned,
    Locked,
    Unreadable,
    MemoryShort,
    ErrorsOnAFullDisk,
    OutputOnAFullDisk,
    OutputClosed,
    PipeClosed,
    ReaderKilled,
    LogOnAFullDisk,
    LogIsAFolder,
    LogTooLarge,
}

const EVENTS: [Event; 17] = [
    Event::Nothing,
    Event::Overwritten,
    Event::Truncated,
    Event::Removed,
    Event::Replaced,
    Event::CopiedWhileLearned,
    Event::Locked,
    Event::Unreadable,
    Event::MemoryShort,
    Event::ErrorsOnAFullDisk,
    Event::OutputOnAFullDisk,
    Event::OutputClosed,
    Event::PipeClosed,
    Event::ReaderKilled,
    Event::LogOnAFullDisk,
    Event::LogIsAFolder,
    Event::LogTooLarge,
];

impl Event {
    /// What is done to the model while the program runs.
    fn happen(self, post: &Post, random: &mut Random) {
        let path = post.model();
        match self {
            Event::Overwritten => write_in_place(&path, &post.models[1], random.below(2)),
            Event::Truncated => {
                write_in_place(&path, &post.models[0], 2 + random.below(2));
                if random.below(2) == 0 {
                    write_in_place(&path, &post.models[1], 0);
                }
            }
            Event::Removed => fs::remove_file(&path).unwrap(),
            Event::Replaced => {
                fs::write(post.world.path("new"), &post.models[1]).unwrap();
                fs::rename(post.world.path("new"), &path).unwrap();
            }
            Event::CopiedWhileLearned => copy_while_learned(&path, random.below(20)),
            Event::Unreadable => {
                fs::remove_file(&path).unwrap();
                // nobody can read these, not even root
                match random.below(2) {
                    0 => fs::create_dir(&path).unwrap(),
                    _ => std::os::unix::fs::symlink(&path, &path).unwrap(),
                }
            }
            _ => (),
        }
    }

    /// The program under what it has to bear from its start.
    fn start(self, post: &Post, random: &mut Random) -> Child {
        let mut command = match self {
            Event::MemoryShort => {
                let most = [400, 20_000][random.below(2)];
                let kibibytes = *LEAST_MEMORY + random.below(most);
                let script = format!("ulimit -c 0; ulimit -v {kibibytes} && exec \"$0\" \"$@\"");
                in_shell(post, &script, &ARGUMENTS)
            }
            Event::OutputClosed => in_shell(post, "exec \"$0\" \"$@\" >&-", &ARGUMENTS),
            Event::LogOnAFullDisk => post.world.command(&[&ARGUMENTS[..], &["--log", "/dev/full"]].concat()),
            Event::LogIsAFolder => post.world.command(&[&ARGUMENTS[..], &["--log", "."]].concat()),
            Event::LogTooLarge => {
                let arguments = [&ARGUMENTS[..], &["--log", "log"]].concat();
                in_shell(post, "ulimit -f 0; exec \"$0\" \"$@\"", &arguments)
            }
            _ => post.world.command(&ARGUMENTS),
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
        match self {
            Event::ErrorsOnAFullDisk => drop(command.stderr(full())),
            Event::OutputOnAFullDisk => drop(command.stdout(full())),
            _ => (),
        }
        command.spawn().unwrap()
    }
}

/// The program with these arguments, started by a shell.
fn in_shell(post: &Post, script: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script, TAMIS]).args(arguments).current_dir(post.world.path(""));
    command
}

/// Learns and forgets a message, so that the scores stay what they are, and saves the model as it was before.
fn copy_while_learned(path: &Path, number: usize) {
    let mut options = options(1, std::time::Duration::from_secs(60));
    options.growth_limit = Some(u64::MAX);
    let (label, mail) = mail(2_000 + number);
    let document = Document::Mail(mail.as_bytes());
    let learn = |n: usize| {
        let mut learner = Learner::open(path, options).unwrap();
        for _ in 0..n {
            learner.learn(label, document).unwrap();
            learner.forget(None, document).unwrap();
            learner.commit().unwrap();
        }
    };
    learn(1);
    let filter = Filter::open(path).unwrap();
    learn(2);
    Model::copy(&filter).unwrap().save(path).unwrap();
    Filter::open(path).unwrap().verify().unwrap();
}

/// Runs once and returns what came of it.
fn deliver(post: &Post, event: Event, random: &mut Random) -> &'static str {
    post.restore();
    let lock = (event == Event::Locked).then(|| post.world.lock(MODEL));
    let number = random.below(10);
    let message = &post.messages[number].0;
    // at times it has begun already, at times it has not
    let (before, after) = (random.below(2) == 0, random.below(1_500) as u64);
    if before {
        event.happen(post, random);
    }
    let mut child = event.start(post, random);
    if matches!(event, Event::PipeClosed) {
        drop(child.stdout.take());
    }
    let mut pipe = child.stdin.take().unwrap();
    let (is_short, reader) = match event {
        Event::ReaderKilled => (true, child.stdout.take()),
        _ => (false, None),
    };
    let output = std::thread::scope(|scope| {
        scope.spawn(move || {
            let (first, rest) = message.split_at(message.len() / 2);
            let _ = pipe.write_all(first);
            std::thread::sleep(std::time::Duration::from_micros(after / 2));
            let _ = pipe.write_all(rest);
        });
        if !before {
            std::thread::sleep(std::time::Duration::from_micros(after));
            event.happen(post, random);
        }
        if let Some(mut reader) = reader {
            // takes a little and goes away
            let mut some = vec![0; random.below(200)];
            let _ = reader.read(&mut some);
        }
        child.wait_with_output().unwrap()
    });
    drop(lock);
    let is_lost_to_us =
        is_short || matches!(event, Event::PipeClosed | Event::OutputOnAFullDisk | Event::OutputClosed);
    if matches!(event, Event::LogOnAFullDisk | Event::LogIsAFolder | Event::LogTooLarge) {
        let said = stderr(&output);
        assert!(
            output.status.success() && said.matches("tamis: not logged: ").count() == 1,
            "{event:?}: {said}"
        );
    }
    if is_lost_to_us {
        // nobody could be given the message: whoever called must know, and has it still
        let code = output.status.code();
        let was_taken = code == Some(0) && is_short;
        assert!(code == Some(3) || was_taken, "{event:?}: {:?}: {}", output.status, stderr(&output));
        return if was_taken { "taken before" } else { "told by the exit status" };
    }
    match post.check(number, &output, &format!("{event:?}")) {
        true => "with a verdict",
        false => "unchanged",
    }
}

fn deliveries(n: usize, seed: u64) {
    let post = Post::new();
    let mut random = Random(seed);
    let mut counts: BTreeMap<(Event, &str), usize> = BTreeMap::new();
    for _ in 0..n {
        let event = EVENTS[random.below(EVENTS.len())];
        *counts.entry((event, deliver(&post, event, &mut random))).or_default() += 1;
    }
    eprintln!("{n} messages, no byte lost:");
    counts.iter().for_each(|((event, outcome), n)| eprintln!("{n:>6}  {event:?}, {outcome}"));
    let seen: std::collections::BTreeSet<_> = counts.keys().map(|(event, _)| *event).collect();
    assert_eq!(seen.len(), EVENTS.len());
}

#[test]
fn no_byte_of_a_message_is_lost_whatever_happens() {
    deliveries(150, 1);
}

#[test]
#[ignore = "takes minutes"]
fn delivery_ten_thousand_messages() {
    deliveries(10_000, 2);
}

#[test]
fn what_was_read_before_a_source_fails_comes_out() {
    // a folder can be opened and not be read
    let post = Post::new();
    let output = post.world.run(&[&ARGUMENTS[..], &["."]].concat());
    assert_eq!((output.status.code(), output.stdout.len()), (Some(3), 0), "{}", stderr(&output));
    // a file that grows while it is read ends where it ended when it was read to its end
    let path = post.world.write("mail", &post.messages[0].0);
    let mut file = File::open(&path).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    let mut command = post.world.command(&ARGUMENTS);
    let output = command.stdin(file).output().unwrap();
    assert!(post.check(0, &output, "from a file"));
}
