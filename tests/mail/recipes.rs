//! The recipes that `tamis generate recipe` prints (`contrib/mail`), run by their programs: procmail, maildrop, fdm, mutt
//! and Dovecot. Nothing but the recipe tells these where tamis is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{TAMIS, World, feed, root, skip_without, stderr};

/// The usual search path: tamis is not in it.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// Messages, the folder that each is filed in, and its verdict.
const FILED: [(&str, &str, &str); 3] = [
    ("01.eml", "Maildir/.Spam/new", "spam"),
    ("02.eml", "Maildir/new", "ham"),
    ("", "Maildir/.Open/new", "unsure"),
];

pub fn message(name: &str) -> Vec<u8> {
    match name {
        "" => b"Subject: free shipping\n\nx\n".to_vec(),
        name => fs::read(root().join("corpora/mail/inbox").join(name)).unwrap(),
    }
}

/// The files of a Maildir's folder.
fn delivered(world: &World, folder: &str) -> Vec<String> {
    let files = fs::read_dir(world.path(folder)).into_iter().flatten();
    files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect()
}

/// A world with a Maildir.
pub fn world() -> World {
    let world = World::with_mail_model();
    for part in ["cur", "new", "tmp"] {
        fs::create_dir_all(world.path("Maildir").join(part)).unwrap();
    }
    world
}

/// A recipe for this world, whose folders have names of their own, with these options.
pub fn recipe(world: &World, program: &str, more: &[&str]) -> String {
    let (maildir, log) = (world.path("Maildir"), world.path("log"));
    let mut arguments = vec!["generate", "recipe", program, "--junk", "Spam", "--unsure", "Open"];
    arguments.extend(["--maildir", maildir.to_str().unwrap(), "--log", log.to_str().unwrap()]);
    world.succeed(&[&arguments[..], more].concat())
}

/// What is delivered stands where its verdict says, and is logged. Without a model all is delivered as it came; so it is
/// without tamis.
#[track_caller]
fn check(world: &World, program: &str, deliver: impl Fn(&str, &[u8])) {
    let rules = recipe(world, program, &[]);
    assert!(rules.contains(TAMIS), "{rules}");
    for (name, folder, label) in FILED {
        deliver(&rules, &message(name));
        let messages = delivered(world, folder);
        assert_eq!(messages.len(), 1, "{program}: {folder}: {rules}");
        assert!(messages[0].contains(&format!("\nX-Tamis: {label}; ")), "{folder}: {}", messages[0]);
    }
    let log = fs::read_to_string(world.path("log")).unwrap();
    assert_eq!(log.lines().count(), 3, "{log}");
    let model = world.path("no.tamis");
    for rules in
        [recipe(world, program, &["-m", model.to_str().unwrap()]), rules.replace(TAMIS, "/nowhere/tamis")]
    {
        deliver(&rules, &message("01.eml"));
        let messages = delivered(world, "Maildir/new");
        let is_unchanged =
            |delivered: &&String| delivered.contains("lucky-palace.test") && !delivered.contains("X-Tamis");
        assert_eq!(messages.iter().filter(is_unchanged).count(), 1, "{program}: {messages:?}");
        let first = fs::read_dir(world.path("Maildir/new")).unwrap().map(Result::unwrap);
        let first = first.filter(|file| !fs::read_to_string(file.path()).unwrap().contains("X-Tamis"));
        first.for_each(|file| fs::remove_file(file.path()).unwrap());
    }
}

#[test]
fn procmail_files_spam() {
    if skip_without(&["procmail"]) {
        return;
    }
    let world = world();
    check(&world, "procmail", |rules, message| {
        let rules = world.write("rules", rules);
        let mut procmail = Command::new("procmail");
        let home = world.path("").display().to_string();
        // it begins with the home and path of the user that runs it
        procmail.args([&format!("HOME={home}"), &format!("PATH={PATH}"), "SHELL=/bin/sh"]);
        procmail.arg(format!("ORGMAIL={}", world.path("lost").display())).arg(&rules);
        let output = feed(procmail, message);
        assert!(output.status.success(), "{}", stderr(&output));
    });
    assert!(!world.path("lost").exists());
}

#[test]
fn maildrop_files_spam() {
    if skip_without(&["maildrop"]) {
        return;
    }
    let world = world();
    check(&world, "maildrop", |rules, message| {
        // likewise
        let home = world.path("").display().to_string();
        let own = format!("HOME=\"{}\"\nPATH=\"{PATH}\"\n", home.trim_end_matches('/'));
        let rules = world.write("rules", own + rules);
        fs::set_permissions(&rules, fs::Permissions::from_mode(0o600)).unwrap();
        let mut maildrop = Command::new("maildrop");
        maildrop.arg("./rules").current_dir(world.path(""));
        let output = feed(maildrop, message);
        assert!(output.status.success(), "{}", stderr(&output));
    });
}

