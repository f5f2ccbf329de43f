//! Tables with columns of many kinds, through the program.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::support::{World, root, stderr, stdout};

/// Miles, whether it rains, the weather, a note and the mode; some cells are missing.
const TRIPS: [[&str; 5]; 14] = [
    ["0.5", "no", "sun", "short walk to the shop", "walk"],
    ["0.8", "no", "sun", "", "walk"],
    ["NA", "yes", "rain", "on foot with an umbrella in the rain", "walk"],
    ["1.1", "", "cloud", "walk along the river", "walk"],
    ["2.5", "no", "sun", "bike to work this fine morning", "bike"],
    ["3.1", "no", "cloud", "cycling home after work", "bike"],
    ["2.0", "yes", "?", "the bike got wet in the rain", "bike"],
    ["6.0", "yes", "rain", "the bus was full of wet people", "bus"],
    ["7.5", "n/a", "cloud", "waited for the bus a while", "bus"],
    ["5.0", "yes", "rain", "null", "bus"],
    ["20", "no", "sun", "drove the car to the coast", "car"],
    ["35", "yes", "rain", "drove to the parents and back", "car"],
    ["12", "no", "cloud", "car because of heavy things", "car"],
    ["12", "no", "cloud", "car because of heavy things", "car"],
];
const COLUMNS: [&str; 5] = ["miles", "raining", "weather", "notes", "mode"];
const PRIOR: [(&str, f64); 4] = [("bike", 0.4), ("bus", 0.2), ("car", 0.2), ("walk", 0.2)];

fn csv(rows: &[[&str; 5]]) -> String {
    let line = |cells: &[&str; 5]| cells.join(",") + "\n";
    line(&COLUMNS) + &rows.iter().map(line).collect::<String>()
}

