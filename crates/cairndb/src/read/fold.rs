//! From what the tree holds to what the user wrote: merge operands folded over the value below them.
//!
//! Memory is that of the operands, the value below them and the value they make, each bounded
//! ([`FoldLimits`]): operands beyond that are counted and not kept, and the operator is not asked.

use std::cell::Cell;

use cairndb_base::{Error, Kind, Order, Result};
use cairndb_format::value_file::Pointer;

use crate::read::pointed::read_pointer;
use crate::state::context::ReadContext;
use crate::state::fold_limits::{FoldLimits, OPERAND_BYTES_EXTRA};
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
    /// Operands one after the other: newest first when gathered forward, oldest first when gathered
    /// backward.
    operands: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
    /// Of all operands, also of those that were too many to be kept.
    bytes: usize,
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
        self.bytes = 0;
        self.reversed = false;
    }

    pub(crate) fn has_operands(&self) -> bool {
        self.bytes > 0
    }

    /// Adds an operand; whether there are too many now, so that no other one makes a difference.
    #[inline]
    pub(crate) fn push_operand(&mut self, limits: &FoldLimits, operand: &[u8]) -> bool {
        debug_assert!(!self.reversed, "gathered in one direction");
        let bytes = operand.len() + OPERAND_BYTES_EXTRA;
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > limits.read {
            self.give_up();
            return true;
        }
        append(&mut self.operands, operand);
        self.ends.push(self.operands.len());
        false
    }

    #[cold]
    fn give_up(&mut self) {
        (self.operands, self.ends, self.base) = (Vec::new(), Vec::new(), Vec::new());
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
    ///
    /// # Errors
    /// As [`fold`]; `InvalidArgument` where there are more operands than one read folds.
    pub(crate) fn finish(&self, context: &ReadContext, key: &[u8]) -> Result<Vec<u8>> {
        if self.bytes > context.fold_limits.read {
            return Err(context.fold_limits.too_many(key, self.bytes));
        }
        let base = self.has_base.then_some(self.base.as_slice());
        fold(context, key, base, self.ends.len(), |operands| {
            let mut start = 0;
            for (operand, end) in operands.iter_mut().zip(&self.ends) {
                *operand = &self.operands[start..*end];
                start = *end;
            }
            if self.reversed {
                operands.reverse();
            }
        })
    }
}

/// Folds `count` operands over `base`; `put` puts them into their places, the oldest first.
///
/// # Errors
/// `InvalidArgument` without an operator, and where the value is longer than any may be; else the
/// operator's. Each names the key.
pub(crate) fn fold<'o>(
    context: &ReadContext,
    key: &[u8],
    base: Option<&[u8]>,
    count: usize,
    put: impl FnOnce(&mut [&'o [u8]]),
) -> Result<Vec<u8>> {
    let Some(operator) = &context.merge_operator else {
        return Err(Error::invalid(
            "the database holds merge operands; open it with its merge operator",
        )
        .key(key));
    };
    let (mut few, mut many) = ([&[][..]; OPERANDS_EXPECTED], Vec::new());
    let places = if let Some(few) = few.get_mut(..count) {
        few
    } else {
        many.resize(count, &[][..]);
        many.as_mut_slice()
    };
    put(places);
    let folded = operator.merge(key, base, places);
    let folded = folded.map_err(|error| error.key(key))?;
    if folded.len() > context.fold_limits.value {
        return Err(context.fold_limits.too_long(folded.len()).key(key));
    }
    Ok(folded)
}

/// From this length on a buffer grows to the length it needs, or by an eighth: one that doubles may
/// hold gigabytes that nobody uses.
const DOUBLED_BYTES_MAX: usize = 1 << 20;

/// Puts `more` at the end of a buffer that may become as long as the longest value.
#[inline]
pub(crate) fn append(buffer: &mut Vec<u8>, more: &[u8]) {
    if more.len() > buffer.capacity() - buffer.len() {
        grow(buffer, more.len());
    }
    buffer.extend_from_slice(more);
}

#[cold]
fn grow(buffer: &mut Vec<u8>, more: usize) {
    if buffer.len() < DOUBLED_BYTES_MAX {
        buffer.reserve(more);
    } else {
        buffer.reserve_exact(more.max(buffer.len() / 8));
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
    append(out, stored);
    Ok(())
}
