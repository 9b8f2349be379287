//! The feed of changes as an asynchronous stream.
//!
//! A thread waits for changes and hands them over: the engine has no runtime, and the wait is that
//! of a condition variable.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use cairndb_base::Result;
use cairndb_env::Priority;
use cairndb_env::sync::{Condvar, Mutex};
use futures_core::Stream;

use crate::api::db::changes::Changes;
use crate::changes::change::Change;

/// Number of changes that are handed over before the consumer takes one.
const READY_MAX: usize = 64;
/// Time after which the thread looks whether there is still a consumer.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
struct Handover {
    ready: VecDeque<Result<Change>>,
    waker: Option<Waker>,
    /// The thread has ended: nothing follows.
    ended: bool,
    /// The consumer has gone.
    dropped: bool,
}

#[derive(Debug, Default)]
struct Shared {
    handover: Mutex<Handover>,
    taken: Condvar,
}

/// The changes of a database as a stream, which ends after an error. Needs the feature `stream`.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = cairndb::Db::open(&dir)?;
/// use futures_core::Stream;
/// fn consume(stream: impl Stream<Item = cairndb::Result<cairndb::Change>>) { drop(stream) }
/// consume(db.changes(&cairndb::ChangesOptions::new())?.into_stream()?);
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "a stream delivers nothing until it is polled"]
pub struct ChangesStream {
    shared: Arc<Shared>,
}

impl Changes {
    /// Returns the changes as a stream, for which a thread waits. Up to 64 changes are taken ahead
    /// of the consumer: with a lease, acknowledge through another handle's [`Changes`] of the same
    /// lease, or store the places only.
    ///
    /// # Errors
    /// `Io` if the thread cannot be started; `NotSupported` in a stepped environment.
    pub fn into_stream(mut self) -> Result<ChangesStream> {
        let shared = Arc::new(Shared::default());
        let (thread, env) = (Arc::clone(&shared), self.env());
        let body = move || {
            while thread.hand_over(self.next_within(LOOK_AGAIN)) {}
        };
        let _detached = env.spawn("cairndb-changes", Priority::Normal, Box::new(body))?;
        Ok(ChangesStream { shared })
    }
}

impl Shared {
    /// Hands over what a wait has found. Returns whether to go on.
    fn hand_over(&self, found: Result<Option<Change>>) -> bool {
        let Some(found) = found.transpose() else {
            return !self.handover.lock().dropped;
        };
        let mut handover = self.handover.lock();
        while handover.ready.len() >= READY_MAX && !handover.dropped {
            self.taken.wait(&mut handover);
        }
        handover.ended = found.is_err();
        handover.ready.push_back(found);
        let goes_on = !handover.ended && !handover.dropped;
        let waker = handover.waker.take();
        drop(handover);
        if let Some(waker) = waker {
            waker.wake();
        }
        goes_on
    }
}

impl Stream for ChangesStream {
    type Item = Result<Change>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Change>>> {
        let mut handover = self.shared.handover.lock();
        if let Some(next) = handover.ready.pop_front() {
            self.shared.taken.notify_all();
            return Poll::Ready(Some(next));
        }
        if handover.ended {
            return Poll::Ready(None);
        }
        handover.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for ChangesStream {
    fn drop(&mut self) {
        self.shared.handover.lock().dropped = true;
        self.shared.taken.notify_all();
    }
}
