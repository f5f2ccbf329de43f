//! The Sieve recipe, run by Dovecot: mail comes in by LMTP on a Unix socket. Dovecot runs from a folder of its own and is
//! ended by its process id.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::mail::recipes::{message, recipe, world};
use crate::support::{TAMIS, World, skip_without, wait_for};

/// The user that mail is delivered to where root runs the tests, since Dovecot refuses root.
const NOBODY: u32 = 65_534;

/// A running Dovecot.
struct Dovecot {
    world: World,
    process: Child,
}

impl Drop for Dovecot {
    fn drop(&mut self) {
        // SIGTERM ends its processes too
        let id = self.process.id().to_string();
        let _ = Command::new("kill").arg(id).status();
        let _ = self.process.wait();
    }
}

impl Dovecot {
    /// Starts it with the recipe as the global script (`sieve_before`), and a script of the user's own.
    fn start(world: World, own_script: &str) -> Self {
        let home = world.path("");
        let name = |option: &str| {
            let output = Command::new("id").arg(option).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let here = fs::metadata(&home).unwrap();
        let (uid, gid) = if here.uid() == 0 { (NOBODY, NOBODY) } else { (here.uid(), here.gid()) };
        fs::create_dir(world.path("bin")).unwrap();
        // a copy, since the user may not be able to reach the program's folder
        fs::copy(TAMIS, world.path("bin/tamis")).unwrap();
        world.write("own.sieve", own_script);
        world.write(
            "dovecot.conf",
            format!(
                "base_dir = {home}/run\nstate_dir = {home}/state\nlog_path = {home}/dovecot.log\n\
                 protocols = lmtp\nlisten = 127.0.0.1\nssl = no\n\
                 default_internal_user = {user}\ndefault_internal_group = {group}\ndefault_login_user = {user}\n\
                 first_valid_uid = 1\nfirst_valid_gid = 1\nmail_location = maildir:{home}/Maildir\n\
                 service anvil {{\n chroot =\n}}\nservice stats {{\n chroot =\n}}\n\
                 service lmtp {{\n unix_listener lmtp {{\n  mode = 0600\n }}\n}}\n\
                 userdb {{\n driver = static\n args = uid={uid} gid={gid} home={home} allow_all_users=yes\n}}\n\
                 passdb {{\n driver = static\n args = nopassword=yes\n}}\n\
                 protocol lmtp {{\n mail_plugins = sieve\n}}\n\
                 plugin {{\n sieve = file:{home}/sieve;active={home}/own.sieve\n\
                 sieve_before = {home}/tamis.sieve\nsieve_plugins = sieve_extprograms\n\
                 sieve_global_extensions = +vnd.dovecot.filter\nsieve_filter_bin_dir = {home}/bin\n}}\n",
                home = home.display().to_string().trim_end_matches('/'),
                user = name("-un"),
                group = name("-gn"),
            ),
        );
        give(&home, uid, gid);
        let mut dovecot = Command::new("dovecot");
        dovecot.arg("-F").arg("-c").arg(world.path("dovecot.conf"));
        let process = dovecot.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let dovecot = Dovecot { world, process };
        dovecot.wait_for("lmtp's socket", || UnixStream::connect(dovecot.world.path("run/lmtp")).is_ok());
        dovecot
    }

    fn log(&self) -> String {
        fs::read_to_string(self.world.path("dovecot.log")).unwrap_or_default()
    }

    fn wait_for(&self, what: &str, is_there: impl Fn() -> bool) {
        wait_for(is_there, || format!("{what}: {}", self.log()));
    }

    /// Delivers a message by LMTP (RFC 2033).
    fn deliver(&self, message: &[u8]) {
        let mut socket = UnixStream::connect(self.world.path("run/lmtp")).unwrap();
        let mut replies = BufReader::new(socket.try_clone().unwrap());
        let mut expect = |code: &str| {
            let mut line = String::new();
            while line.len() < 4 || &line[3..4] == "-" {
                line.clear();
                replies.read_line(&mut line).unwrap();
            }
            assert!(line.starts_with(code), "{line}{}", self.log());
        };
        expect("220");
        for (command, code) in [
            ("LHLO x", "250"),
            ("MAIL FROM:<a@example.org>", "250"),
            ("RCPT TO:<me@example.org>", "250"),
            ("DATA", "354"),
        ] {
            write!(socket, "{command}\r\n").unwrap();
            expect(code);
        }
        let text = String::from_utf8(message.to_vec()).unwrap();
        write!(socket, "{}\r\n.\r\n", text.replace('\n', "\r\n")).unwrap();
        expect("250");
    }

    fn delivered(&self, folder: &str) -> Vec<String> {
        let files = fs::read_dir(self.world.path(folder)).into_iter().flatten();
        files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect()
    }
}

/// Gives all below a folder to a user, if it is another.
fn give(path: &Path, uid: u32, gid: u32) {
    let metadata = fs::symlink_metadata(path).unwrap();
    if metadata.uid() != uid {
        chown(path, Some(uid), Some(gid)).unwrap();
    }
    if metadata.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| give(&entry.unwrap().path(), uid, gid));
    }
}

