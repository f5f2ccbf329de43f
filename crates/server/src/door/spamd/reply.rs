//! The answers, in the forms of spamd.

use tamis_mail::passthrough::SpamStatus;

use crate::door::spamd::request::{Method, SpamdRequest};
use crate::models::request::{FeedbackOutcome, ServiceError};
use crate::service::answer::{Answer, REQUIRED, TermReason};

/// The answer to a connection that is one too many.
pub(crate) const FULL: &[u8] = b"SPAMD/1.0 75 EX_TEMPFAIL: too busy; try again later\r\n";

/// The answer to a PING.
pub(super) const PONG: &[u8] = b"SPAMD/1.5 0 PONG\r\n";

/// A line that cannot be understood.
pub(super) fn bad_line(words: &str) -> Vec<u8> {
    format!("SPAMD/1.0 76 Bad header line: {words}\r\n").into_bytes()
}

/// The answer to a request that did not arrive in time.
pub(super) const LATE: &[u8] = b"SPAMD/1.0 79 Timeout: the request did not arrive in time\r\n";

/// A request that cannot be served.
pub(super) fn failed(failure: &ServiceError) -> Vec<u8> {
    let code = match failure {
        failure if failure.is_temporary() => "75 EX_TEMPFAIL",
        ServiceError::UnknownModel(_) => "67 EX_NOUSER",
        ServiceError::TooLarge(_) | ServiceError::Request(_) | ServiceError::NotLearned => "65 EX_DATAERR",
        ServiceError::Denied => "77 EX_NOPERM",
        _ => "70 EX_SOFTWARE",
    };
    let text: String = failure.to_string().chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    format!("SPAMD/1.0 {code}: {text}\r\n").into_bytes()
}

/// What came of a TELL. spamc says "already un/learned" if neither line is there.
pub(super) fn told(corrected: Option<FeedbackOutcome>) -> Vec<u8> {
    let did = match corrected {
        Some(FeedbackOutcome::Learned | FeedbackOutcome::Moved(_)) => "DidSet: local\r\n",
        Some(FeedbackOutcome::Forgotten) => "DidRemove: local\r\n",
        Some(FeedbackOutcome::Already | FeedbackOutcome::Unknown | FeedbackOutcome::Known(_)) | None => "",
    };
    format!("SPAMD/1.1 0 EX_OK\r\n{did}\r\n\r\n").into_bytes()
}

/// The verdict on a message.
pub(super) fn verdict(
    request: &SpamdRequest,
    answer: &Answer,
    message: &[u8],
    keep_headers: bool,
) -> Vec<u8> {
    if request.is_rspamc {
        return rspamc(answer);
    }
    let body = match request.method {
        Method::Check => {
            return format!("SPAMD/1.1 0 EX_OK\r\n{}\r\n\r\n", spam_line(request, answer)).into_bytes();
        }
        Method::Symbols if request.version < 3 => format!("{}\r\n", symbol(answer)).into_bytes(),
        Method::Symbols => symbol(answer).into(),
        Method::ReportIfSpam if !answer.is_spam() => Vec::new(),
        Method::Report | Method::ReportIfSpam => report(answer).into_bytes(),
        Method::Process | Method::Headers => {
            let (mut head, rest) = answer.head(message, keep_headers);
            if request.method == Method::Process {
                head.extend_from_slice(&message[rest..]);
            } else {
                end_header(&mut head);
            }
            head
        }
        Method::Tell | Method::Ping | Method::Skip => Vec::new(),
    };
    let head = head_of_answer(request, answer, body.len());
    [head.as_bytes(), &body].concat()
}

fn head_of_answer(request: &SpamdRequest, answer: &Answer, length: usize) -> String {
    let spam = spam_line(request, answer);
    let is_message = matches!(request.method, Method::Process | Method::Headers);
    match (is_message, request.version) {
        (true, 0 | 1) => "SPAMD/1.0 0 EX_OK\r\n".to_owned(),
        (true, 2) => format!("SPAMD/1.1 0 EX_OK\r\nContent-length: {length}\r\n\r\n"),
        // Exim would not understand a length before this line
        (false, 0..=2) => format!("SPAMD/1.1 0 EX_OK\r\n{spam}\r\n\r\n"),
        _ => format!("SPAMD/1.1 0 EX_OK\r\nContent-length: {length}\r\n{spam}\r\n\r\n"),
    }
}

/// `Spam: True ; 7.3 / 5.0`: one decimal, as Haraka expects.
fn spam_line(request: &SpamdRequest, answer: &Answer) -> String {
    let word = match (request.method, answer.is_spam()) {
        (Method::ReportIfSpam, true) => "Yes",
        (Method::ReportIfSpam, false) => "No",
        (_, true) => "True",
        (_, false) => "False",
    };
    format!("Spam: {word} ; {:.1} / {REQUIRED:.1}", answer.score())
}

/// The one rule that there is.
fn symbol(answer: &Answer) -> &'static str {
    match answer.spam {
        Some(SpamStatus { is_spam: true, .. }) => "TAMIS_SPAM",
        _ if answer.is_skipped() => "TAMIS_SKIPPED",
        _ if answer.unsure => "TAMIS_UNSURE",
        Some(_) => "TAMIS_HAM",
        None => "TAMIS_LABEL",
    }
}

/// A report that a person reads, with the strongest reasons in nats.
fn report(answer: &Answer) -> String {
    let (score, name) = (answer.score(), symbol(answer));
    let why = match &answer.rule {
        Some(rule) if answer.by_rule.is_some() => {
            format!("by the rule {}", rule.replace(char::is_control, "_"))
        }
        _ => "log-odds of spam; the words that weigh most:".to_owned(),
    };
    let mut report = format!(
        "tamis {}: {}, probability {:.4}, log-odds {:+.2} nats\n\n\
         Content analysis details:   ({score:.1} points, {REQUIRED:.1} required)\n\n \
         pts rule name              description\n\
         ---- ---------------------- --------------------------------------------------\n\
         {score:4.1} {name:22} {why}\n",
        env!("CARGO_PKG_VERSION"),
        answer.label.replace(char::is_control, "_"),
        answer.probability,
        answer.log_odds
    );
    for TermReason { term, contribution } in answer.reasons.iter().flatten() {
        let term: String = term.chars().take(60).map(|c| if c.is_control() { '_' } else { c }).collect();
        report.push_str(&format!("{:28}{contribution:+6.2} {term}\n", ""));
    }
    report
}

/// Ends a header block with its empty line, if the message had none.
fn end_header(head: &mut Vec<u8>) {
    let line_break: &[u8] = if head.ends_with(b"\r\n") { b"\r\n" } else { b"\n" };
    if !head.ends_with(b"\n\n") && !head.ends_with(b"\n\r\n") {
        head.extend_from_slice(line_break);
    }
}

/// The answer to Exim's rspamd variant, which is not HTTP.
fn rspamc(answer: &Answer) -> Vec<u8> {
    let (word, action) = if answer.is_spam() { ("True", "add header") } else { ("False", "no action") };
    let (score, name) = (answer.score(), symbol(answer));
    format!(
        "RSPAMD/1.3 0 EX_OK\r\nMetric: default; {word}; {score:.2} / {REQUIRED:.2} / {:.2}\r\nAction: {action}\r\n\
         Symbol: {name}({score:.2})\r\n\r\n",
        REQUIRED * 3.0
    )
    .into_bytes()
}
