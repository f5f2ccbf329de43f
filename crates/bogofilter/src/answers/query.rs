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
    let RobinsonFisher { robx, robs, min_dev } = settings.classification.robinson;
    let [spam_cutoff, ham_cutoff] = settings.classification.cutoffs;
    let [ns_esf, sp_esf] = settings.ignored.esf;
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
    let BogofilterSettings { classification, verbosity, formats, ignored, .. } = settings;
    let yes = |value: bool| if value { "Yes" } else { "No" }.to_owned();
    let or_none = |text: &str| if text.is_empty() { "''" } else { text }.to_owned();
    let states = if classification.cutoffs[1] <= f64::EPSILON { 2 } else { 3 };
    vec![
        (false, "", String::new()),
        (false, "block-on-subnets", yes(ignored.block_on_subnets)),
        (false, "encoding", if ignored.unicode { "utf-8" } else { "raw" }.to_owned()),
        (false, "charset-default", ignored.charset_default.clone()),
        (false, "replace-nonascii-characters", yes(ignored.replace_nonascii)),
        (false, "stats-in-header", yes(formats.stats_in_header)),
        (true, "report-unsure", yes(verbosity.unsure_stats)),
        (false, "thresh-update", format!("{:.6}", classification.thresh_update)),
        (false, "timestamp", yes(ignored.timestamp)),
        (false, "", String::new()),
        (false, "spam-header-name", formats.header_name.clone()),
        (false, "spam-header-place", or_none(&formats.header_place)),
        (false, "spam-subject-tag", or_none(&formats.spam_subject_tag)),
        (false, "unsure-subject-tag", or_none(&formats.unsure_subject_tag)),
        (true, "syslog-tag", or_none(&formats.log_tag)),
        (false, "header-format", formats.header_format.clone()),
        (false, "terse-format", formats.terse_format.clone()),
        (false, "log-header-format", ignored.log_header_format.clone()),
        (false, "log-update-format", ignored.log_update_format.clone()),
        (false, "spamicity-tags", formats.tags[..states].join(", ")),
        (false, "spamicity-formats", formats.spamicity[..states].join(", ")),
        (true, "user-config-file", shown_path(settings.user_config_file())),
    ]
}
