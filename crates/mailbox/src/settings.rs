//! Settings: which mailboxes there are, what their folders mean, and where an account's files are.
//!
//! The example `mailbox.toml` beside this crate's manifest describes each key.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::{Deserialize, Serialize};
use tamis_program::{make_private, shown, shown_path, variable};
use tamis_store::config::labels::check_labels;
use tamis_train::Classes;

/// All accounts.
#[derive(Clone, Default, Deserialize, Serialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct MailboxSettings {
    /// The accounts, each with a mailbox.
    #[serde(default, rename = "account")]
    pub accounts: Vec<Account>,
}

/// `[[account]]`: a mailbox and how to get into it.
#[derive(Clone, PartialEq, Deserialize, Serialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// The name of the account, by default also of its model: letters, digits and `.`, `-`, `_`, `+`, `@`.
    pub name: String,
    /// The server's host name.
    pub host: String,
    /// The server's port; 993 by default, 143 without TLS from the start.
    pub port: Option<u16>,
    /// How the connection is encrypted; from the start by default.
    #[serde(default)]
    pub tls: Tls,
    /// A file of certificates (PEM) to trust besides the system's.
    pub ca: Option<PathBuf>,
    /// The name to log in with.
    pub user: String,
    /// A command that prints the password.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub password: Vec<String>,
    /// A command that prints an OAuth 2 access token, in place of a password.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub token: Vec<String>,
    /// An identity server that gives such tokens, in place of a command.
    pub oauth: Option<OAuth>,
    /// The model; by default a file named after the account.
    pub model: Option<PathBuf>,
    /// A shared model behind it, if there is one.
    pub behind: Option<PathBuf>,
    /// The folder in which new messages arrive.
    #[serde(default = "inbox")]
    pub inbox: String,
    /// The folder for junk, if there is one.
    pub junk: Option<String>,
    /// The folder of sent mail: nothing from an address in it goes to the junk. It is never learned.
    pub sent: Option<String>,
    /// What happens to a message that belongs elsewhere.
    #[serde(default)]
    pub action: SortAction,
    /// A message goes to a folder if the probability of the folder's label is at least this, until the folder has a threshold
    /// by what its owner moved away again. To the junk, it must be at least 0.95.
    #[serde(default = "percent::<80>")]
    pub threshold: f64,
    /// The share of sorted messages that may be moved away again, from which thresholds follow.
    #[serde(default = "percent::<2>")]
    pub max_wrong: f64,
    /// Number of the newest messages of each folder to train on.
    #[serde(default = "number::<2_000, _>")]
    pub newest: u32,
    /// How often to look into the folders other than the inbox, in seconds.
    #[serde(default = "number::<60, _>")]
    pub poll_seconds: u64,
    /// Days after which a message that has been read or answered, and is still in place, is learned.
    #[serde(default = "number::<1, _>")]
    pub confirm_days: u32,
    /// Whether agents on other machines sort the mailbox too, on a server that keeps no keywords: what was moved unread may have
    /// been moved by them, and counts once it has been read and left there.
    #[serde(default)]
    pub others: bool,
    /// Whether the keywords by which other programs mark junk, and what is none, say nothing: they are not the owner's decisions.
    #[serde(default)]
    pub ignore_marks: bool,
    /// Whether to put a message into the inbox once a day that tells what was filed, and what was unsure.
    #[serde(default)]
    pub digest: bool,
    /// What is sorted by its header fields, before anything else; the first rule that applies decides.
    #[serde(default, rename = "rule", skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<SortRule>,
    /// What the folders mean. Folders that are not named here are ignored.
    #[serde(default, rename = "folder")]
    pub folders: Vec<FolderSettings>,
}

