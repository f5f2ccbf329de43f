//! The accuracy of expectation maximization on 20 Newsgroups by date, with few labels.
//!
//!     cargo bench --bench em -- PATH
//!
//! PATH holds `train/` and `test/`, in each a folder a newsgroup (`corpora/README.md` tells how to get them). One, 5 and 25
//! labels a group are drawn from the training half, the rest of it has none; document frequencies are of both. Accuracy is
//! of the whole test half, the mean of three draws.
//!
//! The least document frequency was chosen on the training half, by the accuracy of EM on its documents without labels:
//! 1, 5 and 20 gave .318, .433 and .481 with 20 labels, .712, .771 and .776 with 500. 5 takes most of that and fewer words.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::path::Path;

use tamis_model::{ClassId, Counts, Em, EmOptions, Statistics, Transform, WeightedMatrix, WeightedRow};
use tamis_tokenizer::{CountMatrix, Scratch, Tokenizer, TokenizerOptions, Vocabulary};

const DRAWS: u64 = 3;

/// Labels a group, and the accuracy that EM must reach.
const TARGETS: [(usize, f64); 3] = [(1, 0.40), (5, 0.62), (25, 0.74)];

/// The files of one half with the number of their group, both in the order of names.
fn read(half: &Path) -> Vec<(ClassId, String)> {
    let entries = |path: &Path| {
        let mut paths: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort_unstable();
        paths
    };
    let files = (0..)
        .zip(entries(half))
        .flat_map(|(class, group)| entries(&group).into_iter().map(move |f| (class, f)));
    files
        .map(|(class, file)| (class, String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned()))
        .collect()
}

struct Half {
    labels: Vec<ClassId>,
    rows: WeightedMatrix,
}

/// The training half and the test half, terms numbered and weighed by the training half.
fn weigh(corpus: &Path) -> [Half; 2] {
    let tokenizer = Tokenizer::new(TokenizerOptions::text()).unwrap();
    let (mut vocabulary, mut scratch) = (Vocabulary::new(), Scratch::default());
    let (mut train, mut test) = (CountMatrix::new(), CountMatrix::new());
    let texts = ["train", "test"].map(|half| read(&corpus.join(half)));
    for (_, text) in &texts[0] {
        train.push(tokenizer.count(text, &mut vocabulary, &mut scratch).unwrap().row());
    }
    for (_, text) in &texts[1] {
        test.push(tokenizer.count_known(text, &vocabulary, &mut scratch).row());
    }
    let statistics = Statistics::from_matrix(&train, &vec![0; train.n_rows()], 1).unwrap();
    let transform = Transform { min_df: 5, ..Transform::default() };
    let df = |term| Ok::<_, std::convert::Infallible>(statistics.document_frequency(term));
    [(train, &texts[0]), (test, &texts[1])].map(|(x, texts)| {
        let Ok(rows) = transform.apply_all(&x, statistics.totals()[0].documents, df);
        Half { labels: texts.iter().map(|(class, _)| *class).collect(), rows }
    })
}

/// Which documents keep their labels: as many of each class, by a hash of draw and position.
fn draw(labels: &[ClassId], a_class: usize, draw: u64) -> Vec<bool> {
    let hash = |i: usize| md5::compute(format!("{draw} {i}")).0;
    let mut order: Vec<_> = (0..labels.len()).map(|i| (labels[i], hash(i), i)).collect();
    order.sort_unstable();
    let mut kept = vec![false; labels.len()];
    for class in order.chunk_by(|a, b| a.0 == b.0) {
        class.iter().take(a_class).for_each(|&(_, _, i)| kept[i] = true);
    }
    kept
}

fn accuracy(em: &Em, half: &Half) -> f64 {
    let is_right = |(row, &label): (WeightedRow<'_>, &ClassId)| {
        let Ok(class) = em.model.predict(&em.statistics, row);
        class == label
    };
    let right = half.rows.rows().zip(&half.labels).filter(|&pair| is_right(pair)).count();
    right as f64 / half.labels.len() as f64
}

fn main() {
    let Some(path) = std::env::args().skip(1).find(|a| !a.starts_with('-')) else {
        println!(
            "skipped: expected the folder of 20 Newsgroups by date, as in: cargo bench --bench em -- PATH"
        );
        return;
    };
    let [train, test] = weigh(Path::new(&path));
    let n_classes = usize::from(*train.labels.iter().max().unwrap()) + 1;
    println!("{:>6} {:>12} {:>6} {:>10}", "labels", "labels only", "EM", "iterations");
    for (a_class, target) in TARGETS {
        let (mut alone, mut with_em, mut iterations) = (0.0, 0.0, 0);
        for seed in 0..DRAWS {
            let kept = draw(&train.labels, a_class, seed);
            let (mut labelled, mut unlabelled) = (Vec::new(), Vec::new());
            for ((row, &label), kept) in train.rows.rows().zip(&train.labels).zip(kept) {
                if kept { labelled.push((label, row)) } else { unlabelled.push(row) }
            }
            let options = EmOptions::default();
            let start = EmOptions { max_iterations: 0, ..options.clone() };
            alone += accuracy(&start.fit(n_classes, &labelled, &unlabelled).unwrap(), &test);
            let em = options.fit(n_classes, &labelled, &unlabelled).unwrap();
            with_em += accuracy(&em, &test);
            iterations += em.iterations();
        }
        let mean = |sum: f64| sum / DRAWS as f64;
        println!(
            "{:>6} {:>12.3} {:>6.3} {:>10.1}",
            a_class * n_classes,
            mean(alone),
            mean(with_em),
            mean(iterations as f64)
        );
        assert!(mean(with_em) >= target, "expected at least {target}");
    }
}
