//! The accuracy of topic filtering on public corpora, and what a model of many classes takes.
//!
//!     cargo bench --bench topics -- PATH
//!
//! PATH holds `20newsgroups-bydate`, `reuters21578-r8`, `sms-spam-collection` and `thucnews-titles`
//! (`corpora/README.md` tells how to get them). Results of dated runs are kept beside this file.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, unreachable_pub)]

use std::path::Path;

use tamis_filter::{
    Document, Filter, Kind, Recipe, Scoring, Scratch, Terms, TrainOptions, Trainer, Weighted,
};
use tamis_model::metrics::expected_calibration_error;

/// Documents to learn and to test on, each with its label.
struct Corpus {
    train: Vec<(String, String)>,
    test: Vec<(String, String)>,
}

impl Corpus {
    fn folders(path: &Path) -> Corpus {
        Corpus { train: read_folders(&path.join("train")), test: read_folders(&path.join("test")) }
    }

    fn map(&self, change: fn(&str) -> String) -> Corpus {
        let map = |documents: &[(String, String)]| {
            documents.iter().map(|(label, text)| (label.clone(), change(text))).collect()
        };
        Corpus { train: map(&self.train), test: map(&self.test) }
    }
}

fn read_folders(path: &Path) -> Vec<(String, String)> {
    let mut documents = Vec::new();
    for folder in std::fs::read_dir(path).unwrap() {
        let folder = folder.unwrap();
        let label = folder.file_name().into_string().unwrap();
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            documents.push((label.clone(), tamis_mail::decode_text(&bytes, None).into_owned()));
        }
    }
    documents
}

fn read_table(path: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().filter_map(|line| line.split_once('\t'));
    rows.map(|(label, text)| (label.to_owned(), text.to_owned())).collect()
}

/// A post without its header block, quoted lines and what attributes them, and signature: what scikit-learn's
/// `remove=("headers", "footers", "quotes")` leaves.
fn stripped(post: &str) -> String {
    const ATTRIBUTIONS: [&str; 5] = ["writes in", "writes:", "wrote:", "says:", "said:"];
    let body = post.split_once("\n\n").map_or(post, |(_, body)| body);
    let quotes = |line: &&str| {
        ATTRIBUTIONS.iter().any(|words| line.contains(words))
            || ["In article", "Quoted from", "|", ">"].iter().any(|start| line.starts_with(start))
    };
    let kept: Vec<_> = body.split('\n').filter(|line| !quotes(line)).collect();
    let kept = kept.join("\n");
    let lines: Vec<_> = kept.trim().split('\n').collect();
    let signature = lines.iter().rposition(|line| line.trim().trim_matches('-').is_empty());
    match signature.filter(|line| *line > 0) {
        Some(line) => lines[..line].join("\n"),
        None => kept,
    }
}

fn train(options: TrainOptions, documents: &[(String, String)]) -> Filter {
    let mut trainer = Trainer::new(options).unwrap();
    documents.iter().for_each(|(label, text)| trainer.add(label, Document::Text(text)).unwrap());
    trainer.finish().unwrap().into_filter().unwrap()
}

fn options(change: impl Fn(&mut Recipe)) -> TrainOptions {
    let mut options = TrainOptions::new(Kind::Text);
    change(&mut options.recipe);
    options
}

/// Prints a row: accuracy of the likelier class whatever the unsure band, log loss, ECE.
fn row(name: &str, corpus: &Corpus, options: TrainOptions) {
    let filter = train(options, &corpus.train);
    let mut scratch = Scratch::default();
    let (mut right, mut loss, mut confident) = (0, 0.0, Vec::new());
    for (label, text) in &corpus.test {
        filter.score_text(text, &mut scratch).unwrap();
        let truth = usize::from(filter.classes().index(label).unwrap());
        let p = scratch.probabilities();
        let best = (0..p.len()).max_by(|a, b| p[*a].total_cmp(&p[*b])).unwrap();
        right += usize::from(best == truth);
        loss -= p[truth].max(1e-15).ln();
        confident.push(((p[best] / (1.0 - p[best])).ln(), best == truth));
    }
    let n = corpus.test.len() as f64;
    let ece = expected_calibration_error(&confident, 15).unwrap();
    println!("{name:<52} {:.4}  {:.4}  {ece:.4}", right as f64 / n, loss / n);
}

fn counts_alone(n_classes: usize, options: TrainOptions) -> TrainOptions {
    let weighted = Weighted { correction: None, ..Weighted::for_classes(n_classes) };
    TrainOptions { scoring: Some(Scoring::weighted(weighted, n_classes)), ..options }
}

