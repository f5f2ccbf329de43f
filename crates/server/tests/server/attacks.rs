//! What files, neighbours and clients may do to the server, and what it does then.

use std::fs;
use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::json;
use tamis_server::hash_password;
use tamis_testing::wait_for;
use tamis_train::{Filter, LearnOptions, Learner, Scratch};

use crate::http_client::{Answer, ask, exchange, read_answer, request};
use crate::milter::mta::{Mta, POSTFIX, message, packet};
use crate::support::{HAM, HTTP, Running, SPAM, train, train_as};

const MAIL: &str = "Content-Type: message/rfc822";
const USERS: &str = "[models]\nshared = \"FOLDER/model.tamis\"\nusers = \"FOLDER/%u.tamis\"\n";

/// The log-odds of [`SPAM`], by a model with the shared one behind it, if there is one.
fn log_odds(path: &std::path::Path, shared: Option<&std::path::Path>) -> f64 {
    let mut filter = Filter::open(path).unwrap();
    if let Some(shared) = shared {
        filter.set_fallback(Arc::new(Filter::open(shared).unwrap())).unwrap();
    }
    filter.score_mail(SPAM, &mut Scratch::default()).unwrap().log_odds
}

/// Writes each of two models over a file in turn, whole and in part, and expects every verdict to be one of theirs.
fn overwrite_under_load(running: &Running, line: &str, file: &str, models: [&str; 2]) {
    let (path, shared) = (running.path(file), running.path("model.tamis"));
    let behind = (path != shared).then_some(&*shared);
    let known = models.map(|name| log_odds(&running.path(name), behind));
    assert_ne!(known[0], known[1]);
    let models = models.map(|name| fs::read(running.path(name)).unwrap());
    fs::write(&path, &models[1]).unwrap();
    let verdict = || {
        let answer = ask(running, line, &[MAIL, "Password: q"], SPAM);
        (answer.status == 200).then(|| answer.json()["log_odds"].as_f64().unwrap())
    };
    wait_for(|| verdict() == Some(known[1]), || "the second model is followed".to_owned());
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let scoring = [0, 1].map(|_| {
            scope.spawn(|| {
                let mut n = 0;
                while !is_done.load(Relaxed) {
                    // torn files are errors
                    let Some(got) = verdict() else { continue };
                    assert!(known.contains(&got), "{got}, not one of {known:?}");
                    n += 1;
                }
                n
            })
        });
        for n in 0..300 {
            let model = &models[n % 2];
            fs::write(&path, &model[..[0, model.len() / 2, model.len()][n % 3]]).unwrap();
            fs::write(&path, model).unwrap();
            // so that some are answered between
            ask(running, "GET /ping", &[], b"");
        }
        is_done.store(true, Relaxed);
        scoring.into_iter().for_each(|thread| assert!(thread.join().unwrap() > 0));
    });
    wait_for(|| verdict() == Some(known[1]), || "the last model is followed".to_owned());
}

#[test]
fn a_model_that_is_overwritten_or_cut_off_is_an_error_of_one_answer() {
    let running = Running::start(&format!("{HTTP}password = \"{}\"\n{USERS}", hash_password("q").unwrap()));
    train(&running.path("one"));
    train_as(&running.path("two"), "ham", "spam");
    overwrite_under_load(&running, "POST /v1/score", "model.tamis", ["one", "two"]);
    train(&running.path("model.tamis"));
    for (user, label) in [("three", "spam"), ("four", "ham")] {
        let line = format!("POST /v1/learn?label={label}&user={user}");
        assert_eq!(ask(&running, &line, &[MAIL, "Password: q"], SPAM).status, 200);
        // without a log, of which the beginning is a model too
        Learner::open(running.path(&format!("{user}.tamis")), LearnOptions::default())
            .unwrap()
            .compact()
            .unwrap();
    }
    overwrite_under_load(&running, "POST /v1/score?user=joe", "joe.tamis", ["three.tamis", "four.tamis"]);
    // whoever learns maps the file
    let (path, backup) = (running.path("joe.tamis"), fs::read(running.path("three.tamis")).unwrap());
    let ask = |line: &str, mail: &[u8]| ask(&running, line, &[MAIL, "Password: q"], mail).status;
    thread::scope(|scope| {
        let learning = scope.spawn(|| {
            for n in 0..200 {
                ask("POST /v1/learn?label=spam&user=joe", format!("Subject: {n}\n\nfruit {n}\n").as_bytes());
            }
        });
        while !learning.is_finished() {
            fs::write(&path, b"").unwrap();
            fs::write(&path, &backup).unwrap();
        }
    });
    fs::write(&path, &backup).unwrap();
    wait_for(|| ask("POST /v1/score?user=joe", SPAM) == 200, || "it is restored".to_owned());
}

