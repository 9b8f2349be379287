//! Lock holders: which locks of an environment are held, and in which mode.
//!
//! Threads: not synchronized; the environment protects the holders with a lock.

use std::collections::BTreeMap;

/// The mode in which a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Held by one holder, as taken by [`Dir::lock`](crate::Dir::lock).
    Exclusive,
    /// Held by any number of holders, as taken by [`Dir::lock_shared`](crate::Dir::lock_shared).
    Shared,
}

/// The holders of each held lock: 0 for an exclusive holder, otherwise the number of shared
/// holders.
///
/// ```
/// use cairndb_env::implement::{Hold, Holders};
/// let mut holders = Holders::new();
/// assert!(holders.take("LOCK", Hold::Shared) && holders.take("LOCK", Hold::Shared));
/// assert!(!holders.take("LOCK", Hold::Exclusive));
/// assert!(!holders.release(&"LOCK") && holders.release(&"LOCK"));
/// assert!(holders.take("LOCK", Hold::Exclusive));
/// ```
#[derive(Clone, Debug)]
pub struct Holders<K>(BTreeMap<K, usize>);

impl<K: Ord> Holders<K> {
    /// Creates a table in which no lock is held.
    pub const fn new() -> Holders<K> {
        Holders(BTreeMap::new())
    }

    /// Tries to take the lock. Returns whether it succeeded.
    pub fn take(&mut self, lock: K, hold: Hold) -> bool {
        match self.0.get_mut(&lock) {
            None => {
                self.0.insert(lock, usize::from(hold == Hold::Shared));
                true
            }
            Some(readers) if hold == Hold::Shared && *readers > 0 => {
                *readers += 1;
                true
            }
            Some(_) => false,
        }
    }

    /// Returns how the lock is held.
    pub fn hold(&self, lock: &K) -> Option<Hold> {
        let held = self.0.get(lock);
        held.map(|readers| match readers {
            0 => Hold::Exclusive,
            _ => Hold::Shared,
        })
    }

    /// Releases one hold. Returns whether it was the last one.
    pub fn release(&mut self, lock: &K) -> bool {
        match self.0.get_mut(lock) {
            Some(readers) if *readers > 1 => {
                *readers -= 1;
                false
            }
            _ => {
                self.0.remove(lock);
                true
            }
        }
    }
}

impl<K: Ord> Default for Holders<K> {
    fn default() -> Holders<K> {
        Holders::new()
    }
}
