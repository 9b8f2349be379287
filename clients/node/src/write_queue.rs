//! Writes and other changes that wait for the thread pool, in the order of their calls.
//!
//! A write goes here if it could not be made at once, or must be durable, and so does every write
//! after it until the queue is empty: writes take effect in the order in which they were called,
//! though nobody has to wait for one before the next. One task at a time works for the queue; it
//! writes all that have come in meanwhile as one batch, with one sync. A hundred durable puts that
//! are called at once cost two syncs.
//!
//! A `clear` that is not one write always goes here: it deletes what was written before it, and
//! nothing that is written after it. So does the drop of a keyspace.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;

use cairndb::{Db, Durability, Error, WriteBatch, WriteOptions};

use crate::js::failure::Failure;
use crate::js::scope::Env;
use crate::js::task::Deferred;

/// Bytes up to which writes are joined. A larger batch is written on its own, so that an error
/// about its size is its own.
const JOINED_BYTES_MAX: usize = 1 << 20;

/// A range deletion, or the drop of a keyspace.
type Change = dyn FnOnce(&Db) -> Result<(), Error> + Send;

/// The places to which a batch writes. Only batches to the same one are joined: if it was dropped,
/// all of them fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Places {
    #[default]
    None,
    One(u64),
    Several,
}

impl Places {
    pub(crate) fn add(&mut self, id: u64) {
        *self = match *self {
            Places::None => Places::One(id),
            Places::One(same) if same == id => Places::One(id),
            _ => Places::Several,
        };
    }
}

/// What is done on the thread pool.
pub(crate) enum Work {
    Write {
        batch: WriteBatch,
        places: Places,
        sync: bool,
    },
    Call(Box<Change>),
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Work::Write {
                batch,
                places,
                sync,
            } => write!(f, "Write({batch:?}, {places:?}, {sync})"),
            Work::Call(_) => f.write_str("Call"),
        }
    }
}

impl Work {
    pub(crate) fn run(self, db: &Db) -> Result<(), Error> {
        match self {
            Work::Write { batch, sync, .. } => {
                let durability = if sync {
                    Durability::Sync
                } else {
                    Durability::Os
                };
                db.write_with(&batch, &WriteOptions::new().durability(durability))
            }
            Work::Call(call) => call(db),
        }
    }

    /// Appends `next`, with the durability that both have. Returns `false` if they cannot be one.
    fn join(&mut self, next: &Work) -> bool {
        let (
            Work::Write {
                batch,
                places: Places::One(place),
                sync,
            },
            Work::Write {
                batch: more,
                places: Places::One(other),
                sync: more_sync,
            },
        ) = (self, next)
        else {
            return false;
        };
        if place != other || batch.byte_len() + more.byte_len() > JOINED_BYTES_MAX {
            return false;
        }
        batch.append(more);
        *sync |= *more_sync;
        true
    }
}

/// Work and the promise of it.
#[derive(Debug)]
struct Waiting {
    work: Work,
    deferred: Deferred,
}

/// The promises of work that is done as one.
#[derive(Debug)]
pub(crate) struct Promises(Vec<Deferred>);

/// The queue of a handle.
#[derive(Debug, Default)]
pub(crate) struct WriteQueue {
    waiting: RefCell<VecDeque<Waiting>>,
    running: Cell<bool>,
}

impl WriteQueue {
    /// Returns whether nothing earlier waits or runs, so that a write may be made at once.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        !self.running.get()
    }

    /// Appends work.
    pub(crate) fn push(&self, work: Work, deferred: Deferred) {
        self.waiting
            .borrow_mut()
            .push_back(Waiting { work, deferred });
    }

    /// Returns the work to do next. The queue is busy until this returns `None`.
    pub(crate) fn next(&self) -> Option<(Work, Promises)> {
        let mut waiting = self.waiting.borrow_mut();
        let first = waiting.pop_front();
        self.running.set(first.is_some());
        let Waiting { mut work, deferred } = first?;
        let mut promises = vec![deferred];
        while waiting.front().is_some_and(|next| work.join(&next.work)) {
            promises.extend(waiting.pop_front().map(|next| next.deferred));
        }
        Some((work, Promises(promises)))
    }
}

impl Promises {
    pub(crate) fn settle(self, env: Env<'_>, done: &Result<(), Error>) {
        for deferred in self.0 {
            let outcome = match done {
                Ok(()) => env.undefined(),
                Err(error) => Err(Failure::Store(error.clone())),
            };
            deferred.settle(env, outcome);
        }
    }
}
