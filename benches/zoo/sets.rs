//! The sets: how each is generated.

use crate::words::{Random, word};

/// Documents to be tried, where these are not long.
const TESTS: usize = 4000;

/// Different words of a source.
const VOCABULARY: u64 = 20_000;

/// Words that a label prefers.
const OWN: usize = 60;

/// What to learn from, and what to score. Every label occurs in the part to learn from.
pub struct Set {
    pub train: Vec<Document>,
    pub tests: Vec<Document>,
}

/// A text and the number of its label.
#[derive(Clone)]
pub struct Document {
    pub label: usize,
    pub text: String,
}

/// A kind of set: its name, and how one is generated.
pub struct Kind {
    pub name: String,
    pub make: Box<dyn Fn(&mut Random) -> Set>,
}

fn kind(name: impl Into<String>, make: impl Fn(&mut Random) -> Set + 'static) -> Kind {
    Kind { name: name.into(), make: Box::new(make) }
}

/// All kinds, in the order in which they are tried.
pub fn kinds() -> Vec<Kind> {
    [sizes(), repeats(), noise(), words_and_lengths(), contradictions()].into_iter().flatten().collect()
}

/// Few documents a label, or many of one label and few of another.
fn sizes() -> Vec<Kind> {
    let few = [
        (2, 2),
        (2, 5),
        (2, 20),
        (5, 3),
        (20, 1),
        (20, 3),
        (20, 10),
        (52, 5),
        (120, 5),
        (120, 20),
        (400, 3),
        (400, 8),
    ];
    let few = few.map(|(k, n)| kind(format!("few: {k} labels x {n}"), move |r| topics(r, &vec![n; k])));
    let skewed = [(2, 300), (10, 800), (52, 1500), (200, 800)];
    let skewed = skewed.map(|(k, most)| {
        kind(format!("skewed: {k} labels, most {most}"), move |r| topics(r, &falling(k, most)))
    });
    let capped = [(52, 5), (52, 10), (120, 10)];
    let capped = capped.map(|(k, cap)| {
        kind(format!("skewed: {k} labels, at most {cap} learned"), move |r| {
            let shares = falling(k, 1500);
            let train = shares.iter().map(|n| cap.min(*n)).collect();
            let source = Source::new(r, k);
            Draw { train, shares, tests: TESTS }.set(r, |r, label| source.text(r, label, 40))
        })
    });
    let rare = [
        kind("1 in 300", |r| topics(r, &[3000, 10])),
        kind("1 and 500 documents", |r| topics(r, &[1, 500])),
        kind("100, 100 and 1 documents", |r| topics(r, &[100, 100, 1])),
    ];
    few.into_iter().chain(skewed).chain(capped).chain(rare).collect()
}

/// Texts that occur again, as they are or with a word changed.
fn repeats() -> Vec<Kind> {
    let repeated = [
        (1, 1000, 2, 0.8),
        (10, 5000, 2, 0.7),
        (10, 5000, 4, 0.8),
        (100, 5000, 4, 0.9),
        (1000, 5000, 2, 0.8),
        (300, 900, 30, 0.9),
    ];
    let repeated = repeated.map(|(texts, rows, k, right)| {
        let name = format!("repeated: {texts} texts, {rows} rows, {k} labels, {right} right");
        kind(name, move |r| repeated_texts(r, (texts, rows, k), right))
    });
    let near = [(2, 30, 20), (8, 10, 20)].map(|(k, n, copies)| {
        kind(format!("near-duplicates: {k} labels x {n} x {copies}"), move |r| {
            let mut set = topics(r, &vec![n; k]);
            set.train = near_copies(r, &set.train, copies);
            set
        })
    });
    let others = [
        kind("attributes as text", attributes),
        kind("all texts equal but one", |r| {
            Draw::of(&[499, 1]).set(r, |_, label| ["a text like any other", "the only one"][label].to_owned())
        }),
        kind("20 copies of half", |r| {
            let mut set = topics(r, &[20; 5]);
            let half: Vec<_> = set.train.iter().step_by(2).cloned().collect();
            (1..20).for_each(|_| set.train.extend_from_slice(&half));
            set
        }),
    ];
    repeated.into_iter().chain(near).chain(others).collect()
}

/// Labels that are left to chance, wholly or in part.
fn noise() -> Vec<Kind> {
    let noise = [(2, 300, 1.0), (8, 60, 1.0), (2, 500, 0.4), (8, 100, 0.3)];
    let noise = noise.map(|(k, n, share)| {
        kind(format!("noise {share}: {k} labels x {n}"), move |r| {
            let mut set = topics(r, &vec![n; k]);
            relabel(r, &mut set.train, share, k);
            relabel(r, &mut set.tests, share, k);
            set
        })
    });
    let copied = kind("noise 0.5, near-duplicates: 4 labels x 25 x 10", |r| {
        let mut set = topics(r, &[25; 4]);
        relabel(r, &mut set.train, 0.5, 4);
        relabel(r, &mut set.tests, 0.5, 4);
        set.train = near_copies(r, &set.train, 10);
        set
    });
    noise.into_iter().chain([copied]).collect()
}

