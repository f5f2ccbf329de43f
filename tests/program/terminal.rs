//! The program at a terminal: bars and curves, progress, and what pipes get.

use std::process::Command;

use crate::support::{TAMIS, World, root, skip, stdout};

/// The output of a command at a terminal of so many columns; `None`, said so, without util-linux's `script`.
fn at_terminal(world: &World, columns: u16, set: &str, arguments: &str) -> Option<String> {
    if Command::new("script").arg("--version").output().is_err() {
        skip("script is not installed");
        return None;
    }
    let line = format!("stty cols {columns} rows 40; {set} exec {TAMIS} {arguments}");
    let command = world.command(&[]);
    let environment = command.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned)));
    let mut terminal = Command::new("script");
    for (name, value) in environment.collect::<Vec<_>>() {
        match value {
            Some(value) => terminal.env(name, value),
            None => terminal.env_remove(name),
        };
    }
    terminal.env("LC_ALL", "C.UTF-8").env("TERM", "xterm").env_remove("NO_COLOR").env("SHELL", "/bin/sh");
    terminal
        .current_dir(world.path(""))
        .args(["-qec", &line, "/dev/null"])
        .stdin(std::process::Stdio::null());
    let output = terminal.output().unwrap();
    assert!(output.status.success(), "{arguments}: {}", stdout(&output));
    Some(stdout(&output).replace("\r\n", "\n"))
}

const BLOCKS: [char; 9] = ['█', '▏', '▐', '▁', '│', '└', '▌', '▍', '▃'];

/// The lines without the blocks drawn on them, as far as they have words.
fn words(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| {
        let kept = line.chars().map(|c| if ('\u{2500}'..='\u{259f}').contains(&c) { ' ' } else { c });
        kept.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
    });
    lines.filter(|line| !line.is_empty()).collect()
}

#[test]
fn pictures_are_drawn_at_a_terminal_and_nowhere_else() {
    let world = World::with_mail_model();
    let mail = root().join("corpora/mail");
    let message = std::fs::read_dir(mail.join("spam")).unwrap().next().unwrap().unwrap().path();
    let explain = format!("explain {}", message.display());
    let evaluate = format!("evaluate ham={0}/ham spam={0}/spam", mail.display());
    for command in ["inspect --terms 5", &explain, &evaluate] {
        let arguments: Vec<_> = command.split(' ').collect();
        let piped = world.succeed(&arguments);
        assert!(!piped.contains(BLOCKS), "{piped}");
        let quiet = format!("{command} -q");
        let Some(drawn) = at_terminal(&world, 100, "", &quiet) else { return };
        assert!(drawn.contains(BLOCKS), "{command}: {drawn}");
        assert!(drawn.lines().all(|line| line.chars().count() <= 100 || piped.contains(line)), "{drawn}");
        assert!(!drawn.contains('\u{1b}'), "{drawn}");
        // every line of the pipe is there, with its words
        let all = words(&drawn);
        for line in words(&piped) {
            assert!(all.iter().any(|drawn| drawn.ends_with(&line)), "{line:?} in {drawn}");
        }
        for (columns, set) in [(100, "NO_COLOR=1"), (100, "TERM=dumb"), (100, "LC_ALL=C"), (50, "")] {
            let plain = at_terminal(&world, columns, set, &quiet).unwrap();
            assert_eq!(plain, piped, "{columns} {set}");
        }
        let narrow = at_terminal(&world, 64, "", &quiet).unwrap();
        assert!(narrow.lines().all(|line| line.chars().count() <= 64 || !line.contains(BLOCKS)), "{narrow}");
    }
}

#[test]
fn a_curve_and_its_axis_have_equal_columns() {
    let world = World::with_mail_model();
    let mail = root().join("corpora/mail");
    let evaluate = format!("evaluate ham={0}/ham spam={0}/spam", mail.display());
    let Some(drawn) = at_terminal(&world, 80, "", &evaluate) else { return };
    let at = drawn.find("spam found, by the share of ham that may be lost").expect(&drawn);
    let lines: Vec<_> = drawn[at..].lines().skip(1).take(10).collect();
    assert_eq!(lines[0].chars().count(), lines[8].chars().count(), "{drawn}");
    assert!(lines[0].starts_with(" 100 % │") && lines[8].starts_with("   0 % └┴─"), "{drawn}");
    // a tick stands above the first character of its mark
    let place = |text: &str, of: &str| text[..text.find(of).unwrap()].chars().count();
    for (n, mark) in ["0.01 %", "0.1 %", "1 %", "10 %", "100 %"].into_iter().enumerate() {
        let tick = lines[8].chars().enumerate().filter(|(_, c)| *c == '┴').nth(n).unwrap().0;
        let marks = lines[9].replace("0.01", "A.BC").replace("0.1", "D.E");
        let mark = mark.replace("0.01", "A.BC").replace("0.1", "D.E");
        let at = if n == 2 { place(&marks, " 1 %") + 1 } else { place(&marks, &mark) };
        assert_eq!(at, tick, "{mark} in {drawn}");
    }
}

