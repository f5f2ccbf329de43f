//! What an IMAP server says to the mailbox agent.

#[allow(unexpected_cfgs, reason = "set by `run`")]
pub fn run(data: &[u8]) {
    // libFuzzer ends at every panic; those of the parser are caught, and the others end it all the same
    #[cfg(fuzzing)]
    std::panic::set_hook(Box::new(|_| {}));
    // the same bytes tell the same
    assert_eq!(tamis_mailbox::parsers::converse(data), tamis_mailbox::parsers::converse(data));
}
