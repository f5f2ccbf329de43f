//! The parts of a multipart body (RFC 2046, section 5.1.1).
use crate::message::fields::line_end;
use tamis_tokenizer::bits::{BLOCK, bits, positions_by};

/// The longest boundary that is guessed, in bytes.
const LONGEST_GUESSED: usize = 200;

/// What a line that begins with two hyphens costs to look at, in bytes that are passed over.
const COST_OF_LINE: usize = 16;

/// The regions between the lines of the first of `boundaries` that the body has; `None` if it has none of them. A closing
/// line ends the last region only if no other boundary line follows.
///
/// One pass finds all, up to `most` regions. What it costs is taken from `left`.
pub(crate) fn body_parts<'a, B: AsRef<[u8]>>(
    body: &'a [u8],
    boundaries: &[B],
    most: usize,
    left: &mut usize,
) -> Option<Vec<&'a [u8]>> {
    let (mut best, mut lines) = (boundaries.len(), Vec::new());
    for (start, end) in hyphen_lines(body, left) {
        let closes = |boundary: &B| match body[start + 2..end].strip_prefix(boundary.as_ref())?.trim_ascii() {
            b"" => Some(false),
            b"--" => Some(true),
            _ => None,
        };
        let mut found = boundaries.iter().take(best.saturating_add(1)).map(closes).enumerate();
        if let Some((n, closes)) = found.find_map(|(n, closes)| Some((n, closes?))) {
            lines.truncate(if n < best { 0 } else { lines.len() });
            best = n;
            lines.extend((lines.len() <= most).then_some((start, end, closes)));
        }
    }
    let n = lines.iter().rposition(|(.., closes)| !closes).map_or(0, |last_open| last_open + 1);
    let region = |n: usize| {
        let region = &body[lines[n].1..lines.get(n + 1).map_or(body.len(), |(start, ..)| *start)];
        // the line end before a boundary belongs to the boundary
        let region = region.strip_suffix(b"\n").unwrap_or(region);
        region.strip_suffix(b"\r").unwrap_or(region)
    };
    (!lines.is_empty()).then(|| (0..n).map(region).collect())
}

/// The boundary that the first line looks like that may be one: two hyphens, and a MIME field in the line after it.
pub(crate) fn guess_boundary<'a>(body: &'a [u8], left: &mut usize) -> Option<&'a [u8]> {
    hyphen_lines(body, left).find_map(|(start, end)| {
        let boundary = body[start + 2..end].trim_ascii_end();
        let name = body[end..].get(..8)?;
        let is_boundary = name.eq_ignore_ascii_case(b"content-") && boundary.len() <= LONGEST_GUESSED;
        is_boundary.then_some(boundary)
    })
}

/// Start and end of the lines that begin with two hyphens, perhaps after a carriage return. What they cost is taken from
/// `left`.
fn hyphen_lines<'a>(body: &'a [u8], left: &'a mut usize) -> impl Iterator<Item = (usize, usize)> {
    let mut pay = move |cost: usize| {
        #[cfg(test)]
        tamis_testing::step(cost);
        *left = left.saturating_sub(cost);
    };
    pay(body.len());
    let mut was_end = 1;
    let after_line_ends = positions_by(body, move |block| {
        let ends = bits(block, |byte| byte == b'\n' || byte == b'\r');
        let starts = ends << 1 | was_end;
        was_end = ends >> (BLOCK - 1);
        starts & bits(block, |byte| byte == b'-')
    });
    after_line_ends.filter_map(move |start| {
        let begins_line = matches!(body[..start], [] | [b'\r'] | [.., b'\n'] | [.., b'\n', b'\r']);
        (begins_line && body.get(start + 1) == Some(&b'-')).then(|| {
            pay(COST_OF_LINE);
            (start, line_end(body, start))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_testing::check_linear;

    fn check(body: &str, expected: Option<&[&str]>) {
        let found = body_parts(body.as_bytes(), &["b"], 9, &mut 0);
        let found: Option<Vec<_>> =
            found.map(|s| s.into_iter().map(|s| str::from_utf8(s).unwrap()).collect());
        assert_eq!(found.as_deref(), expected, "{body:?}");
    }

    #[test]
    fn sections() {
        check("", None);
        check("text\n --b\nx--b\n--bc\n-b\n", None);
        check("--b", Some(&[""]));
        check("--b--", Some(&[]));
        check("--b\n--b\n\n--b--\n", Some(&["", ""]));
        check("preamble\n--b \nA\n\n--bb\n--b\t\r\nB\r\n--b--\nepilogue\n", Some(&["A\n\n--bb", "B"]));
        check("--b\r\nA\r\n\r\n--b\r\nno end\r\n", Some(&["A\r\n", "no end"]));
        // what closes ends nothing if the boundary comes again
        check("--b\nA\n--b--\nB\n--b\nC\n--b--\nepilogue\n", Some(&["A", "B", "C"]));
        check("--b--\n--b\nA\n--b--\n--b--\n", Some(&["", "A"]));
    }

    #[test]
    fn the_first_boundary_that_the_body_has_counts() {
        let body = b"--c\nA\n--b\nB\n--a--\n--b\nC\n--b--\n";
        for (boundaries, most, expected) in [
            (&["x", "b", "c"][..], 9, Some(&["B\n--a--", "C"][..])),
            (&["c", "b"], 9, Some(&["A\n--b\nB\n--a--\n--b\nC\n--b--"])),
            (&["b"], 0, Some(&["B\n--a--\n--b\nC\n--b--"])),
            (&["x", "y"], 9, None),
            (&[], 9, None),
        ] {
            let found = body_parts(body, boundaries, most, &mut 0);
            let expected = expected.map(|all| all.iter().map(|part| part.as_bytes()).collect());
            assert_eq!(found, expected, "{boundaries:?}");
        }
    }

    #[test]
    fn guesses() {
        for (body, expected) in [
            ("x\n--\n--a\ntext\n--c \nContent-Type: a/b\n\nA\n--c--\n", Some("c")),
            ("--\r\ncontent-id: a\r\n\r\nA\r\n", Some("")),
            ("--a\n\nContent-Type: text/plain\n", None),
            ("--", None),
        ] {
            let found = guess_boundary(body.as_bytes(), &mut 0);
            assert_eq!(found.map(|found| str::from_utf8(found).unwrap()), expected, "{body:?}");
        }
    }

    #[test]
    fn hostile_bodies_are_linear() {
        for unit in ["--b--\n", "--b--\n--b\n", "--b\n--b--\n--b--\n", "--\n", "--b--", "--b \n"] {
            check_linear(&[unit], |text| {
                for body in [text.to_owned(), format!("{text}--b\n"), format!("{text}--b\nContent-")] {
                    body_parts(body.as_bytes(), &["c", "b"], usize::MAX, &mut 0);
                    guess_boundary(body.as_bytes(), &mut 0);
                }
            });
        }
    }
}
