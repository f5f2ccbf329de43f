//! Writes labelled mails with as many different words as asked for, to train models of a given size.
//!
//!     cargo run --release --example generate_mail -- DIR --terms 1000000 --seed 1
//!
//! writes `DIR/ham/N.eml` and `DIR/spam/N.eml`. A tenth of the words are new, as long as there are new ones; the others were
//! used before, one of rank r about 1/r as often as the first (Zipf). Words of odd rank lean to spam, those of even
//! rank to ham. All have 4 to 8 letters, so that every filter takes them, and headers say little, so that words make
//! the model. Integers only: the same seed gives the same bytes everywhere.
#![allow(clippy::print_stdout)]

use std::fs;
use std::io;
use std::path::PathBuf;

use clap::Parser;

use words::{Random, word};

mod words;

#[derive(Parser)]
#[command(about = "Writes labelled mails of a given number of different words")]
struct Arguments {
    /// Where to write; made if it is not there
    folder: PathBuf,
    /// Different words in all mails together
    #[arg(long, default_value_t = 1_000_000)]
    terms: u64,
    /// Another seed, other mails
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Mails of both classes, in turn.
struct Writer {
    random: Random,
    /// Words used so far: those of the ranks below.
    known: u64,
    terms: u64,
}

impl Writer {
    /// A rank that was used before, small ones more often, and rather those that lean to the class.
    fn old_rank(&mut self, class: u64) -> u64 {
        loop {
            let width = 1 << self.random.below(u64::from(self.known.ilog2()) + 1);
            let mut rank = width - 1 + self.random.below(width);
            if rank % 2 != class && self.random.below(2) == 0 {
                rank ^= 1;
            }
            if rank < self.known {
                return rank;
            }
        }
    }

    fn next_word(&mut self, class: u64) -> String {
        let is_new = self.known == 0 || self.known < self.terms && self.random.below(10) == 0;
        if is_new {
            self.known += 1;
            return word(self.known - 1);
        }
        word(self.old_rank(class))
    }

    fn body(&mut self, class: u64) -> String {
        let (mut body, mut column) = (String::new(), 0);
        for _ in 0..100 + self.random.below(800) {
            let word = self.next_word(class);
            column += word.len() + 1;
            body += &word;
            match self.random.below(12) {
                0 => body += ".",
                1 => body += ",",
                _ => (),
            }
            body += if column > 70 { "\n" } else { " " };
            column %= 71;
        }
        body + "\n"
    }

    /// A mail from and to a few hundred people. `number` is its place among all mails.
    fn mail(&mut self, class: u64, number: u64) -> String {
        let body = self.body(class);
        let subject: Vec<_> = (0..2 + self.random.below(5)).map(|_| word(self.random.below(500))).collect();
        let (from, to) = (self.random.below(200), self.random.below(20));
        let day = number % 28 + 1;
        let time = format!("{:02}:{:02}:{:02}", number / 3600 % 24, number / 60 % 60, number % 60);
        let date = format!("{day} Nov 2025 {time} +0000");
        format!(
            "Return-Path: <{from}@{domain}.example>\n\
             Received: from mail.{domain}.example (mail.{domain}.example [192.0.2.{from}])\n\
             \tby mx.example.org with ESMTP; {date}\n\
             Message-ID: <{number}.{day}@{domain}.example>\n\
             Date: {date}\n\
             From: {name} <{name}@{domain}.example>\n\
             To: {reader} <{reader}@example.org>\n\
             Subject: {subject}\n\
             MIME-Version: 1.0\n\
             Content-Type: text/plain; charset=us-ascii\n\n{body}",
            domain = word(from / 4),
            name = word(from + 300),
            reader = word(to + 100),
            subject = subject.join(" "),
        )
    }
}

fn main() -> io::Result<()> {
    let Arguments { folder, terms, seed } = Arguments::parse();
    let labels = ["ham", "spam"];
    for label in labels {
        fs::create_dir_all(folder.join(label))?;
    }
    let mut writer = Writer { random: Random(seed), known: 0, terms };
    let (mut mails, mut bytes) = (0, 0);
    while writer.known < terms {
        let class = mails % 2;
        let mail = writer.mail(class, mails);
        fs::write(folder.join(labels[class as usize]).join(format!("{mails}.eml")), &mail)?;
        mails += 1;
        bytes += mail.len();
    }
    println!("{mails} mails, {:.1} MB, {terms} different words", bytes as f64 / 1e6);
    Ok(())
}
