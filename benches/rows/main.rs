//! Writes labelled rows, as many as asked for, to a pipe or a file: a table of tab-separated values with columns `label` and `text`.
//!
//!     cargo run --release --example generate_rows -- 1000000 | tamis train -m rows.tamis --input-format tsv -
//!
//! Words of rank r come about 1/r as often as the first (Zipf), and one in ten is of the row's own class. Integers only: the same seed
//! gives the same bytes everywhere.

use std::io::{BufWriter, ErrorKind, Write};

use clap::Parser;

use words::{Random, word};

#[path = "../mails/words.rs"]
mod words;

#[derive(Parser)]
#[command(about = "Writes labelled rows of text")]
struct Arguments {
    rows: u64,
    /// Words in a row
    #[arg(long, default_value_t = 60)]
    words: u64,
    /// Labels
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(2..))]
    classes: u64,
    /// Different words
    #[arg(long, default_value_t = 100_000)]
    terms: u64,
    /// Another seed, other rows
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> std::io::Result<()> {
    let Arguments { rows, words, classes, terms, seed } = Arguments::parse();
    let vocabulary: Vec<String> = (0..terms.max(classes)).map(word).collect();
    let mut random = Random(seed);
    let mut out = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
    let written = write_rows(&mut out, &vocabulary, &mut random, (rows, words, classes));
    match written.and_then(|()| out.flush()) {
        // who reads has had enough
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

fn write_rows(
    out: &mut impl Write,
    vocabulary: &[String],
    random: &mut Random,
    (rows, words, classes): (u64, u64, u64),
) -> std::io::Result<()> {
    let n = vocabulary.len() as u64;
    out.write_all(b"label\ttext\n")?;
    for _ in 0..rows {
        let class = random.below(classes);
        write!(out, "class{class}")?;
        for at in 0..words {
            // as many of ranks below 1 as of 1 and 2, of 3 to 6 ...
            let width = 1 << random.below(u64::from(n.ilog2()) + 1);
            let mut rank = (width - 1 + random.below(width)) % n;
            if random.below(10) == 0 {
                rank = (rank - rank % classes + class) % n;
            }
            out.write_all(if at == 0 { b"\t" } else { b" " })?;
            out.write_all(vocabulary[rank as usize].as_bytes())?;
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}
