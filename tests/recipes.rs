//! The recipes of `contrib/mail` for procmail, maildrop and mutt, run by these. That for Sieve needs a whole Dovecot.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{TAMIS, World, feed, root, skip_without, stderr};

fn recipe(name: &str) -> String {
    fs::read_to_string(root().join("contrib/mail").join(name)).unwrap()
}

fn inbox(name: &str) -> Vec<u8> {
    fs::read(root().join("corpora/mail/inbox").join(name)).unwrap()
}

/// The search path of programs, with tamis before all.
fn path() -> String {
    format!("{}:{}", Path::new(TAMIS).parent().unwrap().display(), std::env::var("PATH").unwrap())
}

/// The files of a Maildir's folder.
fn delivered(world: &World, folder: &str) -> Vec<String> {
    let files = fs::read_dir(world.path(folder)).into_iter().flatten();
    files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect()
}

/// A world with a Maildir that has a folder for spam.
fn world() -> World {
    let world = World::with_mail_model();
    for folder in ["Maildir", "Maildir/.Junk"] {
        for part in ["cur", "new", "tmp"] {
            fs::create_dir_all(world.path(folder).join(part)).unwrap();
        }
    }
    world
}

#[track_caller]
fn check_delivered(world: &World, deliver: impl Fn() -> Command) {
    for message in ["01.eml", "02.eml"] {
        let output = feed(deliver(), &inbox(message));
        assert!(output.status.success(), "{}", stderr(&output));
    }
    for (folder, label) in [("Maildir/.Junk/new", "spam"), ("Maildir/new", "ham")] {
        let messages = delivered(world, folder);
        assert_eq!(messages.len(), 1, "{folder}");
        assert!(messages[0].contains(&format!("\nX-Tamis: {label}; ")), "{folder}: {}", messages[0]);
    }
}

#[test]
fn procmail_files_spam() {
    if skip_without(&["procmail"]) {
        return;
    }
    let world = world();
    let rules = world.write("rules", recipe("procmailrc"));
    check_delivered(&world, || {
        let mut procmail = Command::new("procmail");
        let home = world.path("").display().to_string();
        // it begins with the home and path of the user that runs it
        procmail.args([&format!("HOME={home}"), &format!("PATH={}", path()), "SHELL=/bin/sh"]);
        procmail.arg(format!("ORGMAIL={}", world.path("lost").display())).arg(&rules);
        procmail
    });
    assert!(!world.path("lost").exists());
}

#[test]
fn maildrop_files_spam() {
    if skip_without(&["maildrop"]) {
        return;
    }
    let world = world();
    // likewise
    let own = format!(
        "HOME=\"{}\"\nPATH=\"{}\"\n",
        world.path("").display().to_string().trim_end_matches('/'),
        path()
    );
    let rules: PathBuf = world.write("rules", own + &recipe("maildroprc"));
    fs::set_permissions(&rules, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    check_delivered(&world, || {
        let mut maildrop = Command::new("maildrop");
        maildrop.arg("./rules").current_dir(world.path(""));
        maildrop
    });
}

#[test]
fn mutt_teaches_and_files() {
    if skip_without(&["mutt", "script"]) {
        return;
    }
    let world = world();
    let message = String::from_utf8(inbox("02.eml")).unwrap();
    world.write("mbox", format!("From me@example.org Mon Mar  2 10:00:00 2026\n{message}\n"));
    let settings = "set folder=~/mail confirmappend=no confirmcreate=no delete=yes quit=yes\n";
    world.write("rules", recipe("muttrc") + settings);
    fs::create_dir(world.path("mail")).unwrap();
    let mut terminal = Command::new("script");
    terminal.args(["-qfc", "mutt -n -F rules -f mbox", "/dev/null"]).current_dir(world.path(""));
    terminal.env("HOME", world.path("")).env("PATH", path()).env("TERM", "vt100").env("LC_ALL", "C");
    terminal.env_remove("TAMIS_MODEL").env_remove("XDG_DATA_HOME").env_remove("TAMIS_FALLBACK");
    terminal.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = terminal.spawn().unwrap();
    let mut keys = child.stdin.take().unwrap();
    let mut press = |key: &str| std::io::Write::write_all(&mut keys, key.as_bytes()).unwrap();
    // the name of the folder is offered, and return takes it
    press("S");
    let end = Instant::now() + Duration::from_secs(30);
    while !world.path("mail/Junk").exists() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(200));
        press("\n");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(fs::read_to_string(world.path("mail/Junk")).unwrap().contains(message.lines().last().unwrap()));
    let known = world.succeed(&["inspect"]);
    let documents = known.lines().find_map(|line| line.strip_prefix("spam ")?.split_whitespace().next());
    assert_eq!(documents, Some("86"), "{known}");
}
