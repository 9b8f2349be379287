//! Batch reader: untrusted bytes in, borrowed entries out, no allocation.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use cairndb_base::coding::{get_bytes, get_varint, split_keyspace};
use cairndb_base::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use cairndb_base::{Error, ErrorKind, Kind, Result};

use crate::batch::IN_KEYSPACE;
use crate::value_file::POINTER_BYTES;

/// Size of the smallest entry in bytes: a kind and the length of an empty key.
const ENTRY_BYTES_MIN: u64 = 2;
/// The last kind with a keyspace's number.
const KEYSPACE_KIND_MAX: u8 = 14;

/// One entry of a batch, borrowed from the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Kind of the entry.
    pub kind: Kind,
    /// Whether the entry is in a keyspace other than the default one: its key begins with the
    /// keyspace's number.
    pub in_keyspace: bool,
    /// Key of the entry.
    pub key: &'a [u8],
    /// The value, operand or encoded pointer; empty for a deletion.
    pub value: &'a [u8],
}

const POINTER: u8 = Kind::Pointer as u8;
const POINTER_IN: u8 = POINTER | IN_KEYSPACE;
const MARK: u8 = Kind::TimeMark as u8;
const RANGE_IN: u8 = Kind::RangeDelete as u8 | IN_KEYSPACE;

/// Returns whether a range of keys in a keyspace that starts at `start` ends in the same keyspace,
/// or at its end.
pub(crate) fn ends_in_keyspace(start: &[u8], end: &[u8]) -> bool {
    let numbers = split_keyspace(start).zip(split_keyspace(end));
    numbers.is_some_and(|((number, _), (last, rest))| {
        last == number || rest.is_empty() && last.checked_sub(1) == Some(number)
    })
}

/// Result of [`validate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validated {
    /// Number of entries, which is also the number of sequence numbers.
    pub count: u64,
    /// The first kind that this version does not know, if any: replay would return `FormatTooNew`.
    pub unknown_kind: Option<u8>,
}

/// Returns the number of entries that a payload claims to hold.
///
/// # Errors
/// `Corruption` if the payload cannot hold that many.
pub fn count(payload: &[u8]) -> Result<u64> {
    split(payload).map(|(count, _)| count)
}

/// Checks a whole payload: every entry must lie within it, and nothing may follow the last one.
///
/// After `Ok` without an unknown kind, [`iter`] over the same payload returns no error. Nothing is
/// allocated.
///
/// # Errors
/// `Corruption` with the offset within the payload; the caller adds file and offset.
pub fn validate(payload: &[u8]) -> Result<Validated> {
    let (count, entries) = split(payload)?;
    let mut iter = BatchIter::over(entries, count);
    let mut unknown_kind = None;
    for _ in 0..count {
        let raw = iter.step()?;
        if known(raw.kind).is_none() {
            unknown_kind = unknown_kind.or(Some(raw.kind));
        }
    }
    iter.finish()?;
    Ok(Validated {
        count,
        unknown_kind,
    })
}

/// Returns an iterator over the entries of a payload.
///
/// # Errors
/// `Corruption` if the count is missing or exceeds what the bytes can hold. Each entry is checked
/// when it is reached: call [`validate`] first if a batch must not be applied in part.
pub fn iter(payload: &[u8]) -> Result<BatchIter<'_>> {
    let (count, entries) = split(payload)?;
    Ok(BatchIter::over(entries, count))
}

fn split(payload: &[u8]) -> Result<(u64, &[u8])> {
    let mut at = 0;
    let count = get_varint(payload, &mut at);
    let entries = payload.get(at..).unwrap_or_default();
    match count {
        Some(count) if count <= entries.len() as u64 / ENTRY_BYTES_MIN => Ok((count, entries)),
        _ => Err(Error::corruption("batch is too short for its entry count")
            .expected(format_args!(
                "at most {} entries",
                entries.len() as u64 / ENTRY_BYTES_MIN
            ))
            .found(count.map_or_else(|| "no count".to_owned(), |count| count.to_string()))),
    }
}

/// An iterator over the entries of one payload.
///
/// Yields an error once and then ends: `Corruption` for malformed bytes or bytes after the last
/// entry, `FormatTooNew` for a kind that this version does not know.
#[derive(Clone, Debug)]
pub struct BatchIter<'a> {
    entries: &'a [u8],
    at: usize,
    left: u64,
    done: bool,
}

/// An entry whose kind may be unknown.
struct Raw<'a> {
    kind: u8,
    key: &'a [u8],
    value: &'a [u8],
}

