//! What a term says, for telling variations of a text from other texts.

use tamis_store::config::refinement::Refinement;
use tamis_store::kind::Kind;
use tamis_tokenizer::fingerprint;

/// A hash of the word that a term is, without what varies from copy to copy: upper case, and what follows an apostrophe, which
/// HTML escapes; numbers and the names of hosts are all one word. 0 of what is no word: single letters, signs, pairs and
/// pieces, and what a table says in columns that are not text. Of mail, every term is a word.
pub(crate) fn word_hash(kind: Kind, term: &str) -> u64 {
    let word = match (kind, term.split_once(':')) {
        (Kind::Mail, _) => return fingerprint(term) | 2,
        (Kind::Table, None) => return 0,
        (_, Some((_, word))) => word,
        (_, None) => term,
    };
    let varies = |c: char| c.is_numeric() || c == '.' || c == '@';
    match word.split(['\'', '’']).next().unwrap_or_default() {
        _ if Refinement::of_term(term).is_some() => 0,
        word if word.contains(varies) => 1,
        word if word.len() < 2 => 0,
        word if word.chars().any(char::is_uppercase) => fingerprint(&word.to_lowercase()) | 2,
        word => fingerprint(word) | 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_a_word_are_alike_and_other_terms_do_not_count() {
        let hash = |term| word_hash(Kind::Text, term);
        assert_eq!(hash("soup"), hash("Soup"));
        assert_eq!(hash("title:don't"), hash("don"));
        assert_eq!([hash("x27"), hash("bit.ly")], [hash("7"), hash("title:2020")]);
        assert!(hash("soup") != hash("soups") && hash("soup") != hash("7"));
        for nothing in ["t", "^", "^!", "soup pears", "so~", "~up"] {
            assert_eq!(hash(nothing), 0, "{nothing}");
        }
        assert_eq!(word_hash(Kind::Table, "colour=red"), 0);
        assert!(word_hash(Kind::Mail, "s:soup") != word_hash(Kind::Mail, "soup"));
    }
}
