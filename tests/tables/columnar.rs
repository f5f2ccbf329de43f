//! Parquet and Arrow: the same rows as in a table of text.

use std::fs;

use crate::support::{World, root};

fn table(name: &str) -> Vec<u8> {
    fs::read(root().join("tests/data/tables").join(name)).unwrap()
}

fn world(names: &[&str]) -> World {
    let world = World::new();
    names.iter().for_each(|name| _ = world.write(name, table(name)));
    world
}

#[test]
#[cfg(not(feature = "parquet"))]
fn a_build_without_them_says_what_reads_them() {
    let world = world(&["rows.parquet", "rows.feather"]);
    for (name, what) in [("rows.parquet", "a Parquet file"), ("rows.feather", "an Arrow file")] {
        let said = world.fail(&["train", name]);
        let expected = format!(
            "{name}: expected CSV, TSV or JSON, got {what}, which tamis reads if it is built with --features"
        );
        assert!(said.contains(&expected), "{said}");
    }
}

#[cfg(feature = "parquet")]
mod read {
    use serde_json::{Value, json};

    use super::*;
    use crate::support::{stderr, stdout};

    const NAMES: [&str; 3] = ["rows.parquet", "rows.feather", "rows.stream"];

    #[test]
    fn they_are_trained_on_and_labelled_like_tables() {
        let world = world(&NAMES);
        for name in NAMES {
            let format = if name == "rows.stream" { &["--input-format", "arrow"][..] } else { &[] };
            let output = world.run(&[&["train", name], format].concat());
            assert!(
                stdout(&output).starts_with("learned 4 documents (2 drug, 2 food)"),
                "{}",
                stderr(&output)
            );
            assert!(
                stderr(&output).contains(&format!("{name}:5: expected a label, got none")),
                "{}",
                stderr(&output)
            );
            let labels = world.succeed(&[&["label", name, "--keep", "id,text"], format].concat());
            assert!(labels.contains(&format!("2,cheap pills,{name}:2,drug,")), "{labels}");
            assert!(labels.contains(&format!("3,\"soup, \"\"hot\"\"\nat noon\",{name}:3,food,")), "{labels}");
            let evaluated = world.succeed(&[&["evaluate", name, "--folds", "2"], format].concat());
            assert!(evaluated.starts_with("4 documents"), "{evaluated}");
        }
    }

    #[test]
    fn cells_keep_their_types() {
        let world = world(&NAMES);
        world.succeed(&["train", "rows.parquet"]);
        let lines = world.succeed(&["label", "rows.parquet", "--keep", "all", "--format", "jsonl"]);
        let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let kept = |row: usize| ["id", "score", "date", "new", "label"].map(|name| rows[row][name].clone());
        assert_eq!(
            kept(0),
            [json!(1), json!(0.5), json!("2026-11-01T12:30:00Z"), json!(true), json!("food")]
        );
        assert_eq!(
            kept(1),
            [json!(2), json!(null), json!("2026-11-02T12:30:00Z"), json!(false), json!("drug")]
        );
        assert_eq!(kept(2)[1..4], [json!("inf"), json!(null), json!(null)]);
        assert_eq!(rows[3]["tamis_label"], json!("drug"));
        let csv = world.succeed(&["label", "rows.parquet", "--keep", "score,new"]);
        assert!(csv.contains("\n,false,rows.parquet:2,"), "{csv}");
    }

    #[test]
    fn every_cell_counts_with_a_target() {
        let world = world(&["rows.parquet"]);
        let output = world.run(&["train", "rows.parquet", "--target", "label", "--column", "score=skip"]);
        let said = stderr(&output);
        assert!(stdout(&output).starts_with("learned 4 documents (2 drug, 2 food)"), "{said}");
        assert!(
            said.contains("id gaussian, score skipped, date categorical, new bernoulli, text categorical"),
            "{said}"
        );
        assert!(said.contains("rows.parquet:5: column \"label\": expected a label, got none"), "{said}");
        assert_eq!(world.succeed(&["label", "rows.parquet"]).lines().count(), 6);
    }

