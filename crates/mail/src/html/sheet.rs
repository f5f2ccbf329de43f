//! Style sheets: rules by element, class and id, and which of them match an element (CSS Selectors 4, CSS Cascade 4).
use crate::html::css::{end_of, split, unescape};
use crate::html::style::{Declaration, Style, read_declarations};
use crate::html::tags::Name;
use crate::html::values::Length;
use hashbrown::HashMap;
use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

/// What selectors can ask of an element.
#[derive(Clone, Debug)]
pub(super) struct Subject<'h> {
    pub(super) name: Name,
    pub(super) id: Cow<'h, str>,
    pub(super) classes: Cow<'h, str>,
    pub(super) is_link: bool,
}

/// The rules of all style sheets of a document.
#[derive(Default)]
pub(super) struct StyleSheet {
    rules: Vec<Rule>,
    declarations: Vec<Declaration>,
    /// Numbers of the rules whose subject has this id, class or name, or none of them.
    by_id: HashMap<String, Vec<u32>>,
    by_class: HashMap<String, Vec<u32>>,
    by_name: HashMap<Name, Vec<u32>>,
    others: Vec<u32>,
    /// Comparisons of rules with elements that are still allowed.
    steps_left: usize,
    /// The rules that match the current element, by precedence.
    matched: Vec<(u32, u32)>,
    /// The declarations of the styles that elements have of their own, by their text: many elements have the same.
    own: Vec<Declaration>,
    own_by_text: HashMap<String, OwnStyle>,
    /// The styles of the last elements, which the next ones often have too.
    recent: Vec<Rc<Style>>,
}

/// Number of recent styles to compare with.
const N_RECENT: usize = 8;

/// A style that an element has of its own.
#[derive(Clone)]
struct OwnStyle {
    declarations: Range<usize>,
    style: Rc<Style>,
}

/// Limits on comparing rules with elements: a number of steps for any style sheet, and more for each byte of it. Real
/// mail takes fewer.
const LEAST_STEPS: usize = 50_000;
const STEPS_PER_BYTE: usize = 1;
/// Steps that it costs to apply a rule.
const STEPS_TO_APPLY: usize = 8;

struct Rule {
    /// What the element and its ancestors must be, the element last.
    selector: Vec<Compound>,
    specificity: u32,
    declarations: Range<usize>,
}

/// What one element must be.
#[derive(Default)]
struct Compound {
    name: Option<Name>,
    id: Option<String>,
    classes: Vec<String>,
    is_link: bool,
    /// What its class (`true`) or id must be as a whole, or contain.
    attributes: Vec<(bool, Test, String)>,
    /// Whether its parent must fit the compound before, not just any ancestor.
    is_child: bool,
}

/// How an attribute is compared (CSS Selectors 4, section 6).
#[derive(Clone, Copy)]
enum Test {
    Is,
    BeginsWith,
    EndsWith,
    Contains,
    HasWord,
}

/// A selector that a browser knows and tamis does not, which matches nothing here; or one that no browser knows, which
/// makes its whole rule invalid.
enum Unread {
    Unknown,
    Invalid,
}

impl StyleSheet {
    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Reads the rules of a style sheet. In quirks mode, case does not matter in ids and classes.
    pub(super) fn add(&mut self, css: &str, quirks: bool) {
        self.steps_left += css.len() * STEPS_PER_BYTE + if self.steps_left == 0 { LEAST_STEPS } else { 0 };
        let (mut rest, mut n_open) = (css, 0);
        loop {
            rest = rest.trim_ascii_start();
            for token in ["<!--", "-->"] {
                rest = rest.strip_prefix(token).unwrap_or(rest).trim_ascii_start();
            }
            if let Some(after) = rest.strip_prefix('}').filter(|_| n_open > 0) {
                n_open -= 1;
                rest = after;
                continue;
            }
            let is_at_rule = without_comments(rest).starts_with('@');
            let end =
                end_of(rest, |byte| byte == b'{' || is_at_rule && byte == b';' || n_open > 0 && byte == b'}');
            let (prelude, after) = rest.split_at(end);
            let Some(block) = after.strip_prefix('{') else {
                match after.strip_prefix(';') {
                    Some(after) => rest = after,
                    None if after.is_empty() => return,
                    None => rest = after,
                }
                continue;
            };
            if is_at_rule && applies(without_comments(prelude)) {
                n_open += 1;
                rest = block;
                continue;
            }
            let (block, after) = block.split_at(end_of(block, |byte| byte == b'}'));
            if !is_at_rule {
                self.rule(prelude, block, quirks);
            }
            rest = after.strip_prefix('}').unwrap_or_default();
        }
    }

