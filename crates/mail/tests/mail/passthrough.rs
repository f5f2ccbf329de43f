//! Verdicts written into messages of every shape.
use proptest::prelude::*;
use tamis_mail::passthrough::{SpamStatus, Verdict, annotate, head_with, holds_verdict, label_field};
use tamis_mail::{Limits, Message};

const VERDICT: Verdict<'_> = Verdict {
    label: "ham",
    unsure: false,
    probability: 0.25,
    log_odds: -1.5,
    spam: Some(SpamStatus { is_spam: false, score: -1.5, threshold: 0.0 }),
    truncated: false,
    doubt: "",
    reasons: "",
    version: "1",
};
const LINES: [&str; 4] = [
    "X-Spam-Flag: NO",
    "X-Spam-Status: No, score=-1.50 required=0.00 tests=TAMIS version=1",
    "X-Spam-Level:",
    "X-Tamis: ham; probability=0.2500; log-odds=-1.50; version=1",
];

/// `@` in the expected message stands for the four lines, joined by line ends.
#[track_caller]
fn check(raw: &str, expected: &str) {
    let line_end = if raw.split_inclusive('\n').next().unwrap_or("").trim_end_matches('\n').ends_with('\r') {
        "\r\n"
    } else {
        "\n"
    };
    let expected = expected.replace('@', &LINES.join(line_end));
    let out = annotate(raw.as_bytes(), &VERDICT, false);
    assert_eq!(String::from_utf8_lossy(&out), expected);
    let again = annotate(&out, &VERDICT, false);
    assert_eq!(again, out, "annotated twice");
}

#[test]
fn shapes() {
    check("A: 1\n\nbody\n", "A: 1\n@\n\nbody\n");
    check("A: 1\r\nB: 2\n\r\nbody", "A: 1\r\nB: 2\n@\r\n\r\nbody");
    check("A: 1\nB: 2\r\n\r\nbody", "A: 1\nB: 2\r\n@\n\r\nbody");
    check("From a 2002\nA: 1\n 2\n\n", "From a 2002\nA: 1\n 2\n@\n\n");
    check("A: 1\n", "A: 1\n@\n");
    check("A: 1", "A: 1\n@");
    check("", "@\n");
    check("\nbody", "@\n\nbody");
    check("\r\nbody", "@\r\n\r\nbody");
    check("body at once\nmore\n", "@\nbody at once\nmore\n");
    check("A: 1\nno field\n\nbody", "A: 1\n@\nno field\n\nbody");
    check("A: 1\rB: 2\n\nbody\r", "A: 1\rB: 2\n@\n\nbody\r");
    check("A: \0\n\n\0", "A: \0\n@\n\n\0");
    check("A: \r", "A: \r\r\n@");
    check("A: 1\nB: \r", "A: 1\nB: \r\n@");
    check(" indented text", "@\n\n indented text");
    check(" indented\nContent-Type: text/plain\n\nbody", " indented\n@\nContent-Type: text/plain\n\nbody");
    check("\u{feff}A: 1\n\nbody", "\u{feff}A: 1\n@\n\nbody");
    check("\u{feff}body", "\u{feff}@\nbody");
}

/// Whatever stands before the header, readers pass over it with the added fields as without them.
#[test]
fn what_is_read_stays_the_same() {
    let mail = "From: a@example.org\nContent-Type: text/html\n\n<p>one<i>two</i>\n";
    for before in [
        "",
        "\n",
        "\r\n",
        "\n\n",
        " \n",
        "\t x\n",
        " a\n b\n",
        "\u{feff}",
        "no field\n",
        "From a 2002\n b\n",
        "\r",
        "\0\n",
    ] {
        let raw = format!("{before}{mail}");
        let out = annotate(raw.as_bytes(), &VERDICT, false);
        assert_eq!(annotate(&out, &VERDICT, false), out, "{raw:?}");
        let texts = |raw: &[u8]| {
            let message = Message::parse(raw, &Limits::default());
            let parts = message.parts().iter().filter_map(|part| part.text.clone());
            parts.collect::<Vec<_>>()
        };
        assert_eq!(texts(&out), texts(raw.as_bytes()), "{raw:?}");
    }
}

