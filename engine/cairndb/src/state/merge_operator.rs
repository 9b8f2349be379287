//! Merge operators: functions that fold a value and the operands on top of it into one value.

use std::fmt::Debug;

use cairndb_base::limits::VALUE_BYTES_MAX;
use cairndb_base::{Error, Result};

use crate::state::fold_limits::FoldLimits;

/// Folds merge operands.
///
/// `db.merge(key, operand)` stores the operand without reading. The fold happens when the key is
/// read, flushed or compacted, on the thread of the reader, on the thread of a writer, or on a
/// background thread with 2 MiB of stack. The result must not depend on the time of the fold.
///
/// An operator may read the database it belongs to. It must not write to, flush or close that
/// database, since these calls may wait for the flush that runs the operator. An operator that
/// holds a handle to the database keeps it open until `close` is called. If the operator panics in
/// a read, the panic unwinds to the reader; if it panics in a flush or compaction, the operands are
/// kept, as after an error.
///
/// The value may be up to 1 GiB long, and so may the unfolded operands of one key, each counted
/// with 32 bytes more than its length. Above that the operator is not called, or its result is
/// refused: a read of the key returns `InvalidArgument` until the key is overwritten or deleted,
/// and flushes and compactions keep the operands. If a key has many operands, flushes and
/// compactions fold some at a time, the oldest first.
///
/// ```
/// use cairndb::MergeOperator;
/// #[derive(Debug)]
/// struct Longest;
/// impl MergeOperator for Longest {
///     fn name(&self) -> &str {
///         "example.Longest"
///     }
///     fn merge(
///         &self,
///         _key: &[u8],
///         base: Option<&[u8]>,
///         operands: &[&[u8]],
///     ) -> cairndb::Result<Vec<u8>> {
///         let all = base.into_iter().chain(operands.iter().copied());
///         Ok(all.max_by_key(|bytes| bytes.len()).unwrap_or_default().to_vec())
///     }
/// }
/// ```
pub trait MergeOperator: Debug + Send + Sync {
    /// Returns the name that is stored in the database, at most 255 bytes.
    fn name(&self) -> &str;

    /// Checks that [`MergeOperator::merge`] can fold `operand`, before the operand is written. A
    /// refused operand is not written and so cannot make a key unreadable. The default accepts
    /// every operand.
    ///
    /// # Errors
    /// Any; it is returned to the writer.
    fn check(&self, operand: &[u8]) -> Result<()> {
        let _ = operand;
        Ok(())
    }

    /// Returns the value of `key` after applying `operands`, oldest first, to `base`, which is
    /// `None` if the key did not exist.
    ///
    /// # Errors
    /// Any; it is returned to the reader, whose cursor can move past the key; a compaction keeps
    /// the operands unchanged.
    fn merge(&self, key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Result<Vec<u8>>;

    /// Combines `operands` into one operand that has the same effect on any value as applying them
    /// in turn, oldest first. There are at least two. Returns `None`, the default, if there is no
    /// such operand.
    ///
    /// With such an operand, flushes and compactions keep one operand of a key; otherwise they keep
    /// all of them until they reach its value. A counter that is only incremented then costs a
    /// reader one operand per run instead of one per write.
    fn combine(&self, key: &[u8], operands: &[&[u8]]) -> Option<Vec<u8>> {
        let _ = (key, operands);
        None
    }
}

/// Adds little-endian `u64`s with wraparound. A missing value counts as 0, and a shorter one is
/// zero-extended. Operands of more than 8 bytes are refused.
#[derive(Debug, Default, Clone, Copy)]
pub struct Add;

/// Appends operands to the value without a separator.
#[derive(Debug, Default, Clone, Copy)]
pub struct Append;

/// Keeps the largest little-endian `u64`. Operands of more than 8 bytes are refused.
#[derive(Debug, Default, Clone, Copy)]
pub struct Max;

/// Maximum size up to which operands of [`Append`] are joined: a longer one would be rewritten by
/// every compaction that appends a few bytes to it.
const COMBINED_BYTES_MAX: usize = 64 << 10;

fn number(bytes: &[u8]) -> Result<u64> {
    if bytes.len() > 8 {
        return Err(Error::invalid("a counter holds at most 8 bytes").found(bytes.len()));
    }
    let mut wide = [0u8; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    Ok(u64::from_le_bytes(wide))
}

fn fold_numbers(
    base: Option<&[u8]>,
    operands: &[&[u8]],
    fold: impl Fn(u64, u64) -> u64,
) -> Result<Vec<u8>> {
    let mut total = base.map_or(Ok(0), number)?;
    for operand in operands {
        total = fold(total, number(operand)?);
    }
    Ok(total.to_le_bytes().to_vec())
}

impl MergeOperator for Add {
    fn name(&self) -> &'static str {
        "cairndb.add"
    }
    fn check(&self, operand: &[u8]) -> Result<()> {
        number(operand).map(drop)
    }
    fn merge(&self, _key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Result<Vec<u8>> {
        fold_numbers(base, operands, u64::wrapping_add)
    }
    fn combine(&self, key: &[u8], operands: &[&[u8]]) -> Option<Vec<u8>> {
        self.merge(key, None, operands).ok()
    }
}

impl MergeOperator for Max {
    fn name(&self) -> &'static str {
        "cairndb.max"
    }
    fn check(&self, operand: &[u8]) -> Result<()> {
        number(operand).map(drop)
    }
    fn merge(&self, _key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Result<Vec<u8>> {
        fold_numbers(base, operands, u64::max)
    }
    fn combine(&self, key: &[u8], operands: &[&[u8]]) -> Option<Vec<u8>> {
        self.merge(key, None, operands).ok()
    }
}

impl MergeOperator for Append {
    fn name(&self) -> &'static str {
        "cairndb.append"
    }
    fn merge(&self, _key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Result<Vec<u8>> {
        let base = base.unwrap_or_default();
        // Checked before the allocation.
        let bytes = operands.iter().fold(base.len(), |bytes, operand| {
            bytes.saturating_add(operand.len())
        });
        if bytes > VALUE_BYTES_MAX {
            return Err(FoldLimits::default().too_long(bytes));
        }
        let mut out = Vec::with_capacity(bytes);
        out.extend_from_slice(base);
        for operand in operands {
            out.extend_from_slice(operand);
        }
        Ok(out)
    }
    fn combine(&self, _key: &[u8], operands: &[&[u8]]) -> Option<Vec<u8>> {
        let bytes: usize = operands.iter().map(|operand| operand.len()).sum();
        (bytes <= COMBINED_BYTES_MAX).then(|| operands.concat())
    }
}
