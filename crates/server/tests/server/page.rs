//! The page, as a browser asks for it. Its other views, and Postfix, are in tests/system.

use tamis_server::hash_password;
use tamis_testing::wait_for;
use tamis_train::{Filter, Scratch};

use crate::http_client::{Answer, exchange, request};
use crate::milter::mta::{Mta, message};
use crate::support::{HAM, Running, SPAM, n_documents};

const FORM: &str = "Content-Type: application/x-www-form-urlencoded";
const MULTIPART: &str = "Content-Type: multipart/form-data; boundary=XX";

/// A server with the page, which has these settings.
fn start(page: &str) -> Running {
    let hash = hash_password("open sesame").unwrap();
    let milter = "[milter]\nlisten = [\"unix:FOLDER/milter.sock\"]\n";
    Running::start(&format!(
        "{milter}[http]\nlisten = [\"tcp:127.0.0.1:0\"]\npassword = \"{hash}\"\n[page]\nlisten = [\"tcp:127.0.0.1:0\"]\n{page}\n"
    ))
}

/// Somebody's browser, with a cookie.
struct Browser<'a>(&'a Running, String);

impl<'a> Browser<'a> {
    fn signed_in(running: &'a Running) -> Self {
        let answer = Browser(running, "Cookie: a=b".to_owned()).post("/sign-in", "password=open+sesame");
        let cookie = field(&answer, "set-cookie").unwrap();
        assert!(cookie.contains("; HttpOnly; SameSite=Strict"), "{cookie}");
        Browser(running, format!("Cookie: a=b; {}", cookie.split(';').next().unwrap()))
    }

    fn ask(&self, line: &str, fields: &[&str], body: &[u8]) -> Answer {
        exchange(self.0.tcp("page"), &request(line, &[fields, &[&self.1]].concat(), body))
    }

    fn get(&self, path: &str) -> String {
        let answer = self.ask(&format!("GET {path}"), &[], b"");
        assert_eq!(answer.status, 200, "{path}");
        assert!(
            field(&answer, "content-security-policy")
                .unwrap()
                .starts_with("default-src 'none'; style-src 'self'")
        );
        answer.text()
    }

    fn post(&self, path: &str, form: &str) -> Answer {
        self.ask(&format!("POST {path}"), &[FORM, "Origin: http://localhost"], form.as_bytes())
    }

    /// Posts a file, and a label.
    fn upload(&self, path: &str, file: &[u8]) -> Answer {
        let head = "--XX\r\nContent-Disposition: form-data; name=\"label\"\r\n\r\nspam\r\n--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n";
        let body = [head.as_bytes(), file, b"\r\n--XX--\r\n"].concat();
        self.ask(&format!("POST {path}"), &[MULTIPART, "Origin: http://localhost"], &body)
    }

    /// Clicks the first button of a kind on a page.
    fn click(&self, page: &str, act: &str) -> Answer {
        let (_, rest) =
            page.split_once(&format!("value=\"{act} ")).unwrap_or_else(|| panic!("no button {act}"));
        self.post("/recent", &format!("act={act}+{}&query=verdict%3D", rest.split('"').next().unwrap()))
    }

    /// The log-odds by the model's file.
    fn log_odds(&self, mail: &[u8]) -> f64 {
        let filter = Filter::open(self.0.path("model.tamis")).unwrap();
        filter.score_mail(mail, &mut Scratch::default()).unwrap().log_odds
    }

    fn over_http(&self, line: &str, mail: &[u8]) -> String {
        let fields = ["Content-Type: message/rfc822", "Password: open sesame"];
        exchange(self.0.tcp("http"), &request(line, &fields, mail)).text()
    }
}

fn field<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    let mut lines = answer.head.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

#[test]
fn a_rule_that_decided_is_named() {
    let running = start("[[rule]]\nname = \"partners\"\nto = [\"@example.org\"]\nverdict = \"ham\"\n");
    let browser = Browser::signed_in(&running);
    for recipient in ["b@example.org", "b@example.net"] {
        let mut mta = Mta::postfix(&running);
        mta.send(&message(SPAM, &[recipient]));
        mta.verdict();
    }
    let recent = browser.get("/recent");
    let [by_words, by_rule] = [1, 2].map(|row| recent.split("<tr id").nth(row).unwrap());
    assert!(by_rule.contains(">ham<") && by_rule.contains("rule <bdi>partners</bdi>"), "{by_rule}");
    assert!(by_words.contains(">spam<") && !by_words.contains("partners"), "{by_words}");
}

#[test]
fn the_page_needs_the_password_and_its_own_origin() {
    let running = start("");
    let stranger = Browser(&running, "Cookie: tamisd-session=x".to_owned());
    for path in ["/", "/recent", "/try", "/teach", "/model", "/users", "/now"] {
        assert_eq!(stranger.ask(&format!("GET {path}"), &[], b"").status, 303, "{path}");
    }
    assert_eq!(
        (stranger.post("/recent", "act=spam+0").status, stranger.upload("/try", SPAM).status),
        (403, 403)
    );
    let wrong = stranger.post("/sign-in", "password=open");
    assert!(wrong.status == 401 && wrong.text().contains("role=\"alert\""), "{}", wrong.text());
    assert_eq!(stranger.post("/sign-in", &"x".repeat(100_000)).status, 413);
    let browser = Browser::signed_in(&running);
    for foreign in ["Origin: http://evil.example", "Host: evil.example"] {
        assert_eq!(browser.ask("POST /recent", &[FORM, foreign], b"act=spam+0").status, 403, "{foreign}");
    }
    assert!(browser.get("/recent").contains("0 of 0 messages"));
    assert_eq!(browser.post("/recent", "act=spam+999").status, 422);
    assert_eq!(browser.post("/sign-out", "").status, 303);
    assert_eq!(browser.ask("GET /recent", &[], b"").status, 303);
    // the slowing of the other doors, by address
    assert!((0..6).any(|_| stranger.post("/sign-in", "password=open").status == 429));
}

