//! Reading one value through its pointer.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::ops::Range;

use cairndb_base::{Error, FileNumber, Result};
use cairndb_env::ReadFile;

use cairndb_kernel::codec::{DECODE_SLACK, raw_len_max};

use crate::name;
use crate::value_file::blocks;
use crate::value_file::pointer::{CODEC_RAW, Pointer};

/// Reads the value of `pointer` into `out`, replacing what it holds.
///
/// One `pread` of the value itself: the header need not be read, because the pointer and the key
/// hash say what stands in it and the checksum covers that. A longer `out` is shortened without
/// being filled with zeros, so reusing one buffer costs nothing. An encoded value is read behind the place where it
/// is decoded to, in the same buffer.
///
/// # Errors
/// `Corruption` naming file and offset when the bytes are not those written for this pointer and
/// key; `out` then holds nothing. `FormatTooNew` for an unknown codec, `Io` from the file.
pub fn read_value(
    file: &dyn ReadFile,
    number: FileNumber,
    pointer: &Pointer,
    key_hash: u64,
    out: &mut Vec<u8>,
) -> Result<()> {
    let read = |out: &mut Vec<u8>| {
        if pointer.codec == CODEC_RAW {
            return read_behind(0, file, number, pointer, key_hash, out);
        }
        let malformed = || Error::corruption("encoded value is malformed");
        let raw_len = usize::try_from(pointer.raw_len).map_err(|_| malformed())?;
        read_behind(raw_len, file, number, pointer, key_hash, out)?;
        let (value, stored) = out.split_at_mut_checked(raw_len).ok_or_else(malformed)?;
        blocks::decode(stored, value).ok_or_else(malformed)?;
        out.truncate(raw_len);
        Ok(())
    };
    placed(read(out), number, pointer).inspect_err(|_| out.clear())
}

/// Whether the bytes of a value are compared with their checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// They are.
    Now,
    /// They were, for this pointer and key, since the file was mapped.
    Done,
}

/// Copies the value of `pointer` out of `file`, the bytes of its file up to the value's end or beyond, or decodes it from there, into `out`, replacing
/// what it holds. No copy of what is stored is made, and `out` is not filled with zeros first.
///
/// # Errors
/// As [`read_value`].
pub fn value_of(
    file: &[u8],
    number: FileNumber,
    pointer: &Pointer,
    key_hash: u64,
    check: Check,
    out: &mut Vec<u8>,
) -> Result<()> {
    out.clear();
    let mut read = || {
        let stored = stored_in(file, number, pointer, key_hash, Check::Done)?;
        // Compared behind it: what is to come from memory comes while it is decoded, and is in a near cache then. The other
        // way round all of it was waited for first. A decoder takes any bytes, and what it made of wrong ones goes.
        let taken = copy_or_decode(stored, pointer, out);
        if check == Check::Now {
            compare(pointer, key_hash, stored)?;
        }
        taken
    };
    placed(read(), number, pointer).inspect_err(|_| out.clear())
}

/// Appends what `stored` stands for to `out`.
fn copy_or_decode(stored: &[u8], pointer: &Pointer, out: &mut Vec<u8>) -> Result<()> {
    if pointer.codec == CODEC_RAW {
        out.extend_from_slice(stored);
        return Ok(());
    }
    let malformed = || Error::corruption("encoded value is malformed");
    let raw_len = usize::try_from(pointer.raw_len).map_err(|_| malformed())?;
    // At once, and with the room that the last block wants: the caller may keep the buffer.
    // No more than what is stored can stand for: nobody has compared the length yet.
    let room = raw_len.min(raw_len_max(stored.len()));
    out.reserve(room.saturating_add(DECODE_SLACK));
    blocks::append(stored, raw_len, out).ok_or_else(malformed)
}

/// Where in `file`, the bytes of its file up to the value's end or beyond, the value of `pointer` lies; `None` where it is
/// stored encoded.
///
/// # Errors
/// As [`read_value`].
pub fn raw_value_in(
    file: &[u8],
    number: FileNumber,
    pointer: &Pointer,
    key_hash: u64,
    check: Check,
) -> Result<Option<Range<usize>>> {
    if pointer.codec != CODEC_RAW {
        return Ok(None);
    }
    let stored = stored_in(file, number, pointer, key_hash, check);
    let stored = placed(stored, number, pointer)?;
    // It begins there in memory, so it does in the file.
    let at = usize::try_from(pointer.value_at()).unwrap_or(usize::MAX);
    Ok(Some(at..at.saturating_add(stored.len())))
}

/// What is stored of the value of `pointer`.
fn stored_in<'f>(
    file: &'f [u8],
    number: FileNumber,
    pointer: &Pointer,
    key_hash: u64,
    check: Check,
) -> Result<&'f [u8]> {
    let len = stored_len(pointer, number, file.len() as u64)?;
    let behind = usize::try_from(pointer.value_at())
        .ok()
        .and_then(|at| file.get(at..));
    let stored = behind.and_then(|behind| behind.get(..len));
    let stored = stored.ok_or_else(|| Error::corruption("value lies beyond what is mapped"))?;
    if check == Check::Now {
        compare(pointer, key_hash, stored)?;
    }
    Ok(stored)
}

/// Reads what is stored of the value of `pointer` into `out`, replacing what it holds: for whoever copies it as it is.
///
/// # Errors
/// As [`read_value`], but that encoded bytes are not looked into.
pub fn read_stored(
    file: &dyn ReadFile,
    number: FileNumber,
    pointer: &Pointer,
    key_hash: u64,
    out: &mut Vec<u8>,
) -> Result<()> {
    let result = read_behind(0, file, number, pointer, key_hash, out);
    placed(result, number, pointer).inspect_err(|_| out.clear())
}

/// An error names where the value lies.
fn placed<T>(result: Result<T>, number: FileNumber, pointer: &Pointer) -> Result<T> {
    result.map_err(|error| error.file(name::value(number)).offset(pointer.offset))
}

/// Reads and checks the stored bytes behind the first `front` bytes of `out`.
fn read_behind(
    front: usize,
    file: &dyn ReadFile,
    number: FileNumber,
    pointer: &Pointer,
    key_hash: u64,
    out: &mut Vec<u8>,
) -> Result<()> {
    let len = stored_len(pointer, number, file.size())?;
    out.resize(front.saturating_add(len), 0);
    let stored = out.get_mut(front..).unwrap_or_default();
    file.read_at(pointer.value_at(), stored)?;
    compare(pointer, key_hash, stored)
}

fn stored_len(pointer: &Pointer, number: FileNumber, file_size: u64) -> Result<usize> {
    pointer.check()?;
    if pointer.file != number {
        return Err(Error::corruption("value pointer names another file")
            .expected(number)
            .found(pointer.file));
    }
    match (pointer.end(), usize::try_from(pointer.len)) {
        (Some(end), Ok(len)) if end <= file_size => Ok(len),
        _ => Err(
            Error::corruption("value pointer reaches past the end of its file")
                .expected(format_args!("a record within {file_size} bytes"))
                .found(format_args!(
                    "{} bytes from {}",
                    pointer.len, pointer.offset
                )),
        ),
    }
}

fn compare(pointer: &Pointer, key_hash: u64, stored: &[u8]) -> Result<()> {
    let found = pointer.checksum(key_hash, [stored]);
    if found == pointer.crc {
        return Ok(());
    }
    Err(Error::corruption("value checksum does not match")
        .expected(pointer.crc)
        .found(found))
}
