//! Tests of http, with raw bytes and with rspamc.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};
use tamis_server::hash_password;
use tamis_train::options::VectorSpace;
use tamis_train::{Document, Filter, Kind, Scratch, TrainOptions, Trainer};

use crate::http_client::{ask, chunked, exchange, read_answer, read_chunk, request};
use crate::support::{HAM, HTTP, Running, SPAM, n_documents};

const MAIL: &str = "Content-Type: message/rfc822";
const JSON: &str = "Content-Type: application/json";

/// The settings of a model of topics, and of a shared one.
const TOPICS: &str =
    "[models]\nshared = \"FOLDER/model.tamis\"\nnamed = { topics = \"FOLDER/topics.tamis\" }\n";

#[test]
fn the_log_odds_are_those_of_the_filter_to_the_last_digit() {
    let running = Running::start(HTTP);
    let filter = Filter::open(running.path("model.tamis")).unwrap();
    let mut scratch = Scratch::default();
    for mail in [SPAM, HAM, b"Subject: pills at noon\n\nSoup now\n"] {
        let expected = filter.score_mail(mail, &mut scratch).unwrap();
        let answer = ask(&running, "POST /v1/score?probabilities=true", &[MAIL], mail);
        assert_eq!((answer.status, answer.json()["log_odds"].as_f64()), (200, Some(expected.log_odds)));
        assert_eq!(answer.json()["label"], filter.label_of(&expected));
        assert_eq!(answer.json()["truncated"], false);
        let spam = answer.json()["probabilities"]["spam"].as_f64().unwrap();
        assert!((spam - expected.probability).abs() < 1e-12);
        let posted = json!({ "mail": String::from_utf8(mail.to_vec()).unwrap() }).to_string();
        assert_eq!(
            ask(&running, "POST /v1/score", &[JSON], posted.as_bytes()).json()["log_odds"],
            expected.log_odds
        );
    }
    let explanation = filter.explain(Document::Mail(SPAM), &mut scratch).unwrap();
    let answer = ask(&running, "POST /v1/explain?reasons=3", &[MAIL], SPAM).json();
    let reasons = answer["reasons"].as_array().unwrap();
    assert_eq!(reasons.len(), 3);
    for (reason, term) in reasons.iter().zip(&explanation.terms) {
        assert_eq!(*reason, json!({ "term": term.term, "contribution": term.contribution }));
    }
}

#[test]
fn a_verdict_is_told_as_rspamd_does() {
    let running = Running::start(HTTP);
    let spam = ask(&running, "POST /checkv2", &["Queue-Id: 4Fx"], SPAM).json();
    assert_eq!((&spam["action"], &spam["required_score"]), (&json!("add header"), &json!(5.0)));
    assert!(spam["score"].as_f64().unwrap() >= 5.0);
    assert_eq!(spam["message-id"], "spam1@example.net");
    assert_eq!(spam["milter"]["add_headers"]["X-Spam-Flag"]["value"], "YES");
    assert_eq!(spam["milter"]["remove_headers"]["X-Spam-Status"], 0);
    let mut head =
        b"POST /checkv2 HTTP/1.1\r\nHost: 127.0.0.1:11333\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    head.extend(chunked(HAM, 7));
    let ham = exchange(running.tcp("http"), &head).json();
    assert_eq!(ham["action"], "no action");
    assert!(ham["score"].as_f64().unwrap() < 5.0 && ham["symbols"]["TAMIS_HAM"].is_object());
    let stat = ask(&running, "GET /stat", &[], b"").json();
    assert_eq!((&stat["scanned"], &stat["total_learns"]), (&json!(2), &json!(80)));
    assert_eq!(ask(&running, "GET /ping", &[], b"").text(), "pong\r\n");
}

#[test]
fn connections_are_kept_and_requests_pipelined_and_old_clients_served() {
    let running = Running::start(HTTP);
    let mut stream = BufReader::new(running.tcp("http"));
    let two = [request("POST /checkv2", &[], SPAM), request("POST /checkv2", &[], HAM)].concat();
    for _ in 0..2 {
        stream.get_mut().write_all(&two).unwrap();
        assert_eq!(read_answer(&mut stream).json()["action"], "add header");
        assert_eq!(read_answer(&mut stream).json()["action"], "no action");
    }
    let old = format!("POST /checkv2 HTTP/1.0\r\nContent-Length: {}\r\n\r\n", SPAM.len());
    let mut stream = BufReader::new(running.tcp("http"));
    stream.get_mut().write_all(&[old.as_bytes(), SPAM].concat()).unwrap();
    stream.get_ref().shutdown(Shutdown::Write).unwrap();
    let answer = read_answer(&mut stream);
    assert_eq!((answer.status, &answer.json()["action"]), (200, &json!("add header")));
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
}