fn train_trips(world: &World) {
    world.write("trips.csv", csv(&TRIPS));
    let prior = "walk=0.2,bike=0.4,bus=0.2,car=0.2";
    let textbook = ["--class-prior", prior, "--correction", "off"];
    let output = world.run(&[&["train", "trips.csv", "--target", "mode"], &textbook[..]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(
        said.contains("columns: miles gaussian, raining bernoulli, weather categorical, notes text;"),
        "{said}"
    );
    assert!(said.contains("missing values: 1 in miles, 2 in notes, 2 in raining, 1 in weather\n"), "{said}");
    assert!(stdout(&output).starts_with("learned 14 documents (3 bike, 3 bus, 4 car, 4 walk)"));
}

fn is_missing(cell: &str) -> bool {
    ["", "NA", "n/a", "?", "null"].contains(&cell)
}

fn words(note: &str) -> Vec<&str> {
    let mut words: Vec<_> = note.split(' ').collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// The values of a column in the rows of a class, or in all.
fn values(column: usize, class: Option<&str>) -> impl Iterator<Item = &str> {
    let rows = TRIPS.iter().filter(move |row| class.is_none_or(|class| row[4] == class));
    rows.map(move |row| row[column]).filter(|cell| !is_missing(cell))
}

/// The mean of some numbers, and of the squares of their distances from it.
fn moments(numbers: &[f64]) -> (f64, f64) {
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / numbers.len() as f64;
    let centre = mean(&mut numbers.iter().copied());
    (centre, mean(&mut numbers.iter().map(|x| (x - centre).powi(2))))
}

/// The probability of each mode, from the rows and the formulas.
fn posterior(row: &[&str; 5]) -> Vec<f64> {
    let miles = |class| values(0, class).map(|cell| cell.parse().unwrap()).collect::<Vec<f64>>();
    let epsilon = 1e-9 * moments(&miles(None)).1;
    let distinct = |values: Vec<&str>| {
        let mut values = values;
        values.sort_unstable();
        values.dedup();
        values.len() as f64
    };
    let n_weathers = distinct(values(2, None).collect());
    let n_words = distinct(values(3, None).flat_map(words).collect());
    let joint = PRIOR.map(|(class, prior)| {
        let mut joint = f64::ln(prior);
        if let Ok(x) = row[0].parse::<f64>() {
            let (mean, variance) = moments(&miles(Some(class)));
            let variance = variance + epsilon;
            joint -= 0.5 * ((std::f64::consts::TAU * variance).ln() + (x - mean).powi(2) / variance);
        }
        for (column, n_outcomes) in [(1, 2.0), (2, n_weathers)] {
            if values(column, None).any(|cell| cell == row[column]) {
                let same = values(column, Some(class)).filter(|cell| *cell == row[column]).count() as f64;
                joint += ((same + 1.0) / (values(column, Some(class)).count() as f64 + n_outcomes)).ln();
            }
        }
        let learned: Vec<_> = values(3, Some(class)).flat_map(words).collect();
        for word in words(row[3]).iter().filter(|word| values(3, None).flat_map(words).any(|w| w == **word)) {
            let same = learned.iter().filter(|w| *w == word).count() as f64;
            joint += ((same + 0.1) / (learned.len() as f64 + 0.1 * n_words)).ln();
        }
        joint
    });
    let most = joint.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = joint.iter().map(|x| (x - most).exp()).sum();
    joint.iter().map(|x| (x - most).exp() / sum).collect()
}

#[test]
fn trips_are_labelled_as_the_formulas_say() {
    let world = World::new();
    train_trips(&world);
    let mut rows = TRIPS.to_vec();
    rows.extend([
        ["4", "yes", "rain", "with the bus", ""],
        ["4", "yes", "hail", "unheard", ""],
        ["", "YES", "", "", ""],
        ["9.5", "no", "cloud", "?", ""],
        ["?", "", "NaN", "N/A", ""],
    ]);
    world.write("more.csv", csv(&rows));
    let output = world.run(&["label", "--all", "--format", "jsonl", "more.csv"]);
    assert!(stderr(&output).contains("missing values: 3 in miles, 5 in notes, 3 in raining, 3 in weather"));
    let labels = stdout(&output);
    assert_eq!(labels.lines().count(), rows.len());
    for (i, (line, row)) in labels.lines().zip(&rows).enumerate() {
        let got: Value = serde_json::from_str(line).unwrap();
        assert_eq!(got["path"], format!("more.csv:{}", i + 2));
        let row = &row.map(|cell| if cell == "YES" { "yes" } else { cell });
        for ((class, _), expected) in PRIOR.iter().zip(posterior(row)) {
            let got = got["probabilities"][class].as_f64().unwrap();
            assert!((got - expected).abs() < 1e-6, "{row:?} {class}: {got} and not {expected}");
        }
    }
    // of the last row nothing is known
    assert!(labels.lines().last().unwrap().contains("\"label\":\"bike\""), "{labels}");
    assert!(world.succeed(&["evaluate", "trips.csv"]).contains("accuracy  1.0000"));
    world.succeed(&["verify"]);
    let shown = world.succeed(&["inspect"]);
    for expected in
        ["target      mode", "raining bernoulli", "likelihood  mixed, alpha 1, of text 0.1", "0.800000"]
    {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
}

#[test]
fn an_explanation_of_a_row_adds_up() {
    let world = World::new();
    train_trips(&world);
    world.write("row.csv", "miles,raining,notes,other\n2.5,yes,the bike is quick,x\n");
    let explained: Value =
        serde_json::from_str(&world.succeed(&["explain", "--json", "--terms", "0", "row.csv"])).unwrap();
    let terms = explained["terms"].as_array().unwrap();
    let names: Vec<_> = terms.iter().map(|term| term["term"].as_str().unwrap()).collect();
    for expected in ["miles=2.5", "raining=yes", "notes:bike"] {
        assert!(names.contains(&expected), "{names:?}");
    }
    assert_eq!(explained["unknown"], 2); // "is" and "quick"
    let sum: f64 = terms.iter().map(|term| term["contribution"].as_f64().unwrap()).sum();
    let expected = posterior(&["2.5", "yes", "", "the bike is quick", ""]);
    let at = |key: &str| PRIOR.iter().position(|(class, _)| explained[key] == **class).unwrap();
    let expected = (expected[at("class")] / expected[at("against")]).ln();
    assert!((sum + explained["intercept"].as_f64().unwrap() - expected).abs() < 1e-6);
    assert!(world.succeed(&["explain", "row.csv"]).contains("  miles=2.5\n"));
}

#[test]
fn probabilities_are_what_held_out_rows_make_of_them() {
    let world = World::new();
    // ten columns that say the same, and are wrong in one row of ten
    let says = |i: usize| if (i / 2).is_multiple_of(10) { 1 - i % 2 } else { i % 2 };
    let row =
        |i: usize| format!("{}{}\n", ["no", "yes"][i % 2], format!(",{}", 10 * says(i) + i % 7).repeat(10));
    let head: String = (0..10).map(|column| format!(",c{column}")).collect();
    let table = |rows: std::ops::Range<usize>| format!("answer{head}\n{}", rows.map(row).collect::<String>());
    world.write("train.csv", table(0..400));
    world.write("test.csv", table(1..140));
    let loss = |options: &[&str]| {
        let train = ["train", "--replace", "train.csv", "--target", "answer"];
        let said = stdout(&world.run(&[&train[..], options].concat()));
        let figures = world.succeed(&["evaluate", "--json", "test.csv"]);
        (said, serde_json::from_str::<Value>(&figures).unwrap()["log_loss"].as_f64().unwrap())
    };
    let (said, calibrated) = loss(&[]);
    assert!(said.contains("expected on rows drawn like these: "), "{said}");
    // that of knowing that 1 in 10 is wrong, and no more, is 0.325
    assert!(calibrated < 0.4, "{calibrated}");
    assert!(world.succeed(&["inspect"]).contains(" of held-out rows, "));
    world.succeed(&["verify"]);
    let (said, of_textbook) = loss(&["--correction", "off"]);
    assert!(!said.contains("expected on rows"), "{said}");
    assert!(of_textbook > 1.0, "{of_textbook}");
}

#[test]
fn a_row_of_some_weight_is_as_many_rows() {
    let world = World::new();
    let (mut weighted, mut repeated) = (String::new(), String::new());
    for (i, cells) in TRIPS.iter().enumerate() {
        let (row, weight) = (cells.join(","), [1, 0, 3, 2][i % 4]);
        weighted += &format!("{row},{weight}.0\n");
        repeated += &format!("{row}\n").repeat(weight);
    }
    let head = COLUMNS.join(",");
    world.write("weighted.csv", format!("{head},n\n{weighted}"));
    world.write("repeated.csv", format!("{head}\n{repeated}"));
    for options in [&["--target", "mode"][..], &["--label-column", "mode", "--text-column", "notes"]] {
        world.succeed(
            &[&["train", "--replace", "-m", "a.tamis", "weighted.csv", "--weight", "n"], options].concat(),
        );
        world.succeed(&[&["train", "--replace", "-m", "b.tamis", "repeated.csv"], options].concat());
        assert!(model(&world.path("a.tamis")) == model(&world.path("b.tamis")), "{options:?}");
    }
    world.write("wrong.csv", format!("{head},n\n{weighted}{},1.5\n", TRIPS[0].join(",")));
    let arguments = ["train", "--replace", "wrong.csv", "--weight", "n", "--target", "mode"];
    assert!(world.run(&arguments).status.success());
    let output = world.run(&[&arguments[..], &["--correction", "off"]].concat());
    let expected = "weight: expected a whole number unless scoring is weighted";
    assert!(!output.status.success() && stderr(&output).contains(expected), "{}", stderr(&output));
    world.write("wrong.csv", format!("{head},n\n{weighted}{},much\n", TRIPS[0].join(",")));
    let output = world.run(&["train", "--replace", "wrong.csv", "--weight", "n", "--target", "mode"]);
    let expected = ":16: column \"n\": expected a weight from 0 to 1,000,000, got \"much\"";
    assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    let output = world.run(&["train", "--replace", "repeated.csv", "--weight", "n", "--target", "mode"]);
    assert!(!output.status.success() && stderr(&output).contains("column"), "{}", stderr(&output));
}

#[test]
fn irises_are_told_apart() {
    let world = World::new();
    let iris = root().join("tests/data/iris.csv").display().to_string();
    world.succeed(&["train", &iris, "--target", "species"]);
    assert!(world.succeed(&["evaluate", &iris]).contains("accuracy  0.9600"));
    let shown: Value = serde_json::from_str(&world.succeed(&["inspect", "--json"])).unwrap();
    let petals = &shown["numbers"][0];
    assert_eq!(
        (petals["column"].as_str(), petals["classes"][0]["rows"].as_f64()),
        (Some("petal_length"), Some(50.0))
    );
    assert!((petals["classes"][0]["mean"].as_f64().unwrap() - 1.462).abs() < 1e-12);
}

fn model(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

#[test]
fn neither_order_nor_threads_nor_the_format_leave_a_trace() {
    let world = World::new();
    world.write("a.csv", csv(&TRIPS));
    let mut shuffled = TRIPS.to_vec();
    shuffled.sort_by_key(|row| (row[3].len(), row[0]));
    world.write("b.csv", csv(&shuffled));
    let turned = |cells: &[&str; 5]| cells.iter().rev().copied().collect::<Vec<_>>().join("\t") + "\n";
    world.write("c.tsv", turned(&COLUMNS) + &TRIPS.iter().map(turned).collect::<String>());
    let cell = |(name, cell): (&&str, &&str)| match *cell {
        "" => None, // a key that is not there
        "NA" => Some(format!("{name:?}: null")),
        "yes" | "no" => Some(format!("{name:?}: {}", *cell == "yes")),
        number if number.parse::<f64>().is_ok() => Some(format!("{name:?}: {number}")),
        text => Some(format!("{name:?}: {text:?}")),
    };
    let object = |row: &[&str; 5]| {
        format!("{{{}}}\n", COLUMNS.iter().zip(row).filter_map(cell).collect::<Vec<_>>().join(", "))
    };
    world.write("d.jsonl", TRIPS.iter().map(object).collect::<String>());
    let (first, rest) = TRIPS.split_at(5);
    world.write("e/1.csv", csv(first));
    world.write("e/2.csv", csv(rest));
    let mut models = Vec::new();
    for (table, threads) in
        [("a.csv", "1"), ("a.csv", "2"), ("b.csv", "2"), ("c.tsv", "1"), ("d.jsonl", "2"), ("e", "2")]
    {
        world.succeed(&["train", "-m", "t.tamis", table, "--target", "mode", "--threads", threads]);
        models.push(model(&world.path("t.tamis")));
    }
    assert!(models.iter().all(|model| *model == models[0]));
}

#[test]
fn kinds_are_guessed_from_all_cells_and_can_be_changed() {
    let world = World::new();
    let mut table = "id,zip,flag,yes,half,colour,size,gone,kind\n".to_owned();
    for i in 0..30 {
        let colour = ["red", "dark green", "blue"][i % 3];
        let half = if i == 29 { "inf" } else { "0.5" };
        let (flag, yes) = (["1.0", "0", "NA"][i % 3], ["T", "f"][i % 2]);
        table +=
            &format!("k{i},{},{flag},{yes},{half},{colour},{},?,{}\n", 10_000 + i, i % 4, ["x", "y"][i % 2]);
    }
    world.write("t.csv", table);
    let said = |arguments: &[&str]| {
        let mut all = vec!["train", "t.csv", "--target", "kind"];
        all.extend(arguments);
        let output = world.run(&all);
        assert!(output.status.success(), "{}", stderr(&output));
        stderr(&output)
    };
    let guessed = said(&[]);
    let columns = "columns: id skipped, zip gaussian, flag bernoulli, yes bernoulli, half gaussian, \
                   colour categorical, size gaussian, gone skipped; --column NAME=KIND changes one\n";
    assert!(guessed.contains(columns), "{guessed}");
    // an infinite number is no category: its row is left out
    assert!(
        guessed
            .contains("t.csv:31: column \"half\": expected a number of magnitude at most 1e150, got \"inf\""),
        "{guessed}"
    );
    let changed = said(&["--column", "zip=categorical", "--column", "size=skip", "--column", "id=text"]);
    assert!(changed.contains("id text, zip categorical,") && changed.contains("size skipped,"), "{changed}");
    for (bad, expected) in [
        ("zap=text", "\"zap\""),
        ("kind=text", "\"kind\""),
        ("zip=number", "NAME=gaussian"),
        ("zip", "NAME=gaussian"),
    ] {
        let said = world.fail(&["train", "t.csv", "--target", "kind", "--column", bad]);
        assert!(said.contains(expected), "{said}");
    }
    let said = world.fail(&["train", "t.csv", "--target", "sort"]);
    assert!(said.contains("\"sort\"") && said.contains("id, zip, flag"), "{said}");
}

#[test]
fn rows_that_cannot_be_read_are_named_and_left_out() {
    let world = World::new();
    let rows =
        "miles,wet,mode\n1,yes,walk\nfar,no,walk\n2,maybe,walk\n3,no\n4,no,\n5,no,NA\n6,no,bus\n,yes,bus\n";
    world.write("t.csv", rows);
    let arguments =
        ["train", "t.csv", "--target", "mode", "--column", "miles=gaussian", "--column", "wet=bernoulli"];
    let output = world.run(&arguments);
    assert!(stdout(&output).starts_with("learned 3 documents (2 bus, 1 walk)"), "{}", stderr(&output));
    let said = stderr(&output);
    for expected in [
        "t.csv:3: column \"miles\": expected a number, got \"far\"",
        "t.csv:4: column \"wet\": expected yes or no, true or false, 1 or 0, got \"maybe\"",
        "t.csv:5: expected 3 cells, got 2",
        "t.csv:6: column \"mode\": expected a label, got none",
        "skipped 1 row: without a label, such as NA; --na-labels takes it as a label",
        "4 documents could not be read",
        "missing values: 1 in miles\n",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    let strict: Vec<_> = arguments.iter().copied().chain(["--strict"]).collect();
    assert_eq!(world.run(&strict).status.code(), Some(3));
    // labels are not needed to label, and other columns do not matter
    world.write("u.csv", "zzz,miles\n\u{1},6\n");
    assert!(world.succeed(&["label", "u.csv"]).contains("\nu.csv:2,bus,"));
    let said = world.fail(&["evaluate", "u.csv"]);
    assert!(said.contains("u.csv: expected a column \"mode\", got zzz, miles"), "{said}");
    let said = stderr(&world.run(&["label", "t.csv"]));
    assert!(said.contains("t.csv:3: column \"miles\"") && said.contains("t.csv:5"), "{said}");
}

#[test]
fn hostile_tables_get_an_error_or_a_model_and_never_a_panic() {
    let world = World::new();
    let wide = |cell: &str| (0..10_000).map(|i| format!("{cell}{i},")).collect::<String>();
    let wide = format!("{}y\n{}a\n{}b\n", wide("c"), wide("1"), wide("2"));
    let huge = "x".repeat(3 << 20);
    let good: BTreeMap<&str, (String, &str)> = BTreeMap::from([
        ("wide", (wide, "learned 2 documents")),
        ("nul", ("x,y\np\0q,a\np\0\0,b\n".to_owned(), "learned 2 documents")),
        ("bom", ("\u{feff}y,x\na,1\nb,2\n".to_owned(), "learned 2 documents")),
        ("unnamed", (",y\n1,a\n2,b\n".to_owned(), "learned 2 documents")),
        ("signs", ("a=b:c,y\nu=v,a\nw:z,b\n".to_owned(), "learned 2 documents")),
        ("huge", (format!("x,y\nr,a\ns,b\n{huge},b\n"), "learned 2 documents")),
        ("quote", ("x,y\n\"r\",a\n\"s\",b\n\"s,b\n".to_owned(), "learned 2 documents")),
        ("great", ("x,y\n1e300,a\n1e-300,a\n2,b\n-1e150,b\n".to_owned(), "learned 3 documents")),
        ("equal", ("x,z,y\n5,k,a\n5,k,b\n".to_owned(), "learned 2 documents")),
        ("lost", ("x,z,y\n1,,a\n,k,b\n".to_owned(), "learned 2 documents")),
    ]);
    for (name, (table, expected)) in &good {
        let file = format!("{name}.csv");
        world.write(&file, table);
        let output = world.run(&["train", &file, "--target", "y"]);
        assert!(stdout(&output).starts_with(expected), "{name}: {}", stderr(&output));
        world.succeed(&["verify"]);
        let labels = world.succeed(&["label", &file]);
        assert!(!labels.contains("NaN") && labels.lines().count() > 1, "{name}: {labels}");
    }
    for (table, expected) in [
        ("x,y,x\n1,a,2\n3,b,4\n", "got \"x\" twice"),
        ("a=b,a:b,y\n1,2,a\n3,4,b\n", "names that differ"),
        ("x,y\n", "expected a table with a header row"),
        ("", "expected a table with a header row"),
        ("y\na\nb\n", "expected a column to learn from"),
        ("x,y\n?,a\n,b\n", "expected a column to learn from"),
        ("x,y\n1,a\n2,a\n", "at least two labels"),
        ("x,y\n1,?\n2,\n", "at least two labels"),
    ] {
        world.write("t.csv", table);
        let said = world.fail(&["train", "t.csv", "--target", "y"]);
        assert!(said.contains(expected), "{expected}: {said}");
    }
    let rows = "{\"x\": [1], \"y\": \"a\"}\n[]\n{\"x\": {\"z\": 1}, \"y\": true}\n{\"x\": 1e999, \"y\": 1}\n{}\n\0\n";
    world.write("t.jsonl", rows);
    let output = world.run(&["train", "t.jsonl", "--target", "y"]);
    assert!(stdout(&output).starts_with("learned 3 documents (1 1, 1 a, 1 true)"), "{}", stderr(&output));
    assert!(stderr(&output).contains("3 documents could not be read"), "{}", stderr(&output));
}

#[test]
fn a_table_of_texts_is_scored_as_texts_are() {
    let world = World::new();
    let mut table = "title,body,topic\n".to_owned();
    for i in 0..40 {
        let (fruit, metal) = ("about pears and apples today", "about iron and tin today");
        table += &match i % 2 {
            0 => format!("{fruit} number {i},they are ripe in autumn,fruit\n"),
            _ => format!("{metal} number {i},they melt in the fire,metal\n"),
        };
    }
    world.write("t.csv", &table);
    let arguments = ["train", "t.csv", "--target", "topic", "--column", "body=text"];
    let learned = world.succeed(&arguments);
    assert!(learned.contains("expected on rows drawn like these"), "{learned}");
    assert!(world.succeed(&["inspect"]).contains("likelihood  weighted"));
    world.succeed(&["verify"]);
    // a word counts for the column it stands in
    world.write("u.csv", "title,body\npears,\n,pears\n");
    let labels = world.succeed(&["label", "u.csv"]);
    assert!(labels.contains("u.csv:2,fruit,") && labels.contains("u.csv:3,fruit,"), "{labels}");
    let explained = world.succeed(&["explain", "t.csv"]);
    assert!(explained.contains("  title:pears\n") && explained.contains("  body:ripe\n"), "{explained}");
    for options in [["--likelihood", "bernoulli"], ["--idf-power", "0.5"], ["--prior", "metal=0.1"]] {
        let all: Vec<_> = arguments.iter().chain(&options).copied().collect();
        world.succeed(&all);
        world.succeed(&["verify"]);
    }
    let all: Vec<_> = arguments.iter().copied().chain(["--documents"]).collect();
    world.succeed(&all);
    world.succeed(&["verify"]);
}

#[test]
fn several_tables_are_one() {
    let world = World::new();
    world.write("a.csv", "miles,wet,mode\n1,yes,walk\n5,no,bus\n");
    world.write("b.csv", "mode,miles,windy\nwalk,2,yes\nbus,6,no\n");
    let output = world.run(&["train", "a.csv", "b.csv", "--target", "mode"]);
    let said = stderr(&output);
    assert!(said.contains("columns: miles gaussian, wet bernoulli, windy bernoulli"), "{said}");
    assert!(said.contains("missing values: 2 in wet, 2 in windy"), "{said}");
    world.succeed(&["verify"]);
    assert_eq!(world.succeed(&["label", "a.csv", "b.csv"]).lines().count(), 5);
}

#[test]
fn what_is_not_for_tables_is_refused() {
    let world = World::new();
    train_trips(&world);
    let model = model(&world.path(".local/share/tamis/model.tamis"));
    for (options, expected) in [
        (&["--likelihood", "multinomial"][..], "expected none for a table"),
        (&["--min-df", "2"], "expected naive Bayes, got weighted scoring"),
        (&["--idf-power", "1", "--column", "notes=skip"], "expected none for a table"),
        (&["--documents"], "--documents"),
        (&["--max-fpr", "1%"], "--max-fpr"),
        (&["--prior", "walk=0.1"], "--prior"),
        (&["--content-only"], "expected mail, got table"),
        (&["--column", "notes=skip", "--stem", "english"], "expected a column of text"),
        (
            &["--alpha", "2", "--column", "raining=skip", "--column", "weather=skip"],
            "expected a categorical or bernoulli column",
        ),
        (&["--unlabelled", "trips.csv"], "--unlabelled"),
        (&["--as", "text"], "--as text"),
        (&["--label-column", "mode"], "--target"),
        (&["--class-prior", "walk=1"], "--class-prior"),
    ] {
        let all: Vec<_> = ["train", "trips.csv", "--target", "mode"].iter().chain(options).copied().collect();
        let said = world.fail(&all);
        assert!(said.contains(expected), "{options:?}: {said}");
    }
    assert!(world.fail(&["train", "walk=trips.csv", "--target", "mode"]).contains("walk=trips.csv"));
    assert!(world.fail(&["train", "trips.csv", "--column", "miles=text"]).contains("--target"));
    world.write("x.txt", "by bus");
    assert!(world.fail(&["score", "x.txt"]).contains("tamis label"));
    assert!(world.fail(&["explain", "x.txt"]).contains("expected a table"));
    assert!(world.fail(&["label", "x.txt"]).contains("expected a table"));
    assert!(world.fail(&["label", "--prior", "walk=0.1", "trips.csv"]).contains("--prior"));
    assert!(world.fail(&["evaluate", "--label-column", "notes", "trips.csv"]).contains("--label-column"));
    assert!(self::model(&world.path(".local/share/tamis/model.tamis")) == model);
    for options in [["--alpha", "0.5"], ["--estimate", "ml"], ["--class-prior", "uniform"]] {
        let all: Vec<_> =
            ["train", "trips.csv", "--target", "mode"].iter().chain(&options).copied().collect();
        world.succeed(&all);
        assert!(self::model(&world.path(".local/share/tamis/model.tamis")) != model, "{options:?}");
        world.succeed(&["verify"]);
        assert!(!world.succeed(&["label", "trips.csv"]).contains("NaN"));
    }
}

#[test]
fn commas_are_decimal_where_semicolons_separate() {
    let world = World::new();
    let rows = |point: &str| {
        let row = |i: usize| {
            format!("{}{point}5;{}\n", i * 7 % 40, if i.is_multiple_of(2) { "car" } else { "walk" })
        };
        (0..40).map(row).collect::<String>()
    };
    for (name, point) in [("comma", ","), ("point", ".")] {
        world.write("t.csv", format!("miles;mode\n{}", rows(point)));
        let run = world.run(&["train", "-m", &format!("{name}.tamis"), "t.csv", "--target", "mode"]);
        assert!(stderr(&run).contains("columns: miles gaussian"), "{}", stderr(&run));
    }
    let model = |name: &str| std::fs::read(world.path(name)).unwrap();
    assert!(model("comma.tamis") == model("point.tamis"));
}

#[test]
fn many_rows_come_in_order_whatever_the_number_of_threads() {
    let world = World::new();
    let (mut csv, mut jsonl) = ("label,text\n".to_owned(), String::new());
    for i in 0..5_000 {
        let (label, word) = if i % 3 == 0 { ("metal", "iron") } else { ("fruit", "apples") };
        let text = format!("{word} of kind {}", i % 701);
        match i {
            2_500 => csv.push_str("one,cell,\"more\n\"\n"),
            _ => csv.push_str(&format!("{label},\"{text}, they \"\"say\"\"\n\"\n")),
        }
        jsonl.push_str(&format!("{}\n", serde_json::json!({ "label": label, "text": text })));
    }
    world.write("many.csv", &csv);
    world.write("many.jsonl", &jsonl);
    world.succeed(&["train", "-m", "1.tamis", "many.jsonl", "many.csv", "--threads", "1"]);
    world.succeed(&["train", "-m", "4.tamis", "many.csv", "many.jsonl", "--threads", "4"]);
    let model = |name: &str| std::fs::read(world.path(name)).unwrap();
    assert!(model("1.tamis") == model("4.tamis"));
    let label = |threads: &str| {
        let run = world.run(&["label", "-m", "1.tamis", "many.csv", "many.jsonl", "--threads", threads]);
        (stdout(&run), stderr(&run))
    };
    let (rows, errors) = label("1");
    assert_eq!((rows.clone(), errors.clone()), label("4"));
    let names: Vec<_> = rows.lines().skip(1).map(|row| row.split(',').next().unwrap().to_owned()).collect();
    // each row of the first has two lines, and one is wrong
    let lines = (0..5_000).filter(|i| *i != 2_500).map(|i| 2 * (i + 1));
    let expected: Vec<_> = lines
        .map(|line| format!("many.csv:{line}"))
        .chain((1..=5_000).map(|line| format!("many.jsonl:{line}")))
        .collect();
    assert_eq!(names, expected);
    assert!(errors.contains("many.csv:5002: expected 2 cells, got 3"), "{errors}");
}
