//! `setup`

use std::fs::OpenOptions;
use std::io::{IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use tamis_program::{counted, done, make_private, say, shown, shown_path};

use crate::commands::arguments::SetupArgs;
use crate::commands::propose::{ListedFolder, propose};
use crate::imap::connect::answers;
use crate::imap::oauth::log_in;
use crate::imap::session::ImapSession;
use crate::settings::{Account, MailboxSettings};

pub(crate) async fn run(args: &SetupArgs, path: &Path) -> Result<()> {
    let name = args.name.as_deref().unwrap_or(&args.address);
    if path.exists() {
        let existing = MailboxSettings::read(path).with_context(|| shown_path(path))?;
        if let Some(account) = existing.accounts.iter().find(|account| account.name == name) {
            return show_new_folders(account, path).await;
        }
    }
    let host = match &args.host {
        Some(host) => host.clone(),
        None => find_host(args).await?,
    };
    let mut account = Account::new(name, &host, args.user.as_deref().unwrap_or(&args.address));
    (account.port, account.tls) = (args.port, args.tls);
    account.ca = args.ca.as_deref().map(std::path::absolute).transpose().context("--ca")?;
    match (&args.password, &args.token, &args.oauth) {
        (.., Some(oauth)) => account.oauth = Some(oauth.clone()),
        (_, Some(command), _) => account.token = shell(command),
        (Some(command), ..) => account.password = shell(command),
        _ => account.password = keyring(name)?,
    }
    let text = |account: &Account| toml::to_string(&MailboxSettings { accounts: vec![account.clone()] });
    // before anything is sent
    MailboxSettings::parse(&text(&account)?)?;
    let listed = list(&account).await?;
    propose(&mut account, &listed);
    show(&account, &listed)?;
    if account.labels().len() < 2 {
        bail!(
            "expected messages of at least two kinds to learn from, got the inbox alone; make a folder for junk, or others, and file some messages there"
        );
    }
    write(path, &text(&account)?)?;
    let mut out = done();
    writeln!(
        out,
        "\nwrote {}. Correct any wrong guess there: folders that are not listed are ignored.",
        shown_path(path)
    )?;
    writeln!(out, "Next: tamis mailbox train")?;
    Ok(())
}

/// Prints the folders that the settings of an account do not have.
async fn show_new_folders(account: &Account, path: &Path) -> Result<()> {
    let listed = list(account).await?;
    let mut proposed = account.clone();
    propose(&mut proposed, &listed);
    proposed.folders.retain(|folder| account.folders.iter().all(|known| known.name != folder.name));
    let mut out = done();
    writeln!(out, "{}: the account {} is there already", shown_path(path), account.name)?;
    if !proposed.folders.is_empty() {
        writeln!(out, "These folders are not in it; add the lines to it, and train again:\n")?;
    }
    for folder in &proposed.folders {
        writeln!(out, "[[account.folder]]\n{}", toml::to_string(folder)?)?;
    }
    Ok(())
}

/// The folders of the server, with what is known of them.
async fn list(account: &Account) -> Result<Vec<ListedFolder>> {
    account.oauth.as_ref().map_or(Ok(()), |oauth| log_in(account, oauth))?;
    let mut server = ImapSession::connect(account).await?;
    let (mailboxes, left_out) = server.mailboxes().await?;
    if left_out > 0 {
        let folders = counted(left_out as u64, "folder");
        say!("left out {folders}, with control characters in their names or beyond the first 10,000");
    }
    let namespaces = server.namespaces().await?;
    let mut listed = Vec::new();
    for mailbox in mailboxes {
        let messages = match server.status(&mailbox).await {
            Ok(status) => Some(status.messages),
            // without the inbox there is nothing to do
            Err(error) if error.is_refusal() && mailbox.name != account.inbox => {
                say!("{error}");
                None
            }
            Err(error) => return Err(error.into()),
        };
        let is_shared = mailbox.is_shared(&namespaces);
        listed.push(ListedFolder { mailbox, messages, is_shared });
    }
    server.log_out().await;
    Ok(listed)
}

async fn find_host(args: &SetupArgs) -> Result<String> {
    let domain = args.address.rsplit_once('@').map(|(_, domain)| domain);
    let Some(domain) = domain.filter(|domain| !domain.is_empty()) else {
        bail!(
            "expected an address such as anna@example.org, got {}; or name the server: --host",
            shown(&args.address)
        );
    };
    let port = args.port.unwrap_or(args.tls.usual_port());
    for host in [format!("imap.{domain}"), format!("mail.{domain}"), domain.to_owned()] {
        if answers(&host, port).await {
            return Ok(host);
        }
    }
    bail!(
        "neither imap.{0} nor mail.{0} nor {0} answers on port {port}; name the server: --host",
        shown(domain)
    )
}

fn shell(command: &str) -> Vec<String> {
    ["sh", "-c", command].map(str::to_owned).to_vec()
}

/// The command that asks the keyring. Stores the password there first, if it is not there yet.
fn keyring(name: &str) -> Result<Vec<String>> {
    let attributes = ["service", "tamis-mailbox", "account", name];
    let lookup: Vec<String> =
        ["secret-tool", "lookup"].iter().chain(&attributes).map(|word| (*word).to_owned()).collect();
    let Ok(found) = Command::new(&lookup[0]).args(&lookup[1..]).output() else {
        bail!(
            "expected --password COMMAND, a command that prints the password, such as \"pass show mail\"; there is no secret-tool here to ask the keyring"
        );
    };
    if !found.status.success() || found.stdout.is_empty() {
        if !std::io::stdin().is_terminal() {
            bail!(
                "the keyring has no password for {}: secret-tool store --label=\"tamis mailbox\" {}",
                shown(name),
                attributes.join(" ")
            );
        }
        let stored =
            Command::new("secret-tool").args(["store", "--label=tamis mailbox"]).args(attributes).status();
        ensure!(stored.is_ok_and(|status| status.success()), "the keyring did not take the password");
    }
    Ok(lookup)
}

/// Prints the folders, with their messages and what they mean.
fn show(account: &Account, listed: &[ListedFolder]) -> Result<()> {
    let width = listed.iter().map(|it| it.mailbox.name.chars().count()).max().unwrap_or(0).clamp(6, 40);
    let mut out = done();
    writeln!(out, "{:<width$}  messages  label", "folder")?;
    let mut learned = 0;
    for ListedFolder { mailbox, messages, is_shared } in listed {
        let messages = messages.unwrap_or(0);
        let folder = account.folders.iter().find(|folder| folder.name == mailbox.name);
        let meaning = match folder.map(|folder| folder.label.as_deref()) {
            Some(Some(label)) => {
                learned += u64::from(messages.min(account.newest));
                shown(label).into_owned()
            }
            Some(None) => "(none: what is moved here from the junk is forgotten)".to_owned(),
            None if account.sent.as_ref() == Some(&mailbox.name) => "(read for addresses)".to_owned(),
            None if *is_shared => "- (shared)".to_owned(),
            None => "-".to_owned(),
        };
        writeln!(out, "{:<width$}  {messages:>8}  {meaning}", shown(&mailbox.name))?;
    }
    writeln!(
        out,
        "\ntrain would learn {}, the newest {} of each folder with a label",
        counted(learned, "message"),
        account.newest
    )?;
    Ok(())
}

/// Appends an account to the settings file, which is private.
fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        make_private(folder).with_context(|| shown_path(folder))?;
    }
    let append = || {
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        let is_first = file.metadata()?.len() == 0;
        file.write_all(if is_first { "" } else { "\n" }.as_bytes())?;
        file.write_all(text.as_bytes())?;
        file.sync_data()
    };
    append().with_context(|| shown_path(path))
}
