//! The values that rows with readers write.
//!
//! The value of a key follows from the key and its generation: how often the row has written it. A
//! reader starts with the words of the model, knows the values of all later generations, and
//! remembers which one it has seen. It thus accepts neither a value of another key nor one from
//! before what it has seen.

use crate::measure::loops::position;
use crate::workload::model::{Model, Words};
use crate::workload::random::mix;

/// Maximum number of generations of a key between two reads of it.
const MISSED_MAX: u32 = 64;

/// Returns which of `count` values a generation of a key has, from 1 on.
#[inline]
pub(super) fn ordinal(index: u64, generation: u32, count: usize) -> usize {
    let count = count as u64;
    position((mix(index) % count + u64::from(generation)) % count)
}

/// What a reader has seen.
pub(super) struct Seen<'r> {
    model: &'r Model,
    words: Words,
    /// Number of values.
    count: usize,
    /// The newest generation seen of each key, 0 for what it had before the row.
    pub(super) generations: Vec<u32>,
}

impl<'r> Seen<'r> {
    pub(super) fn new(model: &'r Model, words: Words, count: usize) -> Self {
        let generations = vec![0; model.keys()];
        Self {
            model,
            words,
            count,
            generations,
        }
    }

    /// Returns the fold of a generation's value.
    #[inline]
    pub(super) fn expected(&self, index: u64, generation: u32) -> u64 {
        let word = match generation {
            0 => self.model.load(position(index)),
            _ => self.words.word(ordinal(index, generation, self.count)),
        };
        self.model.expected(word)
    }

    /// Returns whether the key may have the value with this fold now, and if so, remembers that it
    /// was seen.
    #[inline]
    pub(super) fn allows(&mut self, index: u64, answer: u64) -> bool {
        let first = self.generations[position(index)];
        let of = |&generation: &u32| self.expected(index, generation) == answer;
        let found = (first..=first + MISSED_MAX).find(of);
        if let Some(generation) = found {
            self.generations[position(index)] = generation;
        }
        let ambiguous = first == 0 && !self.model.load(position(index)).is_exact();
        found.is_some() || ambiguous && self.model.was_written(answer)
    }

    /// Returns a description of a wrong answer.
    pub(super) fn describe(&self, index: u64, answer: u64) -> String {
        let word = self.model.load(position(index));
        self.model.describe(index, word, answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use crate::workload::definition::Values;

    #[test]
    fn a_value_of_another_key_or_from_before_is_none_of_this_one() {
        let home = tempfile::tempdir().expect("a directory");
        let plan = testing::plan(home.path(), 3, &[]);
        let pool = crate::workload::pool::Pool::load(&plan).expect("loaded");
        let model = Model::new(&pool, 3);
        let (words, count) = (model.words(Values::Flag), pool.set(Values::Flag).count());
        model.store(1, words.word(7));
        let mut seen = Seen::new(&model, words, count);
        let folds = [0, 1, 2, 3].map(|generation| seen.expected(1, generation));
        let other = seen.expected(2, 1);
        assert!(seen.allows(1, folds[0]) && seen.allows(1, folds[0]));
        assert!(!seen.allows(1, other));
        assert!(seen.allows(1, folds[2]) && seen.allows(1, folds[3]));
        assert!(!seen.allows(1, folds[0]) && !seen.allows(1, folds[2]));
        assert_eq!(seen.generations, [0, 3, 0]);
    }
}
