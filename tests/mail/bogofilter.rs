//! `tamis bogofilter` as mail programs call it, each in its own words; what it makes of bogofilter's word list; and that no
//! mail is lost.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use crate::support::{TAMIS, World, feed, root, skip, stderr, stdout};

const HAM: &str = "From: anna@example.org\nSubject: lunch\n\nSoup and bread at noon in the garden?\n";
const SPAM: &str = "From: win@casino.example\nSubject: pills\n\nCheap casino pills, buy now, casino!\n";

/// A call of bogofilter in a world of its own.
fn call(world: &World, arguments: &[&str]) -> Command {
    let mut command = world.command(&["bogofilter"]);
    command.args(arguments).env_remove("BOGOFILTER_DIR");
    command
}

fn run(world: &World, arguments: &[&str], input: &str) -> Output {
    feed(call(world, arguments), input.as_bytes())
}

#[track_caller]
fn check(world: &World, arguments: &[&str], input: &str, status: i32) -> String {
    let output = run(world, arguments, input);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

/// A world in which mail of both kinds was registered.
fn taught() -> World {
    let world = World::new();
    let mail = root().join("corpora/mail");
    for (option, label) in [("-n", "ham"), ("-s", "spam")] {
        let names = fs::read_dir(mail.join(label)).unwrap().map(|entry| entry.unwrap().path());
        let names: String = names.map(|path| format!("{}\n", path.display())).collect();
        check(&world, &[option, "-b"], &names, 0);
    }
    check(&world, &["-s"], SPAM, 0);
    check(&world, &["-n"], HAM, 0);
    world
}

#[test]
fn evolution_registers_a_welcome_mail_and_tries_again() {
    let world = World::new();
    let score = ["--unicode=yes"];
    check(&world, &score, HAM, 3);
    check(&world, &["--register-ham", "--unicode=yes"], HAM, 0);
    check(&world, &score, SPAM, 2);
    check(&world, &["--register-spam", "--unicode=yes"], SPAM, 0);
    assert!(world.path(".bogofilter/model.tamis").exists());
}

#[test]
fn claws_asks_line_by_line_and_waits_for_each_answer() {
    let world = taught();
    let [ham, spam] = [world.write("mail/1 ham", HAM), world.write("mail/2", SPAM)];
    let mut program = call(&world, &["-T", "-b"]);
    let mut program = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut names, mut answers) =
        (program.stdin.take().unwrap(), BufReader::new(program.stdout.take().unwrap()));
    for (path, name) in [(&ham, "1 ham"), (&spam, "2"), (&ham, "1 ham")] {
        writeln!(names, "{}", path.display()).unwrap();
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        let (told, verdict) = answer.trim_end().rsplit_once('/').unwrap().1.split_at(name.len());
        assert_eq!(told, name);
        let (class, score) = verdict.trim_start().split_once(' ').unwrap();
        assert!(["S", "H", "U"].contains(&class), "{answer}");
        assert!((0.0..=1.0).contains(&score.parse::<f64>().unwrap()), "{answer}");
    }
    drop(names);
    assert!(matches!(program.wait().unwrap().code(), Some(0..=2)));
    let [ham, spam] = [ham, spam].map(|path| path.display().to_string());
    for options in ["-s", "-n", "-Sn"] {
        check(&world, &[options, "-I", &spam], "", 0);
        check(&world, &[options, "-b"], &format!("{ham}\n{spam}\n"), 0);
    }
}

#[test]
fn sylpheed_kmail_and_mutt_correct_what_was_learned() {
    let world = taught();
    let mail = "Subject: offer\n\nOnly today: unheard-of gadgets\n";
    let file = world.write("mail", mail).display().to_string();
    let score = |world: &World| -> f64 { run_score(world, mail) };
    for (as_spam, as_ham) in [
        (&["-N", "-s", "-I", &file][..], &["-n", "-S", "-I", &file][..]),
        (&["-Ns", "-I", &file], &["-Sn", "-I", &file]),
        (&["-s", "-I", &file], &["-n", "-I", &file]),
    ] {
        check(&world, as_spam, "", 0);
        let spam = score(&world);
        check(&world, as_ham, "", 0);
        let ham = score(&world);
        assert!(spam > ham, "{as_spam:?}: {spam} and {ham}");
        check(&world, &["-N", "-I", &file], "", 0);
        check(&world, &["-N", "-I", &file], "", 0);
        let neither = score(&world);
        assert!(ham < neither, "{ham} {neither} {spam}");
    }
    assert!(matches!(run(&world, &["-I", &file], "").status.code(), Some(0..=2)));
}

