//! The C library as its users meet it: installed, linked from C and Go, its header and symbols.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::{World, root, skip, skip_without, stderr, stdout};

/// The folder of the libraries that cargo built for these tests.
fn built() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// A world with a model of mail, in which the C library is installed.
fn installed() -> World {
    let world = World::with_mail_model();
    let mut install = Command::new(root().join("crates/capi/install"));
    install.arg(built()).arg("/").arg(world.path("usr"));
    succeed(&mut install);
    world
}

#[track_caller]
fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    check(command, &output);
    stdout(&output)
}

#[track_caller]
fn check(command: &Command, output: &Output) {
    assert!(output.status.success(), "{command:?}: {}{}", stdout(output), stderr(output));
}

/// Builds a C program with what pkg-config says, linked with this library.
fn compile(world: &World, source: &Path, library: &str) -> PathBuf {
    let mut flags = Command::new("pkg-config");
    flags.args(["--cflags", "--libs", "--static", "tamis"]);
    flags.env("PKG_CONFIG_PATH", world.path("usr/lib/pkgconfig"));
    let flags = succeed(&mut flags).replace("-ltamis", &format!("-l:{library}"));
    let out = world.path(&format!("with-{library}"));
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&out).arg(source);
    succeed(gcc.args(flags.split_whitespace()));
    out
}

/// The example, asked about a message.
fn example(world: &World, program: &[&str], arguments: &[&str]) -> Command {
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).arg(world.path(".local/share/tamis/model.tamis"));
    command.arg(root().join("corpora/mail/inbox/01.eml")).args(arguments);
    command.env("LD_LIBRARY_PATH", world.path("usr/lib"));
    command
}

const SCORED: &str = "spam: P(spam) = 0.9996, log-odds +7.92\n";
const EXPLAINED: &str = "+0.378 free\n+0.334 000\n+0.317 ^AA\n";
const LEARNED: &str = "learned as ham\nham: P(spam) = 0.1980, log-odds -1.40\n";

#[test]
fn the_example_in_c_scores_explains_and_learns() {
    if skip_without(&["gcc", "pkg-config", "objdump"]) {
        return;
    }
    let world = installed();
    let source = root().join("crates/capi/examples/score.c");
    let [shared, whole] = ["libtamis.so", "libtamis.a"].map(|library| compile(&world, &source, library));
    for program in [&shared, &whole] {
        let program = program.to_str().unwrap();
        assert_eq!(succeed(&mut example(&world, &[program], &[])), format!("{SCORED}{EXPLAINED}"));
        assert_eq!(succeed(&mut example(&world, &[program], &["ham"])), format!("{SCORED}{LEARNED}{SCORED}"));
        let output = example(&world, &[program], &["eggs"]).output().unwrap();
        assert_eq!(output.status.code(), Some(3));
        assert!(stderr(&output).contains("ham, spam"), "{}", stderr(&output));
    }
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: 8 s"]
    fn the_example_in_c_leaks_nothing_and_reads_nothing_that_is_not_its_own() {
        if skip_without(&["gcc", "pkg-config", "objdump", "valgrind"]) {
            return;
        }
        let world = installed();
        let shared = compile(&world, &root().join("crates/capi/examples/score.c"), "libtamis.so");
        let valgrind =
            ["valgrind", "--quiet", "--error-exitcode=9", "--leak-check=full", shared.to_str().unwrap()];
        for arguments in [&[][..], &["ham"], &["eggs"]] {
            let output = example(&world, &valgrind, arguments).output().unwrap();
            assert_ne!(output.status.code(), Some(9), "{}", stderr(&output));
            assert!(!stderr(&output).contains("=="), "{}", stderr(&output));
        }
    }
}