#[test]
fn pages_of_other_sites_are_refused() {
    let running = Running::start("[http]\nlisten = [\"tcp:127.0.0.1:0\"]\nhosts = [\"Spam.example.org\"]\n");
    let check = |fields: &[&str]| ask(&running, "POST /checkv2", fields, SPAM).status;
    for (status, host) in [
        (200, "localhost"),
        (200, "LocalHost:11333"),
        (200, "127.0.0.1:80"),
        (200, "[::1]:80"),
        (200, "spam.example.org"),
        (403, "evil.example.net"),
        (403, "localhost.evil.example.net"),
        (403, "192.0.2.7"),
        (403, "spam.example.org.evil.net"),
        (403, ""),
        (403, "evil@@localhost"),
    ] {
        let field = format!("Host: {host}");
        assert_eq!(check(&[&field]), status, "{host}");
        assert_eq!(ask(&running, "GET /ready", &[&field], b"").status, status, "{host}");
    }
    assert_eq!(check(&["Host: localhost", "Host: evil.example.net"]), 400);
    assert_eq!(exchange(running.tcp("http"), b"GET /ready HTTP/1.1\r\n\r\n").status, 400);
    assert_eq!(ask(&running, "GET http://evil.example.net/ready", &["Host: localhost"], b"").status, 403);
    for (status, field) in [
        (200, "Origin: http://localhost"),
        (200, "Origin: https://spam.example.org"),
        (403, "Origin: http://localhost:3000"),
        (403, "Origin: http://evil.example.net"),
        (403, "Origin: null"),
        (403, "Origin: "),
        (403, "Sec-Fetch-Site: cross-site"),
        (200, "Sec-Fetch-Site: same-origin"),
    ] {
        assert_eq!(check(&[field]), status, "{field}");
    }
}

#[test]
fn learning_over_tcp_needs_the_password() {
    let without = Running::start(HTTP);
    for path in ["/learnspam", "/learnham", "/v1/learn?label=spam", "/v1/forget"] {
        let answer = ask(&without, &format!("POST {path}"), &["Password: x", MAIL], SPAM);
        assert_eq!(answer.status, 403, "{path}");
        assert!(answer.text().contains("--hash-password"));
    }
    let hash = hash_password("q1").unwrap();
    let running = Running::start(&format!("{HTTP}password = \"{hash}\"\n"));
    let learn = |fields: &[&str]| {
        let answer = ask(&running, "POST /learnspam", fields, SPAM);
        (answer.status, answer.head.contains("www-authenticate: Bearer"))
    };
    assert_eq!(learn(&[]), (401, true));
    assert_eq!(learn(&["Password: q2"]), (401, true));
    assert_eq!(learn(&["Authorization: Basic am9lOnEy"]), (401, true));
    assert_eq!(n_documents(&running.path("model.tamis")), 80);
    assert_eq!(learn(&["Password: q1"]), (200, false));
    assert_eq!(n_documents(&running.path("model.tamis")), 81);
    assert_eq!(learn(&["Authorization: Bearer q1"]), (208, false));
    assert_eq!(learn(&["Authorization: Basic am9lOnEx"]), (208, false));
    let forget = || ask(&running, "POST /v1/forget", &["Password: q1", MAIL], SPAM).status;
    assert_eq!((forget(), forget()), (200, 404));
    for path in ["/learnspam", "/learnham", "/v1/learn?label=spam", "/v1/forget"] {
        assert_eq!(ask(&running, &format!("GET {path}"), &["Password: q1"], b"").status, 405, "{path}");
    }
    let bad = ask(&running, "POST /v1/learn?label=eggs", &["Password: q1", MAIL], HAM);
    assert_eq!(bad.status, 422, "{}", bad.text());
    assert_eq!(n_documents(&running.path("model.tamis")), 80);
}

