//! The settings file, `tamisd.toml`, with defaults for everything. Each key is described in the example of that name
//! beside this crate's manifest.

pub(crate) mod address;
mod descriptors;
pub(crate) mod file;
pub(crate) mod page;
pub(crate) mod password;
pub(crate) mod rules;
pub(crate) mod user;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use serde::{Deserialize, Deserializer};

use crate::settings::address::Address;
use crate::settings::file::read_file;
use crate::settings::page::PageSettings;
use crate::settings::rules::{MilterActions, Rule, check_probability};
use crate::settings::user::{GroupId, MailServer, UserId};

/// Everything that a settings file can set. By default no door is open; see [`loopback`](Self::loopback).
#[derive(Clone, Default, Deserialize, Debug)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ServerSettings {
    /// Whether the server may run as root; false by default.
    pub allow_root: bool,
    /// The models.
    pub models: ModelSettings,
    /// What a verdict says.
    pub verdict: VerdictSettings,
    /// The door for spamc, Exim, Haraka, amavis and others that speak spamd's protocol.
    pub spamd: SpamdSettings,
    /// The door for Postfix and Sendmail.
    pub milter: MilterSettings,
    /// The door for rspamc, for applications and for watching the server.
    pub http: HttpSettings,
    /// The page for people.
    pub page: PageSettings,
    /// What applies to some messages only; the first rule that fits a message.
    #[serde(rename = "rule")]
    pub rules: Vec<Rule>,
    /// What the server takes on.
    pub limits: LimitSettings,
    /// The log of verdicts.
    pub log: LogSettings,
    /// Several servers that share what they learn; `None` by default.
    pub fleet: Option<FleetSettings>,
}

/// `[models]`
#[derive(Clone, PartialEq, Deserialize, Debug)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ModelSettings {
    /// The model that all share; by default `$TAMIS_MODEL`, else the user's default model.
    pub shared: Option<PathBuf>,
    /// The file of a user's model, with `%u` for the user; no user has a model of his own by default.
    pub users: Option<PathBuf>,
    /// Who may ask for the model of any user, beside that user, the server's own user, root and those of `spamd.learn`:
    /// users that mail servers run as, and addresses that they connect from. What connects to the milter over a Unix socket
    /// always may. Everyone else is answered by the shared model.
    pub mail_servers: Vec<MailServer>,
    /// Whether the first correction of a user makes his model; true by default.
    pub create: bool,
    /// Domains whose users are those of this system: `joe@example.org` is `joe`.
    pub domains: Vec<String>,
    /// What ends a user's name in an address: with `+`, `joe+lists` is `joe`.
    pub delimiter: Option<char>,
    /// A map of aliases as Postfix reads it, `aliases(5)` or `virtual(5)`. What leads to one user is that user.
    pub aliases: Option<PathBuf>,
    /// Models of other kinds, by name.
    pub named: BTreeMap<String, PathBuf>,
    /// Maximum number of users' models that are open; 1,000 by default.
    pub max_open: usize,
    /// Maximum bytes of users' models that are open; 256 MiB by default. Those up to 128 MiB are in memory.
    pub max_open_bytes: u64,
}

/// `[verdict]`
#[derive(Clone, Default, PartialEq, Deserialize, Debug)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct VerdictSettings {
    /// Number of missed spam messages that one lost ham message is as bad as; by default what the model says.
    pub cost: Option<f64>,
    /// The share of spam in the mail to come, from 0 to 1; by default that of the training set.
    pub prior: Option<f64>,
    /// Answers unsure below this probability; by default what the model says.
    pub unsure: Option<f64>,
    /// Number of the strongest reasons in the header field X-Tamis-Reasons and in the log; 0 by default.
    pub reasons: usize,
    /// Whether verdicts of other filters stay in the header; false by default.
    pub keep_headers: bool,
    /// The name under which the mail server writes what it has proved of a sender into `Authentication-Results`; it removes
    /// such fields that come with a message (RFC 8601, section 5). Nothing is proved by default.
    pub authserv_id: String,
}

