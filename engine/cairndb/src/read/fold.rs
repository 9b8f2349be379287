//! Folds merge operands over the value below them.
//!
//! Memory: the operands, the value below them and the result, each bounded ([`FoldLimits`]).
//! Operands above the limit are counted but not kept, and the operator is not called.

use std::cell::Cell;

use cairndb_base::{Error, Kind, Order, Result};

use crate::read::value_ref::{decode_pointer, read_pointer};
use crate::state::context::ReadContext;
use crate::state::fold_limits::{FoldLimits, OPERAND_BYTES_EXTRA};
use crate::state::version::Values;

/// Size above which an operand buffer is freed after its key.
const OPERAND_BYTES_KEPT: usize = 64 << 10;

/// The operands of one key and the value below them, gathered in either direction. The buffers are
/// reused: allocating them for each key took a considerable part of a fold, and threads that fold
/// at the same time waited for the allocator's lock.
#[derive(Debug, Default)]
pub(crate) struct Fold {
    base: Vec<u8>,
    has_base: bool,
    /// Concatenated operands: newest first when gathered forward, oldest first when gathered
    /// backward.
    operands: Vec<u8>,
    /// End of each operand.
    ends: Vec<usize>,
    /// Number of bytes of all operands, including those above the limit, which are not kept.
    bytes: usize,
    /// Whether operands are ordered newest first.
    reversed: bool,
}

/// Number of operands passed without an allocation: usually one per source.
const OPERANDS_EXPECTED: usize = 16;

thread_local! {
    static KEPT: Cell<Fold> = Cell::default();
}

impl Fold {
    /// Returns the thread's fold, or a new one if that is in use (an operator may read the database
    /// itself) or the thread is exiting.
    pub(crate) fn take() -> Fold {
        KEPT.try_with(Cell::take).unwrap_or_default()
    }

    /// Leaves this for the thread's next fold.
    pub(crate) fn keep(mut self) {
        self.clear();
        // An exiting thread keeps nothing.
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

    /// Adds an operand, and returns whether there are now too many, so that further operands make
    /// no difference.
    #[inline]
    pub(crate) fn push_operand(&mut self, limits: &FoldLimits, operand: &[u8]) -> bool {
        debug_assert!(!self.reversed, "operands are gathered in one direction");
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

    /// Sets the base of the operands to the version below them: the value that `stored` encodes, or
    /// none for a deletion.
    pub(crate) fn set_base(
        &mut self,
        order: &Order,
        values: &Values,
        key: &[u8],
        kind: Kind,
        stored: &[u8],
    ) -> Result<()> {
        debug_assert!(kind != Kind::Merge, "an operand is not a base");
        self.has_base = kind != Kind::Delete;
        if self.has_base {
            resolve(order, values, key, kind, stored, &mut self.base)?;
        }
        Ok(())
    }

    /// Reverses the order in which the operands are interpreted.
    pub(crate) fn reverse(&mut self) {
        self.reversed = !self.reversed;
    }

    /// Returns the folded value; operands must be ordered oldest first.
    ///
    /// # Errors
    /// Same as [`fold`]; `InvalidArgument` if there are more operands than one read folds.
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

/// Folds `count` operands over `base`. `put` writes them to their slots, the oldest first.
///
/// # Errors
/// `InvalidArgument` without an operator, or if the result exceeds the maximum length of a value;
/// otherwise the operator's error. Each error names the key.
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

/// Length above which a buffer grows to the required length, or by an eighth: doubling might leave
/// gigabytes unused.
const DOUBLED_BYTES_MAX: usize = 1 << 20;

/// Appends `more` to a buffer that may reach the maximum length of a value.
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

/// Writes the value of an entry to `out`: the stored bytes, or the value to which a pointer refers.
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
        return read_pointer(order, values, key, decode_pointer(key, stored)?, out);
    }
    append(out, stored);
    Ok(())
}