#[test]
fn training_shows_documents_rate_and_time_left() {
    let world = World::new();
    let rows: String = (0..30_000)
        .map(|i| format!("word{} and more,{}\n", i % 998, if i % 2 == 0 { "a" } else { "b" }))
        .collect();
    world.write("rows.csv", format!("text,label\n{rows}"));
    let Some(shown) = at_terminal(&world, 100, "", "train -m m.tamis rows.csv") else { return };
    let bars: Vec<_> = shown.split('\r').filter(|part| part.contains(" a second, ")).collect();
    assert!(bars.iter().any(|bar| bar.contains(" documents, ") && bar.contains(" left")), "{shown:?}");
    assert!(shown.contains("learned 30,000 documents"), "{shown:?}");
    let mail = root().join("corpora/mail").display().to_string();
    let shown =
        at_terminal(&world, 100, "", &format!("train -m m.tamis ham={mail}/ham spam={mail}/spam")).unwrap();
    assert!(shown.contains(" of 167 documents, "), "{shown:?}");
    let quiet = at_terminal(&world, 100, "", "train --quiet -m m.tamis rows.csv").unwrap();
    assert_eq!(quiet, "");
}

#[test]
fn quiet_says_errors_only_and_verbose_says_more() {
    let world = World::new();
    let mail = root().join("corpora/mail").display().to_string();
    let sources = [format!("ham={mail}/ham"), format!("spam={mail}/spam")];
    let train = |volume: &[&str]| {
        let all = [&["train", "-m", "m.tamis", "--replace", &sources[0], &sources[1]][..], volume].concat();
        let output = world.run(&all);
        assert!(output.status.success());
        (stdout(&output), crate::support::stderr(&output))
    };
    assert_eq!(train(&["-q"]), (String::new(), String::new()));
    let (usual, said) = train(&[]);
    assert!(usual.starts_with("learned ") && said.contains(": mail, ") && !said.contains(" took "), "{said}");
    let (verbose, said) = train(&["--verbose"]);
    assert_eq!(verbose, usual);
    assert!(
        said.contains("read ") && said.contains(" a second\n") && said.contains("fitting took "),
        "{said}"
    );
    // results that were asked for come in any case, and so do errors
    let message =
        std::fs::read_dir(root().join("corpora/mail/spam")).unwrap().next().unwrap().unwrap().path();
    let message = message.display().to_string();
    for command in [&["score", &message][..], &["explain", &message], &["inspect"], &["label", &message]] {
        let with = |more: &[&str]| world.run(&[command, &["-m", "m.tamis"], more].concat()).stdout;
        assert_eq!(with(&["-q"]), with(&[]), "{command:?}");
    }
    assert!(world.fail(&["-q", "score", "-m", "none.tamis", &message]).contains("there is no model yet"));
    assert_eq!(world.succeed(&["learn", "-q", "-m", "m.tamis", "spam", &message]), "");
    assert!(world.fail(&["score", "-q", "-v", "-m", "m.tamis"]).contains("cannot be used with"));
    // every file that is passed over is named
    for i in 0..8 {
        world.write(&format!("box/{i}.pdf"), "%PDF-1.4 and so on");
    }
    std::fs::copy(&message, world.path("box/1.eml")).unwrap();
    let skipped = |volume: &[&str]| {
        let output = world.run(&[&["label", "-m", "m.tamis", "box"][..], volume].concat());
        crate::support::stderr(&output).matches("skipped: a PDF").count()
    };
    assert_eq!((skipped(&[]), skipped(&["-v"])), (5, 8));
}

#[test]
fn days_of_a_log_are_drawn() {
    let world = World::new();
    let line =
        |day: &str| format!("tamis[7]: time={day}T10:00:00Z id=- verdict=ham log-odds=-3.00 model=/m ms=3\n");
    world.write("log", line("2026-03-01").repeat(30) + &line("2026-03-02").repeat(15));
    let Some(drawn) = at_terminal(&world, 100, "", "stats log") else { return };
    let bars: Vec<_> = drawn.lines().skip(1).map(|line| line.matches('█').count()).collect();
    assert_eq!(bars, [40, 20], "{drawn}");
    assert!(!world.succeed(&["stats", "log"]).contains('█'));
}
