//! bogofilter's folder, which holds the tamis model beside the word list that it was once imported from.

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail, ensure};
use tamis_program::{counted, grouped, make_private, named, open_model, say, shown_path, variable};
use tamis_train::exchange::import_bogofilter;
use tamis_train::options::RobinsonFisher;
use tamis_train::{Document, ErrorKind, Filter, Keep, Kind, LearnOptions, Learner, Lock, TrainOptions};

use crate::options::settings::{BogofilterSettings, Registration};

/// A folder that holds a model.
#[derive(Clone, Debug)]
pub(crate) struct ModelFolder {
    pub(crate) path: PathBuf,
    /// How an imported word list is scored.
    parameters: RobinsonFisher,
}

/// The file name of the model in the folder.
const MODEL: &str = "model.tamis";

/// The possible file names of bogofilter's word list, one for each kind of database.
const WORD_LISTS: [&str; 5] =
    ["wordlist.db", "wordlist.qdbm", "wordlist.lmdb", "wordlist.kct", "wordlist.tch"];

impl ModelFolder {
    /// The folder that options, configuration or environment name, else `~/.bogofilter`.
    ///
    /// # Errors
    /// If no folder is named and HOME is not set.
    pub(crate) fn locate(settings: &BogofilterSettings) -> Result<Self> {
        let path = settings.directory.clone().or_else(|| variable("BOGOFILTER_DIR"));
        let path = path.or_else(|| variable("HOME").map(|home| home.join(".bogofilter")));
        let path = path.context("no folder: expected -d, BOGOFILTER_DIR or HOME to name one")?;
        Ok(ModelFolder { path, parameters: settings.robinson })
    }

    pub(crate) fn model(&self) -> PathBuf {
        self.path.join(MODEL)
    }

    /// Creates the folder if it does not exist. Only its owner may enter it.
    pub(crate) fn make(&self) -> Result<()> {
        make_private(&self.path).with_context(|| shown_path(&self.path))?;
        ensure!(self.path.is_dir(), "{}: expected a folder, got a file", shown_path(&self.path));
        Ok(())
    }

    /// Opens the model for scoring. Imports the word list if there is no model yet.
    pub(crate) fn open(&self) -> Result<Filter> {
        self.import_once()?;
        let filter = open_model(&self.model())?.with_context(|| {
            format!(
                "{}: there is no model yet; register ham and spam first: bogofilter -n < MESSAGE, bogofilter -s < MESSAGE",
                shown_path(&self.model())
            )
        })?;
        labels(&filter)?;
        Ok(filter)
    }

    /// Creates a model if there is none, for messages that are learned under their own verdicts.
    pub(crate) fn prepare_to_update(&self) -> Result<()> {
        self.import_once()?;
        if !self.model().exists() {
            drop(self.create()?);
            say!(
                "bogofilter: made {}; -u learns its own verdicts, mistakes too: correct them by -Ns and -Sn",
                shown_path(&self.model())
            );
        }
        Ok(())
    }

    /// Opens the model for learning. Creates it if there is none.
    pub(crate) fn learner(&self) -> Result<Learner> {
        self.import_once()?;
        let learner = self.create()?;
        labels(learner.filter())?;
        Ok(learner)
    }

    /// Makes a model from bogofilter's word list, if there is one and no model yet. The word list stays as it is.
    fn import_once(&self) -> Result<()> {
        let (model, is_there) = (self.model(), |path: &Path| fs::metadata(path).is_ok());
        let list = WORD_LISTS.iter().map(|name| self.path.join(name)).find(|path| is_there(path));
        let Some(list) = list.filter(|_| !is_there(&model)) else { return Ok(()) };
        let lock = Lock::wait(&model, LearnOptions::default().lock_timeout).map_err(named(&model))?;
        // another process may have been faster
        if !is_there(&model) && !self.import(&list, &lock)? {
            drop(lock);
            self.create()?;
        }
        Ok(())
    }

