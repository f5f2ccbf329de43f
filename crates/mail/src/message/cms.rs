//! S/MIME that is not plain to see: the content of signed data of the Cryptographic Message Syntax (RFC 5652), in DER or BER.

const INTEGER: u8 = 0x02;
const STRING: u8 = 0x04;
const IDENTIFIER: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
/// An octet string in pieces.
const STRINGS: u8 = 0x24;
/// The first element with a tag of its context.
const TAGGED: u8 = 0xa0;

/// The identifiers of PKCS #7 and of S/MIME's types of content (1.2.840.113549.1.7 and 1.2.840.113549.1.9.16.1).
const KINDS: [&[u8]; 2] = [b"\x2a\x86\x48\x86\xf7\x0d\x01\x07", b"\x2a\x86\x48\x86\xf7\x0d\x01\x09\x10\x01"];

/// What an object holds.
#[derive(PartialEq, Debug)]
pub(crate) enum Cms {
    /// Signed data with its content: mail as it was before it was signed.
    Signed(Vec<u8>),
    /// Signed data without content: a signature alone, or certificates.
    Bare,
    /// Encrypted or compressed data.
    Sealed,
}

impl Cms {
    /// `None` if the bytes are no such object.
    pub(crate) fn read(bytes: &[u8]) -> Option<Cms> {
        let mut rest = Elements(bytes);
        rest.enter(SEQUENCE)?;
        let kind = rest.value(IDENTIFIER)?;
        let number = KINDS.iter().find_map(|kinds| kind.strip_prefix(*kinds))?;
        let is_signed = number == [2] && kind.len() == KINDS[0].len() + 1;
        Some(if is_signed { rest.content().map_or(Cms::Bare, Cms::Signed) } else { Cms::Sealed })
    }
}

/// Elements that follow one another. Those that hold others are entered, never left: what is read comes first in each.
struct Elements<'a>(&'a [u8]);

impl<'a> Elements<'a> {
    /// The content of signed data, after its identifier.
    fn content(&mut self) -> Option<Vec<u8>> {
        self.enter(TAGGED)?;
        self.enter(SEQUENCE)?;
        self.value(INTEGER)?;
        self.skip()?; // the digests' algorithms
        self.enter(SEQUENCE)?;
        self.value(IDENTIFIER)?;
        self.enter(TAGGED)?;
        let mut content = Vec::new();
        loop {
            match self.header() {
                Some((STRING, Some(length))) => content.extend_from_slice(self.take(length)),
                // pieces of pieces, and the ends of those of indefinite length
                Some((STRINGS, _) | (0, Some(0))) => (),
                _ => return Some(content).filter(|content| !content.is_empty()),
            }
        }
    }

    /// Tag and length of the next element; no length if an element without tag or length ends it.
    fn header(&mut self) -> Option<(u8, Option<usize>)> {
        #[cfg(test)]
        tamis_testing::step(1);
        let [tag, length, rest @ ..] = self.0 else { return None };
        let (bytes, rest) = rest.split_at_checked(usize::from(length.checked_sub(0x80).unwrap_or(0)))?;
        self.0 = rest;
        let long =
            || bytes.iter().try_fold(0usize, |n, byte| n.checked_mul(256)?.checked_add((*byte).into()));
        match length {
            0x80 => Some((*tag, None)),
            0x81.. => Some((*tag, Some(long()?))),
            _ => Some((*tag, Some(usize::from(*length)))),
        }
    }

    /// As many bytes, or all that there are.
    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        taken
    }

    fn enter(&mut self, tag: u8) -> Option<()> {
        self.header().filter(|(got, _)| *got == tag).map(drop)
    }

    fn value(&mut self, tag: u8) -> Option<&'a [u8]> {
        let (got, length) = self.header()?;
        (got == tag).then_some(self.take(length?))
    }

    fn skip(&mut self) -> Option<()> {
        let mut open = 0usize;
        loop {
            match self.header()? {
                (0, Some(0)) => open = open.checked_sub(1)?,
                (_, None) => open += 1,
                (_, Some(length)) => _ = self.take(length),
            }
            if open == 0 {
                return Some(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of these characters.
    fn bytes(text: &str) -> Vec<u8> {
        text.chars().map(|c| c as u8).collect()
    }

    const SIGNED: &str = "0\u{80}\x06\x09*\u{86}H\u{86}\u{f7}\r\x01\x07\x02\u{a0}\u{80}0\u{80}\x02\x01\x01";
    const DATA: &str = "1\x000\u{80}\x06\x01*\u{a0}\u{80}";

    #[test]
    fn contents_come_whole_or_not() {
        for (end, expected) in [
            ("1\x000\u{80}\x06\x01*\u{a0}\u{80}\x04\x04mail", Cms::Signed(b"mail".to_vec())),
            ("1\x000\u{80}\x06\x01*\u{a0}\u{80}\x04\x09mail", Cms::Signed(b"mail".to_vec())),
            (
                "1\u{80}\x00\x000\u{80}\x06\x01*\u{a0}\u{80}$\x06\x04\x02ma\x04\x02il",
                Cms::Signed(b"mail".to_vec()),
            ),
            ("1\x000\u{80}\x06\x01*\u{a0}\u{80}\x04\x00", Cms::Bare),
            ("1\x000\u{80}\x06\x01*", Cms::Bare),
            ("1\u{89}\u{ff}", Cms::Bare),
            ("1\u{88}\u{ff}\u{ff}\u{ff}\u{ff}\u{ff}\u{ff}\u{ff}\u{ff}", Cms::Bare),
        ] {
            assert_eq!(Cms::read(&bytes(&format!("{SIGNED}{end}"))), Some(expected), "{end:?}");
        }
        assert_eq!(Cms::read(&bytes(&SIGNED.replace("\x07\x02", "\x07\x03"))), Some(Cms::Sealed));
        for other in ["", "0", "0\u{80}", "0\u{80}\x06\x01*", "text"] {
            assert_eq!(Cms::read(&bytes(other)), None);
        }
    }

    #[test]
    fn hostile_objects_are_linear() {
        for start in [SIGNED.to_owned(), format!("{SIGNED}1\u{80}"), format!("{SIGNED}{DATA}")] {
            let units = ["0\u{80}", "\x00\x00", "$\u{80}", "\x04\x00", "$\u{80}\x04\x01x"];
            for unit in units {
                let work = |n: usize| {
                    let raw = bytes(&(start.clone() + &unit.repeat(n)));
                    tamis_testing::steps(|| drop(Cms::read(&raw)))
                };
                assert!(work(20_000) <= 2 * work(10_000) + 20, "{start:?} {unit:?}");
            }
        }
    }
}
