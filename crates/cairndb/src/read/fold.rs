//! From what the tree holds to what the user wrote: merge operands folded over the value below them.

use cairndb_base::{Error, Kind, Order, Result};
use cairndb_format::value_file::Pointer;

use crate::read::pointed::read_pointer;
use crate::state::context::ReadContext;
use crate::state::version::Values;

/// A buffer of operands above this size is given back after its key.
const OPERAND_BYTES_KEPT: usize = 64 << 10;

/// The operands of one key and the value below them, gathered in either direction.
#[derive(Debug, Default)]
pub(crate) struct Fold {
    base: Option<Vec<u8>>,
    /// Operands one behind the other: newest first when gathered forward, oldest first when gathered
    /// backward.
    operands: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
    /// The last was gathered first.
    reversed: bool,
}

/// Operands that there is room for at first: as many sources as have one, most times.
const OPERANDS_EXPECTED: usize = 16;

impl Fold {
    /// The first operand, with room for others of its length.
    pub(crate) fn begun_with(operand: &[u8]) -> Fold {
        let bytes = operand.len().saturating_mul(OPERANDS_EXPECTED);
        let mut fold = Fold {
            operands: Vec::with_capacity(bytes.min(OPERAND_BYTES_KEPT).max(operand.len())),
            ends: Vec::with_capacity(OPERANDS_EXPECTED),
            ..Fold::default()
        };
        fold.push_operand(operand);
        fold
    }

    pub(crate) fn clear(&mut self) {
        self.base = None;
        self.operands.clear();
        self.operands.shrink_to(OPERAND_BYTES_KEPT);
        self.ends.clear();
        self.ends.shrink_to(OPERAND_BYTES_KEPT / size_of::<usize>());
        self.reversed = false;
    }

    pub(crate) fn has_operands(&self) -> bool {
        !self.ends.is_empty()
    }

    pub(crate) fn push_operand(&mut self, operand: &[u8]) {
        debug_assert!(!self.reversed, "gathered in one direction");
        self.operands.extend_from_slice(operand);
        self.ends.push(self.operands.len());
    }

    pub(crate) fn set_base(&mut self, base: Option<Vec<u8>>) {
        self.base = base;
    }

    /// Says that the operands were gathered newest first.
    pub(crate) fn reverse(&mut self) {
        self.reversed = !self.reversed;
    }

    /// The folded value; operands must stand oldest first.
    pub(crate) fn finish(&self, context: &ReadContext, key: &[u8]) -> Result<Vec<u8>> {
        let Some(operator) = &context.merge_operator else {
            return Err(Error::invalid(
                "the database holds merge operands; open it with its merge operator",
            ));
        };
        let mut start = 0;
        let slices = self.ends.iter().map(|end| {
            let operand = &self.operands[start..*end];
            start = *end;
            operand
        });
        let mut operands: Vec<&[u8]> = slices.collect();
        if self.reversed {
            operands.reverse();
        }
        operator.merge(key, self.base.as_deref(), &operands)
    }
}

/// Puts the value an entry stands for into `out`: the bytes themselves, or those behind a pointer.
pub(crate) fn resolve(
    order: &Order,
    values: &Values,
    key: &[u8],
    kind: Kind,
    stored: &[u8],
    out: &mut Vec<u8>,
) -> Result<()> {
    out.clear();
    if kind == Kind::Pointer {
        return read_pointer(order, values, key, Pointer::decode(stored)?, out);
    }
    out.extend_from_slice(stored);
    Ok(())
}
