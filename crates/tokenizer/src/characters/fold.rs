//! Case folding, one character at a time, so that it never depends on context.

use crate::characters::of;
pub(crate) use crate::characters::rules::fold_char;

/// Sets `folded` to `text` in lower case, with `σ` for every sigma.
pub(crate) fn fold_into(text: &str, folded: &mut String) {
    folded.clear();
    for c in text.chars() {
        if stays(c) {
            folded.push(c);
        } else {
            folded.extend(fold_char(c));
        }
    }
}

/// Whether the table shows that folding leaves the character alone.
fn stays(c: char) -> bool {
    let entry = of(c);
    entry.class().begins() && entry.flips() == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fold(text: &str) -> String {
        let mut folded = "left over".to_owned();
        fold_into(text, &mut folded);
        folded
    }

    #[test]
    fn folds() {
        for (text, expected) in [
            ("", ""),
            ("Hello", "hello"),
            ("ÉCOLE", "école"),
            ("ΟΔΟΣ οδος", "οδοσ οδοσ"),
            ("İ", "i\u{307}"),
            ("漢字ẞ", "漢字ß"),
        ] {
            assert_eq!(fold(text), expected);
        }
    }

    #[test]
    fn the_table_tells_what_stays() {
        for c in ('\0'..=char::MAX).filter(|c| stays(*c)) {
            assert!(fold_char(c).eq([c]), "{c:?}");
        }
        assert!("وسلم漢字42é".chars().all(stays) && !stays('Ж') && !stays('ς'));
    }

    proptest! {
        #[test]
        fn folding_again_changes_nothing(text in ".*") {
            prop_assert_eq!(fold(&fold(&text)), fold(&text));
        }
    }
}
