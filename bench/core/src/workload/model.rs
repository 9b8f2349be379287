//! The model of a store's contents: for every key index, the value that was written last.
//!
//! One word of four bytes a key, allocated and touched before any clock runs. A word is the
//! position of the value's fold in a table that holds the folds of all values there can be
//! ([`Pool`] has about ten thousand of 100 bytes), so checking a read is one load here, one load
//! there and one compare. Position 0 is "absent".
//!
//! Invariants: (1) with one writer a word changes only when its write has returned; (2) with
//! several threads a writer marks the word before its write and replaces it after; a reader that
//! sees a mark, or a change between before and after its read, accepts any value of the pool; (3)
//! two writers that met on one key leave it ambiguous until a row with one writer writes it again.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::measure::byte_sum::{bind, fold};
use crate::workload::definition::Values;
use crate::workload::key::Layout;
use crate::workload::pool::Pool;

/// The fold of a key that is not there.
pub const ABSENT: u64 = 0x6b65_7920_6c6f_7374;

/// Set while a write of this key is under way.
const PENDING: u32 = 1 << 31;
/// Set when two writes met: any value of the pool may be there.
const AMBIGUOUS: u32 = 1 << 30;
const POSITION: u32 = AMBIGUOUS - 1;

/// A position in the table of folds; 0 is "absent".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word(u32);

impl Word {
    /// No such key.
    pub const ABSENT: Self = Self(0);

    /// Whether exactly one answer is right.
    #[inline]
    pub const fn is_exact(self) -> bool {
        self.0 & (PENDING | AMBIGUOUS) == 0
    }

    /// Whether the key is there, as far as is known.
    #[inline]
    pub const fn is_present(self) -> bool {
        self.0 & POSITION != 0
    }
}

/// The values of one set of the pool, as positions of the table.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    first: u32,
}

impl Words {
    /// The word of the value with this ordinal.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the table has fewer than 2^29 values, which new() checks"
    )]
    pub const fn word(self, ordinal: usize) -> Word {
        Word(self.first + ordinal as u32)
    }
}

/// What every key holds.
#[derive(Debug)]
pub struct Model {
    words: Vec<AtomicU32>,
    folds: Vec<u64>,
    /// Where the large values begin in the table.
    large: u32,
    sorted: Vec<u64>,
    layout: Layout,
    /// Keys a store has when nothing was added beyond `--num`.
    base: usize,
    known: bool,
}

impl Model {
    /// A model of `keys` absent keys of the pool's layout, for the pool's values.
    ///
    /// # Panics
    /// When there are more values than a word can name, a quarter of a thousand million.
    pub fn new(pool: &Pool, keys: usize) -> Self {
        let mut folds = vec![ABSENT];
        let mut append = |values: Values| {
            let first = u32::try_from(folds.len()).unwrap_or(u32::MAX);
            let set = pool.set(values);
            folds.extend((0..set.count()).map(|ordinal| fold(set.value(ordinal))));
            first
        };
        append(Values::Flag);
        let large = append(Values::Large);
        assert!(folds.len() < (POSITION / 2) as usize, "too many values");
        let mut sorted = folds.clone();
        sorted.sort_unstable();
        Self {
            words: absent(keys),
            folds,
            large,
            sorted,
            layout: pool.layout().clone(),
            base: keys,
            known: true,
        }
    }

    /// How an index becomes a key.
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Keys it has words for.
    pub fn keys(&self) -> usize {
        self.words.len()
    }

    /// Whether the contents of the store are known at all.
    pub const fn is_known(&self) -> bool {
        self.known
    }

    /// Forgets everything: the store was filled by someone else.
    pub const fn set_unknown(&mut self) {
        self.known = false;
    }

    /// The words of the values of a kind of row.
    pub const fn words(&self, values: Values) -> Words {
        Words {
            first: match values {
                Values::Flag => 1,
                Values::Large => self.large,
            },
        }
    }

    /// All keys absent again, and known to be; keys that were added are gone.
    pub fn clear(&mut self) {
        self.words.truncate(self.base);
        for word in &mut self.words {
            *word.get_mut() = 0;
        }
        self.known = true;
    }

    /// Makes room for keys that a row may add.
    pub fn grow(&mut self, keys: usize) {
        let missing = keys.saturating_sub(self.words.len());
        self.words.extend(absent(missing));
    }

    /// Releases the room after the last of `keys` keys.
    pub fn shrink(&mut self, keys: usize) {
        self.words.truncate(keys.max(self.base));
    }

    /// What a read of key `index` must return.
    #[inline]
    pub fn load(&self, index: usize) -> Word {
        // Relaxed: with one thread there is nothing to order, with several the reader compares the
        // word before and after its read and only ever loosens its judgement.
        Word(self.words[index].load(Ordering::Relaxed))
    }

    /// Prefetches the word of key `index`, if there is such a key: a key drawn ahead may come after
    /// the last.
    #[inline]
    pub fn touch(&self, index: usize) {
        if let Some(word) = self.words.get(index) {
            black_box(word.load(Ordering::Relaxed));
        }
    }

    /// The indexes of the keys that are there; none where that is not known.
    pub fn stored(&self) -> Vec<u32> {
        let present = |index: &u32| self.load(*index as usize).is_present();
        let keys = u32::try_from(self.keys()).unwrap_or(u32::MAX);
        let all = 0..if self.known { keys } else { 0 };
        all.filter(present).collect()
    }

    /// Records the only writer's write, after it has returned.
    #[inline]
    pub fn store(&self, index: usize, word: Word) {
        self.words[index].store(word.0, Ordering::Relaxed);
    }

