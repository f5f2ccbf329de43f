//! Text in other forms: HTML, not XML, UTF-16, arrays of JSON; lists of stop words.

use crate::support::{World, stderr, stdout};

/// Texts of two labels, each written in its form.
fn write_texts(world: &World, folder: &str, ending: &str, form: impl Fn(&str) -> Vec<u8>) {
    for (label, texts) in [
        ("fruit", ["apples and pears", "sweet plums", "pears, peeled"]),
        ("metal", ["iron and tin", "hot steel", "tin cans"]),
    ] {
        for (i, text) in texts.iter().enumerate() {
            world.write(&format!("{folder}/{label}/{i}.{ending}"), form(text));
        }
    }
}

fn model(world: &World, name: &str) -> Vec<u8> {
    std::fs::read(world.path(name)).unwrap()
}

fn utf16(text: &str) -> Vec<u8> {
    format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn markup_is_read_as_its_text_unless_asked_for_raw() {
    let world = World::new();
    write_texts(&world, "plain", "txt", |text| text.into());
    let html = |text: &str| {
        format!("<!DOCTYPE html><p class=plums>{}</p><script>iron()</script>", text.replace("a", "<i>a</i>"))
    };
    write_texts(&world, "html", "html", |text| html(text).into());
    let said = stderr(&world.run(&["train", "-m", "said.tamis", "html"]));
    assert!(said.contains("of 6 documents of HTML, only the text is read; --raw keeps the tags\n"), "{said}");
    // XML may be what a text is about
    write_texts(&world, "xml", "xml", |text| format!("<?xml version='1.0'?><fruit-bowl>{text}</a>").into());
    let said = stderr(&world.run(&["train", "-m", "xml.tamis", "xml"]));
    assert!(!said.contains("HTML"), "{said}");
    assert!(world.succeed(&["export", "-m", "xml.tamis", "--format", "csv"]).contains("\nbowl,"));
    for folder in ["plain", "html"] {
        let words = ["--ngrams", "1", "--pieces", "off", "--signs", "off"];
        world.succeed(&[&["train", "-m", &format!("{folder}.tamis"), folder][..], &words].concat());
        assert!(model(&world, &format!("{folder}.tamis")) == model(&world, "plain.tamis"), "{folder}");
    }
    let page = html("plums and apples");
    world.write("page", &page);
    let plain = stdout(&world.run_with_input(&["score", "-m", "plain.tamis"], b"plums and apples"));
    assert_eq!(stdout(&world.run_with_input(&["score", "-m", "plain.tamis"], page.as_bytes())), plain);
    world.succeed(&["train", "-m", "raw.tamis", "--raw", "html"]);
    let terms = world.succeed(&["export", "-m", "raw.tamis", "--format", "csv"]);
    assert!(terms.contains("\nscript,3,6,") && terms.contains("\nplums,3,4,"), "{terms}");
    // the model says how its documents are read
    let explained = world.succeed(&["explain", "-m", "raw.tamis", "--terms", "0", "page"]);
    assert!(explained.contains("  script\n"), "{explained}");
    assert!(world.succeed(&["inspect", "-m", "raw.tamis"]).contains(", HTML with its tags\n"));
    let said = world.fail(&["train", "-m", "m", "--as", "mail", "--raw", "plain"]);
    assert!(said.contains("--raw: expected text, got mail"), "{said}");
}

#[test]
fn utf_16_is_read_as_utf_8_is() {
    let world = World::new();
    let table = "text;label\r\n\"Äpfel; Birnen\";Obst\r\nZinn und Stahl;Metall\r\n";
    world.write("plain.csv", table);
    world.write("wide.csv", utf16(table));
    write_texts(&world, "plain", "txt", |text| text.into());
    write_texts(&world, "wide", "txt", utf16);
    for (plain, wide) in [("plain.csv", "wide.csv"), ("plain", "wide")] {
        world.succeed(&["train", "-m", "p.tamis", plain]);
        world.succeed(&["train", "-m", "w.tamis", wide]);
        assert!(model(&world, "p.tamis") == model(&world, "w.tamis"), "{wide}");
    }
    let scored = |input: &[u8]| stdout(&world.run_with_input(&["score", "-m", "p.tamis"], input));
    assert_eq!(scored(&utf16("sweet apples")), scored(b"sweet apples"));
    world.write("list", utf16("wide/fruit/0.txt\n"));
    assert_eq!(world.succeed(&["label", "-m", "p.tamis", "--files-from", "list"]).lines().count(), 2);
}

#[test]
fn a_json_array_is_a_table() {
    let world = World::new();
    let rows = [("fruit", "apples, pears"), ("metal", "tin and iron"), ("fruit", "plums")];
    let objects: Vec<_> = rows
        .iter()
        .map(|(label, text)| serde_json::json!({"label": label, "text": text, "n": [1]}))
        .collect();
    world.write("t.jsonl", objects.iter().map(|object| format!("{object}\n")).collect::<String>());
    let array = serde_json::to_string_pretty(&objects).unwrap();
    world.write("t.json", &array);
    world.succeed(&["train", "-m", "lines.tamis", "t.jsonl"]);
    world.succeed(&["train", "-m", "array.tamis", "t.json"]);
    assert!(model(&world, "lines.tamis") == model(&world, "array.tamis"));
    let labelled = world.succeed(&["label", "-m", "array.tamis", "t.json"]);
    assert!(labelled.lines().nth(2).unwrap().starts_with("t.json:2,metal,"), "{labelled}");
    let piped = ["label", "-m", "array.tamis", "--input-format", "json", "-"];
    assert_eq!(stdout(&world.run_with_input(&piped, array.as_bytes())).lines().count(), 4);
    world.write("cut.json", &array[..array.len() - 2]);
    let output = world.run(&["label", "-m", "array.tamis", "--strict", "cut.json"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("expected ] at the end of a JSON array"), "{}", stderr(&output));
    // lines are rows under any name; other JSON is a document
    world.write("one.json", "{\"text\": \"apples\"}");
    assert!(world.succeed(&["label", "-m", "array.tamis", "one.json"]).contains("\none.json:1,fruit,"));
    world.write("one.json", "{\n\"text\": \"apples\"}");
    assert!(world.succeed(&["label", "-m", "array.tamis", "one.json"]).contains("\none.json,fruit,"));
    // cells of many columns
    let trips: Vec<_> =
        (0..40).map(|i| serde_json::json!({"miles": i, "by": if i < 20 { "foot" } else { "bus" }})).collect();
    world.write("trips.json", serde_json::to_string(&trips).unwrap());
    world.succeed(&["train", "-m", "trips.tamis", "trips.json", "--target", "by"]);
    let explained = world.succeed(&["explain", "-m", "trips.tamis", "trips.json"]);
    assert!(explained.contains("trips.json:40\n"), "{explained}");
}

#[test]
fn stop_words_come_by_language_or_by_file() {
    let world = World::new();
    world.write(
        "t.csv",
        "text,label\n\"The apples aren't here, they are there\",fruit\n\"It’s not THE iron\",metal\n",
    );
    let terms = |words: &str| {
        world.succeed(&["train", "-m", "m.tamis", "--ngrams", "1", "--stop-words", words, "t.csv"]);
        let table = world.succeed(&["export", "-m", "m.tamis", "--format", "csv"]);
        let mut terms: Vec<_> =
            table.lines().skip(1).map(|row| row.split(',').next().unwrap().to_owned()).collect();
        terms.sort();
        terms.join(" ")
    };
    assert_eq!(terms("english"), "apples iron");
    assert_eq!(terms("EN"), "apples iron");
    world.write("english", "apples");
    assert_eq!(terms("./english"), "are aren't here iron it’s not the there they");
    let said = world.fail(&["train", "-m", "m.tamis", "--stop-words", "klingon", "t.csv"]);
    assert!(said.contains("no stop words for this language: expected one of afrikaans, "), "{said}");
    let said = world.fail(&["train", "-m", "m.tamis", "--stop-words", "words.txt", "t.csv"]);
    assert!(said.contains("words.txt: no such file or folder"), "{said}");
}