/// `[spamd]`
#[derive(Clone, Default, Deserialize, Debug)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct SpamdSettings {
    /// Where to listen; nowhere if empty.
    pub listen: Vec<Address>,
    /// The mode of Unix sockets; 0660 by default.
    pub mode: SocketMode,
    /// The owner of Unix sockets; that of the server by default.
    pub owner: Option<UserId>,
    /// The group of Unix sockets; that of the server by default.
    pub group: Option<GroupId>,
    /// Users, by name or number, who may learn and forget over a Unix socket; the server's own user always may, and so
    /// may root.
    pub learn: Vec<UserId>,
    /// Whether anyone who can connect over TCP may learn and forget; false by default.
    pub learn_over_tcp: bool,
}

/// `[milter]`
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct MilterSettings {
    /// Where to listen; nowhere if empty.
    pub listen: Vec<Address>,
    /// The mode of Unix sockets; 0660 by default.
    pub mode: SocketMode,
    /// The owner of Unix sockets; that of the server by default.
    pub owner: Option<UserId>,
    /// The group of Unix sockets; that of the server by default.
    pub group: Option<GroupId>,
    /// Whether the verdict is written into the header; true by default.
    pub headers: bool,
    /// Rejects messages with at least this probability of spam; none by default.
    pub reject: Option<f64>,
    /// The answer to a message that is rejected.
    pub reject_text: String,
    /// Holds messages with at least this probability of spam in the queue; none by default.
    pub quarantine: Option<f64>,
    /// Asks senders of messages with at least this probability of spam to try again later; none by default.
    pub tempfail: Option<f64>,
    /// What happens to a message that cannot be scored.
    pub on_error: OnError,
    /// Maximum seconds that a connection may be idle; 7,200 by default. An MTA keeps it while its client is connected.
    pub idle_seconds: u64,
}

/// What a milter does with a message that cannot be scored.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Debug)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// Accepts it, without a verdict.
    Accept,
    /// Asks the sender to try again later.
    Tempfail,
}

/// `[http]`
#[derive(Clone, Default, Deserialize, Debug)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct HttpSettings {
    /// Where to listen; nowhere if empty.
    pub listen: Vec<Address>,
    /// The mode of Unix sockets; 0660 by default.
    pub mode: SocketMode,
    /// The owner of Unix sockets; that of the server by default.
    pub owner: Option<UserId>,
    /// The group of Unix sockets; that of the server by default.
    pub group: Option<GroupId>,
    /// The hash of the password for learning, as `tamisd --hash-password` prints it. Without one, nobody may learn over
    /// HTTP.
    pub password: Option<String>,
    /// Host names, beside localhost and addresses, under which browsers may know this server.
    pub hosts: Vec<String>,
}

/// `[limits]`
#[derive(Clone, PartialEq, Deserialize, Debug)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct LimitSettings {
    /// Maximum number of connections of a door; 2,000 by default.
    pub connections: usize,
    /// Maximum bytes of a message; 16 MiB by default.
    pub message_bytes: usize,
    /// Maximum bytes of all messages that are in the server at a time; 64 MiB by default.
    pub bytes_in_flight: usize,
    /// Maximum time until a command is complete; 10 seconds by default.
    #[serde(rename = "command_seconds", deserialize_with = "seconds")]
    pub command: Duration,
    /// Maximum time until a message is complete; 60 seconds by default.
    #[serde(rename = "message_seconds", deserialize_with = "seconds")]
    pub message: Duration,
    /// Maximum time that a connection over HTTP may be idle; 300 seconds by default.
    #[serde(rename = "idle_seconds", deserialize_with = "seconds")]
    pub idle: Duration,
    /// Maximum time that work may take after the server was told to stop; 10 seconds by default.
    #[serde(rename = "stop_seconds", deserialize_with = "seconds")]
    pub stop: Duration,
    /// Maximum number of corrections that wait to be learned; 1,000 by default.
    pub waiting_to_learn: usize,
}

