//! What an IMAP server says to the mailbox agent.

#[allow(unexpected_cfgs, reason = "set by `run`")]
pub fn run(data: &[u8]) {
    // libFuzzer's own hook would end it at panics that are caught, as the parser's are
    #[cfg(fuzzing)]
    std::panic::set_hook(Box::new(|_| {}));
    // the same bytes tell the same
    assert_eq!(tamis_mailbox::parsers::converse(data), tamis_mailbox::parsers::converse(data));
}
