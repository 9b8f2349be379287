//! How many operands of one key are in memory at a time.
//!
//! A read folds all operands of a key that nothing has folded yet, and the operator makes a value
//! that is in memory as a whole: both are bounded by the longest value there may be. A flush or
//! merge holds far less, since it runs for every key and beside everything else: operands that it
//! does not fold now, a later one folds, or a read.

use cairndb_base::limits::VALUE_BYTES_MAX;
use cairndb_base::{Error, SeqNo};

/// Added to the bytes of each operand: its place in a list.
pub(crate) const OPERAND_BYTES_EXTRA: usize = 32;
const _: () = assert!(OPERAND_BYTES_EXTRA >= size_of::<&[u8]>() + size_of::<SeqNo>());

/// Operands of one key that a flush or merge holds where older runs may have the value below them.
const GATHERED_BYTES_MAX: usize = 64 << 20;

/// A merge over the oldest run holds so many times as much: it can fold them whether it finds a
/// value below or not.
const BOTTOM_TIMES: usize = 4;

/// Bounds in bytes; constants but for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FoldLimits {
    /// Longest value that operands are folded to.
    pub(crate) value: usize,
    /// Most bytes of a key's operands that a read gathers.
    pub(crate) read: usize,
    /// About as many that a job holds.
    pub(crate) job: usize,
}

impl Default for FoldLimits {
    fn default() -> FoldLimits {
        FoldLimits::new(VALUE_BYTES_MAX, GATHERED_BYTES_MAX)
    }
}

impl FoldLimits {
    /// Values of `value` bytes at most, of which one can be an operand, and jobs that hold `job`
    /// bytes.
    pub(crate) const fn new(value: usize, job: usize) -> FoldLimits {
        FoldLimits {
            value,
            read: value.saturating_add(OPERAND_BYTES_EXTRA),
            job,
        }
    }

    /// About as many bytes of a key's operands as a job holds.
    pub(crate) const fn held(&self, bottom: bool) -> usize {
        if bottom {
            self.job.saturating_mul(BOTTOM_TIMES)
        } else {
            self.job
        }
    }

    /// The error of `key`, which has operands of `bytes` bytes or more.
    #[cold]
    pub(crate) fn too_many(&self, key: &[u8], bytes: usize) -> Error {
        Error::invalid(
            "the operands of a key that are not folded yet have more bytes than one read folds; overwrite or delete the \
             key",
        )
        .key(key)
        .expected(format_args!("at most {} bytes", self.value))
        .found(format_args!("{bytes} bytes or more"))
    }

    /// The error of operands that make a value of `bytes` bytes.
    #[cold]
    pub(crate) fn too_long(&self, bytes: usize) -> Error {
        Error::invalid(
            "the operands of a key make a longer value than any may be; overwrite or delete the key",
        )
        .expected(format_args!("at most {} bytes", self.value))
        .found(format_args!("{bytes} bytes"))
    }
}