/// `[log]`
#[derive(Clone, PartialEq, Deserialize, Debug)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct LogSettings {
    /// A file, or `stderr`, which systemd hands to its journal; `none` by default.
    pub to: PathBuf,
}

/// `[fleet]`
#[derive(Clone, PartialEq, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct FleetSettings {
    /// The store, `redis://[:PASSWORD@]HOST:PORT/` or `redis+unix:///SOCKET`.
    pub url: String,
    /// The key of the stream; `tamis` by default.
    #[serde(default = "default_stream")]
    pub stream: String,
    /// The folder for what was learned while the store was away, and for how far the stream has been read; by default
    /// that of the shared model.
    pub state: Option<PathBuf>,
    /// Maximum number of records that the stream keeps; 1,000,000 by default. A server that was away for longer has to
    /// start from a copy of another's model and state.
    #[serde(default = "default_keep")]
    pub keep: u64,
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_secs)
}

fn default_stream() -> String {
    "tamis".to_owned()
}

fn default_keep() -> u64 {
    1_000_000
}

impl Default for ModelSettings {
    fn default() -> Self {
        ModelSettings {
            shared: None,
            users: None,
            mail_servers: Vec::new(),
            create: true,
            domains: Vec::new(),
            delimiter: None,
            aliases: None,
            named: BTreeMap::new(),
            max_open: 1_000,
            max_open_bytes: 256 << 20,
        }
    }
}

/// The mode of a Unix socket: at most four octal digits, 0660 by default.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Debug)]
#[serde(try_from = "String")]
pub struct SocketMode(pub u32);

impl Default for SocketMode {
    fn default() -> Self {
        SocketMode(0o660)
    }
}

impl TryFrom<String> for SocketMode {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mode = u32::from_str_radix(&text, 8).ok().filter(|mode| *mode <= 0o777);
        mode.map(SocketMode).ok_or_else(|| format!("expected octal digits such as 0660, got {text:?}"))
    }
}

impl Default for MilterSettings {
    fn default() -> Self {
        MilterSettings {
            listen: Vec::new(),
            mode: SocketMode::default(),
            owner: None,
            group: None,
            headers: true,
            reject: None,
            reject_text: "5.7.1 Message looks like spam".to_owned(),
            quarantine: None,
            tempfail: None,
            on_error: OnError::Accept,
            idle_seconds: 7_200,
        }
    }
}

impl Default for LimitSettings {
    fn default() -> Self {
        LimitSettings {
            connections: 2_000,
            message_bytes: 16 << 20,
            bytes_in_flight: 64 << 20,
            command: Duration::from_secs(10),
            message: Duration::from_secs(60),
            idle: Duration::from_secs(300),
            stop: Duration::from_secs(10),
            waiting_to_learn: 1_000,
        }
    }
}

impl Default for LogSettings {
    fn default() -> Self {
        LogSettings { to: "none".into() }
    }
}

impl MilterSettings {
    /// What is done with messages to which no rule applies that says otherwise.
    pub(crate) fn actions(&self) -> MilterActions {
        MilterActions { reject: self.reject, quarantine: self.quarantine, tempfail: self.tempfail }
    }
}

impl ServerSettings {
    /// The settings of a server that was started without a file: the user's default model, every door on 127.0.0.1.
    pub fn loopback() -> Self {
        let mut settings = ServerSettings::default();
        settings.spamd.listen.push(Address::loopback(7783));
        settings.milter.listen.push(Address::loopback(7785));
        settings.http.listen.push(Address::loopback(11333));
        settings
    }

    /// Reads and checks a settings file.
    ///
    /// # Errors
    /// If it cannot be read, is not TOML, has a key that is not known (the nearest known one is named), or a value that
    /// cannot be; if there is no folder for a socket.
    pub fn read(path: &Path) -> Result<Self> {
        let text = read_file(path).with_context(|| path.display().to_string())?;
        let settings = ServerSettings::parse(&text).with_context(|| path.display().to_string())?;
        for address in settings.doors().into_iter().flatten() {
            let Address::Unix(socket) = address else { continue };
            let folder = socket.parent().unwrap_or(socket);
            let is_there = folder.is_dir();
            ensure!(is_there, "{address}: expected a socket in a folder, got none of the name {folder:?}");
        }
        Ok(settings)
    }