    /// Marks the word before a write that others may see or compete with.
    #[inline]
    pub fn begin(&self, index: usize) -> Word {
        let cell = &self.words[index];
        // Sequentially consistent, so that the mark is there before the engine's own write is.
        let before = cell.fetch_or(PENDING, Ordering::SeqCst);
        if before & PENDING != 0 {
            cell.fetch_or(AMBIGUOUS, Ordering::SeqCst);
        }
        Word(before)
    }

    /// Completes what [`Model::begin`] began: `before` is what it returned, `word` what was
    /// written.
    #[inline]
    pub fn end(&self, index: usize, before: Word, word: Word) {
        let cell = &self.words[index];
        let alone = before.0 & (PENDING | AMBIGUOUS) == 0
            && cell
                .compare_exchange(
                    before.0 | PENDING,
                    word.0,
                    Ordering::SeqCst,
                    Ordering::SeqCst,
                )
                .is_ok();
        if !alone {
            // Two writes met: their order is unknown, even after both have ended.
            cell.store(word.0 | PENDING | AMBIGUOUS, Ordering::SeqCst);
        }
    }

    /// The fold that a word requires.
    #[inline]
    pub fn expected(&self, word: Word) -> u64 {
        self.folds[(word.0 & POSITION) as usize]
    }

    /// Judges an answer read while others write: `before` and `after` are the words around the
    /// read.
    pub fn allows(&self, before: Word, after: Word, answer: u64) -> bool {
        if before == after && before.is_exact() {
            return answer == self.expected(before);
        }
        // A write was under way: the old, the new or, in a long read, a third value.
        self.sorted.binary_search(&answer).is_ok()
    }

    /// Whether some value of the pool has this fold.
    pub fn was_written(&self, answer: u64) -> bool {
        answer != ABSENT && self.sorted.binary_search(&answer).is_ok()
    }

    /// The word of a key after `operand` was merged into its value by the operator "greater in byte
    /// order".
    pub fn greater(&self, pool: &Pool, stored: Word, operand: Word) -> Word {
        let Some(value) = self.value(pool, stored) else {
            return operand;
        };
        if self.value(pool, operand).is_some_and(|given| value > given) {
            Word(stored.0 & POSITION)
        } else {
            operand
        }
    }

    /// The value a word stands for.
    fn value<'p>(&self, pool: &'p Pool, word: Word) -> Option<&'p [u8]> {
        let position = word.0 & POSITION;
        if position >= self.large {
            let ordinal = position - self.large;
            return Some(pool.set(Values::Large).value(ordinal as usize));
        }
        let ordinal = position.checked_sub(1)?;
        Some(pool.set(Values::Flag).value(ordinal as usize))
    }

    /// One line about a wrong answer.
    #[cold]
    pub fn describe(&self, index: u64, wanted: Word, answer: u64) -> String {
        let key = self.layout.show(index);
        let wanted = if wanted.is_present() {
            "its last value"
        } else {
            "nothing"
        };
        let got = if answer == ABSENT {
            "nothing"
        } else if self.sorted.binary_search(&answer).is_ok() {
            "another value of the pool"
        } else {
            "bytes that were never written"
        };
        format!("key {key}: expected {wanted}, got {got}")
    }

    /// What a scan must return: the entries present, at most `limit` from the front or from the
    /// back.
    pub fn scan(&self, limit: u64, backward: bool) -> Expected {
        let mut expected = Expected::default();
        let mut buffer = self.layout.buffer();
        let count = self.words.len();
        for step in 0..count {
            if expected.entries == limit {
                break;
            }
            let index = if backward { count - 1 - step } else { step };
            let word = self.load(index);
            expected.exact &= word.is_exact();
            if word.is_present() {
                let key = fold(buffer.set(index as u64));
                expected.entries += 1;
                expected.total = expected.total.wrapping_add(bind(key, self.expected(word)));
            }
        }
        expected
    }

    /// Present keys.
    pub fn present(&self) -> usize {
        self.words
            .iter()
            .filter(|word| Word(word.load(Ordering::Relaxed)).is_present())
            .count()
    }

    /// Raw bytes of all present keys and their values. Of a key on which two writes met, the value
    /// of one of them counts.
    pub fn live_bytes(&self, pool: &Pool) -> u64 {
        let live = (0..).zip(&self.words).filter_map(|(index, word)| {
            let value = self.value(pool, Word(word.load(Ordering::Relaxed)))?;
            Some((self.layout.key_bytes(index) + value.len()) as u64)
        });
        live.sum()
    }

    /// The words as bytes, to be stored next to a database that outlives the process.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.words
            .iter()
            .flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes())
            .collect()
    }

    /// Takes back what [`Model::to_bytes`] gave. False, and nothing changed, when it does not fit.
    pub fn restore(&mut self, bytes: &[u8]) -> bool {
        let (words, rest) = bytes.as_chunks::<4>();
        let fits = |word: u32| ((word & POSITION) as usize) < self.folds.len();
        if !rest.is_empty()
            || words.len() < self.base
            || !words.iter().all(|word| fits(u32::from_le_bytes(*word)))
        {
            return false;
        }
        self.words.clear();
        let cells = words
            .iter()
            .map(|word| AtomicU32::new(u32::from_le_bytes(*word)));
        self.words.extend(cells);
        self.known = true;
        true
    }
}

/// Words of absent keys.
fn absent(count: usize) -> Vec<AtomicU32> {
    (0..count).map(|_| AtomicU32::new(0)).collect()
}

/// What a scan must return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Entries.
    pub entries: u64,
    /// Sum of [`bind`] over them.
    pub total: u64,
    /// False when some value cannot be known, so that only the count can be checked.
    pub exact: bool,
}

impl Default for Expected {
    fn default() -> Self {
        Self {
            entries: 0,
            total: 0,
            exact: true,
        }
    }
}

#[cfg(test)]
mod tests;
