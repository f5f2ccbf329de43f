//! Case folding, one character at a time, so that it never depends on context.

pub(crate) use crate::characters::rules::fold_char;

/// Sets `folded` to `text` in lower case, every sigma as `σ`.
pub(crate) fn fold_into(text: &str, folded: &mut String) {
    folded.clear();
    folded.extend(text.chars().flat_map(fold_char));
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

    proptest! {
        #[test]
        fn folding_again_changes_nothing(text in ".*") {
            prop_assert_eq!(fold(&fold(&text)), fold(&text));
        }
    }
}
