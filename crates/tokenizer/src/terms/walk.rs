//! Finds and folds the words of a run that is not all ASCII, in place, with one look-up per character.
//!
//! The character table suffices for nearly all text. Where it does not, the walk stops and hands the text between two
//! *cuts* to the exact code. The texts before and after a cut are independent of each other. A cut is a sign or space
//! that neither is a word nor belongs to one, joins nothing and does not compose. After it comes a letter, digit or
//! ideograph that normalization does not change and that does not compose with what is before it.

use unicode_normalization::char::{canonical_combining_class, compose, decompose_canonical};

use crate::characters::entry::{CharacterClass, CharacterEntry};
use crate::characters::rules::{is_diacritic, is_unspaced_alphabet, look_alike};
use crate::characters::{entry_of, look};
use crate::terms::letters::{Letters, end_of_three_bytes, of_two_bytes};
use crate::terms::options::TokenizerOptions;
use crate::words::WordRule;
use crate::words::exact::start;
use crate::words::unspaced::Four;

/// A piece of text for the exact code, and the state after it.
pub(crate) struct Unusual {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Whether the mail run that continues after the piece is known to be not all ASCII.
    non_ascii: bool,
    /// The last cut.
    cut: usize,
    /// Where the run ends.
    run_end: usize,
}

/// Signals that the walk cannot go on.
struct Stop;

/// A walk along a run.
pub(crate) struct Walk<'a> {
    options: &'a TokenizerOptions,
    text: &'a str,
    bytes: &'a [u8],
    /// The text with its ASCII folded. Other words are folded in place; no fold here changes their length.
    folded: &'a mut [u8],
    spans: &'a mut Vec<[usize; 2]>,
    at: usize,
    end: usize,
    /// The last cut, and the number of spans there.
    cut: usize,
    kept: usize,
    mail: MailRun,
}

/// The current mail run. Only a run that is not all ASCII is split into the words of UAX #29.
struct MailRun {
    start: usize,
    /// Number of spans before the run.
    spans: usize,
    non_ascii: bool,
    /// Whether look-alikes in the run were replaced.
    changed: bool,
}

/// How the current word looks. Only the letters, digits and marks at its end count, which normalization treats as one
/// word.
#[derive(Clone, Copy)]
struct Looks {
    start: usize,
    /// The AND and the OR of the characters' flags.
    all: u32,
    any: u32,
}

impl Looks {
    fn at(start: usize, touches: bool) -> Self {
        Looks { start, all: if touches { 0 } else { u32::MAX }, any: 0 }
    }

    fn ascii(self) -> bool {
        self.all & CharacterEntry::LOOKS_ASCII != 0
    }

    fn has_look_alikes(self) -> bool {
        self.any & CharacterEntry::LOOK_ALIKE != 0
    }
}

impl Letters {
    /// Whether the letters form a word that needs only folding.
    #[inline(always)]
    fn are_a_word(self) -> bool {
        // a look-alike of ASCII needs more
        self.all & (CharacterEntry::PLAIN | CharacterEntry::LOOKS_ASCII) == CharacterEntry::PLAIN
            && self.first.class().begins()
    }
}

impl<'a> Walk<'a> {
    /// Finds the words of `text[start..end]` and appends them to the spans. Earlier runs end at `cut`.
    #[inline(always)]
    pub(crate) fn run(
        options: &'a TokenizerOptions,
        text: &'a str,
        [cut, start, end]: [usize; 3],
        folded: &'a mut [u8],
        spans: &'a mut Vec<[usize; 2]>,
    ) -> Result<(), Unusual> {
        let bytes = text.as_bytes();
        if bytes[start] < 0xe0
            && let Some(letters) = of_two_bytes(bytes, start, end)
            && letters.are_a_word()
            // a Hebrew letter may come before the quotation mark
            && bytes.get(end) != Some(&b'\'')
        {
            if letters.any & CharacterEntry::FLIPS != 0 && options.fold_case {
                fold(&mut folded[start..end]);
            }
            spans.push([start, end]);
            return Ok(());
        }
        let kept = spans.len();
        let word_end = end_of_three_bytes(bytes, start, end);
        spans.extend(word_end.map(|end| [start, end]));
        if word_end == Some(end) {
            return Ok(());
        }
        let at = word_end.unwrap_or(start);
        let mail = MailRun { start, spans: kept, non_ascii: at > start, changed: false };
        Walk { options, text, bytes, folded, spans, at, end, cut, kept, mail }.walk()
    }

