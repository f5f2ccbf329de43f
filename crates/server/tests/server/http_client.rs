//! A client that sends raw bytes.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};

use serde_json::Value;

use crate::support::Running;

/// An answer: its status, head and body.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Reads one answer, with a length or chunked, or to the end of input.
pub fn read_answer(stream: &mut impl BufRead) -> Answer {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(stream.read_line(&mut head).unwrap(), 0, "{head}");
    }
    let status = head[9..12].parse().unwrap();
    let lower = head.to_ascii_lowercase();
    let length = lower.split("\r\ncontent-length: ").nth(1).map(|rest| rest.split("\r\n").next().unwrap());
    let mut body = Vec::new();
    if let Some(length) = length {
        body.resize(length.parse().unwrap(), 0);
        stream.read_exact(&mut body).unwrap();
    } else if lower.contains("transfer-encoding: chunked") {
        while let Some(chunk) = read_chunk(stream) {
            body.extend(chunk);
        }
    } else {
        stream.read_to_end(&mut body).unwrap();
    }
    Answer { status, head, body }
}

pub fn read_chunk(stream: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    let mut chunk = vec![0; usize::from_str_radix(line.trim(), 16).unwrap()];
    stream.read_exact(&mut chunk).unwrap();
    stream.read_line(&mut line).unwrap();
    (!chunk.is_empty()).then_some(chunk)
}

pub fn exchange(stream: impl Read + Write, bytes: &[u8]) -> Answer {
    let mut stream = BufReader::new(stream);
    stream.get_mut().write_all(bytes).unwrap();
    read_answer(&mut stream)
}

/// A request with a length; `line` is the method and the path, `fields` are header fields.
pub fn request(line: &str, fields: &[&str], body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{line} HTTP/1.1\r\nContent-Length: {}\r\n", body.len());
    if !fields.iter().any(|field| field.starts_with("Host:")) {
        bytes.push_str("Host: localhost\r\n");
    }
    fields.iter().for_each(|field| bytes.push_str(&format!("{field}\r\n")));
    [bytes.as_bytes(), b"\r\n", body].concat()
}

pub fn ask(running: &Running, line: &str, fields: &[&str], body: &[u8]) -> Answer {
    exchange(running.tcp("http"), &request(line, fields, body))
}

/// A body in chunks of `n` bytes.
pub fn chunked(body: &[u8], n: usize) -> Vec<u8> {
    let chunk = |part: &[u8]| [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat();
    [body.chunks(n).flat_map(chunk).collect(), b"0\r\n\r\n".to_vec()].concat()
}
