//! `tamis forget`

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;
use tamis_program::{ERROR, commit, counted, named, say, shown, shown_path};
use tamis_train::Known;
use tamis_train::{ErrorKind, Filter, Learner, document_name, split_labels};

use crate::args::{ChangeArgs, InputArgs, ModelArg};
use crate::commands::learn::{ProgressArgs, corpus, for_each};
use crate::formats::labels::learned_as;
use crate::input::Wanted;
use crate::output::labels;

#[derive(Args)]
#[command(after_help = "\
Forgetting removes exactly what learning added. The first argument is a label if the model knows \
it; write ./spam for a file of that name.

Example:
  tamis forget < message.eml
  tamis forget spam message.eml
  tamis forget --name '<1@example.org>'
  tamis forget --digest 0123456789abcdef0123456789abcdef")]
pub(crate) struct ForgetArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// Optional label that the documents must have been learned under, then files, folders, mboxes, Maildirs. Standard
    /// input by default
    #[arg(value_name = "[LABEL] PATH")]
    pub(crate) paths: Vec<OsString>,
    /// Forget the document with this digest, as `inspect --suspects` prints it; its file is not needed
    #[arg(long, value_name = "HEX", conflicts_with = "files_from")]
    pub(crate) digest: Vec<Digest>,
    /// Forget the message with this Message-ID; its file is not needed
    #[arg(long, value_name = "MESSAGE-ID", conflicts_with = "files_from", allow_hyphen_values = true)]
    pub(crate) name: Vec<String>,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

/// The digest of a document, 32 hexadecimal digits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digest(pub(crate) [u8; 16]);

impl std::str::FromStr for Digest {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let number = (s.len() == 32).then(|| u128::from_str_radix(s, 16).ok()).flatten();
        let number = number.ok_or_else(|| format!("expected 32 hexadecimal digits, got {s:?}"))?;
        Ok(Digest(number.to_be_bytes()))
    }
}

pub(crate) fn run(args: &ForgetArgs) -> Result<u8> {
    let path = args.model.path()?;
    let filter = args.model.open()?;
    let first = args.paths.first().and_then(|first| first.to_str());
    let label = first.filter(|first| knows(&filter, first)).map(|first| learned_as(&filter, first));
    let label = label.as_deref();
    if let (None, Some(first)) = (label, args.paths.first())
        && first != "-"
        && !Path::new(first).exists()
    {
        let known = labels(filter.classes()).join(", ");
        bail!("{}: expected a label ({}) or a path, got neither", shown_path(first), shown(&known));
    }
    let paths = if label.is_some() { &args.paths[1..] } else { &args.paths[..] };
    let is_at_hand = args.digest.is_empty() && args.name.is_empty() || !paths.is_empty();
    let corpus =
        is_at_hand.then(|| corpus(paths, Wanted::Documents, &args.input, Some(&filter))).transpose()?;
    let mut learner = Learner::open(&path, args.change.options()).map_err(named(&path))?;
    let (mut forgotten, mut unknown, mut name) = (0, 0, None);
    for digest in &args.digest {
        name = learner.forget_digest(label, digest.0)?;
        forgotten += 1;
    }
    for (digest, label) in of_names(&args.name, label, learner.filter())? {
        name = learner.forget_digest(Some(&label), digest)?;
        forgotten += 1;
    }
    let mut unreadable = 0;
    if let Some(mut corpus) = corpus {
        unreadable = for_each(&mut corpus, &mut learner, &args.progress, |learner, item, _, document| {
            match learner.forget(label, document) {
                Ok(its) => (forgotten, name) = (forgotten + 1, its),
                Err(error) if error.kind() == ErrorKind::NotLearned => {
                    say!("tamis: {}: {error}", shown_path(&item.name()));
                    unknown += 1;
                }
                Err(error) => return Err(error.into()),
            }
            Ok(())
        })?;
    }
    commit(&mut learner)?;
    let name = name.filter(|_| forgotten == 1).map_or(String::new(), |name| format!(": {}", shown(&name)));
    let usual = format!("forgot {}{name}", counted(forgotten, "document"));
    args.progress.print_last("Forgot", forgotten, forgotten + unknown, &usual)?;
    Ok(if unknown > 0 { ERROR } else { unreadable })
}

/// Whether the model knows a label, or each of several.
fn knows(filter: &Filter, label: &str) -> bool {
    split_labels(&learned_as(filter, label)).all(|label| filter.classes().index(label).is_some())
}

/// The digests and labels of the documents with these names, restricted to `label` if it is given.
fn of_names(names: &[String], label: Option<&str>, filter: &Filter) -> Result<BTreeSet<([u8; 16], String)>> {
    let names: BTreeMap<_, _> = names.iter().map(|typed| (document_name(typed), typed)).collect();
    let (mut documents, mut missing) = (BTreeSet::new(), names.clone());
    for known in filter.documents().filter(|_| !names.is_empty()) {
        let Known { digest, class, name, .. } = known?;
        let own = filter.learned_label(class);
        let name = name.filter(|name| names.contains_key(name) && label.is_none_or(|label| label == own));
        if let Some(name) = name {
            documents.insert((digest, own.to_owned()));
            missing.remove(&name);
        }
    }
    if let Some(typed) = missing.values().next() {
        let under = label.map_or(String::new(), |label| format!(" as {}", shown(label)));
        let hint =
            if filter.information().stored.names { "" } else { "; this model remembers none (--no-names)" };
        let got = shown(typed);
        bail!(
            "--name: expected a Message-ID learned{under}, as inspect --suspects prints it, got {got}{hint}"
        );
    }
    Ok(documents)
}
