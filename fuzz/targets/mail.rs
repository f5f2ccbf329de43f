//! Mail to terms, and verdicts into mail.

use tamis_mail::passthrough::{SpamStatus, Verdict, annotate};
use tamis_mail::{Limits, Message, Piece, forwarded_messages, looks_like_mail};

pub const VERDICT: Verdict<'_> = Verdict {
    label: "spam",
    unsure: false,
    probability: 0.75,
    log_odds: 1.5,
    spam: Some(SpamStatus { is_spam: true, score: 1.5, threshold: 0.0 }),
    truncated: false,
    doubt: "",
    reasons: "",
    version: "1",
};

pub fn run(data: &[u8]) {
    looks_like_mail(data);
    let message = Message::parse(data, &Limits::default());
    assert_eq!(message, Message::parse(data, &Limits::default()));
    let whole = pieces(&message);
    pass_through(data, &whole);

    let mut least = Limits::default();
    least.bytes = 200;
    least.nested_messages = 1;
    least.parts = 2;
    least.headers = 3;
    least.text = 40;
    let message = Message::parse(data, &least);
    assert_eq!(message.limits_hit().bytes, data.len() > 200);
    let texts = message.parts().iter().filter_map(|part| part.text.as_ref());
    assert!(texts.map(String::len).sum::<usize>() <= 80);
    assert!(message.parts().len() <= 4 && message.headers().len() <= 3);
    pieces(&message);
    assert!(forwarded_messages(data, &least).0.len() <= 1);
}

/// The terms and texts of a message.
fn pieces(message: &Message) -> Vec<String> {
    let mut pieces = Vec::new();
    message.for_each_bogofilter_token(|_| ());
    message.for_each_piece(false, |piece| match piece {
        Piece::Words { prefix, text, .. } => pieces.push(format!("{prefix} {text}")),
        Piece::Terms(batch, _) => batch.iter().for_each(|term| {
            assert!(!term.is_empty() && term.len() <= 80, "{term:?}");
            pieces.push(term.to_owned());
        }),
        Piece::EndOfPart => (),
    });
    pieces
}

fn pass_through(raw: &[u8], whole: &[String]) {
    let out = annotate(raw, &VERDICT, false);
    assert_eq!(annotate(&out, &VERDICT, false), out);
    // neither what was added nor what it replaces is evidence
    assert_eq!(pieces(&Message::parse(&out, &Limits::default())), whole);
    let lower = raw.to_ascii_lowercase();
    if [&b"x-tamis"[..], b"x-spam-"].iter().any(|name| lower.windows(name.len()).any(|at| at == *name)) {
        return; // replaced, not added
    }
    // what was added stands in one place, and without it the message is left
    let same = raw.iter().zip(&out).take_while(|(a, b)| a == b).count();
    assert_eq!(out[same + out.len() - raw.len()..], raw[same..]);
}
