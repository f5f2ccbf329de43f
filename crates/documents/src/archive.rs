//! Zip archives, whose entries are inflated within limits.

use std::collections::BTreeMap;
use std::io::{self, Read};

use flate2::bufread::DeflateDecoder;
use rawzip::{CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder, ZipSliceArchive};

use crate::format::Format;
use crate::limits::{Limits, Reading, Unread};

/// A file of a zip archive.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Member {
    /// Its path in the archive, with `/` between folders.
    pub path: String,
    /// Its bytes, or why there are none: it is encrypted, damaged, or beyond the limits.
    pub bytes: Result<Vec<u8>, Unread>,
}

/// An archive whose entries are read once each.
pub(crate) struct Archive<'a> {
    archive: ZipSliceArchive<&'a [u8]>,
    entries: BTreeMap<String, Entry>,
    format: Format,
}

struct Entry {
    place: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
    is_encrypted: bool,
}

impl<'a> Archive<'a> {
    /// Reads the directory of an archive of a format.
    pub(crate) fn open(bytes: &'a [u8], format: Format, reading: &mut Reading) -> Result<Self, Unread> {
        let archive = ZipArchive::from_slice(bytes).map_err(|_| Unread::Damaged(format))?;
        let mut entries = BTreeMap::new();
        let mut all = archive.entries();
        while let Some(entry) = all.next_entry().map_err(|_| Unread::Damaged(format))? {
            if reading.left.entries == 0 {
                reading.output.is_cut = true;
                break;
            }
            reading.left.entries -= 1;
            let path = String::from_utf8_lossy(entry.file_path().as_bytes()).replace('\\', "/");
            let (method, is_encrypted) = (entry.compression_method(), entry.flags().is_encrypted());
            if !path.ends_with('/') {
                entries.insert(path, Entry { place: entry.wayfinder(), method, is_encrypted });
            }
        }
        Ok(Archive { archive, entries, format })
    }

    /// The paths that begin with `start` and go no folder deeper, in the order of the numbers that they end with.
    pub(crate) fn paths(&self, start: &str) -> Vec<String> {
        let all = self
            .entries
            .range(start.to_owned()..)
            .map_while(|(path, _)| Some((path, path.strip_prefix(start)?)));
        let mut paths: Vec<_> =
            all.filter(|(_, rest)| !rest.contains('/')).map(|(path, _)| path.clone()).collect();
        paths.sort_by_key(String::len);
        paths
    }

    /// Inflates the next entry in the order of paths.
    pub(crate) fn pop(&mut self, reading: &mut Reading) -> Option<Member> {
        let (path, entry) = self.entries.pop_first()?;
        let bytes = self.inflate(&entry, reading);
        Some(Member { path, bytes })
    }

    /// Inflates an entry of XML. A path that there is no entry of, or that was taken, yields nothing.
    pub(crate) fn take(&mut self, path: &str, reading: &mut Reading) -> Result<Option<Vec<u8>>, Unread> {
        let Some(entry) = self.entries.remove(path) else { return Ok(None) };
        let mut xml = self.inflate(&entry, reading)?;
        // a piece of XML takes longer than the bytes that it has
        let mut tags = memchr::memchr2_iter(b'<', b'&', &xml);
        let n_tags = tags.by_ref().take(reading.left_tags).count();
        if let Some(end) = tags.next() {
            xml.truncate(end);
            reading.output.is_cut = true;
        }
        reading.left_tags -= n_tags;
        Ok(Some(xml))
    }

    fn inflate(&self, entry: &Entry, reading: &mut Reading) -> Result<Vec<u8>, Unread> {
        let damaged = |_: io::Error| Unread::Damaged(self.format);
        if entry.is_encrypted {
            return Err(Unread::Password(self.format));
        }
        let found = self.archive.get_entry(entry.place).map_err(|_| Unread::Damaged(self.format))?;
        let data = found.data();
        let inflated: Box<dyn Read> = match entry.method {
            CompressionMethod::STORE => Box::new(data),
            CompressionMethod::DEFLATE => Box::new(DeflateDecoder::new(data)),
            _ => return Err(Unread::Damaged(self.format)),
        };
        let (mut bytes, most) = (Vec::new(), reading.left.inflated);
        let mut verified = found.verifying_reader(inflated);
        let read = (&mut verified).take(most).read_to_end(&mut bytes);
        reading.left.inflated -= bytes.len() as u64;
        read.map_err(damaged)?;
        if reading.left.inflated == 0 && verified.read(&mut [0]).map_err(damaged)? > 0 {
            reading.output.is_cut = true;
        }
        Ok(bytes)
    }
}

/// Inflates the files of a zip archive, in the order of their paths, one by one and within the limits (that of text
/// is not used). Archives among them are not opened. Office documents and e-books are zip archives too.
///
/// # Errors
/// [`Unread::NoDocument`] if it is not a zip archive, [`Unread::Damaged`] if it is cut short.
///
/// ```
/// use tamis_documents::{Limits, members};
///
/// // an empty archive
/// let bytes = *b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// assert_eq!(members(&bytes, &Limits::default())?.count(), 0);
/// # Ok::<(), tamis_documents::Unread>(())
/// ```
pub fn members<'a>(
    bytes: &'a [u8],
    limits: &Limits,
) -> Result<impl Iterator<Item = Member> + use<'a>, Unread> {
    if !bytes.starts_with(b"PK") {
        return Err(Unread::NoDocument(Format::of(bytes)));
    }
    let mut reading = Reading::new(limits);
    let mut archive = Archive::open(bytes, Format::Zip, &mut reading)?;
    Ok(std::iter::from_fn(move || archive.pop(&mut reading)))
}
