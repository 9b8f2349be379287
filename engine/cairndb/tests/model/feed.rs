//! A consumer of changes, which keeps its own copy of the model.

use std::sync::Arc;
use std::time::Duration;

use cairndb::{BatchEntry, Change, ChangeKind, Changes, ChangesOptions, Place};

use crate::config::NAMES;
use crate::keyspaces::Oracles;
use crate::oracle::Oracle;
use crate::runner::{Outcome, Runner, ensure, failed};

/// A consumer, which may be without a feed until it continues.
#[derive(Debug)]
pub(crate) struct Consumer {
    changes: Option<Changes>,
    place: Place,
    /// What it has made of the changes so far.
    copy: Oracles,
}

impl Runner<'_> {
    /// Ends the feed. The consumer continues after its place, unless the list goes on in a fork.
    pub(crate) fn end_feed(&mut self, continues: bool) {
        match &mut self.consumer {
            Some(consumer) if continues => consumer.changes = None,
            consumer => *consumer = None,
        }
    }

    /// Applies all changes, and compares the copy with the model.
    pub(crate) fn follow(&mut self) -> Outcome {
        self.db().sync().map_err(failed)?;
        let mut consumer = match self.consumer.take() {
            Some(consumer) => consumer,
            None => self.begin()?,
        };
        let lease = ChangesOptions::new().lease("model");
        let mut changes = if let Some(changes) = consumer.changes.take() {
            changes
        } else {
            let continued = self.db().changes(&lease.after(consumer.place));
            continued.map_err(failed)?
        };
        let mut unlogged = self.unlogged;
        while let Some(change) = changes.next_within(Duration::ZERO).map_err(failed)? {
            ensure!(consumer.place != change.place, "a place came twice");
            consumer.place = change.place;
            unlogged |= matches!(change.kind, ChangeKind::Unlogged { .. });
            self.apply(&mut consumer.copy, &change);
        }
        if unlogged {
            consumer.copy.clone_from(&self.oracles);
        }
        for (space, (copy, model)) in consumer.copy.iter().zip(&self.oracles).enumerate() {
            let entries = |oracle: &Option<Oracle>| {
                let map = oracle.iter().flat_map(|oracle| oracle.map().values());
                map.cloned().collect::<Vec<_>>()
            };
            ensure!(
                copy.is_some() == model.is_some(),
                "keyspace {space} differs"
            );
            ensure!(
                entries(copy) == entries(model),
                "the copy of {space} differs"
            );
        }
        if self.done.is_multiple_of(3) {
            changes.acknowledge(consumer.place).map_err(failed)?;
        }
        consumer.changes = Some(changes);
        self.consumer = Some(consumer);
        Ok(())
    }

    fn begin(&self) -> Result<Consumer, String> {
        let lease = ChangesOptions::new().lease("model");
        let begun = self.db().snapshot_and_changes(&lease);
        let (_, changes) = begun.map_err(failed)?;
        Ok(Consumer {
            place: changes.place(),
            changes: Some(changes),
            copy: self.oracles.clone(),
        })
    }

    /// Applies a change. What concerns a keyspace that exists no longer is dropped: its order is
    /// not known.
    fn apply(&self, copy: &mut Oracles, change: &Change) {
        let space = |name: &str| 1 + NAMES.iter().position(|it| *it == name).expect("it is ours");
        let empty = |space: usize| {
            let model = self.oracles[space].as_ref();
            model.map(|model| Oracle::new(model.order, model.operator))
        };
        match &change.kind {
            ChangeKind::KeyspaceCreated { name } => copy[space(name)] = empty(space(name)),
            ChangeKind::KeyspaceDropped { name } => copy[space(name)] = None,
            ChangeKind::Batch(entries) => {
                for (name, entry) in entries.iter() {
                    if let Some(oracle) = &mut copy[name.map_or(0, space)] {
                        apply_entry(oracle, &entry);
                    }
                }
            }
            ChangeKind::Unlogged { .. } => {}
            other => panic!("{other:?}"),
        }
    }

    /// Returns whether a feed may be opened in a list: half of them have none.
    pub(crate) fn has_feed(&self) -> bool {
        self.config.seed.is_multiple_of(2)
    }
}

fn apply_entry(oracle: &mut Oracle, entry: &BatchEntry<'_>) {
    let owned = |bytes: &[u8]| Arc::<[u8]>::from(bytes);
    match entry {
        BatchEntry::Put { key, value } => oracle.put(&owned(key), value.to_vec()),
        BatchEntry::Delete { key } => oracle.delete(&owned(key)),
        BatchEntry::Merge { key, operand } => oracle.merge(&owned(key), operand),
        BatchEntry::DeleteRange { from, to } => {
            oracle.delete_range(&owned(from), to.map(owned).as_ref());
        }
        other => panic!("{other:?}"),
    }
}