    #[test]
    fn lists_are_labels_where_there_may_be_many() {
        let world = world(&["many.parquet"]);
        let said = world.fail(&["train", "many.parquet"]);
        assert!(
            said.contains("many.parquet:2: expected one label, got an array of 2; --labels many reads them"),
            "{said}"
        );
        // an empty list and null are documents without a label
        let learned = world.succeed(&["train", "--labels", "many", "many.parquet"]);
        assert!(learned.starts_with("learned 5 documents with 3 labels"), "{learned}");
        let labelled = world.succeed(&["evaluate", "many.parquet"]);
        assert!(labelled.starts_with("5 documents, 3 labels"), "{labelled}");
        let labels = world.succeed(&["label", "many.parquet", "--keep", "label", "--format", "jsonl"]);
        let row: Value = serde_json::from_str(labels.lines().nth(1).unwrap()).unwrap();
        assert_eq!(row["label"], json!(["drug", "drug"]));
        assert!(row["tamis_label"].is_array(), "{labels}");
    }

    #[test]
    fn what_is_not_read_is_told() {
        let world = world(&["zstd.parquet", "nested.parquet", "rows.parquet"]);
        let said = world.fail(&["train", "zstd.parquet"]);
        assert!(said.contains("zstd.parquet: expected columns that are compressed with snappy, gzip or lz4, or not at all, got ZSTD"), "{said}");
        world.succeed(&["train", "rows.parquet"]);
        // a column that is not needed is not read
        assert_eq!(world.succeed(&["label", "nested.parquet"]).lines().count(), 2);
        let output = world.run(&["label", "nested.parquet", "--keep", "who", "--strict"]);
        assert_eq!(output.status.code(), Some(3));
        let said = stderr(&output);
        assert!(
            said.contains("nested.parquet:1: ") && said.contains("column \"who\": expected text, numbers"),
            "{said}"
        );
        let said = world.fail(&["label", "rows.parquet", "--keep", "name"]);
        assert!(said.contains("--keep: expected columns of the table, id, score,"), "{said}");
        let said = world.fail(&["train", "rows.parquet", "--text-column", "body"]);
        assert!(said.contains("expected a column \"body\""), "{said}");
        let output = world.run_with_input(&["label", "-"], &table("rows.parquet"));
        assert!(
            stderr(&output).contains("expected a file, since Parquet is read from its end"),
            "{}",
            stderr(&output)
        );
        let output = world.run_with_input(&["label", "-"], &table("rows.feather"));
        assert!(stdout(&output).contains("-:2,drug"), "{}", stderr(&output));
    }

    /// Where the rows end. The footer of an Arrow file, whose length is behind it, is not read.
    fn end_of_rows(file: &[u8]) -> usize {
        match file.strip_suffix(b"ARROW1").and_then(|rest| rest.split_last_chunk()) {
            Some((rest, length)) => rest.len() - u32::from_le_bytes(*length) as usize,
            None => file.len(),
        }
    }

    #[test]
    fn damaged_files_are_errors() {
        let world = world(&["rows.parquet"]);
        world.succeed(&["train", "rows.parquet"]);
        for name in ["rows.parquet", "rows.feather"] {
            let whole = table(name);
            for at in (0..whole.len()).step_by(61) {
                let mut damaged = whole.clone();
                damaged[at] ^= 0x5a;
                world.write(name, damaged);
                let output = world.run(&["label", name]);
                assert!(matches!(output.status.code(), Some(0 | 3)), "{name} at {at}: {}", stderr(&output));
                if at >= end_of_rows(&whole) {
                    continue;
                }
                world.write(name, &whole[..at]);
                let output = world.run(&["label", "--strict", name]);
                assert_eq!(output.status.code(), Some(3), "{name} up to {at}: {}", stderr(&output));
            }
        }
    }
}
