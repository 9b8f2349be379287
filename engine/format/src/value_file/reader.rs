//! Reading one value through its pointer.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::ops::Range;

use cairndb_base::{Error, FileNumber, Result};
use cairndb_env::ReadFile;

use cairndb_kernel::codec::{DECODE_SLACK, raw_len_max};

use crate::name;
use crate::value_file::blocks;
use crate::value_file::pointer::{CODEC_RAW, Pointer};

/// Reads the value of `pointer` into `out`, replacing its contents.
///
/// One `pread` of the value itself: the header need not be read, because the pointer and the key
/// hash determine it and the checksum covers it. A longer `out` is shortened without filling it
/// with zeros, so reusing one buffer costs nothing. An encoded value is read into the same buffer,
/// after the place it is decoded to.
///
/// # Errors
/// `Corruption` with file and offset if the bytes are not those written for this pointer and key;
/// `out` is then empty. `FormatTooNew` for an unknown codec, `Io` from the file.
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

/// Whether to compare the bytes of a value with their checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Compare them.
    Now,
    /// Done before for this pointer and key, since the file was mapped.
    Done,
}

/// Copies or decodes the value of `pointer` from `file` into `out`, replacing its contents. `file`
/// contains the file's bytes at least up to the end of the value. The stored bytes are not copied,
/// and `out` is not filled with zeros first.
///
/// # Errors
/// Same as [`read_value`].
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
        // The checksum is compared after decoding: bytes that come from memory arrive while they
        // are decoded and are then in a near cache. In the other order everything would be waited
        // for first. The decoder accepts any bytes, and its output for incorrect ones is discarded.
        let taken = copy_or_decode(stored, pointer, out);
        if check == Check::Now {
            compare(pointer, key_hash, stored)?;
        }
        taken
    };
    placed(read(), number, pointer).inspect_err(|_| out.clear())
}

/// Decodes `stored` and appends the value to `out`.
fn copy_or_decode(stored: &[u8], pointer: &Pointer, out: &mut Vec<u8>) -> Result<()> {
    if pointer.codec == CODEC_RAW {
        out.extend_from_slice(stored);
        return Ok(());
    }
    let malformed = || Error::corruption("encoded value is malformed");
    let raw_len = usize::try_from(pointer.raw_len).map_err(|_| malformed())?;
    // Reserved once, including the room that the last block needs: the caller may keep the buffer.
    // No more than the stored bytes can decode to, because the length has not been checked yet.
    let room = raw_len.min(raw_len_max(stored.len()));
    out.reserve(room.saturating_add(DECODE_SLACK));
    blocks::append(stored, raw_len, out).ok_or_else(malformed)
}

/// Returns the range in `file` of the value of `pointer`, or `None` if the value is stored encoded.
/// `file` contains the file's bytes at least up to the end of the value.
///
/// # Errors
/// Same as [`read_value`].
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
    // `file` begins at the start of the file.
    let at = usize::try_from(pointer.value_at()).unwrap_or(usize::MAX);
    Ok(Some(at..at.saturating_add(stored.len())))
}

/// Returns the stored bytes of the value of `pointer`.
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
    let stored = stored.ok_or_else(|| Error::corruption("value lies past the mapped bytes"))?;
    if check == Check::Now {
        compare(pointer, key_hash, stored)?;
    }
    Ok(stored)
}

/// Reads the stored bytes of the value of `pointer` into `out`, replacing its contents, for callers
/// that copy them verbatim.
///
/// # Errors
/// Same as [`read_value`], except that encoded bytes are not decoded.
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

/// Adds the value's place to an error.
fn placed<T>(result: Result<T>, number: FileNumber, pointer: &Pointer) -> Result<T> {
    result.map_err(|error| error.file(name::value(number)).offset(pointer.offset))
}

/// Reads and checks the stored bytes, after the first `front` bytes of `out`.
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
