//! How a table of cells is written, judged by its first mebibyte: one decision for the file.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::iter;

use anyhow::{Context, Result};
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::Encoding;
use memchr::{memchr, memchr_iter, memmem};

use super::cells::{CellSyntax, Quoting};
use super::holds::{Holds, TableShape};
use super::rows::{Dialect, Raw, TableReader};

/// What is looked at: this many bytes, and this many rows of them.
const SAMPLE: u64 = 1 << 20;
const MOST_ROWS: usize = 1000;
/// Number of rows that a header is looked for in.
const MOST_TITLES: usize = 10;

/// A table whose way of writing is known.
pub(crate) struct Sniffed<'a> {
    pub(crate) rows: TableReader<Box<dyn BufRead + 'a>>,
    pub(crate) syntax: CellSyntax,
    /// The header or, without one, the first row, and the number of line ends before it; `None` in an empty table.
    pub(crate) first: Option<(u64, Raw)>,
    /// Whether rows have one cell more than the header: the name of the row comes first, as R writes it.
    pub(crate) has_row_names: bool,
    /// What was decided that might be wrong, and the option that changes it.
    pub(crate) notes: Vec<String>,
}

/// Finds out how a table is written. `wanted` are the names of columns that its header may have.
///
/// # Errors
/// If the first row cannot be read.
pub(crate) fn sniff<'a>(
    mut reader: impl BufRead + 'a,
    holds: Holds,
    shape: TableShape,
    wanted: &[&str],
) -> Result<Sniffed<'a>> {
    let mut start = Vec::new();
    let mut first = reader.by_ref().take(SAMPLE);
    // the rows before a failure are read
    let read =
        if shape.is_by_line { first.read_until(b'\n', &mut start) } else { first.read_to_end(&mut start) };
    let failure = read.err();
    let is_whole = (start.len() as u64) < SAMPLE;
    let mut notes = Vec::new();
    let encoding = shape.encoding.or_else(|| legacy_encoding(&start, is_whole));
    let text = match encoding {
        None => Cow::Borrowed(&start),
        Some(encoding) => {
            if shape.encoding.is_none() {
                notes.push(format!("read as {}; --encoding changes this", encoding.name()));
            }
            Cow::Owned(encoding.decode(&start).0.into_owned().into_bytes())
        }
    };
    let sample = Sample { text: &text, is_whole, wanted, is_named: !shape.no_header };
    let found = sample.best(holds, shape.delimiter.or_else(|| sample.told_delimiter()));
    notes.extend(found.notes(&sample));
    let Candidate { syntax, n_before, has_row_names, .. } = found;
    let whole = Cursor::new(start).chain(BufReader::new(Failing(failure))).chain(reader);
    let reader: Box<dyn BufRead + 'a> = match encoding {
        None => Box::new(whole),
        Some(encoding) => Box::new(BufReader::new(tamis_program::to_utf8(whole, encoding))),
    };
    let mut rows = TableReader::by_line(reader, Dialect::Cells(syntax), shape.is_by_line);
    let first = match rows.nth(n_before) {
        Some((lines, raw)) => Some((lines, raw.with_context(|| format!("row {}", lines + 1))?)),
        None => None,
    };
    Ok(Sniffed { rows, syntax, first, has_row_names, notes })
}

/// Returns an error once, if there was one.
struct Failing(Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// Of the cells that begin with a quote, the number of those between quotes, and of the others.
fn quotes<'c>(cells: impl Iterator<Item = &'c Cow<'c, [u8]>>) -> (usize, usize) {
    let (mut quoted, mut others) = (0, 0);
    for cell in cells.filter(|cell| cell.starts_with(b"\"")) {
        let inner = cell.strip_prefix(b"\"").and_then(|cell| cell.strip_suffix(b"\""));
        if inner.is_some_and(|inner| inner.iter().filter(|byte| **byte == b'"').count() % 2 == 0) {
            quoted += 1;
        } else {
            others += 1;
        }
    }
    (quoted, others)
}

/// The encoding of a text that is not UTF-8. UTF-16 is read before.
fn legacy_encoding(start: &[u8], is_whole: bool) -> Option<&'static Encoding> {
    let error = str::from_utf8(start).err()?;
    if error.error_len().is_none() && !is_whole {
        return None;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(start, is_whole);
    Some(detector.guess(None, Utf8Detection::Deny))
}

/// The beginning of a table.
struct Sample<'s> {
    text: &'s [u8],
    is_whole: bool,
    wanted: &'s [&'s str],
    /// Whether it may have a header.
    is_named: bool,
}

