//! An MTA at the other end of the milter's socket.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use tamis_train::{Filter, Scratch};

use crate::support::Running;

/// What Postfix 3.7 offers: version, actions, protocol.
pub(crate) const POSTFIX: [u32; 3] = [6, 0x1ff, 0x1f_ffff];

/// What Sendmail 8.13 offers.
pub(crate) const OLD: [u32; 3] = [2, 0x1f, 0x7f];

/// Settings of a server with this door at `FOLDER/milter.sock`, and more keys of the section.
pub(crate) fn settings(more: &str) -> String {
    format!("[milter]\nlisten = [\"unix:FOLDER/milter.sock\"]\nmode = \"0666\"\n{more}\n")
}

/// A packet.
pub(crate) fn packet(command: char, data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(1 + data.len()).unwrap();
    [&length.to_be_bytes()[..], &[command as u8], data].concat()
}

/// The packets of a message as Postfix sends them, from the sender to the end of the body.
pub(crate) fn message(raw: &[u8], recipients: &[&str]) -> Vec<u8> {
    let mut packets = packet('D', b"M{mail_addr}\0a@example.net\0");
    packets.extend(packet('M', b"<a@example.net>\0SIZE=100\0"));
    for recipient in recipients {
        packets.extend(packet('D', format!("R{{rcpt_addr}}\0{recipient}\0").as_bytes()));
        packets.extend(packet('R', format!("<{recipient}>\0").as_bytes()));
    }
    packets.extend(content(raw));
    packets
}

/// The packets of a message's header and body.
pub(crate) fn content(raw: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(raw.to_vec()).unwrap();
    let (header, body) = text.split_once("\r\n\r\n").unwrap();
    let mut packets = Vec::new();
    for field in header.replace("\r\n ", "\n ").split("\r\n") {
        let (name, value) = field.split_once(':').unwrap();
        packets.extend(packet('D', b"Li\x004ABC123\0"));
        packets.extend(packet('L', format!("{name}\0{value}\0").as_bytes()));
    }
    packets.extend(packet('N', b""));
    body.as_bytes().chunks(65_535).for_each(|part| packets.extend(packet('B', part)));
    packets.extend(packet('D', b"Ei\x004ABC123\0"));
    packets.extend(packet('E', b""));
    packets
}

/// A reply: its command and its data.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Reply {
    pub(crate) command: char,
    pub(crate) data: Vec<u8>,
}

impl Reply {
    /// The field that this adds or deletes, `m2 NAME` or `h NAME:VALUE`; other replies by their letter and data.
    pub(crate) fn shown(&self) -> String {
        let text = |data: &[u8]| String::from_utf8_lossy(data).trim_end_matches('\0').replace('\0', ":");
        match self.command {
            'm' => format!("m{} {}", self.data[3], text(&self.data[4..])),
            command => format!("{command} {}", text(&self.data)).trim_end().to_owned(),
        }
    }
}

/// An MTA that is connected.
pub(crate) struct Mta<S = UnixStream>(pub(crate) S);

impl Mta {
    /// Connects, and negotiates as Postfix does.
    pub(crate) fn postfix(running: &Running) -> Self {
        let mut mta = Mta(running.unix("milter.sock"));
        mta.negotiate(POSTFIX);
        mta
    }

    /// Sends bytes and then nothing more.
    pub(crate) fn hang_up(mut self, bytes: &[u8]) {
        let _ = self.0.write_all(bytes);
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

impl<S: Read + Write> Mta<S> {
    /// Negotiates; returns what was agreed on.
    pub(crate) fn negotiate(&mut self, offer: [u32; 3]) -> [u32; 3] {
        self.send(&packet('O', &offer.map(u32::to_be_bytes).concat()));
        let reply = self.reply();
        assert_eq!((reply.command, reply.data.len()), ('O', 12));
        [0, 4, 8].map(|at| u32::from_be_bytes(reply.data[at..at + 4].try_into().unwrap()))
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    /// The next reply.
    pub(crate) fn reply(&mut self) -> Reply {
        let mut length = [0; 4];
        self.0.read_exact(&mut length).unwrap();
        let mut bytes = vec![0; u32::from_be_bytes(length) as usize];
        self.0.read_exact(&mut bytes).unwrap();
        Reply { command: char::from(bytes[0]), data: bytes.split_off(1) }
    }

    /// The replies to the end of a message, up to the one that decides.
    pub(crate) fn verdict(&mut self) -> Vec<String> {
        let mut replies = Vec::new();
        loop {
            let reply = self.reply();
            replies.push(reply.shown());
            if "catyr".contains(reply.command) {
                return replies;
            }
        }
    }

    /// Whether the server closes the connection without a byte.
    pub(crate) fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        // a reset is an end too
        let _ = self.0.read_to_end(&mut rest);
        rest.is_empty()
    }
}

/// What passthrough writes into this message, as replies.
pub(crate) fn expected(running: &Running, raw: &[u8]) -> Vec<String> {
    let filter = Filter::open(running.path("model.tamis")).unwrap();
    let mut scratch = Scratch::default();
    let score = filter.score_mail(raw, &mut scratch).unwrap();
    let verdict = filter.verdict(&score, &scratch);
    let fields = tamis_mail::passthrough::fields(&verdict);
    let shown = |(name, value): &(&str, String)| match value.is_empty() {
        true => format!("h {name}"),
        false => format!("h {name}: {value}"),
    };
    fields.iter().map(shown).chain(["c".to_owned()]).collect()
}
