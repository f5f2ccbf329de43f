//! Collects terms and emits them in batches.
use crate::terms::scan::push_shape;
use std::fmt::Write;
use tamis_tokenizer::Batch;

/// Maximum length of a term with its prefix, in bytes.
const LONGEST: usize = 80;
// `to_lower` has a bit for each term of a batch
const _: () = assert!(Batch::MOST <= u64::BITS as usize);

/// A feature of a message: words or terms.
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a> {
    /// Text to be cut into words, which become terms with the prefix.
    Words {
        /// Empty for the body, `s:` for the subject.
        prefix: &'a str,
        /// The decoded text.
        text: &'a str,
        /// What it is.
        scope: Scope,
    },
    /// Finished terms with their prefixes, of at most 80 bytes each, and their scope.
    Terms(Batch<'a>, Scope),
    /// The end of a part of the body: of the text that a MIME part shows, hides, or has as its title.
    EndOfPart,
}

/// What terms describe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// The message: its header fields, route and parts.
    Message,
    /// The part of the body that the words just before belong to.
    Part,
    /// A part of the body that nobody sees, or only who opens a file that is attached.
    Unseen,
    /// The body as a whole.
    Body,
}

/// Collects terms and emits them in batches, for faster processing.
pub(super) struct Emitter<'e> {
    emit: &'e mut dyn FnMut(Piece<'_>),
    /// The pending terms, then the current one, concatenated.
    text: String,
    /// Spans of the pending terms.
    spans: [[usize; 2]; Batch::MOST],
    /// Number of pending terms.
    n: usize,
    /// Bit mask of pending terms still to be lower-cased.
    to_lower: u64,
    /// Start of the current term.
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
        if !text.is_empty() {
            (self.emit)(Piece::Words { prefix, text, scope: self.scope });
        }
    }

    /// Emits the concatenation of these strings as a term, truncated if too long.
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
        // writing to a String cannot fail
        let _ = write!(self.text, "{number}");
        self.cut();
        self.end();
    }

    /// Emits the shape of a text: see [`push_shape`].
    pub(super) fn shape(&mut self, prefix: &str, text: &str) {
        self.put(&[prefix]);
        push_shape(text, &mut self.text);
        self.cut();
        self.end();
    }

    /// Changes the scope of the following terms.
    pub(super) fn begin(&mut self, scope: Scope) {
        self.flush();
        self.scope = scope;
    }

    pub(super) fn end_part(&mut self) {
        self.flush();
        (self.emit)(Piece::EndOfPart);
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

    /// Lower-cases the pending terms marked for it.
    fn fold(&mut self) {
        let length = self.text.len();
        let is_ascii = self.text.is_ascii();
        if is_ascii && self.to_lower != 0 {
            // append a copy of the whole text
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

    /// Ends the current term.
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

    /// Collects the terms that a group emits, in order.
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

    /// Creates a message with the given header lines.
    pub(in crate::terms) fn message(header: &str) -> Message {
        Message::parse(format!("{header}\n\n").as_bytes(), &Limits { text: usize::MAX, ..Limits::default() })
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
