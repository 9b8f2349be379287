//! A database as one environment has it open.
//!
//! Everything here belongs to the environment's thread, except the [`Share`], which the tasks on
//! the thread pool use.
//!
//! Closing waits for the tasks that run: a program that closes the database gets the results of
//! what it started before.

use std::cell::{Cell, RefCell};
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use cairndb::{Db, Error, ErrorKind, Keyspace};

use crate::gate::{Gate, watched};
use crate::js::callback::Call;
use crate::js::external;
use crate::js::failure::Outcome;
use crate::js::hook::{self, Ending};
use crate::js::scope::{Env, Value};
use crate::js::task::{self, Deferred};
use crate::js::watch::{AbortFlag, Watch};
use crate::options::Opening;
use crate::share::Share;
use crate::write_queue::WriteQueue;

/// An open database of which keyspaces are used.
#[derive(Debug)]
pub(crate) struct Handle {
    share: Arc<Share>,
    /// Keyspaces that were opened, the default one included.
    keyspaces: Cell<u64>,
    pub(crate) gate: Gate,
    pub(crate) writes: WriteQueue,
    /// Tasks that use the database.
    running: Cell<usize>,
    /// Set when closing begins.
    closing: Cell<bool>,
    /// The promise of a close that waits for the tasks.
    waiting: RefCell<Option<Deferred>>,
}

impl Ending for Handle {
    fn environment_ends(&self) {
        // Nobody can receive the error. The next open recovers what was acknowledged.
        let _ = self.share.close();
    }
}

/// What `binding.js` has an external of: a keyspace of an open database, as a rule the default one.
#[derive(Debug)]
pub(crate) struct Place {
    handle: Rc<Handle>,
    pub(crate) keyspace: Keyspace,
    /// Differs from that of all other places of the handle; 0 for the default keyspace.
    pub(crate) id: u64,
}

impl Deref for Place {
    type Target = Rc<Handle>;

    #[inline]
    fn deref(&self) -> &Rc<Handle> {
        &self.handle
    }
}

impl Place {
    fn new(handle: &Rc<Handle>, keyspace: Keyspace) -> Place {
        let id = handle.keyspaces.get();
        handle.keyspaces.set(id + 1);
        Place {
            handle: Rc::clone(handle),
            keyspace,
            id,
        }
    }

    /// Returns the place that is the argument `N` of a call.
    #[inline]
    pub(crate) fn argument<'s, const N: usize>(call: &Call<'s>) -> Outcome<&'s Place> {
        external::borrow::<Place>(call.argument::<N>())
    }

    /// Returns the place that is the first argument of a call.
    #[inline]
    pub(crate) fn of<'s>(call: &Call<'s>) -> Outcome<&'s Place> {
        Place::argument::<0>(call)
    }
}

impl Handle {
    /// Returns the handle that is the first argument of a call.
    #[inline]
    pub(crate) fn of<'s>(call: &Call<'s>) -> Outcome<&'s Rc<Handle>> {
        Place::of(call).map(|place| &place.handle)
    }

    #[inline]
    pub(crate) fn db(&self) -> &Db {
        self.share.db()
    }

    /// Returns what a task uses.
    pub(crate) fn share(&self) -> Arc<Share> {
        Arc::clone(&self.share)
    }

    /// Returns an error if the handle is being closed, for which no task may begin.
    pub(crate) fn check_open(&self) -> Result<(), Error> {
        if self.closing.get() {
            return Err(Error::new(ErrorKind::Closed, "the database was closed"));
        }
        Ok(())
    }

    /// Runs `run` on the thread pool and `settle` here; the handle is not closed before that. What
    /// `settle` spawns is run also if a close waits.
    pub(crate) fn spawn<O, R, S>(self: &Rc<Self>, env: Env<'_>, run: R, settle: S) -> Outcome<()>
    where
        R: FnOnce(&Db) -> O + Send + 'static,
        O: Send + 'static,
        S: FnOnce(Env<'_>, Result<O, Error>) + 'static,
    {
        let (handle, share) = (Rc::clone(self), self.share());
        task::spawn(
            env,
            move || run(share.db()),
            move |env, output| {
                settle(env, output);
                handle.task_ended(env);
            },
        )?;
        self.running.set(self.running.get() + 1);
        Ok(())
    }

    /// Like [`Handle::spawn`], and returns a promise of what `settle` returns.
    pub(crate) fn promise<'s, O, R, S>(
        self: &Rc<Self>,
        env: Env<'s>,
        run: R,
        settle: S,
    ) -> Outcome<Value<'s>>
    where
        R: FnOnce(&Db) -> O + Send + 'static,
        O: Send + 'static,
        S: for<'e> FnOnce(Env<'e>, O) -> Outcome<Value<'e>> + 'static,
    {
        self.check_open()?;
        let (deferred, promise) = Deferred::new(env)?;
        self.spawn(env, run, move |env, output| {
            let outcome = output.map_err(Into::into);
            deferred.settle(env, outcome.and_then(|output| settle(env, output)));
        })?;
        Ok(promise)
    }

    /// Like [`Handle::promise`], with the databases of two handles. Neither is closed before the
    /// end.
    pub(crate) fn promise_of_both<'s, O, R, S>(
        [one, other]: &[Rc<Handle>; 2],
        env: Env<'s>,
        run: R,
        settle: S,
    ) -> Outcome<Value<'s>>
    where
        R: FnOnce([&Db; 2]) -> O + Send + 'static,
        O: Send + 'static,
        S: for<'e> FnOnce(Env<'e>, O) -> Outcome<Value<'e>> + 'static,
    {
        one.check_open()?;
        other.check_open()?;
        let (deferred, promise) = Deferred::new(env)?;
        let (handle, share) = (Rc::clone(other), other.share());
        let run = move |db: &Db| run([db, share.db()]);
        one.spawn(env, run, move |env, output| {
            let outcome = output.map_err(Into::into);
            deferred.settle(env, outcome.and_then(|output| settle(env, output)));
            handle.task_ended(env);
        })?;
        other.running.set(other.running.get() + 1);
        Ok(promise)
    }

    /// Runs `reads` reads on the thread pool and returns a promise of what `settle` returns. The
    /// gate learns whether they have read from a disk.
    pub(crate) fn read<'s, O, R, S>(
        self: &Rc<Self>,
        env: Env<'s>,
        reads: u32,
        run: R,
        settle: S,
    ) -> Outcome<Value<'s>>
    where
        R: FnOnce(&Db) -> O + Send + 'static,
        O: Send + 'static,
        S: for<'e> FnOnce(Env<'e>, O) -> Outcome<Value<'e>> + 'static,
    {
        let handle = Rc::clone(self);
        self.promise(
            env,
            move |db| watched(|| run(db)),
            move |env, (output, from_disk)| {
                handle.gate.note_pooled(reads, from_disk);
                settle(env, output)
            },
        )
    }

    fn task_ended(self: &Rc<Self>, env: Env<'_>) {
        self.running.set(self.running.get() - 1);
        if self.running.get() > 0 {
            return;
        }
        let Some(deferred) = self.waiting.borrow_mut().take() else {
            return;
        };
        self.close_now(env, deferred);
    }

    /// Closes on the thread pool: a close flushes and syncs.
    fn close_now(self: &Rc<Self>, env: Env<'_>, deferred: Deferred) {
        let (handle, share) = (Rc::clone(self), self.share());
        let begun = task::spawn(
            env,
            move || share.close(),
            move |env, closed| {
                hook::remove(env, &handle);
                let outcome = closed.and_then(|closed| closed).map_err(Into::into);
                deferred.settle(env, outcome.and_then(|()| env.undefined()));
            },
        );
        // Fails only if the environment is ending, which closes the database as well.
        drop(begun);
    }
}

