//! HTML to text.
pub(crate) mod markup;
pub(crate) mod reader;
#[cfg(any(test, feature = "reference"))]
pub mod standard;

pub use reader::HtmlText;

use memchr::memchr;
use reader::{HtmlReader, MOST_LINKS, close_comments};
use std::borrow::Cow;

/// The text of an HTML document, including hidden text.
///
/// Scripts, style sheets and comments are dropped, character references decoded, the `alt` text of images kept.
/// Formatting tags are removed, since spam splits words with them (`vi<b></b>agra`), and so are unknown tags, which
/// browsers ignore. Any other tag, and the end of a link, becomes a line break, which keeps words apart. Takes linear
/// time on any input.
///
/// ```
/// use tamis_mail::html_to_text;
///
/// assert_eq!(html_to_text("<h1>Vi<b></b>agra</h1>now &amp; <i>here</i>"), "Viagra\nnow & here");
/// assert_eq!(html_to_text("<a href=x>here</a><img><div>hidden"), "here\nhidden");
/// ```
pub fn html_to_text(html: &str) -> String {
    read(html, 0).text
}

/// The links in `href` and `src` attributes: http, https, ftp or mailto.
///
/// The first 200 in order, with repetitions, character references decoded.
///
/// ```
/// use tamis_mail::html_links;
///
/// let html = r#"<a href="HTTP://example.org/?a&amp;b">x</a> <img src='cid:1'> <a href=mailto:a@b.org>"#;
/// assert_eq!(html_links(html), ["HTTP://example.org/?a&b", "mailto:a@b.org"]);
/// ```
pub fn html_links(html: &str) -> Vec<String> {
    read_html(html).links
}

/// Text and links in one pass.
pub fn read_html(html: &str) -> HtmlText {
    read(html, MOST_LINKS)
}

fn read(html: &str, most_links: usize) -> HtmlText {
    let mut html = close_comments(html);
    if memchr(b'\r', html.as_bytes()).is_some() {
        html = Cow::Owned(html.replace("\r\n", "\n").replace('\r', "\n"));
    }
    HtmlReader::read(&html, most_links)
}

/// Whether a text looks like HTML: an `<html` tag near its start.
pub(crate) fn looks_like_html(text: &str) -> bool {
    let head = &text.as_bytes()[..text.len().min(2_000)];
    memchr::memchr_iter(b'<', head)
        .any(|at| head[at..].get(..5).is_some_and(|t| t.eq_ignore_ascii_case(b"<html")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tamis_testing::check_linear;

    #[test]
    fn text() {
        for (html, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("vi<b></b>ag<font color=red>r</font>a <span>x</span>y", "viagra xy"),
            ("vi<!-- x -->ag<!---->r<!x>a<x-unknown>!</x-unknown>", "viagra!"),
            ("a<!-- b -->c<!--rotate>d<b>e</b><!----", "acde"),
            ("sub<a name=x>scribe</a>now", "subscribe\nnow"),
            ("one<br>two<p>three</p>four<td>five<li>six", "one\ntwo\nthree\nfour\nfive\nsix"),
            ("a<input>b<button>c</button>d<select><option>e</select>f", "a\nb\nc\nd\ne\nf"),
            ("<TITLE>Title</TITLE><H2>Head</H2>", "Title\nHead\n"),
            ("a <br> b", "a  b"),
            ("a<script>if (x<y) z('</p>')</script>b", "a\nb"),
            ("a<style>p { color: red }</style>b<STYLE><!-- </STYLE>c", "a\nb\nc"),
            ("a<script>never closed", "a\n"),
            ("<textarea>a<b>c</b></textarea><template>d</template>", "ac\nd\n"),
            ("<p style='display:none'>hidden</p><div hidden>too", "hidden\ntoo"),
            ("a<img alt='b &amp; c' src=x title=t>d", "a\nb & c\nd"),
            ("&lt;&eacute;&#8364;&#x41;&nosuch;&amp", "<é€A&nosuch;&"),
            ("1 < 2 > 1 <3 </> <>", "1 < 2 > 1 <3  <>"),
            ("cut <a href='x", "cut "),
        ] {
            assert_eq!(html_to_text(html), expected, "{html:?}");
        }
    }

    #[test]
    fn links() {
        let html = "<a href='http://a/?x=1&amp;y=2'><img src=HTTPS://b><a href=' mailto:c@d '><a href=ftp://e>\
                    <a href='javascript:f()'><a href=/g><a href=#h><img src=cid:i><a href><a title='http://j'>";
        assert_eq!(html_links(html), ["http://a/?x=1&y=2", "HTTPS://b", "mailto:c@d", "ftp://e"]);
        assert_eq!(html_links(&"<a href=http://x>".repeat(1_000)).len(), MOST_LINKS);
    }

    #[test]
    fn html_is_recognised() {
        assert!(looks_like_html("<!doctype html>\n<HTML lang=en>"));
        assert!(!looks_like_html("<htm <b>html") && !looks_like_html(""));
        assert!(!looks_like_html(&format!("{}<html>", " ".repeat(2_000))));
    }

    #[test]
    fn hostile_documents_are_linear() {
        let units = [
            "<",
            "<a ",
            "<a b=\"",
            "<!--",
            "<b>",
            "</",
            "&",
            "&#",
            "<a b=c ",
            "<script>",
            "<script><!--",
            "</script",
            "<div>",
            "<![CDATA[",
            "é<",
            "x",
        ];
        for once in ["", "<a href=\"", "<a ", "<", "<script><!--"] {
            check_linear(&units, |text| drop(read_html(&format!("{once}{text}"))));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn equals_the_standard(
            html in "(</?(a|b|p|br|SCRIPT|style|img|scripts|é) ?|>|/>|<!-{0,3}|-{1,3}!?>|-|[ =\"'&;/#x0-9\t\n\r\x0c\0]|\
                     (href|Alt|src|b|é)=?|&(amp|copy|nbsp|AM|notin|#x?)?;?|(http|MAILTO):|<[?!/]|.){0,60}"
        ) {
            prop_assert_eq!(read_html(&html), standard::read_html(&html));
        }

        #[test]
        fn scripts_equal_the_standard(
            html in "<(script|style)>(<script|</script|</style|</x|[ >/]|<!--|--!?>|-|<|&lt;|.){0,30}"
        ) {
            prop_assert_eq!(read_html(&html), standard::read_html(&html));
        }

        #[test]
        fn text_without_markup_stays(text in "[^<&\r\0]*") {
            prop_assert_eq!(html_to_text(&text), text);
        }
    }
}
