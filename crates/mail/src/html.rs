//! HTML to text.
mod collector;
mod css;
mod look;
pub(crate) mod markup;
mod open;
mod page;
mod sheet;
#[cfg(any(test, feature = "reference"))]
pub mod standard;
mod style;
mod tags;
pub(crate) mod tokens;
mod values;

use collector::StyleCollector;
use memchr::{memchr, memchr_iter};
pub use page::HtmlText;
use page::{MOST_LINKS, Page};
use std::borrow::Cow;
use tokens::{begins, read_tokens};

/// The text of an HTML document that a person can read, without its title.
///
/// Follows the HTML standard for tags, and CSS for what decides whether text can be read: `display`, `visibility`,
/// `opacity`, size and colour of letters against what is behind them, clipping and position, in attributes, in
/// `style="..."` and in style sheets by element, class and id. The alternative texts of images count, since mail
/// programs show them instead. Scripts do not run. Formatting and hidden text do not end words (`vi<b></b>agra`);
/// blocks do. Takes linear time on any input.
///
/// ```
/// use tamis_mail::html_to_text;
///
/// assert_eq!(html_to_text("<h1>Vi<b></b>agra</h1>now &amp; <i>here</i>"), "Viagra\nnow & here");
/// assert_eq!(html_to_text("buy<div style='display:none'>hidden</div>"), "buy");
/// ```
pub fn html_to_text(html: &str) -> String {
    read_html(html).text
}

/// Seen and unseen text, title and links.
pub fn read_html(html: &str) -> HtmlText {
    read(html, MOST_LINKS)
}

/// [`read_html`] with as many links at most.
pub(crate) fn read(html: &str, most_links: usize) -> HtmlText {
    let html = with_line_feeds(html);
    let mut page = Page::new(None, html.len(), most_links);
    read_tokens(&html, html.len(), &mut page);
    if page.lacks_sheets {
        // a style sheet says how text before it looks too
        let mut styles = StyleCollector::new(page.has_quirks());
        read_tokens(&html, end_of_styles(&html), &mut styles);
        page = Page::new(Some(styles), html.len(), most_links);
        read_tokens(&html, html.len(), &mut page);
    }
    page.found
}

/// The text with each line end as a line feed.
fn with_line_feeds(text: &str) -> Cow<'_, str> {
    let Some(mut at) = memchr(b'\r', text.as_bytes()) else { return Cow::Borrowed(text) };
    let (mut lines, mut rest) = (String::with_capacity(text.len()), text);
    loop {
        lines.push_str(&rest[..at]);
        lines.push('\n');
        rest = &rest[at + 1..];
        rest = rest.strip_prefix('\n').unwrap_or(rest);
        let Some(next) = memchr(b'\r', rest.as_bytes()) else { break };
        at = next;
    }
    lines.push_str(rest);
    Cow::Owned(lines)
}

/// The position after the last start tag of a style sheet.
fn end_of_styles(html: &str) -> usize {
    let bytes = html.as_bytes();
    memchr_iter(b'<', bytes).rev().find(|at| begins(&bytes[*at..], "<style")).map_or(0, |at| at + 1)
}

/// Whether a text looks like HTML: an `<html` tag near its start.
pub(crate) fn looks_like_html(text: &str) -> bool {
    let head = &text.as_bytes()[..text.len().min(2_000)];
    memchr_iter(b'<', head).any(|at| begins(&head[at..], "<html"))
}

#[cfg(test)]
mod tests;
