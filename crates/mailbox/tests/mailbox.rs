//! Tests of the mailbox agent that need no server; those with one are in `tests/system`.
#![allow(unreachable_pub)] // functions of targets are for `fuzz` too

use proptest::prelude::*;
use tamis_mailbox::MailboxSettings;
use tamis_mailbox::parsers::converse;

#[path = "mailbox/fuzzed.rs"]
mod fuzzed;

/// What a server says when all goes well.
const WHOLE: &str = r#"A0001 OK in
* CAPABILITY IMAP4rev1 IDLE MOVE UIDPLUS SPECIAL-USE
A0002 OK
* LIST (\HasNoChildren \Junk) "/" "Junk"
* LIST (\Noselect) "." {5}
Lists
* LIST () NIL "&ZeVnLIqe-"
A0003 OK done
* STATUS "Junk" (MESSAGES 3 UIDNEXT 9 UIDVALIDITY 7)
A0004 OK
* 3 EXISTS
* OK [UIDVALIDITY 7] x
* OK [UIDNEXT 9] y
A0005 OK [READ-WRITE] opened
* SEARCH 1 4 8
A0006 OK
* 1 FETCH (UID 1 FLAGS (\Seen) INTERNALDATE "24-Nov-2026 10:00:00 +0000" BODY[]<0> {22}
Subject: hello

body)
* 2 FETCH (UID 4 FLAGS (\Deleted) BODY[]<0> "quoted")
A0007 OK
* SEARCH 1
A0008 OK
* 1 FETCH (UID 1 FLAGS ($Junk) MODSEQ (12))
A0009 OK
* OK [COPYUID 7 1 12] moved
A0010 OK done
"#;

#[test]
fn a_whole_conversation_goes_to_its_end_and_half_of_it_does_not() {
    let whole = WHOLE.replace('\n', "\r\n").into_bytes();
    assert_eq!(converse(&whole), 8);
    for end in 0..whole.len() - 2 {
        assert!(converse(&whole[..end]) < 8, "{end} of {} bytes", whole.len());
    }
}

proptest! {
    #[test]
    fn any_change_of_bytes_is_an_answer_or_an_error(changes in prop::collection::vec((0.0..1.0, any::<u8>()), 1..4)) {
        let mut bytes = WHOLE.replace('\n', "\r\n").into_bytes();
        for (at, byte) in changes {
            let at = (at * bytes.len() as f64) as usize;
            bytes[at] = byte;
        }
        converse(&bytes);
    }

    #[test]
    fn any_text_is_settings_or_an_error(text in ".{0,200}") {
        let _ = MailboxSettings::parse(&text);
    }
}