/// Words of an odd kind, and texts of odd lengths.
fn words_and_lengths() -> Vec<Kind> {
    vec![
        kind("one word a text, 10 labels", |r| {
            let source = Source { share: 0.5, ..Source::new(r, 10) };
            Draw::of(&[100; 10]).set(r, |r, label| source.text(r, label, 1))
        }),
        kind("1 to 3 words a text, 300 labels by Zipf", |r| {
            let source = Source { share: 0.5, ..Source::new(r, 300) };
            let sizes: Vec<_> = (1..=300).map(|rank| (600 / rank).max(1)).collect();
            Draw::of(&sizes).set(r, |r, label| {
                let length = 1 + r.place(3);
                source.text(r, label, length)
            })
        }),
        kind("long texts, 4 labels x 5", |r| {
            let source = Source::new(r, 4);
            Draw { tests: 300, ..Draw::of(&[5; 4]) }.set(r, |r, label| source.text(r, label, 3000))
        }),
        kind("length alone tells", |r| {
            let source = Source::new(r, 1);
            Draw::of(&[100; 2]).set(r, |r, label| source.text(r, 0, [20, 200][label]))
        }),
        kind("2 or 1500 words by label, 4 labels x 40", |r| {
            let source = Source::new(r, 4);
            let draw = Draw { tests: 1000, ..Draw::of(&[40; 4]) };
            draw.set(r, |r, label| source.text(r, label, [2, 1500][label % 2]))
        }),
        kind("a third is empty", |r| {
            let source = Source::new(r, 3);
            Draw::of(&[60; 3]).set(r, |r, label| match r.chance(0.33) {
                true => "--".to_owned(),
                false => source.text(r, label, 40),
            })
        }),
        kind("numbers, 4 labels x 50", |r| {
            let source = Source { word: |rank| rank.to_string(), ..Source::new(r, 4) };
            Draw::of(&[50; 4]).set(r, |r, label| source.text(r, label, 40))
        }),
        kind("Chinese, 10 labels x 30", |r| {
            let source = Source { word: chinese, between: "", ..Source::new(r, 10) };
            Draw::of(&[30; 10]).set(r, |r, label| source.text(r, label, 20))
        }),
        kind("two words tell, neither alone does", |r| {
            let source = Source::new(r, 1);
            Draw::of(&[200; 2]).set(r, |r, label| {
                let first = r.place(2);
                let last = ["sweet", "bitter"][(first + label) % 2];
                format!("{} {} {last}", ["left", "right"][first], source.text(r, 0, 10))
            })
        }),
    ]
}

/// Equal texts under different labels.
fn contradictions() -> Vec<Kind> {
    let same = |_: &mut Random, _: usize| "a text like any other".to_owned();
    vec![
        kind("one text, 9,000 and 1,000 times", move |r| Draw::of(&[9000, 1000]).set(r, same)),
        kind("one text under 50 labels", move |r| Draw::of(&[20; 50]).set(r, same)),
        kind("each document under two of 4 labels", |r| {
            let mut set = topics(r, &[50; 4]);
            let other = |r: &mut Random, d: &Document| Document {
                label: (d.label + 1 + r.place(3)) % 4,
                text: d.text.clone(),
            };
            let again: Vec<_> = set.train.iter().map(|d| other(r, d)).collect();
            set.train.extend(again);
            set.tests.iter_mut().step_by(2).for_each(|d| *d = other(r, d));
            set
        }),
    ]
}

impl Random {
    /// A number below `n`, all equally likely.
    fn place(&mut self, n: usize) -> usize {
        self.below(n as u64) as usize
    }

    /// A number from 0 to 1.
    fn unit(&mut self) -> f64 {
        self.below(1 << 40) as f64 / (1_u64 << 40) as f64
    }

    fn chance(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.place(from.len())]
    }

    /// The rank of a word: rank r comes about 1/r as often as the first (Zipf).
    fn rank(&mut self) -> u64 {
        (VOCABULARY as f64).powf(self.unit()) as u64 - 1
    }
}

/// Where the words of texts come from.
struct Source {
    /// The word of a rank.
    word: fn(u64) -> String,
    /// What stands between two words.
    between: &'static str,
    /// The ranks that each label prefers.
    own: Vec<Vec<u64>>,
    /// The share of words that are of these; all others are the same for all labels.
    share: f64,
}