    fn rule(&mut self, prelude: &str, block: &str, quirks: bool) {
        let start = self.declarations.len();
        read_declarations(block, quirks, &mut self.declarations);
        let declarations = start..self.declarations.len();
        if declarations.is_empty() {
            return;
        }
        let mut selectors = Vec::new();
        for selector in split(prelude, b',') {
            match read_selector(selector, quirks) {
                Ok(selector) => selectors.push(selector),
                Err(Unread::Unknown) => (),
                Err(Unread::Invalid) => return,
            }
        }
        for (selector, specificity) in selectors {
            let number = self.rules.len() as u32;
            let Some(subject) = selector.last() else { continue };
            let numbers = match (&subject.id, subject.classes.first(), subject.name) {
                (Some(id), ..) => self.by_id.entry(id.clone()).or_default(),
                (_, Some(class), _) => self.by_class.entry(class.clone()).or_default(),
                (.., Some(name)) => self.by_name.entry(name).or_default(),
                _ => &mut self.others,
            };
            numbers.push(number);
            self.rules.push(Rule { selector, specificity, declarations: declarations.clone() });
        }
    }

    /// The style of an element: what its attributes say, which `style` holds; what the rules say; and its own
    /// declarations (`style="..."`). `ancestors` are the elements that it lies in, the outermost first.
    pub(super) fn cascade<'h>(
        &mut self,
        subject: &Subject<'h>,
        ancestors: &[impl AsRef<Subject<'h>>],
        own: &str,
        quirks: bool,
        style: &mut Style,
    ) -> Option<Rc<Style>> {
        self.matched.clear();
        if !self.rules.is_empty() {
            self.find_rules(subject, ancestors);
        }
        let own = if own.is_empty() { None } else { Some(self.own(own, quirks)) };
        if self.matched.is_empty() && style.is_empty() {
            return own.map(|own| Rc::clone(&own.style)).filter(|style| !style.is_empty());
        }
        let own = own.map_or(0..0, |own| own.declarations);
        for is_important in [false, true] {
            let rules = self.matched.iter().map(|(_, number)| &self.rules[*number as usize]);
            let of_rules = rules.flat_map(|rule| &self.declarations[rule.declarations.clone()]);
            for declaration in of_rules.chain(&self.own[own.clone()]) {
                if declaration.is_important == is_important {
                    style.set(declaration.property, declaration.value);
                }
            }
        }
        (!style.is_empty()).then(|| self.shared(style))
    }

    fn shared(&mut self, style: &Style) -> Rc<Style> {
        if let Some(same) = self.recent.iter().find(|recent| ***recent == *style) {
            return Rc::clone(same);
        }
        self.recent.truncate(N_RECENT - 1);
        self.recent.insert(0, Rc::new(style.clone()));
        Rc::clone(&self.recent[0])
    }

    /// The declarations of an element's own style.
    fn own(&mut self, text: &str, quirks: bool) -> OwnStyle {
        if let Some(own) = self.own_by_text.get(text) {
            return own.clone();
        }
        let start = self.own.len();
        read_declarations(text, quirks, &mut self.own);
        // important ones win
        let declarations = &mut self.own[start..];
        declarations.sort_by_key(|declaration| declaration.is_important);
        let mut style = Style::NONE;
        declarations.iter().for_each(|declaration| style.set(declaration.property, declaration.value));
        let own = OwnStyle { declarations: start..self.own.len(), style: Rc::new(style) };
        self.own_by_text.insert(text.to_owned(), own.clone());
        own
    }

    fn find_rules<'h>(&mut self, subject: &Subject<'h>, ancestors: &[impl AsRef<Subject<'h>>]) {
        let StyleSheet { rules, matched, steps_left, .. } = self;
        let mut look_at = |numbers: Option<&Vec<u32>>| {
            for number in numbers.into_iter().flatten() {
                if *steps_left == 0 {
                    return;
                }
                #[cfg(test)]
                tamis_testing::step(1);
                let Rule { selector, specificity, .. } = &rules[*number as usize];
                if matches(selector, subject, ancestors, steps_left) {
                    *steps_left = steps_left.saturating_sub(STEPS_TO_APPLY);
                    matched.push((*specificity, *number));
                }
            }
        };
        look_at(Some(&self.others));
        look_at(self.by_name.get(&subject.name));
        if !subject.id.is_empty() {
            look_at(self.by_id.get(&*subject.id));
        }
        if !self.by_class.is_empty() {
            subject.classes.split_ascii_whitespace().for_each(|class| look_at(self.by_class.get(class)));
        }
        // a class may be named twice
        matched.sort_unstable();
        matched.dedup();
    }
}

