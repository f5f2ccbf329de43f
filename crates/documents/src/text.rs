//! The text of a document of any format.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

use crate::archive::Archive;
use crate::epub::{XHTML, read_epub};
use crate::format::{Format, is_binary};
use crate::limits::{Limits, Reading, Text, Unread};
use crate::markup::{Dialect, push_text};
use crate::notebook::read_notebook;
use crate::office::{read_ooxml, read_open_document};
use crate::rtf::read_rtf;

const SVG: Dialect = Dialect { inside: &["svg"], without: &["script", "style", "metadata"] };

/// Reads the text of a document of a format that [`Format::has_text`] is true of. A zip archive yields the texts of the
/// documents in it, one level deep; [`members`](crate::members) yields them one by one.
///
/// # Errors
/// [`Unread`] tells a password, damage, a document without text, and other files apart.
///
/// ```
/// use tamis_documents::{Format, Limits, Unread, text_of};
///
/// let drawing = br#"<svg xmlns="http://www.w3.org/2000/svg"><text x="1" y="9">North</text></svg>"#;
/// assert_eq!(text_of(drawing, &Limits::default())?.text, "North");
///
/// let error = text_of(b"%PDF-1.7\n", &Limits::default()).unwrap_err();
/// assert_eq!(error, Unread::NoDocument(Some(Format::Pdf)));
/// assert_eq!(error.to_string(), "expected a document with text, got a PDF");
/// # Ok::<(), Unread>(())
/// ```
pub fn text_of(bytes: &[u8], limits: &Limits) -> Result<Text, Unread> {
    let format = Format::of(bytes);
    let readable = format.filter(Format::has_text).ok_or(Unread::NoDocument(format))?;
    let mut reading = Reading::new(limits);
    match readable {
        Format::Zip => read_zip(bytes, &mut reading)?,
        _ => read(bytes, readable, &mut reading)?,
    }
    let text = reading.output.text.trim();
    if text.is_empty() {
        return Err(Unread::NoText(readable));
    }
    Ok(Text { text: text.to_owned(), ..reading.output })
}

/// Reads a document other than a zip archive of documents.
fn read(bytes: &[u8], format: Format, reading: &mut Reading) -> Result<(), Unread> {
    match format {
        Format::Rtf => read_rtf(bytes, reading),
        Format::Notebook => read_notebook(bytes, reading)?,
        Format::Svg => _ = push_text(bytes, &SVG, reading),
        _ => {
            let mut archive = Archive::open(bytes, format, reading)?;
            match format {
                Format::Docx | Format::Pptx | Format::Xlsx => read_ooxml(&mut archive, format, reading)?,
                Format::Epub => read_epub(&mut archive, reading)?,
                _ => read_open_document(&mut archive, format, reading)?,
            }
        }
    }
    Ok(())
}

/// Reads the documents and texts of a zip archive. If none can be read, the error is that of the last.
fn read_zip(bytes: &[u8], reading: &mut Reading) -> Result<(), Unread> {
    let mut archive = Archive::open(bytes, Format::Zip, reading)?;
    let mut all = Ok(());
    while let Some(member) = archive.pop(reading) {
        let is_page = member.path.ends_with(".html") || member.path.ends_with(".htm");
        let read = member.bytes.and_then(|bytes| {
            match Format::of(&bytes) {
                Some(Format::Zip) => (),
                Some(format) if format.has_text() => return read(&bytes, format, reading),
                None if is_page => _ = push_text(&bytes, &XHTML, reading),
                None => plain_text(&bytes).iter().for_each(|text| reading.push(text)),
                Some(_) => (),
            }
            Ok(())
        });
        all = all.and(read);
        reading.push_break('\n');
        if reading.is_full() {
            break;
        }
    }
    if reading.output.text.trim().is_empty() { all } else { Ok(()) }
}

/// Plain text as UTF-8, by its byte order mark or windows-1252 if it is not; binary data is none.
fn plain_text(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let encoding = match Encoding::for_bom(bytes) {
        Some((encoding, _)) => encoding,
        None if is_binary(bytes) => return None,
        None if str::from_utf8(bytes).is_ok() => UTF_8,
        None => WINDOWS_1252,
    };
    Some(encoding.decode(bytes).0)
}
