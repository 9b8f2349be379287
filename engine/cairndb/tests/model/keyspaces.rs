//! Keyspaces are opened, dropped and created again, and old handles are closed.

use std::path::Path;
use std::sync::Arc;

use cairndb::env::random::Random;
use cairndb::{Db, ErrorKind, Keyspace, WriteBatch};

use crate::config::{COMPARED, NAMES, Order};
use crate::op::Op;
use crate::oracle::Oracle;
use crate::runner::{Outcome, Runner, ensure, failed};

/// Number of keyspaces, the default one included.
pub(crate) const SPACES: usize = 1 + NAMES.len();

/// An open database with handles to its keyspaces. The handle of one that was dropped stays.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) db: Db,
    /// The orders whose comparators are registered.
    orders: Vec<Order>,
    keyspaces: [Option<Keyspace>; NAMES.len()],
}

impl Opened {
    pub(crate) fn keyspace(&self, space: usize) -> Option<&Keyspace> {
        self.keyspaces[space.checked_sub(1)?].as_ref()
    }
}

/// The model of each keyspace, or `None` if it does not exist.
pub(crate) type Oracles = [Option<Oracle>; SPACES];

fn is_closed<T>(what: &str, result: cairndb::Result<T>) -> Outcome {
    let kind = result.err().map(|error| error.kind());
    let closed = kind == Some(ErrorKind::Closed);
    ensure!(closed, "{what} of a dropped keyspace: {kind:?}");
    Ok(())
}

impl Runner<'_> {
    pub(crate) fn opened(&self) -> &Opened {
        self.open
            .as_ref()
            .expect("the database is open between operations")
    }

    /// Returns the handle of the keyspace in use, or `None` for the default one.
    pub(crate) fn keyspace(&self) -> Option<&Keyspace> {
        self.opened().keyspace(self.space)
    }

    /// Opens the database at `path`, which must have the model's keyspaces.
    pub(crate) fn open_at(&self, path: &Path) -> Result<Opened, String> {
        let orders = self.orders();
        let db = self.options().open(path).map_err(failed)?;
        let wanted = (1..SPACES).filter(|space| self.oracles[*space].is_some());
        let mut wanted: Vec<&str> = wanted.map(|space| NAMES[space - 1]).collect();
        wanted.sort_unstable();
        let found = db.keyspaces();
        ensure!(found == wanted, "{found:?} exist, should be {wanted:?}");
        let keyspaces = NAMES.map(|name| db.keyspace(name).ok());
        Ok(Opened {
            db,
            orders,
            keyspaces,
        })
    }

    /// Returns the orders to register now: those in use, and some of the others.
    pub(crate) fn orders(&self) -> Vec<Order> {
        let random = &mut Random::new(self.done);
        let mut orders = COMPARED.to_vec();
        orders.retain(|order| {
            let used = self.oracles.iter().flatten().any(|it| it.order == *order);
            *order == Order::Reverse || used || random.below(2) == 0
        });
        orders
    }

    /// Runs `check` in each keyspace that exists.
    pub(crate) fn in_each(&mut self, mut check: impl FnMut(&mut Self) -> Outcome) -> Outcome {
        let space = self.space;
        for each in 0..SPACES {
            self.space = each;
            if self.oracles[each].is_some() {
                check(self).map_err(|error| format!("keyspace {each}: {error}"))?;
            }
        }
        self.space = space;
        Ok(())
    }

    /// Drops the keyspace in use, with a batch and a transaction under way.
    pub(crate) fn drop_keyspace(&mut self) -> Outcome {
        let Some(keyspace) = self.keyspace() else {
            return Ok(());
        };
        let transaction = self.db().transaction();
        let written = transaction.put(b"never", b"seen");
        written.map_err(failed)?;
        let written = transaction.put_in(keyspace, b"never", b"seen");
        written.map_err(failed)?;
        self.db().drop_keyspace(keyspace.name()).map_err(failed)?;
        is_closed("a commit", transaction.commit())?;
        let space = self.space;
        self.oracles[space] = None;
        for (_, moment) in self.snapshots.iter_mut().flatten() {
            moment[space] = None;
        }
        Ok(())
    }

    /// Runs an operation on a keyspace that does not exist.
    pub(crate) fn run_without(&mut self, op: Op) -> Outcome {
        if let Some(keyspace) = self.keyspace() {
            let key = Arc::clone(self.bytes(0));
            is_closed("a put", keyspace.put(&key, b""))?;
            is_closed("a get", keyspace.get(&key))?;
            is_closed("a cursor", keyspace.cursor().seek_to_first())?;
            is_closed("a compaction", keyspace.compact_range(..))?;
            let snapshot = self.db().snapshot();
            is_closed("a snapshot", snapshot.get_in(keyspace, &key))?;
            let mut batch = WriteBatch::new();
            batch.put(&key, b"never seen");
            batch.delete_in(keyspace, &key);
            is_closed("a batch", self.db().write(&batch))?;
        }
        if !matches!(op, Op::Delete(..)) {
            return Ok(());
        }
        let (name, births) = (NAMES[self.space - 1], self.births);
        self.births += 1;
        let orders = &self.opened().orders;
        let (order, operator, options) = self.config.keyspace(name, births, orders);
        let created = self.db().create_keyspace(name, &options).map_err(failed)?;
        let empty = Oracle::new(order, operator);
        let opened = self.open.as_mut().expect("it is open");
        opened.keyspaces[self.space - 1] = Some(created);
        for (_, moment) in self.snapshots.iter_mut().flatten() {
            moment[self.space] = Some(empty.clone());
        }
        self.oracles[self.space] = Some(empty);
        Ok(())
    }
}