/// `[account.oauth]`: an identity server, and what it knows the program by.
#[derive(Clone, PartialEq, Deserialize, Serialize, clap::Args, Debug)]
#[serde(deny_unknown_fields)]
pub struct OAuth {
    /// The id of tamis at an identity server, in place of a password: asks you to enter a code at a browser
    #[arg(long, value_name = "ID", required = false, conflicts_with_all = ["password", "token"])]
    pub client_id: String,
    /// The secret that belongs to the id, if it has one
    #[arg(long, value_name = "TEXT", requires = "client_id")]
    pub client_secret: Option<String>,
    /// Where it asks you in a browser on this machine, which then comes back here (RFC 8252), instead of a code
    #[arg(long, value_name = "URL", requires = "client_id")]
    pub auth_url: Option<String>,
    /// Where the identity server gives codes (RFC 8628) [default: Microsoft's]
    #[arg(long, value_name = "URL", requires = "client_id", default_value_t = device_url(), hide_default_value = true)]
    #[serde(default = "device_url")]
    pub device_url: String,
    /// Where it gives tokens [default: Microsoft's]
    #[arg(long, value_name = "URL", requires = "client_id", default_value_t = token_url(), hide_default_value = true)]
    #[serde(default = "token_url")]
    pub token_url: String,
    /// What the tokens are for [default: IMAP at Microsoft]
    #[arg(long, value_name = "TEXT", requires = "client_id", default_value_t = scope(), hide_default_value = true)]
    #[serde(default = "scope")]
    pub scope: String,
}

/// `[[account.folder]]`
#[derive(Clone, PartialEq, Deserialize, Serialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct FolderSettings {
    /// Its name, as mail programs show it.
    pub name: String,
    /// The label of the messages in it. Without one, a message that is moved here from the junk is forgotten.
    pub label: Option<String>,
    /// The threshold of this folder, whatever is moved away.
    pub threshold: Option<f64>,
}

/// `[[account.rule]]`: all patterns must be in the fields of a message, in any case of letters.
#[derive(Clone, PartialEq, Default, Deserialize, Serialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct SortRule {
    /// A part of From.
    pub from: Option<String>,
    /// A part of To or Cc.
    pub to: Option<String>,
    /// A part of List-Id.
    pub list: Option<String>,
    /// A part of the subject.
    pub subject: Option<String>,
    /// Whether it is sent to many who can unsubscribe, and is not a mailing list to which one can write. What is junk is not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub newsletter: bool,
    /// The folder that such messages go to; without one, they stay in the inbox.
    pub folder: Option<String>,
}

/// How a connection is encrypted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, clap::ValueEnum, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Tls {
    /// From the start.
    #[default]
    Implicit,
    /// After STARTTLS.
    Starttls,
    /// Not at all; refused unless the host is this machine.
    None,
}

impl Tls {
    /// The port of IMAP servers for this encryption.
    pub fn usual_port(self) -> u16 {
        if self == Tls::Implicit { 993 } else { 143 }
    }
}

/// What happens to a message that belongs elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, Debug)]
#[serde(rename_all = "lowercase")]
pub enum SortAction {
    /// It is moved there.
    #[default]
    Move,
    /// It is copied there.
    Copy,
    /// It stays and gets a keyword: `$Junk` or `tamis-LABEL`.
    Flag,
}

fn inbox() -> String {
    "INBOX".to_owned()
}

fn device_url() -> String {
    "https://login.microsoftonline.com/common/oauth2/v2.0/devicecode".to_owned()
}

fn token_url() -> String {
    "https://login.microsoftonline.com/common/oauth2/v2.0/token".to_owned()
}

fn scope() -> String {
    "https://outlook.office.com/IMAP.AccessAsUser.All offline_access".to_owned()
}

fn percent<const N: u32>() -> f64 {
    f64::from(N) / 100.0
}

fn number<const N: u32, T: From<u32>>() -> T {
    N.into()
}

/// The lowest threshold of the junk, unless it has one of its own.
pub(crate) const JUNK_THRESHOLD: f64 = 0.95;

