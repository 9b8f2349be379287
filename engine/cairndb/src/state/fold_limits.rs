//! Limits on the memory that the merge operands of one key take.
//!
//! A read folds all unfolded operands of a key, and the operator returns a complete value in
//! memory; both are bounded by the maximum length of a value. A flush or compaction holds far less,
//! because it does this for every key and alongside all other work. Operands that it does not fold
//! are folded by a later job or by a read.

use cairndb_base::limits::VALUE_BYTES_MAX;
use cairndb_base::{Error, SeqNo};

/// Number of bytes added to each operand for its slot in a list.
pub(crate) const OPERAND_BYTES_EXTRA: usize = 32;
const _: () = assert!(OPERAND_BYTES_EXTRA >= size_of::<&[u8]>() + size_of::<SeqNo>());

/// Number of operand bytes of one key that a flush or compaction holds while older runs may have
/// the value below them.
const GATHERED_BYTES_MAX: usize = 64 << 20;

/// A compaction that includes the oldest run holds this many times as much, because it can fold the
/// operands whether or not it finds a value below them.
const BOTTOM_TIMES: usize = 4;

/// Limits in bytes; constant except in tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FoldLimits {
    /// Maximum length of a folded value.
    pub(crate) value: usize,
    /// Maximum number of operand bytes of a key that a read gathers.
    pub(crate) read: usize,
    /// Approximate number of operand bytes of a key that a job holds.
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

    /// Returns the approximate number of operand bytes of a key that a job holds.
    pub(crate) const fn held(&self, bottom: bool) -> usize {
        if bottom {
            self.job.saturating_mul(BOTTOM_TIMES)
        } else {
            self.job
        }
    }

    /// Returns the error for `key`, whose operands have at least `bytes` bytes.
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
            "merge operands of a key fold to an overlong value; overwrite or delete the key",
        )
        .expected(format_args!("at most {} bytes", self.value))
        .found(format_args!("{bytes} bytes"))
    }
}
