//! Stemming with a cache.

use hashbrown::HashMap;

use crate::terms::language::Language;

/// A cache of stems in one language.
///
/// Stemming a word takes about thirty times as long as looking it up. The cache is cleared when it reaches its bound,
/// so new words cannot make it grow for ever.
#[derive(Clone, Default, Debug)]
pub(crate) struct StemCache {
    language: Option<Language>,
    stems: HashMap<String, Box<str>>,
    bytes: usize,
}

impl StemCache {
    /// Room for about 30,000 words.
    const MAX_BYTES: usize = 4 << 20;
    /// Overhead of an entry: its slot in a table that may be half empty, and two heap blocks.
    const ENTRY_BYTES: usize = 120;

    /// Returns the stem of `word`, or `word` itself if stemming leaves nothing.
    pub(crate) fn stem(&mut self, language: Language, word: &str) -> &str {
        if self.language != Some(language) || self.bytes > Self::MAX_BYTES {
            *self = StemCache { language: Some(language), stems: std::mem::take(&mut self.stems), bytes: 0 };
            self.stems.clear();
        }
        let bytes = &mut self.bytes;
        self.stems.entry_ref(word).or_insert_with(|| {
            let stem = language.stemmer().stem(word);
            let stem = if stem.is_empty() { word } else { &*stem };
            *bytes += Self::ENTRY_BYTES + word.len() + stem.len();
            stem.into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::text;
    use proptest::prelude::*;

    #[test]
    fn stems_by_language() {
        let mut cache = StemCache::default();
        for _ in 0..2 {
            assert_eq!(cache.stem(Language::English, "fruitlessly"), "fruitless");
        }
        assert_eq!(cache.stems.len(), 1);
        assert_eq!(cache.stem(Language::German, "fruitlessly"), "fruitlessly");
        assert_eq!(cache.stem(Language::German, "häuser"), "haus");
        assert_eq!(cache.stem(Language::English, ""), "");
    }

    #[test]
    fn new_words_without_end_do_not_fill_the_memory() {
        let mut cache = StemCache::default();
        for number in 0..100_000 {
            cache.stem(Language::English, &format!("word{number}"));
            assert!(cache.bytes <= StemCache::MAX_BYTES + 200);
        }
        assert!(cache.stems.len() < 100_000 && !cache.stems.is_empty());
    }

    proptest! {
        #[test]
        fn every_language_stems_anything(words in prop::collection::vec(text(), 1..4), any in "\\PC{1,12}") {
            let mut cache = StemCache::default();
            for language in Language::ALL {
                for word in words.iter().chain([&any]).filter(|word| !word.is_empty()) {
                    prop_assert!(!cache.stem(language, word).is_empty());
                }
            }
        }
    }
}
