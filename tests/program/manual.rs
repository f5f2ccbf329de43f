//! The manual pages that `tamis generate man` writes: one a command, one for the model file, without a complaint of the
//! programs that show them.

use std::fs;
use std::process::{Command, Stdio};

use crate::support::{World, skip_without, stderr, stdout};

fn pages() -> (World, Vec<String>) {
    let world = World::new();
    world.succeed(&["generate", "man", "man"]);
    let names = fs::read_dir(world.path("man")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    (world, names)
}

/// The names of the commands that `tamis --help` lists.
fn commands(world: &World) -> Vec<String> {
    let help = world.succeed(&["--help"]);
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn every_command_has_a_page_and_so_has_the_model_file() {
    let (world, names) = pages();
    let commands = commands(&world);
    let mut expected: Vec<_> = commands.iter().map(|name| format!("tamis-{name}.1")).collect();
    let others = ["generate-recipe.1", "generate-man.1", "generate-completions.1"];
    expected.extend(others.map(|name| format!("tamis-{name}")));
    expected.extend(["tamis.1".to_owned(), "tamis.5".to_owned()]);
    expected.sort();
    assert_eq!(names, expected);
    assert!(names.len() > 15);
    // tamis-mailbox, which need not be there, has a help of its own
    for name in commands.iter().filter(|name| *name != "mailbox") {
        let page = fs::read_to_string(world.path(&format!("man/tamis-{name}.1"))).unwrap().replace('\\', "");
        for option in world.succeed(&[name, "--help"]).lines().filter_map(|line| line.trim().split_once("--"))
        {
            let long = option.1.split([' ', '[', '=']).next().unwrap();
            if option.0.is_empty() || option.0.len() == "-m, ".len() {
                assert!(page.contains(&format!("--{long}")), "tamis-{name}.1 lacks --{long}");
            }
        }
    }
}

#[test]
fn the_page_of_the_model_file_has_every_section_of_docs_format() {
    let (world, _) = pages();
    let page = fs::read_to_string(world.path("man/tamis.5")).unwrap();
    let source = fs::read_to_string(crate::support::root().join("docs/format.md")).unwrap();
    let titles: Vec<_> = source.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert!(titles.len() > 8);
    for title in titles {
        assert!(page.contains(&title.to_uppercase()), "{title}");
    }
    for markdown in ["**", "](", "|---"] {
        assert!(!page.contains(markdown), "{markdown} is left");
    }
}

/// Runs a program over every page; it must not say a word.
fn check(program: &str, arguments: &[&str]) {
    if skip_without(&[program]) {
        return;
    }
    let (world, names) = pages();
    for name in names {
        let mut command = Command::new(program);
        command.args(arguments).arg(world.path(&format!("man/{name}"))).stdin(Stdio::null());
        let output = command.output().unwrap();
        let said = stderr(&output);
        let is_quiet = said.is_empty() && output.status.success();
        assert!(
            is_quiet && !stdout(&output).contains("WARNING"),
            "{program} {name}: {said}{}",
            stdout(&output)
        );
    }
}

#[test]
fn groff_shows_the_pages_without_a_warning() {
    check("groff", &["-ww", "-man", "-Tutf8", "-Kutf8", "-rLL=78n", "-z"]);
}

#[test]
fn mandoc_finds_no_fault_in_the_pages() {
    check("mandoc", &["-T", "lint", "-W", "warning"]);
}