/// Whether a selector matches an element. Stops matching when no steps are left.
fn matches<'h>(
    selector: &[Compound],
    subject: &Subject<'h>,
    ancestors: &[impl AsRef<Subject<'h>>],
    steps_left: &mut usize,
) -> bool {
    let Some((last, mut outer)) = selector.split_last() else { return false };
    let mut fits = |compound: &Compound, subject: &Subject<'h>| {
        *steps_left = steps_left.saturating_sub(1 + compound.classes.len());
        *steps_left > 0 && compound.fits(subject)
    };
    if !fits(last, subject) {
        return false;
    }
    let mut is_child = last.is_child;
    let mut ancestors = ancestors.iter().rev();
    // takes the nearest ancestor that fits; for chains of children below descendants, an outer one might fit better
    while let Some((compound, rest)) = outer.split_last() {
        let fitting = match is_child {
            true => ancestors.next().filter(|ancestor| fits(compound, (*ancestor).as_ref())),
            false => ancestors.find(|ancestor| fits(compound, (*ancestor).as_ref())),
        };
        if fitting.is_none() {
            return false;
        }
        (is_child, outer) = (compound.is_child, rest);
    }
    true
}

impl Compound {
    fn fits(&self, subject: &Subject<'_>) -> bool {
        let has = |class: &String| subject.classes.split_ascii_whitespace().any(|one| one == class);
        self.name.is_none_or(|name| name == subject.name)
            && self.id.as_ref().is_none_or(|id| *id == subject.id)
            && (!self.is_link || subject.is_link)
            && self.classes.iter().all(has)
            && self.attributes.iter().all(|(of_class, test, wanted)| {
                let value = if *of_class { &subject.classes } else { &subject.id };
                match test {
                    Test::Is => **value == **wanted,
                    Test::BeginsWith => value.starts_with(wanted),
                    Test::EndsWith => value.ends_with(wanted),
                    Test::Contains => value.contains(wanted),
                    Test::HasWord => value.split_ascii_whitespace().any(|word| word == wanted),
                }
            })
    }
}

fn without_comments(mut text: &str) -> &str {
    while let Some((_, rest)) = text.strip_prefix("/*").and_then(|text| text.split_once("*/")) {
        text = rest.trim_ascii_start();
    }
    text
}

/// Reads a selector; returns it with its specificity.
fn read_selector(text: &str, quirks: bool) -> Result<(Vec<Compound>, u32), Unread> {
    let mut rest = without_comments(text.trim_ascii()).trim_ascii_end();
    if rest.is_empty() {
        return Err(Unread::Invalid);
    }
    let (mut selector, mut current, mut specificity) = (Vec::new(), Compound::default(), 0_u32);
    let folded = |name: String| if quirks { name.to_lowercase() } else { name };
    while let Some(first) = rest.chars().next() {
        let inside = &rest[first.len_utf8()..];
        match first {
            '*' => rest = inside,
            '#' => {
                let (name, after) = ident(inside)?;
                current.id = Some(folded(name));
                (specificity, rest) = (specificity + (1 << 20), after);
            }
            '.' => {
                let (name, after) = ident(inside)?;
                current.classes.push(folded(name));
                (specificity, rest) = (specificity + (1 << 10), after);
            }
            ':' => rest = pseudo(inside, &mut current, &mut specificity)?,
            '[' => {
                let (test, after) = inside.split_once(']').ok_or(Unread::Invalid)?;
                current.attributes.push(attribute(test, quirks)?);
                (specificity, rest) = (specificity + (1 << 10), after);
            }
            '+' | '~' => return Err(Unread::Unknown),
            ' ' | '\t' | '\n' | '\x0c' | '>' => {
                let after = rest.trim_start_matches([' ', '\t', '\n', '\x0c']);
                let child = after.strip_prefix('>');
                rest = without_comments(child.unwrap_or(after).trim_ascii_start());
                if rest.is_empty() {
                    return Err(Unread::Invalid);
                }
                selector.push(std::mem::take(&mut current));
                current.is_child = child.is_some();
            }
            _ => {
                let (name, after) = ident(rest)?;
                current.name = Some(Name::of(&name));
                (specificity, rest) = (specificity + 1, after);
            }
        }
    }
    selector.push(current);
    Ok((selector, specificity))
}

