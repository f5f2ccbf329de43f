//! Hostile mail costs no more than large mail: limits hold, and up to them the work grows with the size.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use tamis_filter::{Document, Filter, Kind, Limits, Scratch, TrainOptions, Trainer};
use tamis_mail::Message;
use tamis_mail::passthrough::{Verdict, annotate};

use crate::support::{TAMIS, World, stderr, stdout, verdict_fields};

const HEADER: &str = "From: a@example.org\nTo: b@example.org\nSubject: cheap pills\n";

/// Runs the program with a file as input and no more memory than this.
fn run_within(world: &World, kibibytes: u32, arguments: &[&str], input: &str) -> Output {
    let script = format!("ulimit -v {kibibytes} && exec \"$0\" \"$@\" <{input}");
    let mut command = Command::new("sh");
    command.args(["-c", &script, TAMIS]).args(arguments).current_dir(world.path(""));
    command.env("HOME", world.path("")).env_remove("XDG_DATA_HOME").env_remove("TAMIS_MODEL");
    command.env_remove("TAMIS_FALLBACK");
    command.output().unwrap()
}

fn check_huge(message: String, limits: &str) {
    const HALF_A_GIGABYTE: u32 = 500 * 1024;
    let world = World::with_mail_model();
    world.write("mail", &message);
    let scored = run_within(&world, HALF_A_GIGABYTE, &["score", "--json"], "mail");
    assert!(matches!(scored.status.code(), Some(0..=2)), "{}", stderr(&scored));
    assert!(stdout(&scored).contains(r#""truncated":true"#), "{}", stdout(&scored));
    assert!(stderr(&scored).ends_with(&format!("the limit of: {limits}\n")), "{}", stderr(&scored));

    let explained = run_within(&world, HALF_A_GIGABYTE, &["explain", "--json"], "mail");
    assert!(stderr(&explained).ends_with(&format!("the limit of: {limits}\n")), "{}", stderr(&explained));
    let labelled = run_within(&world, HALF_A_GIGABYTE, &["label", "--as", "mail", "mail"], "mail");
    assert!(stderr(&labelled).contains("1 message read in part"), "{}", stderr(&labelled));

    let passed = run_within(&world, HALF_A_GIGABYTE, &["score", "--passthrough"], "mail");
    assert_eq!(passed.status.code(), Some(0), "{}", stderr(&passed));
    verdict_fields(message.as_bytes(), &passed.stdout);
}

#[test]
fn a_hundred_megabytes() {
    check_huge(format!("{HEADER}\n{}", "cheap pills for you\n".repeat(5 << 20)), "bytes, text");
}

#[test]
fn twenty_thousand_nested_parts() {
    let open = |i| format!("Content-Type: multipart/mixed; boundary=b{i}\n\n--b{i}\n");
    check_huge(HEADER.to_owned() + &(0..20_000).map(open).collect::<String>(), "bytes, text, depth");
    let nested = "Content-Type: message/rfc822\n\n".repeat(20_000);
    check_huge(HEADER.to_owned() + &nested, "bytes, nested messages, text");
}

#[test]
fn a_million_headers() {
    let headers = (0..1_000_000).map(|i| format!("X-H{i}: {i}\n"));
    check_huge(HEADER.to_owned() + &headers.collect::<String>() + "\nbody\n", "bytes, headers");
}

#[test]
fn a_line_of_ten_million_characters() {
    check_huge(format!("{HEADER}\n{}", "x".repeat(10_000_000)), "bytes, text");
    check_huge(format!("{HEADER}X-Long: {}\n\nbody", "x".repeat(10_000_000)), "bytes");
}

#[test]
fn a_million_words() {
    let words = (0..1_000_000).map(|i| format!("word{i} "));
    check_huge(format!("{HEADER}\n{}", words.collect::<String>()), "bytes, text");
}

#[test]
fn mail_within_the_limits_is_not_said_to_be_cut() {
    let world = World::with_mail_model();
    let output = world.run_with_input(&["score", "--json"], HEADER.as_bytes());
    assert!(stderr(&output).is_empty() && !stdout(&output).contains("truncated"));
}

fn no_limits() -> Limits {
    let mut limits = Limits::default();
    (limits.bytes, limits.text) = (usize::MAX, usize::MAX);
    (limits.nested_messages, limits.parts, limits.headers) = (usize::MAX, usize::MAX, usize::MAX);
    limits
}

/// A filter that reads all of a message.
fn boundless(windows: Option<u32>) -> Filter {
    let mut options = TrainOptions::new(Kind::Mail);
    options.recipe.limits = no_limits();
    options.recipe.windows = windows;
    let mut trainer = Trainer::new(options).unwrap();
    for (label, text) in [("ham", "lunch at noon"), ("spam", "cheap pills")] {
        trainer.add(label, Document::Mail(format!("{HEADER}\n{text}").as_bytes())).unwrap();
    }
    trainer.finish().unwrap().into_filter().unwrap()
}

/// Scores a message, cuts it into stretches and writes a verdict into it.
fn work(filter: &Filter, message: &[u8]) {
    let verdict =
        Verdict { label: "spam", unsure: false, probability: 1.0, log_odds: 1.0, spam: None, version: "1" };
    filter.score_mail(message, &mut Scratch::default()).unwrap();
    Message::parse(message, &no_limits()).for_each_piece(false, 750, |_| ());
    assert!(annotate(message, &verdict, false).len() > message.len());
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Messages that would take quadratic time if something began anew at every place: what comes once, what is repeated.
const PATTERNS: [(&str, &str); 68] = [
    // HTML
    ("Content-Type: text/html\n\n", "<"),
    ("Content-Type: text/html\n\n", "<!--"),
    ("Content-Type: text/html\n\n", "<!-- -->"),
    ("Content-Type: text/html\n\n", "<!-- --!"),
    ("Content-Type: text/html\n\n", "<a "),
    ("Content-Type: text/html\n\n<a ", "b='"),
    ("Content-Type: text/html\n\n", "<a href=\""),
    ("Content-Type: text/html\n\n", "<a href='x&'>"),
    ("Content-Type: text/html\n\n<a href='", "&"),
    ("Content-Type: text/html\n\n", "&"),
    ("Content-Type: text/html\n\n", "&amp"),
    ("Content-Type: text/html\n\n", "&#x"),
    ("Content-Type: text/html\n\n", "<script>"),
    ("Content-Type: text/html\n\n<script><!--", "<script>"),
    ("Content-Type: text/html\n\n", "</script"),
    ("Content-Type: text/html\n\n", "<style>"),
    ("Content-Type: text/html\n\n", "<b><p>"),
    ("Content-Type: text/html\n\n", "<a href=http://example.org/x>x</a> "),
    // structure
    ("Content-Type: multipart/mixed; boundary=b\n\n", "--b\n"),
    ("Content-Type: multipart/mixed; boundary=b\n\n", "--b"),
    ("Content-Type: multipart/mixed; boundary=b\n\n", "--b\nContent-Type: multipart/mixed; boundary=b\n\n"),
    ("Content-Type: multipart/mixed; boundary=b\n\n", "--b\nContent-Type: multipart/mixed; boundary=c\n\n"),
    ("Content-Type: multipart/digest; boundary=b\n\n", "--b\n\nSubject: x\n\n"),
    ("Content-Type: message/rfc822\n\n", "Content-Type: message/rfc822\n\n"),
    ("Content-Transfer-Encoding: base64\n\n", "=?*"),
    ("Content-Transfer-Encoding: base64\n\n", "Y2FzaCA="),
    ("Content-Transfer-Encoding: quoted-printable\n\n", "=\n"),
    ("Content-Transfer-Encoding: quoted-printable\n\n", "= "),
    ("Content-Transfer-Encoding: quoted-printable\n\n", "=\t=3D"),
    // header fields
    ("Subject: ", "=?utf-8?q?"),
    ("Subject: ", "=?utf-8?q?x?= "),
    ("Subject: ", "=?a?b?=?="),
    ("Subject: ", "=?"),
    ("To: ", "("),
    ("To: ", "(a)"),
    ("To: ", "\\("),
    ("To: ", "a:b;"),
    ("To: ", "a@b,"),
    ("To: ", "<"),
    ("To: ", "\""),
    ("To: ", "\"a@b\" <c@d>, "),
    ("To: ", "@"),
    ("Date: ", "("),
    ("Date: ", "1 "),
    ("Message-ID: ", "<a@"),
    ("Content-Type: text/plain", "; name*0*=a"),
    ("Content-Type: text/plain", ";name="),
    ("Content-Type: text/plain; name=", "\\\""),
    ("Content-Disposition: attachment; filename*=utf-8''", "%41"),
    ("Received: ", "from a (b [1.2.3.4]) by c with d; "),
    ("Received: ", "(["),
    ("X: y\n", "Received: from a (b [1.2.3.4]) by c\n"),
    ("X: y\n", "A: b\n"),
    ("X: y\n", " z\n"),
    // text
    ("\nhttp://", "a."),
    ("\nhttp://a/", "http://"),
    ("\n", "http://a.b/c?d "),
    ("\n", "www."),
    ("\n", "$1,"),
    ("\n", "!"),
    ("\n", "\u{301}"),
    ("\na", "\u{301}\u{316}"),
    ("\n", "\u{1f1e9}"),
    ("\n", "\u{1f469}\u{200d}"),
    ("\n", "'\u{e9}"),
    ("\n", "\u{5d0}\""),
    ("\n", "\u{3099}"),
    ("\n", "\u{6f22}"),
];

#[test]
fn the_work_grows_as_the_message_does() {
    let filter = boundless(None);
    PATTERNS.into_iter().for_each(|pattern| check_linear(&filter, pattern));
}

#[test]
fn it_does_where_every_part_is_a_passage() {
    let filter = boundless(Some(1_500));
    check_linear(&filter, ("Content-Type: multipart/mixed; boundary=b\n\n", "--b\n\ncheap pills\n"));
    check_linear(&filter, ("Content-Type: multipart/digest; boundary=b\n\n", "--b\n\nSubject: x\n\ny\n"));
}

fn check_linear(filter: &Filter, (once, repeated): (&str, &str)) {
    let [small, large] = [25_000, 200_000].map(|bytes| {
        format!("From: a@b\nTo: c@d\n{once}{}\n\n", repeated.repeat(bytes / repeated.len())).into_bytes()
    });
    // Eight small ones take as long as a large one, if the work is linear, and an eighth of it, if it is quadratic.
    // Others use the machine too: once in twenty times is enough.
    let is_linear = |_| {
        let eight = time(|| (0..8).for_each(|_| work(filter, &small)));
        time(|| work(filter, &large)) < 4 * eight
    };
    assert!((0..20).any(is_linear), "{once:?}, {repeated:?} again and again");
}
