//! Errors of the settings file, with the nearest known key for one that is not known.

use anyhow::anyhow;

/// The error of parsing, with a suggestion if a key is not known.
pub(crate) fn explain_unknown(error: toml::de::Error) -> anyhow::Error {
    let text = error.to_string();
    let text = text.trim_end();
    match nearest_to_unknown(error.message()) {
        Some(nearest) => anyhow!("{text}\ndid you mean {nearest}?"),
        None => anyhow!("{text}"),
    }
}

/// The known key nearest to the unknown one, from a message of serde: "unknown field `a`, expected one of `b`, `c`".
fn nearest_to_unknown(message: &str) -> Option<&str> {
    let mut quoted = message.strip_prefix("unknown field ")?.split('`').skip(1).step_by(2);
    let unknown = quoted.next()?;
    let (distance, nearest) = quoted.map(|known| (edits(unknown, known), known)).min()?;
    (distance <= 1 + unknown.len() / 3).then_some(nearest)
}

/// The edit distance of two words (Levenshtein).
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use crate::settings::file::Settings;

    #[test]
    fn an_unknown_key_names_the_nearest() {
        for (text, nearest) in [
            ("[spamd]\nlistne = []\n", "listen"),
            ("[milters]\n", "milter"),
            ("[limits]\nconections = 5\n", "connections"),
        ] {
            let error = format!("{:#}", Settings::parse(text).unwrap_err());
            assert!(error.ends_with(&format!("did you mean {nearest}?")), "{error}");
        }
        let error = format!("{:#}", Settings::parse("quux = 1").unwrap_err());
        assert!(!error.contains("did you mean"), "{error}");
    }

    #[test]
    fn values_out_of_range_are_errors() {
        for text in [
            "[milter]\nreject = 1.5\n",
            "[verdict]\ncost = 0\n",
            "[models]\nusers = \"/models/joe.tamis\"\n",
            "[http]\npassword = \"secret\"\n",
            "[spamd]\nmode = \"0999\"\n",
            "[spamd]\nlisten = [\"127.0.0.1:783\"]\n",
            "[limits]\nmessage_bytes = 100_000_000\n",
            "[milter]\nreject_text = \"no\\r\\n250 ok\"\n",
        ] {
            assert!(Settings::parse(text).is_err(), "{text}");
        }
        assert!(Settings::parse("").is_ok());
    }
}
