//! Other people's programs: miltertest, and Postfix in a temporary folder.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tamis_testing::{skip, wait_for};

use crate::milter::mta::{expected, settings};
use crate::support::{HAM, Running, SPAM, train};

/// Whether a program is on the path or among the system's.
fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    folders.map(|folder: PathBuf| folder.join(program)).any(|program| program.exists())
}

const SCRIPT: &str = r#"
conn = mt.connect("inet:PORT@127.0.0.1")
if conn == nil then error("connect") end
function message(n, subject, body)
    mt.conninfo(conn, "client.example.net", "192.0.2.1")
    mt.macro(conn, SMFIC_MAIL, "i", "QID" .. n)
    mt.mailfrom(conn, "<a@example.net>")
    mt.rcptto(conn, "<b@example.org>")
    mt.header(conn, "From", "a@example.net")
    mt.header(conn, "X-Spam-Flag", "NO")
    mt.header(conn, "Subject", subject)
    mt.eoh(conn)
    mt.bodystring(conn, body)
    mt.eom(conn)
end
message(1, "lunch", "Soup at noon? See you in the meeting room\r\n")
if mt.getreply(conn) ~= SMFIR_CONTINUE then error("ham: " .. mt.getreply(conn)) end
for _, name in ipairs({"X-Spam-Flag", "X-Spam-Status", "X-Spam-Level", "X-Tamis"}) do
    if not mt.eom_check(conn, MT_HDRADD, name) then error("not added: " .. name) end
end
if not mt.eom_check(conn, MT_HDRDELETE, "X-Spam-Flag") then error("not deleted") end
mt.abort(conn)
message(2, "cheap pills", "Buy cheap pills now, best offer, click here\r\n")
if mt.getreply(conn) ~= SMFIR_REPLYCODE then error("spam: " .. mt.getreply(conn)) end
mt.disconnect(conn)
"#;

