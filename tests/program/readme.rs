//! The examples of README.md and of the guide (`docs/guide`): every `console` block, run in order by a shell, prints what
//! the page shows.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{TAMIS, World, root, stderr};

/// A command and the lines it prints; a line `...` stands for any lines.
struct Example {
    command: String,
    expected: Vec<String>,
}

fn examples(text: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if inside {
            match (line.strip_prefix("$ "), examples.last_mut()) {
                (Some(command), _) => {
                    examples.push(Example { command: command.to_owned(), expected: Vec::new() })
                }
                (None, Some(example)) if example.command.ends_with('\\') => {
                    example.command.push('\n');
                    example.command.push_str(line);
                }
                (None, Some(example)) => example.expected.push(line.to_owned()),
                (None, None) => panic!("output before a command: {line}"),
            }
        }
    }
    examples
}

fn matches(expected: &[String], got: &[&str]) -> bool {
    match expected.split_first() {
        None => got.is_empty(),
        Some((first, rest)) if first == "..." => (0..=got.len()).any(|skip| matches(rest, &got[skip..])),
        Some((first, rest)) => got.first().is_some_and(|line| line == first) && matches(rest, &got[1..]),
    }
}

/// Runs the examples of a page; there are at least so many.
fn run(page: &str, at_least: usize) {
    let world = World::new();
    // The reader stands in the repository; what the examples write goes to the world.
    for entry in fs::read_dir(root()).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() != "target" && entry.file_name() != ".git" {
            std::os::unix::fs::symlink(entry.path(), world.path(entry.file_name().to_str().unwrap()))
                .unwrap();
        }
    }
    let program = Path::new(TAMIS).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let examples = examples(&fs::read_to_string(root().join(page)).unwrap());
    assert!(examples.len() >= at_least, "{page} shows {} examples", examples.len());
    for example in examples {
        let mut shell = Command::new("bash");
        shell.arg("-c").arg(&example.command).current_dir(world.path("")).env("PATH", &path);
        shell.env("HOME", world.path(""));
        for name in ["XDG_DATA_HOME", "TAMIS_MODEL", "TAMIS_FALLBACK"] {
            shell.env_remove(name);
        }
        let output = shell.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        let lines: Vec<_> = printed.lines().collect();
        assert!(
            matches(&example.expected, &lines),
            "{page}: $ {}\nexpected:\n{}\ngot:\n{printed}\nand on standard error:\n{}",
            example.command,
            example.expected.join("\n"),
            stderr(&output)
        );
    }
}

#[test]
fn the_readme_shows_what_is_printed() {
    run("README.md", 6);
}

#[test]
fn the_guide_for_mail_administrators_shows_what_is_printed() {
    run("docs/guide/mail-administrator.md", 15);
}

#[test]
fn the_guide_for_analysts_shows_what_is_printed() {
    run("docs/guide/analyst.md", 15);
}

/// Registries show these pages away from the repository, where a relative link leads nowhere.
#[test]
fn pages_of_crates_have_no_relative_links() {
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let Ok(page) = fs::read_to_string(entry.unwrap().path().join("README.md")) else { continue };
        let links = page.split("](").skip(1).map(|rest| rest.split(')').next().unwrap_or_default());
        links.for_each(|link| assert!(link.starts_with("https://"), "{link}"));
    }
}