#[test]
fn older_verdicts_are_replaced() {
    check("X-Spam-Flag: YES\nA: 1\nx-spam-STATUS: Yes,\n\tscore=5\nB: 2\n\nbody", "A: 1\nB: 2\n@\n\nbody");
    check("X-Tamis : old\n\nX-Tamis: body\n", "@\n\nX-Tamis: body\n");
    check("A: 1\nX-Tamis: old", "A: 1\n@");
    check("A: 1\r\nB: 2\nX-Tamis: old", "A: 1\r\nB: 2\n@");
    check("X-Tamis: old", "@\n");
    let mixed = annotate(b"X-Tamis: old\r\nA: 1\n\n", &VERDICT, false);
    assert_eq!(annotate(&mixed, &VERDICT, false), mixed);
    check("X-Tamis: old\r\n", "@\r\n");
    check("X-Spam-Report: 1\nX-Tamis-Other: 1\n\n", "X-Spam-Report: 1\nX-Tamis-Other: 1\n@\n\n");
    let kept = annotate(b"X-Spam-Flag: YES\nX-Tamis: old\nX-Spam-Status: Yes\n\n", &VERDICT, true);
    let expected = format!("X-Spam-Flag: YES\nX-Spam-Status: Yes\n{}\n\n", LINES.join("\n"));
    assert_eq!(String::from_utf8_lossy(&kept), expected);
}

#[test]
fn forged_verdicts_behind_what_is_no_field_do_not_pass() {
    check(
        "A: 1\nno field\nX-Spam-Flag: NO\nB: 2\n\nX-Tamis: body",
        "A: 1\n@\nno field\nB: 2\n\nX-Tamis: body",
    );
    check("no field\nx-TAMIS \t: ham\n folded\n\tmore\nB: 2\r\n\r\nb", "@\nno field\nB: 2\r\n\r\nb");
    check("A: 1\r\nno field\r\nX-Tamis: ham\r\n", "A: 1\r\n@\r\nno field\r\n");
    check("A: 1\n: x\nX-Spam-Status: No\nX-Tamis: ham", "A: 1\n@\n: x\n");
    check(
        "no field\n X-Tamis: folded\nX-Tamis-Other: 1\n\n",
        "@\nno field\n X-Tamis: folded\nX-Tamis-Other: 1\n\n",
    );
    // some programs take a lone carriage return for the end of a line
    check("A: 1\rX-Tamis: ham\nB: 2\n\nbody\rX-Tamis: body", "A: 1\nB: 2\n@\n\nbody\rX-Tamis: body");
    check("A: 1\rX-Tamis: ham\rB: 2\rx-spam-flag:\r\n NO\r\n\r\n", "A: 1\rB: 2\r\n@\r\n\r\n");
    check("no field\rX-Tamis: ham", "@\nno field");
    let kept = annotate(b"no field\nX-Spam-Flag: NO\nX-Tamis: ham\n\n", &VERDICT, true);
    assert_eq!(
        String::from_utf8_lossy(&kept),
        format!("{}\nno field\nX-Spam-Flag: NO\n\n", LINES.join("\n"))
    );
}

#[test]
fn what_other_filters_would_be_believed_is_taken_out() {
    for forged in
        ["X-Spam-Level: *****", "x-spam-score: 99", "X-Bogosity: Ham, spamicity=0.0", "X-Spam-Flag: NO"]
    {
        check(&format!("A: 1\n{forged}\n\tmore\nB: 2\n\nbody"), "A: 1\nB: 2\n@\n\nbody");
        let kept = annotate(format!("{forged}\n\n").as_bytes(), &VERDICT, true);
        assert!(String::from_utf8(kept).unwrap().starts_with(forged));
    }
}

#[test]
fn a_level_has_an_asterisk_for_each_whole_nat() {
    let written = |score: f64| {
        let spam = Some(SpamStatus { is_spam: false, score, threshold: 2.0 });
        let out = annotate(b"", &Verdict { spam, ..VERDICT }, false);
        let out = String::from_utf8(out).unwrap();
        out.lines().find_map(|line| line.strip_prefix("X-Spam-Level:")).unwrap().to_owned()
    };
    for (score, stars) in [(0.99, ""), (1.0, " *"), (6.64, " ******"), (-7.0, ""), (f64::NAN, "")] {
        assert_eq!(written(score), stars, "{score}");
    }
    assert_eq!(written(f64::INFINITY), format!(" {}", "*".repeat(50)));
}

