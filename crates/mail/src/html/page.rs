//! What a person sees of a document: follows its tags as the tree builder of the HTML standard does (section 13.2.6),
//! without building a tree, and sorts its text into what can be read and what cannot.
use crate::html::collector::{StyleCollector, has_quirks};
use crate::html::look::{Look, Sight};
use crate::html::open::{OpenElement, hints, pixels};
use crate::html::sheet::{StyleSheet, Subject};
use crate::html::style::Style;
use crate::html::tags::{Attribute, Name, Tag};
use crate::html::tokens::{Attributes, TokenSink, begins, separate, value};
use std::borrow::Cow;
use std::mem;

/// Maximum number of links per document.
pub(super) const MOST_LINKS: usize = 200;

/// The result of [`read_html`](crate::read_html).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HtmlText {
    /// What a person can read: see [`html_to_text`](crate::html_to_text).
    pub text: String,
    /// All other text: what is hidden, too small, too faint or outside the page.
    pub unseen: String,
    /// The title, which a browser shows and a mail program does not.
    pub title: String,
    /// Whether it shows a picture of more than one pixel.
    pub has_pictures: bool,
    /// The links in `href` and `src` attributes (http, https, ftp or mailto): the first 200 in order, with repetitions,
    /// character references decoded.
    pub links: Vec<String>,
}

/// Maximum depth of nesting, the one of Chromium. Deeper elements take the place of the deepest.
const DEEPEST: usize = 512;
/// Maximum number of formatting elements to reopen.
const MOST_FORMATS: usize = 32;
/// Steps of searching the open elements per byte of a document. Real mail takes less than one.
const STEPS_PER_BYTE: usize = 20;
/// Steps that it costs to style an element again.
const STEPS_TO_STYLE: usize = 40;
const N_TAGS: usize = Tag::Inline as usize + 1;
/// The places of `html` and `body` among the open elements.
const HTML: usize = 0;
const BODY: usize = 1;

/// The state of reading a document.
pub(super) struct Page<'h> {
    pub(super) found: HtmlText,
    sheet: StyleSheet,
    knows_sheets: bool,
    /// Whether there is a style sheet that is not known.
    pub(super) lacks_sheets: bool,
    /// Whether browsers take the page for an old one: known after a document type or the first start tag.
    quirks: Option<bool>,
    most_links: usize,
    /// The open elements, the outermost first: `html`, `body` and so on.
    open: Vec<OpenElement<'h>>,
    /// How many elements of each kind are open.
    n_open: [u32; N_TAGS],
    /// The formatting elements that go on after the block they were opened in. `None` begins a cell or the like, which
    /// bounds them.
    formats: Vec<Option<Format<'h>>>,
    n_opened: usize,
    /// What may still be spent on searching the open elements, so that hostile nesting costs linear time.
    steps_left: usize,
    /// Whether what comes next is apart from what came before.
    has_gap: bool,
    was_unseen: bool,
    /// Where the text of the option begins that the current list shows.
    option: Option<usize>,
    /// Receives white space between cells, which is dropped.
    dropped: String,
    /// The style of the current element.
    style: Style,
}

/// A formatting element that may have to be opened again.
struct Format<'h> {
    /// Its place among the open elements, if it is still open: the number there is the same.
    place: usize,
    element: OpenElement<'h>,
}

