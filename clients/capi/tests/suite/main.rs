//! Tests of the C library: C programs compiled against its headers, its symbols, its headers.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests prepare real directories for programs"
)]

mod abi;
mod compiler;
mod conversion;
mod cpp;
mod doors;
mod guide;
mod header;
mod installed;
mod programs;
mod random;
mod symbols;
