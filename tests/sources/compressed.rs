//! Documents that gzip or zstd packed, and files that are no documents.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};

use crate::sources::trees::{message, world};
use crate::support::{World, stderr, stdout};

pub fn packed(content: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content.as_ref()).unwrap();
    encoder.finish().unwrap()
}

fn zstd(content: impl AsRef<[u8]>) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(content.as_ref(), ruzstd::encoding::CompressionLevel::Fastest)
}

/// Some bytes and then `n` times 128 KiB of one letter, which take four bytes each.
fn zstd_bomb(head: &str, n: usize) -> Vec<u8> {
    const RAW: u32 = 0;
    const RUN: u32 = 1;
    let header = |is_last: bool, kind: u32, size: usize| {
        ((size as u32) << 3 | kind << 1 | u32::from(is_last)).to_le_bytes().into_iter().take(3)
    };
    // magic number; no checksum and no length; a window of 128 KiB
    let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0, 7 << 3];
    frame.extend(header(false, RAW, head.len()));
    frame.extend(head.as_bytes());
    for i in 1..=n {
        frame.extend(header(i == n, RUN, 128 << 10));
        frame.push(b'x');
    }
    frame
}

/// The labels and scores of a command's rows, without paths.
fn verdicts(rows: &str) -> Vec<String> {
    rows.lines().skip(1).map(|row| row.rsplitn(4, ',').take(3).collect::<Vec<_>>().join(",")).collect()
}

#[test]
fn a_maildir_of_packed_messages_is_as_good_as_a_plain_one() {
    let world = world();
    for (i, body) in ["buy cheap pills", "soup at noon"].iter().enumerate() {
        let message = message(&format!("number {i}"), body);
        world.write(&format!("plain/cur/{i}.host,S=3:2,S"), &message);
        world.write(&format!("zipped/cur/{i}.host,S=3:2,SZ"), packed(&message));
    }
    for name in ["plain/new", "zipped/new"] {
        std::fs::create_dir_all(world.path(name)).unwrap();
    }
    let plain = world.succeed(&["label", "plain"]);
    assert_eq!(verdicts(&world.succeed(&["label", "zipped"])), verdicts(&plain));
    assert_eq!(world.succeed(&["learn", "spam", "plain"]), "spam: learned 2 documents\n");
    assert_eq!(world.succeed(&["learn", "spam", "zipped"]), "spam: learned 0 documents, 2 already known\n");
}

#[test]
fn packed_mboxes_and_tables_are_read_through() {
    let world = world();
    let separator = "From a@example.org Mon Mar  2 10:00:00 2026\n";
    let mbox = format!("{separator}{}\n{separator}{}\n", message("pills", "buy"), message("lunch", "soup"));
    // members one after the other, as logrotate and mail archives have them
    let (one, other) = mbox.split_at(mbox.len() / 2);
    world.write("all.mbox", &mbox);
    world.write("all.mbox.gz", [packed(one), packed(other)].concat());
    world.write("archive.gz", packed(&mbox));
    world.write("all.mbox.zst", [zstd(one), zstd(other)].concat());
    let plain = verdicts(&world.succeed(&["label", "all.mbox"]));
    assert_eq!(plain.len(), 2);
    for name in ["all.mbox.gz", "archive.gz", "all.mbox.zst"] {
        assert_eq!(verdicts(&world.succeed(&["label", name])), plain, "{name}");
        assert_eq!(world.succeed(&["score", name]).lines().count(), 2, "{name}");
    }
    for (name, table) in [
        ("t.csv", "text,label\n\"iron, tin\",metal\napples,fruit\n"),
        ("t.tsv", "label\ttext\nmetal\tiron, tin\nfruit\tapples\n"),
        (
            "t.jsonl",
            "{\"label\":\"metal\",\"text\":\"iron, tin\"}\n{\"label\":\"fruit\",\"text\":\"apples\"}\n",
        ),
    ] {
        world.write(name, table);
        world.write(&format!("{name}.gz"), packed(table));
        world.write(&format!("{name}.zst"), zstd(table));
        world.succeed(&["train", "-m", "plain.tamis", name]);
        let model = |name: &str| std::fs::read(world.path(name)).unwrap();
        for ending in ["gz", "zst"] {
            world.succeed(&["train", "-m", "zipped.tamis", &format!("{name}.{ending}")]);
            assert!(model("plain.tamis") == model("zipped.tamis"), "{name}.{ending}");
        }
    }
}

