mod duplicates;

use tamis_model::Statistics;
use tamis_store::config::column::{Column, ColumnKind};
use tamis_store::config::recipe::Keep;
use tamis_store::kind::Kind;

use super::*;
use crate::tests::taught;

fn trainer(documents: &[(&str, &str)]) -> Trainer {
    let options = TrainOptions { keep: Some(Keep::Vectors), ..TrainOptions::new(Kind::Text) };
    taught(options, documents.iter().copied())
}

const OWN: [(&str, &str); 3] = [("ham", "boiled ham"), ("spam", "fried spam"), ("spam", "boiled spam")];

/// Everything that a trainer has learned.
fn state(trainer: &Trainer) -> impl PartialEq + std::fmt::Debug + use<> {
    let counts: Vec<Statistics> = trainer.parts.iter().map(|part| part.statistics.clone()).collect();
    let documents = trainer.documents.iter().map(|d| (d.digest, d.class, d.multiplicity, d.part));
    let documents: Vec<_> = documents.collect();
    (trainer.classes.clone(), counts, documents)
}

#[test]
fn a_merge_that_fails_changes_nothing() {
    let other = || trainer(&[("eggs", "boiled egg"), ("ham", "boiled ham"), ("zest", "lemon")]);
    let mut too_often = trainer(&OWN);
    too_often.documents[0].multiplicity = u32::MAX;
    let mut other_settings = trainer(&OWN);
    other_settings.options.recipe.content_only = true;
    // of two labels more there is room for one
    let mut too_many = trainer(&[]);
    too_many.classes = Classes::new((1..Classes::MAX).map(|n| format!("{n:05}"))).unwrap();
    too_many.parts[0] = Shard::new(too_many.classes.len());
    for (mut trainer, other) in
        [(too_often, other()), (other_settings, other()), (too_many, trainer(&[OWN[0], OWN[1]]))]
    {
        let before = state(&trainer);
        assert!(trainer.merge(other).is_err());
        assert!(state(&trainer) == before);
    }
}

#[test]
fn a_document_that_is_refused_is_not_counted() {
    let mut trainer = trainer(&OWN);
    trainer.documents[0].multiplicity = u32::MAX;
    let before = state(&trainer);
    assert!(matches!(
        trainer.add("ham", Document::Text("boiled ham")).unwrap_err().reason(),
        Reason::TooLarge { what: "copies of a document", .. }
    ));
    assert!(trainer.add("a\u{7}b", Document::Text("boiled egg")).is_err());
    assert!(trainer.add("", Document::Text("boiled egg")).is_err());
    assert!(trainer.add("eggs", Document::Mail(b"Subject: x\n\nboiled egg")).is_err());
    assert_eq!(state(&trainer), before);
}

/// Rows beyond a bound go to the folder for temporary files; the test starts itself with one that is not there.
#[test]
fn a_document_that_cannot_be_kept_leaves_not_even_its_label() {
    let path = module_path!().split_once("::").unwrap().1;
    let name = format!("{path}::a_document_that_cannot_be_kept_leaves_not_even_its_label");
    if std::env::temp_dir().exists() {
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", &name]).env("TMPDIR", "/nowhere/at/all");
        let output = again.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        return assert!(output.status.success() && said.contains("1 passed"), "{said}");
    }
    let mut trainer = trainer(&OWN);
    // to the bound
    for _ in 0..tamis_store::disk::spool::IN_MEMORY / (1 << 20) - 1 {
        trainer.parts[0].rows.push((0..1 << 18).map(|_| (1 << 26, 1))).unwrap();
    }
    while trainer.parts[0].rows.push(std::iter::empty()).is_ok() {}
    let before = state(&trainer);
    assert!(matches!(
        trainer.add("eggs", Document::Text("boiled egg")).err().unwrap().reason(),
        Reason::Io { .. }
    ));
    assert_eq!(state(&trainer), before);
}

#[test]
fn labels_that_nobody_can_tell_apart_are_refused() {
    let refused = trainer(&[("ham", "boiled ham"), ("Ham", "boiled egg")]).finish().err().unwrap();
    assert!(matches!(refused.reason(), Reason::SimilarLabels { .. }), "{refused}");
    let mut trainer = trainer(&OWN);
    let refused = trainer.add("unsure", Document::Text("boiled egg")).unwrap_err();
    assert!(matches!(refused.reason(), Reason::ReservedLabel { got } if got == "unsure"), "{refused}");
    assert!(trainer.finish().is_ok());
}

#[test]
fn a_rate_that_is_no_share_is_refused() {
    for max_fpr in [2.0, 1.0, -0.1, f64::NAN] {
        let decision = DecisionOptions { max_fpr: Some(max_fpr), ..DecisionOptions::default() };
        let error = trainer(&OWN).with_decision(decision).finish().err().unwrap().to_string();
        assert!(error.contains("expected a rate above 0 and below 100 %"), "{error}");
    }
}

#[test]
fn a_column_named_twice_in_a_row_is_refused() {
    let mut options = TrainOptions::new(Kind::Table);
    options.recipe.columns = vec![Column::new("x", ColumnKind::Categorical)];
    let mut trainer = Trainer::new(options).unwrap();
    let error = trainer.add("ham", Document::Fields(&[("x", "1"), ("x", "2")])).unwrap_err().to_string();
    assert_eq!(error, "columns: expected each column once, got \"x\" twice in a row");
    trainer.add("ham", Document::Fields(&[("x", "1"), ("y", "2"), ("x", "NA")])).unwrap();
}

#[test]
fn weights_out_of_range_are_refused() {
    let mut trainer = Trainer::new(TrainOptions::new(Kind::Text)).unwrap();
    for weight in [-1.0, f64::NAN, f64::INFINITY, 1e6 + 1.0] {
        let refused = trainer.add_weighted(weight, "fruit", None, Document::Text("apples"));
        assert!(
            matches!(refused.err().unwrap().reason(), Reason::Option { option: "weight", .. }),
            "{weight}"
        );
    }
    trainer.add_weighted(0.0, "metal", None, Document::Text("iron")).unwrap();
    assert_eq!((trainer.n_documents(), trainer.classes().len(), trainer.last_digest()), (0, 0, None));
    let naive_bayes = Some(Scoring::NaiveBayes(Scoring::parameters()));
    let mut trainer =
        Trainer::new(TrainOptions { scoring: naive_bayes, ..TrainOptions::new(Kind::Text) }).unwrap();
    trainer.add_weighted(2.0, "fruit", None, Document::Text("apples")).unwrap();
    assert!(trainer.add_weighted(2.5, "fruit", None, Document::Text("apples")).is_err());
    assert_eq!(trainer.n_documents(), 2);
}
