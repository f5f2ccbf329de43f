//! `tamis bogofilter` beside bogofilter itself: the same arguments and mail to both, everything equal but the numbers; and
//! bogofilter's own test scripts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::{TAMIS, feed, root, skip, stderr};

/// Argument lists. `%m` stands for the mail as a file, `%l` for a list of names on standard input, `%3` for three files,
/// `%b` for an mbox, `%d` for a Maildir, `%h` for an MH folder, `%c` for a configuration file, `%o` for an output file.
const LISTS: [&str; 66] = [
    "",
    "-v",
    "-t",
    "-T",
    "-TT",
    "-t -v",
    "-e",
    "-e -v",
    "-q",
    "-q -v",
    "-p",
    "-p -e",
    "-pe -q -v",
    "-p -t",
    "-T -p",
    "-p -e -v",
    "-vv",
    "-U -v",
    "-v -o0.9,0.1",
    "-v -o 0.5",
    "-v -o,0.3",
    "-v -o0.5,0",
    "-v -m0.1,0.2,0.3",
    "-p --spam-header-name=X-Spam-Test",
    "-p --spam-header-place=Subject:",
    "-p --spam-subject-tag=[SPAM] --unsure-subject-tag=[UNSURE]",
    "-v --header-format=%h:_%c_%p",
    "-t --terse-format=%c|%e|%f|%g|%o|%d|%%|%1.1c|%.3f|%#f",
    "-v --spamicity-tags=S,h,u",
    "-v --spamicity-formats=%6.2e,%6.2e,%0.6f",
    "--unicode=yes",
    "-v -H",
    "-v -k 8 -y 0",
    "-x d -D -v",
    "-v -I %m",
    "-I %m -p -O %o",
    "-v -c %c",
    "-p -c %c",
    "-Q",
    "-Q -c %c",
    "-M -v -I %b",
    "-M -t -I %b",
    "-M -T -I %b",
    "-M -p -I %b",
    "-b -v < %l",
    "-T -b < %l",
    "-b < %l",
    "-b -e -t < %l",
    "-T -p -b < %l",
    "-B -t %3",
    "-v -B %3",
    "-v -B %m nofile %m",
    "-v -B %d",
    "-t -B %h",
    "-s -v",
    "-n -v -I %m",
    "-Sn -v",
    "-Ns -v",
    "-S",
    "-s -b < %l",
    "-n -v -I %b",
    "--register-ham --unicode=yes",
    "-u -v -e",
    "-p -u -e",
    "-Z -v",
    "-v --spam-header-n X-Foo --nope",
];

/// Argument lists that are errors.
const ERRORS: [&str; 8] = ["-s -n", "-S -N", "-s -u", "-I nofile", "surplus", "-d", "-P", "-c nofile"];

/// How many mails, half of each kind.
const MAILS: usize = 500;

/// The mail, and a folder for each program.
struct Sides {
    directory: tempfile::TempDir,
    mails: Vec<PathBuf>,
}

/// The two programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Bogofilter,
    Tamis,
}

