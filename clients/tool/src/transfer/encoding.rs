//! The encoding of a text, by its first bytes: UTF-8, or another one, which is refused by name.
//!
//! Editors and exports of other systems begin a text with a byte order mark, which is no part of
//! it, or write it as UTF-16. Read as bytes, both become keys that nobody can look up.

use crate::failure::{Failure, Result};

/// Bytes that are enough to recognise an encoding.
pub(crate) const HEAD_BYTES: usize = 8;

/// What a text that is not UTF-8 begins with: the mark, and the name that `iconv` knows. A longer
/// mark precedes its beginning.
const MARKS: [(&[u8], &str); 4] = [
    (b"\xff\xfe\0\0", "UTF-32"),
    (b"\0\0\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
];

/// Without a mark, the bytes that are zero in a character of Latin text.
const LATIN: [(&[bool], &str); 4] = [
    (&[false, true, true, true], "UTF-32LE"),
    (&[true, true, true, false], "UTF-32BE"),
    (&[false, true], "UTF-16LE"),
    (&[true, false], "UTF-16BE"),
];

/// Returns the length of the mark of UTF-8 at the beginning of a text, 0 without one.
///
/// `head` is what must be Latin text if the text is: all of its characters are looked at.
///
/// # Errors
/// Another encoding. `name` is what the message calls the text.
pub(crate) fn utf8_mark_bytes(head: &[u8], name: &str) -> Result<usize> {
    let marked = MARKS.iter().find(|(mark, _)| head.starts_with(mark));
    let encoding = marked.map(|(_, encoding)| *encoding);
    match encoding.or_else(|| unmarked(head)) {
        None if head.starts_with(b"\xef\xbb\xbf") => Ok(3),
        None => Ok(0),
        Some(encoding) => Err(Failure::other(format!(
            "{name} is text in {encoding}, and only UTF-8 is read; \
             `iconv -f {encoding} -t UTF-8` converts it"
        ))),
    }
}

fn unmarked(head: &[u8]) -> Option<&'static str> {
    let found = LATIN.iter().find(|(zeros, _)| {
        let has_zeros = |unit: &[u8]| unit.iter().map(|byte| *byte == 0).eq(zeros.iter().copied());
        let mut units = head.chunks_exact(zeros.len());
        // One character may be a field of bytes.
        units.len() >= 2 && units.all(has_zeros)
    });
    found.map(|(_, encoding)| *encoding)
}
