//! The models: one that all share, one per user in front of it, and others by name.

pub(crate) mod learning;
pub(crate) mod model;
mod names;
pub(crate) mod request;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime};

use anyhow::{Context, Result};

use crate::lock::lock;
use crate::models::model::LiveModel;
use crate::models::names::UserNames;
use crate::models::request::{ModelId, ServiceError};
use crate::settings::{ModelSettings, ServerSettings, VerdictSettings};

/// All models of the server. Of users' models, a bounded number is open; the least recently used is closed first.
pub(crate) struct ModelRegistry {
    settings: ModelSettings,
    pub(crate) names: UserNames,
    verdict: VerdictSettings,
    pub(crate) shared: Arc<LiveModel>,
    named: BTreeMap<String, Arc<LiveModel>>,
    /// Those of users, by name.
    users: Mutex<HashMap<String, UserModel>>,
}

struct UserModel {
    model: Arc<LiveModel>,
    last_used: Instant,
}

impl ModelRegistry {
    /// # Errors
    /// If no path is set and there is no default.
    pub(crate) fn new(settings: &ServerSettings) -> Result<Self> {
        let names = UserNames::new(settings)?;
        let ServerSettings { models: settings, verdict, .. } = settings;
        let shared =
            settings.shared.clone().or_else(default_path).context(
                "no model: expected models.shared in the settings, or TAMIS_MODEL or HOME to be set",
            )?;
        let model = |name: &str, path| Arc::new(LiveModel::new(name, path, verdict, None));
        Ok(ModelRegistry {
            shared: model("", &shared),
            named: settings.named.iter().map(|(name, path)| (name.clone(), model(name, path))).collect(),
            users: Mutex::default(),
            names,
            settings: settings.clone(),
            verdict: verdict.clone(),
        })
    }

    /// The model that scores: a user's own only if it has a file.
    ///
    /// # Errors
    /// If no model has that name, or the user's cannot be opened.
    pub(crate) fn to_score(&self, id: ModelId<'_>) -> Result<Arc<LiveModel>, ServiceError> {
        let own = self.own(id)?;
        let has_file = own.shared.is_none() || own.current().is_some() || own.follow()?.is_some();
        Ok(if has_file { own } else { self.shared.clone() })
    }

    /// Whether a file has to be opened before the model scores.
    pub(crate) fn must_open(&self, id: ModelId<'_>) -> bool {
        self.own(id)
            .is_ok_and(|own| own.current().is_none() && own.path.exists() && own.why_set_aside().is_none())
    }

    /// The model that learns, which may have no file yet.
    ///
    /// # Errors
    /// If no model has that name.
    pub(crate) fn to_learn(&self, id: ModelId<'_>) -> Result<Arc<LiveModel>, ServiceError> {
        if let (ModelId::User(user), Some(_)) = (id, &self.settings.users)
            && self.names.user(user).is_some_and(|user| safe_name(&user).is_none())
        {
            return Err(ServiceError::Request(format!(
                "expected a user with a name that can be a file's, got {user:?}"
            )));
        }
        let own = self.own(id)?;
        let may_learn = own.shared.is_none() || self.settings.create || own.path.exists();
        if may_learn {
            Ok(own)
        } else {
            Err(ServiceError::Request(format!("{}: there is no model yet", own.path.display())))
        }
    }

    fn own(&self, id: ModelId<'_>) -> Result<Arc<LiveModel>, ServiceError> {
        let own = match id {
            ModelId::Named(name) => {
                let named = self.named.get(name);
                Some(named.ok_or_else(|| ServiceError::UnknownModel(name.to_owned()))?.clone())
            }
            ModelId::User(user) => self.names.user(user).and_then(|user| self.user(&safe_name(&user)?)),
            ModelId::Shared => None,
        };
        Ok(own.unwrap_or_else(|| self.shared.clone()))
    }

    /// The model of a user, with the shared one behind it; `None` if users have no models. Whether there is a file is
    /// looked up when it is opened.
    fn user(&self, user: &str) -> Option<Arc<LiveModel>> {
        let pattern = self.settings.users.as_ref()?;
        let mut users = lock(&self.users);
        if let Some(used) = users.get_mut(user) {
            used.last_used = Instant::now();
            return Some(used.model.clone());
        }
        let path = pattern.to_string_lossy().replace("%u", user);
        let (name, shared) = (format!("user/{user}"), Some(self.shared.clone()));
        let model = Arc::new(LiveModel::new(&name, Path::new(&path), &self.verdict, shared));
        users.insert(user.to_owned(), UserModel { model: model.clone(), last_used: Instant::now() });
        self.close_least_used(&mut users);
        Some(model)
    }

    /// Closes the least used models until the rest is within bounds. Models with corrections that wait stay.
    fn close_least_used(&self, users: &mut HashMap<String, UserModel>) {
        let bytes = |used: &UserModel| {
            used.model.current().map_or(0, |open| open.filter().information().file.bytes as u64)
        };
        let ModelSettings { max_open, max_open_bytes, .. } = self.settings;
        let mut all_bytes: u64 = users.values().map(bytes).sum();
        while users.len() > max_open.max(1) || all_bytes > max_open_bytes && users.len() > 1 {
            let unused = users.iter().filter(|(_, used)| used.model.queue.is_idle());
            let least = unused.min_by_key(|(_, used)| used.last_used).map(|(user, _)| user.clone());
            let Some(used) = least.and_then(|user| users.remove(&user)) else { return };
            all_bytes -= bytes(&used).min(all_bytes);
        }
    }

