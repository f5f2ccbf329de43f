//! What people read: nothing in it that a terminal obeys, whoever named the files or wrote the mail.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use crate::support::{World, feed, stderr, stdout};

/// An escape sequence, ends of lines, a C1 control, and a turn of direction.
const EVIL: &str = "\u{1b}[31mred\n\r\u{9b}1m\u{202e}fdp";

/// What a label may have of that: no control characters, but a turn of direction.
const LABEL: &str = "\u{202e}red";

fn is_obeyed(c: char) -> bool {
    c != '\n' && c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[track_caller]
fn check(what: &str, text: &[u8]) {
    let text = String::from_utf8(text.to_vec()).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(!text.contains(is_obeyed), "{what}: {text:?}");
    // a name has no end of line in it that would begin a line of its own
    assert!(!text.lines().any(|line| line.starts_with(['\u{1b}', '\r'])), "{what}: {text:?}");
}

/// Mails, texts and a table whose names, labels, subjects and columns are as bad as can be.
fn evil_world() -> World {
    let world = World::new();
    for n in 0..12 {
        let (ham, spam) = (format!("mail/ham{LABEL}/{n}{EVIL}.eml"), format!("mail/spam{LABEL}/{n}{EVIL}"));
        let mail = |words: &str| format!("Subject: {EVIL} {words}\nX-{EVIL}: {EVIL}\n\n{words} {EVIL} {n}\n");
        world.write(&ham, mail("lunch soup"));
        world.write(&spam, mail("pills cheap"));
        world.write(&format!("text/a{LABEL}/{n}"), format!("apples {EVIL}\tpears {n}"));
        world.write(&format!("text/b{LABEL}/{n}"), format!("iron {EVIL}\ttin {n}"));
        world.write(&format!("text/c{LABEL}/{n}"), format!("rain {EVIL}\tsnow {n}"));
    }
    let odd = world.path(&format!("text/a{LABEL}")).join(OsStr::from_bytes(b"caf\xe9\x1b"));
    fs::write(odd, "apples").unwrap();
    let row = |n: usize| format!("{n},\"x{EVIL}{}\",\"{LABEL}{}\"\n", n % 3, n % 2);
    let rows: String = (0..30).map(row).collect();
    world.write("t.csv", format!("\"n{EVIL}\",\"x{EVIL}\",\"y{EVIL}\"\n{rows}"));
    world.write("broken.csv", format!("\"n{EVIL}\",\"x{EVIL}\",\"y{EVIL}\"\n1\n{EVIL}\n"));
    world
}

#[test]
fn nothing_that_a_terminal_obeys_reaches_it() {
    let world = evil_world();
    let name = |before: &str, after: &str| format!("{before}{EVIL}{after}");
    let (mail, text, table) = (name("m", ".tamis"), name("t", ".tamis"), name("r", ".tamis"));
    let (m, t, r) = (&*mail, &*text, &*table);
    let target = name("y", "");
    let column = format!("{}=categorical", name("n", ""));
    let (ham, spam) = (format!("ham{LABEL}"), format!("spam{LABEL}"));
    let a_mail = name(&format!("mail/spam{LABEL}/0"), "");
    let a_text = format!("text/c{LABEL}/0");
    let missing = name("nowhere", "");
    let sorted = name("sorted", "");
    let commands: &[&[&str]] = &[
        &["train", "-m", m, "mail"],
        &["train", "-m", t, "--characters", "1-2", "text"],
        &["train", "-m", r, "t.csv", "--target", &target, "--column", &column],
        &["train", "-m", r, "t.csv", "--target", &missing],
        &["train", "-m", "x", "t.csv", "--text-column", &missing],
        &["train", "-m", "x", "--class-prior", &missing, "text"],
        &["train", "-m", "x", "--likelihood", "multinomial", "--class-prior", &missing, "text"],
        &["train", "-m", "x", "--stop-words", &missing, "text"],
        &["train", "-m", &a_mail, "text"],
        &["train", "-m", &sorted, &missing],
        &["score", "-m", m, &a_mail],
        &["score", "-m", m, &a_mail, &missing, &a_text],
        &["score", "-m", m, "--json", &a_mail],
        &["score", "-m", &missing, &a_mail],
        &["score", "-m", &a_mail, &a_mail],
        &["score", "-m", m, "--prior", &missing, &a_mail],
        &["score", "-m", m, "--fallback", t, &a_mail],
        &["score", &format!("--{missing}")],
        &["score", "--cost", &missing],
        &[&*missing],
        &["explain", "-m", m, "--terms", "0", &a_mail],
        &["explain", "-m", m, "--terms", "0", "--json", &a_mail],
        &["explain", "-m", t, "--terms", "0", &a_text],
        &["explain", "-m", r, "t.csv"],
        &["explain", "-m", r, "broken.csv"],
        &["inspect", "-m", m, "--terms", "100", "--suspects", "mail"],
        &["inspect", "-m", m, "--terms", "100", "--suspects", "--json", "mail"],
        &["inspect", "-m", t, "--terms", "1000"],
        &["inspect", "-m", r],
        &["evaluate", "-m", m, "mail"],
        &["evaluate", "-m", t, "text"],
        &["evaluate", "-m", t, "--json", "text"],
        &["evaluate", "-m", r, "t.csv", "broken.csv"],
        &["evaluate", "-m", t, &format!("{missing}={a_text}")],
        &["evaluate", "--folds", "2", "text"],
        &["learn", "-m", m, &spam, &a_mail, &format!("mail/ham{LABEL}")],
        &["learn", "-m", m, &missing, &a_mail],
        &["learn", "-m", &missing, &spam, &a_mail],
        &["forget", "-m", m, &spam, &a_mail],
        &["forget", "-m", m, &ham, &a_mail],
        &["expire", "-m", m, "--keep", "3", "--dry-run"],
        &["retrain", "-m", m],
        &["verify", "-m", m],
        &["verify", "-m", &missing],
        &["merge", "-m", &sorted, m, t],
        &["merge", "-m", &name("merged", ""), m, m],
        &["import", "-m", "i", &a_mail],
    ];
    for (number, command) in commands.iter().enumerate() {
        let output = world.run(command);
        assert!(output.status.success() || number > 2, "{command:?}: {}", stderr(&output));
        let said = stderr(&output);
        assert!(output.status.code().is_some() && !said.contains("panicked"), "{command:?}: {said}");
        check(&format!("{command:?}: stderr"), &output.stderr);
        check(&format!("{command:?}: stdout"), &output.stdout);
    }
    // rows keep the exact bytes; what is said beside them does not
    for format in ["csv", "tsv", "jsonl"] {
        let paths = ["text", "broken.csv", &*missing];
        for path in paths {
            let output = world.run(&["label", "-m", t, "--all", "--format", format, path]);
            check(&format!("label {path:?}: stderr"), &output.stderr);
            if format == "jsonl" {
                check(&format!("label {path:?}: stdout"), &output.stdout);
            }
        }
    }
    let output = world.run(&["label", "-m", m, "--sort-into", &sorted, "mail"]);
    check("label --sort-into", &output.stderr);
}

#[test]
fn a_name_is_quoted_as_ls_does_it() {
    let world = World::with_mail_model();
    world.write("a\nspam 1.0000 +9.99 b", "Subject: lunch\n\nsoup\n");
    let output = world.run(&["score", "a\nspam 1.0000 +9.99 b"]);
    let line = stdout(&output);
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(line.ends_with(" 'a'$'\\n''spam 1.0000 +9.99 b'\n"), "{line}");
    let said = world.fail(&["score", "\u{1b}[2J"]);
    assert_eq!(said, "tamis: ''$'\\033''[2J': no such file or folder\n");
    // one that is plain stays as it is
    world.write("it's a name.eml", "Subject: lunch\n\nsoup\n");
    assert!(stdout(&world.run(&["score", "it's a name.eml"])).ends_with(" it's a name.eml\n"));
}

#[test]
fn causes_are_told_once() {
    let world = World::with_mail_model();
    let mut command = world.command(&["learn", "-m", "no/such/folder/m.tamis", "ham"]);
    command.env_remove("TAMIS_MODEL");
    let said = stderr(&feed(command, b"Subject: a\n\nb\n"));
    assert_eq!(said, "tamis: no/such/folder/m.tamis: there is no folder no/such/folder\n");
    let said = world.fail(&["merge", "-m", "no/such/m.tamis", ".local/share/tamis/model.tamis"]);
    assert_eq!(said.matches("no such").count(), 1, "{said}");
    assert!(!said.contains("os error"), "{said}");
}