#[test]
fn no_more_is_unpacked_than_is_looked_at() {
    let world = world();
    // half a gigabyte in half a megabyte, more than a message may have, and than there is memory for
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(message("pills", "buy cheap pills").as_bytes()).unwrap();
    let zeros = vec![b'x'; 1 << 20];
    (0..512).for_each(|_| encoder.write_all(&zeros).unwrap());
    world.write("bombs/1.eml", encoder.finish().unwrap());
    world.write("bombs/2.eml", message("lunch", "soup"));
    world.write("bombs/3.eml", zstd_bomb(&message("pills", "buy cheap pills"), 3_200));
    let mut command = std::process::Command::new("sh");
    command
        .arg("-c")
        .arg("ulimit -v 400000; exec \"$0\" label --threads 1 --as mail bombs bombs/1.eml")
        .arg(crate::support::TAMIS);
    let output = world.at_home(command).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output).lines().count(), 5, "{}", stderr(&output));
    // nor more of a text than is used
    world.write("texts/a/1.txt", "apples");
    world.write("texts/b/1.txt", "iron");
    world.succeed(&["train", "-m", "texts.tamis", "texts"]);
    for bomb in ["bombs/1.eml", "bombs/3.eml"] {
        let mut command = std::process::Command::new("sh");
        let label = "ulimit -v 800000; exec \"$0\" label --threads 1 -m texts.tamis";
        command.arg("-c").arg(format!("{label} {bomb}")).arg(crate::support::TAMIS);
        let said = stderr(&world.at_home(command).output().unwrap());
        assert!(said.contains("1 document read in part"), "{said}");
    }
}

#[test]
fn packed_data_that_is_damaged_is_told() {
    let world = world();
    let whole = packed(message("pills", "buy cheap pills"));
    world.write("box/1.eml", &whole[..whole.len() / 2]);
    world.write("box/2.eml", message("lunch", "soup"));
    let whole = zstd(message("pills", "buy cheap pills"));
    world.write("box/3.eml", &whole[..whole.len() - 5]);
    let output = world.run(&["label", "--strict", "box"]);
    assert_eq!((output.status.code(), stdout(&output).lines().count()), (Some(3), 2));
    assert!(stderr(&output).contains("box/3.eml: expected complete zstd data"), "{}", stderr(&output));
    assert!(stderr(&output).contains("box/1.eml: expected complete gzip data"), "{}", stderr(&output));
}

#[test]
fn files_of_other_kinds_are_passed_over_and_five_are_named() {
    let world = world();
    for i in 0..8 {
        world.write(&format!("mail/ham/{i}.pdf"), "%PDF-1.4 and so on");
    }
    let output = world.run(&["train", "-m", "m", "mail"]);
    assert!(stdout(&output).starts_with("learned 6 documents"), "{}", stderr(&output));
    let said = stderr(&output);
    assert_eq!(said.matches("skipped: a PDF").count(), 5, "{said}");
    assert!(said.contains("tamis: skipped 8 files: a PDF\n"), "{said}");
}

#[test]
fn bytes_are_told_from_text_and_mail() {
    let world = World::new();
    let utf16: Vec<u8> = "apples and pears".encode_utf16().flat_map(u16::to_le_bytes).collect();
    world.write("texts/fruit/plain.txt", "apples and pears");
    world.write("texts/fruit/marked.txt", [b"\xff\xfe".as_slice(), &utf16].concat());
    world.write("texts/fruit/unmarked.txt", &utf16);
    world.write("texts/metal/1.txt", "iron");
    world.write("texts/metal/data", b"iron\0\0\0\x01\x02tin\0");
    world.write("texts/metal/program", b"\x7fELF\x02\x01");
    world.write("texts/metal/zipped", b"PK\x03\x04and so on");
    let output = world.run(&["train", "texts"]);
    assert!(stdout(&output).starts_with("learned 4 documents (3 fruit, 1 metal)"), "{}", stderr(&output));
    assert_eq!(stderr(&output).matches("skipped").count(), 3, "{}", stderr(&output));
    // hostile mail is mail
    let world = world_with_zeros();
    assert_eq!(world.succeed(&["label", "mail"]).lines().count(), 8);
}

fn world_with_zeros() -> World {
    let world = world();
    world.write("mail/spam/zeros.eml", message("pills\0\0", "buy\0 cheap pills\0"));
    world
}

#[test]
fn of_a_table_that_is_cut_off_the_rows_before_are_labelled() {
    let world = world();
    world.write("t.tsv", "label\ttext\nmetal\tiron, tin\nfruit\tapples\n");
    world.succeed(&["train", "-m", "t.tamis", "t.tsv"]);
    let words = |i: usize| format!("apples and pears number {} and {}", i * i % 9973, i * 31 % 9967);
    let (mut tsv, mut jsonl) = ("label\ttext\n".to_owned(), String::new());
    for i in 0..20_000 {
        tsv.push_str(&format!("fruit\t{}\n", words(i)));
        jsonl.push_str(&format!("{{\"text\": \"{}\"}}\n", words(i)));
    }
    for (name, table) in [("cut.tsv.gz", &tsv), ("cut.jsonl.gz", &jsonl)] {
        let whole = packed(table);
        world.write(name, &whole[..whole.len() / 2]);
        let run = world.run(&["label", "-m", "t.tamis", name]);
        let rows = stdout(&run).lines().count();
        assert!((5_000..15_000).contains(&rows), "{name}: {rows}");
        let errors = stderr(&run);
        let line = rows + usize::from(name == "cut.tsv.gz");
        let told = format!("{name}:{line}: expected complete gzip data, got damaged or truncated data");
        assert_eq!(errors.matches("expected").count(), 1, "{errors}");
        assert!(errors.contains(&told), "{rows} {errors}");
    }
}
