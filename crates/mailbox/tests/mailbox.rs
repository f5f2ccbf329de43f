//! Tests of the mailbox agent that need no server; those with one are in `tests/system`.
#![allow(unreachable_pub)] // functions of targets are for `fuzz` too

use std::fs;

use proptest::prelude::*;
use tamis_mailbox::Settings;
use tamis_mailbox::parsers::converse;

#[path = "mailbox/fuzzed.rs"]
mod fuzzed;

use fuzzed::corpus;

#[test]
fn a_whole_conversation_goes_to_its_end_and_half_of_it_does_not() {
    let whole = fs::read(corpus().join("whole")).unwrap();
    assert_eq!(converse(&whole), 8);
    for end in 0..whole.len() - 2 {
        assert!(converse(&whole[..end]) < 8, "{end} of {} bytes", whole.len());
    }
}

proptest! {
    #[test]
    fn any_change_of_bytes_is_an_answer_or_an_error(changes in prop::collection::vec((0.0..1.0, any::<u8>()), 1..4)) {
        let mut bytes = fs::read(corpus().join("whole")).unwrap();
        for (at, byte) in changes {
            let at = (at * bytes.len() as f64) as usize;
            bytes[at] = byte;
        }
        converse(&bytes);
    }

    #[test]
    fn any_text_is_settings_or_an_error(text in ".{0,200}") {
        let _ = Settings::parse(&text);
    }
}
