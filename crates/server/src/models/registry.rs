//! Finds the model that a request is for.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};

use crate::models::failure::Failure;
use crate::models::model::Model;
use crate::models::users::{Users, safe_name};
use crate::settings::file::{ModelSettings, Settings};

/// Which model a request is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of<'a> {
    /// The shared one.
    Shared,
    /// That of a user, or the shared one if he has none.
    User(&'a str),
    /// One of those named in the settings.
    Named(&'a str),
}

/// All models of the server.
pub(crate) struct Models {
    pub(crate) shared: Arc<Model>,
    named: BTreeMap<String, Arc<Model>>,
    users: Option<Users>,
    create: bool,
}

impl Models {
    /// # Errors
    /// If no path is set and there is no default.
    pub(crate) fn new(settings: &Settings) -> Result<Self> {
        let ModelSettings { shared, users, named, create, .. } = &settings.models;
        let path = shared
            .clone()
            .or_else(default_path)
            .context("no model: expected models.shared in the settings, or TAMIS_MODEL or HOME to be set")?;
        let model = |name: &str, path| Arc::new(Model::new(name, path, &settings.verdict, None));
        Ok(Models {
            shared: model("", &path),
            named: named.iter().map(|(name, path)| (name.clone(), model(name, path))).collect(),
            users: users.as_deref().map(|pattern| Users::new(pattern, &settings.models, &settings.verdict)),
            create: *create,
        })
    }

    /// The model that scores: a user's own only if it has a file.
    ///
    /// # Errors
    /// If no model has that name, or the user's cannot be opened.
    pub(crate) fn to_score(&self, of: Of<'_>) -> Result<Arc<Model>, Failure> {
        let own = self.own(of)?;
        let has_file = own.shared().is_none() || own.current().is_some() || own.follow()?.is_some();
        Ok(if has_file { own } else { self.shared.clone() })
    }

    /// The model that learns, which may have no file yet.
    ///
    /// # Errors
    /// If no model has that name.
    pub(crate) fn to_learn(&self, of: Of<'_>) -> Result<Arc<Model>, Failure> {
        if let (Of::User(user), Some(_)) = (of, &self.users)
            && safe_name(user).is_none()
        {
            return Err(Failure::Request(format!(
                "expected a user with a name that can be a file's, got {user:?}"
            )));
        }
        let own = self.own(of)?;
        let may_learn = own.shared().is_none() || self.create || own.path.exists();
        if may_learn {
            Ok(own)
        } else {
            Err(Failure::Request(format!("{}: there is no model yet", own.path.display())))
        }
    }

    fn own(&self, of: Of<'_>) -> Result<Arc<Model>, Failure> {
        match (of, &self.users) {
            (Of::Named(name), _) => {
                self.named.get(name).cloned().ok_or_else(|| Failure::UnknownModel(name.to_owned()))
            }
            (Of::User(user), Some(users)) => Ok(match safe_name(user) {
                Some(user) => users.model(&user, &self.shared),
                None => self.shared.clone(),
            }),
            _ => Ok(self.shared.clone()),
        }
    }

    /// The model of a [`name`](Model::name); the fleet's records have it.
    pub(crate) fn by_name(&self, name: &str) -> Result<Arc<Model>, Failure> {
        match name.strip_prefix("user/") {
            Some(user) => self.to_learn(Of::User(user)),
            None if name.is_empty() => Ok(self.shared.clone()),
            None => self.to_learn(Of::Named(name)),
        }
    }

    /// Opens what has no filter yet, and again what others have changed. Returns the failures.
    pub(crate) fn follow(&self) -> Vec<Failure> {
        // the shared one first, since users' models take it from there
        let own = std::iter::once(&self.shared).chain(self.named.values()).cloned();
        let users = self.users.as_ref().map(Users::all).unwrap_or_default();
        let users = users.into_iter().filter(|user| user.current().is_some());
        own.chain(users).filter_map(|model| model.follow_in_turn().err()).collect()
    }

    /// Number of users' models that are open.
    pub(crate) fn n_users(&self) -> usize {
        let users = self.users.as_ref().map(Users::all).unwrap_or_default();
        users.iter().filter(|user| user.current().is_some()).count()
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
