//! Mailboxes: read in any portions, cut anywhere, written again.

use super::Choices;
use std::io::BufReader;
use tamis_mail::mbox::{Entry, Reader, looks_like_mbox};

/// A header before each message that is written, since a separator needs a field after it.
const HEADER: &[u8] = b"A: 1\n\n";

pub fn run(data: &[u8]) {
    let mut choices = Choices(data);
    let (most, portion) = (choices.number(), choices.number() % 5_000 + 1);
    let file = choices.0;
    looks_like_mbox(file);
    let whole = read(file, usize::MAX);
    assert_eq!(whole.iter().map(|entry| entry.number).collect::<Vec<_>>(), Vec::from_iter(1..=whole.len()));
    assert!(whole.iter().map(|entry| entry.bytes.len()).sum::<usize>() <= file.len());

    let portions = Reader::new(BufReader::with_capacity(portion, file), usize::MAX);
    assert_eq!(portions.map(|entry| entry.expect("bytes can be read")).collect::<Vec<_>>(), whole);

    let cut = read(file, most);
    assert_eq!(cut.len(), whole.len());
    for (cut, whole) in cut.iter().zip(&whole) {
        assert_eq!(cut.bytes, whole.bytes[..whole.bytes.len().min(most)]);
        assert_eq!(cut.truncated, whole.bytes.len() > most);
    }
    for (again, entry) in read(&write(&whole), usize::MAX).iter().zip(&whole) {
        let again = again.bytes.strip_prefix(HEADER).expect("the header that was written");
        assert_eq!(
            again.strip_suffix(b"\n").unwrap_or(b""),
            entry.bytes.strip_suffix(b"\n").unwrap_or(&entry.bytes)
        );
    }
    assert_eq!(read(&write(&whole), usize::MAX).len(), whole.len());
}

fn read(file: &[u8], most: usize) -> Vec<Entry> {
    Reader::new(file, most).map(|entry| entry.expect("bytes can be read")).collect()
}

fn write(entries: &[Entry]) -> Vec<u8> {
    let mut file = Vec::new();
    for entry in entries {
        file.extend_from_slice(b"From a@b.org Fri Aug 23 11:03:04 2002\n");
        file.extend_from_slice(HEADER);
        for line in entry.bytes.split_inclusive(|c| *c == b'\n') {
            let quotes = line.iter().take_while(|c| **c == b'>').count();
            if line[quotes..].starts_with(b"From ") {
                file.push(b'>');
            }
            file.extend_from_slice(line);
        }
        file.extend_from_slice(if entry.bytes.is_empty() || entry.bytes.ends_with(b"\n") {
            b"\n"
        } else {
            b"\n\n"
        });
    }
    file
}