fn run_score(world: &World, mail: &str) -> f64 {
    stdout(&run(world, &["-TT"], mail)).trim().parse().unwrap()
}

#[test]
fn procmail_and_fdm_get_the_message_with_a_line_more_and_it_is_learned() {
    let world = taught();
    let before = run_score(&world, SPAM);
    let new = "From: a@b.example\nX-Bogosity: Ham\n forged\nSubject: pills\n\nCheap casino pills of herbs\n";
    let out = check(&world, &["-u", "-e", "-p", "-o0.6,0.4"], new, 0);
    let kept = new.replace("X-Bogosity: Ham\n forged\n", "");
    let lines: Vec<_> = out.lines().filter(|line| line.starts_with("X-Bogosity: ")).collect();
    assert_eq!(lines.len(), 1, "{out}");
    assert!(lines[0].starts_with("X-Bogosity: Spam, tests=bogofilter, spamicity="), "{out}");
    assert_eq!(out.replace(&format!("{}\n", lines[0]), ""), kept);
    assert!(run_score(&world, "Subject: herbs\n\nherbs\n") > 0.5, "{before}");
    // learned twice is learned once
    let score = run_score(&world, new);
    check(&world, &["-s"], new, 0);
    assert_eq!(run_score(&world, new), score);
}

#[test]
fn a_new_folder_is_filled_by_what_is_delivered() {
    let world = World::new();
    let first = run(&world, &["-u", "-e", "-p"], HAM);
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    assert!(stdout(&first).contains("X-Bogosity: Unsure") && stdout(&first).contains("spamicity=0.520000"));
    assert!(stderr(&first).contains("learns its own verdicts"), "{}", stderr(&first));
    assert!(stderr(&run(&world, &["-u", "-e", "-p"], HAM)).is_empty(), "it is said once");
}

#[test]
fn the_program_is_bogofilter_under_its_name() {
    let world = World::new();
    symlink(TAMIS, world.path("bogofilter")).unwrap();
    let mut command = Command::new(world.path("bogofilter"));
    command.args(["-d", "folder", "-V"]).current_dir(world.path(""));
    let said = stdout(&feed(command, b""));
    assert!(said.starts_with("bogofilter version 1.2.5"), "{said}");
    assert!(check(&world, &["-h"], "", 0).contains("-p  write the message"));
    assert!(world.succeed(&["help", "bogofilter"]).contains("model.tamis"));
}

#[test]
fn whatever_fails_the_message_comes_out_and_the_status_is_3() {
    let world = taught();
    let large = format!("Subject: large\n\n{}", "soup and bread\n".repeat(80_000));
    world.write("damaged/model.tamis", "no model at all");
    world.write("file", "");
    world.write("cf", "terse = perhaps\n");
    for arguments in [
        &["-p", "-d", "damaged"][..],
        &["-p", "-e", "-d", "nothing-there"],
        &["-pe", "-d", "file"],
        &["-p", "-c", "no-such-file"],
        &["-p", "-c", "cf"],
        &["-p", "--header-format=%z"],
        &["-p", "surplus"],
        &["-p", "-s", "-n"],
        &["-p", "-O", "no/such/folder"],
        &["-d", "damaged", "-p", "-M"],
        &["-u", "-e", "-p", "-d", "damaged"],
    ] {
        for mail in [HAM, &large, "\0\r\n\n\rno header", ""] {
            let output = run(&world, arguments, mail);
            assert_eq!(output.status.code(), Some(3), "{arguments:?}: {}", stderr(&output));
            assert!(!output.stderr.is_empty());
            if arguments.contains(&"no/such/folder") {
                assert!(stdout(&output).contains("X-Bogosity"), "judged, but in the wrong place");
            } else {
                assert!(output.stdout == mail.as_bytes(), "{arguments:?}");
            }
        }
    }
    let file = world.write("mail", HAM);
    let output = run(&world, &["-p", "-I", file.to_str().unwrap(), "-d", "damaged"], "");
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(3), HAM));
}

#[test]
fn a_large_message_is_passed_on_whole() {
    let world = taught();
    let large = format!("Subject: large\n\n{}", "soup and bread\n".repeat(80_000));
    let out = check(&world, &["-p", "-e"], &large, 0);
    let line = out.lines().find(|line| line.starts_with("X-Bogosity: ")).unwrap();
    assert!(out.replacen(&format!("{line}\n"), "", 1) == large);
}

