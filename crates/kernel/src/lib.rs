//! The few loops CairnDB spends its time in: checksum, short-value codec, head search, bits of a filter, prefetch,
//! copies of keys.
//!
//! Floor 0 of the house: no dependency on another CairnDB crate, no input or output, no threads,
//! no policy. Callers are the page, log, table, batch and memtable code of the upper floors.
//!
//! Invariants:
//! 1. Every kernel that uses unsafe code or processor-specific instructions has a portable, safe
//!    twin with the same answers, byte for byte. Tests and fuzz targets compare the two. (Of [`append_parts`] it
//!    is [`Vec::extend_from_slice`].)
//! 2. No kernel reads outside the slices it was given or writes outside the room it reserved,
//!    whatever the bytes say. Malformed input is `None`, never a panic; a length that a caller got wrong may be one.
//! 3. Answers do not depend on the processor: a file written on one machine reads the same on
//!    any other. Those of [`memory_check`] do, and never leave the process.
//!
//! Threads: everything here is a pure function or a value owned by one thread; the only shared
//! state is the cached answer to "which instructions does this processor have".

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
