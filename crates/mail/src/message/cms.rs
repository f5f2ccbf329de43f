//! S/MIME that is not plain to see: the content of signed data of the Cryptographic Message Syntax (RFC 5652), in DER or BER.

/// The identifiers of PKCS #7 and of S/MIME's types of content (1.2.840.113549.1.7 and 1.2.840.113549.1.9.16.1).
const PKCS_7: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x07";
const S_MIME: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x09\x10\x01";
/// Tags: an identifier, a sequence, the first element of its context.
const IDENTIFIER: u8 = 6;
const SEQUENCE: u8 = 0x30;
const TAGGED: u8 = 0xa0;

/// The content of signed data: mail as it was before it was signed. `Some(None)` if an object holds none, or encrypted data;
/// `None` if the bytes are no such object.
pub(crate) fn signed_content(bytes: &[u8]) -> Option<Option<Vec<u8>>> {
    let mut rest = Elements(bytes);
    rest.enter(SEQUENCE)?;
    let kind = rest.value(IDENTIFIER)?;
    let is_signed = kind.strip_prefix(PKCS_7) == Some(&[2]);
    let is_any = kind.starts_with(PKCS_7) || kind.starts_with(S_MIME);
    is_any.then(|| rest.content().filter(|content| is_signed && !content.is_empty()))
}

/// Elements that follow one another. Those that hold others are entered, never left: what is read comes first in each.
struct Elements<'a>(&'a [u8]);

impl<'a> Elements<'a> {
    /// The content of signed data, after its identifier.
    fn content(&mut self) -> Option<Vec<u8>> {
        self.enter(TAGGED)?;
        self.enter(SEQUENCE)?;
        self.skip()?; // the version
        self.skip()?; // how it was digested
        self.enter(SEQUENCE)?;
        self.skip()?; // what it is
        self.enter(TAGGED)?;
        let mut content = Vec::new();
        loop {
            match self.header() {
                Some((4, Some(length))) => content.extend_from_slice(self.take(length)),
                // a string of strings, and the end of one of indefinite length
                Some((0x24, _) | (0, Some(0))) => (),
                _ => return Some(content),
            }
        }
    }

    /// Tag and length of the next element; no length if an element without tag or length ends it.
    fn header(&mut self) -> Option<(u8, Option<usize>)> {
        #[cfg(test)]
        tamis_testing::step(1);
        let [tag, length, rest @ ..] = self.0 else { return None };
        let (bytes, rest) = rest.split_at_checked(length.saturating_sub(0x80).into())?;
        self.0 = rest;
        // one that is too long reaches beyond the end
        let long = bytes.iter().fold(0usize, |n, byte| n.saturating_mul(256).saturating_add((*byte).into()));
        Some((*tag, if *length < 0x80 { Some((*length).into()) } else { (*length > 0x80).then_some(long) }))
    }

    /// As many bytes, or all that there are.
    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        taken
    }

    fn enter(&mut self, tag: u8) -> Option<()> {
        (self.header()?.0 == tag).then_some(())
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
            ("1\x000\u{80}\x06\x01*\u{a0}\u{80}\x04\x04mail", Some(b"mail".to_vec())),
            ("1\x000\u{80}\x06\x01*\u{a0}\u{80}\x04\x09mail", Some(b"mail".to_vec())),
            ("1\u{80}\x00\x000\u{80}\x06\x01*\u{a0}\u{80}$\x06\x04\x02ma\x04\x02il", Some(b"mail".to_vec())),
            ("1\x000\u{80}\x06\x01*\u{a0}\u{80}\x04\x00", None),
            ("1\x000\u{80}\x06\x01*", None),
            ("1\u{89}\u{ff}", None),
            ("1\u{88}\u{ff}\u{ff}\u{ff}\u{ff}\u{ff}\u{ff}\u{ff}\u{ff}", None),
        ] {
            assert_eq!(signed_content(&bytes(&format!("{SIGNED}{end}"))), Some(expected), "{end:?}");
        }
        assert_eq!(signed_content(&bytes(&SIGNED.replace("\x07\x02", "\x07\x03"))), Some(None));
        for other in ["", "0", "0\u{80}", "0\u{80}\x06\x01*", "text"] {
            assert_eq!(signed_content(&bytes(other)), None);
        }
    }

    #[test]
    fn hostile_objects_are_linear() {
        for start in [SIGNED.to_owned(), format!("{SIGNED}1\u{80}"), format!("{SIGNED}{DATA}")] {
            let units = ["0\u{80}", "\x00\x00", "$\u{80}", "\x04\x00", "$\u{80}\x04\x01x"];
            for unit in units {
                let work = |n: usize| {
                    let raw = bytes(&(start.clone() + &unit.repeat(n)));
                    tamis_testing::steps(|| drop(signed_content(&raw)))
                };
                assert!(work(20_000) <= 2 * work(10_000) + 20, "{start:?} {unit:?}");
            }
        }
    }
}
