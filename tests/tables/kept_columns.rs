//! `tamis label --keep`: the columns of rows beside their verdicts.

use serde_json::{Value, json};

use crate::support::{World, stderr, stdout};

/// A world with a model of text.
fn world() -> World {
    let world = World::new();
    world.write(
        "train.csv",
        "label,text\nfood,lunch at noon\ndrug,cheap pills\nfood,soup at noon\ndrug,more pills\n",
    );
    world.succeed(&["train", "train.csv"]);
    world
}

/// The rows of the output.
fn rows(csv: &str) -> Vec<Vec<String>> {
    let rows = csv::ReaderBuilder::new().has_headers(false).from_reader(csv.as_bytes()).into_records();
    rows.map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
}

#[test]
fn columns_of_rows_stand_before_the_verdict() {
    let world = world();
    world.write("t.csv", "id,text,note\n1,soup,\"a \"\"b\"\"\nc\"\n2,pills,é€\n3,pills,\n4,short\n");
    let output = world.run(&["label", "t.csv", "--keep", "note,id"]);
    assert!(stderr(&output).contains("t.csv:6: expected 3 cells, got 2"), "{}", stderr(&output));
    let got = rows(&stdout(&output));
    assert_eq!(got[0], ["note", "id", "path", "label", "probability", "log_odds"]);
    assert_eq!(got[1][..4], ["a \"b\"\nc", "1", "t.csv:2", "food"]);
    assert_eq!(got[2][..4], ["é€", "2", "t.csv:4", "drug"]);
    assert_eq!(got[3][..4], ["", "3", "t.csv:5", "drug"]);
    assert_eq!(got.len(), 4);
    let got = rows(&world.succeed(&["label", "t.csv", "--keep", "all", "--all"]));
    assert_eq!(got[0][..4], ["id", "text", "note", "path"]);
    let line = world.succeed(&["label", "t.csv", "--keep", "id", "--format", "jsonl"]);
    let first: Value = serde_json::from_str(line.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["id"], &first["label"], &first["path"]),
        (&json!("1"), &json!("food"), &json!("t.csv:2"))
    );
}

#[test]
fn a_column_of_the_verdict_that_rows_have_too_gets_a_prefix() {
    let world = world();
    let output = world.run(&["label", "train.csv", "--keep", "all"]);
    let said = stderr(&output);
    assert!(
        said.contains("--keep: the rows have a column label, so that of the verdict is tamis_label"),
        "{said}"
    );
    let got = rows(&stdout(&output));
    assert_eq!(got[0], ["label", "text", "path", "tamis_label", "probability", "log_odds"]);
    assert_eq!(got[2][..4], ["drug", "cheap pills", "train.csv:3", "drug"]);
    let line = world.succeed(&["label", "train.csv", "--keep", "label", "--format", "jsonl"]);
    let second: Value = serde_json::from_str(line.lines().nth(1).unwrap()).unwrap();
    assert_eq!((&second["label"], &second["tamis_label"]), (&json!("drug"), &json!("drug")));
}

#[test]
fn json_keeps_types_and_rows_may_differ() {
    let world = world();
    let lines = "{\"z\": 1.50, \"text\": \"soup\", \"a\": [1, null]}\n{\"a\": true, \"text\": \"pills\"}\n";
    world.write("t.jsonl", lines);
    let objects = |arguments: &[&str]| -> Vec<Value> {
        let lines = world.succeed(&[&["label", "t.jsonl", "--format", "jsonl"], arguments].concat());
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let all = objects(&["--keep", "all"]);
    assert_eq!((&all[0]["z"], &all[0]["a"]), (&json!(1.5), &json!([1, null])));
    assert_eq!((&all[1]["a"], all[1].get("z")), (&json!(true), None));
    assert_eq!(objects(&["--keep", "z"])[1]["z"], Value::Null);
    // a table has the columns of the first row, in its order
    let got = rows(&world.succeed(&["label", "t.jsonl", "--keep", "all"]));
    assert_eq!(got[0][..4], ["z", "text", "a", "path"]);
    assert_eq!(got[1][..3], ["1.5", "soup", "[1,null]"]);
    assert_eq!(got[2][..3], ["", "pills", "true"]);
    world.write("more.jsonl", format!("{lines}{{\"text\": \"x\", \"b\": 1}}\n"));
    let said = world.fail(&["label", "more.jsonl", "--keep", "all"]);
    assert!(
        said.contains("--keep all: expected the columns of the first row, z,text,a, got also b"),
        "{said}"
    );
    let output = world.run(&["label", "t.jsonl", "--keep", "id"]);
    assert!(
        output.status.success() && stderr(&output).contains("no row has a value in id"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn rows_of_every_kind_have_columns() {
    let world = world();
    for (arguments, table, header) in [
        (&["--keep", "2"][..], "soup,5\npills,6\n", "2,path"),
        (&["--keep", "all", "--delimiter", ";"], "text;n\nsoup;5\n", "text,n,path"),
        (&["--keep", "n"], "text\tn\nsoup\t5\n", "n,path"),
    ] {
        world.write("t.csv", table);
        let columns = ["--no-header", "--text-column", "1"];
        let columns = if table.contains("text") { &columns[..0] } else { &columns };
        let labels = world.succeed(&[&["label", "t.csv"], arguments, columns].concat());
        assert!(labels.starts_with(header), "{labels}");
        assert!(labels.contains("5,t.csv:"), "{labels}");
    }
    // rows whose every cell counts
    world.write("r.csv", "id,kind,n\nx1,a,1\nx2,b,9\nx3,a,2\nx4,b,8\n");
    world.succeed(&["train", "-m", "r.tamis", "r.csv", "--target", "kind"]);
    let labels = world.succeed(&["label", "-m", "r.tamis", "r.csv", "--keep", "id,kind"]);
    assert!(labels.starts_with("id,kind,path,label,probability,log_odds\nx1,a,r.csv:2,a,"), "{labels}");
}

#[test]
fn what_cannot_be_kept_is_told() {
    let world = world();
    world.write("t.csv", "id,text\n1,soup\n");
    let said = world.fail(&["label", "t.csv", "--keep", "name"]);
    assert!(
        said.contains("t.csv:2: --keep: expected columns of the table, id, text, got \"name\""),
        "{said}"
    );
    let said = world.fail(&["label", "t.csv", "--keep", "id,id"]);
    assert!(said.contains("--keep: expected columns of names that differ, got id, id"), "{said}");
    world.write("t.txt", "soup");
    let said = world.fail(&["label", "t.txt", "--keep", "id"]);
    assert!(
        said.contains("t.txt: --keep: expected a row of a table, got a document without columns"),
        "{said}"
    );
    world.write("f.txt", "__label__food soup\n");
    let said = world.fail(&["label", "f.txt", "--keep", "all"]);
    assert!(said.contains("f.txt:1: --keep: expected a row of a table"), "{said}");
    world.write("twice.csv", "x,x,text\n1,2,soup\n");
    assert!(
        world.fail(&["label", "twice.csv", "--keep", "x"]).contains("expected one column \"x\", got several")
    );
    assert!(world.fail(&["label", "twice.csv", "--keep", "all"]).contains("names that differ"));
}