#[test]
fn miltertest_finds_nothing() {
    if !has("miltertest") {
        return skip("miltertest is not installed");
    }
    let running = Running::start("[milter]\nlisten = [\"tcp:127.0.0.1:0\"]\nreject = 0.9\n");
    let address = running.address("milter");
    let port = address.rsplit(':').next().unwrap();
    let script = running.path("script.lua");
    fs::write(&script, SCRIPT.replace("PORT", port)).unwrap();
    let output = Command::new("miltertest").arg("-s").arg(&script).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

const MAIN: &str = "compatibility_level = 3.6
queue_directory = D/queue
data_directory = D/data
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
mail_owner = postfix
setgid_group = postdrop
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = mx.example.org
mydestination = example.org
mynetworks = 127.0.0.0/8
local_recipient_maps =
alias_maps =
alias_database =
mailbox_transport = virtual
virtual_mailbox_base = D/mail
virtual_mailbox_maps = static:box/
virtual_uid_maps = static:1000
virtual_gid_maps = static:1000
virtual_mailbox_domains =
maillog_file = D/postfix.log
maillog_file_prefixes = D
smtpd_milters = unix:D/milter.sock
milter_default_action = accept
milter_connect_timeout = 3s
milter_content_timeout = 10s
";

const MASTER: &str = "127.0.0.1:PORT inet n - n - - smtpd
postlog unix-dgram n - n - 1 postlogd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
pickup unix n - n 60 1 pickup
showq unix n - n - - showq
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
local unix - n n - - local
virtual unix - n n - - virtual
lmtp unix - - n - - lmtp
smtp unix - - n - - smtp
proxymap unix - - n - - proxymap
anvil unix - - n - 1 anvil
";

/// Postfix, ended when it is dropped.
struct Postfix {
    folder: PathBuf,
    port: u16,
}

impl Postfix {
    /// The number of its user; `None` if Postfix cannot run here.
    fn user() -> Option<u32> {
        let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let user = users.lines().find_map(|line| line.strip_prefix("postfix:x:")?.split(':').next());
        let user = user.filter(|_| is_root && has("postfix") && Path::new("/usr/lib/postfix/sbin").exists());
        if user.is_none() {
            skip("Postfix is not installed, or the test does not run as root");
        }
        user?.parse().ok()
    }

    /// Starts Postfix in a folder; `None` if it cannot be here.
    fn start(folder: &Path) -> Option<Postfix> {
        let user = Postfix::user()?;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        for (name, owner) in [("etc", 0), ("queue", 0), ("data", user), ("mail", 1000)] {
            fs::create_dir(folder.join(name)).unwrap();
            chown(folder.join(name), Some(owner), None).unwrap();
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let path = folder.to_str().unwrap();
        fs::write(
            folder.join("etc/main.cf"),
            MAIN.replace("D/", &format!("{path}/")).replace("= D\n", &format!("= {path}\n")),
        )
        .unwrap();
        fs::write(folder.join("etc/master.cf"), MASTER.replace("PORT", &port.to_string())).unwrap();
        let postfix = Postfix { folder: folder.to_owned(), port };
        postfix.control("start");
        wait_for(|| TcpStream::connect(("127.0.0.1", port)).is_ok(), || postfix.log());
        Some(postfix)
    }

    fn control(&self, what: &str) {
        let mut command = Command::new("/usr/sbin/postfix");
        let output = command.arg("-c").arg(self.folder.join("etc")).arg(what).stdin(Stdio::null()).output();
        if what == "start" {
            let output = output.unwrap();
            assert!(output.status.success(), "{output:?}\n{}", self.log());
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("postfix.log")).unwrap_or_default()
    }

    /// Sends a message by SMTP; returns the last answer.
    fn send(&self, raw: &[u8]) -> String {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap());
        let mut answer = || {
            let mut line = String::new();
            lines.read_line(&mut line).unwrap_or_else(|error| panic!("{error}\n{}", self.log()));
            line
        };
        assert!(answer().starts_with("220"));
        for command in ["HELO client", "MAIL FROM:<a@example.net>", "RCPT TO:<b@example.org>", "DATA"] {
            (&stream).write_all(format!("{command}\r\n").as_bytes()).unwrap();
            let line = answer();
            assert!(line.starts_with(['2', '3']), "{command}: {line}\n{}", self.log());
        }
        (&stream).write_all(&[raw, b".\r\n"].concat()).unwrap();
        let last = answer();
        (&stream).write_all(b"QUIT\r\n").unwrap();
        answer();
        last
    }

    /// The message that was delivered last, once there are `n`.
    fn delivered(&self, n: usize) -> String {
        let files =
            || fs::read_dir(self.folder.join("mail/box/new")).into_iter().flatten().map(Result::unwrap);
        wait_for(|| files().count() >= n, || self.log());
        let last = files().max_by_key(|file| file.metadata().unwrap().modified().unwrap());
        fs::read_to_string(last.unwrap().path()).unwrap()
    }

    /// Number of messages that are held.
    fn n_held(&self) -> usize {
        fs::read_dir(self.folder.join("queue/hold")).map_or(0, Iterator::count)
    }
}

impl Drop for Postfix {
    fn drop(&mut self) {
        self.control("stop");
    }
}

/// The verdict fields of a delivered message, in order.
fn verdict_fields(mail: &str) -> Vec<String> {
    let header = mail.split("\n\n").next().unwrap();
    let is_verdict = |line: &&str| line.split(':').next().is_some_and(tamis_mail::passthrough::holds_verdict);
    header.lines().filter(is_verdict).map(|line| line.trim_end().to_owned()).collect()
}

/// A server at the socket that Postfix knows, in the folder of `postfix`.
fn serve(postfix: &Postfix, keys: &str) -> Running {
    let own = tempfile::tempdir().unwrap();
    train(&own.path().join("model.tamis"));
    let socket = postfix.folder.join("milter.sock");
    Running::start_in(own, &settings(keys).replace("FOLDER/milter.sock", socket.to_str().unwrap()))
}

/// The verdict fields that passthrough writes into a message.
fn fields(running: &Running, raw: &[u8]) -> Vec<String> {
    let mut replies = expected(running, raw);
    assert_eq!(replies.pop().as_deref(), Some("c"));
    let colon = |reply: &str| if reply.contains(": ") { "" } else { ":" };
    replies.iter().map(|reply| reply[2..].to_owned() + colon(reply)).collect()
}

/// A message with a date: otherwise Postfix adds one before the milter sees the message.
fn dated(more: &str, raw: &[u8]) -> Vec<u8> {
    [b"Date: Tue, 24 Nov 2026 05:00:00 +0000\r\n", more.as_bytes(), raw].concat()
}

#[test]
fn postfix_does_what_the_verdict_says() {
    let folder = tempfile::tempdir().unwrap();
    let Some(postfix) = Postfix::start(folder.path()) else { return };
    let ham = dated("", HAM);
    let forged = "X-Spam-Flag: NO\r\nX-Tamis: ham\r\nx-spam-flag : NO\r\nComments: folded\r\n more\r\n";
    let forged = dated(forged, SPAM);

    let running = serve(&postfix, "");
    assert!(postfix.send(&ham).starts_with("250"));
    assert_eq!(verdict_fields(&postfix.delivered(1)), fields(&running, &ham));
    assert!(postfix.send(&forged).starts_with("250"));
    let mail = postfix.delivered(2);
    assert_eq!(verdict_fields(&mail), fields(&running, &forged), "{mail}");
    assert!(mail.contains("\nComments: folded\n more\n") && !mail.contains("x-spam-flag"));
    drop(running);

    let running = serve(&postfix, "reject = 0.9\nreject_text = \"5.7.1 Looks 100% like spam\"");
    assert_eq!(postfix.send(SPAM), "550 5.7.1 Looks 100% like spam\r\n");
    assert!(postfix.send(HAM).starts_with("250"));
    postfix.delivered(3);
    drop(running);

    let running = serve(&postfix, "tempfail = 0.9");
    let answer = postfix.send(SPAM);
    assert!(answer.starts_with("451 4.7.1"), "{answer}");
    drop(running);

    let running = serve(&postfix, "quarantine = 0.9");
    assert!(postfix.send(SPAM).starts_with("250"));
    assert_eq!(postfix.n_held(), 1);
    drop(running);

    // nobody at the socket
    assert!(postfix.send(SPAM).starts_with("250"));
    assert_eq!(verdict_fields(&postfix.delivered(4)), Vec::<String>::new());
}