    /// Resumes after a piece that the exact code handled.
    #[cold]
    pub(crate) fn resume(
        options: &'a TokenizerOptions,
        text: &'a str,
        after: &Unusual,
        folded: &'a mut [u8],
        spans: &'a mut Vec<[usize; 2]>,
    ) -> Result<(), Unusual> {
        let (at, end, kept) = (after.end, after.run_end, spans.len());
        let mail = MailRun { start: at, spans: kept, non_ascii: after.non_ascii, changed: false };
        let bytes = text.as_bytes();
        Walk { options, text, bytes, folded, spans, at, end, cut: after.cut, kept, mail }.walk()
    }

    #[inline(always)]
    fn walk(&mut self) -> Result<(), Unusual> {
        self.words().and_then(|()| self.end_mail_run()).map_err(|Stop| self.unusual())
    }

    #[inline(always)]
    fn words(&mut self) -> Result<(), Stop> {
        // whether the character before is a letter of the other kind of script, with or without spaces
        let mut touches = false;
        while self.at < self.end {
            let (entry, length) = self.look();
            let class = entry.class();
            if class.is_unspaced() {
                self.unspaced(class)?;
                touches = true;
            } else if class.begins() || class == CharacterClass::Underscore {
                self.word(touches)?;
                touches = true;
            } else if class == CharacterClass::Neutral || class.is_mid() {
                self.sign(entry, length)?;
                touches = false;
            } else {
                return Err(Stop);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn look(&self) -> (CharacterEntry, usize) {
        #[cfg(test)]
        tamis_testing::step(1);
        look(self.bytes, self.at)
    }

    fn is_mail(&self) -> bool {
        self.options.word_rule == WordRule::Mail
    }

    /// Reads a sign or space outside words.
    fn sign(&mut self, entry: CharacterEntry, length: usize) -> Result<(), Stop> {
        let sign = self.at;
        if entry.is(CharacterEntry::VARIANT) && !self.options.normalize {
            return Err(Stop);
        }
        if self.is_mail() {
            if entry.is(CharacterEntry::SEPARATES) {
                self.end_mail_run()?;
            } else if entry.is(CharacterEntry::NON_ASCII) {
                self.mail.non_ascii = true;
            } else if entry.is(CharacterEntry::VARIANT) {
                return Err(Stop);
            }
        }
        self.at += length;
        if self.is_mail() && entry.is(CharacterEntry::SEPARATES) {
            self.mail = MailRun { start: self.at, spans: self.spans.len(), non_ascii: false, changed: false };
        }
        if entry.is(CharacterEntry::WORD) {
            self.spans.push([sign, self.at]);
        } else if self.is_cut(entry) && self.look().0.class().begins() {
            (self.cut, self.kept) = (sign, self.spans.len());
        }
        Ok(())
    }

    /// Whether the sign is a cut, provided that what follows begins a word.
    fn is_cut(&self, entry: CharacterEntry) -> bool {
        // in mail, the sign must also end the run or show that it is not all ASCII
        let known = !entry.is(CharacterEntry::VARIANT) || self.options.normalize;
        let tells = !self.is_mail() || entry.is(CharacterEntry::SEPARATES | CharacterEntry::NON_ASCII);
        entry.class() == CharacterClass::Neutral && !entry.is(CharacterEntry::WORD) && known && tells
    }

    /// Ends a mail run. A run that is all ASCII is one word, without the signs at its edges.
    fn end_mail_run(&mut self) -> Result<(), Stop> {
        if !self.is_mail() || self.mail.non_ascii {
            return Ok(());
        }
        let MailRun { start, spans, changed, .. } = self.mail;
        if changed {
            // the run got shorter, which is fine if its word is all there is
            let whole = matches!(self.spans[spans..], [[word, _]] if word == start);
            let last = self.text[start..self.at].chars().next_back();
            return if whole && last.is_some_and(char::is_alphanumeric) { Ok(()) } else { Err(Stop) };
        }
        self.spans.truncate(spans);
        let run = &self.bytes[start..self.at];
        let is_edge = |byte: &&u8| {
            #[cfg(test)]
            tamis_testing::step(1);
            matches!(byte, b'\'' | b'-')
        };
        let start = start + run.iter().take_while(is_edge).count();
        let end = self.at - run.iter().rev().take_while(is_edge).count();
        if start < end {
            self.spans.push([start, end]);
        }
        Ok(())
    }

    /// Reads a word of a script with spaces that begins here.
    #[inline(always)]
    fn word(&mut self, touches: bool) -> Result<(), Stop> {
        let start = self.at;
        let mut looks = Looks::at(start, touches);
        // counts bytes other than letters, digits and marks
        let mut signs = 0;
        loop {
            let (entry, length) = self.plain(&mut looks);
            match entry.class() {
                CharacterClass::Neutral => break,
                // ends runs of mail
                CharacterClass::Underscore if self.is_mail() => break,
                CharacterClass::Mark => self.check_order()?,
                CharacterClass::Composing => self.check_apart()?,
                class if class == CharacterClass::Underscore || class.is_mid() => {
                    if class != CharacterClass::Underscore && !self.joins(start, entry, length)? {
                        break;
                    }
                    self.check_sign(looks, class)?;
                    looks = Looks::at(self.at + length, false);
                    signs += length;
                    self.at += length;
                    continue;
                }
                class if class.is_unspaced() && !self.changes(looks) => break,
                _ => return Err(Stop),
            }
            // a mark: a word with one is not ASCII
            looks.all = 0;
            self.at += length;
        }
        let mut end = self.at;
        if self.may_be_mixed(looks) {
            return Err(Stop);
        }
        if self.changes(looks) {
            if looks.start != start {
                return Err(Stop);
            }
            end = self.change_look(start);
            self.mail.changed = true;
        } else if signs == end - start {
            return Ok(()); // nothing but `_`
        }
        self.mail.non_ascii |= self.stays_non_ascii(looks);
        self.spans.push([start, end]);
        Ok(())
    }

    /// Reads letters, digits and marks that need only folding. Returns the entry and length of what follows.
    #[inline(always)]
    fn plain(&mut self, looks: &mut Looks) -> (CharacterEntry, usize) {
        loop {
            let (entry, length) = self.look();
            if !entry.is(CharacterEntry::PLAIN) {
                return (entry, length);
            }
            if entry.flips() != 0 && self.options.fold_case {
                let bytes = self.folded[self.at..].iter_mut().take(length);
                let flips = entry.flips().to_le_bytes();
                // read from the text, because the ASCII of the copy is already folded
                bytes
                    .zip(&self.bytes[self.at..])
                    .zip(flips)
                    .for_each(|((byte, was), flip)| *byte = was ^ flip);
            }
            looks.all &= entry.0;
            looks.any |= entry.0;
            self.at += length;
        }
    }

    /// Whether normalization turns the word into ASCII.
    fn changes(&self, looks: Looks) -> bool {
        looks.ascii() && looks.has_look_alikes() && self.options.normalize
    }

    /// Whether the word may have letters of another script between its ASCII letters, which the exact code replaces.
    fn may_be_mixed(&self, looks: Looks) -> bool {
        let word = looks.start..self.at;
        looks.has_look_alikes() && !looks.ascii() && self.bytes[word].iter().any(u8::is_ascii_alphabetic)
    }

    fn stays_non_ascii(&self, looks: Looks) -> bool {
        !looks.ascii() || looks.has_look_alikes() && !self.options.normalize
    }

    /// Checks a sign inside a word. The looks of the word start over after it.
    #[inline(never)]
    fn check_sign(&mut self, looks: Looks, class: CharacterClass) -> Result<(), Stop> {
        let (next, _) = look(self.bytes, self.at + 1);
        let goes_on = class.is_mid() || {
            let next = next.class();
            matches!(next, CharacterClass::Underscore | CharacterClass::Neutral)
                || next.begins() && !next.is_unspaced()
        };
        self.mail.non_ascii |= self.stays_non_ascii(looks) || self.bytes[self.at] >= 0x80;
        if self.changes(looks) || self.may_be_mixed(looks) || !goes_on { Err(Stop) } else { Ok(()) }
    }

    /// Replaces the look-alikes of a word by ASCII. Returns the word's new end.
    #[cold]
    fn change_look(&mut self, start: usize) -> usize {
        let mut end = start;
        for c in self.text[start..self.at].chars() {
            let ascii = look_alike(c).unwrap_or(c) as u8;
            self.folded[end] = if self.options.fold_case { ascii.to_ascii_lowercase() } else { ascii };
            end += 1;
        }
        #[cfg(test)]
        tamis_testing::step(self.at - start);
        // blank out the bytes left over from longer letters
        self.folded[end..self.at].fill(b' ');
        end
    }

    fn before(&self) -> Option<char> {
        self.text[..self.at].chars().next_back()
    }

    /// Checks that the mark is not reordered, and not one of several.
    #[inline(always)]
    fn check_order(&self) -> Result<(), Stop> {
        let Some(before) = self.before() else { return Err(Stop) };
        match entry_of(before).class() {
            _ if before.is_ascii() => Err(Stop), // may be a disguise
            CharacterClass::Mark | CharacterClass::Composing | CharacterClass::UnspacedMark => {
                self.check_classes(before)
            }
            _ => Ok(()),
        }
    }

    #[cold]
    fn check_classes(&self, before: char) -> Result<(), Stop> {
        let here = self.text[self.at..].chars().next().map_or(0, canonical_combining_class);
        let is_ordered = canonical_combining_class(before) <= here;
        if is_ordered && !is_diacritic(before) { Ok(()) } else { Err(Stop) }
    }

    /// Checks that the composing mark does not compose with what is before it.
    #[cold]
    fn check_apart(&self) -> Result<(), Stop> {
        let (Some(before), Some(mark)) = (self.before(), self.text[self.at..].chars().next()) else {
            return Err(Stop);
        };
        let mut parts = 0;
        decompose_canonical(before, |_| parts += 1);
        let is_letter = entry_of(before).class() == CharacterClass::Letter && !before.is_ascii();
        if is_letter && parts == 1 && compose(before, mark).is_none() { Ok(()) } else { Err(Stop) }
    }

    /// Whether the sign joins the word that begins at `start` to what follows.
    #[inline(never)]
    fn joins(&self, start: usize, entry: CharacterEntry, length: usize) -> Result<bool, Stop> {
        if self.at >= self.end && self.is_mail() || entry.is(CharacterEntry::SEPARATES) && self.is_mail() {
            return Ok(false);
        }
        let is_mark = |class| {
            #[cfg(test)]
            tamis_testing::step(1);
            matches!(class, CharacterClass::Mark | CharacterClass::Composing | CharacterClass::PlainMark)
        };
        let mut classes = self.text[start..self.at].chars().rev().map(|c| entry_of(c).class());
        let before = classes.find(|class| !is_mark(*class)).unwrap_or(CharacterClass::Neutral);
        let after = look(self.bytes, self.at + length).0.class();
        let unknown = [
            CharacterClass::Unusual,
            CharacterClass::UnspacedLetter,
            CharacterClass::UnspacedMark,
            CharacterClass::UnspacedPlainMark,
        ];
        if is_mark(after) || unknown.contains(&after) {
            return Err(Stop);
        }
        let letters = before.is_letter() && after.is_letter();
        let digits = before == CharacterClass::Digit && after == CharacterClass::Digit;
        let joins = match entry.class() {
            CharacterClass::MidLetter => letters,
            CharacterClass::MidNum => digits,
            // after a Hebrew letter, the quotation mark is part of the word
            CharacterClass::SingleQuote if before == CharacterClass::Hebrew && !letters => return Err(Stop),
            CharacterClass::MidNumLet | CharacterClass::SingleQuote => letters || digits,
            CharacterClass::DoubleQuote => {
                before == CharacterClass::Hebrew && after == CharacterClass::Hebrew
            }
            _ => false,
        };
        // a variant of the sign has to be normalized first
        if joins && entry.is(CharacterEntry::VARIANT) { Err(Stop) } else { Ok(joins) }
    }

    /// Whether the unspaced character here is one of an alphabet.
    #[inline(always)]
    fn is_of_alphabet(&self) -> bool {
        // ideographs and kana begin with other bytes
        self.options.has_fours()
            && matches!(self.bytes.get(self.at), Some(0xe0..=0xe1 | 0xea))
            && self.text[self.at..].chars().next().is_some_and(is_unspaced_alphabet)
    }

    /// Reads a run of a script without spaces that begins here, as bigrams of its characters.
    #[inline(always)]
    fn unspaced(&mut self, mut last: CharacterClass) -> Result<(), Stop> {
        if !self.options.unspaced_bigrams {
            return Err(Stop);
        }
        self.mail.non_ascii = true;
        let first = self.at;
        let mut before = self.at;
        let mut before_class = last;
        let mut four = Four::default();
        let mut is_of_alphabet = self.is_of_alphabet();
        four.push(self.at, is_of_alphabet);
        self.at += self.look().1;
        loop {
            let (entry, length) = self.look();
            let class = entry.class();
            match class {
                CharacterClass::Unspaced => {
                    // in an alphabet, sequences of four across the cut would be missed
                    if before_class == CharacterClass::Unspaced && !is_of_alphabet {
                        // a cut before these two is fine as well: the exact code finds their pair again
                        (self.cut, self.kept) = (before, self.spans.len());
                    }
                    last = class;
                }
                CharacterClass::UnspacedLetter => last = class,
                CharacterClass::UnspacedPlainMark => {}
                CharacterClass::UnspacedMark => self.check_order()?,
                CharacterClass::Neutral
                | CharacterClass::Letter
                | CharacterClass::Hebrew
                | CharacterClass::Digit => break,
                // ends runs of mail
                CharacterClass::Underscore if self.is_mail() => break,
                class if class.is_mid() && last == CharacterClass::Unspaced => break,
                _ => return Err(Stop),
            }
            let end = self.at + length;
            self.spans.push([before, end]);
            is_of_alphabet = self.is_of_alphabet();
            self.spans.extend(four.push(self.at, is_of_alphabet).map(|first| [first, end]));
            (before, before_class) = (self.at, class);
            self.at = end;
        }
        if before == first {
            self.spans.push([first, self.at]);
        }
        Ok(())
    }

    /// Returns the piece around the point where the walk stopped, and drops the words found in it.
    #[cold]
    fn unusual(&mut self) -> Unusual {
        self.spans.truncate(self.kept);
        while self.at < self.end {
            let (entry, length) = self.look();
            let sign = self.at;
            self.at += length;
            if self.is_cut(entry) && self.look().0.class().begins() {
                return self.unusual_until(self.at, entry.is(CharacterEntry::NON_ASCII), sign);
            }
        }
        // nothing after the run attaches to it, except one quotation mark after a Hebrew letter
        let attached = !self.is_mail() && self.bytes.get(self.end) == Some(&b'\'');
        let end = self.end + usize::from(attached);
        self.unusual_until(end, false, end)
    }

    fn unusual_until(&self, end: usize, non_ascii: bool, cut: usize) -> Unusual {
        let start = start(self.text, self.cut, end, self.options.normalize);
        Unusual { start, end, non_ascii, cut, run_end: self.end }
    }
}

/// Folds plain characters.
#[inline(never)]
fn fold(bytes: &mut [u8]) {
    let mut at = 0;
    while at < bytes.len() {
        let (entry, length) = look(bytes, at);
        flip(&mut bytes[at..at + length], entry);
        at += length;
    }
}

fn flip(bytes: &mut [u8], entry: CharacterEntry) {
    bytes.iter_mut().zip(entry.flips().to_le_bytes()).for_each(|(byte, flip)| *byte ^= flip);
}
