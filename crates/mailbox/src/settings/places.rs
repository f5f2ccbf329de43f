//! Where an account's files are.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use tamis_program::{make_private, shown_path};

use crate::settings::account::Account;

/// The settings file: `$XDG_CONFIG_HOME/tamis/mailbox.toml`.
///
/// # Errors
/// If there is no home folder.
pub(crate) fn settings() -> Result<PathBuf> {
    Ok(home("XDG_CONFIG_HOME", ".config")?.join("tamis/mailbox.toml"))
}

/// An account's model.
///
/// # Errors
/// If there is no home folder.
pub(crate) fn model(account: &Account) -> Result<PathBuf> {
    match &account.model {
        Some(path) => Ok(path.clone()),
        None => {
            Ok(home("XDG_DATA_HOME", ".local/share")?.join(format!("tamis/mailbox/{}.tamis", account.name)))
        }
    }
}

/// The folder of what is known about an account. Only its owner may enter it.
///
/// # Errors
/// If there is no home folder, or the folder cannot be made.
pub(crate) fn state(account: &Account) -> Result<PathBuf> {
    let folder = home("XDG_STATE_HOME", ".local/state")?.join("tamis/mailbox").join(&account.name);
    make_private(&folder).with_context(|| shown_path(&folder))?;
    Ok(folder)
}

fn home(variable: &str, usual: &str) -> Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    match set(variable).or_else(|| set("HOME").map(|home| home.join(usual))) {
        Some(folder) => Ok(folder),
        None => bail!("expected HOME or {variable} to be set"),
    }
}