#[test]
fn dovecot_files_spam_by_the_global_script_and_then_asks_the_user_s_own() {
    if skip_without(&["dovecot", "sievec"]) {
        return;
    }
    let world = world();
    let rules = recipe(&world, "sieve", &[]);
    world.write("tamis.sieve", &rules);
    let own = "require \"fileinto\";\nif header :contains \"X-Tamis\" \"ham\" { fileinto :copy \"Good\"; }\n";
    let dovecot = Dovecot::start(world, &own.replace(":copy ", ""));
    fs::create_dir_all(dovecot.world.path("Maildir/.Good/cur")).unwrap();
    give(
        &dovecot.world.path("Maildir"),
        fs::metadata(dovecot.world.path("Maildir/new")).unwrap().uid(),
        NOBODY,
    );
    for (name, folder, label) in
        [("01.eml", ".Spam", "spam"), ("02.eml", ".Good", "ham"), ("", ".Open", "unsure")]
    {
        dovecot.deliver(&message(name));
        let messages = dovecot.delivered(&format!("Maildir/{folder}/new"));
        assert_eq!(messages.len(), 1, "{folder}: {}", dovecot.log());
        assert!(messages[0].contains(&format!("\nX-Tamis: {label}; ")), "{folder}: {}", messages[0]);
    }
    assert_eq!(fs::read_to_string(dovecot.world.path("log")).unwrap().lines().count(), 3);
    // without a model the message comes as it is
    fs::remove_file(dovecot.world.path(".local/share/tamis/model.tamis")).unwrap();
    dovecot.deliver(&message("01.eml"));
    let messages = dovecot.delivered("Maildir/new");
    assert!(messages.len() == 1 && !messages[0].contains("X-Tamis"), "{messages:?}: {}", dovecot.log());
    assert!(!dovecot.log().contains("Panic"), "{}", dovecot.log());
}

#[test]
fn as_a_user_s_own_script_the_recipe_runs_nothing_and_mail_comes_as_it_is() {
    if skip_without(&["dovecot", "sievec"]) {
        return;
    }
    let world = world();
    let rules = recipe(&world, "sieve", &[]);
    assert!(rules.contains("It is a global script"), "{rules}");
    world.write("tamis.sieve", "keep;\n");
    let dovecot = Dovecot::start(world, &rules);
    dovecot.deliver(&message("01.eml"));
    let messages = dovecot.delivered("Maildir/new");
    assert!(messages.len() == 1 && !messages[0].contains("X-Tamis"), "{messages:?}: {}", dovecot.log());
}

/// The recipe is read by Pigeonhole without a complaint, with the settings that it names.
#[test]
fn pigeonhole_compiles_the_recipe() {
    if skip_without(&["sievec"]) {
        return;
    }
    let world = World::new();
    let rules = world.succeed(&["generate", "recipe", "sieve"]);
    world.write("tamis.sieve", rules);
    fs::set_permissions(world.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    world.write(
        "dovecot.conf",
        "plugin {\n sieve_plugins = sieve_extprograms\n sieve_global_extensions = +vnd.dovecot.filter\n}\n",
    );
    let mut sievec = Command::new("sievec");
    sievec
        .args(["-c", "dovecot.conf", "-x", "+vnd.dovecot.filter", "tamis.sieve"])
        .current_dir(world.path(""));
    let output = sievec.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