impl MailboxSettings {
    /// Parses the text of a settings file.
    ///
    /// # Errors
    /// If it is not TOML, has an unknown key or a value that is out of range; the error names the line.
    pub fn parse(text: &str) -> Result<Self> {
        let settings: MailboxSettings = toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            anyhow!("line {}: {}", before.matches('\n').count() + 1, error.message())
        })?;
        for (n, account) in settings.accounts.iter().enumerate() {
            account.check().with_context(|| {
                format!("account {} ({})", shown(&account.name), line_of(text, &account.name, &account.name))
            })?;
            if settings.accounts[..n].iter().any(|other| other.name == account.name) {
                bail!("account {}: expected the name once, got it twice", shown(&account.name));
            }
        }
        Ok(settings)
    }

    /// Reads a settings file.
    ///
    /// # Errors
    /// If it cannot be read, or as [`parse`](Self::parse).
    pub fn read(path: &Path) -> Result<Self> {
        MailboxSettings::parse(&std::fs::read_to_string(path)?)
    }
}

impl Account {
    /// An account with defaults for everything else.
    pub fn new(name: &str, host: &str, user: &str) -> Self {
        let defaults: Account =
            toml::from_str("name = ''\nhost = ''\nuser = ''").expect("all else has a default");
        Account { name: name.to_owned(), host: host.to_owned(), user: user.to_owned(), ..defaults }
    }

    /// The server's port.
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(self.tls.usual_port())
    }

    /// The label of a folder, if it has one.
    pub fn label_of(&self, folder: &str) -> Option<&str> {
        self.folders.iter().find(|known| known.name == folder)?.label.as_deref()
    }

    /// The folder that messages of a label go to: the inbox if it has that label, else the first that has.
    pub fn folder_of(&self, label: &str) -> Option<&FolderSettings> {
        let has = |folder: &&FolderSettings| folder.label.as_deref() == Some(label);
        let inbox = self.folders.iter().filter(has).find(|folder| folder.name == self.inbox);
        inbox.or_else(|| self.folders.iter().find(has))
    }

    /// The label of junk, if there is a folder for it.
    pub fn junk_label(&self) -> Option<&str> {
        self.label_of(self.junk.as_deref()?)
    }

    /// Whether messages of a label are junk.
    pub fn is_junk(&self, label: &str) -> bool {
        self.junk_label() == Some(label)
    }

    /// The label of a message in a folder that its owner has marked as junk, or as none; `None` if its place decides. What is no
    /// junk is of the inbox if it lies in the junk, or if there is no other label.
    pub fn label_by_mark(&self, folder: &str, is_junk: bool) -> Option<&str> {
        let junk = self.junk_label();
        let is_of_inbox = self.label_of(folder) == junk || self.labels().len() == 2;
        if is_junk { junk } else { self.label_of(&self.inbox).filter(|_| is_of_inbox) }
    }

    /// The labels, in alphabetical order.
    pub fn labels(&self) -> Vec<&str> {
        let labels: BTreeSet<&str> =
            self.folders.iter().filter_map(|folder| folder.label.as_deref()).collect();
        labels.into_iter().collect()
    }

    fn check(&self) -> Result<()> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_+@".contains(c);
        let is_name = !self.name.is_empty() && !self.name.starts_with('.') && self.name.chars().all(is_plain);
        ensure!(is_name, "name: expected letters, digits and . - _ + @, got {:?}", self.name);
        let ways = [!self.password.is_empty(), !self.token.is_empty(), self.oauth.is_some()];
        let is_one = ways.iter().filter(|is_there| **is_there).count() == 1;
        ensure!(is_one, "expected either password or token, a command that prints it, or [account.oauth]");
        let oauth = self.oauth.iter();
        let urls = oauth.flat_map(|it| [Some(&it.device_url), Some(&it.token_url), it.auth_url.as_ref()]);
        for url in urls.flatten() {
            let is_local = url.starts_with("http://127.0.0.1:") || url.starts_with("http://localhost:");
            let is_safe = is_local || url.starts_with("https://");
            ensure!(is_safe, "oauth: expected a URL that begins with https://, got {url:?}");
        }
        let thresholds = self.folders.iter().filter_map(|folder| folder.threshold);
        if let Some(got) = thresholds.chain([self.threshold]).find(|t| !(0.5..=1.0).contains(t)) {
            bail!("threshold: expected a probability from 0.5 to 1, got {got}");
        }
        let share = self.max_wrong;
        ensure!((0.0..=1.0).contains(&share), "max_wrong: expected a share from 0 to 1, got {share}");
        ensure!(self.newest > 0 && self.poll_seconds > 0, "newest and poll_seconds: expected at least 1");
        let is_local = matches!(&*self.host, "localhost" | "127.0.0.1" | "::1");
        if self.tls == Tls::None && !is_local {
            bail!(
                "tls = \"none\" would send the password readable over the network; expected implicit or starttls"
            );
        }
        for (n, folder) in self.folders.iter().enumerate() {
            if self.folders[..n].iter().any(|other| other.name == folder.name) {
                bail!("folder {}: expected it once, got it twice", shown(&folder.name));
            }
        }
        check_labels(&Classes::new(self.labels())?)?;
        let is_listed = |sent: &&String| self.folders.iter().any(|it| it.name == **sent);
        if let Some(sent) = self.sent.as_ref().filter(is_listed) {
            bail!("sent = {sent:?}: expected a folder that is not listed, since sent mail is not learned");
        }
        for rule in &self.rules {
            let patterns = [&rule.from, &rule.to, &rule.list, &rule.subject];
            let says_nothing = patterns.iter().all(|it| it.is_none()) && !rule.newsletter;
            if says_nothing || patterns.into_iter().flatten().any(String::is_empty) {
                bail!("rule: expected from, to, list or subject with some text, or newsletter, got {rule:?}");
            }
        }
        if let Some(junk) = self.junk.as_ref().filter(|junk| self.label_of(junk).is_none()) {
            bail!("junk = {junk:?}: expected a folder with a label");
        }
        Ok(())
    }
}

