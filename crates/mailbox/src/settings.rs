//! Settings: which mailboxes there are, what their folders mean, and where an account's files are.
//!
//! The example `mailbox.toml` beside this crate's manifest describes each key.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use tamis_program::{make_private, shown, shown_path};

/// All accounts.
#[derive(Clone, Default, Deserialize, Serialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct MailboxSettings {
    /// The accounts, each with a mailbox.
    #[serde(default, rename = "account")]
    pub accounts: Vec<Account>,
}

/// `[[account]]`: a mailbox and how to get into it.
#[derive(Clone, Deserialize, Serialize, Debug)]
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
    /// The model; by default a file named after the account.
    pub model: Option<PathBuf>,
    /// A shared model behind it, if there is one.
    pub behind: Option<PathBuf>,
    /// The folder in which new messages arrive.
    #[serde(default = "inbox")]
    pub inbox: String,
    /// The folder for junk, if there is one.
    pub junk: Option<String>,
    /// What happens to a message that belongs elsewhere.
    #[serde(default)]
    pub action: SortAction,
    /// A message goes to a folder if the probability of the folder's label is at least this.
    #[serde(default = "threshold")]
    pub threshold: f64,
    /// Number of the newest messages of each folder to train on.
    #[serde(default = "newest")]
    pub newest: u32,
    /// How often to look into the folders other than the inbox, in seconds.
    #[serde(default = "poll_seconds")]
    pub poll_seconds: u64,
    /// Days after which a sorted message is learned if it has been read and is still in place; never by default.
    pub confirm_days: Option<u32>,
    /// What the folders mean. Folders that are not named here are ignored.
    #[serde(default, rename = "folder")]
    pub folders: Vec<FolderSettings>,
}

/// `[[account.folder]]`
#[derive(Clone, Deserialize, Serialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct FolderSettings {
    /// Its name, as mail programs show it.
    pub name: String,
    /// The label of the messages in it. Without one, a message that is moved here from the junk is forgotten.
    pub label: Option<String>,
    /// Overrides the account's `threshold` for this folder.
    pub threshold: Option<f64>,
}

/// How a connection is encrypted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, Debug)]
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

fn threshold() -> f64 {
    0.95
}

fn newest() -> u32 {
    2_000
}

fn poll_seconds() -> u64 {
    60
}

impl MailboxSettings {
    /// Parses the text of a settings file.
    ///
    /// # Errors
    /// If it is not TOML, has an unknown key or a value that is out of range; the error names the line.
    pub fn parse(text: &str) -> Result<Self> {
        let settings: MailboxSettings = toml::from_str(text)?;
        for (n, account) in settings.accounts.iter().enumerate() {
            account.check().with_context(|| format!("account {}", shown(&account.name)))?;
            if settings.accounts[..n].iter().any(|other| other.name == account.name) {
                bail!("account {}: expected the name once, got it twice", shown(&account.name));
            }
        }
        Ok(settings)
    }

    /// Reads a settings file.
    ///
    /// # Errors
    /// If it cannot be read, and as [`parse`](Self::parse).
    pub fn read(path: &Path) -> Result<Self> {
        MailboxSettings::parse(&std::fs::read_to_string(path)?)
    }
}

impl Account {
    /// An account with defaults for everything else.
    pub fn new(name: &str, host: &str, user: &str) -> Self {
        Account {
            name: name.to_owned(),
            host: host.to_owned(),
            port: None,
            tls: Tls::default(),
            ca: None,
            user: user.to_owned(),
            password: Vec::new(),
            token: Vec::new(),
            model: None,
            behind: None,
            inbox: inbox(),
            junk: None,
            action: SortAction::default(),
            threshold: threshold(),
            newest: newest(),
            poll_seconds: poll_seconds(),
            confirm_days: None,
            folders: Vec::new(),
        }
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

    /// The folder that a message goes to from the inbox, if it has a label with this probability; `None` if it stays.
    pub fn destination(&self, label: &str, probability: f64) -> Option<&FolderSettings> {
        let folder = self.folder_of(label)?;
        let is_sure = probability >= folder.threshold.unwrap_or(self.threshold);
        (is_sure && folder.name != self.inbox).then_some(folder)
    }

    /// The labels, in alphabetical order.
    pub fn labels(&self) -> Vec<&str> {
        let labels: BTreeSet<&str> =
            self.folders.iter().filter_map(|folder| folder.label.as_deref()).collect();
        labels.into_iter().collect()
    }

    fn check(&self) -> Result<()> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_+@".contains(c);
        if self.name.is_empty() || self.name.starts_with('.') || !self.name.chars().all(is_plain) {
            bail!("name: expected letters, digits and . - _ + @, got {:?}", self.name);
        }
        if self.password.is_empty() == self.token.is_empty() {
            bail!("expected either password or token, a command that prints it");
        }
        let thresholds = self.folders.iter().filter_map(|folder| folder.threshold);
        if let Some(got) = thresholds.chain([self.threshold]).find(|t| !(0.5..=1.0).contains(t)) {
            bail!("threshold: expected a probability from 0.5 to 1, got {got}");
        }
        if self.newest == 0 || self.poll_seconds == 0 {
            bail!("newest and poll_seconds: expected at least 1");
        }
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
        if let Some(junk) = &self.junk
            && self.label_of(junk).is_none()
        {
            bail!("junk = {junk:?}: expected a folder with a label");
        }
        Ok(())
    }
}

/// The settings file: `$XDG_CONFIG_HOME/tamis/mailbox.toml`.
///
/// # Errors
/// If there is no home folder.
pub(crate) fn settings_file() -> Result<PathBuf> {
    Ok(home("XDG_CONFIG_HOME", ".config")?.join("tamis/mailbox.toml"))
}

/// An account's model.
///
/// # Errors
/// If there is no home folder.
pub(crate) fn model_file(account: &Account) -> Result<PathBuf> {
    let own = || home("XDG_DATA_HOME", ".local/share");
    let usual = || Ok(own()?.join(format!("tamis/mailbox/{}.tamis", account.name)));
    account.model.clone().map_or_else(usual, Ok)
}

/// The folder of an account's ledger, which only its owner may enter.
///
/// # Errors
/// If there is no home folder, or the folder cannot be made.
pub(crate) fn state_folder(account: &Account) -> Result<PathBuf> {
    let folder = home("XDG_STATE_HOME", ".local/state")?.join("tamis/mailbox").join(&account.name);
    make_private(&folder).with_context(|| shown_path(&folder))?;
    Ok(folder)
}

fn home(variable: &str, usual: &str) -> Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set(variable).or_else(|| set("HOME").map(|home| home.join(usual)));
    folder.with_context(|| format!("expected HOME or {variable} to be set"))
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
        for key in ["ca", "model", "behind", "junk", "port", "confirm_days"] {
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
    fn a_label_of_several_folders_goes_to_the_inbox() {
        let mut account = Account::new("a", "b", "c");
        let folder = |name: &str, label: &str| FolderSettings {
            name: name.to_owned(),
            label: Some(label.to_owned()),
            threshold: None,
        };
        account.folders = vec![
            folder("Archive", "ham"),
            folder("INBOX", "ham"),
            folder("Junk", "spam"),
            folder("Old", "spam"),
        ];
        assert_eq!(account.folder_of("ham").unwrap().name, "INBOX");
        assert_eq!(account.folder_of("spam").unwrap().name, "Junk");
        assert!(account.folder_of("other").is_none());
        assert_eq!(account.labels(), ["ham", "spam"]);
    }
}
