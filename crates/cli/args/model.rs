//! Arguments for the model of a command, and for changing it.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use tamis_program::{counted, make_private, open_model, say, shown_path, variable};
use tamis_train::distributed::Partial;
use tamis_train::{Attempts, Error, ErrorKind, Filter, LearnOptions, LiveFilter, Lock};

#[derive(Args)]
pub(crate) struct ModelArg {
    /// The model file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) model: Option<PathBuf>,
}

/// The user's model, perhaps with a shared one behind it.
#[derive(Args)]
pub(crate) struct ModelArgs {
    #[command(flatten)]
    pub(crate) own: ModelArg,
    /// Shared model to combine with your own: documents are scored by both, or by the shared model alone while you have
    /// none [default: $TAMIS_FALLBACK, but none with -m]
    #[arg(long, value_name = "FILE")]
    pub(crate) fallback: Option<PathBuf>,
}

/// Options of changing a model.
#[derive(Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ChangeArgs {
    /// Seconds to wait while another process changes the model
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) wait: u64,
    /// Most bytes in the model file's log before the file is rewritten; while the file may grow, a quarter of that
    /// becomes a segment
    #[arg(long, value_name = "BYTES", default_value_t = LearnOptions::default().log_limit, value_parser = log_limit, hide = true)]
    pub(crate) log_limit: usize,
}

fn log_limit(argument: &str) -> Result<usize, String> {
    let highest = LearnOptions::MAX_LOG_LIMIT;
    let limit = argument.parse().ok().filter(|limit| *limit <= highest);
    limit.ok_or_else(|| format!("expected a number of bytes up to {highest}, got {argument:?}"))
}

impl ChangeArgs {
    pub(crate) fn options(&self) -> LearnOptions {
        let mut options = LearnOptions::default();
        options.lock_timeout = Duration::from_secs(self.wait);
        options.log_limit = self.log_limit;
        options.learned_at = Some(LearnOptions::today());
        options
    }
}

impl ModelArg {
    /// The model file: the one given, else `$TAMIS_MODEL`, else the user's default.
    pub(crate) fn path(&self) -> Result<PathBuf> {
        if let Some(path) = self.model.clone().or_else(|| variable("TAMIS_MODEL")) {
            return Ok(path);
        }
        let data =
            variable("XDG_DATA_HOME").or_else(|| variable("HOME").map(|home| home.join(".local/share")));
        let data = data.context("no model: expected -m FILE, or TAMIS_MODEL or HOME to be set")?;
        Ok(data.join("tamis/model.tamis"))
    }

    /// Creates the folder of the user's default model. The folder of a model named by -m must exist.
    pub(crate) fn make_folder(&self, path: &Path) -> Result<()> {
        // the folder of a bare name is the empty path
        let missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.is_dir();
        match path.parent().filter(missing) {
            Some(folder) if self.model.is_some() => {
                bail!("{}: there is no folder {}", shown_path(path), shown_path(folder))
            }
            Some(folder) => make_private(folder).with_context(|| shown_path(folder)),
            None => Ok(()),
        }
    }

    pub(crate) fn open(&self) -> Result<Filter> {
        let path = self.path()?;
        let option = self.model.as_ref().map_or(String::new(), |path| format!("-m {} ", shown_path(path)));
        let hint = format!("make one with: tamis train {option}ham=PATH spam=PATH");
        open_model(&path)?.with_context(|| format!("{}: there is no model yet; {hint}", shown_path(&path)))
    }
}

impl ModelArgs {
    /// Whether `$TAMIS_FALLBACK` is set but ignored: a model named by -m stands alone unless --fallback is given too.
    /// All commands that learn or score share this rule.
    pub(crate) fn is_fallback_ignored(&self) -> bool {
        self.fallback.is_none() && self.own.model.is_some() && variable("TAMIS_FALLBACK").is_some()
    }

    /// The file of the shared model, if any: that of --fallback, else that of `$TAMIS_FALLBACK`.
    pub(crate) fn shared_path(&self) -> Option<PathBuf> {
        let usual = || variable("TAMIS_FALLBACK").filter(|_| !self.is_fallback_ignored());
        self.fallback.clone().or_else(usual)
    }