/// How a table may be written, and what speaks for it.
struct Candidate {
    syntax: CellSyntax,
    n_before: usize,
    has_row_names: bool,
    /// Whether the second cell begins with a blank in most rows that have one.
    may_be_padded: bool,
    score: Score,
}

/// Compared from the first to the last.
#[derive(PartialEq, PartialOrd)]
struct Score {
    /// Number of wanted names that are whole cells of the header.
    n_named: usize,
    has_columns: bool,
    /// The share of rows that are as wide as most, less those that are not well written, per mille.
    quality: i64,
    rank: i32,
}

/// The cells of a row; `None` if it is not well written.
type Cells<'r> = Option<Vec<Cow<'r, [u8]>>>;

impl Sample<'_> {
    /// The delimiter that a first line such as `sep=;` tells.
    fn told_delimiter(&self) -> Option<u8> {
        let text = self.text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(self.text).trim_ascii_start();
        let text = text.strip_prefix(b"\"").unwrap_or(text).strip_prefix(b"sep=")?;
        let line = text.split(|byte| matches!(byte, b'\n' | b'\r')).next()?;
        let (delimiter, rest) = line.split_first()?;
        rest.iter().all(|byte| matches!(byte, b'"' | b';' | b',' | b'\t' | b' ')).then_some(*delimiter)
    }

    /// What ends rows: a carriage return only if the first line ends with one and most lines do.
    fn line_end(&self) -> u8 {
        let is_lone = |at: usize| self.text.get(at + 1).is_some_and(|next| *next != b'\n');
        let first = self.text.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let count = |byte| memchr_iter(byte, self.text).count();
        match first {
            Some(at) if self.text[at] == b'\r' && is_lone(at) && count(b'\r') > count(b'\n') => b'\r',
            _ => b'\n',
        }
    }

    /// The way of writing that fits best.
    fn best(&self, holds: Holds, delimiter: Option<u8>) -> Candidate {
        let has = |byte| memchr(byte, self.text).is_some();
        let is_tsv = holds == Holds::Tsv && has(b'\t');
        let delimiters = match delimiter.or(is_tsv.then_some(b'\t')) {
            Some(delimiter) => vec![delimiter],
            None => b",;\t| ".iter().copied().filter(|byte| *byte == b',' || has(*byte)).collect(),
        };
        // in this order where several fit as well
        let mut quotings = [Quoting::Codes, Quoting::Doubled, Quoting::Backslash, Quoting::Bare];
        if memchr_iter(b'"', self.text).count() == memmem::find_iter(self.text, b"\\\"").count() {
            quotings.swap(1, 2);
        }
        let line_end = self.line_end();
        let (mut rank, mut best) = (0, None);
        let forms = delimiters.into_iter().flat_map(|one| quotings.map(|quoting| (one, quoting)));
        for (delimiter, quoting) in forms {
            let is_possible = match quoting {
                Quoting::Codes => has(b'\\') && self.has_codes(delimiter, is_tsv),
                Quoting::Doubled => has(b'"') || holds != Holds::Tsv,
                Quoting::Backslash => memmem::find(self.text, b"\\\"").is_some(),
                Quoting::Bare => has(b'"') || holds == Holds::Tsv,
            };
            if !is_possible {
                continue;
            }
            let syntax = CellSyntax { delimiter, is_padded: false, quoting, line_end };
            rank -= 2;
            let plain = self.judge(syntax, rank);
            let padded = plain.may_be_padded.then_some(CellSyntax { is_padded: true, ..syntax });
            let padded = padded.map(|syntax| self.judge(syntax, rank + 1));
            for candidate in iter::once(plain).chain(padded) {
                if best.as_ref().is_none_or(|best: &Candidate| candidate.score > best.score) {
                    best = Some(candidate);
                }
            }
        }
        let csv = CellSyntax { delimiter: b',', is_padded: false, quoting: Quoting::Doubled, line_end };
        best.unwrap_or_else(|| self.judge(csv, 0))
    }

    /// Whether backslashes begin codes wherever there are any. Something must prove it, unless the table `may_have` codes.
    fn has_codes(&self, delimiter: u8, may_have: bool) -> bool {
        let (mut rest, mut is_proven) = (self.text, may_have);
        while let Some(at) = memchr(b'\\', rest) {
            let Some(code) = rest.get(at + 1) else { break };
            let is_proof = *code == delimiter || matches!(code, b'\\' | b'\n' | b'N');
            // as in C:\new
            let is_path = at > 0 && rest[at - 1] == b':' && *code != b'\\';
            if is_path || !is_proof && !matches!(code, b'n' | b'r' | b't' | b'0' | b'b' | b'Z' | b'"') {
                return false;
            }
            is_proven |= is_proof;
            rest = &rest[at + 2..];
        }
        is_proven
    }

    /// The first rows. One that may be cut off is left out.
    fn rows(&self, syntax: CellSyntax) -> Vec<io::Result<Raw>> {
        let rows = TableReader::new(self.text, Dialect::Cells(syntax)).take(MOST_ROWS);
        let mut rows: Vec<_> = rows.map(|(_, raw)| raw).collect();
        if !self.is_whole && rows.len() > 1 && rows.len() < MOST_ROWS {
            rows.pop();
        }
        rows
    }

    fn judge(&self, syntax: CellSyntax, rank: i32) -> Candidate {
        let raws = self.rows(syntax);
        let rows: Vec<Cells<'_>> =
            raws.iter().map(|raw| raw.as_ref().ok().and_then(|raw| syntax.cells(raw.bytes()).ok())).collect();
        let (n_before, n_named) = self.header(&rows);
        let header = rows.get(n_before).and_then(Option::as_ref).filter(|_| n_named > 0);
        let body = &rows[(n_before + usize::from(n_named > 0)).min(rows.len())..];
        let n_exact = |width: usize| body.iter().flatten().filter(|cells| cells.len() == width).count();
        let is_blank = |cells: &&Vec<Cow<'_, [u8]>>| cells.last().is_some_and(|cell| cell.is_empty());
        let has_row_names = header.is_some_and(|header| {
            let n = header.len();
            let may_end_blank = is_blank(&header) || !body.iter().flatten().all(|cells| is_blank(&cells));
            n > 1 && may_end_blank && n_exact(n) == 0 && n_exact(n + 1) > 0
        });
        let width = match header {
            Some(header) => header.len() + usize::from(has_row_names),
            None => most_common(body.iter().flatten().map(Vec::len)).unwrap_or(1),
        };
        let fits = |cells: &&Vec<Cow<'_, [u8]>>| {
            cells.len() >= width && cells[width..].iter().all(|cell| cell.is_empty())
        };
        let n_fitting = body.iter().flatten().filter(fits).count() as i64;
        let n_bad = body.iter().filter(|cells| cells.is_none()).count() as i64;
        let is_bare = matches!(syntax.quoting, Quoting::Bare | Quoting::Codes);
        let (quoted, others) = quotes(rows.iter().flatten().flatten());
        // few texts have tabs, but many a comma, and a cell ends at it
        let has_quoted = is_bare && quoted > if syntax.delimiter == b'\t' { others } else { 0 };
        let quality = match body.len() as i64 {
            0 => 1000,
            n => (1000 * (n_fitting - 2 * n_bad)) / n - if has_quoted { 1000 } else { 0 },
        };
        // blanks are between words too: they are delimiters only where quotes are in every row
        let is_of_words =
            syntax.delimiter == b' ' && !raws.iter().flatten().all(|raw| memchr(b'"', raw.bytes()).is_some());
        let score = Score {
            n_named: if is_of_words { 0 } else { n_named },
            has_columns: width > 1 && !is_of_words,
            quality,
            rank,
        };
        let seconds: Vec<_> = rows.iter().flatten().filter_map(|cells| cells.get(1)).collect();
        let n_padded = seconds.iter().filter(|cell| cell.starts_with(b" ")).count();
        let may_be_padded =
            syntax.delimiter != b' ' && seconds.len() > 1 && 4 * n_padded >= 3 * seconds.len();
        Candidate { syntax, n_before, has_row_names, may_be_padded, score }
    }

    /// The place of the header, or else of the first row, and how many wanted names the header has. Titles above it are
    /// narrower.
    fn header(&self, rows: &[Cells<'_>]) -> (usize, usize) {
        let n_named = |row: &Cells<'_>| {
            let has = |name: &&&str| {
                row.iter().flatten().any(|cell| cell.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
            };
            if self.is_named { self.wanted.iter().filter(has).count() } else { 0 }
        };
        let mut widest = 0;
        for (at, row) in rows.iter().take(MOST_TITLES).enumerate() {
            let width = row.as_ref().map_or(1, Vec::len);
            if width > widest && n_named(row) > 0 {
                return (at, n_named(row));
            }
            widest = widest.max(width);
        }
        let is_comment = |row: &&Cells<'_>| match row.as_deref() {
            Some([first, rest @ ..]) => {
                (first.starts_with(b"#") || first.starts_with(b"sep="))
                    && rest.iter().all(|cell| cell.trim_ascii().is_empty())
            }
            _ => false,
        };
        let n_comments = rows.iter().take_while(is_comment).count();
        // a table of one column may be of such lines
        let has_rows = rows[n_comments..].iter().flatten().any(|cells| cells.len() > 1);
        (if has_rows || self.told_delimiter().is_some() { n_comments } else { 0 }, 0)
    }
}