impl Source {
    fn new(random: &mut Random, labels: usize) -> Source {
        let own = (0..labels).map(|_| (0..OWN).map(|_| random.rank()).collect()).collect();
        Source { word, between: " ", own, share: 0.15 }
    }

    fn text(&self, random: &mut Random, label: usize, length: usize) -> String {
        let mut rank = || match random.chance(self.share) {
            true => *random.pick(&self.own[label]),
            false => random.rank(),
        };
        (0..length).map(|_| (self.word)(rank())).collect::<Vec<_>>().join(self.between)
    }
}

/// How many documents a set has.
struct Draw {
    /// Those to learn from, by label.
    train: Vec<usize>,
    /// The labels of the others are drawn in these proportions.
    shares: Vec<usize>,
    /// The number of the others.
    tests: usize,
}

impl Draw {
    /// As many of each label to learn from; the others in the same proportions.
    fn of(sizes: &[usize]) -> Draw {
        Draw { train: sizes.to_vec(), shares: sizes.to_vec(), tests: TESTS }
    }

    fn set(&self, random: &mut Random, text: impl Fn(&mut Random, usize) -> String) -> Set {
        let labels_of = |sizes: &[usize]| -> Vec<usize> {
            sizes.iter().enumerate().flat_map(|(label, n)| std::iter::repeat_n(label, *n)).collect()
        };
        let shares = labels_of(&self.shares);
        let tests: Vec<_> = (0..self.tests).map(|_| *random.pick(&shares)).collect();
        let mut document = |label| Document { label, text: text(random, label) };
        Set {
            train: labels_of(&self.train).into_iter().map(&mut document).collect(),
            tests: tests.into_iter().map(document).collect(),
        }
    }
}

/// Texts of 40 words whose labels prefer words.
fn topics(random: &mut Random, sizes: &[usize]) -> Set {
    let source = Source::new(random, sizes.len());
    Draw::of(sizes).set(random, |random, label| source.text(random, label, 40))
}

/// Sizes of labels that fall by rank, to 2.
fn falling(labels: usize, most: usize) -> Vec<usize> {
    (1..=labels).map(|rank| ((most as f64 / (rank as f64).powf(1.3)) as usize).max(2)).collect()
}

/// Gives this share of the documents a label by chance, perhaps the one they have.
fn relabel(random: &mut Random, documents: &mut [Document], share: f64, labels: usize) {
    for document in documents {
        if random.chance(share) {
            document.label = random.place(labels);
        }
    }
}

/// Copies of each document, in each of which another word is replaced.
fn near_copies(random: &mut Random, documents: &[Document], copies: usize) -> Vec<Document> {
    let mut copy = |document: &Document| {
        let mut words: Vec<_> = document.text.split(' ').map(str::to_owned).collect();
        let at = random.place(words.len());
        words[at] = word(VOCABULARY + random.below(20));
        Document { label: document.label, text: words.join(" ") }
    };
    documents.iter().flat_map(|d| (0..copies).map(|_| copy(d)).collect::<Vec<_>>()).collect()
}

/// Rows that repeat a few texts of three words. Each text has a label, and this share of its rows have it.
/// The others have one left to chance.
fn repeated_texts(random: &mut Random, (texts, rows, labels): (usize, usize, usize), right: f64) -> Set {
    let text = |r: &mut Random| [(); 3].map(|()| word(r.below(200))).join(" ");
    let own: Vec<_> =
        (0..texts).map(|_| Document { text: text(random), label: random.place(labels) }).collect();
    let mut draw = |rows| {
        let mut drawn: Vec<_> = (0..rows).map(|_| random.pick(&own).clone()).collect();
        relabel(random, &mut drawn, 1.0 - right, labels);
        drawn
    };
    Set { train: draw(rows), tests: draw(TESTS) }
}

/// A table of three attributes, written as text: 24 different texts, each with its share of the second label.
fn attributes(random: &mut Random) -> Set {
    let shares: [f64; 24] = [(); 24].map(|()| random.unit());
    let mut row = || {
        let (a, b, c) = (random.place(4), random.place(2), random.place(3));
        let cells =
            [["first", "second", "third", "crew"][a], ["male", "female"][b], ["adult", "child", "infant"][c]];
        let label = usize::from(random.chance(shares[(a * 2 + b) * 3 + c]));
        Document { label, text: cells.join(" ") }
    };
    let mut rows = |n: usize| (0..n).map(|_| row()).collect();
    Set { train: rows(2000), tests: rows(TESTS) }
}

/// A word of two Chinese characters.
fn chinese(rank: u64) -> String {
    let character = |from: u32, at: u64| char::from_u32(from + at as u32).unwrap();
    [character(0x4e00, rank % 200), character(0x6e00, rank / 200)].iter().collect()
}