#[test]
fn a_message_is_taught_and_taken_back_to_the_last_bit() {
    let running = start("history = \"headers\"\nmessages = 3");
    let browser = Browser::signed_in(&running);
    let before = browser.log_odds(SPAM);
    let mut mta = Mta::postfix(&running);
    mta.send(&message(SPAM, &["<b@example.org>"]));
    mta.verdict();
    let page = browser.get("/recent");
    assert!(
        ["cheap pills", "milter", "a@example.net", "class=\"spam\""].iter().all(|text| page.contains(text))
    );
    let answer = browser.click(&page, "ham");
    assert!(field(&answer, "location").unwrap().starts_with("/recent?verdict=#m"), "{}", answer.text());
    assert!(browser.log_odds(SPAM) < before - 0.1);
    assert_eq!(n_documents(&running.path("model.tamis")), 81);
    assert!(browser.get("/recent").contains("by <bdi>page, 127.0.0.1</bdi>"));
    // a model that changes is opened again once a second
    wait_for(|| browser.over_http("POST /v1/score", SPAM).contains("ham"), || "ham over HTTP".to_owned());
    (0..3).for_each(|_| drop(browser.over_http("POST /v1/score", SPAM)));
    assert!(browser.get("/recent").contains("3 of 3 messages"));
    // the same message, which came again: what is known is put back
    assert_eq!(browser.click(&browser.get("/recent"), "spam").status, 303);
    browser.click(&browser.get("/recent"), "back");
    assert_eq!(browser.over_http("POST /v1/forget", SPAM), "{\"forgotten\":true}");
    assert_eq!((browser.log_odds(SPAM), n_documents(&running.path("model.tamis"))), (before, 80));
    // what another door teaches is told
    browser.over_http("POST /v1/score", HAM);
    browser.over_http("POST /v1/learn?label=ham", HAM);
    assert!(browser.get("/recent").contains("by <bdi>http, 127.0.0.1</bdi>"));
}

#[test]
fn hostile_messages_stay_text() {
    let running = start("history = \"headers\"");
    let browser = Browser::signed_in(&running);
    let hostile = "From: \"<script>alert(1)</script>\" <a@x>\r\nSubject: <img src=x onerror=alert(1)>\u{1b}[31m\u{202e}gpj\0\r\nMessage-ID: <\"'><script>@x>\r\n\r\n<svg/onload=alert(1)> pills \u{7} lunch\r\n";
    let tried = browser.upload("/try", hostile.as_bytes()).text();
    for page in [&tried, &browser.get("/recent"), &browser.get("/recent?q=%3Cscript%3E%22")] {
        assert!(
            !["<script", "<img", "<svg/", "\u{1b}", "\u{202e}", "\0", "\u{7}"]
                .iter()
                .any(|text| page.contains(text))
        );
    }
    assert!(tried.contains("class=\"plus\"") && tried.contains("does not know"), "{tried}");
    browser.upload("/try", format!("Subject: {}\r\n\r\npills\r\n", "word ".repeat(10_000)).as_bytes());
    assert!(browser.get("/recent").len() < 40_000);
}

#[test]
fn a_file_is_looked_at_before_it_is_learned() {
    let running = start("");
    let browser = Browser::signed_in(&running);
    let wait = |text: &str| {
        wait_for(|| browser.get("/teach").contains(text), || format!("{text}: {}", browser.get("/teach")));
        browser.get("/teach").replace("<th scope=\"row\">", "").replace("</th><td class=\"number\">", " ")
    };
    let casino = |n: usize| {
        format!(
            "From a@b Fri Aug 23 11:03:04 2002\nSubject: casino {n}\nMessage-ID: <c{n}@x>\n\nRoulette {n}\n\n"
        )
    };
    let known = "From a@b Fri Aug 23 11:03:04 2002\nFrom: h3@example.org\nSubject: lunch 3\nMessage-ID: <h3@x>\n\nSoup at noon 3? See you in the meeting room\n\n";
    let mbox = (0..150).chain([7]).map(casino).collect::<String>() + known;
    assert_eq!(browser.upload("/teach", mbox.as_bytes()).status, 303);
    let told = wait("more than once in the file");
    for line in [
        "new 150<",
        "known under another label 1<",
        "more than once in the file 1<",
        "<bdi>h3@x</bdi>: <bdi>ham</bdi>",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    assert_eq!(n_documents(&running.path("model.tamis")), 80);
    assert_eq!(browser.post("/teach/learn", "").status, 303);
    wait("150 messages were learned");
    assert_eq!(n_documents(&running.path("model.tamis")), 230);
    assert_eq!(browser.post("/teach/learn", "").status, 422);
}
