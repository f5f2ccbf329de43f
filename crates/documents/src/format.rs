//! What a file is, by its bytes.

use memchr::{memchr, memchr_iter, memmem};

use crate::marks::{FOREIGN, Mark, STREAMS};
use crate::xml::{Piece, for_each_piece};

/// A file format that is neither plain text nor mail.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Format {
    /// Portable Document Format. Another program has to extract its text.
    Pdf,
    /// A Word document since 2007.
    Docx,
    /// A PowerPoint presentation since 2007.
    Pptx,
    /// An Excel workbook since 2007.
    Xlsx,
    /// An OpenDocument text.
    Odt,
    /// An OpenDocument presentation or drawing.
    Odp,
    /// An OpenDocument spreadsheet.
    Ods,
    /// An e-book.
    Epub,
    /// Rich Text Format.
    Rtf,
    /// A drawing in XML.
    Svg,
    /// A Jupyter notebook.
    Notebook,
    /// A zip archive of other files.
    Zip,
    /// Any other format: what it is, and what can be done with it, if anything.
    Foreign(&'static str),
}

impl Format {
    /// Recognises a format by the marks that its files begin with, and what a zip archive holds by the names in it.
    /// `None` for text, mail, and whatever has no mark; [`is_binary`] tells the last from the others.
    ///
    /// The beginning of a file is enough for most formats. A notebook, an archive without names at its beginning and
    /// an encrypted office document may need all of it.
    ///
    /// ```
    /// use tamis_documents::Format;
    ///
    /// assert_eq!(Format::of(b"%PDF-1.7\n"), Some(Format::Pdf));
    /// assert_eq!(Format::of(b"GIF89a\x01\0\x01\0"), Some(Format::Foreign("a GIF image")));
    /// assert_eq!(Format::of(b"%PDF- is the mark of a PDF"), None);
    /// ```
    pub fn of(bytes: &[u8]) -> Option<Format> {
        // the first byte tells most of them apart, which is faster
        let has = |at: usize, mark: &[u8]| bytes.get(at) == mark.first() && bytes[at..].starts_with(mark);
        if has(0, b"PK\x03\x04") || has(0, b"PK\x05\x06") || has(0, b"PK\x07\x08PK\x03\x04") {
            return Some(of_archive(bytes));
        }
        if has(0, OLE) {
            return Some(Format::Foreign(of_streams(bytes)));
        }
        let marked = || {
            // a text may begin with two or three letters
            let is_one = |mark: &[u8]| mark.len() > 3 || is_binary(&bytes[..bytes.len().min(512)]);
            let is_any = |marks: &[Mark]| marks.iter().any(|(at, mark)| has(*at, mark) && is_one(mark));
            FOREIGN.iter().find(|(_, marks)| is_any(marks)).map(|(what, _)| Format::Foreign(what))
        };
        let begins = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
        match begins.first()? {
            b'{' if begins.starts_with(br"{\rtf") => Some(Format::Rtf),
            b'{' => is_notebook(begins).then_some(Format::Notebook),
            b'<' => is_svg(begins).then_some(Format::Svg),
            _ => is_pdf(bytes).then_some(Format::Pdf).or_else(marked),
        }
    }

