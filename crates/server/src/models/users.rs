//! Users' models that are open: a bounded number, the least used closed first.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::models::model::Model;
use crate::settings::file::{ModelSettings, VerdictSettings};

/// The models of users.
pub(crate) struct Users {
    /// The path, with `%u` for the user.
    pattern: PathBuf,
    verdict: VerdictSettings,
    most: usize,
    most_bytes: u64,
    open: Mutex<Opened>,
}

#[derive(Default)]
struct Opened {
    users: HashMap<String, Used>,
    /// Counts uses.
    clock: u64,
}

struct Used {
    model: Arc<Model>,
    last: u64,
}

impl Users {
    pub(crate) fn new(pattern: &Path, settings: &ModelSettings, verdict: &VerdictSettings) -> Self {
        Users {
            pattern: pattern.to_owned(),
            verdict: verdict.clone(),
            most: settings.max_open.max(1),
            most_bytes: settings.max_open_bytes,
            open: Mutex::default(),
        }
    }

    /// The model of a user, with the shared one behind it. Whether there is a file is looked up when it is opened.
    pub(crate) fn model(&self, user: &str, shared: &Arc<Model>) -> Arc<Model> {
        let mut open = self.lock();
        open.clock += 1;
        let now = open.clock;
        if let Some(used) = open.users.get_mut(user) {
            used.last = now;
            return used.model.clone();
        }
        let path = self.pattern.to_string_lossy().replace("%u", user);
        let model =
            Model::new(&format!("user/{user}"), Path::new(&path), &self.verdict, Some(shared.clone()));
        let model = Arc::new(model);
        open.users.insert(user.to_owned(), Used { model: model.clone(), last: now });
        self.close_least_used(&mut open);
        model
    }

    /// Closes the least used models until the rest is within bounds. Models with corrections that wait stay.
    fn close_least_used(&self, open: &mut Opened) {
        let bytes = |used: &Used| {
            used.model.current().map_or(0, |open| open.filter().information().file.bytes as u64)
        };
        let mut all_bytes: u64 = open.users.values().map(bytes).sum();
        while open.users.len() > self.most || all_bytes > self.most_bytes && open.users.len() > 1 {
            let unused = open.users.iter().filter(|(_, used)| used.model.waiting.is_idle());
            let Some(user) = unused.min_by_key(|(_, used)| used.last).map(|(user, _)| user.clone()) else {
                return;
            };
            if let Some(used) = open.users.remove(&user) {
                all_bytes -= bytes(&used).min(all_bytes);
            }
        }
    }

    /// All models that are open.
    pub(crate) fn all(&self) -> Vec<Arc<Model>> {
        self.lock().users.values().map(|used| used.model.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Opened> {
        // nothing is left half done
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A user as the name of a file: in lower case, if it has at most 64 characters of `a-z0-9._+@-` and begins with a
/// letter or a digit. Other users share the shared model.
pub(crate) fn safe_name(user: &str) -> Option<String> {
    let user = user.to_ascii_lowercase();
    let is_safe = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._+@-".contains(c);
    let begins_well = user.starts_with(|c: char| c.is_ascii_alphanumeric());
    (begins_well && user.len() <= 64 && user.chars().all(is_safe)).then_some(user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_user_names_a_file_elsewhere() {
        for user in ["", ".", "..", ".joe", "../joe", "joe/x", "a\0b", "jos\u{e9}", "-joe", &"a".repeat(65)] {
            assert_eq!(safe_name(user), None, "{user:?}");
        }
        assert_eq!(safe_name("Joe.B+x@Example.ORG").as_deref(), Some("joe.b+x@example.org"));
    }
}
