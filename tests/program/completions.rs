//! Completions, in the shells themselves: options, values, labels of the model and files are typed with Tab.

use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::support::{TAMIS, World, root, skip_without, stderr, stdout, wait_for};

/// A folder with two models, files and folders; the program in it notes what it was called with, unless a shell asks it.
fn world() -> World {
    let world = World::with_mail_model();
    let topics = root().join("corpora/topics/test");
    world.succeed(&["train", "-m", "t.model", topics.to_str().unwrap()]);
    fs::remove_file(world.path("t.model.lock")).unwrap();
    for name in ["message.eml", "two words.eml", "mail/ham/1.eml", "my mail/1.eml"] {
        world.write(name, "Subject: soup\n\nAt noon?\n");
    }
    let noting = format!("#!/bin/sh\n[ \"$1\" != complete ] || exec {TAMIS} \"$@\"\n");
    let path = world.write("bin/tamis", noting + "{ printf '<%s>' \"$@\"; echo; } >> ~/typed\n");
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    world.write("typed", "");
    world
}

/// What is typed, and what the program is then called with.
const TYPED: [(&str, &str); 8] = [
    ("tamis lea\tsp\tmess\t", "<learn><spam><message.eml>"),
    ("tamis learn -m t.m\tcoo\ttwo\t", "<learn><-m><t.model><cooking><two words.eml>"),
    ("tamis score --passt\tmess\t", "<score><--passthrough><message.eml>"),
    ("tamis score --model=t.m\t--spam-l\tast\t", "<score><--model=t.model><--spam-label><astronomy>"),
    ("tamis train ham=mess\t", "<train><ham=message.eml>"),
    ("tamis train -m t.model gard\tmess\t", "<train><-m><t.model><gardening=message.eml>"),
    ("tamis label --as=m\t--form\tts\t", "<label><--as=mail><--format><tsv>"),
    ("tamis label --sort-into my\t", "<label><--sort-into><my mail>"),
];

/// Runs an interactive shell in a terminal, types every line and reads what the program was called with.
fn type_in(world: &World, shell: &str) {
    let (out, typed) = (world.path("out"), world.path("typed"));
    let mut terminal = Command::new("script");
    terminal.args(["-qfc", shell, "/dev/null"]);
    let path = format!("{}:{}", world.path("bin").display(), std::env::var("PATH").unwrap());
    terminal.env("ZDOTDIR", world.path("")).env("PATH", path).env("TERM", "dumb");
    let mut terminal = world.at_home(terminal);
    terminal.stdin(Stdio::piped()).stdout(File::create(&out).unwrap()).stderr(Stdio::null());
    let mut child = terminal.spawn().unwrap();
    let mut keys = child.stdin.take().unwrap();
    let wait = |is_done: &dyn Fn() -> bool, what: &str| {
        let shown = || String::from_utf8_lossy(&fs::read(&out).unwrap()).into_owned();
        wait_for(is_done, || format!("{shell}: {what}\n{}", shown()));
    };
    let lines = || fs::read_to_string(&typed).unwrap().lines().map(str::to_owned).collect::<Vec<_>>();
    wait(&|| fs::read_to_string(&out).is_ok_and(|out| out.contains("ready> ")), "no prompt");
    for (n, (line, expected)) in TYPED.into_iter().enumerate() {
        // a shell may drop what is typed before it has drawn its prompt
        let prompts = || fs::read_to_string(&out).map_or(0, |out| out.matches("ready> ").count());
        wait(&|| prompts() > n, line);
        writeln!(keys, "{line}").unwrap();
        wait(&|| lines().len() > n, line);
        // bash keeps the slash behind a folder
        assert_eq!(lines()[n].replace("/>", ">"), expected, "{shell}: {line:?}");
    }
    writeln!(keys, "exit").unwrap();
    drop(keys);
    child.wait().unwrap();
}

fn script(name: &str) -> String {
    root().join("contrib/completions").join(name).display().to_string()
}

#[test]
fn bash_completes_options_values_labels_and_files() {
    if skip_without(&["bash", "script"]) {
        return;
    }
    let world = world();
    world.write("rc", format!("source {}\nPS1='ready> '\n", script("tamis.bash")));
    type_in(&world, "bash --noprofile --rcfile rc -i");
}

#[test]
fn zsh_completes_options_values_labels_and_files() {
    if skip_without(&["zsh", "script"]) {
        return;
    }
    let world = world();
    let folder = script("");
    let setup = "autoload -Uz compinit\ncompinit -u -D\nunset zle_bracketed_paste\nPS1='ready> '\n";
    world.write(".zshrc", format!("fpath=({folder} $fpath)\n{setup}"));
    type_in(&world, "zsh -d -i");
}

#[test]
fn fish_completes_options_values_labels_and_files() {
    if skip_without(&["fish"]) {
        return;
    }
    let world = world();
    for (typed, expected) in [
        ("tamis lea", "learn\tLearn documents one by one, for example to correct a mistake"),
        ("tamis learn sp", "spam\tlabel"),
        ("tamis learn spam mess", "message.eml"),
        ("tamis learn -m t.model coo", "cooking\tlabel"),
        ("tamis learn -m t.model cooking two", "two words.eml"),
        ("tamis score --model=t.m", "--model=t.model"),
        ("tamis score --model=t.model --spam-label ast", "astronomy\tlabel"),
        ("tamis train ham=mess", "ham=message.eml"),
        ("tamis label --as=m", "--as=mail"),
        ("tamis label --format ts", "tsv"),
        ("tamis learn --wait ", ""),
    ] {
        let mut fish = Command::new("fish");
        let ask = format!("source {}; complete -C \"$argv\"", script("tamis.fish"));
        fish.args(["--no-config", "-c", &ask, typed]);
        fish.env("PATH", format!("{}:{}", world.path("bin").display(), std::env::var("PATH").unwrap()));
        let output = world.at_home(fish).output().unwrap();
        assert_eq!(stdout(&output).trim_end(), expected, "{typed:?}: {}", stderr(&output));
    }
}

#[test]
fn the_program_answers_for_any_words() {
    let world = world();
    for words in [
        &[][..],
        &["--"],
        &["nothing", ""],
        &["learn", "--", "-"],
        &["learn", "--wait", ""],
        &["learn", "-m"],
        &["learn", "-mt.model", "c"],
        &["score", "--as=", "="],
        &["score", "--=x"],
        &["score", "-"],
        &["help", "help", ""],
        &["score", "-\u{e9}x", ""],
    ] {
        let output = world.run(&[&["complete", "--"], words].concat());
        assert!(output.status.success() && output.stderr.is_empty(), "{words:?}: {}", stderr(&output));
    }
    let answer = world.succeed(&["complete", "--", "learn", "-mt.model", "c"]);
    assert_eq!(answer, "cooking\tlabel\ncycling\tlabel\n");
    // hidden options are for those who know them
    assert!(!world.succeed(&["complete", "--", "learn", "--"]).contains("--log-limit"));
    // what is not a model has no labels to offer
    world.write("x.model", "not a model");
    assert_eq!(world.succeed(&["complete", "--", "learn", "-m", "x.model", "h"]), "ham\tlabel\n");
}

#[test]
fn generate_writes_what_the_shells_read() {
    let world = World::new();
    world.succeed(&["generate", "completions", "to"]);
    for name in ["tamis.bash", "_tamis", "tamis.fish"] {
        assert_eq!(fs::read(world.path("to").join(name)).unwrap(), fs::read(script(name)).unwrap());
    }
}
