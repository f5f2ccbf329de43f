//! The fit by partitions beside that of one machine, on public corpora: accuracy after rounds of 8 and 32 partitions.
//!
//!     cargo test --test tests distributed_fit -- --ignored --nocapture

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tamis_filter::{Document, Filter, Keep, Kind, Pairs, TrainOptions, Trainer};
use tamis_model::{
    Choices, ClassId, Columns, CorrectedStatistics, Correction, Counts, Fit, Labelled, Partition, ROUNDS,
    Readings, SmoothingChoice, Statistics, WeightedLogOdds, WeightedOptions, is_sampled, metrics,
};
use tamis_testing::public_corpus;
use tamis_tokenizer::{CountVector, TermId};

/// A label and the bytes of a document.
type Raw = (String, Vec<u8>);

/// A document as a model remembers it.
#[derive(Deserialize)]
struct Remembered {
    label: String,
    copies: u32,
    group: String,
    #[serde(default)]
    terms: BTreeMap<String, u32>,
}

struct Counted {
    row: CountVector,
    class: ClassId,
    copies: u32,
    group: u64,
}

/// The documents of a corpus as tamis counts them.
struct Corpus {
    train: Vec<Counted>,
    test: Vec<Counted>,
    n_classes: usize,
}

/// Trains, and reads the documents from the model.
fn count(options: &TrainOptions, documents: &[Raw]) -> (Filter, Vec<Remembered>) {
    let mut trainer = Trainer::new(options.clone()).unwrap();
    for (label, raw) in documents {
        let document = match options.recipe.kind {
            Kind::Mail => Document::Mail(raw),
            _ => Document::Text(std::str::from_utf8(raw).unwrap()),
        };
        trainer.add(label, document).unwrap();
    }
    let filter = trainer.finish().unwrap().into_filter().unwrap();
    let mut lines = Vec::new();
    filter.export(true, &mut lines).unwrap();
    let lines = std::str::from_utf8(&lines).unwrap().lines();
    let documents = lines.filter(|line| line.starts_with("{\"digest\""));
    let documents = documents.map(|line| serde_json::from_str(line).unwrap()).collect();
    (filter, documents)
}

impl Corpus {
    fn new(kind: Kind, train: &[Raw], test: &[Raw]) -> Corpus {
        let mut options = TrainOptions::new(kind);
        options.keep = Keep::Vectors;
        let (filter, train) = count(&options, train);
        (options.recipe, options.pairs, options.repeat) =
            (filter.information().recipe.clone(), Pairs::Fixed, true);
        let (_, test) = count(&options, test);
        let mut ids: HashMap<String, TermId> = HashMap::new();
        let mut counted = |document: Remembered| {
            let Remembered { label, copies, group, terms } = document;
            let mut id = |term| {
                let next = ids.len() as TermId;
                *ids.entry(term).or_insert(next)
            };
            let row = CountVector::from_pairs(terms.into_iter().map(|(term, tf)| (id(term), tf))).unwrap();
            let class = filter.classes().index(&label).unwrap();
            Counted { row, class, copies, group: u64::from_str_radix(&group, 16).unwrap() }
        };
        let train = train.into_iter().map(&mut counted).collect();
        let test = test.into_iter().map(&mut counted).collect();
        Corpus { train, test, n_classes: filter.classes().len() }
    }