    /// Makes the model from the word list. Returns whether the list has words.
    fn import(&self, list: &Path, lock: &Lock) -> Result<bool> {
        let mut failed = Vec::new();
        for program in readers(list) {
            match self.import_by(program, list, lock) {
                Err(error) => failed.push(format!("{program}: {error:#}")),
                imported => return imported,
            }
        }
        let [model, list] = [self.model(), list.to_owned()].map(|path| shown_path(&path));
        Err(anyhow!(
            "{list}: bogofilter's word list is here, but not yet a model made of it; where bogoutil is installed: \
             bogoutil -d {list} | tamis import -m {model} --from bogofilter ({})",
            failed.join("; ")
        ))
    }

    fn import_by(&self, program: &str, list: &Path, lock: &Lock) -> Result<bool> {
        let mut command = Command::new(program);
        command.arg("-d").arg(list).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => anyhow!("not installed"),
            _ => error.into(),
        })?;
        let mut output = BufReader::new(child.stdout.take().context("no output")?);
        // lines before the words begin with a dot
        let mut start = Vec::new();
        while output.fill_buf()?.first() == Some(&b'.') {
            output.read_until(b'\n', &mut start)?;
        }
        let has_words = !output.fill_buf()?.is_empty();
        let imported = import_bogofilter(start.as_slice().chain(output), self.parameters);
        let status = child.wait()?;
        match imported {
            _ if !status.success() && !has_words => bail!("it cannot read the list"),
            // an empty list, as bogofilter first creates it
            _ if !has_words => Ok(false),
            Ok((imported, counts)) => {
                lock.save(&imported)?;
                say!(
                    "bogofilter: made {} of bogofilter's word list {}, which stays as it is: imported {}; {} of \
                     MIME parts are lost. It answers as bogofilter does until 100 messages of each kind are registered \
                     anew. What was registered until now cannot be taken back",
                    shown_path(&self.model()),
                    shown_path(list),
                    counted(counts.taken, "token"),
                    grouped(counts.lost)
                );
                Ok(true)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// If there is no model, creates an empty one, which can be retrained as it grows.
    fn create(&self) -> Result<Learner> {
        let path = self.model();
        let mut options = LearnOptions::default();
        options.learned_at = Some(LearnOptions::today());
        let mut of_mail = TrainOptions::new(Kind::Mail);
        of_mail.keep = Some(Keep::Vectors);
        Learner::create(&path, of_mail, ["ham", "spam"], options).map_err(named(&path))
    }

    /// Learns a message, or takes it back. Taking back a message that was never learned does nothing.
    pub(crate) fn register(learner: &mut Learner, what: Registration, mail: &[u8]) -> Result<()> {
        let [ham, spam] = labels(learner.filter())?;
        let document = Document::Mail(mail);
        if what.spam || what.ham {
            // moves the message if it was learned under the other label
            learner.learn(if what.spam { &spam } else { &ham }, document)?;
            return Ok(());
        }
        match learner.forget(Some(if what.unspam { &spam } else { &ham }), document) {
            Err(error) if error.kind() != ErrorKind::NotLearned => Err(error.into()),
            _ => Ok(()),
        }
    }
}

/// The labels of ham and spam.
///
/// # Errors
/// If the model is not a spam filter for mail.
fn labels(filter: &Filter) -> Result<[String; 2]> {
    let spam = filter.spam().filter(|_| filter.classes().len() == 2);
    let spam = spam.filter(|_| filter.information().recipe.kind == Kind::Mail);
    let spam = spam.context("expected a model of mail with two labels, one of them spam")?;
    let label = |class| filter.classes().label(class).unwrap_or_default().to_owned();
    Ok([label(1 - spam), label(spam)])
}

/// The programs that may read the word list, likeliest first. There is one for each kind of database.
fn readers(list: &Path) -> [&'static str; 2] {
    let mut start = [0; 15];
    let read = fs::File::open(list).and_then(|mut file| file.read_exact(&mut start));
    let is_sqlite = read.is_ok() && &start == b"SQLite format 3";
    ["bogoutil", if is_sqlite { "bogoutil-sqlite" } else { "bogoutil-bdb" }]
}
