use tamis_tokenizer::CountVector;

use super::*;

fn row(pairs: &[(TermId, u32)]) -> CountVector {
    CountVector::from_pairs(pairs.iter().copied()).unwrap()
}

fn cell(class: ClassId, df: u32, tf: u32) -> Cell {
    Cell { class, df, tf }
}

fn cells(statistics: &Statistics, term: TermId) -> Vec<Cell> {
    statistics.cells(term).collect()
}

#[test]
fn counts_documents_and_occurrences() {
    let mut s = Statistics::new(3);
    s.observe(2, row(&[(0, 1), (5, 2)]).row()).unwrap();
    s.observe(0, row(&[(5, 4)]).row()).unwrap();
    s.observe_times(2, row(&[(5, 3)]).row(), 2).unwrap();
    s.observe(1, row(&[]).row()).unwrap();
    assert_eq!(cells(&s, 5), [cell(0, 1, 4), cell(2, 3, 8)]);
    assert_eq!(cells(&s, 3), []);
    assert_eq!(cells(&s, 99), []);
    assert_eq!(s.document_frequency(5), 4);
    assert_eq!((s.n_terms(), s.n_features()), (6, 2));
    let totals = [(1, 1, 4), (1, 0, 0), (3, 4, 9)];
    let totals = totals.map(|(documents, df, tf)| ClassTotals { documents, df, tf });
    assert_eq!(s.totals(), totals);
}

#[test]
fn an_error_changes_nothing() {
    let mut s = Statistics::new(2);
    s.observe(0, row(&[(0, 1), (1, u32::MAX)]).row()).unwrap();
    let before = s.clone();
    let overflow = s.observe(0, row(&[(0, 1), (1, 1), (2, 1)]).row());
    assert!(matches!(overflow, Err(StatisticsError::Overflow { term: 1, class: 0, got: 0x1_0000_0000, .. })));
    assert_eq!(s, before);
    let times = s.observe_times(1, row(&[(0, 1), (1, 70_000)]).row(), 70_000);
    assert!(matches!(times, Err(StatisticsError::Overflow { term: 1, class: 1, .. })));
    assert_eq!(s, before);
    assert!(matches!(s.merge(&before), Err(StatisticsError::Overflow { term: 1, .. })));
    assert_eq!(s, before);
    assert_eq!(s.observe(2, row(&[]).row()), Err(StatisticsError::UnknownClass { expected: 2, got: 2 }));
    assert!(matches!(s.merge(&Statistics::new(3)), Err(StatisticsError::Classes { .. })));
    assert_eq!(s.merge_mapped(&before, &[0]), Err(StatisticsError::Map { expected: 2, got: 1 }));
    assert_eq!(s, before);
}

#[test]
fn forgets_only_what_can_have_been_learned() {
    let mut s = Statistics::new(2);
    s.observe(0, row(&[(0, 1), (1, 3)]).row()).unwrap();
    let before = s.clone();
    let underflow = |term, expected, got| Err(StatisticsError::Underflow { term, class: 0, expected, got });
    // more than learned, fewer than the only document has, a term never seen
    assert_eq!(s.forget(0, row(&[(0, 1), (1, 4)]).row()), underflow(1, 4, 3));
    assert_eq!(s.forget(0, row(&[(0, 1), (1, 2)]).row()), underflow(1, 2, 3));
    assert_eq!(s.forget(0, row(&[(0, 1), (9, 1)]).row()), underflow(9, 1, 0));
    assert!(matches!(s.forget(0, row(&[(0, 1)]).row()), Err(StatisticsError::Remainder { got: 1, .. })));
    assert!(matches!(s.forget(1, row(&[]).row()), Err(StatisticsError::NoDocuments { got: 0, .. })));
    assert_eq!(s, before);
    s.observe(0, row(&[(1, 1)]).row()).unwrap();
    // two documents share four occurrences: neither can have all
    assert_eq!(s.forget(0, row(&[(1, 4)]).row()), underflow(1, 4, 4));
    s.forget(0, row(&[(1, 1)]).row()).unwrap();
    assert_eq!(s, before);
    s.forget(0, row(&[(0, 1), (1, 3)]).row()).unwrap();
    assert_eq!(s, Statistics::new(2));
}