/// `open(location, options, watch)`: returns a promise of a handle.
pub(crate) fn open<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let opening = Opening::new(call.argument::<0>(), call.argument::<1>())?;
    let watch = Watch::from_argument(call.argument::<2>())?;
    task::promise(
        call.env,
        move || watch.over(|| opening.open(&watch.abort)),
        |env, opened| {
            let share = opened.and_then(|opened| opened)?;
            let handle = Rc::new(Handle {
                gate: Gate::new(share.db().open_report().created),
                share: Arc::new(share),
                keyspaces: Cell::new(0),
                writes: WriteQueue::default(),
                running: Cell::new(0),
                closing: Cell::new(false),
                waiting: RefCell::new(None),
            });
            hook::add(env, &handle)?;
            let default = handle.db().default_keyspace();
            external::give(env, Place::new(&handle, default))
        },
    )
}

impl Opening {
    fn open(&self, abort: &AbortFlag) -> Result<Share, Error> {
        let opened = Share::open(
            &self.options,
            &self.path,
            self.sharing,
            self.must_be_new,
            abort,
        );
        opened.map_err(|error| self.explained(error))
    }

    /// Words the error for a JavaScript programmer, with what to do about it.
    fn explained(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::NotFound => {
                let message = if self.only_reads {
                    "the database does not exist, and an open that only reads creates none"
                } else {
                    "the database does not exist, and createIfMissing is false"
                };
                Error::new(ErrorKind::NotFound, message).path(&self.path)
            }
            ErrorKind::InvalidArgument if self.is_leveldb() => Error::invalid(
                "the directory holds a LevelDB database; open it with { upgrade: true } to \
                 convert it in place",
            )
            .path(&self.path),
            _ => error,
        }
    }

    /// Returns whether the directory was refused because it is LevelDB's.
    fn is_leveldb(&self) -> bool {
        !self.may_upgrade && cairndb::leveldb::plan(&self.path, &cairndb::Options::new()).is_ok()
    }
}

/// `close(handle)`: returns a promise that resolves when everything is durable.
pub(crate) fn close<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let handle = Handle::of(call)?;
    let (deferred, promise) = Deferred::new(call.env)?;
    if handle.closing.replace(true) {
        deferred.settle(call.env, call.env.undefined());
    } else if handle.running.get() > 0 {
        *handle.waiting.borrow_mut() = Some(deferred);
    } else {
        handle.close_now(call.env, deferred);
    }
    Ok(promise)
}

/// `keyspaceOpen(handle, name)`: returns a handle of a keyspace.
pub(crate) fn keyspace_open<'s>(call: &Call<'s>) -> Outcome<Value<'s>> {
    let handle = Handle::of(call)?;
    handle.check_open()?;
    let keyspace = handle.db().keyspace(&call.argument::<1>().string()?)?;
    external::give(call.env, Place::new(handle, keyspace))
}