    /// The addresses of each door: spamd, milter, HTTP, page.
    pub(crate) fn doors(&self) -> [&[Address]; 4] {
        [&self.spamd.listen, &self.milter.listen, &self.http.listen, &self.page.listen]
    }

    /// Parses and checks the text of a settings file.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(text: &str) -> Result<Self> {
        let settings: ServerSettings = toml::from_str(text).map_err(|error| explain(&error))?;
        settings.check()?;
        Ok(settings)
    }

    /// # Errors
    /// If a value cannot be, or no door is open.
    pub(crate) fn check(&self) -> Result<()> {
        ensure!(
            !self.doors().concat().is_empty(),
            "expected at least one address to listen at: spamd.listen, milter.listen, http.listen or page.listen"
        );
        check_probability("verdict.prior", self.verdict.prior)?;
        check_probability("verdict.unsure", self.verdict.unsure)?;
        self.milter.actions().check("milter")?;
        let id = &self.verdict.authserv_id;
        let is_name = id.is_ascii() && !id.contains(|c: char| c.is_whitespace() || ";\"()\\".contains(c));
        ensure!(is_name, "verdict.authserv_id: expected a name of ASCII, got {id:?}");
        for (n, rule) in self.rules.iter().enumerate() {
            rule.check(&format!("rule {}", n + 1), &self.verdict.authserv_id)?;
        }
        let to = &self.log.to;
        ensure!(
            to.is_absolute() || to.as_os_str() == "none" || to.as_os_str() == "stderr",
            "log.to: expected \"none\", \"stderr\" (for syslog and the journal) or a path that begins with /, got {to:?}"
        );
        if let Some(FleetSettings { url, .. }) = &self.fleet {
            // it may hold a password, so it is not told
            redis::Client::open(url.as_str()).context("fleet.url: expected redis:// or redis+unix://")?;
        }
        let cost = self.verdict.cost.unwrap_or(1.0);
        ensure!(cost.is_finite() && cost > 0.0, "verdict.cost: expected a number above 0, got {cost}");
        if let Some(users) = &self.models.users {
            let users = users.to_string_lossy();
            ensure!(users.contains("%u"), "models.users: expected a path with %u for the user, got {users}");
        }
        for name in self.models.named.keys() {
            let is_name = !name.is_empty() && !name.contains('/');
            ensure!(is_name, "models.named: expected names without a slash, got {name:?}");
        }
        if let Some(hash) = &self.http.password {
            password::check_hash(hash).context("http.password")?;
        }
        ensure!(
            self.page.listen.is_empty() || self.http.password.is_some(),
            "page.listen: expected http.password to be set, to what tamisd --hash-password prints"
        );
        let text = &self.milter.reject_text;
        ensure!(
            text.starts_with("5.") && text.len() <= 400 && text.chars().all(|c| (' '..='~').contains(&c)),
            "milter.reject_text: expected a line of ASCII that begins with an enhanced code such as 5.7.1, got {text:?}"
        );
        let LimitSettings { message_bytes, bytes_in_flight, .. } = self.limits;
        ensure!(
            message_bytes <= bytes_in_flight,
            "limits.bytes_in_flight: expected at least limits.message_bytes, {message_bytes}, got {bytes_in_flight}"
        );
        // the semaphore counts them in 32 bits
        let most = u32::MAX as usize;
        ensure!(
            bytes_in_flight <= most,
            "limits.bytes_in_flight: expected at most {most}, got {bytes_in_flight}"
        );
        for (key, value) in [
            ("limits.message_bytes", message_bytes as u64),
            ("page.messages", self.page.messages as u64),
            ("limits.connections", self.limits.connections as u64),
            ("limits.waiting_to_learn", self.limits.waiting_to_learn as u64),
            ("limits.command_seconds", self.limits.command.as_secs()),
            ("limits.message_seconds", self.limits.message.as_secs()),
            ("limits.idle_seconds", self.limits.idle.as_secs()),
            ("limits.stop_seconds", self.limits.stop.as_secs()),
            ("milter.idle_seconds", self.milter.idle_seconds),
        ] {
            ensure!(value > 0, "{key}: expected a number above 0, got 0");
        }
        Ok(())
    }
}

