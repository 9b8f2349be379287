//! `Folder`: folds the own operands of a transaction for one key.

use cairndb_base::Result;

use crate::engine::core::Core;
use crate::read::fold::fold;
use crate::state::fold_limits::OPERAND_BYTES_EXTRA;
use crate::state::sections::StoredKey;
use crate::transaction::own_writes::{OwnWrite, OwnWrites};

/// Folds the own operands of one key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Folder<'a> {
    pub(super) core: &'a Core,
    pub(super) own: &'a OwnWrites,
    pub(super) key: StoredKey<'a>,
}

impl Folder<'_> {
    /// Returns whether the operands of `op` are on top of the value in the database.
    pub(crate) fn needs_base(self, op: u32) -> bool {
        self.own.operands(op).1.is_none()
    }

    /// Returns the value of the operands of `op` on top of an own write, or else of `base`.
    ///
    /// # Errors
    /// `InvalidArgument` if there are too many operands or the value is too long; the error of the
    /// merge operator. Each names the key.
    pub(crate) fn fold(self, op: u32, base: Option<&[u8]>) -> Result<Vec<u8>> {
        let (operands, own_base) = self.own.operands(op);
        let base = match own_base {
            None => base,
            Some(OwnWrite::Put(value)) => Some(value),
            Some(OwnWrite::Delete | OwnWrite::Merge(_)) => None,
        };
        let context = &self.core.base.contexts[self.key.section];
        let lengths = operands.iter().map(|operand| operand.len());
        let bytes = lengths.map(|len| len + OPERAND_BYTES_EXTRA).sum();
        if bytes > context.fold_limits.read {
            return Err(context.fold_limits.too_many(self.key.bytes, bytes));
        }
        fold(context, self.key.bytes, base, operands.len(), |places| {
            for (place, operand) in places.iter_mut().zip(operands.iter().rev()) {
                *place = operand;
            }
        })
    }
}