/// Where the text of settings names something of an account: a folder, or the account itself.
pub(crate) fn line_of(text: &str, account: &str, wanted: &str) -> String {
    let names = |line: &str, wanted: &str| {
        let parsed = line.trim_start().parse::<toml::Table>().ok();
        parsed.is_some_and(|table| table.get("name").and_then(toml::Value::as_str) == Some(wanted))
    };
    let mut lines = (1..).zip(text.lines()).skip_while(|(_, line)| !names(line, account));
    let found = lines.find(|(_, line)| names(line, wanted));
    found.map_or_else(|| "not in the settings".to_owned(), |(n, _)| format!("line {n} of the settings"))
}

/// The settings file: `$XDG_CONFIG_HOME/tamis/mailbox.toml`.
pub(crate) fn settings_file() -> Result<PathBuf> {
    Ok(home("XDG_CONFIG_HOME", ".config")?.join("tamis/mailbox.toml"))
}

/// An account's model.
pub(crate) fn model_file(account: &Account) -> Result<PathBuf> {
    let own = || home("XDG_DATA_HOME", ".local/share");
    let usual = || Ok(own()?.join(format!("tamis/mailbox/{}.tamis", account.name)));
    account.model.clone().map_or_else(usual, Ok)
}

/// The folder of an account's ledger, which only its owner may enter.
pub(crate) fn state_folder(account: &Account) -> Result<PathBuf> {
    let folder = home("XDG_STATE_HOME", ".local/state")?.join("tamis/mailbox").join(&account.name);
    make_private(&folder).with_context(|| shown_path(&folder))?;
    Ok(folder)
}

fn home(name: &str, usual: &str) -> Result<PathBuf> {
    let folder = variable(name).or_else(|| variable("HOME").map(|home| home.join(usual)));
    folder.with_context(|| format!("expected HOME or {name} to be set"))
}