    /// What a file of the format is called in a sentence, such as "a Word document (DOCX)", and the way out, if it
    /// cannot be read but what is in it can.
    pub fn name(&self) -> &'static str {
        self.names().1
    }

    /// The format's abbreviation, such as `DOCX`; `other` for foreign formats.
    pub fn abbreviation(&self) -> &'static str {
        self.names().0
    }

    fn names(self) -> (&'static str, &'static str) {
        match self {
            Format::Pdf => ("PDF", "a PDF"),
            Format::Docx => ("DOCX", "a Word document (DOCX)"),
            Format::Pptx => ("PPTX", "a PowerPoint presentation (PPTX)"),
            Format::Xlsx => ("XLSX", "an Excel workbook (XLSX)"),
            Format::Odt => ("ODT", "an OpenDocument text (ODT)"),
            Format::Odp => ("ODP", "an OpenDocument presentation (ODP)"),
            Format::Ods => ("ODS", "an OpenDocument spreadsheet (ODS)"),
            Format::Epub => ("EPUB", "an e-book (EPUB)"),
            Format::Rtf => ("RTF", "an RTF document"),
            Format::Svg => ("SVG", "a drawing (SVG)"),
            Format::Notebook => ("IPYNB", "a Jupyter notebook"),
            Format::Zip => ("ZIP", "a zip archive"),
            Format::Foreign(what) => ("other", what),
        }
    }

    /// Whether [`text_of`](crate::text_of) can read it: all but PDF and foreign formats.
    pub fn has_text(&self) -> bool {
        !matches!(self, Format::Pdf | Format::Foreign(_))
    }
}

/// Whether bytes are binary data rather than text, also if text stands before it: a zero anywhere, or many control
/// characters in some 512 bytes. UTF-16 and UTF-32 have zeros too; tell them apart first.
///
/// ```
/// assert!(tamis_documents::is_binary(b"text\0"));
/// assert!(!tamis_documents::is_binary("Text\r\n\tin any script, \u{1b}[1mbold\u{1b}[0m or not: \u{6587}".as_bytes()));
/// ```
pub fn is_binary(bytes: &[u8]) -> bool {
    // Of 512 random bytes, 46 are control characters that texts do not have, of 23 kinds. Texts may have backspace to
    // carriage return, shifts and escape; and one kind, over and over, as a line is drawn.
    const MOST: usize = 26;
    const MOST_KINDS: u32 = 8;
    // without branches, so that many bytes are tested by one instruction
    let is_control = |byte: u8| (byte < 0x20) & (byte.wrapping_sub(8) >= 8) & (byte != 0x1b);
    let count = |block: &[u8]| usize::from(block.iter().map(|byte| u8::from(is_control(*byte))).sum::<u8>());
    let are_many = |chunk: &[u8]| {
        let (blocks, rest) = chunk.as_chunks::<64>();
        blocks.iter().map(|block| count(block)).sum::<usize>() + count(rest) >= MOST
    };
    let kinds = |chunk: &[u8]| {
        let controls = chunk.iter().filter(|byte| is_control(**byte));
        controls.fold(0_u32, |kinds, byte| kinds | 1 << byte).count_ones()
    };
    let mut chunks = bytes.chunks(512);
    memchr(0, bytes).is_some() || chunks.any(|chunk| are_many(chunk) && kinds(chunk) >= MOST_KINDS)
}

/// An OLE compound file.
const OLE: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

/// What an OLE compound file holds, by the first stream that its directory names.
fn of_streams(bytes: &[u8]) -> &'static str {
    let number = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let directory = || {
        let place = (u64::from(number(48)?) + 1).checked_shl(number(30)? & 0xff)?;
        bytes.get(usize::try_from(place).ok()?..)
    };
    let entries = directory().unwrap_or(bytes);
    let place = |name: &str| {
        let units: Vec<u8> = name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
        memmem::find(entries, &units)
    };
    // beside the encrypted document there may be one that says that it is
    let named =
        STREAMS.iter().filter_map(|(name, what)| Some((*name != "EncryptedPackage", place(name)?, *what)));
    named.min().map_or("an Office document or Outlook message (OLE)", |(_, _, what)| what)
}

