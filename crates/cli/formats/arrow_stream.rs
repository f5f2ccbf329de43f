//! The record batches of an Arrow file or stream, read message by message. A length that the file claims is checked
//! against its bytes before memory is taken for it.

use std::io::{BufRead, Read};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::{Message, root_as_message};
use arrow_schema::{ArrowError, Schema};

/// What a file begins with. The messages of a stream follow.
const MAGIC: &[u8] = b"ARROW1\0\0";

/// What is before the length of a message, except in the oldest files.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// The most that a byte of LZ4 stands for.
const LARGEST_RATIO: i64 = 255;

pub(crate) struct Batches<R> {
    reader: R,
    decoder: StreamDecoder,
    schema: Arc<Schema>,
}

impl<R: BufRead> Batches<R> {
    pub(crate) fn new(mut reader: R) -> Result<Self, ArrowError> {
        if reader.fill_buf()?.starts_with(MAGIC) {
            reader.consume(MAGIC.len());
        }
        let mut decoder = StreamDecoder::new();
        while decoder.schema().is_none() {
            let Some(mut message) = next_message(&mut reader)? else {
                return Err(error("the schema, got the end"));
            };
            decoder.decode(&mut message)?;
        }
        let schema = decoder.schema().unwrap_or_else(|| Arc::new(Schema::empty()));
        Ok(Batches { reader, decoder, schema })
    }

    pub(crate) fn schema(&self) -> &Schema {
        &self.schema
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        while let Some(mut message) = next_message(&mut self.reader)? {
            if let Some(batch) = self.decoder.decode(&mut message)? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}

impl<R: BufRead> Iterator for Batches<R> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

/// The bytes of the next message, with its length before it and its body after it.
fn next_message(reader: &mut impl Read) -> Result<Option<Buffer>, ArrowError> {
    let mut message = take(reader, 4)?;
    if message == CONTINUATION {
        message.extend(take(reader, 4)?);
    }
    let begin = message.len();
    let length = message[begin - 4..].iter().rev().fold(0, |length, byte| length << 8 | u64::from(*byte));
    if length == 0 {
        return Ok(None);
    }
    message.extend(take(reader, length)?);
    let head = root_as_message(&message[begin..]).map_err(|error| ArrowError::IpcError(error.to_string()))?;
    let body = take(reader, u64::try_from(head.bodyLength()).unwrap_or(u64::MAX))?;
    check_lengths(&head, &body)?;
    message.extend(body);
    Ok(Some(message.into()))
}

/// The next bytes, of which there must be as many.
fn take(reader: &mut impl Read, n: u64) -> Result<Vec<u8>, ArrowError> {
    let mut bytes = Vec::new();
    reader.take(n).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < n { Err(error(&format!("{n} bytes, got {}", bytes.len()))) } else { Ok(bytes) }
}

/// Checks that no compressed buffer claims to be longer than it can be.
fn check_lengths(head: &Message<'_>, body: &[u8]) -> Result<(), ArrowError> {
    let dictionary = head.header_as_dictionary_batch().and_then(|dictionary| dictionary.data());
    let Some(batch) = head.header_as_record_batch().or(dictionary) else { return Ok(()) };
    let buffers = batch.buffers().filter(|_| batch.compression().is_some());
    for buffer in buffers.into_iter().flatten().filter(|buffer| buffer.length() > 0) {
        let begin = usize::try_from(buffer.offset()).unwrap_or(usize::MAX);
        let Some(claimed) = body.get(begin..).and_then(|bytes| bytes.first_chunk()) else { continue };
        let claimed = i64::from_le_bytes(*claimed);
        if claimed > buffer.length().saturating_mul(LARGEST_RATIO) {
            return Err(error(&format!("a buffer of {} bytes, got one of {claimed}", buffer.length())));
        }
    }
    Ok(())
}

fn error(expected: &str) -> ArrowError {
    ArrowError::IpcError(format!("expected {expected}"))
}
