//! The model of a store's contents: for every key index, the value that was written last.
//!
//! The model has one four-byte word per key, allocated and touched before any clock runs. A word is
//! the position of the value's fold in a table of the folds of all possible values ([`Pool`] has
//! about ten thousand of 100 bytes), so checking a read takes two loads and one comparison.
//! Position 0 means "absent".
//!
//! Invariants: (1) with one writer, a word changes only after its write has returned; (2) with
//! several threads, a writer marks the word before its write and replaces it after; a reader that
//! sees a mark, or a change during its read, accepts any value of the pool; (3) two concurrent
//! writes of one key leave it ambiguous until a row with one writer writes it again.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::measure::byte_sum::{bind, fold};
use crate::workload::definition::Values;
use crate::workload::key::Layout;
use crate::workload::pool::Pool;

/// The fold of an absent key.
pub const ABSENT: u64 = 0x6b65_7920_6c6f_7374;

/// Set while a write of this key is in progress.
const PENDING: u32 = 1 << 31;
/// Set after two concurrent writes: the key may have any value of the pool.
const AMBIGUOUS: u32 = 1 << 30;
const POSITION: u32 = AMBIGUOUS - 1;

/// A position in the table of folds; 0 is "absent".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word(u32);

impl Word {
    /// No such key.
    pub const ABSENT: Self = Self(0);

    /// Returns whether exactly one answer is correct.
    #[inline]
    pub const fn is_exact(self) -> bool {
        self.0 & (PENDING | AMBIGUOUS) == 0
    }

    /// Returns whether the key is present, as far as is known.
    #[inline]
    pub const fn is_present(self) -> bool {
        self.0 & POSITION != 0
    }
}

/// The values of one set of the pool, as positions in the table.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    first: u32,
}

impl Words {
    /// Returns the word of the value with this ordinal.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the table has fewer than 2^29 values, which new() checks"
    )]
    pub const fn word(self, ordinal: usize) -> Word {
        Word(self.first + ordinal as u32)
    }
}

/// The expected value of every key.
#[derive(Debug)]
pub struct Model {
    words: Vec<AtomicU32>,
    folds: Vec<u64>,
    /// The position in the table at which the large values start.
    large: u32,
    sorted: Vec<u64>,
    layout: Layout,
    /// Number of keys in a store if none was added beyond `--num`.
    base: usize,
    known: bool,
}

impl Model {
    /// Creates a model of `keys` absent keys in the pool's layout, for the pool's values.
    ///
    /// # Panics
    /// If there are more values than a word can represent, about 250 million.
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

    /// Returns the key layout.
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the number of keys that have words.
    pub fn keys(&self) -> usize {
        self.words.len()
    }

    /// Returns whether the contents of the store are known at all.
    pub const fn is_known(&self) -> bool {
        self.known
    }

    /// Marks the contents as unknown: another program filled the store.
    pub const fn set_unknown(&mut self) {
        self.known = false;
    }

    /// Returns the words of the values of a kind of row.
    pub const fn words(&self, values: Values) -> Words {
        Words {
            first: match values {
                Values::Flag => 1,
                Values::Large => self.large,
            },
        }
    }

    /// Resets all keys to absent and drops keys that were added.
    pub fn clear(&mut self) {
        self.words.truncate(self.base);
        for word in &mut self.words {
            *word.get_mut() = 0;
        }
        self.known = true;
    }

    /// Reserves space for keys that a row may add.
    pub fn grow(&mut self, keys: usize) {
        let missing = keys.saturating_sub(self.words.len());
        self.words.extend(absent(missing));
    }

    /// Releases the space after the last of `keys` keys.
    pub fn shrink(&mut self, keys: usize) {
        self.words.truncate(keys.max(self.base));
    }

    /// Returns the word that a read of key `index` must match.
    #[inline]
    pub fn load(&self, index: usize) -> Word {
        // Relaxed: with one thread there is nothing to order. With several, the reader compares the
        // word before and after its read, and a difference only loosens the check.
        Word(self.words[index].load(Ordering::Relaxed))
    }

