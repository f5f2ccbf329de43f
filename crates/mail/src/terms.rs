//! Features of a message as terms: sender and recipients, route, MIME structure, links, and words.
//!
//! | Prefix | Meaning |
//! | --- | --- |
//! | none, `s:` | words of the body that a person sees, of the subject (given as text, to be cut by the tokenizer) |
//! | `u:` `title:` | words of the body that nobody sees, of the title of an HTML page |
//! | `from:` `reply-to:` `to:` `cc:` `sender:` `return-path:` | words; addresses (`from:a:`); domains (`from:d:`) |
//! | `to:n:` | recipients |
//! | `rcvd:` `rcvd:n:` `rcvdip:` `rcvdwith:` `helo:` | hosts, hops, addresses, protocols and greetings of the last two hops |
//! | `mid:` | the Message-ID's shape, host, and whether it is well-formed |
//! | `ct:` `ct0:`... `cs:` `cte:` `fext:` `parts:` `bnd:` `ctraw:` | the parts: type, charset, encoding, file |
//! | `csize:` `chash:` | size and digest of pictures in HTML (`data:` URIs); digest of attachments that are not read |
//! | `url:` `mailto:` `mailtohost:` | where links lead |
//! | `hn:` `hseq:` `hcase:` | names of header fields (not `X-` nor signatures), which follows which, odd case |
//! | `date:` | time zone and shape of the date |
//! | `cur:` `num:` `pun:` `caps:` `len:` `subj:` | amounts, numbers, `!!`, capitals, length, shape of the subject |
//! | `letters:` | kinds of letters that stand for others |
//!
//! A sender cannot choose the text of a prefix, so no term can pose as one of another kind. Counts and the length of a
//! term are bounded; time is linear in the size of the message.
mod body;
mod bogofilter;
mod date;
mod emitter;
mod hosts;
mod letters;
mod route;
mod scan;
mod shown;
mod structure;
mod urls;

use crate::message::Message;
use crate::message::fields::are_of_mail;
pub use bogofilter::for_each_bogofilter_token;
use emitter::Emitter;
pub use emitter::{Piece, Scope};

impl Message {
    /// Calls `emit` with every feature, as often as it occurs, in a deterministic order.
    ///
    /// With `content_only`, emits only the text of the subject and the parts, and the digests of unread parts. The body
    /// comes in parts, of which each ends before the next begins. Line ends, an mbox `From ` line and
    /// [ignored](crate::message::ignored) fields make no difference.
    ///
    /// Missing fields are evidence only if the message looks like mail: a fragment with fewer than two of the usual
    /// fields yields only its words, links and figures.
    ///
    /// ```
    /// use tamis_mail::{Limits, Message, Piece};
    ///
    /// let message = Message::parse(b"Subject: Offer\n\nBuy at http://shop.example.org/\n", &Limits::default());
    /// let mut terms = Vec::new();
    /// message.for_each_piece(false, |piece| match piece {
    ///     Piece::Words { prefix, text, .. } => terms.push(format!("{prefix}... {text:?}")),
    ///     Piece::Terms(batch, _) => terms.extend(batch.iter().map(str::to_owned)),
    ///     Piece::EndOfPart => (),
    /// });
    /// assert_eq!(terms[0], "s:... \"Offer\"");
    /// assert!(terms.contains(&"url:h:example.org".to_owned()));
    /// ```
    pub fn for_each_piece(&self, content_only: bool, mut emit: impl FnMut(Piece<'_>)) {
        let mut out = Emitter::new(&mut emit, Scope::Message);
        for subject in self.values("subject") {
            out.words("s:", subject);
            if !content_only {
                letters::terms(subject, &mut out);
            }
        }
        // what tells messages apart that only refer to an attachment
        let unread = self.parts().iter().filter(|part| part.unread.is_some());
        unread.filter_map(|part| part.content).for_each(|content| structure::content(content, &mut out));
        let mut capitals = body::CapitalsCount::default();
        let read = shown::read(self.parts());
        for (part, read) in self.parts().iter().zip(&read) {
            // a file does not make better what is seen beside it
            let is_opened = !part.content_type.starts_with("text/") && part.is_file();
            out.begin(if is_opened { Scope::Unseen } else { Scope::Part });
            out.words("", &read.seen);
            if !content_only {
                capitals.count(&read.seen);
                body::figures(&read.seen, &mut out);
                letters::terms(&read.seen, &mut out);
                urls::terms(part.text.as_deref().unwrap_or_default(), &mut out);
            }
            out.end_part();
            for (prefix, text) in [("u:", &read.unseen), ("title:", &read.title)] {
                out.begin(Scope::Unseen);
                out.words(prefix, text);
                out.end_part();
            }
        }
        let names = self.headers().map(|header| header.name);
        if content_only || !are_of_mail(names) {
            return;
        }
        out.begin(Scope::Body);
        capitals.terms(&mut out);
        out.begin(Scope::Message);
        self.values("subject").for_each(|subject| structure::subject(subject, &mut out));
        route::people(self, &mut out);
        route::route(self, &mut out);
        structure::terms(self, &mut out);
        date::terms(self.header("date"), &mut out);
        out.flush();
    }

    /// The date of the message, in seconds since 1970 (UTC).
    ///
    /// Read from the first Date field, in the format of RFC 5322 and its predecessors. `None` if the field is missing
    /// or invalid. An unknown zone counts as UTC, as the RFC requires.
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

#[cfg(test)]
mod tests;
