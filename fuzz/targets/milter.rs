//! Packets of an MTA.

use tamis_server::parsers::milter::{Packet, announced, parse};

pub fn run(data: &[u8]) {
    let mut rest = data;
    while let Ok(Some((packet, length))) = parse(rest) {
        assert!((5..=rest.len()).contains(&length));
        let (bytes, after) = rest.split_at(length);
        // a packet is complete with its last byte, and what follows does not change it
        assert_eq!(announced(bytes), Ok(Some(bytes.len())));
        assert_eq!(parse(bytes), Ok(Some((packet, length))));
        for end in [0, 3, 4, bytes.len() / 2, bytes.len() - 1] {
            assert_eq!(parse(&bytes[..end.min(bytes.len() - 1)]), Ok(None));
        }
        check(&packet, &bytes[5..]);
        rest = after;
    }
    if let Ok(None) = parse(rest) {
        assert!(announced(rest).is_ok_and(|length| length.is_none_or(|length| length > rest.len())));
    }
}

/// Every part of a packet is a part of its data.
fn check(packet: &Packet<'_>, data: &[u8]) {
    match packet {
        Packet::Header { name, value } => {
            let nul = usize::from(data.len() > name.len() + 1 + value.len());
            assert_eq!([name, &b"\0"[..], value, &b"\0"[..nul]].concat(), data);
        }
        Packet::Recipient(address) => assert!(data.starts_with(address) && !address.contains(&0)),
        Packet::Body(part) | Packet::EndOfBody(part) => assert_eq!(*part, data),
        Packet::Macros(macros) => {
            let values = ["i", "{rcpt_addr}", ""].map(|name| macros.value(name));
            assert!(values.iter().flatten().all(|value| value.len() < data.len() && !value.contains(&0)));
        }
        _ => (),
    }
}
