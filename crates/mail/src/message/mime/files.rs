//! Parts that are what their bytes are, whatever their header declares: text, mail, documents, and what holds others.
use super::{COST_OF_DECODING, Depth, PartReader, take};
use crate::message::charset::is_utf16;
use crate::message::cms::signed_content;
use crate::message::fields::{MARK, looks_like_mail};
use crate::message::part::{BINARY, ContentDigest, Part};
use crate::message::{tnef, transfer};
use tamis_documents::{Format, Limits, Text, Unread, is_binary, text_of};

/// Bytes of an encoded part by which it is judged, and of a picture.
const JUDGED: usize = 8 << 10;
const JUDGED_OF_MEDIA: usize = 64;
/// Bytes that a document may take inflated, for each byte of it, and beyond that. Text takes some ten times its packed size.
const MOST_OF_DOCUMENT: usize = 16;
const FREE_OF_DOCUMENT: usize = 256 << 10;
/// What the names of formats without text have in them.
const TEXTLESS: [&str; 8] = ["image", "metafile", "icon", "cursor", "font", "sound", "film", "program"];

impl PartReader<'_> {
    /// Reads a part by its bytes.
    pub(super) fn file(&mut self, mut part: Part, body: &[u8], depth: Depth) {
        let (kind, subtype) = part.content_type.split_once('/').unwrap_or_default();
        // drawings have text
        let is_media = matches!(kind, "image" | "audio" | "video" | "font") && subtype != "svg+xml";
        let judged = &body[..body.len().min(if is_media { JUDGED_OF_MEDIA } else { JUDGED })];
        let start = transfer::decode_file(judged, part.transfer_encoding.as_deref());
        let begins = start.strip_prefix(MARK).unwrap_or(&start).trim_ascii_start();
        // and what says that a message is encrypted
        let is_signature = subtype.ends_with("-signature") || subtype == "pgp-encrypted";
        let is_key = begins.starts_with(b"-----BEGIN ") && !begins.starts_with(b"-----BEGIN PGP SIGNED");
        #[cfg(test)]
        tamis_testing::step(start.len());
        match Format::of(&start) {
            // a page is opened by its name, also if it is declared a picture
            _ if begins.is_empty() || is_signature || is_media && !begins.starts_with(b"<") => {
                self.leaf(part, None)
            }
            _ if start.starts_with(tnef::MARK) => self.tnef(part, body, depth),
            Some(Format::Svg | Format::Notebook) if kind == "text" => self.leaf(part, Some(body)),
            Some(Format::Foreign(name)) if TEXTLESS.iter().any(|it| name.contains(it)) => {
                self.leaf(part, None)
            }
            Some(format) if format.has_text() => self.document(part, body),
            Some(format) => self.unread(part, body, format.name()),
            None if kind == "text" => self.leaf(part, Some(body)),
            None if signed_content(&start).is_some() => self.signed(part, body, depth),
            None if looks_like_mail(&start) => self.nested_message(part, body, depth),
            None if is_key => self.leaf(part, None),
            None if is_binary(&start) && !is_utf16(&start) => self.unread(part, body, BINARY),
            None => {
                let name = part.file_name.as_deref().unwrap_or_default().to_ascii_lowercase();
                let is_named = name.rsplit('.').next().is_some_and(|it| it.contains("htm") || it == "hta");
                let is_tagged = begins.starts_with(b"<") && !begins.starts_with(b"<?");
                part.is_html = is_named || is_tagged || subtype == "xhtml+xml";
                part.is_attached = true;
                self.leaf(part, Some(body));
            }
        }
    }

    /// The whole part, decoded as far as that is affordable.
    fn decoded(&mut self, part: &Part, body: &[u8]) -> Vec<u8> {
        let affordable = &body[..body.len().min(self.passes_left / COST_OF_DECODING)];
        self.passes_left -= COST_OF_DECODING * affordable.len();
        self.hit.text |= affordable.len() < body.len();
        #[cfg(test)]
        tamis_testing::step(affordable.len());
        transfer::decode_file(affordable, part.transfer_encoding.as_deref()).into_owned()
    }

    /// Reads the text of a document, with its title before it and the targets of its links behind.
    fn document(&mut self, mut part: Part, body: &[u8]) {
        let bytes = self.decoded(&part, body);
        let inflated = (MOST_OF_DOCUMENT * bytes.len() + FREE_OF_DOCUMENT).min(self.inflated_left);
        self.inflated_left -= inflated;
        let limits = Limits { text: self.attached_left, inflated: inflated as u64, ..Limits::default() };
        match text_of(&bytes, &limits) {
            Ok(Text { text, title, links, is_cut, .. }) if take(&mut self.with_text_left, 1) => {
                let all: Vec<_> = title.into_iter().chain([text]).chain(links).collect();
                part.text = Some(self.keep(&all.join("\n"), is_cut, true));
                part.is_attached = true;
                self.parts.push(part);
            }
            Ok(_) => (self.hit.parts, self.hit.attachments) = (true, true),
            Err(Unread::Password(_)) => self.unread(part, body, "a document with a password"),
            Err(Unread::Damaged(_)) => self.unread(part, body, "a damaged document"),
            Err(_) => self.unread(part, body, Format::of(&bytes).map_or(BINARY, |format| format.name())),
        }
    }

    /// Reads the message that signed data hold.
    fn signed(&mut self, part: Part, body: &[u8], depth: Depth) {
        match signed_content(&self.decoded(&part, body)).flatten() {
            Some(message) if self.opens() => {
                self.parts.push(part);
                self.entity(&message, "text/plain", Depth { parts: depth.parts + 1, ..depth }, &mut |_| ());
            }
            _ => self.unread(part, body, "an encrypted message (S/MIME)"),
        }
    }

    /// Reads the bodies and attachments that Outlook packed.
    fn tnef(&mut self, part: Part, body: &[u8], depth: Depth) {
        let bytes = self.decoded(&part, body);
        let found = tnef::contents(&bytes, depth.parts + 1);
        if found.is_empty() || !self.opens() {
            return self.unread(part, body, "an attachment of Outlook (winmail.dat)");
        }
        self.parts.push(part);
        for (part, bytes) in found {
            self.file(part, &bytes, Depth { parts: depth.parts + 1, ..depth });
        }
    }

    /// Whether one more part may be opened that holds others.
    fn opens(&mut self) -> bool {
        self.hit.nested_messages |= self.messages_left == 0;
        let opens = take(&mut self.messages_left, 1) && take(&mut self.with_text_left, 1);
        self.hit.text |= !opens;
        opens
    }

    /// Lists a part that is not read.
    fn unread(&mut self, mut part: Part, body: &[u8], what: &'static str) {
        self.mark_unread(&mut part, body, what);
        self.leaf(part, None);
    }

    /// Records that a part is not read, although it has or may have text.
    pub(super) fn mark_unread(&mut self, part: &mut Part, body: &[u8], what: &'static str) {
        (part.unread, part.content) = (Some(what), Some(ContentDigest::of_file(body)));
        self.hit.attachments = true;
        self.hit.text |= part.content_type.starts_with("text/") && !part.is_attached;
    }
}
