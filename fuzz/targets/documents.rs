//! Documents: any bytes, or a document of which they are the parts.

use tamis_documents::{Format, Limits, members, text_of};

use super::Choices;

/// Parts of documents by their paths; the bytes are divided among those of one line.
const PARTS: [&[&str]; 6] = [
    &["word/document.xml", "word/_rels/document.xml.rels", "word/footnotes.xml", "docProps/core.xml"],
    &["ppt/presentation.xml", "ppt/slides/slide2.xml", "ppt/slides/slide1.xml"],
    &["xl/workbook.xml", "xl/sharedStrings.xml", "xl/worksheets/sheet1.xml"],
    &["content.xml", "meta.xml", "META-INF/manifest.xml"],
    &["META-INF/container.xml", "a/package.opf", "a/b.xhtml", "a/c.xhtml"],
    &["a.txt", "b.rtf", "c/d.ipynb", "e.docx"],
];

pub fn run(data: &[u8]) {
    let mut choices = Choices(data);
    let kind = usize::from(choices.byte());
    let bytes = match PARTS.get(kind % 8) {
        Some(parts) => archive(parts, choices.0),
        None => choices.0.to_vec(),
    };
    let limits = Limits { text: 4000, inflated: 100_000, entries: 50 };
    let (format, whole) = (Format::of(&bytes), text_of(&bytes, &limits));
    assert!(whole.is_err() || format.is_some_and(|format| format.has_text()));
    let fewer = Limits { text: 1 + kind, ..limits };
    if let (Ok(whole), Ok(cut)) = (whole, text_of(&bytes, &fewer)) {
        assert!(whole.text.len() <= limits.text && cut.text.len() <= fewer.text);
        assert!(whole.text.starts_with(&cut.text), "{:?} {:?}", whole.text, cut.text);
        assert!(whole.text == cut.text || cut.is_cut);
    }
    let inflated: usize =
        members(&bytes, &limits).into_iter().flatten().flat_map(|member| member.bytes).map(|b| b.len()).sum();
    assert!(inflated as u64 <= limits.inflated);
}

/// A zip archive of files without compression, which have the bytes between `\0` each.
fn archive(paths: &[&str], data: &[u8]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (path, part) in paths.iter().zip(data.split(|byte| *byte == 0)) {
        let mut crc = flate2::Crc::new();
        crc.update(part);
        let size = part.len() as u32;
        let mut fields = [0; 8].to_vec();
        fields.extend([crc.sum(), size, size, path.len() as u32].map(u32::to_le_bytes).concat());
        directory.extend([&b"PK\x01\x02\0\0\0\0"[..], &fields, &[0; 10]].concat());
        directory.extend((bytes.len() as u32).to_le_bytes());
        directory.extend(path.as_bytes());
        bytes.extend([&b"PK\x03\x04\0\0"[..], &fields, path.as_bytes(), part].concat());
    }
    let (n_files, at) = (data.split(|byte| *byte == 0).count().min(paths.len()) as u16, bytes.len() as u32);
    bytes.extend(&directory);
    bytes.extend([&b"PK\x05\x06\0\0\0\0"[..], &n_files.to_le_bytes(), &n_files.to_le_bytes()].concat());
    bytes.extend([directory.len() as u32, at, 0].map(u32::to_le_bytes).concat());
    bytes.truncate(bytes.len() - 2);
    bytes
}
