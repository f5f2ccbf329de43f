//! Splitting takes time that is linear in what is split.
use super::*;
use crate::message::Message;
use tamis_testing::check_linear;

#[test]
fn hostile_messages_are_linear() {
    let multipart = "Content-Type: multipart/mixed; boundary=b\n\n";
    let nested = format!("--b\n{multipart}");
    let units = [
        "--b\n",
        "--b",
        "--b\n\n",
        "\n--",
        "\n--c\n",
        &nested,
        "Content-Type: message/rfc822\n\n",
        "A: b\n",
        " c\n",
    ];
    let boundless = Limits {
        bytes: usize::MAX,
        parts: usize::MAX,
        headers: usize::MAX,
        text: usize::MAX,
        ..Limits::default()
    };
    let opened = format!("{multipart}--b\n\n");
    let file = "Content-Type: text/plain; name=a.eml\n\nFrom: a\nTo: b\n\n";
    for once in
        ["", file, multipart, &opened, "Content-Type: multipart/digest; boundary=b\n\n", "Subject: x\n"]
    {
        check_linear(&units, |text| {
            for attached in [None, Some(Vec::new())] {
                read_parts(format!("{once}{text}").as_bytes(), &boundless, attached, &mut |field| {
                    drop(field.map(Field::unfolded))
                });
            }
        });
    }
}
/// Nested multiparts, then nested messages, each of which names boundaries of which the body has the last one, or none.
fn nested(depth: usize, boundaries: usize, more: &str, tail: &str) -> Vec<u8> {
    let mut raw = String::new();
    for level in 0..2 * depth {
        let named: String = (1..boundaries).map(|n| format!("; boundary=x{level}-{n}")).collect();
        raw += &match level < depth {
            true => format!("Content-Type: multipart/a{named}; boundary=b{level}\n{more}\n--b{level}\n"),
            false => format!("Content-Type: message/rfc822{named}\n{more}\n"),
        };
    }
    raw += tail;
    raw.into_bytes()
}

#[test]
fn the_work_does_not_grow_with_depth_times_boundaries_times_length() {
    let tails = ["-", "\n", "--\n", "--b0--\n", "x\n", "=\n", "=3D", "Y2FzaCA=\n", "<p data:,"];
    let encodings = ["7bit base64", "base64", "quoted-printable"];
    let encodings = encodings.map(|it| format!("Content-Transfer-Encoding: {it}\n"));
    let html = "Content-Type: text/html\n".to_owned();
    for more in encodings.iter().chain([&html, &String::new()]) {
        for (depth, tail) in [1, 8, 64].into_iter().flat_map(|depth| tails.map(|tail| (depth, tail))) {
            for length in [1_000, 60_000] {
                let tail = tail.repeat(length / tail.len());
                for boundaries in [1, 8] {
                    let raw = nested(depth, boundaries, more, &tail);
                    let steps = tamis_testing::steps(|| drop(Message::parse(&raw, &Limits::default())));
                    // a line of hyphens is passed over twice; the last pass may be of more than was left
                    let most = 2 * (FREE + MOST_PASSES * raw.len()) + 16 * raw.len();
                    assert!(
                        steps < most,
                        "{depth} {boundaries} {length} {more:?}: {steps} steps for {} bytes",
                        raw.len(),
                    );
                }
            }
        }
    }
}

#[test]
fn only_fields_are_found_in_one_pass() {
    for (body, expected) in [
        ("", true),
        ("\n \n\r\n", true),
        ("A: b\n\nC: d\n e\n\r\nF: g", true),
        ("A: b\n\n\n \n", true),
        ("A: b\n\ntext\n", false),
        ("A: b\n \n\ntext\n", false),
    ] {
        assert_eq!(is_only_fields(body.as_bytes()), expected, "{body:?}");
    }
    let white = "\n".repeat(30_000) + " ";
    check_linear(&["A: b\n\n", "A: \u{e9}\n\n", "\n"], |text| {
        is_only_fields(format!("{text}{}", &white[..text.len().min(white.len())]).as_bytes());
    });
}
