//! Dense vectors: as text, and in files of NumPy.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde_json::Value;

/// The numbers of a vector in a JSON row: an array, or a string of one. None if it is null.
pub(crate) fn of_value(value: &Value) -> Result<Vec<f32>, String> {
    let number =
        |(at, it): (usize, &Value)| it.as_f64().map(|number| number as f32).ok_or_else(|| not_a_number(at));
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(numbers) => numbers.iter().enumerate().map(number).collect(),
        Value::String(text) => read_vector(text),
        _ => Err(NOT_AN_ARRAY.to_owned()),
    }
}

/// Where an array has something else than a number.
fn not_a_number(at: usize) -> String {
    format!("expected an array of numbers, got something else at number {}", at + 1)
}

const NOT_AN_ARRAY: &str = "expected an array of numbers, got something else";

/// The numbers of a vector in brackets: a JSON array, or as NumPy prints it, with blanks between the numbers.
pub(crate) fn read_vector(text: &str) -> Result<Vec<f32>, String> {
    let inside = text.trim().strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let inside = inside.ok_or(NOT_AN_ARRAY)?;
    let numbers = inside.split([',', ' ', '\t', '\r', '\n']).filter(|number| !number.is_empty());
    // NaN and the like are told where their place is known
    let number = |(at, number): (usize, &str)| number.parse().map_err(|_| not_a_number(at));
    numbers.enumerate().map(number).collect()
}

/// Vectors in a file, a row for each document. Rows are read when they are needed.
pub(crate) struct VectorFile {
    file: File,
    /// Where the first row begins.
    start: u64,
    pub(crate) rows: u64,
    pub(crate) dimensions: usize,
    /// Bytes of a number.
    width: usize,
}

impl VectorFile {
    /// Rows of 32-bit floating-point numbers from the beginning of the file.
    pub(crate) fn of_floats(file: File, rows: u64, dimensions: usize) -> Self {
        VectorFile { file, start: 0, rows, dimensions, width: 4 }
    }

    /// Opens a file of NumPy, `.npy`, versions 1 to 3.
    ///
    /// # Errors
    /// If it is not one of floating-point numbers in two dimensions, row by row, or not as long as it says.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        const MOST_HEADER: usize = 64 << 10;
        let told = |error: std::io::Error| error.to_string();
        let file = File::open(path).map_err(told)?;
        let length = file.metadata().map_err(told)?.len();
        let mut fixed = [0; 12];
        file.read_exact_at(&mut fixed, 0)
            .map_err(|_| "expected a file of NumPy (.npy), got too few bytes")?;
        let (begin, size) = match &fixed {
            [0x93, b'N', b'U', b'M', b'P', b'Y', 1, _, low, high, ..] => {
                (10, u16::from_le_bytes([*low, *high]).into())
            }
            [0x93, b'N', b'U', b'M', b'P', b'Y', 2 | 3, _, size @ ..] => {
                (12, u32::from_le_bytes(*size) as usize)
            }
            _ => return Err("expected a file of NumPy (.npy), got something else".to_owned()),
        };
        if size > MOST_HEADER {
            return Err(format!("expected a header of at most {MOST_HEADER} bytes, got {size}"));
        }
        let mut header = vec![0; size];
        file.read_exact_at(&mut header, begin).map_err(|_| "expected a header, got the beginning of one")?;
        let header = String::from_utf8_lossy(&header);
        let value = |key: &str, end: char| {
            let (_, rest) = header.split_once(key)?;
            let value = rest.trim_start_matches([' ', ':', '\'', '"', '(']).split(end).next()?;
            Some(value.trim_end_matches(['\'', '"']))
        };
        let width = match value("descr", ',') {
            Some("<f2") => 2,
            Some("<f4") => 4,
            Some("<f8") => 8,
            got => return Err(format!("expected numbers of <f2, <f4 or <f8, got {}", got.unwrap_or("none"))),
        };
        if value("fortran_order", ',') != Some("False") {
            return Err("expected numbers row by row (C order), got another order".to_owned());
        }
        let shape: Option<Vec<u64>> = value("shape", ')').and_then(|shape| {
            shape.split(',').map(str::trim).filter(|n| !n.is_empty()).map(|n| n.parse().ok()).collect()
        });
        let Some([rows, dimensions]) = shape.as_deref() else {
            return Err(format!("expected two dimensions, got {}", shape.map_or(0, |shape| shape.len())));
        };
        let start = begin + size as u64;
        let (expected, got) =
            (rows.checked_mul(*dimensions).and_then(|n| n.checked_mul(width as u64)), length - start);
        match (expected, usize::try_from(*dimensions)) {
            (Some(expected), Ok(dimensions)) if expected == got && dimensions > 0 => {
                Ok(VectorFile { file, start, rows: *rows, dimensions, width })
            }
            _ => {
                Err(format!("expected {rows} rows of {dimensions} numbers of {width} bytes, got {got} bytes"))
            }
        }
    }

    /// A row, from 0.
    pub(crate) fn row(&self, at: u64) -> std::io::Result<Vec<f32>> {
        let mut bytes = vec![0; self.dimensions * self.width];
        let before = at * bytes.len() as u64;
        self.file.read_exact_at(&mut bytes, self.start + before)?;
        let number = |bytes: &[u8]| match *bytes {
            [a, b] => of_half(u16::from_le_bytes([a, b])),
            [a, b, c, d] => f32::from_le_bytes([a, b, c, d]),
            [a, b, c, d, e, f, g, h] => f64::from_le_bytes([a, b, c, d, e, f, g, h]) as f32,
            _ => f32::NAN,
        };
        Ok(bytes.chunks_exact(self.width).map(number).collect())
    }
}