    /// The shared model, if any.
    pub(crate) fn shared(&self) -> Result<Option<Filter>> {
        let Some(path) = self.shared_path() else { return Ok(None) };
        let expected = "expected the shared model of --fallback or $TAMIS_FALLBACK, got no file";
        open_model(&path)?.with_context(|| format!("{}: {expected}", shown_path(&path))).map(Some)
    }

    /// Opens the user's model with the shared one behind it, or the shared one alone if the user has none or a damaged one.
    pub(crate) fn open(&self) -> Result<Filter> {
        let Some(shared) = self.shared()? else { return self.own.open() };
        let path = self.own.path()?;
        let is_passing = |failure: &anyhow::Error| failure.downcast_ref().is_some_and(Error::is_passing);
        let failure = match Attempts::default().open(is_passing, || open_model(&path)) {
            Ok(None) => return Ok(shared),
            Ok(Some(mut own)) => match own.set_live_fallback(&LiveFilter::new(shared)) {
                Ok(()) => return Ok(own),
                Err(error) => anyhow::Error::new(error).context("--fallback").context(shown_path(&path)),
            },
            Err(failure) => failure,
        };
        match (self.shared()?, failure.downcast_ref().map(Error::kind)) {
            (Some(shared), Some(ErrorKind::Damaged | ErrorKind::NotAModel)) => {
                say!("tamis: {failure:#}; until then the shared model answers alone");
                Ok(shared)
            }
            _ => Err(failure),
        }
    }
}

/// Refuses to replace a file that is not a model, or a model that has learned since training, so that a typing error
/// costs neither.
pub(crate) fn refuse_to_replace_taught(path: &Path, replace: bool) -> Result<()> {
    match Filter::open(path) {
        Err(error) => match error.kind() {
            _ if is_other_file(&error) => Err(error.into()),
            ErrorKind::NotAModel if Partial::open(path).is_ok() => {
                bail!("{}: this is a partial, not a model; remove it or name another", shown_path(path))
            }
            ErrorKind::NotAModel if path.metadata().is_ok_and(|file| file.len() > 0) => {
                bail!("{}: this file is not a tamis model; remove it or name another", shown_path(path))
            }
            _ => Ok(()),
        },
        Ok(filter) if filter.information().changes.since_training > 0 && !replace => bail!(
            "{}: this model has learned or forgotten {} since it was trained, which would be lost; --replace replaces \
             it anyway, tamis learn adds to it",
            shown_path(path),
            counted(filter.information().changes.since_training, "document")
        ),
        _ => Ok(()),
    }
}

/// Whether the path is that of a folder, a pipe or the like.
fn is_other_file(error: &Error) -> bool {
    error.kind() == ErrorKind::Io && error.io_error().is_none()
}

/// Refuses to replace anything but a partial. Counting a shard again replaces its file.
pub(crate) fn refuse_to_replace_all_but_partials(path: &Path) -> Result<()> {
    match Partial::open(path) {
        Err(error) if error.kind() == ErrorKind::NotAModel || is_other_file(&error) => {
            bail!("{}: this file is not a partial; remove it or name another", shown_path(path))
        }
        _ => Ok(()),
    }
}

/// Locks a model file for writing, unless a model is there that must not be replaced.
pub(crate) fn lock(path: &Path, replace: bool) -> Result<Lock> {
    let lock = Lock::wait(path, LearnOptions::default().lock_timeout)?;
    refuse_to_replace(path, replace)?;
    Ok(lock)
}

/// Refuses to replace an existing model unless `replace` is set.
pub(crate) fn refuse_to_replace(path: &Path, replace: bool) -> Result<()> {
    refuse_to_replace_taught(path, replace)?;
    if path.exists() && !replace {
        bail!("{}: there is already a model; --replace replaces it", shown_path(path));
    }
    Ok(())
}

/// Says what needs the terms of documents if a model does not remember them, and what to do about that.
pub(crate) fn needs_terms(what: impl Display, hint: &str) -> impl Fn(Error) -> anyhow::Error {
    move |error| match error.kind() {
        ErrorKind::TermsNotStored => {
            anyhow!("{what}: expected a model that remembers the terms of its documents{hint}")
        }
        _ => error.into(),
    }
}
