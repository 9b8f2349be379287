//! From what the tree holds to what the user wrote: merge operands folded over the value below them.

use std::cell::Cell;

use cairndb_base::{Error, Kind, Order, Result};
use cairndb_format::value_file::Pointer;

use crate::read::pointed::read_pointer;
use crate::state::context::ReadContext;
use crate::state::version::Values;

/// A buffer of operands above this size is given back after its key.
const OPERAND_BYTES_KEPT: usize = 64 << 10;

/// The operands of one key and the value below them, gathered in either direction. Cleared and used again: where it was made
/// for each key, four allocations were a tenth of a fold, and threads that fold beside each other waited for the
/// allocator's lock.
#[derive(Debug, Default)]
pub(crate) struct Fold {
    base: Vec<u8>,
    has_base: bool,
    /// Operands one behind the other: newest first when gathered forward, oldest first when gathered
    /// backward.
    operands: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
    /// The last was gathered first.
    reversed: bool,
}

/// Operands that are handed over without an allocation: as many sources as have one, most times.
const OPERANDS_EXPECTED: usize = 16;

thread_local! {
    static KEPT: Cell<Fold> = Cell::default();
}

impl Fold {
    /// The thread's, or a new one: while it is in use, as where an operator reads the database itself, or the thread ends.
    pub(crate) fn take() -> Fold {
        KEPT.try_with(Cell::take).unwrap_or_default()
    }

    /// Leaves it to the thread's next fold.
    pub(crate) fn keep(mut self) {
        self.clear();
        // A thread that ends keeps nothing.
        let _ended = KEPT.try_with(|kept| kept.set(self));
    }

    pub(crate) fn clear(&mut self) {
        self.base.clear();
        self.base.shrink_to(OPERAND_BYTES_KEPT);
        self.has_base = false;
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

    /// Takes the version below the operands for their base: what `stored` stands for, or of a deletion nothing.
    pub(crate) fn set_base(
        &mut self,
        order: &Order,
        values: &Values,
        key: &[u8],
        kind: Kind,
        stored: &[u8],
    ) -> Result<()> {
        debug_assert!(kind != Kind::Merge, "an operand is no base");
        self.has_base = kind != Kind::Delete;
        if self.has_base {
            resolve(order, values, key, kind, stored, &mut self.base)?;
        }
        Ok(())
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
        let (mut few, mut many) = ([&[][..]; OPERANDS_EXPECTED], Vec::new());
        let operands = if let Some(few) = few.get_mut(..self.ends.len()) {
            few
        } else {
            many.resize(self.ends.len(), &[][..]);
            many.as_mut_slice()
        };
        let mut start = 0;
        for (operand, end) in operands.iter_mut().zip(&self.ends) {
            *operand = &self.operands[start..*end];
            start = *end;
        }
        if self.reversed {
            operands.reverse();
        }
        let base = self.has_base.then_some(self.base.as_slice());
        operator.merge(key, base, operands)
    }
}

/// Puts the value an entry stands for into `out`: the bytes themselves, or those behind a pointer.
fn resolve(
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
