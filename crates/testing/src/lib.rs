//! Helpers that the tests of the other crates share: approximate comparison, counted steps of work, waiting for
//! an event, the public corpora,
//! and a strict reader of HTML pages.

#![forbid(unsafe_code)]

pub mod html;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Whether `got` is within `tolerance * (1 + |expected|)` of `expected`.
pub fn near(got: f64, expected: f64, tolerance: f64) -> bool {
    (got - expected).abs() <= tolerance * (1.0 + expected.abs())
}

/// Panics unless both lists have the same length and their numbers are [`near`], pair by pair.
#[track_caller]
pub fn check_near(what: &str, got: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len(), "{what}");
    let all = got.iter().zip(expected).all(|(got, expected)| near(*got, *expected, tolerance));
    assert!(all, "{what}: got {got:?}, expected {expected:?}");
}

thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// Counts `n` steps of work, such as bytes looked at. A scan calls it wherever it passes over text, under
/// `#[cfg(test)]`.
pub fn step(n: usize) {
    STEPS.set(STEPS.get() + n);
}

/// Runs `work` and returns the steps that it counted.
pub fn steps(work: impl FnOnce()) -> usize {
    let before = STEPS.get();
    work();
    STEPS.get() - before
}

/// Panics unless the steps of `scan` grow linearly with its text: for twice as many repetitions of a unit, it may count
/// at most two and a half times the steps.
#[track_caller]
pub fn check_linear(units: &[&str], scan: impl Fn(&str)) {
    const BYTES: usize = 30_000;
    let mut all = 0;
    for unit in units {
        let text = unit.repeat(2 * BYTES.div_ceil(unit.len()));
        let [once, twice] = [text.len() / 2, text.len()].map(|length| steps(|| scan(&text[..length])));
        assert!(2 * twice <= 5 * once, "{unit:?}: {once} steps, of twice the text {twice}");
        all += once;
    }
    assert!(all >= BYTES, "{all} steps: they are not counted");
}

/// Waits until `condition` holds. Panics with the text of `describe` after a minute.
#[track_caller]
pub fn wait_for(mut condition: impl FnMut() -> bool, describe: impl Fn() -> String) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(60), "not within a minute: {}", describe());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The folder of a public corpus such as `spamassassin`; with an empty `name`, the folder of them all. Looks in the
/// folder that `TAMIS_CORPORA` names, or else in `../shared/corpora` beside the repository. If there is no such folder,
/// reports that the test is skipped and returns `None`.
#[track_caller]
pub fn public_corpus(name: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora");
    let path = std::env::var_os("TAMIS_CORPORA").map_or_else(beside, PathBuf::from).join(name);
    if !path.is_dir() {
        skip(&format!("{} is not here", path.display()));
        return None;
    }
    Some(path)
}

/// Reports that a test is skipped, and why.
///
/// # Panics
/// If `TAMIS_SKIP_NOTHING` is set, which promises that everything the tests need is present.
#[track_caller]
#[allow(clippy::print_stderr, reason = "a test that is skipped says so")]
pub fn skip(why: &str) {
    assert!(std::env::var_os("TAMIS_SKIP_NOTHING").is_none(), "nothing may be skipped, but {why}");
    eprintln!("skipped: {why}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_that_begins_anew_everywhere_is_not_linear() {
        check_linear(&["ab"], |text| step(text.len()));
        let quadratic = || check_linear(&["ab"], |text| (0..text.len()).for_each(step));
        assert!(std::panic::catch_unwind(quadratic).is_err());
        assert!(std::panic::catch_unwind(|| check_linear(&["ab"], |_| ())).is_err());
    }
}
