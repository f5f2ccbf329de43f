//! Words of every script: what one costs beside a word of ASCII, on generated text. The same words in the same order for
//! all scripts with spaces, so that these have the same lengths in letters.

use tamis_model::SplitMix64;
use tamis_tokenizer::{Tokenizer, TokenizerOptions};
use tamis_train::options::WordRule;
use tamis_train::{Filter, Model, Scratch};

use crate::{Row, Subject, counted, options, scored};

const RULES: [WordRule; 2] = [WordRule::Unicode, WordRule::Mail];

/// Small numbers are frequent: half of all are below the root of n.
fn skewed(random: &mut SplitMix64, n: usize) -> usize {
    let part = random.below(1 << 30) as f64 / f64::from(1 << 30);
    ((n as f64).powf(part) as usize).min(n) - 1
}

/// Letters of a script.
struct Script {
    name: &'static str,
    letters: Vec<String>,
    /// Letters of the words that make one of this script: more than 1 where one is a syllable or a word.
    together: usize,
    spaced: bool,
}

fn script(name: &'static str, letters: &str, together: usize, spaced: bool) -> Script {
    let letters = letters.split_whitespace().flat_map(|some| match some.split_once("..") {
        Some((first, last)) => {
            let end = |of: &str| of.chars().next().unwrap();
            (end(first)..=end(last)).map(String::from).collect::<Vec<_>>()
        }
        None => vec![some.to_owned()],
    });
    Script { name, letters: letters.collect(), together, spaced }
}

fn scripts() -> Vec<Script> {
    let latin = "e t a o i n s h r d l c u m w f g y p b v k j x q z";
    // six of 32 with diacritics or not ASCII: the rarest, in every sixth word or so
    let diacritics = format!("{latin} é ä ü ç ñ ß");
    let devanagari = "क र त स न म का ने में की से ह य प द ल व ज ग ब हि कि ति री ला प्र स्त च भ थ ष ऊ";
    let arabic = "ا ل ي م و ن ر ت ب ع ه د س ف ك ق ح ج ة ش ص ى ط خ أ ذ ض ز ث ئ غ ظ";
    vec![
        script("ASCII", latin, 1, true),
        script("Latin with diacritics", &diacritics, 1, true),
        script("Cyrillic", "о е а и н т с р в л к м д п у я ы ь г з б ч й х ж ш ю ц щ э ф ё", 1, true),
        script("Greek", "α ο ι ε τ σ ν η ρ κ π λ μ υ ς θ ά ό ί έ ή ύ δ γ χ φ β ω ώ ξ ζ ψ", 1, true),
        script("Hebrew", "י ו ה ל א ר ת ב מ ש נ ד ק פ ח כ ע ם ט ג ס ז צ ן ף ך ץ", 1, true),
        script("Arabic", arabic, 1, true),
        script("Devanagari", devanagari, 1, true),
        script("Hangul", "이..인 가..강 다..당 하..한 는 를 의 에 로 서 지 도 사 시 기 고 정", 2, true),
        script("Thai", "า น ร อ ก เ ง ม ย ล ว ด ท ส ต ะ ป บ ค ห แ จ พ ช ข ใ ไ ผ โ ั ี ่ ้ ิ ็ ์ ุ ู ึ ื", 1, false),
        script("Kana", "ぁ..ん ァ..ン", 1, false),
        script("Han", "一..龥", 1, false),
    ]
}

/// Letters and words by number, from which texts of any script are made.
struct Words {
    /// Each a list of letters: numbers below [`LETTERS`].
    dictionary: Vec<Vec<usize>>,
    /// Two classes, by turns: numbers of words.
    documents: Vec<Vec<usize>>,
}

/// As many as there are of Han: other scripts take neighbours for one.
const LETTERS: usize = 20_902;

impl Words {
    fn new(documents: usize) -> Words {
        let mut random = SplitMix64::new(16);
        // about as long as those of European languages, where short ones are frequent
        let word = |random: &mut SplitMix64, rank: usize| {
            let shortest = 1 + rank.min(200).ilog2() as usize / 2;
            let length = shortest + random.below(7);
            (0..length).map(|_| skewed(random, LETTERS)).collect::<Vec<_>>()
        };
        let dictionary: Vec<_> = (1..=20_000).map(|rank| word(&mut random, rank)).collect();
        let n = dictionary.len();
        let document = |random: &mut SplitMix64, class: usize| {
            // rarer words tell the classes apart
            let number =
                |number: usize| if number >= 1_000 && class == 1 { n - 1 - (number - 1_000) } else { number };
            (0..200).map(|_| number(skewed(random, n))).collect::<Vec<_>>()
        };
        let documents = (0..documents).map(|i| document(&mut random, i % 2)).collect();
        Words { dictionary, documents }
    }