/// The most memory that the server has had, in bytes.
fn peak(running: &Running) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", running.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// Connects often and sends the same bytes. The connections stay open.
fn send_often(running: &Running, door: &str, n: usize, bytes: &[u8]) -> Vec<TcpStream> {
    let send = |_| {
        let mut stream = running.tcp(door);
        stream.set_write_timeout(Some(std::time::Duration::from_millis(100))).unwrap();
        // the server may refuse to take all of it
        let _ = stream.write_all(bytes);
        stream
    };
    (0..n).map(send).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_parsed_before_a_password_is_bounded_in_bytes() {
    const IN_FLIGHT: usize = 16 << 20;
    let doors = "[spamd]\nlisten = [\"tcp:127.0.0.1:0\"]\n[milter]\nlisten = [\"tcp:127.0.0.1:0\"]\n";
    let limits = "[limits]\nmessage_bytes = 4_194_304\nbytes_in_flight = 16_777_216\nconnections = 400\n";
    let settings = format!("{HTTP}password = \"{}\"\n{doors}{limits}", hash_password("q").unwrap());
    let objects = b"{\"\":0},".repeat(500_000);
    let bomb = |head: &[u8]| [b"{", head, b"[", &objects[..], b"0]}\n"].concat();
    let label = |body: &[u8]| request("POST /v1/label", &[], body);
    let score = |body: &[u8]| request("POST /v1/score", &["Content-Type: application/json"], body);
    let text = [b"\"", &b"x".repeat(4_000_000)[..], b"\"\n"].concat();
    let x = |n| b"x".repeat(n);
    let head = |first: &str, n: usize| [first.as_bytes(), b"\r\nX: ", &x(n)].concat();
    let offer = packet('O', &POSTFIX.map(u32::to_be_bytes).concat());
    let half_packet = [&offer[..], b"\x00\x0f\xff\xffL", &x(900_000)].concat();
    for (name, door, n, bytes) in [
        ("an id of many objects", "http", 4, label(&bomb(b"\"text\":\"a\",\"id\":"))),
        ("an unknown key with many objects", "http", 4, label(&bomb(b"\"text\":\"a\",\"x\":"))),
        ("JSON for a text", "http", 4, score(&bomb(b"\"text\":"))),
        ("a text for JSON", "http", 4, [score(&text), label(&text)].concat()),
        ("answers that nobody takes", "http", 300, label(&b"{}\n".repeat(300_000))),
        ("half a head of HTTP", "http", 400, head("GET /ping HTTP/1.1\r\nHost: localhost", 16_000)),
        ("half a head of spamd", "spamd", 400, head("CHECK SPAMC/1.5", 64_000)),
        ("half a packet of milter", "milter", 400, half_packet),
        ("guessed passwords", "http", 60, request("POST /v1/learn?label=spam", &["Password: guess"], b"")),
    ] {
        let running = Running::start(&settings);
        let before = peak(&running);
        let streams = send_often(&running, door, n, &bytes);
        for mut stream in streams {
            let _ = stream.shutdown(Shutdown::Write);
            if n < 10 {
                let _ = stream.read_to_end(&mut Vec::new());
            }
        }
        // it is there for others
        let is_spam = || ask(&running, "POST /checkv2", &[], SPAM).status == 200;
        wait_for(is_spam, || format!("a verdict after {name}"));
        let took = peak(&running) - before;
        assert!(took < 2 * IN_FLIGHT, "{name}: {} MiB", took >> 20);
    }
}

#[test]
fn guessers_are_counted_logged_and_slowed_and_hold_up_nobody_who_knows_the_password() {
    let hash = hash_password("right").unwrap();
    let running = Running::start(&format!("{HTTP}password = \"{hash}\"\n[log]\nto = \"FOLDER/log\"\n"));
    let status = |password: &str| {
        ask(&running, "POST /v1/learn?label=spam", &[MAIL, &format!("Password: {password}")], SPAM).status
    };
    assert_eq!(status("right"), 200);
    let guesses: Vec<_> = (0..20).map(|n| status(&format!("guess {n}"))).collect();
    assert!(guesses.contains(&401) && guesses[10..].contains(&429), "{guesses:?}");
    assert_eq!(status("right"), 200);
    let n_wrong = guesses.iter().filter(|status| **status == 401).count();
    let metrics = ask(&running, "GET /metrics", &[], b"").text();
    assert!(metrics.contains(&format!("tamis_wrong_passwords_total {n_wrong}\n")), "{metrics}");
    let log = || fs::read_to_string(running.path("log")).unwrap();
    let is_logged =
        || log().matches("\"address\":\"127.0.0.1\",\"error\":\"wrong password\"").count() == n_wrong;
    wait_for(is_logged, log);
}

/// What a milter says of [`SPAM`] to a recipient.
fn milter_verdict<S: Read + Write>(mta: &mut Mta<S>, recipient: &str) -> Vec<String> {
    mta.send(&message(SPAM, &[recipient]));
    mta.verdict()
}

#[cfg(target_os = "linux")]
#[test]
fn settings_that_are_read_again_apply_to_connections_that_are_open() {
    let hash = hash_password("q").unwrap();
    let doors = format!("[milter]\nlisten = [\"tcp:127.0.0.1:0\"]\n{HTTP}password = \"{hash}\"\n");
    let settings = format!("{doors}{USERS}[log]\nto = \"FOLDER/log\"\n");
    let running = Running::start(&settings);
    let path = running.folder.path().to_str().unwrap().to_owned();
    train_as(&running.path("other.tamis"), "ham", "spam");
    let learn = |password: &str| request("POST /v1/learn?label=spam&user=joe", &[MAIL, password], SPAM);
    let mut http = BufReader::new(running.tcp("http"));
    let mut status = |bytes: &[u8]| {
        http.get_mut().write_all(bytes).unwrap();
        read_answer(&mut http)
    };
    assert_eq!(status(&learn("Password: q")).status, 200);
    assert_eq!(status(&request("POST /v1/score?user=joe", &[MAIL, "Password: q"], SPAM)).status, 200);
    let is_spam = |answer: Answer| answer.json()["label"] == "spam";
    assert!(is_spam(status(&request("POST /v1/score", &[MAIL], SPAM))));
    let mut mta = Mta(running.tcp("milter"));
    mta.negotiate(POSTFIX);
    let judges_spam =
        |mta: &mut Mta<TcpStream>| milter_verdict(mta, "ann").contains(&"h X-Spam-Flag: YES".to_owned());
    assert!(judges_spam(&mut mta));

    let settings = settings
        .replace("model.tamis", "other.tamis")
        .replace("FOLDER/log", "FOLDER/log2")
        .replace("127.0.0.1:0", "127.0.0.2:0");
    let settings = settings.replace(&hash, &hash_password("r").unwrap()).replace("FOLDER", &path);
    fs::write(running.path("tamisd.toml"), settings).unwrap();
    running.signal("-HUP");
    running.wait_for(|lines| lines.iter().any(|line| line.contains("read again")));
    running.wait_for(|lines| lines.iter().any(|line| line.contains("listen has changed")));
    assert!(!is_spam(status(&request("POST /v1/score", &[MAIL], SPAM))));
    assert_eq!(status(&learn("Password: q")).status, 401);
    assert!(!judges_spam(&mut mta));
    // what the old models had mapped is gone, although the connections are open
    // the log of what was before has ended, so nothing holds it
    let tasks = format!("/proc/{}/task", running.child.id());
    let is_log = |task: fs::DirEntry| {
        fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.trim() == "log")
    };
    let n_logs =
        || fs::read_dir(&tasks).unwrap().flatten().filter_map(|task| is_log(task).then_some(())).count();
    wait_for(|| n_logs() == 1, || format!("{} logs", n_logs()));
}

