//! The page, as a browser asks for it.

use std::path::Path;

use tamis_server::hash_password;
use tamis_testing::wait_for;
use tamis_train::{Filter, Scratch};

use crate::http_client::{Answer, exchange, request};
use crate::milter::mta::{Mta, message};
use crate::support::{HAM, Running, SPAM, n_documents};

const FORM: &str = "Content-Type: application/x-www-form-urlencoded";
const MULTIPART: &str = "Content-Type: multipart/form-data; boundary=XX";

/// Settings with the page, and these besides.
fn settings(more: &str, page: &str) -> String {
    let hash = hash_password("open sesame").unwrap();
    format!(
        "{more}\n[http]\nlisten = [\"tcp:127.0.0.1:0\"]\npassword = \"{hash}\"\n[page]\nlisten = [\"tcp:127.0.0.1:0\"]\n{page}\n"
    )
}

/// Somebody's browser: it keeps the cookie.
struct Browser<'a> {
    running: &'a Running,
    cookie: String,
}

impl<'a> Browser<'a> {
    fn signed_in(running: &'a Running) -> Self {
        let mut browser = Browser { running, cookie: "Cookie: a=b".to_owned() };
        let answer = browser.post("/sign-in", "password=open+sesame");
        assert_eq!(answer.status, 303, "{}", answer.text());
        let cookie = field(&answer, "set-cookie").unwrap();
        assert!(cookie.contains("; HttpOnly; SameSite=Strict"), "{cookie}");
        browser.cookie = format!("Cookie: a=b; {}", cookie.split(';').next().unwrap());
        browser
    }

    fn ask(&self, line: &str, fields: &[&str], body: &[u8]) -> Answer {
        let fields = [fields, &[&self.cookie]].concat();
        exchange(self.running.tcp("page"), &request(line, &fields, body))
    }

