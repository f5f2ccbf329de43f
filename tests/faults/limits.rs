//! Hostile mail costs no more memory than large mail: limits hold.

use std::fmt::Write;
use std::process::{Command, Output};

use crate::support::{TAMIS, World, stderr, stdout, verdict_fields};

const HEADER: &str = "From: a@example.org\nTo: b@example.org\nSubject: cheap pills\n";

/// Runs the program with a file as input and no more memory than this.
fn run_within(world: &World, kibibytes: u32, arguments: &[&str], input: &str) -> Output {
    let script = format!("ulimit -v {kibibytes} && exec \"$0\" \"$@\" <{input}");
    let mut command = Command::new("sh");
    command.args(["-c", &script, TAMIS]).args(arguments);
    world.at_home(command).output().unwrap()
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
    check_huge(HEADER.to_owned() + &(0..20_000).map(open).collect::<String>(), "text, depth");
    let nested = "Content-Type: message/rfc822\n\n".repeat(30_000);
    check_huge(HEADER.to_owned() + &nested, "nested messages, text");
}

#[test]
fn a_million_headers() {
    let headers = (0..1_000_000).map(|i| format!("X-H{i}: {i}\n"));
    check_huge(HEADER.to_owned() + &headers.collect::<String>() + "\nbody\n", "headers, text");
}

#[test]
fn a_line_of_ten_million_characters() {
    check_huge(format!("{HEADER}\n{}", "x".repeat(10_000_000)), "text");
    check_huge(format!("{HEADER}X-Long: {}\n\nbody", "x".repeat(10_000_000)), "headers, text");
}

#[test]
fn a_million_words() {
    let words = (0..1_000_000).map(|i| format!("word{i} "));
    check_huge(format!("{HEADER}\n{}", words.collect::<String>()), "text");
}

#[test]
fn mail_within_the_limits_is_not_said_to_be_cut() {
    let world = World::with_mail_model();
    let output = world.run_with_input(&["score", "--json"], HEADER.as_bytes());
    assert!(stderr(&output).is_empty() && !stdout(&output).contains("truncated"));
}

#[test]
fn of_a_text_of_different_words_no_more_is_read_than_memory_bears() {
    let world = World::new();
    for (name, text) in
        [("a/1.txt", "oak ash"), ("a/2.txt", "oak elm"), ("b/1.txt", "sea"), ("b/2.txt", "lake")]
    {
        world.write(name, text);
    }
    let mut words = String::new();
    (0..6_000_000).for_each(|i| write!(words, "w{i} ").unwrap());
    world.write("huge.txt", &words);
    world.succeed(&["train", "-m", "m", "a", "b"]);
    let labelled = run_within(&world, 1_500 * 1024, &["label", "-m", "m", "huge.txt"], "huge.txt");
    assert_eq!(labelled.status.code(), Some(0), "{}", stderr(&labelled));
    assert!(stderr(&labelled).contains("1 document read in part"), "{}", stderr(&labelled));

    // the words behind the limit are not known
    world.write("b/3.txt", "river ".repeat(1_000) + "island");
    let trained = world.run(&["train", "-m", "short", "--most-bytes", "1000", "a", "b"]);
    assert!(stderr(&trained).contains("1 document read in part"), "{}", stderr(&trained));
    let explained = world.succeed(&["explain", "-m", "short", "--json", "b/3.txt"]);
    assert!(explained.contains("river") && !explained.contains("island"), "{explained}");
    // and no more is read of the file, in whole characters
    world.write("b/4.txt", "seas éééééé ".repeat(1_000));
    world.succeed(&["train", "-m", "cut", "--most-bytes", "8", "a", "b"]);
    let terms = world.succeed(&["export", "-m", "cut", "--format", "csv"]);
    assert!(terms.contains("seas") && !terms.contains('ã'), "{terms}");
    world.write("rows.csv", "label,text\na,oak ash\nb,sea lake river island\n");
    let rows = world.run(&["train", "-m", "rows", "--most-bytes", "8", "rows.csv"]);
    assert!(stderr(&rows).contains("1 document read in part"), "{}", stderr(&rows));
}
