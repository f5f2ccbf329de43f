//! How near the library comes to what one core can do at best on plain text in memory.
//!
//!     cargo bench --bench limit -- PATH [TOPICS]
//!     cargo bench --bench limit -- --scripts
//!
//! PATH holds `ham/` and `spam/` of the SpamAssassin corpus, of which the train half is read (as in `accuracy`) as text:
//! headers, markup and all, so that mail parsing plays no part; `mails.rs` reads all of it as mail. TOPICS holds folders of texts, as the train half of 20 Newsgroups;
//! these are dealt out to 4 and to 20 classes. `words.rs` is the limit, `classes.rs` that of many classes. `scripts.rs` compares
//! generated words of other scripts with those of ASCII; `--scripts` runs that alone. Dated results are in `runs/`.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, unreachable_pub)]

mod classes;
mod mails;
mod scripts;
mod words;

use std::path::Path;
use std::time::Instant;

use tamis_train::options::WordRule;
use tamis_train::{Filter, Kind, Model, Scoring, Scratch, TrainOptions, Trainer};

const LABELS: [&str; 2] = ["ham", "spam"];

/// The class (a label's place) and text of every message below `root` whose name belongs to the train half.
fn read(root: &Path, all: bool) -> Vec<(usize, String)> {
    let mut mails = Vec::new();
    for (class, label) in LABELS.iter().enumerate() {
        for entry in std::fs::read_dir(root.join(label)).unwrap() {
            let path = entry.unwrap().path();
            let digest = md5::compute(path.file_name().unwrap().as_encoded_bytes()).0;
            if all || digest[0] < 0x80 {
                let text = tamis_mail::decode_text(&std::fs::read(path).unwrap(), None).into_owned();
                mails.push((digest, class, text));
            }
        }
    }
    mails.sort_unstable();
    mails.into_iter().map(|(_, class, text)| (class, text)).collect()
}

fn options(rule: WordRule, scoring: Option<Scoring>) -> TrainOptions {
    // the limit is of single words
    let mut options = TrainOptions::new(Kind::Text);
    options.scoring = scoring;
    options.refinements.clear();
    options.recipe.tokenizer.word_rule = rule;
    options
}

/// A trainer that has counted the texts.
fn counted(options: TrainOptions, texts: &[(usize, String)]) -> Trainer {
    let mut trainer = Trainer::new(options).unwrap();
    for (class, text) in texts {
        trainer.add(LABELS[*class], tamis_train::Document::Text(text)).unwrap();
    }
    trainer
}

/// The sum of all documents' log-odds.
fn scored(filter: &Filter, texts: &[(usize, String)], scratch: &mut Scratch) -> f64 {
    texts.iter().map(|(_, text)| filter.score_text(text, scratch).unwrap().log_odds).sum()
}

/// A way of doing a task, and the seconds it took in each round.
struct Row {
    name: String,
    seconds: Vec<f64>,
}

impl Row {
    fn new(name: impl Into<String>) -> Row {
        Row { name: name.into(), seconds: Vec::new() }
    }

    fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.seconds.push(start.elapsed().as_secs_f64());
        result
    }

    fn median(&self) -> f64 {
        let mut seconds = self.seconds.clone();
        seconds.sort_by(f64::total_cmp);
        seconds[seconds.len() / 2]
    }

    fn best(&self) -> f64 {
        self.seconds.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

fn rows(names: [String; 3]) -> [Row; 3] {
    names.map(Row::new)
}

fn print(task: &str, rows: &[Row], bytes: usize) {
    println!("\n{task:<32} MB/s median   best   of the limit");
    for row in rows {
        let rate = |seconds: f64| bytes as f64 / 1e6 / seconds;
        println!(
            "  {:<30} {:>11.0} {:>6.0} {:>13.2}",
            row.name,
            rate(row.median()),
            rate(row.best()),
            rows[0].median() / row.median()
        );
    }
}

/// What is measured: one word rule of the library.
struct Subject {
    rule: WordRule,
    /// The model of counts alone, which every round must learn again.
    counts: Model,
    /// Two classes, weighted.
    filter: Filter,
    log_odds: f64,
}

impl Subject {
    fn new(rule: WordRule, texts: &[(usize, String)]) -> Subject {
        let counts = counted(Self::count_options(rule), texts).finish().unwrap();
        let filter = counted(options(rule, None), texts).finish().unwrap().into_filter().unwrap();
        let log_odds = scored(&filter, texts, &mut Scratch::default());
        Subject { rule, counts, filter, log_odds }
    }

    /// Digests and counts: nothing else is kept of a document.
    fn count_options(rule: WordRule) -> TrainOptions {
        options(rule, Some(Scoring::NaiveBayes(Scoring::parameters())))
    }
}

fn measure(texts: &[(usize, String)], rounds: usize) {
    let documents: Vec<_> = texts.iter().map(|(class, text)| words::Document::new(*class, text)).collect();
    let (expected, expected_score) = words::reference(&documents);
    let weights = words::Counts::of(&documents).weights();
    let subjects = [WordRule::Mail, WordRule::Unicode].map(|rule| Subject::new(rule, texts));
    let bytes = texts.iter().map(|(_, text)| text.len()).sum();
    println!(
        "{} messages, {:.1} MB, {} words, {} different",
        texts.len(),
        bytes as f64 / 1e6,
        expected.words,
        expected.different
    );

    let library = |rule: WordRule| format!("tamis, {rule} words");
    let names = || ["the limit".to_owned(), library(subjects[0].rule), library(subjects[1].rule)];
    let (mut train, mut finish, mut score) = (rows(names()), rows(names()), rows(names()));
    // one for each filter, as a thread has it: it remembers words, as the limit's table has them
    let mut scratches = subjects.each_ref().map(|_| Scratch::default());
    for _ in 0..rounds {
        let counts = train[0].time(|| words::Counts::of(&documents));
        assert_eq!(counts.summary(), expected);
        let sum = score[0].time(|| weights.score(&documents));
        assert!((sum - expected_score).abs() <= 1e-6 * expected_score.abs(), "{sum} for {expected_score}");
        for (row, subject) in subjects.iter().enumerate() {
            let trainer = train[row + 1].time(|| counted(Subject::count_options(subject.rule), texts));
            assert!(finish[row + 1].time(|| trainer.finish().unwrap()) == subject.counts);
            let sum = score[row + 1].time(|| scored(&subject.filter, texts, &mut scratches[row]));
            assert_eq!(sum, subject.log_odds);
        }
    }
    print("train: add every document", &train, bytes);
    print("score: two classes", &score, bytes);
    println!("\n{:<32} {:>11}", "train: finish the model", "ms median");
    for row in &finish[1..] {
        println!("  {:<30} {:>11.1}", row.name, 1e3 * row.median());
    }
}

fn measure_topics(texts: &[String], rounds: usize) {
    classes::measure::<4>(texts, rounds);
    classes::measure::<20>(texts, rounds);
}

/// The date, processor and kernel.
fn print_machine() {
    let date = std::process::Command::new("date").arg("+%F").output();
    let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processor.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    println!(
        "{}, {}, kernel {}\ncargo bench --bench limit -- PATH-TO-SPAMASSASSIN [PATH-TO-TOPICS]",
        date.map_or(String::new(), |out| String::from_utf8_lossy(&out.stdout).trim().to_owned()),
        model.map_or("processor not known", |(_, model)| model),
        kernel.trim()
    );
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let mut paths = arguments.iter().filter(|a| !a.starts_with('-'));
    if let Some(path) = paths.next() {
        print_machine();
        measure(&read(Path::new(path), false), 15);
        mails::measure(&mails::read(Path::new(path)), 15);
        if let Some(topics) = paths.next() {
            measure_topics(&classes::read(Path::new(topics)), 15);
        }
        scripts::measure(500, 9);
    } else if arguments.iter().any(|a| a == "--scripts") {
        print_machine();
        scripts::measure(500, 9);
    } else if arguments.iter().any(|a| a == "--test") {
        let own = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora/mail"), true);
        measure(&vec![own; 20].concat(), 1);
        mails::measure(&mails::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora/mail")), 1);
        measure_topics(
            &classes::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora/topics/train")),
            1,
        );
        scripts::measure(40, 1);
    } else {
        println!(
            "skipped: expected the folder of the SpamAssassin corpus, as in: cargo bench --bench limit -- PATH"
        );
    }
}