/// The error of parsing, with the nearest known key for one that is not known.
fn explain(error: &toml::de::Error) -> anyhow::Error {
    let text = error.to_string();
    let text = text.trim_end();
    match nearest_to_unknown(error.message()) {
        Some(nearest) => anyhow!("{text}\ndid you mean {nearest}?"),
        None => anyhow!("{text}"),
    }
}

/// The known key nearest to the unknown one, from a message of serde: "unknown field `a`, expected one of `b`, `c`".
fn nearest_to_unknown(message: &str) -> Option<&str> {
    let mut quoted = message.strip_prefix("unknown field ")?.split('`').skip(1).step_by(2);
    let unknown = quoted.next()?;
    let (distance, nearest) = quoted.map(|known| (strsim::levenshtein(unknown, known), known)).min()?;
    (distance <= 1 + unknown.len() / 3).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = include_str!("../tamisd.toml");
    const HTTP: &str = "[http]\nlisten = [\"tcp:127.0.0.1:0\"]\n";

    /// The example with everything in it that is commented out.
    fn whole_example() -> String {
        let is_setting = |line: &&str| {
            let line = line.trim_start_matches('#');
            line.starts_with('[') || line.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '))
        };
        let lines = EXAMPLE.lines().filter(is_setting).map(|line| line.trim_start_matches('#'));
        let hash = password::hash("secret").unwrap();
        let on_any_machine =
            |line| format!("{line}\n").replace("$argon2id$...", &hash).replace("vmail", "root");
        lines
            .map(|line| on_any_machine(line).replace("Debian-exim", "root").replace("postfix\"", "root\""))
            .map(|line| line.replace(", \"/etc/tamis/partners\"", ""))
            .collect()
    }

    #[test]
    fn the_example_is_valid_and_what_it_shows_as_defaults_are() {
        ServerSettings::parse(EXAMPLE).unwrap();
        let whole = ServerSettings::parse(&whole_example()).unwrap();
        let default = ServerSettings::default();
        assert_eq!(whole.limits, default.limits);
        assert_eq!(whole.log, default.log);
        let page = PageSettings { listen: Vec::new(), ..whole.page };
        assert_eq!(page, default.page);
        let fleet = whole.fleet.unwrap();
        assert_eq!((fleet.stream, fleet.keep), (default_stream(), default_keep()));
    }

    #[test]
    fn the_example_has_every_key() {
        let whole = whole_example();
        for table in
            ["", "models", "verdict", "spamd", "milter", "http", "page", "rule", "limits", "log", "fleet"]
        {
            let header = match table {
                "" => String::new(),
                "rule" => "[[rule]]\n".to_owned(),
                _ => format!("[{table}]\n"),
            };
            let error =
                toml::from_str::<ServerSettings>(&format!("{header}quux = 1\n")).unwrap_err().to_string();
            let (_, expected) = error.split_once("expected").unwrap();
            let section = if table.is_empty() {
                whole.clone()
            } else {
                whole.split_once(&header).unwrap_or_else(|| panic!("[{table}] is missing")).1.to_owned()
            };
            let section = section
                .split_once(if table == "rule" { "\n[limits" } else { "\n[" })
                .filter(|_| !table.is_empty())
                .map_or(&section[..], |s| s.0);
            for key in expected.split('`').skip(1).step_by(2) {
                let has = section.lines().any(|line| line.starts_with(&format!("{key} = ")))
                    || whole.contains(&format!("[{key}]"))
                    || whole.contains(&format!("[{table}.{key}]"));
                assert!(has, "tamisd.toml: {key} of [{table}] is missing");
            }
        }
    }

    #[test]
    fn an_unknown_key_names_the_nearest() {
        for (text, nearest) in [
            ("[spamd]\nlistne = []\n", "listen"),
            ("[milters]\n", "milter"),
            ("[limits]\nconections = 5\n", "connections"),
        ] {
            let error = format!("{:#}", ServerSettings::parse(text).unwrap_err());
            assert!(error.ends_with(&format!("did you mean {nearest}?")), "{error}");
        }
        let error = format!("{:#}", ServerSettings::parse("quux = 1").unwrap_err());
        assert!(!error.contains("did you mean"), "{error}");
    }

    #[test]
    fn values_out_of_range_are_errors() {
        for text in [
            "[milter]\nreject = 1.5\n",
            "[verdict]\ncost = 0\n",
            "[models]\nusers = \"/models/joe.tamis\"\n",
            "[http]\npassword = \"secret\"\n",
            "[spamd]\nmode = \"0999\"\n",
            "[spamd]\nlisten = [\"127.0.0.1:783\"]\n",
            "[limits]\nmessage_bytes = 100_000_000\n",
            "[milter]\nreject_text = \"no\\r\\n250 ok\"\n",
            "[milter]\nreject = 0.9\nquarantine = 0.99\n",
            "[milter]\ntempfail = 0.9\nquarantine = 0.99\n",
            "[milter]\nidle_seconds = 0\n",
            "[limits]\nstop_seconds = 0\n",
            "[log]\nto = \"sylog\"\n",
            "[page]\nlisten = [\"tcp:127.0.0.1:0\"]\n",
            "[page]\nhistory = \"all\"\n",
            "[fleet]\nurl = \"nonsense\"\n",
            "[fleet]\nurl = \"rediss://10.0.0.5/\"\n",
            "[spamd]\nlearn = [\"no such user\"]\n",
            "[spamd]\nlearn = [\"nobody\"]\n",
            "[spamd]\ngroup = \"no such group\"\n",
            "[[rule]]\nverdict = \"ham\"\n",
            "[[rule]]\nto = [\"joe\"]\n",
            "[[rule]]\nfrom = [\"a@example.net\"]\nverdict = \"ham\"\n",
            "[[rule]]\nfrom = [\"joe\"]\nverdict = \"spam\"\n",
            "[[rule]]\nfrom = [\"/no/such/file\"]\nverdict = \"spam\"\n",
            "[[rule]]\nto = [\"joe\"]\nspam = 1.0\n",
            "[[rule]]\nto = [\"joe\"]\nspam = 0.9\nverdict = \"ham\"\n",
            "[[rule]]\nto = [\"joe\"]\nreject = 0.9\nverdict = \"skip\"\n",
            "[[rule]]\nto = [\"joe\"]\nunproved = true\nverdict = \"ham\"\n",
            "[verdict]\nauthserv_id = \"mx; x\"\n",
            "[[rule]]\nto = [\"joe\"]\nreject = 0.9\ndeliver = true\n",
            "[[rule]]\nto = [\"joe\"]\nreject = 0.9\nquarantine = 0.99\n",
            "[[rule]]\nto = [\"joe\"]\nlearn = \"spam\"\n",
            "[[rule]]\nheader = \"X-Virus: yes\"\nlearn = \"skip\"\n",
            "[[rule]]\nheader = \"X-Virus\"\nverdict = \"spam\"\n",
            "[[rule]]\nclients = [\"10.0.0.0/40\"]\nverdict = \"skip\"\n",
        ] {
            let text = format!("{text}{HTTP}");
            assert!(ServerSettings::parse(&text).is_err(), "{text}");
        }
        assert!(ServerSettings::parse(HTTP).is_ok());
        assert!(ServerSettings::parse("").is_err());
    }

    #[test]
    fn a_socket_without_a_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tamisd.toml");
        let read = |at: &Path| {
            std::fs::write(&file, format!("[spamd]\nlisten = [{:?}]\n", format!("unix:{}", at.display())))
                .unwrap();
            ServerSettings::read(&file)
        };
        read(&folder.path().join("spamd.sock")).unwrap();
        assert!(read(&folder.path().join("missing/spamd.sock")).is_err());
    }
}