#[test]
fn verdicts() {
    let show = |verdict: Verdict<'_>| String::from_utf8(annotate(b"", &verdict, false)).unwrap();
    let status = SpamStatus { is_spam: true, score: 2.5, threshold: 0.5 };
    let spam = Verdict { label: "junk", spam: Some(status), ..VERDICT };
    assert!(
        show(spam).contains("Flag: YES\n") && show(spam).contains("Status: Yes, score=2.50 required=0.50 ")
    );
    let unsure = Verdict { unsure: true, ..VERDICT };
    assert!(show(unsure).contains("Flag: NO\n") && show(unsure).contains("X-Tamis: unsure; "));
    let of_no_spam = Verdict { spam: None, ..VERDICT };
    assert_eq!(show(of_no_spam), format!("{}\n", LINES[3]));
    let replaced = annotate(b"X-Spam-Flag: YES\nA: 1\n\n", &of_no_spam, false);
    assert_eq!(String::from_utf8_lossy(&replaced), format!("A: 1\n{}\n\n", LINES[3]));
    let cut = show(Verdict { unsure: true, truncated: true, ..VERDICT });
    assert!(
        cut.contains("X-Tamis: unsure; probability=0.2500; log-odds=-1.50; truncated; version=1\n"),
        "{cut}"
    );
    let odd = show(Verdict { label: "a\r\nX-Evil: 1;\u{85}\0é", version: "\n\n", ..VERDICT });
    assert!(odd.contains("X-Tamis: a__X-Evil: 1___é; ") && odd.lines().count() == 4, "{odd}");
    for value in [f64::NAN, f64::INFINITY, f64::MAX, -0.0] {
        let spam = Some(SpamStatus { is_spam: false, score: value, threshold: value });
        let odd = show(Verdict { probability: value, log_odds: value, spam, ..VERDICT });
        assert_eq!(odd.lines().count(), 4);
    }
}

#[test]
fn a_label_stands_alone_in_its_field_and_forged_ones_are_taken_out() {
    let raw = b"A: 1\nX-Tamis-Label: forged\nno field\rx-tamis-LABEL : 2\n\nX-Tamis-Label: body";
    let written = |label: &str, keep_headers| {
        let head = head_with(raw, &[label_field(label)], keep_headers);
        String::from_utf8([&head.bytes, &raw[head.rest..]].concat()).unwrap()
    };
    for keep_headers in [false, true] {
        let expected = "A: 1\nX-Tamis-Label: a; b/Ä\nno field\n\nX-Tamis-Label: body";
        assert_eq!(written("a; b/Ä", keep_headers), expected);
        let none = head_with(raw, &[], keep_headers);
        assert!(!String::from_utf8_lossy(&none.bytes).contains("Label"));
    }
    assert!(written("a\r\nX-Evil: 1\u{85}", false).contains("\nX-Tamis-Label: a__X-Evil: 1_\nno"));
    assert_eq!(label_field(&"é".repeat(500)).1, "é".repeat(200));
    assert!(holds_verdict("x-tamis-label"));
}

#[test]
fn no_verdict_is_believed_where_the_header_ends_late() {
    let parse = |raw: &[u8]| Message::parse(raw, &Limits::default());
    for junk in ["no field", ": no name", "X A B: v", "\0", "\u{e9}: x", "no field\rX-Tamis: ham"] {
        let raw =
            format!("A: 1\n{junk}\nX-Tamis: ham\nX-Spam-Flag: NO\nMIME-Version: 1.0\nno field\nB: 2\n\nbody");
        let message = parse(raw.as_bytes());
        assert_eq!((message.header("x-tamis"), message.header("x-spam-flag")), (None, None), "{junk:?}");
        assert_eq!((message.header("mime-version"), message.header("b")), (Some("1.0"), None), "{junk:?}");
        assert!(!message.body().contains("ham"), "{junk:?}");
        let out = annotate(raw.as_bytes(), &VERDICT, false);
        assert_eq!(parse(&out), message, "{junk:?}");
        assert_eq!(String::from_utf8_lossy(&out).matches("X-Tamis:").count(), 1, "{junk:?}");
    }
}