    /// The training documents, dealt to partitions.
    fn deal(&self, n_partitions: usize) -> Vec<Vec<Labelled<'_>>> {
        let mut dealt = vec![Vec::new(); n_partitions];
        for (i, Counted { row, class, copies, group }) in self.train.iter().enumerate() {
            let document = Labelled { row: row.row(), class: *class, multiplicity: *copies, group: *group };
            dealt[i % n_partitions].push(document);
        }
        dealt
    }

    /// Accuracy on the test documents and, of two classes, 1 - ROC AUC in percent.
    fn measure(&self, choices: &Choices, counts: &Statistics, correction: &Correction) -> (f64, f64) {
        let n_features = counts.n_features() as u64;
        let scorer =
            WeightedLogOdds::new(choices, correction.bias(), counts.totals(), n_features, 1).unwrap();
        let mut terms = CorrectedStatistics::new(counts, Some(correction));
        let (mut readings, mut z) = (Readings::default(), Vec::new());
        let (mut all, mut right, mut scores) = (0, 0, Vec::new());
        for Counted { row, class, copies, .. } in &self.test {
            let Ok(()) = scorer.read(&mut terms, row.row(), &mut readings);
            scorer.log_odds(&readings, &mut z);
            let best = match z.len() {
                1 => usize::from(z[0] > 0.0),
                _ => (0..z.len()).max_by(|a, b| z[*a].total_cmp(&z[*b])).unwrap(),
            };
            (all, right) = (all + copies, right + if best == usize::from(*class) { *copies } else { 0 });
            scores.extend((0..*copies).map(|_| (z[0], *class == 1)));
        }
        let area = metrics::one_minus_roc_auc_percent(&scores).unwrap_or(0.0);
        (f64::from(right) / f64::from(all), if self.n_classes == 2 { area } else { 0.0 })
    }

    #[allow(clippy::print_stdout, reason = "a measurement")]
    fn compare(&self, name: &str) {
        let (columns, options) = (Columns::new(self.n_classes, 1).unwrap(), WeightedOptions::default());
        let mut counts = Statistics::new(self.n_classes);
        for document in &self.train {
            counts.observe_times(document.class, document.row.row(), document.copies).unwrap();
        }
        let all = &self.deal(1)[0];
        let smoothing = SmoothingChoice::new(&counts, all, columns, &options);
        let one = Fit { counts: &counts, documents: all, columns, options: &options }.fit(smoothing).unwrap();
        let (accuracy, area) = self.measure(&one.choices, &counts, &one.correction);
        println!("{name}: one machine {accuracy:.4} {area:.4} %, {} weights", one.correction.n_weights());
        let env = |name: &str, default: f64| std::env::var(name).map_or(default, |v| v.parse().unwrap());
        let (share, before) = (env("SHARE", 0.2), env("BEFORE", 12.0) as usize);
        let (sample, rest): (Vec<Labelled<'_>>, Vec<_>) =
            all.iter().copied().partition(|document| is_sampled(document.group, share));
        let smoothing = one.smoothing.clone();
        let mut without = counts.clone();
        sample.iter().for_each(|d| without.forget_times(d.class, d.row, d.multiplicity).unwrap());
        let of_sample = Fit { counts: &counts, documents: &sample, columns, options: &options };
        println!("{name}: {:?}", one.choices);
        for n_partitions in [8, 32] {
            let mut dealt = vec![Vec::new(); n_partitions];
            rest.iter().enumerate().for_each(|(i, document)| dealt[i % n_partitions].push(*document));
            let SmoothingChoice { alpha, idf_power, bayes, .. } = smoothing;
            let choices = Choices { alpha, idf_power, bayes, ..Choices::for_classes(self.n_classes) };
            let partition = |documents, offsets| {
                let fit = Fit { counts: &counts, documents, columns, options: &options };
                Partition::without(fit, offsets, &choices, n_partitions as u32 + 1).unwrap()
            };
            let mut partitions: Vec<_> =
                dealt.iter().map(|documents| partition(documents, &without)).collect();
            let mut correction = Correction::default();
            let mut last = (0.0, 0.0);
            let mut chosen = choices;
            for round in 1..=ROUNDS {
                if round == before + 1 {
                    chosen = of_sample.choose_by_sample(smoothing.clone(), &correction).unwrap().choices;
                    println!("{name}: chosen {chosen:?}");
                    partitions = std::iter::zip(&dealt, partitions)
                        .map(|(documents, before)| {
                            let mut now = partition(documents, &counts);
                            let (round, state) = before.state();
                            assert!(now.resume(round, &state.collect::<Vec<_>>()));
                            now
                        })
                        .collect();
                    partitions.push(partition(&sample, &counts));
                }
                let changes: Vec<_> = partitions.iter_mut().map(|p| p.round(&correction).unwrap()).collect();
                changes.iter().for_each(|change| correction.merge(&change.correction).unwrap());
                if [1, 5, 10, 12, 13, 16, 20].contains(&round) {
                    let largest = changes.iter().map(|change| change.largest).fold(0.0, f64::max);
                    let sent: usize = changes.iter().map(|change| change.correction.n_weights()).sum();
                    last = self.measure(&chosen, &counts, &chosen.correction(columns, &correction).unwrap());
                    println!(
                        "{name}: {n_partitions} partitions, round {round}: {:.4} {:.4} %, change {largest:.3}, {sent} sent",
                        last.0, last.1
                    );
                }
            }
            let is_as_good = last.0 >= accuracy - 0.003 && last.1 <= area + 0.003;
            if !is_as_good {
                println!("{name}: WORSE {last:?}, on one machine {accuracy} {area}");
            }
        }
    }
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// A folder a label.
fn folders(path: &Path) -> Vec<Raw> {
    let read = |label: &Path| {
        let name = label.file_name().unwrap().to_str().unwrap().to_owned();
        let text = |file: &PathBuf| {
            tamis_mail::decode_text(&std::fs::read(file).unwrap(), None).into_owned().into_bytes()
        };
        sorted(label).iter().map(|file| (name.clone(), text(file))).collect::<Vec<_>>()
    };
    sorted(path).iter().flat_map(|label| read(label)).collect()
}

/// A label and a text a line.
fn table(path: &Path) -> Vec<Raw> {
    let text = std::fs::read_to_string(path).unwrap();
    let row = |line: &str| {
        let (label, text) = line.split_once('\t').unwrap();
        (label.to_owned(), text.as_bytes().to_vec())
    };
    text.lines().map(row).collect()
}

#[test]
#[ignore = "a measurement of some minutes"]
fn sentence_polarity() {
    let Some(path) = public_corpus("sentence-polarity") else { return };
    let [train, test] = ["train.tsv", "test.tsv"].map(|name| table(&path.join(name)));
    Corpus::new(Kind::Text, &train, &test).compare("sentence polarity");
}

#[test]
#[ignore = "a measurement of some minutes"]
fn reuters() {
    let Some(path) = public_corpus("reuters21578-r8") else { return };
    let [train, test] = ["train", "test"].map(|half| folders(&path.join(half)));
    Corpus::new(Kind::Text, &train, &test).compare("Reuters R8");
}

#[test]
#[ignore = "a measurement of some minutes"]
fn newsgroups() {
    let Some(path) = public_corpus("20newsgroups-bydate") else { return };
    let [train, test] = ["train", "test"].map(|half| folders(&path.join(half)));
    Corpus::new(Kind::Text, &train, &test).compare("20 Newsgroups");
}

#[test]
#[ignore = "a measurement of some minutes"]
fn spamassassin() {
    let Some(path) = public_corpus("spamassassin") else { return };
    let halves: [Vec<Raw>; 2] = [true, false].map(|is_first| {
        let mails = ["ham", "spam"].into_iter().flat_map(|label| {
            let is_of_half = |file: &PathBuf| {
                (md5::compute(file.file_name().unwrap().as_encoded_bytes()).0[0] < 0x80) == is_first
            };
            let files = sorted(&path.join(label)).into_iter().filter(is_of_half).collect::<Vec<_>>();
            files.into_iter().map(|file| (label.to_owned(), std::fs::read(file).unwrap()))
        });
        mails.collect()
    });
    Corpus::new(Kind::Mail, &halves[0], &halves[1]).compare("SpamAssassin");
}
