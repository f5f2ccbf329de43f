//! `data:` URIs in HTML (RFC 2397): contents that other mail attaches.
use crate::message::parameters::MimeParameters;
use crate::message::part::{ContentDigest, Part};
use memchr::{memchr, memmem, memrchr2};
use std::borrow::Cow;
use std::ops::Range;

/// The longest type with its parameters, in bytes.
const LONGEST_TYPE: usize = 200;

/// Takes the contents of long `data:` URIs out of HTML and returns them as parts. Only those within a tag, which nobody
/// sees.
pub(crate) fn extract(html: Cow<'_, [u8]>, depth: usize) -> (Cow<'_, [u8]>, Vec<Part>) {
    let (mut out, mut parts) = (Vec::new(), Vec::new());
    let (mut copied, mut searched, mut done, mut is_in_tag) = (0, 0, 0, false);
    for at in memmem::find_iter(&html, b"data:") {
        if at < done {
            continue;
        }
        let before = &html[searched..at];
        #[cfg(test)]
        tamis_testing::step(before.len());
        is_in_tag = memrchr2(b'<', b'>', before).map_or(is_in_tag, |last| before[last] == b'<');
        searched = at;
        if is_in_tag && let Some((part, content)) = read(&html[at..], depth) {
            // what lies within a short one is shorter yet
            done = at + content.end;
            if let Some(part) = part {
                out.extend_from_slice(&html[copied..at + content.start]);
                (copied, searched) = (done, done);
                parts.push(part);
            }
        }
    }
    if parts.is_empty() {
        return (html, parts);
    }
    out.extend_from_slice(&html[copied..]);
    (Cow::Owned(out), parts)
}

/// Where the content of the URI at the beginning is, and the URI as a part; no part if it is short.
fn read(uri: &[u8], depth: usize) -> Option<(Option<Part>, Range<usize>)> {
    let comma = memchr(b',', &uri[..uri.len().min(LONGEST_TYPE)])?;
    let head = str::from_utf8(&uri[5..comma]).ok()?;
    let content = uri[comma + 1..].split(|byte| matches!(byte, b'"' | b'\'' | b'<' | b'>' | b' ')).next()?;
    #[cfg(test)]
    tamis_testing::step(content.len());
    let part = ContentDigest::of(content).map(|digest| Part {
        depth,
        content_type: MimeParameters::read(head).value,
        transfer_encoding: head.ends_with("base64").then(|| "base64".to_owned()),
        is_attached: true,
        content: Some(digest),
        ..Part::default()
    });
    Some((part, comma + 1..comma + 1 + content.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_testing::check_linear;

    #[test]
    fn long_contents_are_parts() {
        let long = "iVBORw0KGgo=".repeat(30);
        for (html, expected) in [
            ("<img src=\"data:image/png;base64,LONG\" alt=a>b", "image/png"),
            ("<img src=data:image/PNG;base64,LONG alt=a>b", "image/png"),
            ("<p style=\"background:url('data:font/woff2;charset=x;base64,LONG')\">b", "font/woff2"),
            ("<p title=\"data:,LONG\">", ""),
            ("<p>data:image/png;base64,LONG</p>", ""),
            ("<img src=\"data:image/png;base64,iVBORw0KGgo=\">", ""),
            ("<img src=\"data:image/png;base64 LONG\">", ""),
        ] {
            let raw = html.replace("LONG", &long);
            let (text, parts) = extract(Cow::Borrowed(raw.as_bytes()), 1);
            let kinds: Vec<_> = parts.iter().map(|part| part.content_type.as_str()).collect();
            assert_eq!(kinds.concat(), expected, "{html}");
            let kept = if parts.is_empty() { raw.clone() } else { html.replace("LONG", "") };
            assert_eq!(str::from_utf8(&text), Ok(kept.as_str()));
            assert!(parts.iter().all(|part| part.content == ContentDigest::of(long.as_bytes())));
        }
    }

    #[test]
    fn hostile_html_is_linear() {
        let units = ["data:", "data:,", "<data:,", "<a data:a/b,\"", "url(data:a/b,", "data:a/b,<"];
        check_linear(&units, |text| drop(extract(Cow::Borrowed(text.as_bytes()), 1)));
        // each is short, since line ends do not count
        let html = format!("<a {}{}>", "data:,".repeat(40), "\n".repeat(30_000));
        let work = || drop(extract(Cow::Borrowed(html.as_bytes()), 1));
        assert!(tamis_testing::steps(work) < 2 * html.len());
    }
}
