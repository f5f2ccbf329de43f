//! Sheets of workbooks (XLSX, XLSB, XLS, ODS) as CSV, which is then read as any other.

use std::io::Cursor;

use anyhow::{Context, Result, bail};
use calamine::{Data, Reader, open_workbook_auto_from_rs};

/// The rows of a sheet as CSV with all cells in quotes, so that nothing has to be guessed: of the sheet with this name, or of the
/// first that is not empty.
///
/// # Errors
/// If it is not a workbook, is damaged or encrypted, or has no such sheet.
pub(super) fn sheet_as_csv(bytes: Vec<u8>, wanted: Option<&str>) -> Result<Vec<u8>> {
    let mut book = open_workbook_auto_from_rs(Cursor::new(bytes)).context("expected a workbook")?;
    let names = book.sheet_names();
    if let Some(wanted) = wanted.filter(|wanted| names.iter().all(|name| name != wanted)) {
        bail!("--sheet: expected one of {}, got {wanted}", names.join(", "));
    }
    let mut csv = csv::WriterBuilder::new().quote_style(csv::QuoteStyle::Always).from_writer(Vec::new());
    for name in names.iter().filter(|name| wanted.is_none_or(|wanted| wanted == *name)) {
        let sheet = book.worksheet_range(name).with_context(|| format!("sheet {name}"))?;
        for row in sheet.rows() {
            csv.write_record(row.iter().map(text_of))?;
        }
        if !sheet.is_empty() {
            break;
        }
    }
    Ok(csv.into_inner()?)
}

/// What a cell shows; a date as ISO 8601 writes it.
fn text_of(cell: &Data) -> String {
    match cell {
        Data::DateTime(time) if !time.is_duration() => {
            let (year, month, day, hour, minute, second, _) = time.to_ymd_hms_milli();
            let date = format!("{year:04}-{month:02}-{day:02}");
            match (hour, minute, second) {
                (0, 0, 0) => date,
                _ => format!("{date}T{hour:02}:{minute:02}:{second:02}"),
            }
        }
        Data::Error(_) => String::new(),
        _ => cell.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_workbook_is_refused() {
        for bytes in [&b""[..], b"label,text\nham,x\n", b"PK\x03\x04"] {
            assert!(sheet_as_csv(bytes.to_vec(), None).is_err());
        }
    }
}