#[test]
fn processes_of_the_same_user_learn_over_a_unix_socket_into_models_of_users() {
    let running = Running::start(
        "[http]\nlisten = [\"unix:FOLDER/http.sock\"]\n[models]\nshared = \"FOLDER/model.tamis\"\nusers = \"FOLDER/users/%u.tamis\"\n",
    );
    let ask = |line, fields: &[&str], body: &[u8]| {
        exchange(running.unix("http.sock"), &request(line, fields, body))
    };
    let host = "Host: anything.example.net";
    assert_eq!(ask("POST /learnham", &[host, "Rcpt: <Ann@example.org>"], SPAM).status, 200);
    assert_eq!(ask("POST /learnham", &[host, "Deliver-To: ann@example.org"], SPAM).status, 208);
    assert_eq!(n_documents(&running.path("model.tamis")), 80);
    assert_eq!(n_documents(&running.path("users/ann@example.org.tamis")), 1);
    let learned = ask("POST /v1/learn?label=spam&user=joe", &[host, MAIL], HAM).json();
    assert_eq!(learned, json!({ "label": "spam", "learned": true }));
    let log_odds = |line| ask(line, &[host, MAIL], HAM).json()["log_odds"].as_f64().unwrap();
    assert!(log_odds("POST /v1/score?user=joe") > log_odds("POST /v1/score"));
    assert_eq!(ask("POST /v1/learn?label=spam", &[host, MAIL, "Origin: http://evil.net"], HAM).status, 403);
}

#[test]
fn a_server_without_a_model_says_so() {
    let running = Running::start_in(tempfile::tempdir().unwrap(), HTTP);
    for line in ["POST /checkv2", "POST /v1/score", "POST /v1/label", "GET /ready"] {
        let answer = ask(&running, line, &[MAIL], SPAM);
        assert_eq!(answer.status, 503, "{line}");
        assert!(answer.json()["error"].as_str().unwrap().contains("tamis train -m"));
    }
    assert_eq!(ask(&running, "GET /healthy", &[], b"").status, 200);
    assert_eq!(ask(&running, "GET /stat", &[], b"").json()["total_learns"], 0);
    let metrics = ask(&running, "GET /metrics", &[], b"");
    assert!(metrics.head.contains("application/openmetrics-text"));
    assert!(metrics.text().contains("tamis_messages_total{door=\"http\",verdict=\"error\"} 2\n"));
    assert!(metrics.text().ends_with("# EOF\n"));
}

#[test]
fn requests_that_cannot_be_served_have_a_status() {
    let running =
        Running::start(&format!("{HTTP}[limits]\nmessage_bytes = 10_000\nbytes_in_flight = 50_000\n"));
    for (status, line, fields, body) in [
        (404, "POST /v1/score?model=topics", &[MAIL][..], SPAM),
        (404, "POST /v2/score", &[MAIL], SPAM),
        (405, "PUT /v1/score", &[MAIL], SPAM),
        (415, "POST /v1/score", &["Content-Type: image/png"], SPAM),
        (415, "POST /checkv2", &["Content-Encoding: zstd"], SPAM),
        (422, "POST /v1/score", &["Content-Type: text/plain"], SPAM),
        (422, "POST /v1/score", &[JSON], b"{\"text\": 1}"),
        (422, "POST /v1/score", &[JSON], b"{}"),
        (422, "POST /v1/score?user=joe&model=topics", &[MAIL], SPAM),
        (422, "POST /v1/score?usr=joe", &[MAIL], SPAM),
    ] {
        let answer = ask(&running, line, fields, body);
        assert_eq!(answer.status, status, "{line} {}", answer.text());
        assert!(answer.json()["error"].is_string());
    }
    let long = [SPAM, &b"pills ".repeat(5_000)].concat();
    assert_eq!(ask(&running, "POST /checkv2", &[], &long).status, 200);
    let text = json!({ "mail": String::from_utf8(long.clone()).unwrap() }).to_string();
    assert_eq!(ask(&running, "POST /v1/score", &[JSON], text.as_bytes()).status, 413);
    let huge =
        b"POST /checkv2 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000000\r\n\r\nSubject: x";
    assert_eq!(exchange(running.tcp("http"), huge).status, 413);
    let mut endless =
        b"POST /checkv2 HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    endless.extend(chunked(&b"x".repeat(60_000), 1_000));
    assert_eq!(exchange(running.tcp("http"), &endless).status, 413);
    assert!(ask(&running, "GET /metrics", &[], b"").text().contains("tamis_bytes_in_flight 0\n"));
}

