//! Writes that wait for the thread pool, in the order of their calls.
//!
//! A write goes here if it could not be made at once, or must be durable, and so does every write
//! after it until the queue is empty: writes take effect in the order in which they were called,
//! though nobody has to wait for one before the next. One task at a time works for the queue; it
//! writes all that have come in meanwhile as one batch, with one sync. A hundred durable puts that
//! are called at once cost two syncs.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use cairndb::{Durability, Error, WriteBatch};

use crate::js::failure::Failure;
use crate::js::scope::Env;
use crate::js::task::Deferred;

/// Bytes up to which writes are joined. A larger batch is written on its own, so that an error
/// about its size is its own.
const JOINED_BYTES_MAX: usize = 1 << 20;

/// A write and the promise of it.
#[derive(Debug)]
struct Waiting {
    batch: WriteBatch,
    sync: bool,
    deferred: Deferred,
}

/// The queue of a handle.
#[derive(Debug, Default)]
pub(crate) struct WriteQueue {
    waiting: RefCell<VecDeque<Waiting>>,
    running: Cell<bool>,
}

/// Writes that are made as one.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) batch: WriteBatch,
    sync: bool,
    deferreds: Vec<Deferred>,
}

impl WriteQueue {
    /// Returns whether no earlier write waits, so that one may be made at once.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        !self.running.get()
    }

    /// Appends a write.
    pub(crate) fn push(&self, batch: WriteBatch, sync: bool, deferred: Deferred) {
        self.waiting.borrow_mut().push_back(Waiting {
            batch,
            sync,
            deferred,
        });
    }

    /// Returns the writes to make next. The queue is busy until this returns `None`.
    pub(crate) fn next_group(&self) -> Option<Group> {
        let mut waiting = self.waiting.borrow_mut();
        let first = waiting.pop_front();
        self.running.set(first.is_some());
        let first = first?;
        let mut group = Group {
            batch: first.batch,
            sync: first.sync,
            deferreds: vec![first.deferred],
        };
        while let Some(next) = waiting.front()
            && group.batch.byte_len() + next.batch.byte_len() <= JOINED_BYTES_MAX
        {
            let Some(next) = waiting.pop_front() else {
                break;
            };
            group.batch.append(&next.batch);
            group.sync |= next.sync;
            group.deferreds.push(next.deferred);
        }
        Some(group)
    }
}

impl Group {
    /// Returns the durability that all of them have.
    pub(crate) fn durability(&self) -> Durability {
        if self.sync {
            Durability::Sync
        } else {
            Durability::Os
        }
    }

    /// Settles the promises.
    pub(crate) fn settle(self, env: Env<'_>, written: &Result<(), Error>) {
        for deferred in self.deferreds {
            let outcome = match written {
                Ok(()) => env.undefined(),
                Err(error) => Err(Failure::Store(error.clone())),
            };
            deferred.settle(env, outcome);
        }
    }
}
