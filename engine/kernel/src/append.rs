//! Copies of short byte strings, inlined.
//!
//! A key usually has 8 to 32 bytes, but the compiler does not know how many. A call to `memcpy`
//! would cost more than the copy. Here such a copy takes two moves, which may overlap; the library
//! copies other lengths. Both functions write what [`Vec::extend_from_slice`] would.
//!
//! Invariant: [`copy_into`] initialises its whole target or panics. The new length of a vector here
//! and the keys of memtable nodes elsewhere depend on it.

#![allow(unsafe_code, reason = "sets a vector's length after writing its bytes")]

use std::mem::MaybeUninit;

/// Appends `parts` in order after reserving room for all of them once. Meant for parts of 8 to 32
/// bytes, or of a length known at compile time.
///
/// ```
/// let mut keys = b"key1".to_vec();
/// cairndb_kernel::append_parts(&mut keys, [b"another", b" key"]);
/// assert_eq!(keys, b"key1another key");
/// ```
#[expect(
    clippy::inline_always,
    reason = "called for each entry; with the lengths unknown, it would be a loop"
)]
#[inline(always)]
pub fn append_parts<const N: usize>(to: &mut Vec<u8>, parts: [&[u8]; N]) {
    let bytes: usize = parts.iter().map(|part| part.len()).sum();
    to.reserve(bytes);
    let mut room = &mut to.spare_capacity_mut()[..bytes];
    for part in parts {
        let (front, behind) = room.split_at_mut(part.len());
        copy_into(front, part);
        room = behind;
    }
    // SAFETY: `room` was initially the first `bytes` of the spare capacity. `copy_into` has
    // initialised everything that was split off: the parts, whose lengths add up to `bytes`.
    unsafe { to.set_len(to.len() + bytes) };
}

/// Copies `bytes` to `to` and initialises all of it. Meant for 8 to 32 bytes.
///
/// # Panics
/// If their lengths differ.
#[inline]
pub fn copy_into(to: &mut [MaybeUninit<u8>], bytes: &[u8]) {
    assert_eq!(to.len(), bytes.len(), "source and target differ in length");
    match bytes.len() {
        8..16 => write_ends::<8>(to, bytes),
        16..=32 => write_ends::<16>(to, bytes),
        _ => {
            to.write_copy_of_slice(bytes);
        }
    }
}

/// Copies the first and the last `N` bytes, which cover any slice of `N` to `2 * N` bytes.
#[inline]
fn write_ends<const N: usize>(to: &mut [MaybeUninit<u8>], bytes: &[u8]) {
    debug_assert!((N..=2 * N).contains(&bytes.len()));
    if let (Some(to), Some(first)) = (to.first_chunk_mut::<N>(), bytes.first_chunk::<N>()) {
        to.write_copy_of_slice(first);
    }
    if let (Some(to), Some(last)) = (to.last_chunk_mut::<N>(), bytes.last_chunk::<N>()) {
        to.write_copy_of_slice(last);
    }
}

#[cfg(test)]
mod tests {
    use super::{append_parts, copy_into};
    use std::mem::MaybeUninit;

    #[test]
    fn every_length_arrives_behind_what_is_there() {
        let bytes: Vec<u8> = (1..=250).cycle().take(300).collect();
        for len in 0..bytes.len() {
            for before in [0, 1, 7, 40] {
                let mut to = vec![0; before];
                append_parts(&mut to, [&bytes[..len]]);
                assert_eq!(to[..before], vec![0; before]);
                assert_eq!(to[before..], bytes[..len]);
                let cut = len / 3;
                append_parts(&mut to, [&bytes[..cut], &[], &bytes[cut..len], &[7]]);
                assert_eq!(to[before + len..], [&bytes[..len], &[7]].concat());
            }
        }
    }

    #[test]
    #[should_panic(expected = "source and target differ in length")]
    fn too_little_room_is_refused() {
        copy_into(&mut [MaybeUninit::uninit(); 9], &[0; 10]);
    }
}
