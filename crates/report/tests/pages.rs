//! Pages as a browser gets them: well formed, self-contained, with every number in a table, whatever labels hold.
#![allow(clippy::unwrap_used)]

use tamis_report::{EvaluationReport, Mislabel, explanation_page, model_page, score_page};
use tamis_testing::html::Html;
use tamis_train::evaluate::{Evaluation, HeldOutScore, LearningStep};
use tamis_train::{Classes, Document, Filter, Kind, Score, Scratch, TrainOptions, Trainer, spam_class};

const HOSTILE: [&str; 6] = [
    "</script><script>alert(1)</script>",
    "\"' onload='x",
    "</td></table></svg>",
    "&amp;<!--",
    "exe\u{202e}fdp",
    "a\u{2066}b\u{200f}",
];

fn filter(labels: &[&str]) -> Filter {
    let mut trainer = Trainer::new(TrainOptions::new(Kind::Text)).unwrap();
    for (n, label) in labels.iter().enumerate() {
        for i in 0..4 {
            trainer.add(label, Document::Text(&format!("word{n} word{n} other{i} שלום"))).unwrap();
        }
    }
    trainer.finish().unwrap().into_filter().unwrap()
}

/// Scores of `n` documents with these labels, most of them right.
fn outcomes(labels: &[&str], n: usize) -> (Classes, Vec<HeldOutScore>) {
    let filter = filter(labels);
    let mut scratch = Scratch::default();
    let plain = filter.score_text("word0", &mut scratch).unwrap();
    let (classes, k) = (filter.classes().clone(), labels.len());
    let spam = spam_class(&classes);
    let outcome = |i: usize| {
        let (class, spread) = ((i * 7_919 % k) as u16, (i * 104_729 % 10_007) as f64 / 10_007.0);
        let verdict = if spread < 0.9 { class } else { ((i + 1) % k) as u16 };
        let sure = 12.0 * spread * (1.0 - spread) + 0.01 * (i % 7) as f64;
        let mut score: Score = plain;
        score.scored_class = spam.filter(|_| k == 2).unwrap_or(verdict);
        score.log_odds = if score.scored_class == verdict { sure } else { -sure };
        score.probability = 1.0 / (1.0 + (-score.log_odds).exp());
        score.label = (sure > 0.4).then_some(verdict);
        let probability =
            if score.scored_class == class { score.probability } else { 1.0 - score.probability };
        HeldOutScore::new(class, score, probability)
    };
    (classes, (0..n).map(outcome).collect())
}

fn page(classes: &Classes, outcomes: &[HeldOutScore], mislabels: &[Mislabel]) -> tamis_report::Page {
    let mut evaluation = Evaluation::new(classes, spam_class(classes), outcomes);
    evaluation.learning = LearningStep::curve(outcomes);
    EvaluationReport { title: HOSTILE[0], evaluation: &evaluation, decision: None, mislabels }.page()
}

#[test]
fn hostile_labels_stay_text() {
    for k in [2, 6] {
        let (classes, outcomes) = outcomes(&HOSTILE[..k], 400);
        let mislabel = |name: &&str| Mislabel {
            name: (*name).to_owned(),
            label: HOSTILE[1].to_owned(),
            log_odds: 2.0,
            note: HOSTILE[2].to_owned(),
        };
        let mislabels: Vec<_> = HOSTILE.iter().map(mislabel).collect();
        let whole = page(&classes, &outcomes, &mislabels);
        for html in [whole.to_html(), whole.to_fragment()] {
            let html = Html::parse(&html);
            html.assert_self_contained();
            for label in &HOSTILE[..k] {
                let shown = label.replace('\u{202e}', "\\u{202e}").replace('\u{2066}', "\\u{2066}");
                assert!(html.text.contains(&shown.replace('\u{200f}', "\\u{200f}")), "no {label:?}");
            }
        }
    }
}

#[test]
fn every_page_is_well_formed_and_self_contained() {
    let filter = filter(&["ham", "spam"]);
    let mut scratch = Scratch::default();
    let explanation =
        filter.explain(Document::Text("word1 and other2 and zebras שלום"), &mut scratch).unwrap();
    let score = filter.score_text("word1", &mut scratch).unwrap();
    let (classes, outcomes) = outcomes(&["a", "b", "c"], 300);
    let pages = [
        explanation_page(HOSTILE[3], filter.classes(), &explanation, &[], 2),
        model_page(HOSTILE[4], &filter, [2, 5], &[]).unwrap(),
        score_page(filter.classes(), Some("spam"), score.log_odds, scratch.probabilities()),
        page(&classes, &outcomes, &[]),
    ];
    for page in pages {
        for html in [page.to_html(), page.to_fragment()] {
            let html = Html::parse(&html);
            html.assert_self_contained();
            assert!(html.n_figures > 0);
        }
    }
}

#[test]
fn what_is_not_drawn_is_summed_up() {
    let filter = filter(&["fruit", "metal"]);
    let explanation =
        filter.explain(Document::Text("word0 other1 other2 שלום zebra"), &mut Scratch::default()).unwrap();
    let html = explanation_page("x", filter.classes(), &explanation, &[], 1).to_html();
    let rest: f64 = explanation.terms[1..].iter().map(|term| term.contribution).sum();
    assert!(explanation.terms.len() == 4 && explanation.unknown == 1);
    assert!(html.contains("3 other terms") && html.contains("1 word not known"));
    assert!(html.contains(&format!("<data value=\"{rest}\">")), "{rest}");
    let all = explanation_page("x", filter.classes(), &explanation, &[], 0).to_html();
    assert!(!all.contains("other term") && explanation.terms.iter().all(|term| all.contains(&term.term)));
}

#[test]
fn a_hundred_thousand_documents_are_as_small_as_a_thousand() {
    let many: Vec<String> = (0..52).map(|n| format!("a topic called {n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for labels in [&["ham", "spam"][..], &many] {
        let (classes, outcomes) = outcomes(labels, 100_000);
        // as topics, since the intervals of a spam filter take a minute
        let mut evaluation = Evaluation::new(&classes, None, &outcomes);
        evaluation.learning = LearningStep::curve(&outcomes);
        let report =
            EvaluationReport { title: HOSTILE[0], evaluation: &evaluation, decision: None, mislabels: &[] };
        let html = report.page().to_html();
        assert!(html.len() < 1_000_000, "{} bytes", html.len());
        assert!(html == report.page().to_html());
    }
}

#[test]
fn odd_scores_have_pages() {
    let (classes, regular) = outcomes(&["ham", "spam"], 40);
    for odd in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.0, 1e300] {
        let mut outcomes = regular.clone();
        outcomes.iter_mut().step_by(3).for_each(|outcome| outcome.score.log_odds = odd);
        let html = page(&classes, &outcomes, &[]).to_html();
        Html::parse(&html).assert_self_contained();
        let body = &html[html.find("<body").unwrap()..];
        let is_drawn =
            |bad: &str| body.split("<path").skip(1).any(|path| path.split('>').next().unwrap().contains(bad));
        assert!(!is_drawn("NaN") && !is_drawn("inf"), "{odd}");
    }
    // one class alone, and one document
    for n in [0, 1] {
        let outcomes: Vec<_> = regular.iter().copied().filter(|outcome| outcome.class == 0).take(n).collect();
        Html::parse(&page(&classes, &outcomes, &[]).to_html()).assert_self_contained();
    }
}
