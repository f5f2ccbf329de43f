//! Real mail: the SpamAssassin corpus, where it is at hand.
use mail_parser::{MessageParser, MimeHeaders};
use std::path::PathBuf;
use tamis_mail::{Limits, Message, looks_like_mail, mbox};
use tamis_testing::public_corpus;

/// The messages of the corpus; none where it is absent.
fn messages() -> Vec<(PathBuf, Vec<u8>)> {
    let Some(corpus) = public_corpus("spamassassin") else { return Vec::new() };
    let folders = ["ham", "spam"].map(|label| corpus.join(label));
    let files = folders.iter().flat_map(|folder| folder.read_dir().unwrap());
    files.map(|file| file.unwrap().path()).map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

#[test]
fn real_mail_is_read_whole() {
    let (mut mail, mut read, mut empty) = (0, 0, 0);
    for (path, raw) in messages() {
        let message = Message::parse(&raw, &Limits::default());
        let broken: Vec<_> = message.headers().filter(|h| h.value.contains("=?iso-8859-1?")).collect();
        assert!(broken.is_empty() || path.ends_with("spam"), "{}: {broken:?}", path.display());
        read += 1;
        mail += usize::from(looks_like_mail(&raw));
        empty += usize::from(message.body().trim().is_empty());
        if !message.limits_hit().is_empty() {
            println!("{}: limits hit: {}", path.display(), message.limits_hit());
        }
    }
    println!("{read} messages, {mail} look like mail, {empty} without text");
    assert!(mail * 1_000 >= read * 995, "{mail} of {read} look like mail");
    assert!(empty * 100 <= read, "{empty} of {read} without text");
}

/// Types of the parts, as mail-parser sees them.
fn types(message: &mail_parser::Message<'_>) -> Vec<String> {
    let mut types = Vec::new();
    for part in &message.parts {
        let kind = part.content_type();
        let name = kind.map(|k| format!("{}/{}", k.ctype(), k.subtype().unwrap_or_default()));
        types.push(
            name.filter(|name| !name.ends_with('/'))
                .unwrap_or_else(|| "text/plain".to_owned())
                .to_lowercase(),
        );
        if let mail_parser::PartType::Message(nested) = &part.body {
            types.extend(self::types(nested));
        }
    }
    types
}

#[test]
fn mail_parser_agrees_on_the_parts() {
    let (mut same, mut all) = (0, 0);
    for (path, raw) in messages() {
        let ours = Message::parse(&raw, &Limits::default());
        let ours: Vec<_> = ours.parts().iter().map(|part| part.content_type.clone()).collect();
        let theirs = MessageParser::default().parse(&raw).map(|message| types(&message)).unwrap_or_default();
        all += 1;
        same += usize::from(ours == theirs);
        if ours != theirs {
            println!("{}: {ours:?}, mail-parser {theirs:?}", path.display());
        }
    }
    println!("{same} of {all} the same");
    assert!(same * 1_000 >= all * 995, "{same} of {all} the same");
}

#[test]
fn a_mailbox_of_real_mail() {
    let messages = messages();
    let mut file = Vec::new();
    for (_, raw) in &messages {
        file.extend_from_slice(b"From a@b.org Fri Aug 23 11:03:04 2002\n");
        for line in raw.split_inclusive(|c| *c == b'\n') {
            let quotes = line.iter().take_while(|c| **c == b'>').count();
            if line[quotes..].starts_with(b"From ") {
                file.push(b'>');
            }
            file.extend_from_slice(line);
        }
        file.extend_from_slice(if raw.ends_with(b"\n") { b"\n" } else { b"\n\n" });
    }
    let entries: Vec<_> = mbox::Reader::new(&file[..], 1 << 30).map(Result::unwrap).collect();
    assert_eq!(entries.len(), messages.len());
    for (entry, (path, raw)) in entries.iter().zip(&messages) {
        assert!(entry.bytes.strip_suffix(b"\n") == Some(raw) || entry.bytes == *raw, "{}", path.display());
    }
}

#[test]
fn real_mail_has_the_terms_it_should() {
    let (mut all, mut distinct, mut dated) = (0, 0, 0);
    for (path, raw) in messages().into_iter().step_by(10) {
        let message = Message::parse(&raw, &Limits::default());
        let mut terms = crate::terms::terms(&message, false);
        terms.sort_unstable();
        terms.dedup();
        assert!(terms.len() > 20, "{}", path.display());
        all += 1;
        distinct += terms.len();
        dated += usize::from(message.date().is_some());
    }
    println!("{distinct} different terms in {all} messages, {dated} of them dated");
    assert!((250 * all..350 * all).contains(&distinct) || all == 0, "{distinct} in {all}");
    assert!(dated * 100 >= all * 97, "{dated} of {all} are dated");
}
