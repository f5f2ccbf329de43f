//! The protocol: versions, replies, aborts, what is broken, stopping.

use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::{any, proptest};

use crate::fuzzed::milter;
use crate::milter::mta::{Mta, OLD, POSTFIX, content, expected, message, packet, settings};
use crate::support::{HAM, HTTP, Running, SPAM};

proptest! {
    #[test]
    fn changed_bytes_are_packets_or_not(changes in vec((0usize..600, any::<u8>()), 0..8), from in 0usize..400) {
        let mut bytes = message(SPAM, &["b@example.org"]);
        for (at, value) in changes {
            bytes.get_mut(at).into_iter().for_each(|byte| *byte = value);
        }
        milter::run(&bytes);
        milter::run(&bytes[from.min(bytes.len())..]);
    }
}

#[test]
fn what_the_mta_does_not_offer_is_not_asked_for() {
    let running = Running::start(&settings("quarantine = 0.9"));
    let negotiate = |offer| Mta(running.unix("milter.sock")).negotiate(offer);
    assert_eq!(negotiate(POSTFIX), [6, 0x31, 0x1f_f382]);
    assert_eq!(negotiate(OLD), [2, 0x11, 0x02]);
    assert_eq!(negotiate([7, 0, 0]), [6, 0, 0]);
}

#[test]
fn an_old_mta_gets_a_reply_to_every_command() {
    let running = Running::start(&settings(""));
    let mut mta = Mta(running.unix("milter.sock"));
    mta.negotiate([2, 0x1f, 0]);
    mta.send(&packet('D', b"Cj\0mx.example.org\0"));
    for (command, data) in [
        ('C', &b"localhost\x004\x9c\x40127.0.0.1\0"[..]),
        ('H', b"client\0"),
        ('M', b"<a@example.net>\0"),
        ('R', b"<b@example.org>\0"),
        ('U', b"NONSENSE\0"),
        ('L', b"From\0a@example.net\0"),
        ('L', b"To\0b@example.org\0"),
        ('L', b"Subject\0cheap pills\0"),
        ('L', b"Message-ID\0<spam1@example.net>\0"),
        ('N', b""),
        ('B', b"Buy cheap pills now, best offer, click here\r\n"),
    ] {
        mta.send(&packet(command, data));
        assert_eq!(mta.reply().shown(), "c", "{command}");
    }
    mta.send(&packet('E', b""));
    // no space is expected in front of values
    let expected: Vec<String> = expected(&running, SPAM).iter().map(|r| r.replacen(": ", ":", 1)).collect();
    assert_eq!(mta.verdict(), expected);
}

#[test]
fn several_messages_come_over_a_connection() {
    let running = Running::start(&settings(""));
    let [spam, ham] = [SPAM, HAM].map(|raw| expected(&running, raw));
    let mut mta = Mta::postfix(&running);
    mta.send(&message(SPAM, &["b@example.org"]));
    assert_eq!(mta.verdict(), spam);
    // aborts after a message, in the middle of one, and twice
    mta.send(&[packet('A', b""), packet('A', b"")].concat());
    mta.send(&message(SPAM, &["b@example.org"])[..100]);
    mta.send(&message(SPAM, &["b@example.org"])[100..200]);
    drop(mta);
    let mut mta = Mta::postfix(&running);
    mta.send(&[packet('M', b"<x@y>\0"), packet('L', b"X-Tamis\0 ham\0"), packet('A', b"")].concat());
    mta.send(&message(HAM, &["b@example.org"]));
    assert_eq!(mta.verdict(), ham);
    // another client
    mta.send(&[packet('K', b""), packet('C', b"localhost\0U")].concat());
    mta.send(&[message(SPAM, &["b@example.org"]), message(HAM, &["b@example.org"])].concat());
    assert_eq!((mta.verdict(), mta.verdict()), (spam.clone(), ham.clone()));
    // negotiated again
    mta.send(&packet('K', b""));
    mta.negotiate(POSTFIX);
    mta.send(&content(SPAM));
    assert_eq!(mta.verdict(), spam);
    mta.send(&packet('Q', b""));
    assert!(mta.is_closed());
}

