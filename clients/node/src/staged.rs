//! Keys and values that JavaScript passes together: the operations of a batch, the keys of a
//! `getMany`.
//!
//! A call of Node-API for each key and value would cost more than writing it. So `staging.js`
//! appends all strings to one, all bytes to one buffer, and their lengths to an array, and passes
//! these three.
//!
//! A length is a word `length << 1 | is_bytes`. That of a string counts UTF-16 units, which is how
//! JavaScript counts; unless everything is ASCII, [`split`] finds the bytes. The value of a
//! deletion is [`DELETED`].

use cairndb::{Keyspace, WriteBatch};

use crate::js::failure::{Failure, Outcome};
use crate::js::scope::Value;

/// The word in place of a value's length that stands for a deletion.
const DELETED: u32 = u32::MAX;

const MALFORMED: Failure = Failure::Argument("the lengths do not fit the data");

/// What a lone surrogate becomes in UTF-8.
const REPLACEMENT: [u8; 3] = [0xEF, 0xBF, 0xBD];

/// The three parts, borrowed for the call.
#[derive(Debug)]
pub(crate) struct Staged<'a> {
    words: &'a [u8],
    text: &'a [u8],
    bytes: &'a [u8],
    /// Lengths of the strings in bytes, if they differ from their words.
    byte_lens: Option<Vec<u32>>,
    strings_taken: usize,
}

fn words(from: &[u8]) -> impl Iterator<Item = u32> + '_ {
    from.chunks_exact(4).map(|word| {
        // Node runs on little-endian machines only.
        u32::from_le_bytes(word.try_into().expect("chunks of four bytes"))
    })
}

fn len_of(word: u32) -> usize {
    usize::try_from(word >> 1).unwrap_or(usize::MAX)
}

fn is_string(word: u32) -> bool {
    word & 1 == 0
}

impl<'a> Staged<'a> {
    /// Reads the parts: an array of `count` lengths, the string, the bytes. The string is copied to
    /// `text`, which is cleared.
    pub(crate) fn new(
        [lengths, count, string, bytes]: [Value<'a>; 4],
        text: &'a mut Vec<u8>,
    ) -> Outcome<Staged<'a>> {
        let count = usize::try_from(count.uint32()?).map_err(|_| MALFORMED)?;
        let words_len = count.checked_mul(4).ok_or(MALFORMED)?;
        let lengths = lengths.bytes()?.get(..words_len).ok_or(MALFORMED)?;
        text.clear();
        string.append_utf8(text)?;
        let units: usize = words(lengths)
            .filter(|word| is_string(*word))
            .map(len_of)
            .sum();
        let mut byte_lens = None;
        if units != text.len() {
            let (normal, lens) = split(text, words(lengths)).ok_or(MALFORMED)?;
            *text = normal;
            byte_lens = Some(lens);
        }
        Ok(Staged {
            words: lengths,
            text,
            bytes: bytes.bytes()?,
            byte_lens,
            strings_taken: 0,
        })
    }

    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.words.split_at_checked(4)?;
        self.words = rest;
        Some(u32::from_le_bytes(word.try_into().ok()?))
    }

    fn piece(&mut self, word: u32) -> Outcome<&'a [u8]> {
        let mut len = len_of(word);
        let from = if is_string(word) {
            if let Some(lens) = &self.byte_lens {
                let known = lens.get(self.strings_taken).ok_or(MALFORMED)?;
                len = usize::try_from(*known).map_err(|_| MALFORMED)?;
                self.strings_taken += 1;
            }
            &mut self.text
        } else {
            &mut self.bytes
        };
        let (piece, rest) = from.split_at_checked(len).ok_or(MALFORMED)?;
        *from = rest;
        Ok(piece)
    }

    /// Returns all pieces, where each is a key.
    pub(crate) fn keys(mut self) -> Outcome<Vec<&'a [u8]>> {
        let mut keys = Vec::with_capacity(self.words.len() / 4);
        while let Some(word) = self.word() {
            keys.push(self.piece(word)?);
        }
        Ok(keys)
    }

    /// Appends all operations, of two words each, to `batch`.
    pub(crate) fn append_to(mut self, batch: &mut WriteBatch, of: &Keyspace) -> Outcome<()> {
        while let Some(word) = self.word() {
            let key = self.piece(word)?;
            match self.word().ok_or(MALFORMED)? {
                DELETED => batch.delete_in(of, key),
                word => batch.put_in(of, key, self.piece(word)?),
            }
        }
        Ok(())
    }
}

/// Cuts UTF-8 into strings of the given UTF-16 lengths. Returns the bytes and their lengths.
///
/// The bytes differ from `text` where one string ended with the first half of a surrogate pair and
/// the next began with the second: joined, they became one character; apart, each is U+FFFD.
fn split(text: &[u8], words: impl Iterator<Item = u32>) -> Option<(Vec<u8>, Vec<u32>)> {
    let (mut out, mut lens) = (Vec::with_capacity(text.len()), Vec::new());
    let (mut rest, mut second_half) = (text, false);
    for word in words.filter(|word| *word != DELETED && is_string(*word)) {
        let (mut units, start) = (len_of(word), out.len());
        if second_half && units > 0 {
            out.extend_from_slice(&REPLACEMENT);
            (units, second_half) = (units - 1, false);
        }
        while units > 0 {
            let width = match rest.first()? {
                0..=0x7F => 1,
                0x80..=0xDF => 2,
                0xE0..=0xEF => 3,
                0xF0.. => 4,
            };
            let (character, after) = rest.split_at_checked(width)?;
            rest = after;
            if width < 4 {
                out.extend_from_slice(character);
                units -= 1;
            } else if units >= 2 {
                out.extend_from_slice(character);
                units -= 2;
            } else {
                out.extend_from_slice(&REPLACEMENT);
                (units, second_half) = (0, true);
            }
        }
        lens.push(u32::try_from(out.len() - start).ok()?);
    }
    rest.is_empty().then_some((out, lens))
}
