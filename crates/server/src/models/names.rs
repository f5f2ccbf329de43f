//! Whose model is meant: one person has one model, however he is addressed.

use std::collections::HashMap;

use anyhow::{Context, Result};

use crate::settings::ServerSettings;
use crate::settings::file::read_file;
use crate::settings::user::{MailServer, user_name};

/// The rule of the settings.
pub(crate) struct UserNames {
    domains: Vec<String>,
    delimiter: Option<char>,
    /// In lower case.
    aliases: HashMap<String, String>,
    /// Those that programs run as, whom no mail is for.
    daemons: Vec<String>,
}

impl UserNames {
    /// # Errors
    /// If the map of aliases cannot be read.
    pub(super) fn new(settings: &ServerSettings) -> Result<Self> {
        let models = &settings.models;
        let text = models.aliases.as_deref().map(read_file).transpose();
        let text = text.context("models.aliases")?.unwrap_or_default().to_lowercase();
        let alias = |line: &str| {
            let (name, target) = line.trim().split_once([':', ' ', '\t'])?;
            let is_user = |target: &str| !target.is_empty() && !target.contains([',', ' ', '|', '/', ':']);
            Some((name.to_owned(), target.trim().to_owned())).filter(|(_, target)| is_user(target))
        };
        let server =
            |server: &MailServer| if let MailServer::User(user) = server { Some(user.0) } else { None };
        let ids = settings.spamd.learn.iter().map(|user| user.0);
        let ids = ids.chain(models.mail_servers.iter().filter_map(server)).chain([0]);
        Ok(UserNames {
            domains: models.domains.iter().map(|domain| domain.to_lowercase()).collect(),
            delimiter: models.delimiter,
            aliases: text.lines().filter(|line| !line.starts_with('#')).filter_map(alias).collect(),
            daemons: ids.filter_map(user_name).collect(),
        })
    }

    /// The user whose model is meant; `None` if it is the shared one.
    pub(crate) fn user(&self, name: &str) -> Option<String> {
        let mut user = name.to_ascii_lowercase();
        // an alias may lead to another; a circle ends
        for _ in 0..5 {
            let (local, domain) = user.rsplit_once('@').unwrap_or((&user, ""));
            let local = local.split_once(self.delimiter.unwrap_or('@')).map_or(local, |(local, _)| local);
            let is_local = domain.is_empty() || self.domains.iter().any(|own| own == domain);
            let bare = if is_local { local.to_owned() } else { format!("{local}@{domain}") };
            let alias = self.aliases.get(&user).or_else(|| self.aliases.get(&bare)).cloned();
            user = alias.unwrap_or(bare);
        }
        (!self.daemons.contains(&user)).then_some(user)
    }
}
