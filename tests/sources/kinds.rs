//! What a file is, is decided by its bytes, the same for every door: it is read, or refused by name, and never learned or
//! judged silently.

use std::fs;

use crate::sources::compressed::packed;
use crate::sources::trees::message;
use crate::support::{World, stderr, stdout};

#[allow(dead_code, reason = "the tests of that crate use the rest")]
#[path = "../../crates/documents/tests/build.rs"]
mod build;

use build::{docx, odt, zip};

/// A name, its content and, if it is no text, what it is called.
type Kind = (&'static str, Vec<u8>, Option<&'static str>);

/// Random bytes that are the same each time.
fn noise(n: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..n).map(|_| next()).collect()
}

fn foreign() -> Vec<Kind> {
    let ole = [&b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"[..], &[0; 504]].concat();
    vec![
        ("a.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec(), Some("a PNG image")),
        ("b.bz2", b"BZh91AY&SY\x01\x02".to_vec(), Some("a bzip2 file")),
        ("c.doc", ole.clone(), Some("an Office document or Outlook message (OLE)")),
        ("d.msg", ole, Some("an Office document or Outlook message (OLE)")),
        ("e.bin", noise(4096), Some("binary data")),
        ("f.txt", noise(300), Some("binary data")),
        ("g.txt", [b"a text before it\n".to_vec(), noise(100_000)].concat(), Some("binary data")),
        ("h.ps", b"%!PS-Adobe-3.0\n%%Title: x\n".to_vec(), Some("PostScript")),
        ("i.7z", b"7z\xbc\xaf\x27\x1c\0\x04".to_vec(), Some("a 7z archive")),
        ("j.gz", packed(vec![0; 1 << 20]), None),
        ("k.tamis", b"TAMIS\r\n\x1a\0\0".to_vec(), Some("a tamis model")),
        ("l.xz", b"\xfd7zXZ\0\0".to_vec(), Some("an xz file")),
        ("m.docx", b"PK\x03\x04\x14\0\0\0\0\0".to_vec(), Some("zip archive")),
    ]
}

fn models(world: &World) {
    for n in 0..4 {
        world.write(&format!("text/metal/{n}.txt"), format!("iron and tin and lead, item {n}"));
        world.write(&format!("text/fruit/{n}.txt"), format!("apples and pears and figs, item {n}"));
        world.write(
            &format!("mail/ham/{n}.eml"),
            message(&format!("lunch {n}"), "soup at noon for all of us"),
        );
        world.write(
            &format!("mail/spam/{n}.eml"),
            message(&format!("pills {n}"), "buy cheap pills in our shop"),
        );
    }
    world.succeed(&["train", "-m", "text.tamis", "text"]);
    world.succeed(&["train", "-m", "mail.tamis", "mail"]);
}

#[test]
fn what_is_neither_text_nor_mail_is_refused_by_name_at_every_door() {
    let world = World::new();
    models(&world);
    for (model, label) in [("text.tamis", "metal"), ("mail.tamis", "ham")] {
        for (name, content, what) in foreign() {
            let what = what.unwrap_or_default();
            world.write(name, &content);
            world.write("list", name);
            let (folder, file) = (format!("folder-{name}"), format!("folder-{name}/{name}"));
            world.write(&file, &content);
            let before = fs::read(world.path(model)).unwrap();
            for arguments in [
                vec!["score", "-m", model, name],
                vec!["score", "-m", model, "-"],
                vec!["explain", "-m", model, name],
                vec!["explain", "-m", model],
                vec!["label", "-m", model, name],
                vec!["label", "-m", model, "-"],
                vec!["label", "-m", model, "--files-from", "list"],
                vec!["label", "-m", model, &folder],
                vec!["learn", "-m", model, label, name],
                vec!["learn", "-m", model, label, "-"],
                vec!["learn", "-m", model, label, "--files-from", "list"],
                vec!["learn", "-m", model, label, &folder],
                vec!["suggest", "-m", model, &folder],
                vec!["drift", "-m", model, &folder],
            ] {
                let output = world.run_with_input(&arguments, &content);
                let said = stderr(&output);
                assert_eq!(output.status.code(), Some(3), "{arguments:?}: {}{said}", stdout(&output));
                assert!(said.contains(what), "{arguments:?}: {said}");
            }
            assert!(fs::read(world.path(model)).unwrap() == before, "{model} has learned {name}");
        }
    }
}

#[test]
fn what_is_not_mail_is_passed_on_as_it_is() {
    let world = World::new();
    models(&world);
    for (name, content, what) in foreign() {
        if name.ends_with(".gz") {
            continue;
        }
        let output = world.run_with_input(&["score", "--passthrough", "-m", "mail.tamis"], &content);
        assert!(output.stdout == content, "{name}");
        let said = stderr(&output);
        assert!(said.contains(what.unwrap_or_default()) && said.contains("unchanged"), "{name}: {said}");
    }
}

#[test]
fn figures_say_what_they_leave_out() {
    let world = World::new();
    models(&world);
    world.write("mixed/metal/1.txt", "iron and tin");
    world.write("mixed/fruit/1.txt", "apples and figs");
    for n in 0..3 {
        world.write(&format!("mixed/fruit/{n}.png"), b"\x89PNG\r\n\x1a\n");
    }
    let output = world.run(&["evaluate", "-m", "text.tamis", "mixed"]);
    let (shown, said) = (stdout(&output), stderr(&output));
    assert!(shown.starts_with("not in the figures: 3 of 5 documents, which could not be read\n"), "{shown}");
    assert!(said.contains("5 documents: 2 read, 3 not read (3: a PNG image)"), "{said}");
    let json = world.succeed(&["evaluate", "-m", "text.tamis", "--json", "mixed"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["found"]["read"], 2);
    assert_eq!(json["found"]["not_read"]["a PNG image"], 3);
}

#[test]
fn an_mbox_by_another_name_is_read_or_refused_by_name() {
    let world = World::new();
    models(&world);
    let mbox: String = (0..3)
        .map(|n| format!("From a@b Mon Mar  2 10:00:00 2026\n{}\n", message(&n.to_string(), "soup")))
        .collect();
    for name in ["m.txt", "m.eml", "m.msg"] {
        world.write(name, &mbox);
        world.write(&format!("folder/{name}"), &mbox);
        assert_eq!(world.succeed(&["label", "-m", "mail.tamis", name]).lines().count(), 4, "{name}");
        assert_eq!(world.succeed(&["score", "-m", "mail.tamis", name]).lines().count(), 3, "{name}");
        assert!(world.fail(&["explain", "-m", "mail.tamis", name]).contains("mbox"));
    }
    let said = world.fail(&["label", "-m", "mail.tamis", "folder"]);
    assert!(said.contains("an mbox of several messages"), "{said}");
}

const TEXTS: [(&str, &str); 4] = [
    ("metal", "iron and tin and lead"),
    ("fruit", "apples and pears and figs"),
    ("metal", "zinc, and more iron"),
    ("fruit", "plums, and more pears"),
];

#[test]
fn documents_of_any_format_are_learned_as_their_text() {
    let world = World::new();
    let mut members = Vec::new();
    for (n, (label, text)) in TEXTS.iter().enumerate() {
        world.write(&format!("plain/{label}/{n}.txt"), text);
        let paragraph = format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>");
        let (name, bytes) = match n {
            0 => ("a.docx", docx(&paragraph)),
            1 => ("b.rtf", format!("{{\\rtf1 {text}}}").into_bytes()),
            2 => ("c.odt", odt(&format!("<text:p>{text}</text:p>"))),
            _ => (
                "d.ipynb",
                format!(
                    "{{\"cells\":[{{\"cell_type\":\"markdown\",\"source\":[\"{text}\"]}}],\"nbformat\":4}}"
                )
                .into_bytes(),
            ),
        };
        world.write(&format!("mixed/{label}/{name}"), &bytes);
        members.push((format!("all/{label}/{n}.txt"), *text));
    }
    let members: Vec<_> = members.iter().map(|(name, text)| (&**name, *text)).collect();
    world.write("all.zip", zip(&members));
    for (model, source) in [("plain.tamis", "plain"), ("mixed.tamis", "mixed"), ("zip.tamis", "all.zip")] {
        let said = world.succeed(&["train", "-m", model, source]);
        assert!(said.starts_with("learned 4 documents (2 fruit, 2 metal)"), "{said}");
    }
    let model = |name| fs::read(world.path(name)).unwrap();
    assert!(model("plain.tamis") == model("mixed.tamis") && model("plain.tamis") == model("zip.tamis"));
    // one by one, by each door
    let scored = |arguments: &[&str], input: &[u8]| {
        let output = world.run_with_input(&[arguments, &["-m", "plain.tamis"]].concat(), input);
        stdout(&output).split(' ').take(3).collect::<Vec<_>>().join(" ").trim().to_owned()
    };
    for (plain, document) in
        [("metal/0.txt", "metal/a.docx"), ("fruit/1.txt", "fruit/b.rtf"), ("metal/2.txt", "metal/c.odt")]
    {
        let (plain, path) = (format!("plain/{plain}"), format!("mixed/{document}"));
        let bytes = fs::read(world.path(&path)).unwrap();
        let expected = scored(&["score", &plain], b"");
        assert_eq!(scored(&["score", &path], b""), expected);
        assert_eq!(scored(&["score"], &bytes), expected);
        assert_eq!(scored(&["explain", &path], b""), expected);
    }
    let rows = world.succeed(&["label", "-m", "plain.tamis", "all.zip", "mixed"]);
    assert_eq!(rows.lines().count(), 9, "{rows}");
    assert!(
        rows.contains("all.zip/all/fruit/1.txt,fruit,") && rows.contains("mixed/metal/a.docx,metal,"),
        "{rows}"
    );
    let output = world.run(&["learn", "fruit", "-m", "plain.tamis", "mixed/fruit/b.rtf"]);
    assert!(stdout(&output).contains("1 already known"), "{}", stdout(&output));
}

#[test]
fn a_command_reads_what_nothing_else_does() {
    let world = World::new();
    models(&world);
    world.write("box/a.rot", "vrotv naq gva");
    world.write("box/b.txt", "apples and pears");
    let label = ["label", "-m", "text.tamis", "--text-command", ".rot=tr a-z n-za-m", "box"];
    assert!(world.succeed(&label).contains("box/a.rot,"));
    let said = world.fail(&["label", "-m", "text.tamis", "--text-command", "rot", "box"]);
    assert!(said.contains("expected an ending and a command"), "{said}");
    let output = world.run(&["label", "-m", "text.tamis", "--text-command", ".rot=exit 4", "box"]);
    assert!(stderr(&output).contains("box/a.rot: skipped: exit 4"), "{}", stderr(&output));
    assert_eq!(stdout(&output).lines().count(), 2);
}

#[test]
fn a_sheet_is_a_table_and_in_a_folder_a_document() {
    let world = World::new();
    let cell = |text: &str| format!("<c t=\"inlineStr\"><is><t>{text}</t></is></c>");
    let rows = [("label", "text")].into_iter().chain(TEXTS);
    let rows: String =
        rows.map(|(label, text)| format!("<row>{}{}</row>", cell(label), cell(text))).collect();
    let names = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let book = format!(
        "<workbook xmlns=\"{names}\" xmlns:r=\"{relations}\"><sheets><sheet name=\"rows\" sheetId=\"1\" r:id=\"r1\"/></sheets></workbook>"
    );
    let package = "http://schemas.openxmlformats.org/package/2006/relationships";
    let sheet = format!("<worksheet xmlns=\"{names}\"><sheetData>{rows}</sheetData></worksheet>");
    let refers = format!(
        "<Relationships xmlns=\"{package}\"><Relationship Id=\"r1\" Type=\"{relations}/worksheet\" Target=\"worksheets/sheet1.xml\"/></Relationships>"
    );
    let main = format!(
        "<Relationships xmlns=\"{package}\"><Relationship Id=\"r0\" Type=\"{relations}/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"
    );
    let files = [
        ("_rels/.rels", &*main),
        ("xl/workbook.xml", &book),
        ("xl/_rels/workbook.xml.rels", &refers),
        ("xl/worksheets/sheet1.xml", &sheet),
    ];
    world.write("rows.xlsx", zip(&files));
    world.write("folder/rows.xlsx", zip(&files));
    world.write("rows.csv", "label,text\nmetal,iron and tin and lead\nfruit,apples and pears and figs\nmetal,\"zinc, and more iron\"\nfruit,\"plums, and more pears\"\n");
    for table in ["rows.csv", "rows.xlsx"] {
        world.succeed(&["train", "-m", &format!("{table}.tamis"), table]);
    }
    assert!(
        fs::read(world.path("rows.csv.tamis")).unwrap() == fs::read(world.path("rows.xlsx.tamis")).unwrap()
    );
    assert_eq!(world.succeed(&["label", "-m", "rows.csv.tamis", "rows.xlsx"]).lines().count(), 5);
    assert_eq!(world.succeed(&["label", "-m", "rows.csv.tamis", "folder"]).lines().count(), 2);
    let said = world.fail(&["train", "-m", "new.tamis", "--sheet", "others", "rows.xlsx"]);
    assert!(said.contains("--sheet: expected one of rows, got others"), "{said}");
}
