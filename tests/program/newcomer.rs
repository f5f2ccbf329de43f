//! A newcomer's first hour at the prompt, as `tests/cmd/newcomer.md` tells it (`TRYCMD=overwrite cargo test newcomer`
//! writes it anew).

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{TAMIS, World, root};

/// The mail, tables and texts that a newcomer has lying about, made of the project's corpora.
fn home() -> World {
    let world = World::new();
    let corpora = root().join("corpora");
    for (from, to) in [
        ("mail/ham", "mail/ham"),
        ("mail/spam", "mail/spam"),
        ("mail/inbox", "inbox"),
        ("topics/train/cooking", "two/cooking"),
        ("topics/train/cycling", "two/cycling"),
        ("topics/test/cooking", "unseen/cooking"),
        ("topics/test/cycling", "unseen/cycling"),
        ("topics/train/astronomy", "three/astronomy"),
        ("topics/train/gardening", "three/gardening"),
        ("topics/train/programming", "three/programming"),
    ] {
        for path in files(&corpora.join(from)) {
            world.write(&format!("{to}/{}", name(&path)), fs::read(&path).unwrap());
        }
    }
    for (label, folder) in [("ham", "Maildir"), ("spam", "Maildir/.Junk")] {
        fs::create_dir_all(world.path(&format!("{folder}/new"))).unwrap();
        let mut mbox = Vec::new();
        for (i, path) in files(&corpora.join("mail").join(label)).iter().take(40).enumerate() {
            let message = fs::read(path).unwrap();
            let kept = world.write(&format!("{folder}/cur/{i:03}.host:2,S"), &message);
            if i % 2 == 0 {
                // as Dovecot's plugin keeps mail that has grown old
                compress(&kept);
                fs::rename(kept.with_added_extension("gz"), &kept).unwrap();
            }
            mbox.extend(format!("From me@example.org Mon Mar  2 10:00:{i:02} 2026\n").bytes());
            mbox.extend(message);
            mbox.extend(b"\n\n");
        }
        world.write(&format!("old-{label}.mbox"), mbox);
    }
    compress(&world.path("old-spam.mbox"));
    let texts = [
        ("good", "a lovely film"),
        ("bad", "a dull film"),
        ("good", "a story to love"),
        ("bad", "a sad waste of time"),
    ];
    let rows = texts.map(|(label, text)| format!("{label},{text}\n")).concat();
    world.write("reviews.csv", format!("label,text\n{rows}"));
    let lines = texts.map(|(label, text)| format!("{{\"label\": \"{label}\", \"text\": \"{text}\"}}\n"));
    world.write("reviews.jsonl", lines.concat());
    world.write("new.csv", "id,text\n1,lovely to see\n2,\"dull, and a waste\"\n");
    fs::create_dir(world.path("empty")).unwrap();
    world
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Makes `PATH.gz` of a file.
fn compress(path: &Path) {
    // without the name and time that would tell one run from another
    let status = Command::new("gzip").arg("-n").arg(path).status().unwrap();
    assert!(status.success());
}

/// Runs a command as the shell does, and returns what the person at the prompt sees.
fn run(world: &World, command: &str) -> String {
    let program = Path::new(TAMIS).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("bash");
    shell.arg("-c").arg(format!("{{ {command}\n}} 2>&1")).current_dir(world.path("")).env("PATH", path);
    shell.env("HOME", world.path("")).env("COLUMNS", "80").env("RUST_BACKTRACE", "0");
    for name in ["XDG_DATA_HOME", "TAMIS_MODEL", "TAMIS_FALLBACK"] {
        shell.env_remove(name);
    }
    let output = shell.stdin(std::process::Stdio::null()).output().unwrap();
    let home = world.path("").display().to_string();
    let seen = String::from_utf8_lossy(&output.stdout).replace(home.trim_end_matches('/'), "/home/you");
    match output.status.code() {
        Some(0) => seen,
        code => format!("{seen}[exit status {}]\n", code.unwrap_or(-1)),
    }
}

#[test]
fn the_first_hour_reads_well_from_top_to_bottom() {
    let path = root().join("tests/cmd/newcomer.md");
    let told = fs::read_to_string(&path).unwrap();
    let (world, mut got, mut n_commands) = (home(), String::new(), 0);
    let mut inside = false;
    for line in told.lines() {
        if let Some(language) = line.strip_prefix("```") {
            inside = language == "console";
        }
        match line.strip_prefix("$ ").filter(|_| inside) {
            Some(command) => {
                n_commands += 1;
                let seen = run(&world, command);
                write!(got, "{line}\n{seen}").unwrap();
            }
            // what was seen the last time
            None if inside && !line.starts_with("```") => (),
            None => got.push_str(&format!("{line}\n")),
        }
    }
    if std::env::var("TRYCMD").is_ok_and(|what| what == "overwrite") {
        fs::write(&path, &got).unwrap();
    }
    let first = told.lines().zip(got.lines()).find(|(told, got)| told != got);
    assert!(told == got, "told and got differ first in {first:#?}");
    assert!(n_commands >= 30, "{n_commands} commands");
}
