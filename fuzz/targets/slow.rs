//! Mail that repeats itself: no message takes long for its length, however it is nested, broken off or begun anew.

use super::Choices;
use std::time::Duration;
use tamis_mail::passthrough::annotate;
use tamis_mail::{Author, Limits, Message, looks_like_mail};

/// What messages are made of. The number of the repetition stands for `#`.
const FRAGMENTS: &[&str] = &[
    "\n",
    "\r\n",
    "\r",
    " ",
    "\t",
    "-",
    "--",
    "=",
    "a",
    "é",
    "\u{301}",
    "漢",
    "\0",
    "\u{feff}",
    ".",
    ",",
    ";",
    ":",
    "\"",
    "'",
    "\\",
    "(",
    ")",
    "<",
    ">",
    "&",
    "@",
    "%",
    "+",
    "_",
    "?",
    "!",
    "$1",
    "0",
    "*",
    "/",
    "{",
    "}",
    "--b\n",
    "--b#\n",
    "--b#--\n",
    "--x#",
    "; boundary=b#",
    "; boundary=b",
    "; boundary=x#",
    "; boundary=x; boundary=y; boundary=z; boundary=b#",
    "; boundary*0=b; boundary*1=#",
    "Content-Type: ",
    "Content-Type: multipart/mixed; boundary=b#\n\n--b#\n",
    "Content-Type: text/html; boundary=b#\n\n--b#\n",
    "Content-Type: text/plain; charset=gb2312; boundary=x; boundary=b#\n\n--b#\n",
    "Content-Type: message/rfc822; boundary=x#\n\n",
    "Content-Type: message/delivery-status\n\n",
    "Content-Type: multipart/digest; boundary=b#\n\n--b#\n\n",
    "Content-Transfer-Encoding: base64\n",
    "Content-Transfer-Encoding: 7bit base64\n",
    "Content-Transfer-Encoding: quoted-printable\n",
    "Content-Transfer-Encoding: x-uuencode\n",
    "multipart/mixed",
    "text/html\n\n",
    "text/plain",
    "message/rfc822",
    "; charset=iso-2022-jp",
    "; charset=utf-7",
    "; charset=utf-16",
    "; charset=gb18030",
    "; name*0*=utf-8''%41",
    "; name=\"a\"",
    "Content-Disposition: attachment",
    "Subject: ",
    "To: ",
    "From: ",
    "From a\n",
    "Received: from a (b [1.2.3.4]) by c with d; ",
    "Authentication-Results: a; dkim=pass header.d=b",
    "X-Spam-Flag: ",
    "Message-ID: <",
    "A: b\n",
    " c\n",
    "=?utf-8?q?",
    "=?utf-8?b?YQ==?=",
    "?=",
    "=3D",
    "=\n",
    "Y2FzaCA=",
    "begin 644 a\n",
    "end\n",
    "`\n",
    "<a href=",
    "<a href=\"http://a.b/c?d=#\">",
    "<b>",
    "</b>",
    "<p>",
    "<div style=\"",
    "display:none",
    "color:#fff;background:white",
    "font:0/0 a",
    "<table><tr><td>",
    "<style>",
    "</style>",
    ".a#{display:none}",
    ".a .b>.c~.d+.e{color:red}",
    "<p class=\"a#\">",
    "<p id=a# class='a b c d'>",
    "@media (x) {",
    "/*",
    "*/",
    "<script>",
    "</script>",
    "<title>",
    "</title>",
    "<textarea>",
    "<select><option>",
    "<!--",
    "-->",
    "<![CDATA[",
    "<svg>",
    "&amp;",
    "&#x41;",
    "&notit",
    "data:a/b,",
    "<img src=\"data:image/png;base64,",
    "http://",
    "http://a.b/c?d=e ",
    "www.",
    "mailto:a@b ",
    "word# ",
];

/// Whether `fuzz/run` built this. The tests do not look at the clock.
#[allow(unexpected_cfgs)]
const IS_FUZZING: bool = cfg!(fuzzing);

/// Bytes of a message.
const LENGTH: usize = if IS_FUZZING { 512 << 10 } else { 16 << 10 };

/// Processor time for a message of [`LENGTH`]: a tenth of a second a megabyte, and three times that for what watches the
/// program here.
const MOST: Duration = Duration::from_millis(150);

pub fn run(data: &[u8]) {
    let message = message(data);
    let is_fast = || time(|| read(&message)).is_none_or(|time| time < MOST);
    // the processor may have been slow
    assert!((0..3).any(|_| is_fast()), "slow: {:?}", &message[..message.len().min(2_000)]);
}

/// The processor time of some work, to a few milliseconds; `None` in the tests, which do not look at the clock.
pub fn time(work: impl FnOnce()) -> Option<Duration> {
    let now = || {
        let of_thread = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        Some(Duration::from_nanos(of_thread.split(' ').next()?.parse().ok()?))
    };
    let begun = now();
    work();
    Some(now()? - begun?).filter(|_| IS_FUZZING)
}

/// Reads a message in every way.
pub fn read(raw: &[u8]) {
    looks_like_mail(raw);
    Author::read(raw, "a");
    annotate(raw, &super::mail::VERDICT, false);
    let message = Message::parse(raw, &Limits::default());
    message.for_each_piece(false, |_| ());
}

/// A message: up to sixteen groups of up to eight fragments, each group repeated; the rest of the length is of the last one.
pub fn message(data: &[u8]) -> Vec<u8> {
    let (mut choices, mut out, mut number) = (Choices(data), Vec::new(), 0);
    let mut add = |group: &[&str], out: &mut Vec<u8>| {
        for fragment in group {
            out.extend_from_slice(fragment.replace('#', &number.to_string()).as_bytes());
        }
        number += 1;
    };
    let mut group = Vec::new();
    for _ in 0..1 + choices.byte() % 16 {
        let n = 1 + choices.byte() % 8;
        group = (0..n).map(|_| choices.of(FRAGMENTS)).collect();
        let repetitions = 1 << (choices.byte() % 12);
        for _ in 0..repetitions {
            if out.len() < LENGTH / 2 {
                add(&group, &mut out);
            }
        }
    }
    while out.len() < LENGTH {
        add(&group, &mut out);
    }
    out.truncate(LENGTH);
    out
}
