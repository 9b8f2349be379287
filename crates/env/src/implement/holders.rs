//! Lock holders: which locks of an environment are held, and how.
//!
//! Threads: none of its own; the environment keeps it under a lock.

use std::collections::BTreeMap;

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// By one holder, as [`Dir::lock`](crate::Dir::lock) takes it.
    Exclusive,
    /// By any number of holders, as [`Dir::lock_shared`](crate::Dir::lock_shared) takes it.
    Shared,
}

/// The holders of each lock that is held: 0 stands for an exclusive one, another number for that
/// many shared ones.
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
    /// No lock is held.
    pub const fn new() -> Holders<K> {
        Holders(BTreeMap::new())
    }

    /// Tries to take the lock. Returns whether it could.
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

    /// Releases one hold. Returns whether it was the last.
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
