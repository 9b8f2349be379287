//! Dictionaries of tables. Equal dictionaries share memory, and the latest is offered to new
//! tables.
//!
//! Every new table is offered the dictionary that was made last or, if none was made since the
//! database was opened, that of the first opened table that has one. Tables thus share one
//! dictionary as long as their values are alike, and compactions copy values verbatim. Rejected: a
//! dictionary per flush, because every compaction had to decode and encode all values, which took
//! most of the CPU time of a random load of JSON records.
//!
//! Locks: each is held for one call, and no other lock is taken under it.

use std::sync::{Arc, Weak};

use cairndb_env::sync::Mutex;
use cairndb_format::table::Dictionary;

/// Maximum number of dictionaries to compare; tables of older versions may each have their own.
const KNOWN_MAX: usize = 64;

/// The dictionaries of one database.
#[derive(Debug, Default)]
pub struct Dictionaries {
    known: Mutex<Vec<Weak<Dictionary>>>,
    latest: Mutex<Option<Arc<Dictionary>>>,
}

impl Dictionaries {
    /// Returns an equal dictionary that other tables already share, or else this one. Called when a
    /// table is opened.
    pub fn met(&self, dictionary: &Arc<Dictionary>) -> Arc<Dictionary> {
        let shared = self.shared(dictionary);
        if !shared.bytes().is_empty() {
            self.latest
                .lock()
                .get_or_insert_with(|| Arc::clone(&shared));
        }
        shared
    }

    fn shared(&self, dictionary: &Arc<Dictionary>) -> Arc<Dictionary> {
        let mut known = self.known.lock();
        known.retain(|known| known.strong_count() > 0);
        let same = |known: &Arc<Dictionary>| known == dictionary;
        if let Some(found) = known.iter().filter_map(Weak::upgrade).find(same) {
            return found;
        }
        if known.len() == KNOWN_MAX {
            known.remove(0);
        }
        known.push(Arc::downgrade(dictionary));
        Arc::clone(dictionary)
    }

    /// Returns the dictionary to offer to a new table.
    pub fn latest(&self) -> Option<Arc<Dictionary>> {
        self.latest.lock().clone()
    }

    /// Records a dictionary that a new table made for itself.
    pub fn note_made(&self, made: &Arc<Dictionary>) {
        let made = self.shared(made);
        *self.latest.lock() = Some(made);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dictionary(bytes: &[u8]) -> Arc<Dictionary> {
        Arc::new(Dictionary::new(bytes))
    }

    #[test]
    fn equal_ones_become_one_and_the_last_made_is_offered() {
        let all = Dictionaries::default();
        assert!(all.latest().is_none());
        let (first, again, other) = (dictionary(b"one"), dictionary(b"one"), dictionary(b"two"));
        all.note_made(&first);
        assert!(Arc::ptr_eq(&all.shared(&again), &first));
        all.note_made(&other);
        all.note_made(&again);
        let offered = all.latest();
        assert!(offered.is_some_and(|offered| Arc::ptr_eq(&offered, &first)));
    }

    #[test]
    fn the_first_one_met_is_offered_until_another_is_made() {
        let all = Dictionaries::default();
        all.met(&Arc::default());
        assert!(all.latest().is_none(), "a table without a dictionary");
        let (first, second, made) = (dictionary(b"one"), dictionary(b"two"), dictionary(b"six"));
        all.met(&first);
        all.met(&second);
        assert_eq!(all.latest(), Some(first));
        all.note_made(&made);
        all.met(&second);
        assert_eq!(all.latest(), Some(made));
    }

    #[test]
    fn those_that_nobody_holds_are_forgotten_and_few_are_looked_through() {
        let all = Dictionaries::default();
        for n in 0..200u8 {
            all.shared(&dictionary(&[n]));
        }
        assert!(all.known.lock().len() <= 1);
        let held: Vec<_> = (0..200u8).map(|n| all.shared(&dictionary(&[n]))).collect();
        assert_eq!((held.len(), all.known.lock().len()), (200, KNOWN_MAX));
    }
}