#[test]
fn a_message_in_small_portions_is_the_same_message() {
    let running = Running::start(&settings(""));
    let mut mta = Mta::postfix(&running);
    for part in message(HAM, &["b@example.org"]).chunks(3) {
        mta.send(part);
    }
    assert_eq!(mta.verdict(), expected(&running, HAM));
    // a last part of the body with its end
    let (header, body) = HAM.split_at(HAM.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4);
    let packets = content(header);
    mta.send(&packets[..packets.len() - packet('E', b"").len()]);
    mta.send(&packet('E', body));
    assert_eq!(mta.verdict(), expected(&running, HAM));
}

#[test]
fn what_is_not_milter_ends_the_connection_and_nothing_else() {
    let running = Running::start(&settings(""));
    let raw = |bytes: &[u8]| {
        let mut mta = Mta(running.unix("milter.sock"));
        mta.send(bytes);
        mta.is_closed()
    };
    assert!(raw(b"GET / HTTP/1.1\r\n\r\n") && raw(b"\xff\xff\xff\xffB") && raw(b"\0\0\0\0"));
    // before anything is negotiated, too old, too short
    assert!(
        raw(&packet('M', b"<a@example.net>\0")) && raw(&packet('O', &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]))
    );
    assert!(raw(&packet('O', b"\0\0\0\x06")) && raw(&packet('Z', b"")));
    for bytes in [&b"\0\x10\0\x01"[..], &packet('L', b"no end")] {
        let mut mta = Mta::postfix(&running);
        mta.send(bytes);
        assert!(mta.is_closed());
    }
    let whole = message(SPAM, &["b@example.org"]);
    for end in (0..whole.len()).step_by(17) {
        Mta::postfix(&running).hang_up(&whole[..end]);
    }
    let mut mta = Mta::postfix(&running);
    mta.send(&whole);
    assert_eq!(mta.verdict(), expected(&running, SPAM));
}

#[test]
fn slow_packets_and_idle_connections_end() {
    let limits = "idle_seconds = 2\n[limits]\ncommand_seconds = 1\nmessage_seconds = 1\n";
    let running = Running::start(&settings(limits));
    let ends_after = |bytes: &[u8], least: u64| {
        let mut mta = Mta::postfix(&running);
        let begun = Instant::now();
        mta.send(bytes);
        assert!(mta.is_closed());
        // a limit is not reached early, and not much later
        let took = begun.elapsed();
        let least = Duration::from_secs(least);
        assert!(
            took + Duration::from_millis(50) > least && took < least + Duration::from_secs(5),
            "{took:?}"
        );
    };
    let (idle, slow) = ([&b""[..], &packet('M', b"<a@b>\0")], [&b"\0\0"[..], &packet('L', b"To\0 b\0")]);
    std::thread::scope(|scope| {
        idle.iter().for_each(|bytes| drop(scope.spawn(|| ends_after(bytes, 2))));
        slow.iter().for_each(|bytes| drop(scope.spawn(|| ends_after(bytes, 1))));
    });
}

#[test]
fn a_message_that_has_begun_is_finished_when_the_server_stops() {
    let mut running = Running::start(&settings(HTTP));
    let (mut idle, mut busy) = (Mta::postfix(&running), Mta::postfix(&running));
    let packets = message(SPAM, &["b@example.org"]);
    let expected = expected(&running, SPAM);
    busy.send(&packets[..packets.len() - 3]);
    running.wait_for_bytes_in_flight(1);
    running.signal("-TERM");
    assert!(idle.is_closed());
    busy.send(&packets[packets.len() - 3..]);
    assert_eq!(busy.verdict(), expected);
    assert!(busy.is_closed());
    assert!(running.child.wait().unwrap().success());
}

#[test]
fn idle_connections_are_cheap() {
    let running = Running::start(&settings(""));
    let resident = || {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", running.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0 kB").to_owned();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
    };
    let serve = |mta: &mut Mta| {
        mta.send(&message(SPAM, &["b@example.org"]));
        mta.verdict();
    };
    let mut first: Vec<Mta> = (0..20).map(|_| Mta::postfix(&running)).collect();
    first.iter_mut().for_each(serve);
    let before = resident();
    let n = 1_000 - first.len();
    let mut idle: Vec<Mta> = (0..n).map(|_| Mta::postfix(&running)).collect();
    let negotiated = resident();
    idle.iter_mut().for_each(serve);
    let served = resident();
    let each = |after: usize| after.saturating_sub(before) / n;
    eprintln!("bytes a connection: {} idle, {} after a message", each(negotiated), each(served));
    assert!(each(served) < 10_000, "{} bytes", each(served));
}