    /// The documents in a script, each with its class.
    fn texts(&self, script: &Script) -> Vec<(usize, String)> {
        let letter = |letter: &usize| script.letters[letter_of(*letter, script.letters.len())].as_str();
        let words: Vec<String> = self
            .dictionary
            .iter()
            .map(|word| word.iter().step_by(script.together).map(letter).collect())
            .collect();
        let sentence = |numbers: &[usize]| {
            let words: Vec<_> = numbers.iter().map(|number| words[*number].as_str()).collect();
            if script.spaced { words.join(" ") + ". " } else { words.concat() + "。" }
        };
        let text = |numbers: &Vec<usize>| numbers.chunks(8).map(sentence).collect();
        self.documents.iter().enumerate().map(|(i, numbers)| (i % 2, text(numbers))).collect()
    }
}

/// Scripts of few letters have the frequent ones frequent, too.
fn letter_of(letter: usize, letters: usize) -> usize {
    let part = ((letter + 1) as f64).ln() / ((LETTERS + 1) as f64).ln();
    ((part * letters as f64) as usize).min(letters - 1)
}

/// One script by one word rule.
struct Case {
    name: &'static str,
    rule: WordRule,
    texts: Vec<(usize, String)>,
    terms: usize,
    counts: Model,
    filter: Filter,
    log_odds: f64,
    scratch: Scratch,
    train: Row,
    score: Row,
}

impl Case {
    fn new(script: &Script, rule: WordRule, words: &Words) -> Case {
        let texts = words.texts(script);
        let mut tokenizer = TokenizerOptions::text();
        tokenizer.word_rule = rule;
        let tokenizer = Tokenizer::new(tokenizer).unwrap();
        let (mut terms, mut scratch) = (0, tamis_tokenizer::Scratch::default());
        texts.iter().for_each(|(_, text)| tokenizer.for_each_term(text, &mut scratch, |_| terms += 1));
        if script.spaced {
            assert_eq!(terms, words.documents.iter().map(Vec::len).sum::<usize>(), "{}", script.name);
        }
        let counts = counted(Subject::count_options(rule), &texts).finish().unwrap();
        let filter = counted(options(rule, None), &texts).finish().unwrap().into_filter().unwrap();
        let mut scratch = Scratch::default();
        let log_odds = scored(&filter, &texts, &mut scratch);
        let row = || Row { name: String::new(), seconds: Vec::new() };
        let (train, score) = (row(), row());
        Case { name: script.name, rule, texts, terms, counts, filter, log_odds, scratch, train, score }
    }

    fn round(&mut self) {
        let trainer = self.train.time(|| counted(Subject::count_options(self.rule), &self.texts));
        assert!(trainer.finish().unwrap() == self.counts);
        let sum = self.score.time(|| scored(&self.filter, &self.texts, &mut self.scratch));
        assert_eq!(sum, self.log_odds);
    }

    fn bytes(&self) -> usize {
        self.texts.iter().map(|(_, text)| text.len()).sum()
    }

    /// Nanoseconds a term: train, score.
    fn cost(&self) -> [f64; 2] {
        [&self.train, &self.score].map(|row| 1e9 * row.best() / self.terms as f64)
    }
}

pub fn measure(documents: usize, rounds: usize) {
    let words = Words::new(documents);
    let cases = scripts().into_iter().flat_map(|script| RULES.map(|rule| Case::new(&script, rule, &words)));
    let mut cases: Vec<_> = cases.collect();
    (0..rounds).for_each(|_| cases.iter_mut().for_each(Case::round));
    println!(
        "\nscripts: {documents} generated texts, two classes; ns a term, best, and of that of ASCII (Kana, Han: pairs; Thai: also sequences of four)"
    );
    println!("  {:<36} {:>10} {:>14} {:>14}", "", "bytes/term", "train", "score");
    let ascii = RULES.map(|rule| cases.iter().find(|case| case.rule == rule).unwrap().cost());
    for case in &cases {
        let ascii = ascii[usize::from(case.rule == WordRule::Mail)];
        let [train, score] = case.cost();
        println!(
            "  {:<36} {:>10.1} {:>7.1} {:>6.2} {:>7.1} {:>6.2}",
            format!("{}, {} words", case.name, case.rule),
            case.bytes() as f64 / case.terms as f64,
            train,
            train / ascii[0],
            score,
            score / ascii[1]
        );
    }
}
