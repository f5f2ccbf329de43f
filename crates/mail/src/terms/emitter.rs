//! Where terms go: several at a time.
use crate::terms::scan::push_shape;
use std::fmt::Write;
use tamis_tokenizer::Batch;

/// Bytes of the longest term, its prefix included.
const LONGEST: usize = 80;
// a bit for each term of a batch
const _: () = assert!(Batch::MOST <= u64::BITS as usize);

/// A piece of evidence of a message.
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a> {
    /// Text to be cut into words, each of which becomes a term behind the prefix.
    Words {
        /// Empty for the body, `s:` for the subject.
        prefix: &'a str,
        /// The decoded text.
        text: &'a str,
    },
    /// Terms as they are, their prefixes included: of at most 80 bytes each; and what they speak of.
    Terms(Batch<'a>, Scope),
    /// A stretch of the body ends.
    EndOfStretch,
}

/// What terms speak of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// The message: its header fields, its way, its parts.
    Message,
    /// The stretch of the body that the words just before were of.
    Stretch,
    /// The body as a whole.
    Body,
}

/// Where terms go: several at a time, so that what is done with them can be done for all of them step by step.
pub(super) struct Emitter<'e> {
    emit: &'e mut dyn FnMut(Piece<'_>),
    /// The terms that wait, one after the other, behind them the one in the making.
    text: String,
    /// Where those that wait begin and end.
    spans: [[usize; 2]; Batch::MOST],
    /// How many wait.
    n: usize,
    /// Which of those, by a bit each, have still to be put in lower case.
    to_lower: u64,
    /// Where the term in the making begins.
    start: usize,
    scope: Scope,
}

impl<'e> Emitter<'e> {
    pub(super) fn new(emit: &'e mut dyn FnMut(Piece<'_>), scope: Scope) -> Self {
        let (text, spans) = (String::with_capacity(2_000), [[0; 2]; Batch::MOST]);
        Emitter { emit, text, spans, n: 0, to_lower: 0, start: 0, scope }
    }

    pub(super) fn words(&mut self, prefix: &str, text: &str) {
        self.flush();
        (self.emit)(Piece::Words { prefix, text });
    }

    /// The term that is these strings, one after the other, cut if too long.
    #[inline]
    pub(super) fn term(&mut self, strings: &[&str]) {
        self.put(strings);
        self.end();
    }

    /// The same in lower case.
    #[inline]
    pub(super) fn lower(&mut self, strings: &[&str]) {
        self.put(strings);
        self.to_lower |= 1 << self.n;
        self.end();
    }

    pub(super) fn number(&mut self, prefix: &str, number: usize) {
        self.put(&[prefix]);
        // a String takes whatever is written
        let _ = write!(self.text, "{number}");
        self.cut();
        self.end();
    }

    /// The shape of a text: see [`push_shape`].
    pub(super) fn shape(&mut self, prefix: &str, text: &str) {
        self.put(&[prefix]);
        push_shape(text, &mut self.text);
        self.cut();
        self.end();
    }

    /// From here on terms speak of something else.
    pub(super) fn begin(&mut self, scope: Scope) {
        self.flush();
        self.scope = scope;
    }

    pub(super) fn end_stretch(&mut self) {
        self.flush();
        (self.emit)(Piece::EndOfStretch);
    }

    #[inline(never)]
    pub(super) fn flush(&mut self) {
        if self.n > 0 {
            self.fold();
            Batch::each(&self.text, &self.spans[..self.n])
                .for_each(|batch| (self.emit)(Piece::Terms(batch, self.scope)));
            self.text.clear();
            (self.n, self.to_lower, self.start) = (0, 0, 0);
        }
    }

    #[inline]
    fn put(&mut self, strings: &[&str]) {
        let most = self.start + LONGEST;
        if self.text.len() + strings.iter().map(|string| string.len()).sum::<usize>() <= most {
            strings.iter().for_each(|string| self.text.push_str(string));
        } else {
            self.put_up_to(most, strings);
        }
    }

    #[cold]
    fn put_up_to(&mut self, most: usize, strings: &[&str]) {
        for string in strings {
            let room = most - self.text.len();
            self.text.push_str(&string[..string.floor_char_boundary(room)]);
        }
    }

    fn cut(&mut self) {
        self.text.truncate(self.text.floor_char_boundary(self.start + LONGEST));
    }

    /// Puts those in lower case that are to be.
    fn fold(&mut self) {
        let length = self.text.len();
        let is_ascii = self.text.is_ascii();
        if is_ascii && self.to_lower != 0 {
            // all of it once more behind itself
            self.text.extend_from_within(..);
            self.text[length..].make_ascii_lowercase();
        }
        let mut rest = self.to_lower;
        while rest != 0 {
            let span = &mut self.spans[rest.trailing_zeros() as usize];
            if is_ascii {
                *span = span.map(|at| at + length);
            } else {
                let lower = self.text[span[0]..span[1]].to_lowercase();
                let start = self.text.len();
                self.text.push_str(&lower[..lower.floor_char_boundary(LONGEST)]);
                *span = [start, self.text.len()];
            }
            rest &= rest - 1;
        }
    }

    /// Ends the term in the making.
    #[inline]
    fn end(&mut self) {
        let end = self.text.len();
        self.spans[self.n] = [self.start, end];
        (self.n, self.start) = (self.n + 1, end);
        if self.n == Batch::MOST {
            self.flush();
        }
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::{Emitter, LONGEST, Piece, Scope};
    use crate::{Limits, Message};

    /// The terms that a group makes, in order.
    pub(in crate::terms) fn terms(group: impl FnOnce(&mut Emitter<'_>)) -> Vec<String> {
        let mut terms = Vec::new();
        let mut emit = |piece: Piece<'_>| match piece {
            Piece::Terms(batch, _) => terms.extend(batch.iter().map(str::to_owned)),
            _ => panic!("{piece:?}"),
        };
        let mut out = Emitter::new(&mut emit, Scope::Message);
        group(&mut out);
        out.flush();
        assert!(terms.iter().all(|term| term.len() <= LONGEST));
        terms
    }

    /// A message with these header lines.
    pub(in crate::terms) fn message(header: &str) -> Message {
        Message::parse(format!("{header}\n\n").as_bytes(), &Limits { bytes: usize::MAX, ..Limits::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::testing::terms;

    #[test]
    fn terms_are_cut_between_characters() {
        let long = "é".repeat(100);
        let cut = format!("x:{}", "é".repeat(39));
        assert_eq!(terms(|out| out.term(&["x:", &long, "y"])), [cut.as_str()]);
        assert_eq!(terms(|out| out.lower(&["X", ":É", &long])), [cut.as_str()]);
        let longer = "\u{130}".repeat(100); // its lower case is a byte longer
        assert_eq!(terms(|out| out.lower(&[&longer]))[0].len(), 79);
        assert_eq!(terms(|out| out.number("n:", 7)), ["n:7"]);
        assert_eq!(terms(|out| out.shape("x:", "Abc1-é")), ["x:Aa0-é"]);
    }
}