    fn get(&self, path: &str) -> String {
        let answer = self.ask(&format!("GET {path}"), &[], b"");
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        let policy = field(&answer, "content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'self'"), "{policy}");
        assert!(!answer.text().contains("<script"));
        answer.text()
    }

    fn post(&self, path: &str, form: &str) -> Answer {
        self.ask(&format!("POST {path}"), &[FORM, "Origin: http://localhost"], form.as_bytes())
    }

    /// Posts fields and a file.
    fn upload(&self, path: &str, fields: &str, file: &[u8]) -> Answer {
        let part = |(name, value): (&str, &str)| {
            format!("--XX\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let fields: String = fields.split('&').filter_map(|pair| pair.split_once('=')).map(part).collect();
        let head = "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n";
        let body = [fields.as_bytes(), head.as_bytes(), file, b"\r\n--XX--\r\n"].concat();
        self.ask(&format!("POST {path}"), &[MULTIPART, "Origin: http://localhost"], &body)
    }

    /// What `/recent` shows, once it holds a text.
    fn recent_with(&self, text: &str) -> String {
        let mut page = String::new();
        wait_for(
            || {
                page = self.get("/recent");
                page.contains(text)
            },
            || format!("{text} on the page"),
        );
        page
    }

    /// Clicks the first button of a kind.
    fn click(&self, page: &str, act: &str) -> Answer {
        let start = page.find(&format!("value=\"{act} ")).unwrap_or_else(|| panic!("no button {act}")) + 7;
        let value = page[start..].split('"').next().unwrap();
        self.post("/recent", &format!("act={}&query=verdict%3D", value.replace(' ', "+")))
    }

    /// The log-odds by the model's file.
    fn log_odds(&self, mail: &[u8]) -> f64 {
        let filter = Filter::open(self.running.path("model.tamis")).unwrap();
        filter.score_mail(mail, &mut Scratch::default()).unwrap().log_odds
    }

    /// The verdict over HTTP.
    fn verdict(&self, mail: &[u8]) -> String {
        let bytes = request("POST /v1/score", &["Content-Type: message/rfc822"], mail);
        exchange(self.running.tcp("http"), &bytes).json()["label"].to_string()
    }
}

fn field<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    let mut lines = answer.head.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

#[test]
fn the_page_needs_the_password_and_its_own_origin() {
    let running = Running::start(&settings("", ""));
    let stranger = Browser { running: &running, cookie: "Cookie: tamisd-session=x".to_owned() };
    for path in ["/", "/recent", "/try", "/teach", "/model", "/users", "/now"] {
        let answer = stranger.ask(&format!("GET {path}"), &[], b"");
        assert_eq!((answer.status, field(&answer, "location").is_some()), (303, true), "{path}");
    }
    assert_eq!(stranger.post("/recent", "act=spam+0").status, 403);
    assert_eq!(stranger.upload("/try", "", SPAM).status, 403);
    let wrong = stranger.post("/sign-in", "password=open");
    assert!(wrong.status == 401 && wrong.text().contains("role=\"alert\""), "{}", wrong.text());
    assert_eq!(stranger.post("/sign-in", &"x".repeat(100_000)).status, 413);
    let browser = Browser::signed_in(&running);
    for (name, status) in [("Origin: http://evil.example", 403), ("Host: evil.example", 403)] {
        let answer = browser.ask("POST /recent", &[FORM, name], b"act=spam+0");
        assert_eq!(answer.status, status, "{name}");
    }
    assert!(browser.get("/recent").contains("0 of 0 messages"));
    assert_eq!(browser.ask("GET /nothing", &[], b"").status, 404);
    assert_eq!(browser.post("/sign-out", "").status, 303);
    assert_eq!(browser.ask("GET /recent", &[], b"").status, 303);
    // the slowing of other doors, by address
    let tries = (0..6).map(|_| stranger.post("/sign-in", "password=open").status).collect::<Vec<_>>();
    assert!(tries.contains(&429), "{tries:?}");
    assert!(exchange(running.tcp("http"), &request("GET /recent", &[], b"")).status == 404);
}

#[test]
fn a_message_is_taught_and_taken_back_to_the_last_bit() {
    let milter = "[milter]\nlisten = [\"unix:FOLDER/milter.sock\"]\n";
    let running = Running::start(&settings(milter, "history = \"headers\""));
    let browser = Browser::signed_in(&running);
    let before = browser.log_odds(SPAM);
    let mut mta = Mta::postfix(&running);
    mta.send(&message(SPAM, &["<b@example.org>"]));
    mta.verdict();
    let page = browser.recent_with("cheap pills");
    assert!(page.contains("milter") && page.contains("a@example.net") && page.contains("class=\"spam\""));
    let answer = browser.click(&page, "ham");
    assert_eq!(answer.status, 303, "{}", answer.text());
    assert!(field(&answer, "location").unwrap().starts_with("/recent?verdict=#m"));
    assert!(browser.log_odds(SPAM) < before - 0.1);
    // a model that changes is opened again once a second, for every door
    wait_for(|| browser.verdict(SPAM) == "\"ham\"", || "ham by HTTP".to_owned());
    assert_eq!(n_documents(&running.path("model.tamis")), 81);
    let page = browser.get("/recent");
    assert!(page.contains("by <bdi>page, 127.0.0.1</bdi>"), "{page}");
    assert_eq!(browser.click(&page, "back").status, 303);
    assert_eq!(browser.log_odds(SPAM), before);
    assert_eq!(n_documents(&running.path("model.tamis")), 80);
    // what another door has taught is told, and is not lost when it is taken back
    let learn = |label: &str, mail: &[u8]| {
        let line = format!("POST /v1/learn?label={label}");
        let fields = ["Content-Type: message/rfc822", "Password: open sesame"];
        assert_eq!(exchange(running.tcp("http"), &request(&line, &fields, mail)).status, 200);
    };
    learn("ham", SPAM);
    assert!(browser.get("/recent").contains("by <bdi>http, 127.0.0.1</bdi>"));
    let moved = browser.log_odds(HAM);
    browser.verdict(HAM);
    learn("ham", HAM);
    let as_ham = browser.log_odds(HAM);
    let page = browser.get("/recent?q=lunch");
    assert_eq!(browser.click(&page, "spam").status, 303);
    assert!(browser.log_odds(HAM) > moved);
    assert_eq!(browser.click(&browser.get("/recent?q=lunch"), "back").status, 303);
    assert!((browser.log_odds(HAM) - as_ham).abs() < 0.05);
    assert_eq!(browser.post("/recent", "act=spam+999999").status, 422);
}

#[test]
fn hostile_messages_stay_text() {
    let running = Running::start(&settings("", "history = \"headers\""));
    let browser = Browser::signed_in(&running);
    let hostile = "From: \"<script>alert(1)</script>\" <a@x>\r\nSubject: <img src=x onerror=alert(1)>\u{1b}[31m\u{202e}gpj\0\r\nMessage-ID: <\"'><script>@x>\r\n\r\n<svg/onload=alert(1)> pills {{7*7}} \u{7} lunch\r\n";
    let tried = browser.upload("/try", "user=", hostile.as_bytes());
    assert_eq!(tried.status, 200, "{}", tried.text());
    for page in [tried.text(), browser.recent_with("alert(1)"), browser.get("/recent?q=%3Cscript%3E%22")] {
        assert!(!page.contains("<script") && !page.contains("<img") && !page.contains("<svg/"), "{page}");
        assert!(!page.contains(['\u{1b}', '\u{202e}', '\0', '\u{7}']), "{page:?}");
    }
    let text = tried.text();
    assert!(
        text.contains("class=\"plus\"") && text.contains("do not know") | text.contains("does not know"),
        "{text}"
    );
    let long = format!("Subject: {}\r\n\r\npills\r\n", "word ".repeat(10_000));
    browser.upload("/try", "", long.as_bytes());
    assert!(browser.get("/recent").len() < 40_000);
}

/// A mbox of messages that no model knows, one of them twice, and one that the model knows.
fn mbox() -> Vec<u8> {
    let message = |n: usize| {
        format!(
            "From a@b Fri Aug 23 11:03:04 2002\nFrom: a{n}@x\nSubject: casino {n}\nMessage-ID: <c{n}@x>\n\nRoulette {n} tonight\n\n"
        )
    };
    let known = "From a@b Fri Aug 23 11:03:04 2002\nFrom: h3@example.org\nSubject: lunch 3\nMessage-ID: <h3@x>\n\nSoup at noon 3? See you in the meeting room\n\n";
    let all: String = (0..150).chain([7]).map(message).collect();
    [all.as_bytes(), known.as_bytes()].concat()
}

fn tar_of_maildir(folder: &Path) -> Vec<u8> {
    for (name, text) in
        [("cur/1:2,S", "Subject: slots\n\nJackpot\n"), ("cur/2:2,T", "Subject: bin\n\nbin\n"), ("tmp/3", "x")]
    {
        let path = folder.join("Maildir").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let tar = std::process::Command::new("tar").args(["c", "Maildir"]).current_dir(folder).output().unwrap();
    tar.stdout
}

#[test]
fn a_file_is_looked_at_before_it_is_learned() {
    let running = Running::start(&settings("", ""));
    let browser = Browser::signed_in(&running);
    let model = running.path("model.tamis");
    let wait = |text: &str| {
        let is_there = || browser.get("/teach").contains(text);
        wait_for(is_there, || format!("{text}: {}", browser.get("/teach")));
        browser.get("/teach").replace("<th scope=\"row\">", "").replace("</th><td class=\"number\">", " ")
    };
    let answer = browser.upload("/teach", "label=spam&user=", &mbox());
    assert_eq!(answer.status, 303, "{}", answer.text());
    let told = wait("What the file holds");
    for line in ["new messages 150<", "known under another label 1<", "more than once in the file 1<"] {
        assert!(told.contains(line), "{line}: {told}");
    }
    assert!(told.contains("<bdi>h3@x</bdi>: <bdi>ham</bdi>"), "{told}");
    assert_eq!(n_documents(&model), 80);
    assert_eq!(browser.post("/teach/learn", "").status, 303);
    wait("150 messages were learned");
    assert_eq!(n_documents(&model), 230);
    assert_eq!(browser.post("/teach/learn", "").status, 422);
    assert_eq!(browser.upload("/teach", "label=spam", &mbox()).status, 303);
    assert!(wait("What the file holds").contains("already 150<"));
    assert_eq!(browser.post("/teach/learn", "drop=yes").status, 303);
    let tar = tar_of_maildir(running.folder.path());
    assert_eq!(browser.upload("/teach", "label=spam", &tar).status, 303);
    assert!(wait("What the file holds").contains("new messages 1<"));
    assert_eq!(browser.upload("/teach", "label=eggs", &tar).status, 422);
}

#[test]
fn views_show_the_model_users_and_numbers_and_nothing_of_messages_if_none_is_kept() {
    let models = "[models]\nshared = \"FOLDER/model.tamis\"\nusers = \"FOLDER/users/%u.tamis\"\n";
    let running = Running::start(&settings(models, "history = \"none\""));
    let browser = Browser::signed_in(&running);
    let fields = ["Content-Type: message/rfc822", "Password: open sesame"];
    let learn = request("POST /v1/learn?label=ham&user=joe%2Blists", &fields, SPAM);
    assert_eq!(exchange(running.tcp("http"), &learn).status, 200);
    browser.verdict(SPAM);
    assert!(browser.get("/recent").contains("Nothing is kept"));
    assert!(browser.upload("/try", "user=joe+lists", SPAM).text().contains("The verdict is"));
    let model = browser.get("/model");
    for text in ["Documents learned", "Strongest terms of", "<svg", "What was chosen", "Evaluation of"] {
        assert!(model.contains(text), "{text}: {model}");
    }
    assert!(browser.get("/users").contains("/model?user=joe%2Blists\"><bdi>joe+lists</bdi>"));
    assert!(browser.get("/model?user=joe%2Blists").contains("Model <bdi>joe+lists</bdi>"));
    let now = browser.get("/now");
    assert!(now.contains("<th scope=\"row\">messages</th>") && now.contains("learned"), "{now}");
}
