//! What a mail program shows of a message's parts.
use crate::html::{self, HtmlText};
use crate::message::part::Part;
use hashbrown::HashSet;
use std::borrow::Cow;
use std::ops::Range;

/// The text of a part.
#[derive(Default)]
pub(super) struct PartText<'p> {
    /// What a person sees.
    pub(super) seen: Cow<'p, str>,
    /// What nobody sees.
    pub(super) unseen: String,
    /// The title of an HTML page.
    pub(super) title: String,
    has_pictures: bool,
}

/// An HTML alternative with fewer different words, and without pictures, shows almost nothing: people will read the
/// plain one.
const LEAST_WORDS: usize = 10;

/// Reads the parts of a message.
pub(super) fn read(parts: &[Part]) -> Vec<PartText<'_>> {
    let mut texts: Vec<_> = parts.iter().map(of_part).collect();
    for (place, part) in parts.iter().enumerate() {
        if part.content_type == "multipart/alternative" {
            let inside = parts[place + 1..].iter().take_while(|inner| inner.depth > part.depth).count();
            hide_plain(parts, place + 1..place + 1 + inside, &mut texts);
        }
    }
    texts
}

fn of_part(part: &Part) -> PartText<'_> {
    let text = part.text.as_deref().unwrap_or_default();
    if !part.is_html {
        return PartText { seen: Cow::Borrowed(text), ..PartText::default() };
    }
    let HtmlText { text, unseen, title, has_pictures, .. } = html::read(text, 0);
    PartText { seen: Cow::Owned(text), unseen, title, has_pictures }
}

/// Of these alternatives, people read the HTML: what only the plain text says is unseen.
fn hide_plain(parts: &[Part], alternatives: Range<usize>, texts: &mut [PartText<'_>]) {
    let mut shown = HashSet::new();
    let is_shown = |place: &usize| parts[*place].is_html && !parts[*place].is_attached;
    for place in alternatives.clone().filter(is_shown) {
        for_each_word(&texts[place].seen, |word| _ = shown.insert(word));
    }
    let has_pictures = alternatives.clone().any(|place| texts[place].has_pictures);
    if shown.len() < LEAST_WORDS && !has_pictures {
        return;
    }
    for place in alternatives {
        let (part, text) = (&parts[place], &mut texts[place]);
        if part.content_type != "text/plain" || part.is_html {
            continue;
        }
        let mut seen = String::with_capacity(text.seen.len());
        for chunk in text.seen.split_whitespace() {
            let mut is_shown = true;
            for_each_word(chunk, |word| is_shown &= shown.contains(&word));
            let to = if is_shown { &mut seen } else { &mut text.unseen };
            to.push_str(chunk);
            to.push(' ');
        }
        text.seen = Cow::Owned(seen);
    }
}

/// Calls `each` with a hash of each word. Case does not matter.
fn for_each_word(text: &str, mut each: impl FnMut(u64)) {
    let mut word = None;
    let add = |hash: u64, c| (hash.rotate_left(5) ^ u64::from(c)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            word = Some(add(word.unwrap_or_default(), c.to_ascii_lowercase()));
        } else if !c.is_ascii() && c.is_alphanumeric() {
            word = Some(c.to_lowercase().fold(word.unwrap_or_default(), add));
        } else {
            word.take().into_iter().for_each(&mut each);
        }
    }
    word.into_iter().for_each(each);
}