#[test]
fn a_term_of_many_classes() {
    let mut s = Statistics::new(Classes::MAX);
    // 7 * 43 = 301: each of 300 classes once, unsorted
    for i in 0..300u32 {
        s.observe((i * 7 % 300) as ClassId, row(&[(i % 3, 1), (3, i + 1)]).row()).unwrap();
    }
    let expected: Vec<_> = (0..300u32).map(|c| cell(c as ClassId, 1, c * 43 % 300 + 1)).collect();
    assert_eq!(cells(&s, 3), expected);
    for i in (0..300u32).rev() {
        s.forget((i * 7 % 300) as ClassId, row(&[(i % 3, 1), (3, i + 1)]).row()).unwrap();
    }
    assert_eq!(s, Statistics::new(Classes::MAX));
    for class in 0..Classes::MAX as ClassId {
        s.observe(class, row(&[(0, 1)]).row()).unwrap();
    }
    assert_eq!(s.document_frequency(0), 65_535);
}

#[test]
fn freed_cells_are_used_again() {
    let mut s = Statistics::new(2);
    for _ in 0..1_000 {
        s.observe(1, row(&[(0, 1), (1, 1)]).row()).unwrap();
        s.forget(1, row(&[(0, 1), (1, 1)]).row()).unwrap();
    }
    assert_eq!(s.cells.n_places(), 2);
}

#[test]
fn permuted_renumbers_and_drops() {
    let mut s = Statistics::new(2);
    s.observe(0, row(&[(0, 1), (1, 2), (2, 3)]).row()).unwrap();
    s.observe(1, row(&[(2, 4)]).row()).unwrap();
    let p = s.permuted(&[2, 7, 0, 2]);
    assert_eq!(cells(&p, 0), [cell(0, 1, 3), cell(1, 1, 4)]);
    assert_eq!(cells(&p, 2), [cell(0, 1, 1)]);
    assert_eq!((cells(&p, 1), cells(&p, 3), p.n_terms()), (vec![], vec![], 4));
    assert_eq!(p.totals()[0], ClassTotals { documents: 1, df: 2, tf: 4 });
    let mut back = p;
    back.observe(1, row(&[(1, 1)]).row()).unwrap();
    assert_eq!(cells(&back, 1), [cell(1, 1, 1)]);
}

#[test]
fn a_class_in_between() {
    let mut s = Statistics::new(2);
    s.observe(0, row(&[(0, 1)]).row()).unwrap();
    s.observe(1, row(&[(0, 2)]).row()).unwrap();
    s.insert_class(1);
    s.observe(1, row(&[(0, 5)]).row()).unwrap();
    assert_eq!(cells(&s, 0), [cell(0, 1, 1), cell(1, 1, 5), cell(2, 1, 2)]);
    s.insert_class(99);
    assert_eq!(s.totals().len(), 4);
    let mut full = Statistics::new(usize::MAX);
    full.observe(65_534, row(&[(0, 1)]).row()).unwrap();
    full.insert_class(0);
    assert_eq!(full.totals().len(), Classes::MAX);
}

#[test]
fn stored_cells_are_checked() {
    let mut s = Statistics::with_documents([2, 1]);
    s.push_cell(3, cell(0, 2, 5)).unwrap();
    s.push_cell(3, cell(1, 1, 1)).unwrap();
    for bad in [cell(0, 1, 1), cell(1, 0, 0), cell(1, 2, 1), cell(1, 1, 1)] {
        assert!(matches!(s.push_cell(3, bad), Err(StatisticsError::Impossible { .. })), "{bad:?}");
    }
    assert!(matches!(s.push_cell(3, cell(2, 1, 1)), Err(StatisticsError::UnknownClass { .. })));
    let mut learned = Statistics::new(2);
    learned.observe(0, row(&[(3, 1)]).row()).unwrap();
    learned.observe(0, row(&[(3, 4)]).row()).unwrap();
    learned.observe(1, row(&[(3, 1)]).row()).unwrap();
    assert_eq!(s, learned);
}
