use crate::{Document, Filter, Kind, Scratch, TrainOptions, Trainer};

#[test]
fn a_term_that_cannot_be_read_fails_no_other_document() {
    let mut trainer = Trainer::new(TrainOptions::new(Kind::Text)).unwrap();
    let words = |i: u32| format!("word{i} more{i}");
    (0..2000).for_each(|i| trainer.add(["a", "b"][i as usize % 2], Document::Text(&words(i))).unwrap());
    let mut bytes = trainer.finish().unwrap().as_bytes().to_vec();
    let middle = bytes.len() / 4;
    bytes[middle] ^= 1;
    let filter = Filter::from_bytes(bytes).unwrap();
    let mut scratch = Scratch::default();
    let alone = |i| filter.score_text(&words(i), &mut Scratch::default()).is_ok();
    let fails: Vec<_> = (0..2000).filter(|i| !alone(*i)).collect();
    assert!(!fails.is_empty() && fails.len() < 1000, "{}", fails.len());
    for i in 0..2000 {
        assert_eq!(filter.score_text(&words(i), &mut scratch).is_ok(), !fails.contains(&i), "{i}");
    }
}