    /// The model of a [`name`](LiveModel::name); the fleet's records have it.
    ///
    /// # Errors
    /// If there is none. What a user has taught is for no other model.
    pub(crate) fn by_name(&self, name: &str) -> Result<Arc<LiveModel>, ServiceError> {
        match ModelId::of_name(name) {
            ModelId::User(_) if self.settings.users.is_none() => {
                Err(ServiceError::UnknownModel(name.to_owned()))
            }
            ModelId::Shared => Ok(self.shared.clone()),
            id => self.to_learn(id),
        }
    }

    /// Opens what has no filter yet, and again what others have changed. Returns the failures.
    pub(crate) fn follow(&self) -> Vec<ServiceError> {
        // the shared one first, since users' models take it from there
        let own = std::iter::once(&self.shared).chain(self.named.values()).cloned();
        let mut failures: Vec<_> =
            own.chain(self.open_users()).filter_map(|model| model.follow_in_turn().err()).collect();
        failures.extend(lock(&self.users).values().filter_map(|user| user.model.why_set_aside()));
        // one for all users
        failures.dedup();
        failures
    }

    /// The number of corrections that wait to be learned.
    pub(crate) fn n_waiting(&self) -> usize {
        let own = std::iter::once(&self.shared).chain(self.named.values()).cloned();
        own.chain(lock(&self.users).values().map(|user| user.model.clone()))
            .map(|m| m.queue.lock().waiting.len())
            .sum()
    }

    /// The files of users' models: whose, how many bytes, and when each was changed last.
    pub(crate) fn user_files(&self) -> Vec<(String, u64, SystemTime)> {
        let Some(pattern) = &self.settings.users else { return Vec::new() };
        let pattern = pattern.to_string_lossy();
        let (before, after) = pattern.split_once("%u").unwrap_or((&pattern, ""));
        let (folder, prefix) = before.rsplit_once('/').unwrap_or((".", before));
        let suffix = after.split('/').next().unwrap_or_default();
        let mut files = Vec::new();
        // without the folder there are none yet
        for file in fs::read_dir(format!("{folder}/")).into_iter().flatten().flatten() {
            let name = file.file_name();
            let user = name.to_str().and_then(|name| name.strip_prefix(prefix)?.strip_suffix(suffix));
            let Some(user) = user.and_then(safe_name) else { continue };
            // one that is gone meanwhile is none
            let Ok(metadata) = fs::metadata(pattern.replace("%u", &user)) else { continue };
            files.push((user, metadata.len(), metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH)));
        }
        files.sort();
        files
    }

    /// Users' models that are open.
    pub(crate) fn open_users(&self) -> Vec<Arc<LiveModel>> {
        let users = lock(&self.users);
        let open = users.values().filter(|user| user.model.current().is_some());
        open.map(|user| user.model.clone()).collect()
    }
}

/// `$TAMIS_MODEL`, else the user's default model, as for the program.
fn default_path() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("TAMIS_MODEL").or_else(|| {
        let data = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")));
        data.map(|data| data.join("tamis/model.tamis"))
    })
}

/// A user as the name of a file: in lower case, if it has at most 200 characters of `a-z0-9._+@-` and begins with a
/// letter or a digit. Other users share the shared model.
fn safe_name(user: &str) -> Option<String> {
    let user = user.to_ascii_lowercase();
    let is_safe = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._+@-".contains(c);
    let begins_well = user.starts_with(|c: char| c.is_ascii_alphanumeric());
    (begins_well && user.len() <= 200 && user.chars().all(is_safe)).then_some(user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_person_has_one_model() {
        let mut settings = ServerSettings::default();
        let aliases = tempfile::NamedTempFile::new().unwrap();
        fs::write(&aliases, "# x\nboss:\tjoe\nsales@example.org ann\nlist: joe, ann\na: b\nb: a\n").unwrap();
        settings.models.aliases = Some(aliases.path().to_owned());
        settings.models.domains = vec!["Example.org".to_owned()];
        settings.models.delimiter = Some('+');
        let names = UserNames::new(&settings).unwrap();
        let same = "joe+x@example.ORG joe, boss@example.org joe, sales@example.org ann, joe+x@example.net joe@example.net, list list";
        for (name, user) in same.split(", ").filter_map(|pair| pair.split_once(' ')) {
            assert_eq!(names.user(name).as_deref(), Some(user), "{name}");
        }
        assert_eq!(names.user("root"), None);
        assert!(names.user("a").is_some());
    }

    #[test]
    fn no_user_names_a_file_elsewhere() {
        for user in ["", ".", "..", ".joe", "../joe", "joe/x", "a\0b", "jos\u{e9}", "-joe", &"a".repeat(201)]
        {
            assert_eq!(safe_name(user), None, "{user:?}");
        }
        assert_eq!(safe_name("Joe.B+x@Example.ORG").as_deref(), Some("joe.b+x@example.org"));
    }
}
