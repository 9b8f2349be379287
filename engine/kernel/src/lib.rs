//! Hot loops of CairnDB: checksum, short-value codec, head search, filter probes, prefetch, key
//! copies.
//!
//! Floor 0: no dependency on other CairnDB crates, no I/O, no threads, no policy. The page, log,
//! table, batch and memtable code of the upper floors calls this crate.
//!
//! Invariants:
//! 1. Every kernel that uses unsafe code or processor-specific instructions has a portable, safe
//!    twin with the same results, byte for byte. Tests and fuzz targets compare the two.
//!    ([`append_parts`] is compared with [`Vec::extend_from_slice`].)
//! 2. No kernel reads outside the slices it was given or writes outside the room it reserved,
//!    whatever the input contains. Malformed input yields `None`, never a panic; a wrong length
//!    passed by a caller may cause a panic.
//! 3. Results do not depend on the processor: a file written on one machine reads the same on any
//!    other. The exception is [`memory_check`], whose results never leave the process.
//!
//! Threads: everything here is a pure function or a value owned by one thread. The only shared
//! state is the cached instruction level of this processor.

mod append;
pub mod codec;
mod cpu;
pub mod crc;
pub mod filter;
mod prefetch;
pub mod search;

pub use append::{append_parts, copy_into};
pub use crc::{crc32c, crc32c_append, memory_check};
pub use prefetch::{prefetch, prefetch_span};
