//! Progress of long work: a bar on stderr while a command reads, converts or moves a
//! database.
//!
//! The bar appears if stderr is a terminal and the work takes longer than a moment, and disappears
//! at its end. The functions of the store do not report how far they are, so their reads are
//! counted: `counting.rs` passes everything on to the operating system and adds up the bytes.
//! `dump`, `load`, `export` and `import` count entries, in `entries.rs`.

mod counting;
mod entries;
mod meter;

pub(crate) use entries::Progress;
pub(crate) use meter::Meter;