impl Sides {
    /// Both have registered all mails.
    fn new() -> Option<Self> {
        let corpus = tamis_testing::public_corpus("spamassassin")?;
        if Command::new("bogofilter").arg("-V").output().is_err() {
            skip("bogofilter is not installed");
            return None;
        }
        let of = |label: &str| -> Vec<PathBuf> {
            let mut paths: Vec<_> = files(&corpus.join(label));
            paths.sort();
            let step = paths.len() / (MAILS / 2);
            paths.into_iter().step_by(step).take(MAILS / 2).collect()
        };
        let (ham, spam) = (of("ham"), of("spam"));
        let sides = Sides { directory: tempfile::tempdir().unwrap(), mails: Vec::new() };
        for side in [Side::Bogofilter, Side::Tamis] {
            for (option, paths) in [("-n", &ham), ("-s", &spam)] {
                let output = sides.call(side, &[option, "-b"], names(paths).as_bytes());
                assert!(output.status.success(), "{side:?}: {}", stderr(&output));
            }
        }
        let mails: Vec<_> = ham.into_iter().zip(spam).flat_map(|(ham, spam)| [ham, spam]).collect();
        assert_eq!(mails.len(), MAILS);
        sides.lay_out(&mails);
        Some(Sides { mails, ..sides })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes what argument lists name.
    fn lay_out(&self, mails: &[PathBuf]) {
        let read = |path: &PathBuf| fs::read(path).unwrap();
        for folder in ["maildir/new", "maildir/cur", "maildir/tmp", "mh"] {
            fs::create_dir_all(self.path(folder)).unwrap();
        }
        let mut mbox = Vec::new();
        for (number, mail) in mails[..40].iter().enumerate() {
            let bytes = read(mail);
            let folder = if number % 2 == 0 { "maildir/new" } else { "maildir/cur" };
            fs::write(self.path(folder).join(format!("{number}.a:2,S")), &bytes).unwrap();
            fs::write(self.path("mh").join(number.to_string()), &bytes).unwrap();
            let text: Vec<u8> = match bytes.starts_with(b"From ") {
                true => bytes.split_inclusive(|b| *b == b'\n').skip(1).flatten().copied().collect(),
                false => bytes,
            };
            mbox.extend_from_slice(b"From a@example.org Fri Aug 23 11:03:04 2002\n");
            for line in text.split_inclusive(|byte| *byte == b'\n') {
                mbox.extend_from_slice(if line.starts_with(b"From ") { b">" } else { b"" });
                mbox.extend_from_slice(line);
            }
            mbox.extend_from_slice(b"\n");
        }
        fs::write(self.path("mbox"), mbox).unwrap();
        let configuration = "# ours\nspam_header_name=X-Ours  # a name\nheader_format = %h: %c, score=%p, of=%v\n\
             Ham_Cutoff=0.3\nspam_cutoff = 0.8\nspamicity_tags = Yes, No, Perhaps\nterse-format=%f\n\
             thresh_update=0.01\nstats_in_header=no\n";
        fs::write(self.path("cf"), configuration).unwrap();
    }

    fn folder(&self, side: Side) -> PathBuf {
        self.path(&format!("{side:?}"))
    }

    fn call(&self, side: Side, arguments: &[&str], input: &[u8]) -> Output {
        let mut command = match side {
            Side::Bogofilter => Command::new("bogofilter"),
            Side::Tamis => Command::new(TAMIS),
        };
        command.args((side == Side::Tamis).then_some("bogofilter")).args(arguments);
        command.env("BOGOFILTER_DIR", self.folder(side)).env("HOME", self.directory.path());
        command.env_remove("BOGOTEST").current_dir(self.directory.path());
        feed(command, input)
    }

    /// What a side makes of a list of arguments and a mail: output, errors that are results, output file, status.
    fn outcome(&self, side: Side, list: &str, at: usize) -> Outcome {
        let saved = changes(list).then(|| self.save(side));
        let mail = &self.mails[at];
        let three: Vec<_> = (0..3).map(|i| self.mails[(at + i) % MAILS].display().to_string()).collect();
        let (list, stdin) = list.split_once(" < ").unwrap_or((list, ""));
        let mut arguments = Vec::new();
        for word in list.split_whitespace() {
            match word {
                "%3" => arguments.extend(three.iter().cloned()),
                "%m" => arguments.push(mail.display().to_string()),
                "%b" => arguments.push("mbox".to_owned()),
                "%d" => arguments.push("maildir".to_owned()),
                "%h" => arguments.push("mh/".to_owned()),
                "%c" => arguments.push("cf".to_owned()),
                "%o" => arguments.push("out".to_owned()),
                word if word.starts_with("--header") => arguments.push(word.replace('_', " ")),
                word => arguments.push(word.to_owned()),
            }
        }
        let input = if stdin == "%l" { names(&self.mails).into_bytes() } else { fs::read(mail).unwrap() };
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let output = self.call(side, &arguments, &input);
        let written = fs::read(self.path("out")).unwrap_or_default();
        let _ = fs::remove_file(self.path("out"));
        if let Some(saved) = saved {
            self.restore(side, &saved);
        }
        let told: String =
            stderr(&output).lines().filter(|line| line.starts_with("# ")).map(|l| format!("{l}\n")).collect();
        let text = [&output.stdout[..], &written, told.as_bytes()].concat();
        Outcome { text: String::from_utf8_lossy(&text).into_owned(), status: output.status.code() }
    }

    fn save(&self, side: Side) -> Vec<(PathBuf, Vec<u8>)> {
        files(&self.folder(side)).into_iter().map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
    }

    fn restore(&self, side: Side, saved: &[(PathBuf, Vec<u8>)]) {
        files(&self.folder(side)).iter().for_each(|path| fs::remove_file(path).unwrap());
        saved.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    }
}

/// Whether a list of arguments changes the folder.
fn changes(list: &str) -> bool {
    let of_words = |word: &str| {
        word.starts_with("--register")
            || (word.starts_with('-')
                && !word.starts_with("--")
                && word[1..].contains(['s', 'n', 'S', 'N', 'u']))
    };
    list.split_whitespace().any(of_words)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.is_file()).collect()
}

fn names(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| format!("{}\n", path.display())).collect()
}

#[derive(PartialEq, Eq, Debug)]
struct Outcome {
    text: String,
    status: Option<i32>,
}

