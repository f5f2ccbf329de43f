//! HTML to text.
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, State, Tokenizer};
use std::borrow::Cow;

/// Links kept of one document.
const MOST_LINKS: usize = 200;

/// What [`read_html`] finds in a document.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HtmlText {
    /// The text: see [`html_to_text`].
    pub text: String,
    /// The links: see [`html_links`].
    pub links: Vec<String>,
}

/// The text of an HTML document as its reader sees it, hidden text included.
///
/// Scripts, style sheets and comments are dropped, character references decoded, the `alt` text of images
/// kept. Tags that only format vanish, for spam hides words in them (`vi<b></b>agra`); every other tag of
/// HTML, and the end of a link, becomes a line break, so that words on its sides stay apart. Unknown tags
/// vanish: browsers show nothing for them. Linear in time, whatever the document.
///
/// ```
/// use tamis_mail::html_to_text;
///
/// assert_eq!(html_to_text("<h1>Vi<b></b>agra</h1>now &amp; <i>here</i>"), "Viagra\nnow & here");
/// assert_eq!(html_to_text("<a href=x>here</a><img><div>hidden"), "here\nhidden");
/// ```
pub fn html_to_text(html: &str) -> String {
    read_html(html).text
}

/// The `href` and `src` attributes that lead elsewhere: by http, https, ftp or mailto.
///
/// The first 200 in order, repeated ones too, character references decoded.
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
    let html = close_comments(html);
    let mut reader = Reader::default();
    let emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| reader.event(&event));
    let mut tokenizer = Tokenizer::new_with_emitter(&*html, emitter);
    while let Some(Ok(state)) = tokenizer.next() {
        tokenizer.set_state(state);
    }
    drop(tokenizer);
    reader.found
}

/// The document with comments that never end made to end with their tag, as mail readers let them: the
/// standard has the rest of the document vanish in them, and a spammer's text from the filter.
fn close_comments(html: &str) -> Cow<'_, str> {
    let (closed, open) = html.split_at(html.rfind("-->").map_or(0, |at| at + 3));
    if !open.contains("<!--") {
        return Cow::Borrowed(html);
    }
    Cow::Owned([closed, &open.replace("<!--", "<?")].concat()) // a processing instruction: ends at `>`
}

/// Whether a text says early on that it is HTML.
pub(crate) fn looks_like_html(text: &str) -> bool {
    let head = &text.as_bytes()[..text.len().min(2_000)];
    memchr::memchr_iter(b'<', head)
        .any(|at| head[at..].get(..5).is_some_and(|t| t.eq_ignore_ascii_case(b"<html")))
}

#[derive(Default)]
struct Reader {
    found: HtmlText,
    /// The contents of the element that begins are not to be read, and in this state of the tokenizer.
    raw_text: Option<State>,
    /// Within a script or style sheet.
    skipping: bool,
    attribute: Attribute,
}

#[derive(Default)]
enum Attribute {
    Alt,
    Link,
    #[default]
    Other,
}

impl Reader {
    /// Takes in one event; the answer is the state the tokenizer must go on in.
    fn event(&mut self, event: &CallbackEvent<'_>) -> Option<State> {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.attribute = Attribute::Other;
                self.raw_text = match *name {
                    b"script" => Some(State::ScriptData),
                    b"style" => Some(State::RawText),
                    _ => None,
                };
                if is_separator(name) {
                    self.separate();
                }
            }
            CallbackEvent::CloseStartTag { .. } => {
                self.skipping = self.raw_text.is_some();
                return self.raw_text.take();
            }
            CallbackEvent::EndTag { name } => {
                self.skipping = false;
                if *name == b"a" || is_separator(name) {
                    self.separate();
                }
            }
            CallbackEvent::AttributeName { name } => {
                self.attribute = match *name {
                    b"alt" => Attribute::Alt,
                    b"href" | b"src" => Attribute::Link,
                    _ => Attribute::Other,
                };
            }
            CallbackEvent::AttributeValue { value } => self.attribute_value(value),
            CallbackEvent::String { value } if !self.skipping => {
                self.found.text.push_str(&String::from_utf8_lossy(value));
            }
            _ => {}
        }
        None
    }

    fn attribute_value(&mut self, value: &[u8]) {
        let value = String::from_utf8_lossy(value);
        match self.attribute {
            Attribute::Alt => {
                self.separate();
                self.found.text.push_str(&value);
                self.separate();
            }
            Attribute::Link if self.found.links.len() < MOST_LINKS => {
                let value = value.trim();
                if leads_elsewhere(value) {
                    self.found.links.push(value.to_owned());
                }
            }
            _ => {}
        }
    }

    fn separate(&mut self) {
        if self.found.text.chars().next_back().is_some_and(|last| !last.is_whitespace()) {
            self.found.text.push('\n');
        }
    }
}

fn leads_elsewhere(link: &str) -> bool {
    let link = link.as_bytes();
    [&b"http:"[..], b"https:", b"ftp:", b"mailto:"]
        .iter()
        .any(|scheme| link.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
}

/// Whether a tag, begun or ended, keeps the words on its sides apart: all of HTML but what only formats.
fn is_separator(name: &[u8]) -> bool {
    #[rustfmt::skip]
    const SEPARATORS: &[&[u8]] = &[
        b"address", b"applet", b"area", b"article", b"aside", b"audio", b"base", b"blockquote", b"body", b"br",
        b"button", b"canvas", b"caption", b"center", b"col", b"colgroup", b"dd", b"details", b"dialog", b"dir",
        b"div", b"dl", b"dt", b"embed", b"fieldset", b"figcaption", b"figure", b"footer", b"form", b"frame",
        b"frameset", b"h1", b"h2", b"h3", b"h4", b"h5", b"h6", b"head", b"header", b"hr", b"html", b"iframe",
        b"img", b"input", b"legend", b"li", b"link", b"listing", b"main", b"map", b"marquee", b"menu", b"meta",
        b"nav", b"noembed", b"noframes", b"noscript", b"object", b"ol", b"optgroup", b"option", b"p",
        b"plaintext", b"pre", b"script", b"section", b"select", b"style", b"summary", b"svg", b"table",
        b"tbody", b"td", b"template", b"textarea", b"tfoot", b"th", b"thead", b"title", b"tr", b"ul", b"video",
        b"xmp",
    ];
    SEPARATORS.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        for unit in [
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
            "<div>",
            "<![CDATA[",
            "é<",
        ] {
            read_html(&unit.repeat(1_000_000 / unit.len()));
        }
        read_html(&format!("<a href=\"{}\">", "x".repeat(1_000_000)));
        read_html(&format!("<{}>", "x".repeat(1_000_000)));
    }

    proptest! {
        #[test]
        fn never_panics(html in "(</?(a|b|p|script|style|img)|>|<!--|-->|[ =\"'&;/#x0-9]|href|alt|.){0,60}") {
            read_html(&html);
        }

        #[test]
        fn text_without_markup_stays(text in "[^<&\r\0]*") {
            prop_assert_eq!(html_to_text(&text), text);
        }
    }
}