    /// Prefetches the word of key `index`, if that key exists: a key drawn ahead may be beyond the
    /// last.
    #[inline]
    pub fn touch(&self, index: usize) {
        if let Some(word) = self.words.get(index) {
            black_box(word.load(Ordering::Relaxed));
        }
    }

    /// Returns the indexes of the present keys; none if the contents are unknown.
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

    /// Marks the word before a write that other threads may see or compete with.
    #[inline]
    pub fn begin(&self, index: usize) -> Word {
        let cell = &self.words[index];
        // Sequentially consistent, so that the mark is visible before the engine's own write.
        let before = cell.fetch_or(PENDING, Ordering::SeqCst);
        if before & PENDING != 0 {
            cell.fetch_or(AMBIGUOUS, Ordering::SeqCst);
        }
        Word(before)
    }

    /// Completes a write started by [`Model::begin`]: `before` is its return value, `word` is what
    /// was written.
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
            // Two writes overlapped: their order is unknown, even after both have ended.
            cell.store(word.0 | PENDING | AMBIGUOUS, Ordering::SeqCst);
        }
    }

    /// Returns the fold that a word requires.
    #[inline]
    pub fn expected(&self, word: Word) -> u64 {
        self.folds[(word.0 & POSITION) as usize]
    }

    /// Checks an answer read while other threads write: `before` and `after` are the words around
    /// the read.
    pub fn allows(&self, before: Word, after: Word, answer: u64) -> bool {
        if before == after && before.is_exact() {
            return answer == self.expected(before);
        }
        // A write was in progress: the answer may be the old value, the new value or, in a long
        // read, a third one.
        self.sorted.binary_search(&answer).is_ok()
    }

    /// Returns whether some value of the pool has this fold.
    pub fn was_written(&self, answer: u64) -> bool {
        answer != ABSENT && self.sorted.binary_search(&answer).is_ok()
    }

    /// Returns the word of a key after `operand` was merged into its value by the operator "greater
    /// in byte order".
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

    /// Returns the value that a word stands for.
    fn value<'p>(&self, pool: &'p Pool, word: Word) -> Option<&'p [u8]> {
        let position = word.0 & POSITION;
        if position >= self.large {
            let ordinal = position - self.large;
            return Some(pool.set(Values::Large).value(ordinal as usize));
        }
        let ordinal = position.checked_sub(1)?;
        Some(pool.set(Values::Flag).value(ordinal as usize))
    }

    /// Returns a one-line description of a wrong answer.
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

    /// Returns the expected result of a scan: the present entries, at most `limit` from the front
    /// or from the back.
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

    /// Returns the number of present keys.
    pub fn present(&self) -> usize {
        self.words
            .iter()
            .filter(|word| Word(word.load(Ordering::Relaxed)).is_present())
            .count()
    }

    /// Returns the raw bytes of all present keys and their values. For an ambiguous key, the value
    /// of one of the concurrent writes counts.
    pub fn live_bytes(&self, pool: &Pool) -> u64 {
        let live = (0..).zip(&self.words).filter_map(|(index, word)| {
            let value = self.value(pool, Word(word.load(Ordering::Relaxed)))?;
            Some((self.layout.key_bytes(index) + value.len()) as u64)
        });
        live.sum()
    }

    /// Returns the words as bytes, to be stored next to a database that outlives the process.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.words
            .iter()
            .flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes())
            .collect()
    }

    /// Restores the output of [`Model::to_bytes`]. Returns false and changes nothing if it does not
    /// match.
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

/// Returns words of absent keys.
fn absent(count: usize) -> Vec<AtomicU32> {
    (0..count).map(|_| AtomicU32::new(0)).collect()
}

/// The expected result of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Number of entries.
    pub entries: u64,
    /// Sum of [`bind`] over the entries.
    pub total: u64,
    /// Whether all values are known; if not, only the count can be checked.
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