#[test]
fn slow_clients_are_let_go_and_idle_ones_kept() {
    let limits = "[limits]\ncommand_seconds = 1\nmessage_seconds = 1\nidle_seconds = 60\n";
    let running = Running::start(&format!("{HTTP}{limits}"));
    let mut idle = BufReader::new(running.tcp("http"));
    idle.get_mut().write_all(&request("GET /ping", &[], b"")).unwrap();
    read_answer(&mut idle);
    let begun = Instant::now();
    let mut slow = running.tcp("http");
    slow.write_all(b"GET /ping HTT").unwrap();
    let mut answer = Vec::new();
    slow.read_to_end(&mut answer).unwrap();
    assert!(!String::from_utf8_lossy(&answer).contains(" 200 "));
    assert!((0.9..10.0).contains(&begun.elapsed().as_secs_f64()));
    let part = b"POST /checkv2 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nSubject";
    assert_eq!(exchange(running.tcp("http"), part).status, 408);
    // longer idle than a command may take
    idle.get_mut().write_all(&request("GET /ping", &[], b"")).unwrap();
    assert_eq!(read_answer(&mut idle).status, 200);
}

/// A server that has a model of texts by topic.
fn with_topics() -> Running {
    let folder = tempfile::tempdir().unwrap();
    let mut trainer = Trainer::new(TrainOptions::new(Kind::Text)).unwrap();
    for n in 0..20 {
        for (label, text) in
            [("food", "soup bread cheese"), ("cars", "engine wheel brake"), ("art", "paint brush")]
        {
            trainer.add(label, Document::Text(&format!("{text} {n}"))).unwrap();
        }
    }
    trainer.finish().unwrap().save(folder.path().join("topics.tamis")).unwrap();
    Running::start_in(folder, &format!("{HTTP}{TOPICS}"))
}

#[test]
fn lines_are_labelled_as_they_arrive() {
    let running = with_topics();
    let mut stream = BufReader::new(running.tcp("http"));
    let head =
        "POST /v1/label?model=topics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.get_mut().write_all(head.as_bytes()).unwrap();
    let send = |stream: &mut BufReader<TcpStream>, line: &str| {
        let chunk = format!("{:x}\r\n{line}\r\n", line.len());
        stream.get_mut().write_all(chunk.as_bytes()).unwrap();
    };
    send(&mut stream, "{\"id\": 1, \"text\": \"soup and bread\"}\n{\"id\"");
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        stream.read_line(&mut head).unwrap();
    }
    assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("application/x-ndjson"));
    let first: Value = serde_json::from_slice(&read_chunk(&mut stream).unwrap()).unwrap();
    assert_eq!((&first["id"], &first["label"]), (&json!(1), &json!("food")));
    // the rest of the second line is sent after the answer to the first has arrived
    send(&mut stream, ": [2], \"text\": \"the engine\"}");
    stream.get_mut().write_all(b"0\r\n\r\n").unwrap();
    let last: Value = serde_json::from_slice(&read_chunk(&mut stream).unwrap()).unwrap();
    assert_eq!((&last["id"], &last["label"]), (&json!([2]), &json!("cars")));
    assert!(read_chunk(&mut stream).is_none());
    stream.get_mut().write_all(&request("GET /ping", &[], b"")).unwrap();
    assert_eq!(read_answer(&mut stream).status, 200);
}

#[test]
fn a_bad_line_does_not_end_the_others() {
    let running = with_topics();
    let filter = Filter::open(running.path("topics.tamis")).unwrap();
    let mut body =
        "{\"id\":\"a\",\"text\":\"paint\"}\nnonsense\n\n{\"id\":3}\r\n{\"mail\":\"x\"}\n".to_owned();
    let texts: Vec<String> = (0..5_000).map(|n| format!("soup {n} with a brush")).collect();
    for (n, text) in texts.iter().enumerate() {
        body.push_str(&(json!({ "id": n, "text": text }).to_string() + "\n"));
    }
    let answer = ask(&running, "POST /v1/label?model=topics&probabilities=true", &[], body.as_bytes());
    let text = answer.text();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 4 + texts.len());
    assert_eq!((&lines[0]["id"], &lines[0]["label"]), (&json!("a"), &json!("art")));
    let failed: Vec<_> =
        lines[1..4].iter().map(|line| (&line["line"], &line["id"], line["error"].is_string())).collect();
    assert_eq!(
        failed,
        [(&json!(2), &Value::Null, true), (&json!(4), &json!(3), true), (&json!(5), &Value::Null, true)]
    );
    let mut scratch = Scratch::default();
    for (n, (line, text)) in lines[4..].iter().zip(&texts).enumerate() {
        let score = filter.score_text(text, &mut scratch).unwrap();
        assert_eq!((&line["id"], line["log_odds"].as_f64()), (&json!(n), Some(score.log_odds)));
        let labels: Vec<&str> = filter.classes().iter().map(|(_, label)| label).collect();
        assert!(labels.iter().all(|label| line["probabilities"][label].is_f64()));
    }
}