#[test]
fn a_message_that_nobody_takes_is_an_error() {
    let world = taught();
    let large = format!("Subject: large\n\n{}", "soup and bread\n".repeat(80_000));
    let mut command = call(&world, &["-p", "-e"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut program = command.spawn().unwrap();
    drop(program.stdout.take());
    // it may stop reading when it cannot write
    let _ = program.stdin.take().unwrap().write_all(large.as_bytes());
    assert_eq!(program.wait().unwrap().code(), Some(3));
}

/// The readers of word lists that are installed.
fn word_list_programs() -> Vec<(&'static str, &'static str)> {
    let is_there = |program: &str| Command::new(program).arg("-V").output().is_ok();
    let all = [("bogofilter-bdb", "bogoutil-bdb"), ("bogofilter-sqlite", "bogoutil-sqlite")];
    all.into_iter().filter(|(filter, util)| is_there(filter) && is_there(util)).collect()
}

#[test]
fn a_word_list_is_imported_once_said_aloud_and_left_alone() {
    let programs = word_list_programs();
    if programs.is_empty() {
        skip("no bogofilter is installed");
    }
    for (bogofilter, _) in programs {
        let world = World::new();
        let folder = world.path("folder").display().to_string();
        for (option, mail) in [("-n", HAM), ("-s", SPAM)] {
            let mut command = Command::new(bogofilter);
            command.args(["-C", "-d", &folder, option]);
            assert!(feed(command, mail.as_bytes()).status.success());
        }
        let list = || fs::read(world.path("folder/wordlist.db")).unwrap();
        let before = list();
        let first = run(&world, &["-d", &folder, "-TT"], SPAM);
        assert!(stderr(&first).contains("word list"), "{}", stderr(&first));
        let second = run(&world, &["-d", &folder, "-TT"], SPAM);
        assert_eq!((stderr(&second), stdout(&second)), (String::new(), stdout(&first)), "{bogofilter}");
        assert!(stdout(&first).trim().parse::<f64>().unwrap() > run_in(&world, &folder, HAM), "{bogofilter}");
        check(&world, &["-d", &folder, "-s"], "Subject: new\n\nNew words\n", 0);
        assert!(list() == before, "{bogofilter}: its word list changed");
    }
}

fn run_in(world: &World, folder: &str, mail: &str) -> f64 {
    stdout(&run(world, &["-d", folder, "-TT"], mail)).trim().parse().unwrap()
}

#[test]
fn a_word_list_that_nothing_can_read_is_told_what_to_do_about() {
    let world = World::new();
    world.write("folder/wordlist.db", "no word list");
    // no program at all is found here
    let bin: PathBuf = world.path("bin");
    fs::create_dir(&bin).unwrap();
    for arguments in [&["-d", "folder", "-p"][..], &["-d", "folder", "-s"]] {
        let mut command = call(&world, arguments);
        command.env("PATH", &bin);
        let output = feed(command, HAM.as_bytes());
        assert_eq!(output.status.code(), Some(3));
        let said = stderr(&output);
        assert!(said.contains("bogoutil -d") && said.contains("--from bogofilter"), "{said}");
        assert_eq!(stdout(&output), if arguments.contains(&"-p") { HAM } else { "" });
    }
    assert!(!world.path("folder/model.tamis").exists());
}

#[test]
fn a_new_folder_is_its_owner_s_alone() {
    let world = World::new();
    check(&world, &["-d", "folder", "-n"], HAM, 0);
    for name in ["folder", "folder/model.tamis"] {
        let mode = fs::metadata(world.path(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name}: {mode:o}");
    }
}

#[test]
fn the_folder_is_that_of_options_before_configuration_before_environment() {
    let world = World::new();
    world.write("cf", "bogofilter_dir=configured\n");
    let learn = |arguments: &[&str]| {
        let mut command = call(&world, arguments);
        command.env("BOGOFILTER_DIR", "environment");
        assert!(feed(command, HAM.as_bytes()).status.success());
    };
    let made = |name: &str| world.path(name).join("model.tamis").exists();
    learn(&["-n"]);
    assert!(made("environment") && !made("configured"));
    learn(&["-n", "-c", "cf"]);
    assert!(made("configured") && !made("option"));
    learn(&["-n", "-c", "cf", "-d", "option"]);
    assert!(made("option"));
}