/// What a zip archive is, by the names of its first files, and by the type that OpenDocument and EPUB put first.
fn of_archive(bytes: &[u8]) -> Format {
    const TYPES: [(&[u8], Format); 5] = [
        (b"application/vnd.oasis.opendocument.text", Format::Odt),
        (b"application/vnd.oasis.opendocument.presentation", Format::Odp),
        (b"application/vnd.oasis.opendocument.graphics", Format::Odp),
        (b"application/vnd.oasis.opendocument.spreadsheet", Format::Ods),
        (b"application/epub+zip", Format::Epub),
    ];
    const NAMES: [(&[u8], Format); 11] = [
        (b"xl/workbook.bin", Format::Foreign("a binary Excel workbook (XLSB); LibreOffice saves it as XLSX")),
        (b"word/document", Format::Docx),
        (b"ppt/presentation", Format::Pptx),
        (b"xl/workbook", Format::Xlsx),
        (b"META-INF/container.xml", Format::Epub),
        (b"content.xml", Format::Odt),
        (b"visio/document", Format::Foreign("a Visio drawing (VSDX)")),
        (b"FixedDocSeq.fdseq", Format::Foreign("an XPS document")),
        (b"Index/Document.iwa", Format::Foreign("a document of Apple's iWork; export it as DOCX")),
        (b"AndroidManifest.xml", Format::Foreign("an Android app (APK)")),
        (b"META-INF/MANIFEST.MF", Format::Foreign("a Java archive (JAR)")),
    ];
    let files: Vec<_> = local_files(bytes).take(1000).collect();
    let is_typed = |kind: &[u8]| {
        files.first().is_some_and(|(name, rest)| *name == b"mimetype" && rest.starts_with(kind))
    };
    let is_named = |start: &[u8]| files.iter().any(|(name, _)| name.starts_with(start));
    let typed = TYPES.iter().find(|(kind, _)| is_typed(kind));
    typed
        .or_else(|| NAMES.iter().find(|(start, _)| is_named(start)))
        .map_or(Format::Zip, |(_, format)| *format)
}

/// The files of a zip archive by their local headers, which the beginning of an archive has: the name of each, and the
/// bytes from its data on.
fn local_files(bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    const HEADER: &[u8] = b"PK\x03\x04";
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let header = rest.get(memmem::find(rest, HEADER)?..)?;
        let number = |at: usize| Some(usize::from(u16::from_le_bytes(*header.get(at..)?.first_chunk()?)));
        let (size, name) = (number(18)? | number(20)? << 16, number(26)?);
        let data = header.get(30 + name + number(28)?..)?;
        // a size that follows the data is 0 here; the next header is looked for
        rest = data.get(size..).unwrap_or_default();
        Some((header.get(30..30 + name)?, data))
    })
}

/// Whether a PDF begins within the first 1,024 bytes: at the very start, behind blank lines, or at the start of a
/// line behind binary data. A mail or text may mention its mark.
fn is_pdf(bytes: &[u8]) -> bool {
    memchr_iter(b'%', &bytes[..bytes.len().min(1024)]).any(|at| {
        let (before, after) = bytes.split_at(at);
        let is_version = matches!(after, [b'%', b'P', b'D', b'F', b'-', b'0'..=b'9', b'.', b'0'..=b'9', ..]);
        let is_blank =
            || before.strip_prefix(b"\xef\xbb\xbf").unwrap_or(before).trim_ascii_start().is_empty();
        let is_junk = || before.iter().any(|byte| matches!(byte, 0..=8 | 0x1b));
        is_version && (is_blank() || is_junk())
    })
}

/// Whether the first element of XML is a drawing.
fn is_svg(bytes: &[u8]) -> bool {
    let mut is_drawing = false;
    for_each_piece(&bytes[..bytes.len().min(8192)], |piece| match piece {
        Piece::Start(name, _) => {
            is_drawing = name == "svg";
            false
        }
        _ => true,
    });
    is_drawing
}

/// Whether JSON begins as a notebook does, and has its cells and its version.
fn is_notebook(bytes: &[u8]) -> bool {
    let first = bytes[1..].trim_ascii_start();
    let is_first = |key: &str| first.starts_with(key.as_bytes());
    ["\"cells\"", "\"metadata\"", "\"nbformat"].into_iter().any(is_first)
        && ["\"cells\"", "\"nbformat\""].iter().all(|key| memmem::find(bytes, key.as_bytes()).is_some())
}