impl Outcome {
    /// Without numbers, bars and what they depend on: plurals, widths, and the order of names in a folder.
    fn without_numbers(&self, sorted: bool) -> Vec<String> {
        let plain = |line: &str| {
            let line = line.trim_end_matches('#');
            let mut out = String::new();
            let mut rest = line;
            while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
                out += &rest[..at];
                out.push('0');
                rest = &rest[at + number_len(&rest[at..])..];
            }
            out += rest;
            let words: Vec<_> = out.split(' ').filter(|word| !word.is_empty()).collect();
            words.join(" ").replace("words", "word").replace("messages", "message")
        };
        let mut lines: Vec<_> = self.text.split('\n').map(plain).collect();
        if sorted {
            lines.sort();
        }
        lines
    }

    /// Also without the verdict.
    fn without_verdict(&self, sorted: bool) -> Vec<String> {
        const TAGS: [&str; 8] = ["Spam", "Ham", "Unsure", "Yes", "No", "Perhaps", "[SPAM]", "[UNSURE]"];
        const LETTERS: [&str; 6] = ["S", "H", "U", "h", "u", "S,"];
        let is_tag = |word: &&str| {
            let word = word.trim_end_matches(',').split('|').next().unwrap_or_default();
            TAGS.contains(&word) || LETTERS.contains(&word)
        };
        let plain = |line: String| {
            let kept: Vec<_> = line.split(' ').filter(|word| !is_tag(word)).collect();
            // the letter of %1.1c between bars, and a subject that only a tag made
            kept.join(" ").replace("|S|", "||").replace("|H|", "||").replace("|U|", "||")
        };
        let lines = self.without_numbers(sorted).into_iter().map(plain);
        let mut lines: Vec<_> = lines.filter(|line| line != "Subject:").collect();
        if sorted {
            lines.sort();
        }
        lines
    }
}

/// The length of the number that a text begins with: `12`, `0.5`, `1.2.5`, `7.3e-06`.
fn number_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut end = digits(0);
    while bytes.get(end) == Some(&b'.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    match &bytes[end..] {
        [b'e', b'-' | b'+', ..] if digits(end + 2) > 0 => end + 2 + digits(end + 2),
        _ => end,
    }
}

/// Compares both on this list and mail; returns whether the verdicts are equal too, or what is different beside them.
fn compare(sides: &Sides, list: &str, at: usize) -> Result<bool, String> {
    let [theirs, ours] = [Side::Bogofilter, Side::Tamis].map(|side| sides.outcome(side, list, at));
    // folders are read in an order of their own
    let sorted = list.contains("%d") || list.contains("%h");
    let is_verdict = |status| matches!(status, Some(0..=2));
    if theirs.status == ours.status && theirs.without_numbers(sorted) == ours.without_numbers(sorted) {
        return Ok(true);
    }
    let place = format!("{list:?} on {}", sides.mails[at].display());
    if theirs.status != ours.status && !(is_verdict(theirs.status) && is_verdict(ours.status)) {
        return Err(format!("{place}: {:?} and {:?}", theirs.status, ours.status));
    }
    let (expected, got) = (theirs.without_verdict(sorted), ours.without_verdict(sorted));
    let first = expected.iter().zip(&got).find(|(expected, got)| expected != got);
    match expected == got {
        true => Ok(false),
        false => Err(format!("{place}: {} and {} lines, {first:?}", expected.len(), got.len())),
    }
}

/// Compares each list on these mails.
fn compare_all(sides: &Sides, mails_of: impl Fn(usize) -> Vec<usize>) {
    let (mut n, mut n_equal, mut different) = (0, 0, Vec::new());
    for (number, list) in LISTS.iter().enumerate() {
        // of what does not depend on the mail once is enough
        let is_bulk =
            list.contains('%') && !list.contains("%m") && !list.contains("%3") && !list.contains("%c");
        for at in mails_of(number).into_iter().take(if is_bulk { 1 } else { usize::MAX }) {
            match compare(sides, list, at) {
                Ok(is_equal) => n_equal += usize::from(is_equal),
                Err(difference) => different.push(difference),
            }
            n += 1;
        }
    }
    eprintln!("{} lists of arguments: {n} calls of each program, {n_equal} with equal verdicts", LISTS.len());
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(10 * n_equal >= 7 * n, "{n_equal} of {n} with equal verdicts");
}

#[test]
#[ignore = "66 lists of arguments on each of 500 mails: minutes"]
fn it_answers_as_bogofilter_does_on_every_mail() {
    let Some(sides) = Sides::new() else { return };
    compare_all(&sides, |_| (0..MAILS).collect());
}

#[test]
#[ignore = "fetches bogofilter's source"]
fn bogofilter_s_own_tests_pass() {
    let script = root().join("tests/bogofilter/own_tests.sh");
    let output = Command::new("sh").arg(script).arg(TAMIS).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    eprintln!("{said}{}", stderr(&output));
    if output.status.code() == Some(77) {
        return;
    }
    assert!(output.status.success());
    assert_eq!(said.lines().filter(|line| line.starts_with("pass t.")).count(), 20);
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: 6 s"]
    fn it_answers_as_bogofilter_does_but_for_the_numbers() {
        let Some(sides) = Sides::new() else { return };
        // every mail with some list, every list with some mails
        compare_all(&sides, |number| (number..MAILS).step_by(LISTS.len()).collect());
        for list in ERRORS {
            let [theirs, ours] = [Side::Bogofilter, Side::Tamis].map(|side| sides.outcome(side, list, 0));
            assert_eq!(theirs.status, Some(3), "{list}");
            assert_eq!(ours, theirs, "{list}");
        }
    }
}
