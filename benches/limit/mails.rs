//! How near labelling mail comes to finding the words of its decoded text, which is the least that a filter must do.

use std::path::Path;

use tamis_mail::{Limits, Message, Piece};
use tamis_train::{Document, Kind, Scratch, TrainOptions, Trainer};

use crate::words;
use crate::{LABELS, Row};

/// The text of a message, decoded.
fn decoded(raw: &[u8]) -> String {
    let mut all = String::new();
    Message::parse(raw, &Limits::default()).for_each_piece(false, |piece| {
        if let Piece::Words { text, .. } = piece {
            all.push_str(text);
            all.push(' ');
        }
    });
    all
}

/// `mails` are messages as they came, each with the place of its label.
pub fn measure(mails: &[(usize, Vec<u8>)], rounds: usize) {
    let mut trainer = Trainer::new(TrainOptions::new(Kind::Mail)).unwrap();
    for (class, raw) in mails {
        trainer.add(LABELS[*class], Document::Mail(raw)).unwrap();
    }
    let filter = trainer.finish().unwrap().into_filter().unwrap();
    let documents: Vec<_> =
        mails.iter().map(|(class, raw)| words::Document::new(*class, &decoded(raw))).collect();
    let (expected, _) = words::reference(&documents);
    let mut rows = ["words of the decoded text", "tamis, parsed and scored"].map(Row::new);
    let (mut scratch, mut sums) = (Scratch::default(), Vec::new());
    for _ in 0..rounds {
        let n = rows[0].time(|| {
            let mut n = 0;
            documents.iter().for_each(|document| document.for_each_word(|hash| n += u64::from(hash != 0)));
            n
        });
        assert_eq!(n, expected.words);
        sums.push(rows[1].time(|| {
            let score = |raw: &Vec<u8>| filter.score_mail(raw, &mut scratch).unwrap().log_odds;
            mails.iter().map(|(_, raw)| raw).map(score).sum::<f64>()
        }));
        assert_eq!(sums[0], sums[sums.len() - 1]);
    }
    crate::print("label mail", &rows, mails.iter().map(|(_, raw)| raw.len()).sum());
}

/// The messages in `ham` and `spam` below a folder.
pub fn read(root: &Path) -> Vec<(usize, Vec<u8>)> {
    let of_label = |(class, label): (usize, &&str)| {
        let mut paths: Vec<_> =
            std::fs::read_dir(root.join(label)).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths.into_iter().map(move |path| (class, std::fs::read(path).unwrap())).collect::<Vec<_>>()
    };
    LABELS.iter().enumerate().flat_map(of_label).collect()
}