#[test]
fn every_path_of_the_description_answers() {
    let running = Running::start(HTTP);
    let description = ask(&running, "GET /openapi.json", &[], b"").json();
    assert_eq!(description["info"]["version"], env!("CARGO_PKG_VERSION"));
    for (path, methods) in description["paths"].as_object().unwrap() {
        for method in ["get", "post", "put", "delete", "options"] {
            let line = format!("{} {path}", method.to_uppercase());
            let status = ask(&running, &line, &[MAIL], SPAM).status;
            let responses = &methods[method]["responses"];
            let is_documented =
                [status.to_string(), format!("{}XX", status / 100)].iter().any(|s| !responses[s].is_null());
            assert_eq!(methods[method].is_null(), status == 405, "{line} {status}");
            assert!(status == 405 || is_documented, "{line} {status}");
        }
    }
    let page = ask(&running, "GET /", &[], b"").text();
    assert!(page.contains("/v1/score") && page.contains("/openapi.json"));
}

#[test]
fn what_was_begun_is_finished_when_the_server_stops() {
    let mut running = Running::start(HTTP);
    let mut idle = running.tcp("http");
    let mut stream = BufReader::new(running.tcp("http"));
    let bytes = request("POST /checkv2", &[], SPAM);
    stream.get_mut().write_all(&bytes[..bytes.len() - 9]).unwrap();
    // so that both connections are known
    assert_eq!(ask(&running, "GET /ping", &[], b"").status, 200);
    running.signal("-TERM");
    assert_eq!(idle.read(&mut [0]).unwrap(), 0);
    stream.get_mut().write_all(&bytes[bytes.len() - 9..]).unwrap();
    assert_eq!(read_answer(&mut stream).status, 200);
    assert!(running.child.wait().unwrap().success());
}

#[test]
fn a_full_server_says_when_to_try_again() {
    let running = Running::start(&format!("{HTTP}[limits]\nconnections = 1\n"));
    let mut first = BufReader::new(running.tcp("http"));
    first.get_mut().write_all(&request("GET /ping", &[], b"")).unwrap();
    read_answer(&mut first);
    let answer = read_answer(&mut BufReader::new(running.tcp("http")));
    assert!(answer.status == 503 && answer.head.contains("Retry-After: 1"));
    assert!(answer.json()["error"].is_string());
    let full = "[limits]\nmessage_bytes = 8_000\nbytes_in_flight = 8_192\n";
    let running = Running::start(&format!("{HTTP}{full}"));
    let mut holding = running.tcp("http");
    let begun = request("POST /checkv2", &[], &b"Subject: x\n".repeat(500));
    holding.write_all(&begun[..begun.len() - 1]).unwrap();
    running.wait_for_bytes_in_flight(8_192);
    let answer = ask(&running, "POST /checkv2", &[], SPAM);
    assert!(answer.status == 503 && answer.head.contains("retry-after: 1"), "{}", answer.head);
}

/// Runs rspamc with a message on its standard input; its output, and whether it succeeded.
fn rspamc(running: &Running, arguments: &[&str], mail: &[u8]) -> Option<(String, bool)> {
    let address = running.address("http");
    let spawned = Command::new("rspamc")
        .args(["-h", &address])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => {
            tamis_testing::skip(&format!("rspamc: {error}"));
            assert!(std::env::var_os("TAMIS_SKIP_NOTHING").is_none());
            return None;
        }
    };
    child.stdin.take().unwrap().write_all(mail).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    Some((String::from_utf8_lossy(&text).into_owned(), output.status.success()))
}

