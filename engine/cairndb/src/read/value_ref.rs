//! Reads the value to which a pointer refers in a value file: copied, decoded, or borrowed.
//!
//! A borrowed value is a part of the mapping, which it keeps: it stays valid when the file is
//! removed, the database is closed, or more of the file is mapped. Copying a long value takes as
//! long as all other work of a reader. A shorter value is copied: borrowing would save little, and
//! would keep the space of a whole removed file for as long as the value lives.

use std::sync::Arc;

use cairndb_base::{Error, Order, Result};
use cairndb_env::Mapping;
use cairndb_format::value_file::{self, Check, Pointer};

use crate::state::files::value_handle::ValueHandle;
use crate::state::version::Values;

/// Minimum number of stored bytes of a borrowed value.
const BORROWED_BYTES_MIN: u32 = 64 << 10;

/// Decodes the pointer that a version of `key` holds. A reader does not know the file from which it
/// came, so the error names the key; `verify` names the file.
///
/// # Errors
/// `Corruption` if it is malformed.
pub(crate) fn decode_pointer(key: &[u8], encoded: &[u8]) -> Result<Pointer> {
    Pointer::decode(encoded).map_err(|error| error.key(key))
}

/// Replaces the contents of `out` with the value to which a pointer refers.
pub(crate) fn read_pointer(
    order: &Order,
    values: &Values,
    key: &[u8],
    pointer: Pointer,
    out: &mut Vec<u8>,
) -> Result<()> {
    ValueRef::new(order, values, key, pointer)?.read(out)
}

/// Returns the value to which a pointer refers, borrowed, or `None` with the value in `out`.
pub(crate) fn borrow_pointer(
    order: &Order,
    values: &Values,
    key: &[u8],
    pointer: Pointer,
    out: &mut Vec<u8>,
) -> Result<Option<Mapping>> {
    let value = ValueRef::new(order, values, key, pointer)?;
    let borrowed = value.borrow()?;
    if borrowed.is_none() {
        value.read(out)?;
    }
    Ok(borrowed)
}

/// Asks the system to read the value to which a pointer refers, if it may have to come from the
/// disk. Returns the number of bytes requested.
pub(crate) fn request_pointer(order: &Order, values: &Values, key: &[u8], pointer: Pointer) -> u64 {
    let value = ValueRef::new(order, values, key, pointer);
    value.map_or(0, |value| value.request())
}

/// Like [`read_pointer`], but from an encoded pointer and without a mapping, in which an I/O error
/// would kill the process. Used by recovery and verification, which read each value once.
pub(crate) fn read_pointer_unmapped(
    order: &Order,
    values: &Values,
    key: &[u8],
    encoded: &[u8],
    out: &mut Vec<u8>,
) -> Result<()> {
    let pointer = decode_pointer(key, encoded)?;
    ValueRef::new(order, values, key, pointer)?.read_by_descriptor(out)
}

/// A value in its file.
struct ValueRef<'v> {
    pointer: Pointer,
    key_hash: u64,
    handle: &'v Arc<ValueHandle>,
}

impl<'v> ValueRef<'v> {
    fn new(
        order: &Order,
        values: &'v Values,
        key: &[u8],
        pointer: Pointer,
    ) -> Result<ValueRef<'v>> {
        let handle = values.get(&pointer.file.0).ok_or_else(|| {
            Error::corruption("a value pointer names a file that the manifest does not")
                .file(cairndb_format::name::value(pointer.file))
                .offset(pointer.offset)
        })?;
        Ok(ValueRef {
            pointer,
            key_hash: order.hash(key),
            handle,
        })
    }

    fn end(&self) -> u64 {
        self.pointer.end().unwrap_or(0)
    }

    fn read(&self, out: &mut Vec<u8>) -> Result<()> {
        let Some(prefix) = self.handle.prefix(self.end()) else {
            return self.read_by_descriptor(out);
        };
        let (pointer, hash) = (&self.pointer, self.key_hash);
        let check = self.handle.check(&prefix, pointer, hash);
        value_file::value_of(&prefix.bytes, pointer.file, pointer, hash, check, out)?;
        if check == Check::Now {
            prefix.note(pointer, hash);
        }
        Ok(())
    }

    fn request(&self) -> u64 {
        let (start, end) = (self.pointer.offset, self.end());
        let len = end.saturating_sub(start);
        match self.handle.prefix(end) {
            Some(prefix) => {
                let (pointer, hash) = (&self.pointer, self.key_hash);
                if self.handle.check(&prefix, pointer, hash) != Check::Now {
                    return 0;
                }
                let range = usize::try_from(start).ok().zip(usize::try_from(len).ok());
                let (start, len) = range.unwrap_or_default();
                prefix.bytes.read_ahead(start, len);
            }
            None => match self.handle.file(end) {
                Ok(file) => file.advise(start, len, true),
                // The get reports it.
                Err(_) => return 0,
            },
        }
        len
    }

    fn read_by_descriptor(&self, out: &mut Vec<u8>) -> Result<()> {
        let (pointer, hash) = (&self.pointer, self.key_hash);
        let file = self.handle.file(self.end())?;
        value_file::read_value(&*file, pointer.file, pointer, hash, out)
    }

    /// Borrows the value if it is mapped, stored uncompressed and long enough.
    fn borrow(&self) -> Result<Option<Mapping>> {
        let (pointer, hash) = (&self.pointer, self.key_hash);
        if pointer.len < BORROWED_BYTES_MIN || !pointer.is_raw() {
            return Ok(None);
        }
        let Some(prefix) = self.handle.prefix(self.end()) else {
            return Ok(None);
        };
        let check = self.handle.check(&prefix, pointer, hash);
        let range = value_file::raw_value_in(&prefix.bytes, pointer.file, pointer, hash, check)?;
        let Some(range) = range else { return Ok(None) };
        if check == Check::Now {
            prefix.note(pointer, hash);
        }
        Ok(prefix.bytes.part(range.start, range.len()))
    }
}