#[cfg(test)]
impl Account {
    /// Anna's, with folders and their labels.
    pub(crate) fn example(folders: &[(&str, &str)]) -> Self {
        let folder = |(name, label): &(&str, &str)| FolderSettings {
            name: (*name).to_owned(),
            label: Some((*label).to_owned()),
            threshold: None,
        };
        let folders = folders.iter().map(folder).collect();
        Account { folders, ..Account::new("anna", "imap.example.org", "anna@example.org") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_has_every_key_and_is_valid() {
        let text = include_str!("../mailbox.toml");
        let commented: String = text
            .lines()
            .map(|line| line.strip_prefix("#").filter(|rest| !rest.starts_with(' ')).unwrap_or(line))
            .map(|line| format!("{line}\n"))
            .collect();
        for text in [text, &commented] {
            MailboxSettings::parse(text).unwrap();
        }
        let value = toml::Value::try_from(MailboxSettings::parse(&commented).unwrap()).unwrap();
        let known = value["account"][0].as_table().unwrap();
        let parsed: toml::Table = commented.parse().unwrap();
        let example = parsed["account"].as_array().unwrap()[0].as_table().unwrap();
        for key in known.keys() {
            assert!(example.contains_key(key), "mailbox.toml lacks {key}");
        }
        for key in ["ca", "model", "behind", "junk", "port", "sent", "rule"] {
            assert!(example.contains_key(key), "mailbox.toml lacks {key}");
        }
    }

    #[test]
    fn passwords_stay_out_of_reach() {
        let text = |tls: &str, host: &str| {
            format!("[[account]]\nname='a'\nhost='{host}'\nuser='u'\npassword=['p']\ntls='{tls}'\n")
        };
        assert!(MailboxSettings::parse(&text("none", "127.0.0.1")).is_ok());
        assert!(MailboxSettings::parse(&text("none", "imap.example.org")).is_err());
        assert!(MailboxSettings::parse(&text("starttls", "imap.example.org")).is_ok());
        for bad in ["../etc", ".a", "a b", ""] {
            let text = text("implicit", "h").replace("name='a'", &format!("name='{bad}'"));
            assert!(MailboxSettings::parse(&text).is_err(), "{bad}");
        }
    }

    #[test]
    fn labels_that_a_model_refuses_are_refused_before_anything_is_read() {
        let folder = |label: &str| format!("[[account.folder]]\nname='{label}'\nlabel='{label}'\n");
        let text = |labels: &[&str]| {
            let folders: String = labels.iter().map(|label| folder(label)).collect();
            format!("[[account]]\nname='a'\nhost='h'\nuser='u'\npassword=['p']\n{folders}")
        };
        assert!(MailboxSettings::parse(&text(&["Rust", "Rust 2"])).is_ok());
        let error = MailboxSettings::parse(&text(&["Rust", "rust"])).unwrap_err();
        assert!(
            format!("{error:#}").contains("line 2 of the settings): expected labels that differ"),
            "{error:#}"
        );
        MailboxSettings::parse(&text(&["unsure"])).unwrap_err();
    }

    #[test]
    fn a_label_of_several_folders_goes_to_the_inbox() {
        let account =
            Account::example(&[("Archive", "ham"), ("INBOX", "ham"), ("Junk", "spam"), ("Old", "spam")]);
        assert_eq!(account.folder_of("ham").unwrap().name, "INBOX");
        assert_eq!(account.folder_of("spam").unwrap().name, "Junk");
        assert!(account.folder_of("other").is_none());
        assert_eq!(account.labels(), ["ham", "spam"]);
    }

    #[test]
    fn what_is_no_junk_has_a_label_only_if_there_is_one_for_it() {
        let junk = Some("Junk".to_owned());
        let two = [("INBOX", "ham"), ("Archive", "ham"), ("Junk", "spam")];
        let topics = [("INBOX", "inbox"), ("Rust", "rust"), ("Junk", "spam")];
        for (folders, place, is_junk, expected) in [
            (two, "INBOX", true, Some("spam")),
            (two, "INBOX", false, Some("ham")),
            (two, "unlisted", false, Some("ham")),
            (two, "Junk", false, Some("ham")),
            (topics, "Rust", true, Some("spam")),
            (topics, "INBOX", false, None),
            (topics, "Rust", false, None),
            (topics, "Junk", false, Some("inbox")),
        ] {
            let account = Account { junk: junk.clone(), ..Account::example(&folders) };
            assert_eq!(account.label_by_mark(place, is_junk), expected, "{place}, {is_junk}");
        }
        assert_eq!(Account::example(&two).label_by_mark("INBOX", true), None, "without a folder for junk");
    }
}
