//! Limits on the memory that merge operands of one key take.
//!
//! A read folds all unfolded operands of a key, and the operator makes a value that is in memory as
//! a whole; both are bounded by the longest value allowed. A flush or compaction holds far less,
//! since it does this for every key and beside all other work. Operands that it does not fold are
//! folded by a later job or by a read.

use cairndb_base::limits::VALUE_BYTES_MAX;
use cairndb_base::{Error, SeqNo};

/// Added to the bytes of each operand: its slot in a list.
pub(crate) const OPERAND_BYTES_EXTRA: usize = 32;
const _: () = assert!(OPERAND_BYTES_EXTRA >= size_of::<&[u8]>() + size_of::<SeqNo>());

/// Operand bytes of one key that a flush or compaction holds while older runs may have the value
/// below them.
const GATHERED_BYTES_MAX: usize = 64 << 20;

/// A compaction that includes the oldest run holds this many times as much: it can fold the
/// operands whether it finds a value below them or not.
const BOTTOM_TIMES: usize = 4;

/// Limits in bytes; constant except in tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FoldLimits {
    /// Longest value that operands are folded to.
    pub(crate) value: usize,
    /// Most operand bytes of a key that a read gathers.
    pub(crate) read: usize,
    /// Operand bytes of a key that a job holds, approximately.
    pub(crate) job: usize,
}

impl Default for FoldLimits {
    fn default() -> FoldLimits {
        FoldLimits::new(VALUE_BYTES_MAX, GATHERED_BYTES_MAX)
    }
}

impl FoldLimits {
    /// Returns limits for values of at most `value` bytes, one of which can be an operand, and for
    /// jobs that hold `job` bytes.
    pub(crate) const fn new(value: usize, job: usize) -> FoldLimits {
        FoldLimits {
            value,
            read: value.saturating_add(OPERAND_BYTES_EXTRA),
            job,
        }
    }

    /// Approximate operand bytes of a key that a job holds.
    pub(crate) const fn held(&self, bottom: bool) -> usize {
        if bottom {
            self.job.saturating_mul(BOTTOM_TIMES)
        } else {
            self.job
        }
    }

    /// Returns the error for `key`, whose operands have `bytes` bytes or more.
    #[cold]
    pub(crate) fn too_many(&self, key: &[u8], bytes: usize) -> Error {
        Error::invalid(
            "unfolded merge operands of a key exceed the limit of one read; overwrite or delete \
             the key",
        )
        .key(key)
        .expected(format_args!("at most {} bytes", self.value))
        .found(format_args!("{bytes} bytes or more"))
    }

    /// Returns the error for operands that fold to a value of `bytes` bytes.
    #[cold]
    pub(crate) fn too_long(&self, bytes: usize) -> Error {
        Error::invalid(
            "merge operands of a key fold to too long a value; overwrite or delete the key",
        )
        .expected(format_args!("at most {} bytes", self.value))
        .found(format_args!("{bytes} bytes"))
    }
}