impl<'h> TokenSink<'h> for Page<'h> {
    fn doctype(&mut self, declaration: &str) {
        self.quirks.get_or_insert_with(|| has_quirks(declaration));
    }

    fn style_sheet(&mut self, _: &str) {
        self.lacks_sheets = !self.knows_sheets;
    }

    fn is_done(&self) -> bool {
        self.lacks_sheets
    }

    fn start_tag(&mut self, name: Name, attributes: &mut Attributes<'h>) {
        self.quirks.get_or_insert(true);
        let tag = Tag::of(name);
        self.links(attributes);
        match tag {
            Tag::Html => return self.dress(HTML, name, attributes),
            Tag::Body => return self.dress(BODY, name, attributes),
            Tag::Script | Tag::Style | Tag::Void => return,
            // cells outside of a table, and forms within forms, do not count
            Tag::Cell | Tag::Row | Tag::TableSection | Tag::Caption
                if self.n_open[Tag::Table as usize] == 0 =>
            {
                return;
            }
            Tag::Block if name == Name::of("form") && self.form(name).is_some() => return,
            _ => (),
        }
        self.close_implied(tag, name);
        if !tag.is_special() || matches!(tag, Tag::Br | Tag::Image | Tag::Input | Tag::Button) {
            self.reopen_formats();
        }
        // without a style, what the end tag would close is no other element of its kind
        let is_plain = attributes.is_empty() && self.sheet.is_empty();
        if is_plain && matches!(tag, Tag::Format | Tag::Inline) && self.n_open[tag as usize] == 0 {
            return;
        }
        if tag == Tag::Br {
            return self.end_word(self.top().look.sight);
        }
        let mut element = self.element(tag, name, attributes);
        match tag {
            Tag::Rule => self.end_word(element.look.sight),
            Tag::Image => self.image(&element, attributes),
            Tag::Input => self.input(&element, attributes),
            Tag::Select => {
                self.option = None;
                self.push(element);
            }
            Tag::Option => {
                if !self.is_shown_option(attributes) {
                    element.look = element.look.gone();
                }
                self.push(element);
            }
            _ => self.push(element),
        }
    }

    fn end_tag(&mut self, name: Name) {
        let tag = Tag::of(name);
        match tag {
            Tag::Html | Tag::Body | Tag::Void | Tag::Script | Tag::Style | Tag::Image | Tag::Input => (),
            Tag::Br => self.end_word(self.top().look.sight),
            Tag::A | Tag::Format | Tag::Font => self.end_format(name),
            Tag::Cell | Tag::Row | Tag::TableSection | Tag::Table | Tag::Caption => {
                self.close(tag, |element| element.subject.name == name, |tag| tag == Tag::Table);
            }
            Tag::Heading => self.close(tag, |element| element.tag == Tag::Heading, Tag::is_barrier),
            Tag::Paragraph => match self.paragraph() {
                Some(place) => self.pop_to(place),
                None => self.end_word(self.top().look.sight),
            },
            Tag::Inline => self.close(tag, |element| element.subject.name == name, Tag::is_special),
            _ if name == Name::of("form") => {
                self.form(name).into_iter().for_each(|place| self.remove(place));
            }
            _ => self.close(tag, |element| element.subject.name == name, Tag::is_barrier),
        }
    }

    fn text(&mut self, encoded: &str) -> &mut String {
        if self.top().tag.is_between_cells() && encoded.bytes().all(|byte| byte.is_ascii_whitespace()) {
            self.dropped.clear();
            return &mut self.dropped;
        }
        if !matches!(self.top().tag, Tag::Title | Tag::TextArea | Tag::Xmp) {
            self.reopen_formats();
        }
        if self.top().tag == Tag::Title {
            return &mut self.found.title;
        }
        match self.outer(Tag::Inline).sight {
            Sight::Seen => {
                self.was_unseen = false;
                self.begin_piece();
                return &mut self.found.text;
            }
            Sight::Blank => self.has_gap |= !encoded.bytes().all(|byte| byte.is_ascii_whitespace()),
            Sight::Gone => (),
        }
        if !mem::replace(&mut self.was_unseen, true) {
            separate(&mut self.found.unseen);
        }
        &mut self.found.unseen
    }
}

