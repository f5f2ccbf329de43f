//! Terms in a file.

use tamis_model::{Cell, Counts};
use tamis_store::config::training::TrainOptions;
use tamis_store::disk::spool::Spool;
use tamis_store::file::terms::{GROUP, TermsWriter};
use tamis_store::kind::Kind;
use tamis_tokenizer::TermId;

use crate::fit::sections::{DocumentSections, seal};
use crate::tests::taught;

#[test]
fn every_term_is_found_and_nothing_else() {
    for n in [1, GROUP - 1, GROUP, GROUP + 1, 5_000] {
        let text = (2..n).map(|i| format!("w{i}")).collect::<Vec<_>>().join(" ");
        let texts = [("a", &*format!("w0 {text}")), ("b", if n > 1 { "w1 w1" } else { "" })];
        let store = taught(TrainOptions::new(Kind::Text), texts).finish().unwrap().into_store().unwrap();
        assert_eq!(store.n_terms(), n);
        for i in 0..n {
            let text = format!("w{i}");
            let print = tamis_tokenizer::fingerprint(&text);
            let id = store.find(print).unwrap().unwrap();
            assert_eq!(store.text(id).unwrap(), text);
            let mut cells = Vec::new();
            store.for_each_cell(id, |cell| cells.push((cell.class, cell.df, cell.tf))).unwrap();
            assert_eq!(cells, [if i == 1 { (1, 1, 2) } else { (0, 1, 1) }]);
            for other in [print - 1, print + 1, print ^ 1 << 63] {
                assert_eq!(store.find(other).unwrap(), None);
            }
        }
        assert_eq!([0, u64::MAX].map(|print| store.find(print).unwrap()), [None; 2]);
        store.for_each_cell(n as TermId, |_| panic!("a cell of no term")).unwrap();
    }
}

/// Fingerprints that are not uniform, some with the same upper half.
#[test]
fn terms_are_found_wherever_their_fingerprints_crowd() {
    let crowded = |i: u64| i << 20;
    let prints: [Vec<u64>; 4] = [
        (0..900).collect(),
        (0..900).map(|i| u64::MAX - 3 * i).rev().collect(),
        (0..300).map(crowded).chain((0..300).map(|i| (7 << 32) + (1 << 40) + i)).chain([u64::MAX]).collect(),
        (0..500).map(|i| (i * i * i) << 30).chain((0..90).map(|i| (u64::from(u32::MAX) << 32) + i)).collect(),
    ];
    for mut prints in prints {
        prints.sort_unstable();
        prints.dedup();
        let mut writer = TermsWriter::default();
        let cell = Cell { class: 0, df: 1, tf: 1 };
        for print in &prints {
            writer.push(*print, "", [cell].into_iter(), [].into_iter()).unwrap();
        }
        let sections = writer.finish().unwrap();
        let model = taught(TrainOptions::new(Kind::Text), [("a", ""), ("b", "")]).finish().unwrap();
        let header = model.into_store().unwrap().header;
        let none = DocumentSections { documents: Spool::default(), vectors: Spool::default() };
        let store = seal(header, sections, none).unwrap().into_store().unwrap();
        for (id, print) in (0..).zip(&prints) {
            assert_eq!(store.find(*print).unwrap(), Some(id));
            for other in [print.wrapping_sub(1), print.wrapping_add(1)] {
                let expected = prints.binary_search(&other).ok().map(|id| id as TermId);
                assert_eq!(store.find(other).unwrap(), expected);
            }
        }
    }
}
