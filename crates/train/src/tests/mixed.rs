//! Tables.

use crate::train::trainer::Trainer;
use tamis_filter::extract::document::Document;
use tamis_filter::score::filter::Filter;
use tamis_filter::scorers::derive::check;
use tamis_filter::scorers::scratch::Scratch;
use tamis_model::GaussianStatistics;
use tamis_store::config::column::{Column, ColumnKind};
use tamis_store::config::recipe::Keep;
use tamis_store::config::scoring::{Mixed, Scoring};
use tamis_store::config::training::TrainOptions;
use tamis_store::error::Reason;
use tamis_store::file::fitted::{FittedScoring, TableStatistics};
use tamis_store::file::header::ModelHeader;
use tamis_store::kind::Kind;

fn options() -> TrainOptions {
    let column = |name: &str, kind| Column { name: name.to_owned(), kind };
    let mut options = TrainOptions::new(Kind::Table);
    options.recipe.columns = vec![
        column("wet", ColumnKind::Bernoulli),
        column("miles", ColumnKind::Gaussian),
        column("note", ColumnKind::Text),
    ];
    options.scoring = Some(Scoring::Mixed(Mixed::default()));
    options
}

fn trained() -> Trainer {
    let mut trainer = Trainer::new(options()).unwrap();
    for (label, miles, wet, note) in
        [("walk", "1", "y", "by foot"), ("walk", "2", "n", ""), ("bus", "", "n", "the bus")]
    {
        let fields = [("note", note), ("miles", miles), ("wet", wet), ("other", "x")];
        trainer.add(label, Document::Fields(&fields)).unwrap();
    }
    trainer
}

fn table(header: &mut ModelHeader) -> &mut TableStatistics {
    match &mut header.scoring {
        FittedScoring::Mixed { table, .. } => table,
        _ => panic!("not mixed"),
    }
}

fn filter() -> Filter {
    trained().finish().unwrap().into_filter().unwrap()
}

#[test]
fn a_cell_that_cannot_be_read_is_not_learned() {
    let expected = trained().finish().unwrap();
    let mut trainer = trained();
    let refused = trainer.add("tram", Document::Fields(&[("note", "new words"), ("wet", "perhaps")]));
    assert!(matches!(refused.err().unwrap().reason(), Reason::Cell { column, .. } if column == "wet"));
    assert_eq!(trainer.missing(), [1, 1, 0]);
    assert!(trainer.finish().unwrap() == expected);
}

#[test]
fn digests_tell_numbers_and_missing_ones_apart() {
    let filter = filter();
    let digest = |miles| filter.digest(Document::Fields(&[("miles", miles)])).unwrap();
    assert_ne!(digest("1"), digest("2"));
    assert_ne!(digest("0"), digest("?"));
    assert_eq!((digest("0"), digest("?")), (digest("-0.0"), digest("")));
}

#[test]
fn merged_trainers_miss_what_both_miss() {
    let mut twice = trained();
    twice.merge(trained()).unwrap();
    assert_eq!(twice.missing(), [2, 2, 0]);
    let filter = twice.finish().unwrap().into_filter().unwrap();
    filter.verify().unwrap();
    let (one, scratch) = (self::filter(), &mut Scratch::default());
    let miles = [("miles", "1.5")];
    let [once, twice] = [&one, &filter].map(|f| f.score_fields(&miles, scratch).unwrap().log_odds);
    assert!((once - twice).abs() < 1e-12);
}

#[test]
fn what_does_not_suit_a_table_is_refused() {
    let of_text = TrainOptions::new(Kind::Text);
    let mut mixed_text =
        Trainer::new(TrainOptions { scoring: Some(Scoring::Mixed(Mixed::default())), ..of_text });
    let trainer = mixed_text.as_mut().unwrap();
    trainer.add("a", Document::Text("x")).unwrap();
    trainer.add("b", Document::Text("y")).unwrap();
    assert!(matches!(mixed_text.unwrap().finish().err().unwrap().reason(), Reason::Columns { .. }));
    let mut without_text = options();
    without_text.recipe.columns.truncate(2);
    without_text.scoring = Some(Scoring::Weighted(tamis_model::WeightedOptions::default()));
    let mut weighted = Trainer::new(without_text).unwrap();
    ["a", "b"].iter().for_each(|label| weighted.add(label, Document::Fields(&[("wet", "y")])).unwrap());
    assert!(matches!(weighted.finish().err().unwrap().reason(), Reason::Columns { .. }));
    let remembering = Trainer::new(TrainOptions { keep: Some(Keep::Vectors), ..options() }).unwrap();
    let mut remembering = remembering;
    remembering.add("a", Document::Fields(&[])).unwrap();
    remembering.add("b", Document::Fields(&[])).unwrap();
    assert!(matches!(remembering.finish().err().unwrap().reason(), Reason::Columns { .. }));
    for change in [
        |options: &mut TrainOptions| options.recipe.kind = Kind::Text,
        |options: &mut TrainOptions| options.recipe.columns.clear(),
        |options: &mut TrainOptions| options.recipe.columns[0].name = "miles".to_owned(),
        |options: &mut TrainOptions| options.recipe.columns[0].name = String::new(),
    ] {
        let mut options = options();
        change(&mut options);
        assert!(matches!(Trainer::new(options).err().unwrap().reason(), Reason::Columns { .. }));
    }
    let text = filter().score_text("x", &mut Scratch::default());
    assert!(matches!(text.err().unwrap().reason(), Reason::Kind { expected: Kind::Table, got: Kind::Text }));
}

#[test]
fn a_header_that_contradicts_itself_is_refused() {
    let good = filter().store().header.clone();
    assert!(check(&good).is_ok());
    let changes: [fn(&mut ModelHeader); 6] = [
        |header| header.stored.keep = Keep::Vectors,
        |header| header.recipe.columns.truncate(2),
        |header| drop(table(header).groups.pop()),
        |header| table(header).missing.truncate(2),
        |header| table(header).reals = GaussianStatistics::new(3, 1),
        |header| table(header).reals = GaussianStatistics::new(2, 2),
    ];
    for (i, change) in changes.into_iter().enumerate() {
        let mut header = good.clone();
        change(&mut header);
        assert!(check(&header).is_err(), "{i}");
    }
}

#[test]
fn verify_holds_the_table_against_the_counts() {
    let changes: [fn(&mut TableStatistics); 4] = [
        |table| table.missing[0] += 1,
        |table| table.missing[1] = 9,
        |table| table.groups.swap(0, 1),
        |table| table.reals.observe(0, &[Some(1.0)]).unwrap(),
    ];
    for (i, change) in changes.into_iter().enumerate() {
        let mut store = trained().finish().unwrap().into_store().unwrap();
        store.verify().unwrap();
        change(table(&mut store.header));
        assert!(matches!(store.verify().err().unwrap().reason(), Reason::Inconsistent { .. }), "{i}");
    }
}
