//! `data:` URIs in HTML (RFC 2397): contents that other mail attaches.
use crate::message::parameters::MimeParameters;
use crate::message::part::{ContentDigest, Part, SHORTEST_CONTENT};
use memchr::{memchr, memmem, memrchr2};
use std::borrow::Cow;

/// The longest type with its parameters, in bytes.
const LONGEST_TYPE: usize = 200;

/// Takes the contents of long `data:` URIs out of HTML and returns them as parts. Only those within a tag or the `url()`
/// of a style sheet, which nobody sees.
pub(crate) fn extract(html: Cow<'_, [u8]>, depth: usize) -> (Cow<'_, [u8]>, Vec<Part>) {
    let (mut out, mut parts) = (Vec::new(), Vec::new());
    let (mut copied, mut searched, mut is_in_tag) = (0, 0, false);
    for at in memmem::find_iter(&html, b"data:") {
        let Some(before) = html.get(searched..at) else { continue };
        #[cfg(test)]
        tamis_testing::step(before.len());
        is_in_tag = memrchr2(b'<', b'>', before).map_or(is_in_tag, |last| before[last] == b'<');
        searched = at;
        if !is_in_tag && !follows_url(before) {
            continue;
        }
        let Some((part, start, end)) = read(&html, at, depth) else { continue };
        out.extend_from_slice(&html[copied..start]);
        (copied, searched) = (end, end);
        parts.push(part);
    }
    if parts.is_empty() {
        return (html, parts);
    }
    out.extend_from_slice(&html[copied..]);
    (Cow::Owned(out), parts)
}

/// The URI at a position as a part, and where its content starts and ends.
fn read(html: &[u8], at: usize, depth: usize) -> Option<(Part, usize, usize)> {
    let head = &html[at + 5..];
    let head = &head[..memchr(b',', &head[..head.len().min(LONGEST_TYPE)])?];
    let start = at + 5 + head.len() + 1;
    let ends = |byte: &u8| matches!(byte, b'"' | b'\'' | b')' | b'<' | b'>' | b' ' | b'\t');
    let length = html[start..].iter().position(ends).unwrap_or(html.len() - start);
    #[cfg(test)]
    tamis_testing::step(length);
    let content = &html[start..start + length];
    let head = str::from_utf8(head).ok().filter(|_| length >= SHORTEST_CONTENT)?;
    let part = Part {
        depth,
        content_type: MimeParameters::read(head).value,
        transfer_encoding: head.ends_with("base64").then(|| "base64".to_owned()),
        is_attached: true,
        content: ContentDigest::of(content),
        ..Part::default()
    };
    (!part.content_type.is_empty()).then_some((part, start, start + length))
}

/// Whether the text ends in `url(`, perhaps with a quote after it.
fn follows_url(text: &[u8]) -> bool {
    let text = text.strip_suffix(b"\"").or_else(|| text.strip_suffix(b"'")).unwrap_or(text);
    text.len() >= 4 && text[text.len() - 4..].eq_ignore_ascii_case(b"url(")
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
            ("<style>p{background:url('data:font/woff2;charset=x;base64,LONG')}</style>b", "font/woff2"),
            ("<p>data:image/png;base64,LONG</p>", ""),
            ("<p title=\"data:,LONG\">", ""),
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
    }
}
