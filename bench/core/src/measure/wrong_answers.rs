//! Wrong answers of a thread or a row: their number and a description of the first.

use serde::{Deserialize, Serialize};

/// Wrong answers; only the first is described.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WrongAnswers {
    count: u64,
    first: Option<String>,
}

impl WrongAnswers {
    /// Adds a wrong answer.
    #[cold]
    pub fn add(&mut self, describe: impl FnOnce() -> String) {
        self.count += 1;
        self.first.get_or_insert_with(describe);
    }

    /// Adds the wrong answers of another thread.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        if self.first.is_none() {
            self.first.clone_from(&other.first);
        }
    }

    /// Returns the number of wrong answers.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the description of the first wrong answer, if any.
    pub fn first(&self) -> Option<&str> {
        self.first.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_counted_and_the_first_is_described() {
        let mut sum = WrongAnswers::default();
        sum.merge(&WrongAnswers::default());
        assert_eq!((sum.count(), sum.first()), (0, None));
        let mut thread = WrongAnswers::default();
        thread.add(|| "one".into());
        thread.add(|| unreachable!("described only once"));
        sum.merge(&thread);
        sum.add(|| unreachable!("described only once"));
        assert_eq!((sum.count(), sum.first()), (3, Some("one")));
    }
}
