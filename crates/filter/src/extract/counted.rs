//! The counts of a document, kept without the document.

use std::fmt;

use tamis_store::kind::Kind;
use tamis_tokenizer::{TermCount, Vocabulary, VocabularyFull};

use crate::extract::extraction::{DocumentFacts, Extraction};
use crate::extract::part_verdict::PartVerdict;

/// The counts of a mail or text that was scored: enough to score, explain, learn or forget it as if it were still
/// there, and not the document. Its words stand in the order in which each occurred first. What its parts said is kept as it
/// was.
///
/// ```
/// use tamis_train::{Document, Kind, Scratch, TrainOptions, Trainer};
///
/// let mut trainer = Trainer::new(TrainOptions::new(Kind::Mail))?;
/// trainer.add("ham", Document::Mail(b"Subject: lunch\n\nSoup at noon?\n"))?;
/// trainer.add("spam", Document::Mail(b"Subject: pills\n\nCheap pills, buy now!\n"))?;
/// let filter = trainer.finish()?.into_filter()?;
///
/// let mut scratch = Scratch::default();
/// scratch.keep_counts(true);
/// let score = filter.score_mail(b"Subject: offer\n\nbuy cheap pills, cheap!\n", &mut scratch)?;
/// let counted = filter.counted(&scratch);
/// assert_eq!(filter.score(Document::Counted(&counted), &mut scratch)?, score);
/// # Ok::<(), tamis_train::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct CountedDocument {
    /// The kind of models that it was counted for.
    pub(super) kind: Kind,
    /// The words, one after the other.
    text: String,
    /// The end of each word in `text`, and its occurrences.
    words: Vec<(u32, u32)>,
    facts: DocumentFacts,
    /// What its parts said.
    pub(crate) part: Option<PartVerdict>,
}

impl CountedDocument {
    pub(crate) fn new(
        kind: Kind,
        counted: &Extraction,
        vocabulary: &Vocabulary,
        part: Option<PartVerdict>,
    ) -> Self {
        let (mut text, words) = (String::new(), counted.words(vocabulary.document()));
        let mut place = |word: &TermCount| {
            text.push_str(vocabulary.term(word.id).unwrap_or_default());
            (text.len() as u32, word.count)
        };
        CountedDocument {
            kind,
            words: words.iter().map(&mut place).collect(),
            text,
            facts: counted.facts.clone(),
            part,
        }
    }

    /// The bytes that it takes in memory.
    pub fn n_bytes(&self) -> usize {
        let DocumentFacts { name, stable_fields, dense, body_words, .. } = &self.facts;
        let texts = self.text.len() + name.len() + stable_fields.len();
        let lists = size_of_val(&dense[..]) + size_of_val(&body_words[..]);
        size_of::<Self>() + lists + texts + self.words.len() * size_of::<(u32, u32)>()
    }

    /// The name of the document: a mail's Message-ID. Empty if it has none.
    pub fn name(&self) -> &str {
        &self.facts.name
    }

    /// The words with their occurrences.
    pub fn words(&self) -> impl Iterator<Item = (&str, u32)> {
        let mut start = 0;
        self.words.iter().map(move |(end, n)| {
            let word = &self.text[std::mem::replace(&mut start, *end as usize)..*end as usize];
            (word, *n)
        })
    }

    /// Counts the words again.
    pub(super) fn count(
        &self,
        counted: &mut Extraction,
        vocabulary: &mut Vocabulary,
    ) -> Result<(), VocabularyFull> {
        counted.facts = self.facts.clone();
        for (word, n) in self.words() {
            (0..n).try_for_each(|_| vocabulary.count(word).map(drop))?;
        }
        Ok(())
    }
}

impl fmt::Debug for CountedDocument {
    /// Without the words, which may come from someone's mail.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CountedDocument({}, {} words)", self.kind, self.words.len())
    }
}
