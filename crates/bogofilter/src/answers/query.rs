//! The program's answers about itself: `-h`, `-V` and `-Q`.

use std::fmt::Write as _;

use tamis_program::shown_path;
use tamis_train::options::RobinsonFisher;

use crate::answers::numbers::Notation;
use crate::options::settings::BogofilterSettings;

/// The release of bogofilter that is imitated.
const BOGOFILTER: &str = "1.2.5";

/// The output of `-h`.
pub(crate) const HELP: &str = "\
Usage: bogofilter [OPTION...] < MESSAGE

Does what bogofilter does, with a model of tamis: DIR/model.tamis.

Score:
  -p  write the message with the verdict in its header    -e  exit with 0 whatever the verdict
  -u  register the message as what it was found to be     -M  the input is an mbox
  -b  score files and folders named on standard input     -B  score those named as arguments
  -t  print a letter and the score, -T for scripts, -TT the score alone; -v a line, -vv, -vvv, -R words
Register:
  -s  as spam, -n as ham; -S take back as spam, -N as ham; -Sn and -Ns correct a verdict
General:
  -d DIR  the folder of the model [BOGOFILTER_DIR, else ~/.bogofilter]
  -I FILE the message  -O FILE the output of -p  -c FILE the configuration  -C none
  -o SPAM,HAM  cutoffs [0.99,0.45]  --NAME=VALUE any setting of bogofilter.cf
  -q  -U  -D  -x FLAGS  -Q show settings  -V version  -h this help
  -m MIN_DEV,ROBS,ROBX  the formula of a word list that is taken over [0.375,0.0178,0.52]
Read, and of no effect: -H -k -l -L -y -X, and settings of its words and database

Exit status: 0 spam, 1 ham, 2 unsure, 3 any error.
";

/// The output of `-V`. Scripts look for the kind of database in the second line.
pub(crate) fn version() -> String {
    let own = env!("CARGO_PKG_VERSION");
    format!(
        "bogofilter version {BOGOFILTER}, as tamis {own} does it\n    Database: a tamis model, in the place of SQLite\n"
    )
}

/// The output of `-Q`.
pub(crate) fn settings(settings: &BogofilterSettings) -> String {
    let RobinsonFisher { robx, robs, min_dev } = settings.robinson;
    let [spam_cutoff, ham_cutoff] = settings.cutoffs;
    let [ns_esf, sp_esf] = settings.esf;
    let mut out = format!("# bogofilter version {BOGOFILTER}\n\n");
    for (name, value) in [
        ("robx", robx),
        ("robs", robs),
        ("min_dev", min_dev),
        ("ham_cutoff", ham_cutoff),
        ("spam_cutoff", spam_cutoff),
        ("ns_esf", ns_esf),
        ("sp_esf", sp_esf),
    ] {
        // writing to a String cannot fail
        let _ = writeln!(out, "{name:<11} = {value:.6}  # ({:>8})", Notation::Scientific.write(value, 2));
    }
    for (is_extended, name, value) in values(settings) {
        if name.is_empty() {
            out.push('\n');
        } else if !is_extended || settings.query > 1 {
            let _ = writeln!(out, "{name:<17} = {value}");
        }
    }
    out
}

/// The settings that are not numbers, in the order of printing, with empty lines between. The first element says
/// whether a setting is printed only with `-QQ`.
fn values(settings: &BogofilterSettings) -> Vec<(bool, &'static str, String)> {
    let yes = |value: bool| if value { "Yes" } else { "No" }.to_owned();
    let or_none = |text: &str| if text.is_empty() { "''" } else { text }.to_owned();
    let states = if settings.cutoffs[1] <= f64::EPSILON { 2 } else { 3 };
    vec![
        (false, "", String::new()),
        (false, "block-on-subnets", yes(settings.block_on_subnets)),
        (false, "encoding", if settings.unicode { "utf-8" } else { "raw" }.to_owned()),
        (false, "charset-default", settings.charset_default.clone()),
        (false, "replace-nonascii-characters", yes(settings.replace_nonascii)),
        (false, "stats-in-header", yes(settings.stats_in_header)),
        (true, "report-unsure", yes(settings.unsure_stats)),
        (false, "thresh-update", format!("{:.6}", settings.thresh_update)),
        (false, "timestamp", yes(settings.timestamp)),
        (false, "", String::new()),
        (false, "spam-header-name", settings.header_name.clone()),
        (false, "spam-header-place", or_none(&settings.header_place)),
        (false, "spam-subject-tag", or_none(&settings.spam_subject_tag)),
        (false, "unsure-subject-tag", or_none(&settings.unsure_subject_tag)),
        (true, "syslog-tag", or_none(&settings.log_tag)),
        (false, "header-format", settings.header_format.clone()),
        (false, "terse-format", settings.terse_format.clone()),
        (false, "log-header-format", settings.log_header_format.clone()),
        (false, "log-update-format", settings.log_update_format.clone()),
        (false, "spamicity-tags", settings.tags[..states].join(", ")),
        (false, "spamicity-formats", settings.spamicity_formats[..states].join(", ")),
        (true, "user-config-file", shown_path(settings.user_config_file())),
    ]
}
