//! Words and what they add.

use crate::tests::taught;
use tamis_filter::extract::document::Document;
use tamis_filter::scorers::scratch::Scratch;
use tamis_store::config::training::TrainOptions;
use tamis_store::kind::Kind;
use tamis_tokenizer::Ngrams;

#[test]
fn words_add_up_to_the_terms_and_are_the_text() {
    for (min, max) in [(1, 1), (1, 2)] {
        let mut options = TrainOptions::new(Kind::Text);
        options.recipe.tokenizer.terms = Ngrams::Words { min, max };
        let texts = [("fruit", "ripe apples and pears"), ("metal", "iron and tin, old tin")];
        let filter = taught(options, texts).finish().unwrap().into_filter().unwrap();
        let text = " ripe apples,  and old\n tin or zebra ";
        let explanation = filter.explain(Document::Text(text), &mut Scratch::default()).unwrap();
        let words = filter.explain_words(Document::Text(text), &explanation);
        assert_eq!(words.iter().map(|word| word.text.as_str()).collect::<String>(), text);
        let sum: f64 = words.iter().map(|word| word.contribution).sum();
        let expected: f64 = explanation.terms.iter().map(|term| term.contribution).sum();
        assert!((sum - expected).abs() < 1e-9, "{sum} and not {expected}");
    }
}

#[test]
fn of_mail_the_subject_and_the_body_are_words() {
    let mails = [("ham", "Subject: lunch\n\nsoup at noon\n"), ("spam", "Subject: pills\n\ncheap pills\n")];
    let filter = taught(TrainOptions::new(Kind::Mail), mails).finish().unwrap().into_filter().unwrap();
    let mail = Document::Mail(b"Subject: pills\n\nsoup or pills\n");
    let explanation = filter.explain(mail, &mut Scratch::default()).unwrap();
    let words = filter.explain_words(mail, &explanation);
    let of = |text: &str| -> Vec<f64> {
        words.iter().filter(|w| w.text.trim() == text).map(|w| w.contribution).collect()
    };
    assert!(of("pills").len() == 2 && of("pills").iter().all(|adds| *adds > 0.0), "{words:?}");
    assert!(of("soup").iter().all(|adds| *adds < 0.0), "{words:?}");
}
