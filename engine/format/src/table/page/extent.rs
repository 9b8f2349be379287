//! Extents: entries too large for a page. Their length must be known before they can be read and
//! checked.

use cairndb_base::limits::{PAGE_BYTES, STORED_KEY_BYTES_MAX, VALUE_BYTES_MAX};

use crate::table::page::layout::{HEADER_BYTES, page_kind, u32_at};

/// Returns the number of pages of the extent with this first page, from its header alone; 1 for any
/// other page.
pub(crate) fn pages_of(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<HEADER_BYTES>() {
        Some(header) if header[4] == page_kind::EXTENT => {
            let (key_len, stored_len) = (u32_at(header, 16), u32_at(header, 36));
            // No extent is longer. One page suffices for its checksum to fail.
            let fits =
                key_len as usize <= STORED_KEY_BYTES_MAX && stored_len as usize <= VALUE_BYTES_MAX;
            let total = HEADER_BYTES as u64 + u64::from(key_len) + u64::from(stored_len);
            if fits {
                total.div_ceil(PAGE_BYTES as u64)
            } else {
                1
            }
        }
        _ => 1,
    }
}
