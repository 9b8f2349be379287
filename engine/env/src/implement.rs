//! Building blocks for custom environments.
//!
//! Each part implements one guarantee of the traits:
//!
//! * [`Holders`]: that of [`Dir::lock`](crate::Dir::lock) and
//!   [`Dir::lock_shared`](crate::Dir::lock_shared);
//! * [`OneRegion`] and [`Mirror`]: those of [`LogRegion`](crate::LogRegion);
//! * [`SharedHeap`]: those of [`Dir::open_shared`](crate::Dir::open_shared);
//! * [`front_of`]: the bounds of [`ReadFile::map`](crate::ReadFile::map);
//! * [`spawn`]: [`Env::spawn`](crate::Env::spawn) for environments with threads.
//!
//! The environments of this crate and the simulated one of `cairndb-sim` are built from them. The
//! feature `testing` adds a module with the tests that every environment must pass.

mod borrowing;
mod holders;
mod mirror;
mod shared_heap;
mod threads;

use cairndb_base::{Error, ErrorKind, Result};

pub use borrowing::OneRegion;
pub(crate) use borrowing::{Borrowing, region_in_use};
pub use holders::{Hold, Holders};
pub use mirror::Mirror;
pub use shared_heap::SharedHeap;
pub use threads::spawn;

/// Checks for [`ReadFile::map`](crate::ReadFile::map) that a file of `size` bytes has `len` bytes
/// and that they fit in memory. The caller adds the file name to the error.
///
/// # Errors
/// `Corruption` if the file is shorter; `NotSupported` if the bytes do not fit in memory.
pub fn front_of(len: u64, size: u64) -> Result<usize> {
    if len > size {
        return Err(
            Error::corruption("the file ends before the requested bytes")
                .offset(size)
                .expected(format_args!("{len} bytes"))
                .found(format_args!("a file of {size} bytes")),
        );
    }
    usize::try_from(len)
        .map_err(|_| Error::new(ErrorKind::NotSupported, "the file is larger than memory"))
}