#[test]
fn rspamc_scores_and_learns() {
    let hash = hash_password("q1").unwrap();
    let running = Running::start(&format!("{HTTP}password = \"{hash}\"\n"));
    let Some((spam, _)) = rspamc(&running, &[], SPAM) else { return };
    for part in ["Action: add header", "Spam: true", " / 5.00", "TAMIS_SPAM", "Message-ID: spam1@example.net"]
    {
        assert!(spam.contains(part), "{part}: {spam}");
    }
    let (ham, _) = rspamc(&running, &[], HAM).unwrap();
    assert!(ham.contains("Spam: false") && ham.contains("Action: no action"), "{ham}");
    let (mime, _) = rspamc(&running, &["--mime"], SPAM).unwrap();
    assert!(mime.contains("X-Spam: yes") && mime.contains("Buy cheap pills"), "{mime}");
    let learn = |password| rspamc(&running, &["-P", password, "learn_spam"], SPAM).unwrap();
    assert!(!learn("q2").1);
    let (learned, is_learned) = learn("q1");
    assert!(is_learned && learned.contains("success = true"), "{learned}");
    let (again, _) = learn("q1");
    assert!(again.contains("already learned as spam"), "{again}");
    let (stat, _) = rspamc(&running, &["stat"], b"").unwrap();
    assert!(stat.contains("Messages scanned: 3") && stat.contains("Statfile: TAMIS_SPAM"), "{stat}");
}

#[test]
fn a_socket_that_is_closed_early_harms_nobody() {
    let running = Running::start("[http]\nlisten = [\"unix:FOLDER/http.sock\"]\n");
    let bytes = request("POST /checkv2", &[], SPAM);
    for n in (0..bytes.len()).step_by(7) {
        let mut stream: UnixStream = running.unix("http.sock");
        stream.write_all(&bytes[..n]).unwrap();
        drop(stream);
    }
    assert_eq!(exchange(running.unix("http.sock"), &bytes).status, 200);
}

#[test]
fn a_vector_beside_a_document_is_scored_explained_and_learned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("topics.tamis");
    let mut options = TrainOptions::new(Kind::Text);
    options.recipe.vectors = Some(VectorSpace { dimensions: 2, encoder: "e5".to_owned() });
    let mut trainer = Trainer::new(options).unwrap();
    for n in 0..40 {
        let noise = (n * n % 7) as f32 / 8.0;
        for (label, vector) in [("food", [1.0, noise]), ("cars", [noise, 1.0])] {
            let text = format!("{label}{n} word{}", n % 3);
            trainer.add(label, Document::Text(&text).with_vector(&vector)).unwrap();
        }
    }
    trainer.finish().unwrap().save(&path).unwrap();
    let filter = Filter::open(&path).unwrap();
    let password = format!("password = \"{}\"\n", hash_password("q").unwrap());
    let running = Running::start_in(folder, &format!("{HTTP}{password}{TOPICS}"));
    let post = |line: &str, body: &Value| {
        let line = format!("POST /v1/{line}model=topics");
        ask(&running, &line, &[JSON, "Password: q"], body.to_string().as_bytes())
    };
    let mut scratch = Scratch::default();
    for vector in [[0.9, 0.2], [0.2, 0.9]] {
        let body = json!({ "id": 1, "text": "word1", "vector": vector });
        let document = Document::Text("word1");
        let score = filter.score(document.with_vector(&vector), &mut scratch).unwrap();
        let bare = filter.score(document, &mut scratch).unwrap();
        assert!((score.log_odds - bare.log_odds).abs() > 0.5);
        for line in ["score?", "label?"] {
            let answer = post(line, &body).json();
            assert_eq!(
                (answer["log_odds"].as_f64(), &answer["label"]),
                (Some(score.log_odds), &json!(filter.label_of(&score)))
            );
        }
        let reasons = post("explain?", &body).json()["reasons"].clone();
        assert!(
            reasons.as_array().unwrap().iter().any(|reason| reason["term"] == "vector of 2"),
            "{reasons}"
        );
    }
    let learned = json!({ "text": "a new word", "vector": [0.8, 0.1] });
    assert_eq!(post("learn?label=food&", &learned).json()["learned"], true);
    let documents = Filter::open(running.path("topics.tamis")).unwrap().information().totals[1].documents;
    assert_eq!(documents, 41);
    assert_eq!(post("forget?", &learned).status, 200);

    let too_many = vec![0; 4_097];
    for (vector, expected) in [
        (json!([1, 2, 3]), "expected 2 features, got 3"),
        (json!([1, 1e30]), "expected a finite number"),
        (json!([1, "2"]), "invalid type: string"),
        (json!("[1, 2]"), "expected an array of at most 4096 numbers"),
        (json!(too_many), "expected an array of at most 4096 numbers"),
    ] {
        let body = json!({ "text": "word1", "vector": vector });
        for line in ["score?", "explain?", "learn?label=food&"] {
            let answer = post(line, &body);
            assert!(answer.status == 422 && answer.text().contains(expected), "{}", answer.text());
        }
        assert!(post("label?", &body).text().contains(expected));
    }
}
