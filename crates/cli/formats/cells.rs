//! How the cells of a row are written: where the row ends, and what its cells are.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

/// How the cells of a table are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CellSyntax {
    pub(crate) delimiter: u8,
    /// Whether a blank follows each delimiter. Blanks before and after a cell do not count then.
    pub(crate) is_padded: bool,
    pub(crate) quoting: Quoting,
    /// What ends a row: a line feed, with or without a carriage return before it, or a carriage return.
    pub(crate) line_end: u8,
}

/// How a cell holds characters that would end it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Quoting {
    /// It cannot: a quote is a character like others.
    Bare,
    /// Between quotes. A quote within is doubled (RFC 4180).
    Doubled,
    /// Between quotes. A quote within follows a backslash, or is doubled.
    Backslash,
    /// Without quotes, by a backslash before a character or a letter that stands for one: `\t`, `\N` for a missing cell.
    Codes,
}

/// Something without an end in the bytes read.
#[derive(Clone, Copy)]
pub(crate) enum MissingEnd {
    Line,
    Quote,
}

impl CellSyntax {
    /// Commas, quotes and line feeds.
    #[cfg(test)]
    pub(crate) const CSV: CellSyntax =
        CellSyntax { delimiter: b',', is_padded: false, quoting: Quoting::Doubled, line_end: b'\n' };

    fn has_quotes(self) -> bool {
        matches!(self.quoting, Quoting::Doubled | Quoting::Backslash)
    }

    /// The position of the line end that ends the row.
    pub(crate) fn end(self, bytes: &[u8]) -> Result<usize, MissingEnd> {
        let mut at = 0;
        loop {
            let rest = &bytes[at..];
            let found = if self.has_quotes() {
                memchr2(b'"', self.line_end, rest)
            } else {
                memchr(self.line_end, rest)
            };
            let found = at + found.ok_or(MissingEnd::Line)?;
            at = found + 1;
            if bytes[found] == self.line_end {
                if self.quoting != Quoting::Codes || !is_escaped(bytes, found) {
                    return Ok(found);
                }
            } else if self.begins_cell(&bytes[..found]) {
                // elsewhere, a quote is a character like others
                at += self.closing(&bytes[at..]).ok_or(MissingEnd::Quote)? + 1;
            }
        }
    }

    /// Whether a cell begins after these bytes of a row.
    fn begins_cell(self, before: &[u8]) -> bool {
        let before = if self.is_padded { without_blanks(before) } else { before };
        before.last().is_none_or(|last| *last == self.delimiter)
    }

    /// The position of the quote that closes a cell, given what follows the one that opens it.
    fn closing(self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        loop {
            at += match self.quoting {
                Quoting::Backslash => memchr2(b'"', b'\\', &bytes[at..])?,
                _ => memchr(b'"', &bytes[at..])?,
            };
            let next = bytes.get(at + 1);
            match bytes[at] {
                b'\\' => at += if matches!(next, Some(b'"' | b'\\')) { 2 } else { 1 },
                _ if next == Some(&b'"') => at += 2,
                _ => return Some(at),
            }
        }
    }

    /// The cells of a row.
    ///
    /// # Errors
    /// If there is text between a closing quote and the next delimiter, or if a quote is not closed: a quote that is
    /// not meant as one must not join cells or rows.
    pub(crate) fn cells(self, row: &[u8]) -> Result<Vec<Cow<'_, [u8]>>, String> {
        let (mut cells, mut rest) = (Vec::new(), Some(row));
        while let Some(bytes) = rest {
            let bytes = if self.is_padded { after_blanks(bytes) } else { bytes };
            let (cell, beyond) = match bytes.strip_prefix(b"\"").filter(|_| self.has_quotes()) {
                None => {
                    let end = self.end_of_bare(bytes);
                    let cell = if self.is_padded { without_blanks(&bytes[..end]) } else { &bytes[..end] };
                    let cell = match self.quoting {
                        Quoting::Codes if memchr(b'\\', cell).is_some() => Cow::Owned(decoded(cell)),
                        Quoting::Backslash => self.unquoted(cell),
                        _ => Cow::Borrowed(cell),
                    };
                    (cell, &bytes[end..])
                }
                Some(inside) => {
                    let at = cells.len() + 1;
                    let refused =
                        |what| format!("expected a delimiter after the quotes of cell {at}, got {what}");
                    let end = self.closing(inside).ok_or_else(|| refused("no end of them"))?;
                    let beyond = &inside[end + 1..];
                    let beyond = if self.is_padded { after_blanks(beyond) } else { beyond };
                    if beyond.first().is_some_and(|next| *next != self.delimiter) {
                        return Err(refused("more text"));
                    }
                    (self.unquoted(&inside[..end]), beyond)
                }
            };
            cells.push(cell);
            rest = beyond.get(1..);
        }
        Ok(cells)
    }

    /// The end of a cell without quotes.
    fn end_of_bare(self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while let Some(found) = memchr(self.delimiter, &bytes[at..]) {
            at += found;
            let is_text = self.quoting == Quoting::Codes && is_escaped(bytes, at)
                || self.is_padded && bytes.get(at + 1).is_some_and(|next| *next != b' ');
            if !is_text {
                return at;
            }
            at += 1;
        }
        bytes.len()
    }

    /// A cell without the marks of the quotes in it.
    fn unquoted(self, cell: &[u8]) -> Cow<'_, [u8]> {
        let mark = if self.quoting == Quoting::Backslash { b'\\' } else { b'"' };
        if memchr2(b'"', mark, cell).is_none() {
            return Cow::Borrowed(cell);
        }
        let (mut plain, mut rest) = (Vec::with_capacity(cell.len()), cell);
        while let Some(at) = memchr2(b'"', mark, rest) {
            // a quote or backslash after either is the character that is meant
            let is_marked = matches!((rest[at], rest.get(at + 1)), (_, Some(b'"')) | (b'\\', Some(b'\\')));
            let kept = at + usize::from(is_marked);
            plain.extend_from_slice(&rest[..at]);
            plain.push(rest[kept]);
            rest = &rest[kept + 1..];
        }
        plain.extend_from_slice(rest);
        Cow::Owned(plain)
    }
}

fn after_blanks(bytes: &[u8]) -> &[u8] {
    let n = bytes.iter().take_while(|byte| **byte == b' ').count();
    &bytes[n..]
}

fn without_blanks(bytes: &[u8]) -> &[u8] {
    let n = bytes.iter().rev().take_while(|byte| **byte == b' ').count();
    &bytes[..bytes.len() - n]
}

/// Whether the character at a position is escaped: an odd number of backslashes is before it.
fn is_escaped(bytes: &[u8], at: usize) -> bool {
    bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// A cell with its codes as the characters that they stand for; empty if it is `\N`.
fn decoded(cell: &[u8]) -> Vec<u8> {
    let (mut plain, mut rest) = (Vec::with_capacity(cell.len()), cell);
    if cell == b"\\N" {
        return plain;
    }
    while let Some(at) = memchr(b'\\', rest).filter(|at| at + 1 < rest.len()) {
        plain.extend_from_slice(&rest[..at]);
        plain.push(match rest[at + 1] {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'b' => 8,
            b'0' => 0,
            other => other,
        });
        rest = &rest[at + 2..];
    }
    plain.extend_from_slice(rest);
    plain
}