fn main() {
    let Some(path) = std::env::args().skip(1).find(|a| !a.starts_with('-')) else {
        println!("skipped: expected the folder of the corpora, as in: cargo bench --bench topics -- PATH");
        return;
    };
    let path = Path::new(&path);
    let text = || options(|_| ());
    let pairs = || options(|recipe| recipe.tokenizer.terms = Terms::Words { min: 1, max: 2 });
    println!("{:<52} accuracy log loss  ECE", "");

    let news = Corpus::folders(&path.join("20newsgroups-bydate"));
    row("20 Newsgroups", &news, text());
    row("20 Newsgroups, counts alone", &news, counts_alone(20, text()));
    row("20 Newsgroups, words and pairs", &news, pairs());
    let bare = news.map(stripped);
    row("20 Newsgroups, no headers, quotes, signatures", &bare, text());
    row("20 Newsgroups, the same, words and pairs", &bare, pairs());

    let reuters = Corpus::folders(&path.join("reuters21578-r8"));
    row("Reuters R8", &reuters, text());
    row("Reuters R8, counts alone", &reuters, counts_alone(8, text()));

    let messages = read_table(&path.join("sms-spam-collection/messages.tsv"));
    let (train, test) = messages.split_at(messages.len() * 3 / 10);
    let sms = Corpus { train: train.to_vec(), test: test.to_vec() };
    row("SMS, first 30 % to learn", &sms, text());
    row(
        "SMS, 3 to 5 characters",
        &sms,
        options(|r| r.tokenizer.terms = Terms::Characters { min: 3, max: 5 }),
    );
    let cased = options(|recipe| {
        recipe.tokenizer.terms = Terms::Characters { min: 3, max: 5 };
        recipe.tokenizer.fold_case = false;
    });
    row("SMS, 3 to 5 characters, case kept", &sms, cased);

    let titles = path.join("thucnews-titles");
    let titles =
        Corpus { train: read_table(&titles.join("train.tsv")), test: read_table(&titles.join("test.tsv")) };
    row("Chinese titles", &titles, text());
    let short = |r: &mut Recipe| r.tokenizer.terms = Terms::Characters { min: 1, max: 2 };
    row("Chinese titles, 1 and 2 characters", &titles, options(short));

    println!("\n20 Newsgroups, few labels, the other documents without: mean accuracy of three draws");
    println!("labels  labels alone  expectation maximization");
    [1, 5, 25].into_iter().for_each(|labels| few_labels(&news, labels));

    println!("\n{:<32} documents  terms    cells  weights  bytes  bytes a cell or weight", "");
    size("20 Newsgroups, 20 classes", &news.train);
    size("the same, dealt out to 1,000 classes", &dealt_out(&news.train));
}

/// Labels a class that are kept, drawn by a hash; document frequencies are of all training documents, the accuracy is that
/// of the test half. Least document frequency (5) and length (5) were chosen on the training half, by the accuracy on its
/// documents without labels.
fn few_labels(news: &Corpus, labels: usize) {
    let (mut alone, mut with_all) = (0.0, 0.0);
    for draw in 0..3 {
        let hash = |i: usize| md5::compute(format!("{draw} {i}")).0;
        let mut order: Vec<_> = news.train.iter().enumerate().map(|(i, d)| (&d.0, hash(i), &d.1)).collect();
        order.sort_unstable();
        let (mut few, mut rest) = (Vec::new(), Vec::new());
        for class in order.chunk_by(|a, b| a.0 == b.0) {
            few.extend(class.iter().take(labels).map(|(label, _, text)| ((*label).clone(), (*text).clone())));
            rest.extend(class.iter().skip(labels).map(|(_, _, text)| *text));
        }
        alone += accuracy(&train(options(|_| ()), &few), &news.test);
        let mut trainer = Trainer::new(options(|_| ())).unwrap();
        few.iter().for_each(|(label, text)| trainer.add(label, Document::Text(text)).unwrap());
        rest.iter().for_each(|text| trainer.add_unlabelled(Document::Text(text)).unwrap());
        with_all += accuracy(&trainer.finish().unwrap().into_filter().unwrap(), &news.test);
    }
    println!("{:>6}  {:>12.3}  {:>24.3}", 20 * labels, alone / 3.0, with_all / 3.0);
}

fn accuracy(filter: &Filter, test: &[(String, String)]) -> f64 {
    let mut scratch = Scratch::default();
    let right = |(label, text): &&(String, String)| {
        let score = filter.score_text(text, &mut scratch).unwrap();
        filter.label_of(&score) == label
    };
    test.iter().filter(right).count() as f64 / test.len() as f64
}

/// The same documents in fifty times as many classes.
fn dealt_out(documents: &[(String, String)]) -> Vec<(String, String)> {
    let deal = |(i, (label, text)): (usize, &(String, String))| (format!("{label} {}", i % 50), text.clone());
    documents.iter().enumerate().map(deal).collect()
}

/// What a model with the correction takes: it grows with the cells that are not zero, not with terms x classes.
fn size(name: &str, documents: &[(String, String)]) {
    let filter = train(options(|_| ()), documents);
    let information = filter.information();
    let (cells, weights) = (information.n_cells, information.n_weights);
    println!(
        "{name:<38} {:>6} {:>7} {cells:>8} {weights:>8} {:>9} {:.1}",
        documents.len(),
        information.n_terms,
        information.bytes,
        information.bytes as f64 / (cells + weights) as f64
    );
}