#[test]
fn fdm_files_spam() {
    if skip_without(&["fdm"]) {
        return;
    }
    let world = world();
    check(&world, "fdm", |rules, message| {
        let lock = world.path("fdm.lock").display().to_string();
        let own = format!("set lock-file \"{lock}\"\naccount \"stdin\" stdin\n");
        let rules = world.write("rules", own + rules);
        fs::set_permissions(&rules, fs::Permissions::from_mode(0o600)).unwrap();
        let mut fdm = Command::new("fdm");
        fdm.arg("-f").arg(&rules).args(["-a", "stdin", "fetch"]).current_dir(world.path(""));
        fdm.env("HOME", world.path("")).env("PATH", PATH);
        let output = feed(fdm, message);
        assert!(output.status.success(), "{}", stderr(&output));
    });
}

/// Opens a Maildir in mutt, presses a key, and confirms until a message is filed.
fn press(world: &World, key: &str, filed: &Path) {
    let mut terminal = Command::new("script");
    terminal.args(["-qfc", "mutt -n -F rules -f in", "/dev/null"]).env("TERM", "vt100").env("LC_ALL", "C");
    let mut terminal = world.at_home(terminal);
    terminal.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = terminal.spawn().unwrap();
    let mut keys = child.stdin.take().unwrap();
    let mut press = |key: &str| std::io::Write::write_all(&mut keys, key.as_bytes()).unwrap();
    let n_in = |part: &str| fs::read_dir(filed.join(part)).map_or(0, Iterator::count);
    // mutt writes what was read to cur
    let is_filed = || n_in("new") + n_in("cur") > 0;
    press(key);
    let end = Instant::now() + Duration::from_secs(30);
    while !is_filed() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(200));
        press("\n");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(is_filed(), "{key}: nothing in {}", filed.display());
}

