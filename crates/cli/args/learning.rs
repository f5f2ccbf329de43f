//! The command line of learning in use.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use tamis_filter::LearnOptions;

use super::{FallbackArg, InputArgs, ModelArg};

/// How a model is changed.
#[derive(Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ChangeArgs {
    /// Seconds to wait while another process changes the model
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) wait: u64,
    /// Bytes of the model file's log beyond which the file is written anew, if it may not grow; a quarter of it becomes a segment else
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
        let patience = Duration::from_secs(self.wait);
        LearnOptions { patience, log_limit: self.log_limit, ..LearnOptions::default() }
    }
}

#[derive(Args)]
#[command(after_help = "\
What was learned is on the disk when the program returns, whatever happens to the machine after. \
A document that is known under the label stays as it is; one that is known under another label \
moves. Where there is no model, one is made: of ham and spam, or like that of --fallback.

Example:
  tamis learn spam < message.eml
  tamis learn ham \"$HOME/Maildir/.Archive\"
  tamis learn spam --if-wrong < message.eml
  grep -l casino mail/* | tamis learn spam --files-from -")]
pub(crate) struct LearnArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    #[command(flatten)]
    pub(crate) fallback: FallbackArg,
    /// The label to learn the documents under
    #[arg(value_name = "LABEL")]
    pub(crate) label: String,
    /// Files, folders, mboxes, Maildirs; standard input by default
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<OsString>,
    /// Learn only documents that the model does not label so already
    #[arg(long)]
    pub(crate) if_wrong: bool,
    /// Like --if-wrong, but learn also what the model labels so with log-odds below X (nats)
    #[arg(long, value_name = "X")]
    pub(crate) margin: Option<f64>,
    /// Allow a label that the model does not know yet
    #[arg(long)]
    pub(crate) new_label: bool,
    /// Do not fit the model anew when much was learned since that was last done. With a shared model behind it that
    /// is never done
    #[arg(long)]
    pub(crate) no_retrain: bool,
    /// The labels of a new model, made where there is none [default: ham,spam]
    #[arg(long, value_name = "LABEL,LABEL", value_delimiter = ',')]
    pub(crate) labels: Vec<String>,
    /// Do not remember in a new model what messages are called (their Message-IDs)
    #[arg(long)]
    pub(crate) no_names: bool,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

#[derive(Args)]
#[command(after_help = "\
Forgetting takes away exactly what learning added. The first argument is the label if the model \
knows such a label; write ./spam for a file of that name.

Example:
  tamis forget < message.eml
  tamis forget spam message.eml
  tamis forget --name '<1@example.org>'
  tamis forget --digest 0123456789abcdef0123456789abcdef")]
pub(crate) struct ForgetArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// The label they were learned under, if that is to be checked; then files, folders, mboxes, Maildirs. Standard
    /// input by default
    #[arg(value_name = "[LABEL] PATH")]
    pub(crate) paths: Vec<OsString>,
    /// Forget the document with this digest, as `inspect --suspects` prints it; it need not be at hand
    #[arg(long, value_name = "HEX", conflicts_with = "files_from")]
    pub(crate) digest: Vec<Digest>,
    /// Forget the message with this Message-ID, likewise
    #[arg(long, value_name = "MESSAGE-ID", conflicts_with = "files_from", allow_hyphen_values = true)]
    pub(crate) name: Vec<String>,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

/// Fits anew what learning one by one leaves as it was.
#[derive(Args)]
#[command(after_help = "\
What is learned one by one leaves the correction, the calibration and the thresholds as they were. \
This fits them to all documents that the model remembers, as train does.")]
pub(crate) struct RetrainArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

/// A document's identity, 32 hexadecimal digits.
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
