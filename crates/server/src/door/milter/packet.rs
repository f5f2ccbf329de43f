//! The packets of an MTA: a length of four bytes, the letter of a command, and its data.

/// Maximum length of a packet, the command included. An MTA sends at most 65,535 bytes of body in one, unless a milter
/// asks for more.
pub(crate) const MOST: usize = 1 << 20;

/// The bytes of the length, which does not count itself.
const LENGTH: usize = 4;

/// A packet from an MTA.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packet<'a> {
    /// What the MTA can do. Everything begins with it.
    Negotiate(ProtocolOptions),
    /// Values for the command that follows.
    Macros(Macros<'a>),
    /// A client has connected, from this address; empty if it has none.
    Connect(&'a [u8]),
    /// HELO or EHLO.
    Helo,
    /// MAIL FROM: a message begins.
    Mail,
    /// RCPT TO, with the address as the client wrote it.
    Recipient(&'a [u8]),
    /// DATA.
    Data,
    /// An SMTP command that the MTA does not know.
    Unknown,
    /// A header field. Lines of a folded value are separated by LF.
    Header {
        /// The name.
        name: &'a [u8],
        /// The value, with the space after the colon if that was negotiated.
        value: &'a [u8],
    },
    /// The header has ended.
    EndOfHeader,
    /// A part of the body.
    Body(&'a [u8]),
    /// The body has ended, perhaps with a last part. The MTA waits for the verdict.
    EndOfBody(&'a [u8]),
    /// The message is given up; the connection stays.
    Abort,
    /// The end of the connection.
    Quit,
    /// The end of the client's connection; that of another follows.
    QuitNewConnection,
}

/// What two sides can do, or have agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ProtocolOptions {
    /// The version of the protocol.
    pub version: u32,
    /// Changes that a milter may make, a bit each.
    pub actions: u32,
    /// Steps that are left out or not replied to, a bit each.
    pub protocol: u32,
}

/// Names and values, each ended by NUL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Macros<'a>(&'a [u8]);

impl<'a> Macros<'a> {
    /// The value of a macro. Braces around longer names belong to them.
    pub fn value(&self, name: &str) -> Option<&'a [u8]> {
        let mut words = self.0.split(|byte| *byte == 0);
        while let (Some(word), Some(value)) = (words.next(), words.next()) {
            if word == name.as_bytes() {
                return Some(value);
            }
        }
        None
    }
}

/// Bytes that are not a packet: the length is 0 or above 1 MiB, no command has the letter, or its data end too early. What
/// follows them cannot be read, and an MTA cannot be told more than that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadPacket;

/// The whole length of the packet that begins with these bytes; `None` if they are too few to tell.
///
/// # Errors
/// If a packet cannot be that long.
pub fn announced(bytes: &[u8]) -> Result<Option<usize>, BadPacket> {
    let Some((length, _)) = bytes.split_first_chunk::<LENGTH>() else { return Ok(None) };
    match usize::try_from(u32::from_be_bytes(*length)) {
        Ok(length) if (1..=MOST).contains(&length) => Ok(Some(LENGTH + length)),
        _ => Err(BadPacket),
    }
}

/// The packet that these bytes begin with, and its bytes, the length included; `None` if it is not complete.
///
/// # Errors
/// If they cannot become a packet.
pub fn parse(bytes: &[u8]) -> Result<Option<(Packet<'_>, usize)>, BadPacket> {
    let Some(length) = announced(bytes)? else { return Ok(None) };
    let Some((command, data)) = bytes.get(LENGTH..length).and_then(<[u8]>::split_first) else {
        return Ok(None);
    };
    Ok(Some((packet(*command, data)?, length)))
}

fn packet(command: u8, data: &[u8]) -> Result<Packet<'_>, BadPacket> {
    Ok(match command {
        b'O' => Packet::Negotiate(terms(data).ok_or(BadPacket)?),
        // the first byte is the command that they are for
        b'D' => Packet::Macros(Macros(data.get(1..).ok_or(BadPacket)?)),
        b'C' => Packet::Connect(client_address(data)),
        b'H' => Packet::Helo,
        b'M' => Packet::Mail,
        // ESMTP arguments follow
        b'R' => Packet::Recipient(data.split(|byte| *byte == 0).next().unwrap_or_default()),
        b'T' => Packet::Data,
        b'U' => Packet::Unknown,
        b'L' => {
            let colon = data.iter().position(|byte| *byte == 0).ok_or(BadPacket)?;
            let value = &data[colon + 1..];
            Packet::Header { name: &data[..colon], value: value.strip_suffix(b"\0").unwrap_or(value) }
        }
        b'N' => Packet::EndOfHeader,
        b'B' => Packet::Body(data),
        b'E' => Packet::EndOfBody(data),
        b'A' => Packet::Abort,
        b'Q' => Packet::Quit,
        b'K' => Packet::QuitNewConnection,
        _ => return Err(BadPacket),
    })
}

/// The address of a client: behind its name, the letter of the family, and the port.
fn client_address(data: &[u8]) -> &[u8] {
    let rest = data.splitn(2, |byte| *byte == 0).nth(1).unwrap_or_default();
    match rest.split_first_chunk() {
        Some(([b'4' | b'6', _, _], address)) => address.strip_suffix(b"\0").unwrap_or(address),
        _ => b"",
    }
}

fn terms(data: &[u8]) -> Option<ProtocolOptions> {
    let (version, data) = data.split_first_chunk()?;
    let (actions, data) = data.split_first_chunk()?;
    let (protocol, _) = data.split_first_chunk()?;
    let [version, actions, protocol] = [version, actions, protocol].map(|bytes| u32::from_be_bytes(*bytes));
    Some(ProtocolOptions { version, actions, protocol })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(command: u8, data: &[u8]) -> Vec<u8> {
        let length = u32::try_from(1 + data.len()).unwrap();
        [&length.to_be_bytes()[..], &[command], data].concat()
    }

    #[test]
    fn what_postfix_sends_is_understood() {
        let offer = b"\0\0\0\x0dO\0\0\0\x06\0\0\x01\xff\0\x1f\xff\xff";
        let terms = ProtocolOptions { version: 6, actions: 0x1ff, protocol: 0x1f_ffff };
        assert_eq!(parse(offer), Ok(Some((Packet::Negotiate(terms), 17))));
        let header = Packet::Header { name: b"Subject", value: b" hello" };
        for (command, data, expected) in [
            (b'C', &b"localhost\x004\x9c\x40127.0.0.1\0"[..], Packet::Connect(b"127.0.0.1")),
            (b'C', b"localhost\0L\0\0/run/sock\0", Packet::Connect(b"")),
            (b'C', b"unknown\0U", Packet::Connect(b"")),
            (b'H', b"me\0", Packet::Helo),
            (b'M', b"<a@example.net>\0SIZE=7\0", Packet::Mail),
            (b'R', b"<b@example.org>\0NOTIFY=NEVER\0", Packet::Recipient(b"<b@example.org>")),
            (b'T', b"", Packet::Data),
            (b'U', b"FOO\0", Packet::Unknown),
            (b'L', b"Subject\0 hello\0", header),
            (b'N', b"", Packet::EndOfHeader),
            (b'B', b"soup\0\r\n", Packet::Body(b"soup\0\r\n")),
            (b'E', b"", Packet::EndOfBody(b"")),
            (b'E', b"last", Packet::EndOfBody(b"last")),
            (b'A', b"", Packet::Abort),
            (b'K', b"", Packet::QuitNewConnection),
            (b'Q', b"", Packet::Quit),
        ] {
            let bytes = framed(command, data);
            let found = (expected, bytes.len());
            assert_eq!(parse(&bytes), Ok(Some(found)));
            assert_eq!(parse(&[&bytes, &b"more"[..]].concat()), Ok(Some(found)));
            (0..bytes.len()).for_each(|end| assert_eq!(parse(&bytes[..end]), Ok(None), "{end}"));
        }
    }

    #[test]
    fn macros_are_found_by_their_whole_name() {
        let bytes = framed(b'D', b"Rj\0mx\0{rcpt_addr}\0b@example.org\0i\x004ABC\0odd");
        let Ok(Some((Packet::Macros(macros), _))) = parse(&bytes) else { panic!() };
        assert_eq!(macros.value("i"), Some(&b"4ABC"[..]));
        assert_eq!(macros.value("{rcpt_addr}"), Some(&b"b@example.org"[..]));
        // neither a value nor the command is a name
        assert_eq!((macros.value("mx"), macros.value("R"), macros.value("odd")), (None, None, None));
    }

    #[test]
    fn what_cannot_be_a_packet_is_refused_at_once() {
        let length = |n: u32| n.to_be_bytes();
        assert_eq!(parse(&length(0)), Err(BadPacket));
        assert_eq!(parse(&length(u32::MAX)), Err(BadPacket));
        let most = u32::try_from(MOST).unwrap();
        assert_eq!(announced(&length(most)), Ok(Some(4 + MOST)));
        assert_eq!(announced(&length(most + 1)), Err(BadPacket));
        for (command, data) in [(b'O', &b"\0\0\0\x06\0\0\0\0\0\0\0"[..]), (b'D', b""), (b'L', b"Subject")] {
            assert_eq!(parse(&framed(command, data)), Err(BadPacket));
        }
        assert_eq!(parse(&framed(b'S', b"TP")), Err(BadPacket));
        // an HTTP client announces 1,195,725,856 bytes
        assert_eq!(parse(b"GET / HTTP/1.1\r\n"), Err(BadPacket));
    }
}
