//! Terms for the form of the subject; its words are emitted as text.
use super::emitter::Emitter;

/// Emits whether the subject is all capitals, and whether it has a trailing token after a gap (which makes each copy
/// differ), an exclamation mark, or `Re:` in front.
pub(super) fn terms(subject: &str, out: &mut Emitter<'_>) {
    if subject.is_empty() {
        return;
    }
    let is_capitals = subject.contains(char::is_uppercase) && !subject.contains(char::is_lowercase);
    out.term(&[if is_capitals { "subj:caps" } else { "subj:nocaps" }]);
    if has_trail(subject) {
        out.term(&["subj:trail"]);
    }
    if subject.contains('!') {
        out.term(&["subj:excl"]);
    }
    if subject.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("re:")) {
        out.term(&["subj:re"]);
    }
}

/// Whether the last word follows four or more white-space characters.
fn has_trail(subject: &str) -> bool {
    let before = subject.trim_end_matches(|c: char| !c.is_whitespace());
    before.chars().rev().take_while(|c| c.is_whitespace()).take(4).count() == 4
        && before.len() < subject.len()
}

#[cfg(test)]
mod tests {
    use crate::terms::emitter::testing::terms;

    #[test]
    fn shapes() {
        for (subject, expected) in [
            ("", &[][..]),
            ("Offer", &["subj:nocaps"]),
            ("FREE 4 YOU!", &["subj:caps", "subj:excl"]),
            ("123", &["subj:nocaps"]),
            ("Re: you", &["subj:nocaps", "subj:re"]),
            ("RE: ÄÖ", &["subj:caps", "subj:re"]),
            ("re\u{e9}", &["subj:nocaps"]),
            ("Buy    xk12", &["subj:nocaps", "subj:trail"]),
            ("Buy   xk12", &["subj:nocaps"]),
            ("Buy    ", &["subj:nocaps"]),
        ] {
            assert_eq!(terms(|out| super::terms(subject, out)), expected, "{subject:?}");
        }
        for unit in [" ", "x", " x", "!"] {
            terms(|out| super::terms(&unit.repeat(1_000_000), out));
        }
    }
}