fn find(bytes: &[u8], what: &[u8]) -> usize {
    bytes.windows(what.len()).position(|window| window == what).unwrap()
}

/// The message without the three lines that were added to it.
fn without_lines(out: &[u8]) -> Vec<u8> {
    let (start, last) = (find(out, LINES[0].as_bytes()), find(out, LINES[3].as_bytes()));
    let end = last + LINES[3].len();
    let line_end: &[u8] = if out[..last].ends_with(b"\r\n") { b"\r\n" } else { b"\n" };
    match out[end..].strip_prefix(line_end) {
        Some([first @ (b'\r' | b'\n'), rest @ ..]) => {
            // in front of indented text, an empty line was added
            let added = if *first == b'\r' { rest.get(1..).unwrap_or(rest) } else { rest };
            let indented = start == 0 && matches!(added.first(), Some(b' ' | b'\t')) && !added.is_empty();
            if indented { added.to_vec() } else { [&out[..start], &out[end + line_end.len()..]].concat() }
        }
        Some(rest) => [&out[..start], rest].concat(),
        None => out[..start - line_end.len()].to_vec(),
    }
}

proptest! {
    #[test]
    fn only_four_lines_are_added(raw in "([A-Z]: [a-z]{0,3}|From x|[a-z ]{0,3}|\0)((\r\n|\n|\r|\n |\n\n|\n)([A-Z]: [a-z]{0,3}|[a-z]{0,3}|\0)){0,8}\n?") {
        let out = annotate(raw.as_bytes(), &VERDICT, false);
        // indented text at once is told from an empty line and indented text only by what went in
        if !raw.starts_with([' ', '\t', '\n', '\r']) {
            prop_assert_eq!(without_lines(&out), raw.as_bytes());
        }
        prop_assert_eq!(annotate(&out, &VERDICT, false), out);
    }

    #[test]
    fn twice_is_once(raw in "((X-Tamis: |x-spam-flag:|X-Bogosity: |[A-Z]: |From |)[a-z]{0,2}(\r|\n|\r\n|\n |)){0,8}") {
        let once = annotate(raw.as_bytes(), &VERDICT, false);
        prop_assert_eq!(annotate(&once, &VERDICT, false), once);
    }

    #[test]
    fn no_forged_verdict_passes_or_is_evidence(raw in "((X-Tamis ?:|x-spam-flag:|X-Spam-Level:|[A-Z]:|From |[a-z]|) ?[a-z]{0,2}(\r|\n|\r\n|\n |\r |\n\n)){0,8}") {
        let out = annotate(raw.as_bytes(), &VERDICT, false);
        let out = String::from_utf8(out).unwrap();
        let count = |lines: &mut dyn Iterator<Item = &str>| {
            let header = lines.take_while(|line| !line.is_empty());
            header.filter(|l| ["x-tamis", "x-spam"].iter().any(|n| l.to_lowercase().starts_with(n))).count()
        };
        prop_assert_eq!(count(&mut out.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line))), 4);
        // as read by those who take a lone carriage return for the end of a line
        let universal = out.replace("\r\n", "\n").replace('\r', "\n");
        prop_assert!(count(&mut universal.split('\n')) <= 4, "{:?}", out);
        let parse = |raw: &str| Message::parse(raw.as_bytes(), &Limits::default());
        prop_assert_eq!(parse(&out), parse(&raw));
    }

    #[test]
    fn any_bytes_come_out(raw: Vec<u8>, keep: bool) {
        let out = annotate(&raw, &VERDICT, keep);
        prop_assert!(out.len() <= raw.len() + LINES.join("\r\n").len() + 4);
        prop_assert_eq!(annotate(&annotate(&raw, &VERDICT, false), &VERDICT, false), annotate(&raw, &VERDICT, false));
    }

    #[test]
    fn labels_cannot_add_lines(label: String, version: String) {
        let out = annotate(b"A: 1\n\nbody", &Verdict { label: &label, version: &version, ..VERDICT }, false);
        let text = String::from_utf8(out).unwrap();
        prop_assert_eq!(text.split('\n').count(), 7);
        prop_assert!(!text.contains('\r'));
    }
}
