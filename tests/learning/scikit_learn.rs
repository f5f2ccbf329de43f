//! Models of scikit-learn, imported.

use std::process::Command;

use serde_json::Value;

use crate::support::{World, root, skip, stderr};

/// Imports every case and compares its probabilities with scikit-learn's.
fn check(made: &Value) {
    let texts: Vec<_> = made["texts"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    let cases = made["cases"].as_array().unwrap();
    assert!(cases.len() >= 5 && texts.len() >= 4);
    for case in cases {
        let world = World::new();
        world.write("model.json", case["written"].to_string());
        let output = world.run(&["import", "-m", "m.tamis", "--from", "scikit-learn", "model.json"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let n_terms = case["written"]["terms"].as_array().unwrap().len();
        assert!(stderr(&output).contains(&format!("imported {n_terms} terms\n")), "{}", stderr(&output));
        world.succeed(&["verify", "-m", "m.tamis"]);
        for (i, text) in texts.iter().enumerate() {
            world.write(&format!("{i}.txt"), text);
            let row =
                world.succeed(&["label", "-m", "m.tamis", "--all", "--format", "jsonl", &format!("{i}.txt")]);
            let row: Value = serde_json::from_str(&row).unwrap();
            for (class, label) in case["written"]["classes"].as_array().unwrap().iter().enumerate() {
                let expected = case["log_probabilities"][i][class].as_f64().unwrap();
                let got = row["probabilities"][label.as_str().unwrap()].as_f64().unwrap().ln();
                assert!((got - expected).abs() < 1e-9, "{text} as {label}: {got} and not {expected}");
            }
            // what scikit-learn says of a text without known words is its first label or the likeliest; we are unsure
            let is_known = *text != "unheard words";
            assert!(!is_known || row["label"] == case["labels"][i], "{text}: {row}");
        }
    }
}

#[test]
fn probabilities_of_an_imported_model_are_scikit_learns() {
    let made = std::fs::read_to_string(root().join("tests/golden/import.json")).unwrap();
    check(&serde_json::from_str(&made).unwrap());
}

/// With the script of the guide, where scikit-learn is installed for the Python that `PYTHON` names.
#[test]
fn the_script_of_the_guide_writes_what_is_imported() {
    let python = std::env::var_os("PYTHON").unwrap_or("python3".into());
    let has_it = Command::new(&python).args(["-c", "import sklearn, joblib"]).output();
    if !has_it.is_ok_and(|output| output.status.success()) {
        skip(&format!("{} has no scikit-learn", python.display()));
        return;
    }
    let world = World::new();
    let made = world.path("made.json");
    let output =
        Command::new(&python).arg(root().join("tests/golden/make_import.py")).arg(&made).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    check(&serde_json::from_str(&std::fs::read_to_string(made).unwrap()).unwrap());
}