#[test]
fn mutt_teaches_and_files() {
    if skip_without(&["mutt", "script"]) {
        return;
    }
    let world = world();
    let settings = "set folder=Maildir confirmappend=no confirmcreate=no delete=yes quit=yes\n";
    world.write("rules", recipe(&world, "mutt", &[]) + settings);
    let learned = || {
        let log = fs::read_to_string(world.path("log")).unwrap();
        log.lines().map(|line| line.split(' ').nth(3).unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (key, name, filed) in [("S", "02.eml", "Maildir/.Spam"), ("H", "01.eml", "Maildir")] {
        // one message at a time
        let _ = fs::remove_dir_all(world.path("in"));
        for part in ["cur", "new", "tmp"] {
            fs::create_dir_all(world.path("in").join(part)).unwrap();
        }
        world.write("in/new/1", message(name));
        press(&world, key, &world.path(filed));
    }
    assert_eq!(learned(), ["learned=spam", "learned=ham"]);
}

#[test]
fn recipes_agree_on_folders_and_carry_what_is_asked() {
    let world = World::new();
    for program in ["procmail", "maildrop", "fdm", "sieve", "sieve-labels", "dovecot-learn", "mutt"] {
        let rules = world.succeed(&["generate", "recipe", program]);
        let is_unsure_filed = !["mutt", "sieve-labels"].contains(&program);
        assert!(rules.contains("Junk") && (!is_unsure_filed || rules.contains("Unsure")), "{rules}");
        let is_dovecot = ["sieve", "sieve-labels", "dovecot-learn"].contains(&program);
        assert!(is_dovecot || rules.contains("Maildir/.Junk") || rules.contains("\n.Junk/"), "{rules}");
        assert!(rules.contains(TAMIS) && !rules.contains(" -m "), "{rules}");
        let mut elsewhere = world.command(&["generate", "recipe", program, "--fallback", "all.tamis"]);
        elsewhere.env("TAMIS_MODEL", "/var/lib/own.tamis");
        let rules = String::from_utf8(elsewhere.output().unwrap().stdout).unwrap();
        let shared = world.path("all.tamis").canonicalize().unwrap_or(world.path("all.tamis"));
        for expected in ["-m", "/var/lib/own.tamis", "--fallback", shared.to_str().unwrap()] {
            assert!(rules.contains(expected), "{expected}: {rules}");
        }
    }
    assert!(
        world.fail(&["generate", "recipe", "fdm", "--junk", "a b"]).contains("expected a name of letters")
    );
}

/// The files in the comments of the recipe for learning from moves, as its own commands take them out. Dovecot runs them in
/// tests/system/sieve.py.
#[test]
fn the_recipe_for_moves_holds_settings_scripts_and_the_program() {
    let world = World::new();
    let rules = recipe(&world, "dovecot-learn", &["--fallback", "/var/lib/all.tamis"]);
    world.write("tamis-learn", &rules);
    let part = |tag: &str| {
        let mut sed = Command::new("sed");
        sed.args(["-n", &format!("s/^#{tag} //p")]).arg(world.path("tamis-learn"));
        String::from_utf8(sed.output().unwrap().stdout).unwrap()
    };
    for version in ["2.3", "2.4"] {
        let settings = part(version);
        let (opened, closed) = (settings.matches('{').count(), settings.matches('}').count());
        assert!(opened > 0 && opened == closed, "{settings}");
        for expected in ["Spam", "Open", "sieve/learn-spam.sieve", "sieve/learn-ham.sieve", "sieve-pipe"] {
            assert!(settings.contains(expected), "{expected}: {settings}");
        }
    }
    assert!(part("spam").ends_with("pipe :copy \"tamis-learn\" [\"spam\"];\n"), "{rules}");
    assert!(part("ham").contains("[\"Spam\", \"Open\", \"Trash\"]"), "{rules}");
    // the program, with nothing in its environment but a home
    let log = world.path("log").display().to_string();
    assert!(
        rules.contains(&format!("exec {TAMIS} learn --fallback /var/lib/all.tamis --log {log} --wait 5 "))
    );
    world.write("tamis-learn", recipe(&world, "dovecot-learn", &[]));
    let learn = |arguments: &[&str]| {
        let mut shell = Command::new("/bin/sh");
        shell.arg(world.path("tamis-learn")).args(arguments).env_clear().env("HOME", world.path("home"));
        feed(shell, &message("01.eml"))
    };
    fs::create_dir(world.path("home")).unwrap();
    let output = learn(&["spam"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(learn(&[]).status.success());
    let refused = stderr(&learn(&["spam", "--forwarded"]));
    assert!(refused.contains("expected a message that forwards others"), "{refused}");
    let model = world.path("home/.local/share/tamis/model.tamis");
    let known = world.succeed(&["inspect", "-m", model.to_str().unwrap()]);
    assert!(known.contains("1 learned"), "{known}");
    assert!(world.path("home/.local/share/tamis/spool").is_dir());
}

/// The guide's lines for procmail. What they cannot teach is delivered.
#[test]
fn mail_to_the_addresses_of_the_guide_teaches_what_it_forwards() {
    if skip_without(&["procmail"]) {
        return;
    }
    let world = world();
    let guide = fs::read_to_string(root().join("docs/guide/mail-administrator.md")).unwrap();
    let (_, rest) = guide.split_once("### Learn what people forward").unwrap();
    let (_, rest) = rest.split_once("    :0 w\n").unwrap();
    let lines: Vec<_> = rest.lines().take_while(|line| line.starts_with("    ") || line.is_empty()).collect();
    let rules = format!(":0 w\n{}\n", lines.join("\n").replace("    ", ""))
        .replace("tamis learn", &format!("{TAMIS} learn"));
    let rules = world.write("rules", rules);
    let ham = fs::read(root().join("corpora/mail/ham/018-fwd-is-this-spam.eml")).unwrap();
    for (address, raw, is_delivered) in [
        ("spam@example.org", &ham, false),
        ("ham@example.org", &message("02.eml"), true),
        ("anna@example.org", &ham, true),
    ] {
        let mut procmail = Command::new("procmail");
        let home = world.path("").display().to_string();
        procmail.args([
            &format!("HOME={home}"),
            &format!("PATH={PATH}"),
            "SHELL=/bin/sh",
            "LOGFILE=/dev/null",
        ]);
        procmail.arg(format!("DEFAULT={}", world.path("Maildir/").display())).arg(&rules);
        let output = feed(procmail, &[format!("X-Original-To: {address}\n").as_bytes(), raw].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let delivered = delivered(&world, "Maildir/new");
        assert_eq!(
            delivered.iter().any(|raw| raw.contains(address)),
            is_delivered,
            "{address}: {delivered:?}"
        );
    }
    let forgotten = world.succeed(&["forget", "--name", "<a9959c15-ab96-aef7-1d6c2e992e5f@lucky-draw.test>"]);
    assert!(forgotten.starts_with("forgot 1 document"), "{forgotten}");
}
