//! Reading one value through its pointer.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use cairndb_base::{Error, FileNumber, Result};
use cairndb_env::ReadFile;

use crate::name;
use crate::value_file::pointer::Pointer;

/// Reads the value of `pointer` into `out`, replacing what it holds.
///
/// One `pread` of the value itself: the header need not be read, because the pointer and the key
/// hash say what stands in it and the checksum covers that. A longer `out` is shortened without
/// being filled with zeros, so reusing one buffer costs nothing.
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
    let result = read_checked(file, number, pointer, key_hash, out);
    result.map_err(|error| {
        out.clear();
        error.file(name::value(number)).offset(pointer.offset)
    })
}

fn read_checked(
    file: &dyn ReadFile,
    number: FileNumber,
    pointer: &Pointer,
    key_hash: u64,
    out: &mut Vec<u8>,
) -> Result<()> {
    let len = stored_len(pointer, number, file.size())?;
    out.resize(len, 0);
    file.read_at(pointer.value_at(), out)?;
    compare(pointer, key_hash, out)
}

/// The value of `pointer` in the mapped bytes of its file, without a copy.
///
/// # Errors
/// As [`read_value`].
pub fn value_in<'a>(
    bytes: &'a [u8],
    number: FileNumber,
    pointer: &Pointer,
    key_hash: u64,
) -> Result<&'a [u8]> {
    let find = || {
        let len = stored_len(pointer, number, bytes.len() as u64)?;
        let stored = usize::try_from(pointer.value_at())
            .ok()
            .and_then(|start| bytes.get(start..)?.get(..len))
            .ok_or_else(|| Error::corruption("value pointer reaches past the end of its file"))?;
        compare(pointer, key_hash, stored)?;
        Ok(stored)
    };
    find().map_err(|error: Error| error.file(name::value(number)).offset(pointer.offset))
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