#[test]
fn a_users_model_answers_nobody_else() {
    let hash = hash_password("q").unwrap();
    let tcp = "listen = [\"tcp:127.0.0.1:0\"]\n";
    let doors = format!("[spamd]\n{tcp}[milter]\n{tcp}{HTTP}password = \"{hash}\"\n");
    let word = |n: usize| {
        format!("Subject: merger\r\nMessage-ID: <{n}@x>\r\n\r\nsecret acquisition of soup at noon\r\n")
    };
    for is_listed in [false, true] {
        let listed = if is_listed { "mail_servers = [\"127.0.0.1\"]\n" } else { "" };
        let running = Running::start(&format!("{doors}{USERS}{listed}"));
        let password = "Password: q";
        for n in 0..5 {
            let line = "POST /v1/learn?label=spam&user=boss";
            assert_eq!(ask(&running, line, &[MAIL, password], word(n).as_bytes()).status, 200);
        }
        let mail = word(9);
        for path in ["explain", "score", "label"] {
            let (line, json) = (format!("POST /v1/{path}?user=boss"), json!({ "mail": mail }).to_string());
            let body = if path == "label" { json.as_bytes() } else { mail.as_bytes() };
            let answer = ask(&running, &line, &[MAIL], body);
            assert_eq!(answer.status, if is_listed { 200 } else { 401 }, "{path}");
            assert!(is_listed || !answer.text().contains("acquisition"), "{path}");
            assert_eq!(ask(&running, &line, &[MAIL, password], body).status, 200, "{path}");
        }
        let checked =
            |fields: &[&str]| ask(&running, "POST /checkv2", fields, mail.as_bytes()).json()["score"].clone();
        let (shared, own) = (checked(&[]), checked(&["Rcpt: boss", password]));
        assert!(own.as_f64() > shared.as_f64());
        assert_eq!(checked(&["Rcpt: boss"]), if is_listed { own } else { shared });
        let spamd = |user: &str| {
            let head = format!("SYMBOLS SPAMC/1.5\r\nUser: {user}\r\nContent-length: {}\r\n\r\n", mail.len());
            let mut stream = running.tcp("spamd");
            stream.write_all(&[head.as_bytes(), mail.as_bytes()].concat()).unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).unwrap();
            answer
        };
        assert_eq!(spamd("boss") != spamd("ann"), is_listed);
        ask(&running, "POST /v1/learn?label=ham&user=boss", &[MAIL, password], SPAM);
        let mut mta = Mta(running.tcp("milter"));
        mta.negotiate(POSTFIX);
        assert_eq!(milter_verdict(&mut mta, "boss") != milter_verdict(&mut mta, "ann"), is_listed);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn descriptors_are_enough_for_all_doors_or_are_shared() {
    let doors =
        format!("{HTTP}[spamd]\nlisten = [\"unix:FOLDER/spamd.sock\"]\n[limits]\nconnections = 700\n");
    let running = Running::start(&doors);
    let (id, path) = (running.child.id(), format!("/proc/{}/limits", running.child.id()));
    let soft = || -> usize {
        let limits = fs::read_to_string(&path).unwrap();
        let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    };
    let limit = |soft, hard| {
        let limit = Rlimit { current: Some(soft), maximum: Some(hard) };
        prlimit(Pid::from_raw(id as i32), Resource::Nofile, limit).unwrap();
        let n_read =
            || running.said.lock().unwrap().iter().filter(|line| line.contains("read again")).count();
        let before = n_read();
        running.signal("-HUP");
        running.wait_for(|lines| lines.iter().filter(|line| line.contains("read again")).count() > before);
    };
    limit(100, 4_000);
    assert_eq!(soft(), 128 + 2 * 700);
    assert!(!running.said.lock().unwrap().iter().any(|line| line.contains("descriptors")));
    // the system allows no more
    limit(200, 200);
    running.wait_for(|lines| {
        lines.iter().any(|line| line.contains("1528 descriptors") && line.contains("36 conn"))
    });
    let idle: Vec<_> = (0..150).map(|_| running.unix("spamd.sock")).collect();
    assert_eq!(exchange(running.tcp("http"), &request("POST /checkv2", &[], HAM)).status, 200);
    drop(idle);
}

#[test]
fn nobody_is_judged_by_the_few_messages_of_a_user_alone() {
    let running = Running::start(&format!("{HTTP}password = \"{}\"\n{USERS}", hash_password("q").unwrap()));
    let ask = |line: &str| ask(&running, line, &[MAIL, "Password: q"], HAM);
    assert_eq!(ask("POST /v1/learn?label=spam&user=joe").status, 200);
    assert_eq!(ask("POST /v1/score?user=joe").status, 200);
    fs::rename(running.path("model.tamis"), running.path("away")).unwrap();
    wait_for(|| ask("POST /v1/score").status == 503, || "the shared model is gone".to_owned());
    wait_for(|| ask("POST /v1/score?user=joe").status == 503, || "no verdict from one message".to_owned());
    assert_eq!(ask("POST /v1/score?user=ann").status, 503);
    fs::rename(running.path("away"), running.path("model.tamis")).unwrap();
    wait_for(|| ask("POST /v1/score?user=joe").status == 200, || "it is back".to_owned());
}
