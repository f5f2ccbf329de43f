//! Requests of spamd's protocol.

use tamis_server::parsers::spamd::{head_end, message, parse};

pub fn run(data: &[u8]) {
    if let Some(end) = head_end(data) {
        // a head is complete with its last byte, and what follows does not change it
        let head = &data[..end];
        assert_eq!(head_end(head), Some(end));
        for shorter in [0, end / 2, end - 1] {
            assert_eq!(head_end(&head[..shorter]), None);
        }
        match parse(head) {
            Ok(request) => {
                assert!(!(request.set && request.remove));
                let values = [&request.user, &request.class, &Some(request.queue_id)];
                assert!(values.into_iter().flatten().all(|value| !value.contains('\n')));
            }
            // the answer is one line
            Err(words) => assert!(words.len() < 1000 && !words.contains(char::is_control), "{words:?}"),
        }
    }
    assert!(data.ends_with(message(data)));
}