/// A 16-bit floating-point number (IEEE 754 binary16).
fn of_half(half: u16) -> f32 {
    let sign = if half >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(half >> 10 & 0x1f), f32::from(half & 0x3ff));
    sign * match exponent {
        0 => fraction * 2f32.powi(-24),
        0x1f if fraction == 0.0 => f32::INFINITY,
        0x1f => f32::NAN,
        _ => (1024.0 + fraction) * 2f32.powi(exponent - 25),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of NumPy with this header and these bytes after it.
    fn file(header: &str, data: &[u8]) -> Result<VectorFile, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        std::fs::write(&path, bytes).unwrap();
        VectorFile::open(&path)
    }

    #[test]
    fn numbers_of_each_width_are_read() {
        let header =
            |kind: &str| format!("{{'descr': '<{kind}', 'fortran_order': False, 'shape': (2, 2), }}   \n");
        let halves: Vec<u8> =
            [0x3c00u16, 0xc100, 0x0001, 0x7bff].into_iter().flat_map(u16::to_le_bytes).collect();
        let floats: Vec<u8> =
            [1.0f32, -2.5, 2f32.powi(-24), 65504.0].into_iter().flat_map(f32::to_le_bytes).collect();
        let doubles: Vec<u8> =
            [1.0f64, -2.5, 2f64.powi(-24), 65504.0].into_iter().flat_map(f64::to_le_bytes).collect();
        for (kind, data) in [("f2", halves), ("f4", floats), ("f8", doubles)] {
            let file = file(&header(kind), &data).unwrap();
            assert_eq!((file.rows, file.dimensions), (2, 2));
            assert_eq!(file.row(0).unwrap(), [1.0, -2.5]);
            assert_eq!(file.row(1).unwrap(), [2f32.powi(-24), 65504.0]);
        }
        assert!(of_half(0x7e00).is_nan() && of_half(0xfc00) == f32::NEG_INFINITY);
    }

    #[test]
    fn hostile_headers_are_errors() {
        let fine = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }";
        assert!(file(fine, &[0; 4]).is_ok());
        for (header, data, expected) in [
            (fine.to_owned(), &[0; 3][..], "expected 1 rows of 1 numbers of 4 bytes, got 3 bytes"),
            (fine.replace("<f4", ">f4"), &[0; 4], "got >f4"),
            (fine.replace("<f4", "|O"), &[0; 4], "got |O"),
            (fine.replace("False", "True"), &[0; 4], "C order"),
            (fine.replace("(1, 1)", "(1,)"), &[0; 4], "expected two dimensions, got 1"),
            (fine.replace("(1, 1)", "(1, -1)"), &[0; 4], "expected two dimensions"),
            (fine.replace("(1, 1)", "(4294967296, 4294967296)"), &[0; 4], "expected 4294967296 rows"),
            (fine.replace("(1, 1)", "(0, 0)"), &[], "expected 0 rows"),
            (String::new(), &[0; 4], "got none"),
        ] {
            let error = file(&header, data).err().unwrap();
            assert!(error.contains(expected), "{error}");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        for (bytes, expected) in [
            (&b"\x93NUMPY\x02\x00\xff\xff\xff\xff"[..], "at most 65536"),
            (b"\x93NUMPY\x01\x00\xff\xff{}", "the beginning of one"),
            (b"PK\x03\x04 and some more", "something else"),
            (b"\x93NUM", "too few"),
        ] {
            std::fs::write(&path, bytes).unwrap();
            let error = VectorFile::open(&path).err().unwrap();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_vector_is_in_brackets() {
        for text in ["[0.5, -1,2e-1]", " [ 0.5 -1.\n 0.2]\t"] {
            assert_eq!(read_vector(text).unwrap(), [0.5, -1.0, 0.2]);
        }
        assert_eq!(read_vector("[]").unwrap(), [0f32; 0]);
        assert!(read_vector("[NaN]").unwrap()[0].is_nan());
        for (text, expected) in
            [("0.5", "something else"), ("[1, two]", "at number 2"), ("[[1]]", "at number 1")]
        {
            assert!(read_vector(text).unwrap_err().contains(expected), "{text}");
        }
    }
}
