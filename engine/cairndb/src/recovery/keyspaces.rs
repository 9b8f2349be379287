//! The keyspaces of a manifest, folded from its edits.

use std::collections::{BTreeMap, BTreeSet};

use cairndb_base::limits::COMPARED_KEYSPACE_MIN;
use cairndb_base::{Error, Result};
use cairndb_format::manifest::KeyspaceRecord;

use crate::state::keyspaces::Keyspaces;

/// The keyspaces that exist after some edits.
#[derive(Debug, Default)]
pub(crate) struct FoldedKeyspaces {
    live: BTreeMap<u32, KeyspaceRecord>,
    names: BTreeSet<String>,
    /// Largest numbers that were used, without and with a comparator.
    last: [u32; 2],
}

impl FoldedKeyspaces {
    /// Applies the changes of one edit.
    ///
    /// # Errors
    /// `Corruption` if a keyspace that it creates cannot be new.
    pub(super) fn apply(&mut self, created: Vec<KeyspaceRecord>, dropped: &[u32]) -> Result<()> {
        for keyspace in created {
            let (number, name) = (keyspace.number, &keyspace.name);
            let used = number <= self.use_number(number);
            if used || number % 2 == 1 || !self.names.insert(name.clone()) {
                return Err(Error::corruption(
                    "an edit creates a keyspace whose number is odd, or whose number or name is \
                     taken",
                )
                .found(format_args!("keyspace {number}, {name:?}")));
            }
            self.live.insert(number, keyspace);
        }
        for number in dropped {
            if let Some(keyspace) = self.live.remove(number) {
                self.names.remove(&keyspace.name);
            }
            self.use_number(*number);
        }
        Ok(())
    }

    /// Makes the engine's keyspaces those of the manifest, which has changed since.
    ///
    /// # Errors
    /// Those of [`Keyspaces::follow`].
    pub(crate) fn update(&self, keyspaces: &Keyspaces) -> Result<()> {
        keyspaces.follow(&self.live, self.last)
    }

    /// Hands the keyspaces to the engine. Files have numbers below `next_file`.
    ///
    /// # Errors
    /// Those of [`Keyspaces::restore`].
    pub(super) fn restore(&self, keyspaces: &Keyspaces, next_file: u64) -> Result<()> {
        keyspaces.restore(self.live.values().cloned().collect(), self.last, next_file)
    }

    /// Records that a keyspace had `number`, and returns the largest one before.
    fn use_number(&mut self, number: u32) -> u32 {
        let last = &mut self.last[usize::from(number >= COMPARED_KEYSPACE_MIN)];
        let before = *last;
        *last = number.max(before);
        before
    }
}
