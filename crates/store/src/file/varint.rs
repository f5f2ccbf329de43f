//! Variable-length integers (varint) and zigzag code.

/// Appends a number and a count: the number doubled, plus one if a count other than 1 follows.
#[inline]
pub fn put_counted(number: u64, count: u32, out: &mut Vec<u8>) {
    put_varint(number << 1 | u64::from(count != 1), out);
    if count != 1 {
        put_varint(count.into(), out);
    }
}

/// Reads what [`put_counted`] wrote.
#[inline]
pub fn take_counted(bytes: &mut &[u8]) -> Option<(u64, u64)> {
    let coded = take_varint(bytes)?;
    Some((coded >> 1, if coded & 1 == 1 { take_varint(bytes)? } else { 1 }))
}

/// Zigzag code: small for numbers near zero.
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The inverse of [`zigzag`].
pub fn unzigzag(code: u64) -> i64 {
    (code >> 1) as i64 ^ -((code & 1) as i64)
}

/// Appends a number with seven bits per byte, the lowest bits first. All bytes but the last have their highest bit set.
#[inline]
pub fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    // most numbers have two bytes or one
    if value < 0x80 {
        return out.push(value as u8);
    }
    while value >= 0x4000 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.extend_from_slice(&[value as u8 | 0x80, (value >> 7) as u8]);
}

/// Reads a number. Returns `None` if it is truncated, not minimal, or 2^64 or more.
#[inline]
pub fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let first = bytes.split_off_first()?;
    if *first < 0x80 { Some(u64::from(*first)) } else { take_longer_varint(*first, bytes) }
}

fn take_longer_varint(first: u8, bytes: &mut &[u8]) -> Option<u64> {
    let mut value = u64::from(first & 0x7F);
    for shift in (7..64).step_by(7) {
        let byte = bytes.split_off_first()?;
        let part = u64::from(byte & 0x7F);
        value |= part << shift;
        if part << shift >> shift != part || *byte == 0 {
            return None;
        }
        if *byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Takes bytes off the front; `None` if there are too few.
pub fn take_array<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    bytes.split_off(..N)?.try_into().ok()
}