impl<'a> BatchIter<'a> {
    /// Returns an iterator over `count` encoded entries.
    pub(crate) fn over(entries: &'a [u8], count: u64) -> BatchIter<'a> {
        BatchIter {
            entries,
            at: 0,
            left: count,
            done: false,
        }
    }

    /// Returns the number of entries not yet yielded, according to the count.
    pub fn remaining(&self) -> u64 {
        self.left
    }

    #[inline]
    fn step(&mut self) -> Result<Raw<'a>> {
        let start = self.at;
        let read = || -> Option<(Raw<'a>, usize)> {
            let kind = *self.entries.get(start)?;
            let mut at = start.checked_add(1)?;
            let key = get_bytes(self.entries, &mut at)?;
            let value: &[u8] = match kind {
                0 | IN_KEYSPACE => &[],
                _ => get_bytes(self.entries, &mut at)?,
            };
            let user_key = user_key(kind, key)?;
            let fits = user_key.len() <= KEY_BYTES_MAX && value.len() <= VALUE_BYTES_MAX;
            let whole = match kind {
                POINTER | POINTER_IN => value.len() == POINTER_BYTES,
                RANGE_IN => ends_in_keyspace(key, value),
                MARK => key.is_empty() && value.len() == size_of::<u64>(),
                _ => true,
            };
            (fits && whole).then_some((Raw { kind, key, value }, at))
        };
        let (raw, end) = read().ok_or_else(|| self.malformed())?;
        self.at = end;
        self.left = self.left.saturating_sub(1);
        Ok(raw)
    }

    fn finish(&self) -> Result<()> {
        if self.at == self.entries.len() {
            return Ok(());
        }
        Err(Error::corruption("batch has bytes after its last entry")
            .expected(format_args!("{} bytes of entries", self.at))
            .found(self.entries.len()))
    }

    #[cold]
    fn malformed(&self) -> Error {
        Error::corruption("batch entry is malformed")
            .expected(
                "kind, key (with a keyspace's number in kinds 8 to 14) and value, within the \
                 payload and the limits",
            )
            .found(format_args!(
                "something else at byte {} of {}, with {} entries left",
                self.at,
                self.entries.len(),
                self.left
            ))
    }

    #[inline]
    fn entry(&mut self) -> Result<Entry<'a>> {
        let Raw { kind, key, value } = self.step()?;
        let (kind, in_keyspace) = known(kind).ok_or_else(|| too_new(kind))?;
        Ok(Entry {
            kind,
            in_keyspace,
            key,
            value,
        })
    }
}

/// Returns the kind with this number, and whether the entry is in a keyspace, if this version knows
/// it.
#[inline]
fn known(number: u8) -> Option<(Kind, bool)> {
    let kind = Kind::from_u8(number & !IN_KEYSPACE)?;
    let in_keyspace = number & IN_KEYSPACE != 0;
    (kind != Kind::TimeMark || !in_keyspace).then_some((kind, in_keyspace))
}

/// Returns the key after the keyspace's number, which is not 0, in the kinds that have one.
#[inline]
fn user_key(kind: u8, key: &[u8]) -> Option<&[u8]> {
    if !(IN_KEYSPACE..=KEYSPACE_KIND_MAX).contains(&kind) {
        return Some(key);
    }
    let (number, key) = split_keyspace(key)?;
    (number > 0).then_some(key)
}

#[cold]
fn too_new(kind: u8) -> Error {
    Error::new(
        ErrorKind::FormatTooNew,
        "batch contains an entry kind that a newer version wrote; open it with that version",
    )
    .expected("kind 0 to 4, 7 or 8 to 12")
    .found(kind)
}

impl<'a> Iterator for BatchIter<'a> {
    type Item = Result<Entry<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Result<Entry<'a>>> {
        if self.done {
            return None;
        }
        let result = if self.left == 0 {
            self.done = true;
            return self.finish().err().map(Err);
        } else {
            self.entry()
        };
        self.done = result.is_err();
        Some(result)
    }
}

/// Iterator over the entries of a batch made by this process. It would stop early at a malformed
/// entry, but such a batch has none; a caller that counts entries would notice.
#[derive(Clone, Debug)]
pub struct OwnEntries<'a> {
    rest: &'a [u8],
}

impl<'a> OwnEntries<'a> {
    pub(crate) fn over(entries: &'a [u8]) -> OwnEntries<'a> {
        OwnEntries { rest: entries }
    }
}

impl<'a> Iterator for OwnEntries<'a> {
    type Item = Entry<'a>;

    #[inline]
    fn next(&mut self) -> Option<Entry<'a>> {
        let (&kind, mut rest) = self.rest.split_first()?;
        let (kind, in_keyspace) = known(kind)?;
        let key = split_bytes(&mut rest)?;
        let value = match kind {
            Kind::Delete => &[],
            _ => split_bytes(&mut rest)?,
        };
        self.rest = rest;
        Some(Entry {
            kind,
            in_keyspace,
            key,
            value,
        })
    }
}

/// Removes a length and that many bytes from the front.
#[inline]
fn split_bytes<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (&len, behind) = rest.split_first()?;
    let (found, behind) = if len < 0x80 {
        behind.split_at_checked(usize::from(len))?
    } else {
        let mut at = 0;
        let found = get_bytes(rest, &mut at)?;
        (found, rest.get(at..)?)
    };
    *rest = behind;
    Some(found)
}
