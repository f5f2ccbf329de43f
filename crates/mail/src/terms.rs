//! What a message says about itself, as terms: who wrote it, the way it took, how it was made, where it leads.
//!
//! | Prefix | Of what |
//! | --- | --- |
//! | none, `s:` | words of the body, of the subject (given as text, to be cut by the tokenizer) |
//! | `from:` `reply-to:` `to:` `cc:` `sender:` `return-path:` | words; addresses (`from:a:`); domains (`from:d:`) |
//! | `to:n:` | recipients |
//! | `rcvd:` `rcvd:n:` `rcvdip:` `rcvdwith:` `helo:` | hosts, hops, addresses, protocols and greetings of the way |
//! | `mid:` | the Message-ID's shape, host, and whether it is well-formed |
//! | `ct:` `ct0:`... `cs:` `cte:` `fext:` `parts:` `bnd:` `ctraw:` | the parts: type, charset, encoding, file |
//! | `url:` `mailto:` `mailtohost:` | where links lead |
//! | `hn:` `hseq:` `hcase:` | names of header fields, which follows which, odd case |
//! | `date:` | time zone and shape of the date |
//! | `cur:` `num:` `pun:` `caps:` `len:` `subj:` | amounts, numbers, `!!`, capitals, length, shape of the subject |
//!
//! No text of a sender's choice stands where a prefix does, so none poses as a term of another kind. All
//! that is counted is bounded, and so is the length of a term; time is linear in the size of the message.
mod addresses;
mod body;
mod date;
mod hosts;
mod route;
mod scan;
mod structure;
mod subject;
mod urls;

use crate::detect::are_of_mail;
use crate::message::{Message, Part};
use scan::push_shape;
use std::borrow::Cow;
use std::fmt::Write;
use tamis_tokenizer::{Batch, stretches};

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

impl Message {
    /// Calls `emit` with every piece of evidence, as often as it occurs, in an order that depends on the
    /// message only.
    ///
    /// With `content_only`, that is the text of the subject and of the parts and nothing else. The body comes in
    /// stretches of about `stretch` bytes (`usize::MAX`: a part is one), so that they can be judged one by one.
    /// Line ends, the `From ` line of a mailbox and [ignored](crate::ignored) fields make no difference.
    ///
    /// What a message lacks is evidence only if it looks like mail at all: a fragment with fewer than two of the
    /// fields that writing or delivering puts there has its words, links and figures and nothing else.
    ///
    /// ```
    /// use tamis_mail::{Limits, Message, Piece};
    ///
    /// let message = Message::parse(b"Subject: Offer\n\nBuy at http://shop.example.org/\n", &Limits::default());
    /// let mut terms = Vec::new();
    /// message.for_each_piece(false, usize::MAX, |piece| match piece {
    ///     Piece::Words { prefix, text } => terms.push(format!("{prefix}... {text:?}")),
    ///     Piece::Terms(batch, _) => terms.extend(batch.iter().map(str::to_owned)),
    ///     Piece::EndOfStretch => (),
    /// });
    /// assert_eq!(terms[0], "s:... \"Offer\"");
    /// assert!(terms.contains(&"url:h:example.org".to_owned()));
    /// ```
    pub fn for_each_piece(&self, content_only: bool, stretch: usize, mut emit: impl FnMut(Piece<'_>)) {
        let mut out = Terms::new(&mut emit, Scope::Message);
        for subject in self.values("subject") {
            out.words("s:", subject);
        }
        let mut words = body::Words::default();
        out.begin(Scope::Stretch);
        for part in self.parts() {
            for_each_stretch(part, stretch, |text, source| {
                out.words("", text);
                if !content_only {
                    words.count(text);
                    body::figures(text, &mut out);
                    urls::terms(source, &mut out);
                }
                out.flush();
                (out.emit)(Piece::EndOfStretch);
            });
        }
        let names = self.headers().map(|header| header.name);
        if content_only || !are_of_mail(names) {
            return;
        }
        out.begin(Scope::Body);
        words.terms(&mut out);
        out.begin(Scope::Message);
        self.values("subject").for_each(|subject| subject::terms(subject, &mut out));
        addresses::terms(self, &mut out);
        route::terms(self, &mut out);
        structure::terms(self, &mut out);
        date::terms(self.header("date"), &mut out);
        out.flush();
    }

    /// When the message says it was written, in seconds since 1970 (UTC).
    ///
    /// That is the first Date field, as RFC 5322 and its forerunners write it; None if it cannot be read or is
    /// no such time. An unknown zone counts as UTC, as the RFC wants it.
    ///
    /// ```
    /// use tamis_mail::{Limits, Message};
    ///
    /// let message = Message::parse(b"Date: Thu, 22 Aug 2002 18:26:25 +0700 (ICT)\n\n", &Limits::default());
    /// assert_eq!(message.date(), Some(1_030_015_585));
    /// ```
    pub fn date(&self) -> Option<i64> {
        date::parse(self.header("date")?)
    }
}

/// Cuts the text of a part, and beside it what it was read from: of HTML the source, where its links stand.
fn for_each_stretch(part: &Part, stretch: usize, mut each: impl FnMut(&str, &str)) {
    let (mut text, mut source) = (part.plain_text(), Cow::Borrowed(part.text.as_deref().unwrap_or_default()));
    if stretch < usize::MAX {
        // Line ends must not move the cuts.
        for text in [&mut text, &mut source] {
            if text.contains('\r') {
                *text = Cow::Owned(text.replace('\r', ""));
            }
        }
    }
    // Links come with about the words that they stand among.
    let as_many = text.len().div_ceil(stretch.max(1)).max(1);
    let mut texts = stretches(&text, stretch);
    let mut sources = stretches(&source, source.len().div_ceil(as_many));
    loop {
        match (texts.next(), sources.next()) {
            (None, None) => return,
            (text, source) => each(text.unwrap_or_default(), source.unwrap_or_default()),
        }
    }
}

/// Where terms go: several at a time, so that what is done with them can be done for all of them step by step.
struct Terms<'e> {
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

impl<'e> Terms<'e> {
    fn new(emit: &'e mut dyn FnMut(Piece<'_>), scope: Scope) -> Self {
        let (text, spans) = (String::with_capacity(2_000), [[0; 2]; Batch::MOST]);
        Terms { emit, text, spans, n: 0, to_lower: 0, start: 0, scope }
    }

