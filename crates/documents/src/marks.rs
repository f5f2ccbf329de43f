//! Marks of the formats that are not read.

/// A mark, and where in a file it is.
pub(crate) type Mark = (usize, &'static [u8]);

/// Formats that are neither text nor mail: what they are, and the marks that their files have, each with its place. A
/// mark of two or three letters counts only if binary data stands behind it.
#[rustfmt::skip] // a line for each
pub(crate) const FOREIGN: &[(&str, &[Mark])] = &[
    // images
    ("a PNG image", &[(0, b"\x89PNG\r\n")]),
    ("a JPEG image", &[(0, b"\xff\xd8\xff"), (0, b"\0\0\0\x0cjP  "), (0, b"\0\0\0\x0cJXL "), (0, b"\xff\x0a")]),
    ("a GIF image", &[(0, b"GIF87a"), (0, b"GIF89a")]),
    ("a TIFF image", &[(0, b"II*\0"), (0, b"MM\0*")]),
    ("a WebP image", &[(8, b"WEBPVP8")]),
    ("a HEIF image", &[(4, b"ftypheic"), (4, b"ftypmif1"), (4, b"ftypavif")]),
    ("a Windows image", &[(0, b"BM"), (0, b"\0\0\x01\0"), (0, b"\0\0\x02\0"), (0, b"\xd7\xcd\xc6\x9a"), (40, b" EMF\0")]),
    ("an image of Photoshop or GIMP", &[(0, b"8BPS\0"), (0, b"gimp xcf")]),
    // documents
    ("a DjVu document; djvutxt extracts its text", &[(0, b"AT&TFORM")]),
    ("PostScript; ps2pdf writes it as PDF", &[(0, b"%!PS"), (0, b"\x04%!PS"), (0, b"\xc5\xd0\xd3\xc6")]),
    ("a print job", &[(0, b"\x1b%-12345X")]),
    ("an e-book (MOBI); Calibre saves it as EPUB", &[(60, b"BOOKMOBI")]),
    ("compiled help (CHM)", &[(0, b"ITSF\x03\0")]),
    ("a DVI document", &[(0, b"\xf7\x02\x01\x83\x92\xc0\x1c\x3b")]),
    ("a WordPerfect document; LibreOffice saves it as DOCX", &[(0, b"\xffWPC")]),
    ("a Word document of before 1997; LibreOffice saves it as DOCX", &[(0, b"\x31\xbe\0\0\0\xab"), (0, b"\xdb\xa5\x2d\0")]),
    ("a sheet of before 1997; LibreOffice saves it as XLSX", &[(0, b"\x09\x08\x10\0"), (0, b"\0\0\x1a\0")]),
    ("a font", &[(0, b"wOFF"), (0, b"wOF2"), (0, b"OTTO\0"), (0, b"\0\x01\0\0\0"), (0, b"ttcf\0")]),
    // sound and films
    ("a sound file (MP3)", &[(0, b"ID3"), (0, b"\xff\xfb"), (0, b"\xff\xf3")]),
    ("a sound file (Ogg or FLAC)", &[(0, b"OggS\0"), (0, b"fLaC\0")]),
    ("a sound file (WAV or AIFF)", &[(8, b"WAVEfmt "), (8, b"AIFFC"), (8, b"AIFC")]),
    ("a sound file", &[(0, b"MThd\0"), (0, b"#!AMR"), (4, b"ftypM4A")]),
    ("a film (MP4)", &[(4, b"ftyp"), (4, b"moov")]),
    ("a film (AVI)", &[(8, b"AVI LIST")]),
    ("a film (Matroska)", &[(0, b"\x1a\x45\xdf\xa3")]),
    ("a film", &[(0, b"\x30\x26\xb2\x75\x8e\x66\xcf\x11"), (0, b"\0\0\x01\xba"), (0, b"\0\0\x01\xb3"), (0, b"FLV"), (0, b"CWS")]),
    // archives and compressed files
    ("a 7z archive", &[(0, b"7z\xbc\xaf\x27\x1c")]),
    ("a rar archive", &[(0, b"Rar!\x1a\x07")]),
    ("a tar archive; its files are read once they are unpacked", &[(257, b"ustar")]),
    ("an archive", &[(0, b"070701"), (0, b"MSCF\0"), (2, b"-lh5-")]),
    ("a disk image (ISO 9660)", &[(32769, b"CD001")]),
    ("a software package", &[(0, b"!<arch>\n"), (0, b"\xed\xab\xee\xdb")]),
    ("a bzip2 file; only gzip and zstd are read through", &[(4, b"1AY&SY"), (4, b"\x17rE8P\x90")]),
    ("an xz file; only gzip and zstd are read through", &[(0, b"\xfd7zXZ\0"), (0, b"LZIP\x01"), (0, b"\x5d\0\0\x80\0")]),
    ("a compress file; only gzip and zstd are read through", &[(0, b"\x1f\x9d")]),
    ("a lz4 file; only gzip and zstd are read through", &[(0, b"\x04\x22\x4d\x18"), (0, b"Dovecot-LZ4\x0d\x2a\x9b\xc5")]),
    // what could be read was unpacked before
    ("a gzip file without mail or text in it", &[(0, b"\x1f\x8b\x08")]),
    ("a zstd file without mail or text in it", &[(0, b"\x28\xb5\x2f\xfd")]),
    ("an encrypted file (PGP)", &[(0, b"-----BEGIN PGP MESSAGE-----"), (0, b"\x8c\x0d\x04"), (0, b"\x85\x01\x0c\x03"), (0, b"\x85\x02\x0c\x03")]),
    ("an encrypted file", &[(0, b"age-encryption.org/"), (0, b"Salted__")]),
    // programs and data
    ("a program (ELF)", &[(0, b"\x7fELF")]),
    ("a Windows program", &[(0, b"MZ"), (0, b"L\0\0\0\x01\x14\x02\0")]),
    ("a Java class or macOS program", &[(0, b"\xca\xfe\xba\xbe"), (0, b"\xcf\xfa\xed\xfe"), (0, b"\xce\xfa\xed\xfe")]),
    ("a program (WebAssembly)", &[(0, b"\0asm")]),
    ("an SQLite database", &[(0, b"SQLite format 3\0")]),
    ("an Access database", &[(0, b"\0\x01\0\0Standard")]),
    ("a tamis model", &[(0, b"TAMIS\r\n\x1a")]),
    ("a Parquet file; duckdb and polars write its rows as JSON lines, which are read", &[(0, b"PAR1")]),
    ("an Arrow file; duckdb and polars write its rows as JSON lines, which are read", &[(0, b"ARROW1\0\0")]),
    ("an array of numbers", &[(0, b"\x93NUMPY"), (0, b"\x89HDF\r\n")]),
    ("captured packets", &[(0, b"\xd4\xc3\xb2\xa1")]),
    ("a property list of macOS", &[(0, b"bplist00")]),
    ("what macOS knows of another file or a folder", &[(0, b"\0\x05\x16\x07"), (0, b"\0\x05\x16\0"), (0, b"\0\0\0\x01Bud1")]),
    // mail, of programs that keep it in files of their own
    ("an MMDF mailbox; write it as mbox", &[(0, b"\x01\x01\x01\x01\n")]),
    ("a Babyl mailbox (Rmail); write it as mbox", &[(0, b"BABYL OPTIONS:")]),
    ("an mbx mailbox (UW imapd); mailutil writes it as mbox", &[(0, b"*mbx*\r\n")]),
    ("a dbox mailbox (Dovecot); doveadm backup writes it as Maildir", &[(0, b"2 M1e C")]),
    ("an Outlook data file (PST); readpst writes it as mbox", &[(0, b"!BDN")]),
    ("a mailbox of Outlook Express (DBX); readdbx writes it as mbox", &[(0, b"\xcf\xad\x12\xfe")]),
    ("an attachment of Outlook (TNEF, winmail.dat)", &[(0, b"\x78\x9f\x3e\x22")]),
    ("an index of Thunderbird (Mork)", &[(0, b"// <!-- <mdb:mork")]),
];

/// OLE compound files, by the streams that their directory names: the encrypted one, or else the first.
#[rustfmt::skip] // a line for each
pub(crate) const STREAMS: &[(&str, &str)] = &[
    ("EncryptedPackage", "an Office document with a password"),
    ("__properties_version1.0", "an Outlook message (MSG); msgconvert writes it as mail"),
    ("WordDocument", "a Word document of before 2007 (DOC); LibreOffice saves it as DOCX"),
    ("Workbook", "an Excel workbook of before 2007 (XLS); LibreOffice saves it as XLSX"),
    ("Book", "an Excel workbook of before 1997 (XLS); LibreOffice saves it as XLSX"),
    ("PowerPoint Document", "a PowerPoint presentation of before 2007 (PPT); LibreOffice saves it as PPTX"),
    ("VisioDocument", "a Visio drawing (VSD)"),
];