/// Reads the inside of `[class^="a"]` and the like. Other attributes than class and id are not known here.
fn attribute(text: &str, quirks: bool) -> Result<(bool, Test, String), Unread> {
    let (name, value) = text.split_once('=').ok_or(Unread::Unknown)?;
    let (name, test) = match name.trim_ascii().split_at_checked(name.trim_ascii().len().saturating_sub(1)) {
        Some((name, "^")) => (name, Test::BeginsWith),
        Some((name, "$")) => (name, Test::EndsWith),
        Some((name, "*")) => (name, Test::Contains),
        Some((name, "~")) => (name, Test::HasWord),
        Some((_, "|")) => return Err(Unread::Unknown),
        _ => (name, Test::Is),
    };
    let value = value.trim_ascii().trim_matches(['"', '\'']);
    if value.is_empty() {
        return Err(Unread::Unknown);
    }
    let value = if quirks { value.to_lowercase() } else { value.to_owned() };
    match name.trim_ascii().to_ascii_lowercase().as_str() {
        "class" => Ok((true, test, value)),
        "id" => Ok((false, test, value)),
        _ => Err(Unread::Unknown),
    }
}

/// Reads the pseudo-class or pseudo-element after a colon.
fn pseudo<'t>(text: &'t str, compound: &mut Compound, specificity: &mut u32) -> Result<&'t str, Unread> {
    let (name, rest) = ident(text.strip_prefix(':').unwrap_or(text))?;
    *specificity += 1 << 10;
    match name.to_ascii_lowercase().as_str() {
        "root" => compound.name = Some(Name::of("html")),
        "link" | "any-link" => compound.is_link = true,
        name if name.starts_with("-webkit-") || PSEUDO.contains(&name) => return Err(Unread::Unknown),
        _ => return Err(Unread::Invalid),
    }
    Ok(rest)
}

/// Other pseudo-classes and pseudo-elements of browsers.
#[rustfmt::skip]
const PSEUDO: [&str; 41] = [
    "active", "after", "backdrop", "before", "checked", "default", "dir", "disabled", "empty", "enabled",
    "first-child", "first-letter", "first-line", "first-of-type", "focus", "focus-visible", "focus-within", "has",
    "hover", "invalid", "is", "lang", "last-child", "last-of-type", "marker", "not", "nth-child", "nth-last-child",
    "nth-last-of-type", "nth-of-type", "only-child", "only-of-type", "optional", "placeholder", "required",
    "selection", "target", "valid", "visited", "where", "read-only",
];

/// Reads an identifier (CSS Syntax 3, section 4.3.11).
fn ident(text: &str) -> Result<(String, &str), Unread> {
    let (mut name, mut rest) = (String::new(), text);
    while let Some(c) = rest.chars().next() {
        match c {
            '\\' => rest = unescape(&rest[1..], &mut name),
            '0'..='9' if name.is_empty() => break,
            _ if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') || !c.is_ascii() => {
                name.push(c);
                rest = &rest[c.len_utf8()..];
            }
            _ => break,
        }
    }
    if name.is_empty() { Err(Unread::Invalid) } else { Ok((name, rest)) }
}

/// Whether the rules in the block of an at-rule apply on a screen of 1000 by 4000 pixels.
fn applies(prelude: &str) -> bool {
    let prelude = prelude.to_ascii_lowercase();
    prelude.strip_prefix("@media").is_some_and(media_matches)
        || prelude.starts_with("@layer")
        || prelude
            .strip_prefix("@supports")
            .is_some_and(|condition| !condition.trim_ascii_start().starts_with("not"))
}

/// Whether a list of media queries matches (Media Queries 4). What is not known does not match.
pub(super) fn media_matches(queries: &str) -> bool {
    let matches = |query: &str| {
        let query = query.trim_ascii();
        let negated = query.strip_prefix("not ");
        let query = negated.unwrap_or(query);
        let query = query.strip_prefix("only ").unwrap_or(query);
        let fits = query.split(" and ").all(|part| match part.trim_ascii() {
            "" | "screen" | "all" => true,
            part => {
                part.strip_prefix('(').and_then(|part| part.strip_suffix(')')).is_some_and(feature_matches)
            }
        });
        fits != negated.is_some()
    };
    queries.split(',').any(matches)
}

fn feature_matches(feature: &str) -> bool {
    let (name, value) = feature.split_once(':').unwrap_or((feature, ""));
    let px = || Length::read(value.trim_ascii(), false).and_then(|length| length.px(16.0));
    match name.trim_ascii() {
        "min-width" | "min-device-width" => px().is_some_and(|px| px <= 1000.0),
        "max-width" | "max-device-width" => px().is_some_and(|px| px >= 1000.0),
        "prefers-color-scheme" => value.trim_ascii() == "light",
        _ => false,
    }
}
