//! What an IMAP server says to the mailbox agent.

pub fn run(data: &[u8]) {
    // the same bytes tell the same, in one piece or not
    assert_eq!(tamis_mailbox::parsers::converse(data), tamis_mailbox::parsers::converse(data));
}