    fn words(&mut self, prefix: &str, text: &str) {
        self.flush();
        (self.emit)(Piece::Words { prefix, text });
    }

    /// The term that is these strings, one after the other, cut if too long.
    #[inline]
    fn term(&mut self, strings: &[&str]) {
        self.put(strings);
        self.end();
    }

    /// The same in lower case.
    #[inline]
    fn lower(&mut self, strings: &[&str]) {
        self.put(strings);
        self.to_lower |= 1 << self.n;
        self.end();
    }

    fn number(&mut self, prefix: &str, number: usize) {
        self.put(&[prefix]);
        // a String takes whatever is written
        let _ = write!(self.text, "{number}");
        self.cut();
        self.end();
    }

    /// The shape of a text: see [`push_shape`].
    fn shape(&mut self, prefix: &str, text: &str) {
        self.put(&[prefix]);
        push_shape(text, &mut self.text);
        self.cut();
        self.end();
    }

    /// From here on terms speak of something else.
    fn begin(&mut self, scope: Scope) {
        self.flush();
        self.scope = scope;
    }

    #[inline(never)]
    fn flush(&mut self) {
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
mod testing {
    use super::{Piece, Scope, Terms};
    use crate::{Limits, Message};

    /// The terms that a group makes, in order.
    pub(super) fn terms(group: impl FnOnce(&mut Terms<'_>)) -> Vec<String> {
        let mut terms = Vec::new();
        let mut emit = |piece: Piece<'_>| match piece {
            Piece::Terms(batch, _) => terms.extend(batch.iter().map(str::to_owned)),
            _ => panic!("{piece:?}"),
        };
        let mut out = Terms::new(&mut emit, Scope::Message);
        group(&mut out);
        out.flush();
        assert!(terms.iter().all(|term| term.len() <= super::LONGEST));
        terms
    }

    /// A message with these header lines.
    pub(super) fn message(header: &str) -> Message {
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
