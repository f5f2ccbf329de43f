//! A strict reader of the pages that the project writes: every element must be closed, every attribute quoted.

use std::collections::{BTreeMap, BTreeSet};

/// A parsed page.
#[derive(Default)]
pub struct Html {
    /// All text outside style sheets, as a reader sees it.
    pub text: String,
    /// The elements in order, with their attributes.
    pub elements: Vec<(String, BTreeMap<String, String>)>,
    /// Number of figures.
    pub n_figures: usize,
    /// The tables: for each, the heading of its figure and the numbers of each row.
    tables: Vec<(String, Vec<Vec<f64>>)>,
    styles: String,
}

/// The elements and attributes that a page may use.
const ELEMENTS: &str = "a bdi body caption data desc details div figcaption figure h1 h2 head header html i li main mark meta p path \
                        rect span strong style summary svg table tbody td text th thead title tr ul";
const ATTRIBUTES: &str = "aria-labelledby charset class content d data-key fill-opacity height href http-equiv id lang name open \
                          role scope style tabindex text-anchor title transform value viewBox width x y";

impl Html {
    /// Parses a page. Panics if it is not well formed.
    #[track_caller]
    pub fn parse(page: &str) -> Html {
        let mut html = Html::default();
        let (mut open, mut rest) = (Vec::<String>::new(), page);
        let (mut heading, mut in_heading) = (String::new(), false);
        while let Some(at) = rest.find('<') {
            let text = unescaped(&rest[..at]);
            if open.last().is_some_and(|element| element == "style") {
                html.styles.push_str(&text);
            } else {
                html.text.push_str(&text);
            }
            if in_heading {
                heading.push_str(&text);
            }
            let end = at + rest[at..].find('>').unwrap_or_else(|| panic!("open: {}", &rest[at..]));
            let tag = &rest[at + 1..end];
            rest = &rest[end + 1..];
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(name), "before {rest:.80}");
                in_heading &= name != "h2";
                continue;
            }
            if tag == "!DOCTYPE html" {
                continue;
            }
            let (name, attributes) = element(tag);
            if name == "h2" {
                (heading, in_heading) = (String::new(), true);
            }
            html.n_figures += usize::from(name == "figure");
            if name == "tbody" || open.iter().any(|element| element == "tbody") {
                html.note_numbers(&name, &attributes, &heading);
            }
            if !tag.ends_with('/') && name != "meta" {
                open.push(name.clone());
            }
            html.elements.push((name, attributes));
        }
        assert!(open.is_empty(), "not closed: {open:?}");
        html
    }

    fn note_numbers(&mut self, name: &str, attributes: &BTreeMap<String, String>, heading: &str) {
        match (name, self.tables.last_mut()) {
            ("tbody", _) => self.tables.push((heading.to_owned(), Vec::new())),
            ("tr", Some((_, rows))) => rows.push(Vec::new()),
            ("data", Some((_, rows))) => {
                let value = attributes["value"].parse().unwrap_or_else(|_| panic!("{attributes:?}"));
                rows.last_mut().unwrap_or_else(|| panic!("a number outside a row")).push(value);
            }
            _ => (),
        }
    }

    /// The number rows of every table in a figure whose heading contains `words`, table by table.
    pub fn numbers(&self, words: &str) -> Vec<&[Vec<f64>]> {
        self.tables.iter().filter(|(heading, _)| heading.contains(words)).map(|(_, rows)| &rows[..]).collect()
    }

    /// Panics unless the page is self-contained (nothing runs or is loaded), every figure has a label for screen
    /// readers and a table of its numbers, and the text contains no control or direction characters.
    #[track_caller]
    pub fn assert_self_contained(&self) {
        let ids: BTreeSet<&String> =
            self.elements.iter().filter_map(|(_, attributes)| attributes.get("id")).collect();
        let mut n_labelled = 0;
        for (name, attributes) in &self.elements {
            assert!(ELEMENTS.split_whitespace().any(|known| known == name), "an element {name}");
            for (attribute, value) in attributes {
                assert!(
                    ATTRIBUTES.split_whitespace().any(|known| known == attribute),
                    "an attribute {attribute}"
                );
                let value = value.to_lowercase();
                assert!(!value.contains("url(") && !value.contains("script:"), "{attribute}={value}");
            }
            if let Some(place) = attributes.get("href") {
                assert!(ids.contains(&place[1..].to_owned()) && place.starts_with('#'), "a link to {place}");
            }
            if name == "svg" {
                assert_eq!(attributes["role"], "img");
                let labels =
                    attributes["aria-labelledby"].split(' ').filter(|id| ids.contains(&(*id).to_owned()));
                n_labelled += usize::from(labels.count() == 2);
            }
        }
        let count = |element: &str| self.elements.iter().filter(|(name, _)| name == element).count();
        assert_eq!([count("svg"), n_labelled, count("details"), count("desc")], [self.n_figures; 4]);
        assert!(count("table") >= self.n_figures);
        assert!(!self.styles.contains("url(") && !self.styles.contains("@import"));
        let is_obeyed = |c: char| {
            c.is_control() && c != '\n' || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        };
        let obeyed = self.text.chars().find(|c| is_obeyed(*c));
        assert_eq!(obeyed, None);
        let isolates = |c: char| self.text.matches(c).count();
        assert_eq!(isolates('\u{2068}'), isolates('\u{2069}'));
        assert_eq!(isolates('\u{2066}'), 0);
    }
}

/// Splits a tag into the name of the element and its attributes.
fn element(tag: &str) -> (String, BTreeMap<String, String>) {
    let tag = tag.trim_end_matches('/');
    let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
    let mut attributes = BTreeMap::new();
    while !rest.trim().is_empty() {
        rest = rest.trim_start();
        let Some((attribute, after)) =
            rest.split_once("=\"").filter(|(attribute, _)| !attribute.contains(' '))
        else {
            let (attribute, after) = rest.split_once(' ').unwrap_or((rest, ""));
            attributes.insert(attribute.to_owned(), String::new());
            rest = after;
            continue;
        };
        let (value, after) = after.split_once('"').unwrap_or_else(|| panic!("{tag}"));
        assert!(attributes.insert(attribute.to_owned(), unescaped(value)).is_none(), "twice: {tag}");
        rest = after;
    }
    (name.to_owned(), attributes)
}

/// Decodes character references. Panics on any but the five that the project writes.
fn unescaped(text: &str) -> String {
    let known = ["&lt;", "&gt;", "&quot;", "&#39;", "&amp;"];
    let n_known: usize = known.iter().map(|reference| text.matches(reference).count()).sum();
    assert_eq!(text.matches('&').count(), n_known, "{text}");
    let mut text = text.to_owned();
    for (reference, character) in known.into_iter().zip(["<", ">", "\"", "'", "&"]) {
        text = text.replace(reference, character);
    }
    text
}