#[test]
fn the_example_in_go_scores_from_many_goroutines() {
    if skip_without(&["go", "gcc", "pkg-config", "objdump"]) {
        return;
    }
    let world = installed();
    let folder = root().join("crates/capi/examples/go");
    let program = world.path("score");
    let mut go = Command::new("go");
    go.args(["build", "-o"]).arg(&program).current_dir(folder);
    go.env("PKG_CONFIG_PATH", world.path("usr/lib/pkgconfig")).env("GOCACHE", world.path("go"));
    go.env("HOME", world.path("")).env("GOFLAGS", "-mod=mod").env("GOPROXY", "off").env("CGO_ENABLED", "1");
    succeed(&mut go);
    let spam = root().join("corpora/mail/inbox/01.eml").display().to_string();
    let ham = root().join("corpora/mail/inbox/02.eml").display().to_string();
    let mut run = example(&world, &[program.to_str().unwrap()], &[&ham, &spam, "nowhere"]);
    let out = succeed(&mut run).replace(&format!("{}/", root().display()), "");
    let [first, second] = ["spam +7.92 corpora/mail/inbox/01.eml\n", "ham -8.74 corpora/mail/inbox/02.eml\n"];
    assert_eq!(out, format!("{first}{second}{first}open nowhere: no such file or directory\n"));
}

/// The names of functions that the header declares.
fn declared() -> Vec<String> {
    let header = fs::read_to_string(root().join("crates/capi/include/tamis.h")).unwrap();
    let code: String = header.split("/*").map(|part| part.rsplit("*/").next().unwrap()).collect();
    let mut names: Vec<_> = code
        .split('(')
        .filter_map(|before| before.rsplit([' ', '*', '\n']).next())
        .filter(|name| name.starts_with("tamis_"))
        .map(str::to_owned)
        .collect();
    names.sort();
    names
}

#[test]
fn the_library_has_the_functions_of_the_header_and_no_others() {
    if skip_without(&["nm"]) {
        return;
    }
    let out = succeed(Command::new("nm").args(["-D", "--defined-only"]).arg(built().join("libtamis.so")));
    let mut names: Vec<_> = out.lines().map(|line| line.rsplit(' ').next().unwrap().to_owned()).collect();
    names.sort();
    assert_eq!(names, declared());
    assert_eq!(names.len(), 19);
}

#[test]
fn the_abi_is_what_it_was() {
    if skip_without(&["gcc"]) {
        return;
    }
    let capi = root().join("crates/capi");
    let abi = capi.join("tests/abi.c");
    let include = format!("-I{}", capi.join("include").display());
    succeed(Command::new("gcc").args(["-std=c11", "-Wall", "-Werror", "-fsyntax-only", &include]).arg(&abi));
    let pinned = fs::read_to_string(abi).unwrap();
    for name in declared() {
        assert!(pinned.contains(&format!(" = {name};")), "tests/abi.c does not pin {name}");
    }
    // of C++ too
    let header = capi.join("include/tamis.h");
    if !skip_without(&["g++"]) {
        succeed(Command::new("g++").args(["-Wall", "-Werror", "-fsyntax-only", "-xc++"]).arg(header));
    }
}

#[test]
fn the_header_is_what_cbindgen_writes() {
    let version = Command::new("cbindgen").arg("--version").output().map(|output| stdout(&output));
    // earlier ones cannot read this edition of Rust
    let Some("0.29") = version
        .as_deref()
        .ok()
        .and_then(|version| version.trim().split(' ').nth(1)?.rsplit_once('.'))
        .map(|v| v.0)
    else {
        skip(&format!("expected cbindgen 0.29, got {version:?}"));
        return;
    };
    let capi = root().join("crates/capi");
    let mut cbindgen = Command::new("cbindgen");
    cbindgen.current_dir(&capi).args(["--quiet", "--config", "cbindgen.toml"]);
    let header = capi.join("include/tamis.h");
    let written = succeed(&mut cbindgen);
    if std::env::var("API").is_ok_and(|how| how == "overwrite") {
        fs::write(header, written).unwrap();
    } else {
        assert_eq!(
            fs::read_to_string(header).unwrap(),
            written,
            "API=overwrite cargo test --test tests capi writes it anew"
        );
    }
}
