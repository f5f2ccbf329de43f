//! Zip archives of documents: each file in one is a document, and its folder a label.

use std::io::Read;

use anyhow::{Context, Result};
use tamis_documents::{Limits, Member, Unread, members};
use tamis_program::shown_path;

use crate::formats::holds::Holds;
use crate::input::file::InputFile;
use crate::input::items::{Content, MemberName};

/// Maximum bytes of an archive, and of what is inflated of it.
const MOST: u64 = 1 << 30;

/// The files in an archive, but those that are hidden.
///
/// # Errors
/// If it cannot be read, or is not a whole zip archive.
pub(super) fn archive_members(file: &InputFile) -> Result<Vec<(MemberName, Content)>> {
    let name = || shown_path(&file.path);
    let mut bytes = Vec::new();
    file.open()?.take(MOST).read_to_end(&mut bytes).with_context(name)?;
    let limits = Limits { inflated: MOST, ..Limits::default() };
    let all = members(&bytes, &limits).with_context(name)?;
    let is_hidden = |path: &str| path.split('/').any(|part| part.starts_with('.') || part == "__MACOSX");
    let all: Vec<_> = all.filter(|member| !is_hidden(&member.path)).collect();
    let root = all.first().and_then(|first| Some(&first.path[..=first.path.find('/')?])).unwrap_or_default();
    let are_below = all.iter().all(|member| folder(member.path.strip_prefix(root)).is_some());
    let root = if are_below { root.to_owned() } else { String::new() };
    let content = |path: &str, bytes: Result<Vec<u8>, Unread>| match bytes {
        _ if Holds::of_name(path.as_ref()) != Holds::One => Content::Unreadable(
            "expected a document, got a table, mbox or archive in an archive; unpack it".to_owned(),
        ),
        Ok(bytes) => Content::Bytes(bytes),
        Err(unread) => Content::Unreadable(format!("expected a document, got {}", unread.what())),
    };
    let named = |member: Member| {
        let label = folder(member.path.strip_prefix(&*root)).map(str::to_owned);
        let content = content(&member.path, member.bytes);
        (MemberName { label, path: member.path }, content)
    };
    Ok(all.into_iter().map(named).collect())
}

/// The first folder of a path, if it has one.
fn folder(path: Option<&str>) -> Option<&str> {
    path?.split_once('/').map(|(folder, _)| folder)
}