impl<'h> Page<'h> {
    /// A page that keeps as many links at most, with its style sheets if they are known.
    pub(super) fn new(styles: Option<StyleCollector>, capacity: usize, most_links: usize) -> Self {
        let mut page = Page {
            found: HtmlText { text: String::with_capacity(capacity), ..HtmlText::default() },
            knows_sheets: styles.is_some(),
            lacks_sheets: false,
            quirks: styles.as_ref().map(|styles| styles.quirks),
            sheet: styles.map(|styles| styles.sheet).unwrap_or_default(),
            most_links,
            open: Vec::with_capacity(32),
            n_open: [0; N_TAGS],
            steps_left: 10_000 + capacity * STEPS_PER_BYTE,
            formats: Vec::new(),
            n_opened: 0,
            has_gap: false,
            was_unseen: false,
            option: None,
            dropped: String::new(),
            style: Style::NONE,
        };
        for (tag, name) in [(Tag::Html, "html"), (Tag::Body, "body")] {
            let element = page.element(tag, Name::of(name), &mut Attributes::new());
            page.push(element);
        }
        page.has_gap = false;
        page
    }

    pub(super) fn has_quirks(&self) -> bool {
        self.quirks.unwrap_or(true)
    }

    fn top(&self) -> &OpenElement<'h> {
        // `html` and `body` are never closed
        &self.open[self.open.len() - 1]
    }

    /// The look that an element of this kind inherits. What is not of a table, but directly in one, goes before it.
    fn outer(&self, tag: Tag) -> &Look {
        self.outer_of(self.open.len(), tag)
    }

    fn outer_of(&self, place: usize, tag: Tag) -> &Look {
        let Some(mut outer) = place.checked_sub(1) else { return &Look::PAGE };
        if self.open[outer].tag.is_between_cells() && !tag.is_of_table() {
            let table = self.open[..=outer].iter().rposition(|element| element.tag == Tag::Table);
            outer = table.map_or(outer, |table| table.saturating_sub(1));
        }
        // a summary is shown beside closed details
        if tag == Tag::Summary && self.open[outer].tag == Tag::Details {
            outer = outer.saturating_sub(1);
        }
        &self.open[outer].look
    }

    /// An element with these attributes inside the open ones.
    fn element(&mut self, tag: Tag, name: Name, attributes: &mut Attributes<'h>) -> OpenElement<'h> {
        let quirks = self.has_quirks();
        let mut take = |wanted| {
            let found = attributes.iter_mut().find(|(attribute, _)| *attribute == wanted);
            found.map(|(_, value)| mem::take(value))
        };
        let has_rules = !self.sheet.is_empty();
        let [id, classes] = [Attribute::Id, Attribute::Class].map(|wanted| {
            // only rules ask for them
            let value = if has_rules { take(wanted).unwrap_or_default() } else { Cow::Borrowed("") };
            match quirks && value.bytes().any(|byte| byte.is_ascii_uppercase()) {
                true => Cow::Owned(value.to_lowercase()),
                false => value,
            }
        });
        let own = take(Attribute::Style).unwrap_or_default();
        let has = |wanted| value(attributes, wanted).is_some();
        let is_link = tag == Tag::A && has(Attribute::Href);
        let is_closed = matches!(tag, Tag::Details | Tag::Dialog) && !has(Attribute::Open)
            || matches!(tag, Tag::Hidden | Tag::Title);
        let subject = Subject { name, id, classes, is_link };
        self.style.clear();
        hints(tag, attributes, &mut self.style);
        let style = self.sheet.cascade(&subject, &self.open, &own, quirks, &mut self.style);
        let mut element =
            OpenElement { number: 0, tag, subject, style, is_closed, separates: false, look: Look::PAGE };
        self.restyle(&mut element, self.open.len());
        element
    }

    /// Whether `steps` may be spent, and spends them.
    fn spend(&mut self, steps: usize) -> bool {
        #[cfg(test)]
        tamis_testing::step(steps);
        self.steps_left = self.steps_left.saturating_sub(steps);
        self.steps_left > 0
    }

    fn push(&mut self, mut element: OpenElement<'h>) {
        if self.open.len() >= DEEPEST {
            self.pop();
        }
        self.n_open[element.tag as usize] += 1;
        self.n_opened += 1;
        element.number = self.n_opened;
        if element.separates {
            self.end_word(element.look.sight);
        }
        if element.tag.is_format() {
            self.remember(&element);
        } else if element.tag.bounds_formats() {
            self.formats.push(None);
        }
        self.open.push(element);
    }

    fn pop(&mut self) {
        if self.open.len() > BODY + 1
            && let Some(element) = self.open.pop()
        {
            self.n_open[element.tag as usize] -= 1;
            if element.separates {
                self.end_word(element.look.sight);
            }
            if element.tag.bounds_formats() {
                self.formats.truncate(self.bounded().saturating_sub(1));
            }
        }
    }

    fn pop_to(&mut self, place: usize) {
        while self.open.len() > place.max(BODY + 1) {
            self.pop();
        }
    }

    /// The place of the innermost element that `is_it`, unless it lies outside of one that `bounds`. `tag` is its kind.
    fn innermost(
        &mut self,
        tag: Tag,
        is_it: impl Fn(&OpenElement<'h>) -> bool,
        bounds: impl Fn(Tag) -> bool,
    ) -> Option<usize> {
        if self.n_open[tag as usize] == 0 {
            return None;
        }
        let ends = |element: &OpenElement<'h>| is_it(element) || bounds(element.tag);
        let place = self.open.iter().rposition(ends).filter(|place| *place > BODY)?;
        (self.spend(self.open.len() - place) && is_it(&self.open[place])).then_some(place)
    }

    /// Closes that element, with those inside it.
    fn close(&mut self, tag: Tag, is_it: impl Fn(&OpenElement<'h>) -> bool, bounds: impl Fn(Tag) -> bool) {
        let place = self.innermost(tag, is_it, bounds);
        place.into_iter().for_each(|place| self.pop_to(place));
    }

    fn paragraph(&mut self) -> Option<usize> {
        let bounds = |tag: Tag| tag.is_barrier() || tag == Tag::Button;
        self.innermost(Tag::Paragraph, |element| element.tag == Tag::Paragraph, bounds)
    }

    fn form(&mut self, name: Name) -> Option<usize> {
        self.innermost(Tag::Block, |element| element.subject.name == name, |_| false)
    }

    /// Closes what a start tag implies the end of.
    fn close_implied(&mut self, tag: Tag, name: Name) {
        let is = |wanted: Tag| move |element: &OpenElement<'h>| element.tag == wanted;
        match tag {
            Tag::Row => self.pop_to_table(|tag| tag == Tag::TableSection),
            Tag::Cell => self.pop_to_table(|tag| matches!(tag, Tag::TableSection | Tag::Row)),
            Tag::TableSection | Tag::Caption => self.pop_to_table(|_| false),
            Tag::Item | Tag::Definition => {
                self.close(tag, is(tag), |tag| tag == Tag::List || tag.is_barrier())
            }
            Tag::Option | Tag::OptionGroup => {
                self.close(Tag::Option, is(Tag::Option), |tag| tag != Tag::Option)
            }
            Tag::Button => self.close(tag, is(tag), Tag::is_barrier),
            Tag::Heading if self.top().tag == Tag::Heading => self.pop(),
            Tag::A => self.end_format(name),
            // a table that is not in a cell of the one around it
            Tag::Table => self.close(tag, is(tag), |tag| matches!(tag, Tag::Cell | Tag::Caption)),
            _ => (),
        }
        // without quirks, a table ends a paragraph too
        if tag.ends_paragraph() && (tag != Tag::Table || !self.has_quirks()) {
            self.paragraph().into_iter().for_each(|place| self.pop_to(place));
        }
    }

    /// Closes what is open in the innermost table, but for the elements around a new one that `stays` names.
    fn pop_to_table(&mut self, stays: fn(Tag) -> bool) {
        let Some(table) = self.open.iter().rposition(|element| element.tag == Tag::Table) else { return };
        let n_staying = self.open[table + 1..].iter().take_while(|element| stays(element.tag)).count();
        self.pop_to(table + 1 + n_staying);
    }

    /// Where the formatting elements begin that the innermost cell or the like bounds.
    fn bounded(&self) -> usize {
        self.formats.iter().rposition(Option::is_none).map_or(0, |mark| mark + 1)
    }

    /// Remembers a formatting element. At most three of the same style are reopened.
    fn remember(&mut self, element: &OpenElement<'h>) {
        let start = self.bounded();
        let mut same = (start..self.formats.len())
            .filter(|at| self.formats[*at].as_ref().is_some_and(|format| format.element.is_like(element)));
        let first = same.next();
        let removed = match first.filter(|_| same.count() >= 2) {
            None if self.formats.len() >= MOST_FORMATS => self.formats.iter().position(Option::is_some),
            one => one,
        };
        removed.into_iter().for_each(|at| drop(self.formats.remove(at)));
        self.formats.push(Some(Format { place: self.open.len(), element: element.clone() }));
    }

    /// Opens the formatting elements again that a block has closed.
    fn reopen_formats(&mut self) {
        let is_closed =
            |format: &Option<Format<'h>>| format.as_ref().is_some_and(|format| !self.is_open(format));
        if !self.formats.last().is_some_and(is_closed) {
            return;
        }
        let closed = self.formats.iter().rev().take_while(|format| is_closed(format)).count();
        let start = self.formats.len() - closed;
        if !self.spend(closed * STEPS_TO_STYLE) || self.open.len() + closed > DEEPEST {
            self.formats.truncate(start);
            return;
        }
        let mut formats = self.formats.split_off(start);
        for Format { place, element } in formats.iter_mut().flatten() {
            *place = self.open.len();
            self.n_opened += 1;
            element.number = self.n_opened;
            self.restyle(element, *place);
            self.n_open[element.tag as usize] += 1;
            self.open.push(element.clone());
        }
        self.formats.append(&mut formats);
    }

    fn is_open(&self, Format { place, element }: &Format<'h>) -> bool {
        self.open.get(*place).is_some_and(|open| open.number == element.number)
    }

    fn restyle(&self, element: &mut OpenElement<'h>, place: usize) {
        element.restyle(self.outer_of(place, element.tag), self.body_look(place));
    }

    /// The look of `body` if a table at this place inherits its colours.
    fn body_look(&self, place: usize) -> Option<&Look> {
        let body = self.open.get(BODY).filter(|_| self.has_quirks() && place > BODY);
        body.map(|body| &body.look)
    }

    /// Ends a formatting element, but not the blocks that were opened in it (HTML standard, "adoption agency").
    fn end_format(&mut self, name: Name) {
        let is_it = |format: &Option<Format<'h>>| {
            format.as_ref().is_some_and(|format| format.element.subject.name == name)
        };
        let start = self.bounded();
        let Some(at) = self.formats[start..].iter().rposition(is_it) else { return };
        let Some(format) = self.formats.remove(start + at) else { return };
        let place = format.place;
        if !self.is_open(&format) || !self.spend(self.open.len() - place) {
            return;
        }
        match self.open[place + 1..].iter().any(|element| element.tag.is_special()) {
            true => self.remove(place),
            false => self.pop_to(place),
        }
    }

    /// Closes one element, but not those inside it.
    fn remove(&mut self, place: usize) {
        let element = self.open.remove(place);
        self.n_open[element.tag as usize] -= 1;
        if element.separates {
            self.end_word(element.look.sight);
        }
        for format in self.formats.iter_mut().flatten() {
            format.place -= usize::from(format.place > place);
        }
        self.restyle_from(place);
    }

    fn restyle_from(&mut self, start: usize) {
        for place in start..self.open.len() {
            let (outer, body) = (*self.outer_of(place, self.open[place].tag), self.body_look(place).copied());
            let element = &mut self.open[place];
            let before = mem::replace(&mut element.look, Look::PAGE);
            element.restyle(&outer, body.as_ref());
            // then all within look as before
            if element.look == before && place > BODY || !self.spend(STEPS_TO_STYLE) {
                return;
            }
        }
    }

    /// Gives attributes to `html` or `body`, which are always open.
    fn dress(&mut self, place: usize, name: Name, attributes: &mut Attributes<'h>) {
        if attributes.is_empty() {
            return;
        }
        let inner = self.open.split_off(place);
        let number = inner[0].number;
        let element = self.element(inner[0].tag, name, attributes);
        self.open.push(OpenElement { number, separates: false, ..element });
        self.open.extend(inner.into_iter().skip(1));
        self.restyle_from(place);
    }

    /// Takes the links of any element.
    fn links(&mut self, attributes: &Attributes<'h>) {
        let links = attributes.iter().filter(|(a, _)| matches!(a, Attribute::Href | Attribute::Src));
        let elsewhere = links.map(|(_, link)| link.trim()).filter(|link| leads_elsewhere(link));
        let left = self.most_links - self.found.links.len();
        self.found.links.extend(elsewhere.take(left).map(str::to_owned));
    }

    /// The alternative text of an image that has a place on the page; mail programs often show it instead.
    fn image(&mut self, image: &OpenElement<'h>, attributes: &Attributes<'h>) {
        let is_small =
            |wanted| value(attributes, wanted).and_then(pixels).is_some_and(|pixels| pixels <= 1.0);
        let has_place =
            image.look.has_pictures() && !is_small(Attribute::Width) && !is_small(Attribute::Height);
        let alt = value(attributes, Attribute::Alt).filter(|alt| !alt.is_empty());
        self.found.has_pictures |= has_place;
        match alt {
            Some(alt) => self.show(alt, has_place),
            None if has_place => self.has_gap = true,
            None => (),
        }
    }

    /// What a form field holds.
    fn input(&mut self, field: &OpenElement<'h>, attributes: &Attributes<'h>) {
        let get = |wanted| value(attributes, wanted).unwrap_or_default().trim();
        let hint = match get(Attribute::Type).to_ascii_lowercase().as_str() {
            "hidden" => return,
            "password" | "checkbox" | "radio" | "image" | "file" | "range" | "color" => {
                return self.end_word(field.look.sight);
            }
            "submit" | "button" | "reset" => "",
            _ => get(Attribute::Placeholder),
        };
        let text = Some(get(Attribute::Value)).filter(|text| !text.is_empty()).unwrap_or(hint);
        self.end_word(field.look.sight);
        self.show(text, field.look.sight == Sight::Seen);
    }

    /// Whether an option is the one that its list shows: the last one selected, or else the first.
    fn is_shown_option(&mut self, attributes: &Attributes<'h>) -> bool {
        let is_selected = value(attributes, Attribute::Selected).is_some();
        match self.option {
            Some(start) if !is_selected || start > self.found.text.len() => return false,
            Some(start) => {
                let hidden = self.found.text.split_off(start);
                separate(&mut self.found.unseen);
                self.found.unseen.push_str(&hidden);
            }
            None => (),
        }
        self.option = Some(self.found.text.len());
        true
    }

    /// Adds a text that is apart from all others.
    fn show(&mut self, text: &str, is_seen: bool) {
        let to = if is_seen { &mut self.found.text } else { &mut self.found.unseen };
        if !text.is_empty() {
            separate(to);
            to.push_str(text);
            separate(to);
        }
    }

    /// What comes next is a new word, if an element of this sight has a place on the page.
    fn end_word(&mut self, sight: Sight) {
        self.has_gap |= sight != Sight::Gone;
    }

    /// Sets apart the text that follows if it has to be.
    fn begin_piece(&mut self) {
        if mem::take(&mut self.has_gap) {
            separate(&mut self.found.text);
        }
    }
}

fn leads_elsewhere(link: &str) -> bool {
    ["http:", "https:", "ftp:", "mailto:"].iter().any(|scheme| begins(link.as_bytes(), scheme))
}
