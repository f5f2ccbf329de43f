//! E-books, in the order of their spine.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;

use crate::archive::Archive;
use crate::format::Format;
use crate::limits::{Reading, Unread};
use crate::markup::{Dialect, push_text};
use crate::office::push_title;
use crate::xml::attributes_of;

/// Web pages.
pub(crate) const XHTML: Dialect = Dialect { inside: &["body"], without: &["script", "style"] };

/// Reads an e-book, each chapter once.
pub(crate) fn read_epub(archive: &mut Archive<'_>, reading: &mut Reading) -> Result<(), Unread> {
    let damaged = Unread::Damaged(Format::Epub);
    let container = archive.take("META-INF/container.xml", reading)?.ok_or(damaged)?;
    let Some([Some(package)]) = attributes_of(&container, "rootfile", ["full-path"], 1).pop() else {
        return Err(damaged);
    };
    let content = archive.take(&package, reading)?.ok_or(damaged)?;
    push_title(&content, reading);
    let mut is_read = false;
    for chapter in chapters(&content, reading.left.entries) {
        if let Some(xml) = archive.take(&resolve(&package, &chapter), reading)? {
            is_read = true;
            push_text(&xml, &XHTML, reading);
            reading.push_break('\n');
        }
        if reading.is_full() {
            break;
        }
    }
    match archive.take("META-INF/encryption.xml", reading)? {
        // fonts may be encrypted in an e-book that can be read
        Some(_) if reading.output.text.trim().is_empty() => Err(Unread::Password(Format::Epub)),
        _ if is_read => Ok(()),
        _ => Err(damaged),
    }
}

/// The chapters of the spine, relative to the package file, `most` of them.
fn chapters(package: &[u8], most: usize) -> Vec<String> {
    let items = attributes_of(package, "item", ["id", "href"], most).into_iter();
    let mut paths: HashMap<_, _> = items.filter_map(|[id, path]| id.zip(path)).collect();
    let spine = attributes_of(package, "itemref", ["idref"], most).into_iter().flatten().flatten();
    spine.filter_map(|id| paths.remove(&id)).collect()
}

/// The path in the archive of what a file refers to.
fn resolve(from: &str, reference: &str) -> String {
    let mut folders: Vec<&str> = from.split('/').collect();
    folders.pop();
    let path = percent_decode_str(reference.split('#').next().unwrap_or_default()).decode_utf8_lossy();
    for step in path.split('/') {
        match step {
            ".." => _ = folders.pop(),
            "" | "." => (),
            _ => folders.push(step),
        }
    }
    folders.join("/")
}