/// The most common of these numbers; the largest, if several are as common.
fn most_common(numbers: impl Iterator<Item = usize>) -> Option<usize> {
    let mut sorted: Vec<_> = numbers.collect();
    sorted.sort_unstable();
    sorted.chunk_by(|a, b| a == b).max_by_key(|equal| equal.len()).map(|equal| equal[0])
}

impl Candidate {
    /// What is worth saying of it.
    fn notes(&self, sample: &Sample<'_>) -> Vec<String> {
        let mut notes = Vec::new();
        if self.n_before > 0 {
            notes.push(format!("lines before the table: {}", self.n_before));
        }
        if self.has_row_names {
            notes.push(
                "the first cell of each row is its name, since the header has one cell less".to_owned(),
            );
        }
        let has_code =
            || [&b"\\n"[..], b"\\t", b"\\N"].iter().any(|code| memmem::find(sample.text, code).is_some());
        match self.syntax.quoting {
            Quoting::Backslash => notes.push("a backslash stands before quotes within quotes".to_owned()),
            Quoting::Codes => notes.push("backslashes begin codes such as \\n and \\N".to_owned()),
            Quoting::Bare if has_code() => notes.push("backslashes are read as they are".to_owned()),
            _ => (),
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::{TextColumns, TextRow, rows};
    use super::*;

    const COLUMNS: TextColumns<'_> = TextColumns::USUAL;

    /// Labels and texts as they are read, or errors; and what is said of the table.
    fn read(table: &[u8], holds: Holds) -> Result<(Vec<String>, String)> {
        let (rows, notes) = rows(table, holds, &COLUMNS)?;
        let rows = rows.map(|row| {
            let record = row.content?;
            let TextRow { label, text, .. } = record.text_row(&COLUMNS)?;
            Ok::<_, String>(format!("{}={text}", label?.unwrap_or_default()))
        });
        Ok((rows.map(|row| row.unwrap_or_else(|error| error)).collect(), notes.join("; ")))
    }

    fn check(table: &str, holds: Holds, expected: &[&str], said: &str) {
        let (rows, notes) = read(table.as_bytes(), holds).unwrap_or_else(|error| panic!("{table}: {error}"));
        assert_eq!(rows, expected, "{table}");
        assert!(notes.contains(said) && notes.is_empty() == said.is_empty(), "{table}: {notes}");
    }

    #[test]
    fn what_programs_write_before_a_table_is_passed_over() {
        let expected = ["ham=a; b", "spam=c"];
        let before = "lines before the table";
        check("sep=;\r\nlabel;text\r\nham;\"a; b\"\r\nspam;c\r\n", Holds::Csv, &expected, before);
        check("Report\n\nlabel,text\nham,a; b\nspam,c\n", Holds::Csv, &expected, before);
        check("# of May\nlabel\ttext\nham\ta; b\nspam\tc\n", Holds::Tsv, &expected, before);
        check("\n\nlabel,text\nham,a; b\nspam,c", Holds::Csv, &expected, "");
        // a text may look like a comment
        check("text,label\n# a,ham\n", Holds::Csv, &["ham=# a"], "");
    }

    #[test]
    fn the_delimiter_is_the_one_that_makes_columns() {
        for (delimiter, holds) in
            [(",", Holds::Csv), (";", Holds::Csv), ("\t", Holds::Csv), ("|", Holds::Csv), ("; ", Holds::Csv)]
        {
            let table =
                "label;text;n\nham;a, b, c;1\nspam;d, e;2\n".replace(',', "-").replace(';', delimiter);
            check(&table, holds, &["ham=a- b- c", "spam=d- e"], "");
        }
        // the most frequent byte of the first line is none
        check("a,b,c;label;text\nx,y,z;ham;c\nx,y,z;spam;d\n", Holds::Csv, &["ham=c", "spam=d"], "");
    }

    #[test]
    fn quotes_mean_what_the_whole_table_says() {
        let tsv = "label\ttext\nham\t\"a\t\"\"b\"\"\"\nspam\tc\n";
        check(tsv, Holds::Tsv, &["ham=a\t\"b\"", "spam=c"], "");
        let bare = "label\ttext\nham\t\"so\" a\nspam\tc \"d\"\n";
        check(bare, Holds::Tsv, &["ham=\"so\" a", "spam=c \"d\""], "");
        // most quotes at the beginning of a cell are of the text
        let bare = "label\ttext\nham\t\"a (\"b\") c\"\nspam\t\"d\" e\nham\t\"f\" g\n";
        check(bare, Holds::Tsv, &["ham=\"a (\"b\") c\"", "spam=\"d\" e", "ham=\"f\" g"], "");
        // a quote that is not meant as one joins no rows
        let stray = "label,text\nham,\"a, b\"\nspam,\"c\" d\nham,\"e\"\n";
        let refused = "expected a delimiter after the quotes of cell 2, got more text";
        check(stray, Holds::Csv, &["ham=a, b", refused, "ham=e"], "");
        let spark = "label,text\nham,\"a \\\"b\\\", c\"\nspam,\"d\"\n";
        check(spark, Holds::Csv, &["ham=a \"b\", c", "spam=d"], "a backslash stands before quotes");
    }

    #[test]
    fn codes_of_databases_are_told_from_paths() {
        let copy = "label\ttext\nham\ta\\nb\nspam\tC:\\\\new\n\\N\tc\n";
        check(copy, Holds::Tsv, &["ham=a\nb", "spam=C:\\new", "=c"], "backslashes begin codes");
        let paths = "label\ttext\nham\tC:\\new\nspam\td\n";
        check(paths, Holds::Tsv, &["ham=C:\\new", "spam=d"], "backslashes are read as they are");
    }

    #[test]
    fn r_writes_a_header_one_cell_short() {
        let expected = ["ham=a b", "spam=c"];
        let names = "the first cell of each row is its name";
        let table = "\"label\" \"text\"\n\"1\" \"ham\" \"a b\"\n\"2\" \"spam\" \"c\"\n";
        check(table, Holds::Csv, &expected, names);
        check(&table.replace("\" \"", "\",\""), Holds::Csv, &expected, names);
        check(&table.replace("\" \"", "\"\t\""), Holds::Tsv, &expected, names);
    }

    #[test]
    fn rows_end_as_the_first_line_does() {
        check("label,text\rham,a\rspam,b\r", Holds::Csv, &["ham=a", "spam=b"], "");
        check("label,text\nham,a\rb\nspam,c\n", Holds::Csv, &["ham=a\rb", "spam=c"], "");
    }

    #[test]
    fn encodings_are_of_the_whole_file() {
        for (name, text) in [
            ("gb18030", "今天天气很好，我们去公园散步"),
            ("shift_jis", "素晴らしい映画でした、表ソ"),
            ("windows-1252", "déjà vu à Zürich, “naïve”"),
        ] {
            let encoding = Encoding::for_label(name.as_bytes()).unwrap();
            let table = format!("label|text\nham|{text}\nspam|{text}\n");
            let (rows, notes) = read(&encoding.encode(&table).0, Holds::Csv).unwrap();
            assert_eq!(rows, [format!("ham={text}"), format!("spam={text}")]);
            assert!(notes.contains("--encoding changes this"), "{notes}");
        }
    }

    #[test]
    fn a_label_is_known_by_its_values_or_asked_for() {
        let rows = [
            "good film,pos",
            "bad film,neg",
            "fine film,pos",
            "poor film,neg",
            "nice film,pos",
            "dull film,neg",
        ];
        let table = rows.join("\n");
        let expected: Vec<_> = rows
            .iter()
            .map(|row| row.split_once(',').unwrap())
            .map(|(text, label)| format!("{label}={text}"))
            .collect();
        let expected: Vec<_> = expected.iter().map(|row| &**row).collect();
        check(&table, Holds::Csv, &expected, "column 2 is the label");
        check(&format!("review,sentiment\n{table}"), Holds::Csv, &expected, "the first row is a header");
        let unique = "a b,c d\ne f,g h\ni j,k l\n";
        let header = "review,sentiment\na b,pos\nc d,neg\ne f,pos\ng h,neg\n";
        for table in ["ham,a b\nspam,c d\n", unique, header] {
            let error = read(table.as_bytes(), Holds::Csv).unwrap_err().to_string();
            assert!(error.contains("--no-header --label-column 1 --text-column 2, or"), "{error}");
        }
    }
}
