//! Merge operators: how a value and the operands written on top of it become one value.

use std::fmt::Debug;

use cairndb_base::limits::VALUE_BYTES_MAX;
use cairndb_base::{Error, Result};

use crate::state::fold_limits::FoldLimits;

/// Folds merge operands.
///
/// `db.merge(key, operand)` stores the operand without reading; the fold happens when the key is
/// read, flushed or compacted, on the reader's, a writer's or a background thread with 2 MiB of stack. The
/// result must not depend on when that is. An operator may read the database it belongs to; it must not write
/// to it, flush or close it: the flush it runs in may be what that waits for; and one that keeps a handle of it
/// keeps it open until `close` is called. Where it panics, a reader does,
/// and a flush or compaction keeps the operands, as it does where it fails.
///
/// The value may have 1 GiB, and so may the operands of one key that are not folded yet, each
/// counted with 32 bytes more than it has. Beyond that the operator is not asked, or its result
/// refused: a read of the key is `InvalidArgument` until it is overwritten or deleted, and flushes
/// and compactions keep the operands. Of a key with many operands they fold some at a time, the
/// oldest first.
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
    /// The name stored in the database, at most 255 bytes.
    fn name(&self) -> &str;

    /// Whether `operand` is one that [`MergeOperator::merge`] can fold, asked before it is written:
    /// what is refused here is not written, and cannot make a key unreadable. The default takes
    /// every operand.
    ///
    /// # Errors
    /// Any; it is handed to the writer.
    fn check(&self, operand: &[u8]) -> Result<()> {
        let _ = operand;
        Ok(())
    }

    /// The value of `key` after `operands`, oldest first, were applied to `base` (`None`: the key
    /// did not exist).
    ///
    /// # Errors
    /// Any error is handed to the reader, who may go on behind the key; a compaction that meets one
    /// keeps the operands as they are.
    fn merge(&self, key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Result<Vec<u8>>;

    /// One operand that does to any value what `operands`, oldest first and at least two, do one after
    /// the other; `None`, the default, when there is none.
    ///
    /// With it, flushes and compactions keep one operand of a key where they would have to keep all
    /// until they meet its value: a counter that is only added to then costs a reader one operand a run
    /// instead of one a write.
    fn combine(&self, key: &[u8], operands: &[&[u8]]) -> Option<Vec<u8>> {
        let _ = (key, operands);
        None
    }
}

/// Adds little-endian `u64`s, wrapping; a missing value is 0, a shorter one is widened. Operands of
/// more than 8 bytes are refused.
#[derive(Debug, Default, Clone, Copy)]
pub struct Add;

/// Appends operands to the value, with nothing between them.
#[derive(Debug, Default, Clone, Copy)]
pub struct Append;

/// Keeps the largest little-endian `u64`. Operands of more than 8 bytes are refused.
#[derive(Debug, Default, Clone, Copy)]
pub struct Max;

/// Operands of [`Append`] are joined up to this size: a longer one would be written again with every
/// merge that joins a few bytes to it.
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
        // Refused before it is allocated.
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
