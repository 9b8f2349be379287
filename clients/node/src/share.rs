//! Open databases of this process, so that its threads can share one.
//!
//! A store opens a database once. Threads of Node have separate JavaScript heaps, so each worker
//! opens the database by its path, and those that ask for it get one [`Db`] together; the last that
//! closes it closes the database. Options of the first open count.
//!
//! Those that follow a database share another [`Db`], which is opened and closed without regard to
//! the one that writes: a process may have both.
//!
//! Locks: the table before a slot. An open and a close hold their slot while they run, so that one
//! that follows a close waits for its end; other databases are not held up.

use std::collections::HashMap;
use std::fs::canonicalize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use cairndb::{Db, Error, ErrorKind, Options, Result};
use parking_lot::{Mutex, MutexGuard};

use crate::js::watch::AbortFlag;

/// Between two looks at the abort flag while another open or close holds the slot.
const SLOT_WAIT: Duration = Duration::from_millis(5);

/// Open shared databases.
static SLOTS: LazyLock<Mutex<HashMap<Key, Arc<Slot>>>> = LazyLock::new(Mutex::default);

/// With which other handles of this process one shares a database.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Sharing {
    /// None.
    Alone,
    /// Those that write the database, or read it while nobody writes.
    Owners,
    /// Those that follow it.
    Followers,
}

/// A path, and who shares the database at it.
type Key = (PathBuf, Sharing);

/// A database that handles share.
#[derive(Debug, Default)]
struct Slot(Mutex<Option<Opened>>);

type LockedSlot<'a> = MutexGuard<'a, Option<Opened>>;

#[derive(Debug)]
struct Opened {
    db: Db,
    /// Handles that have not been closed.
    handles: usize,
}

/// One handle's part of a database.
#[derive(Debug)]
pub(crate) struct Share {
    db: Db,
    /// `None` if the database is not shared.
    slot: Option<(Key, Arc<Slot>)>,
    closed: Mutex<bool>,
}

impl Share {
    /// Opens the database at `path`, together with other handles of this process that were opened
    /// with the same `sharing`.
    ///
    /// # Errors
    /// Those of `Options::open`; `InvalidArgument` if the database is open and must not exist;
    /// `Interrupted` if `abort` is set while another open or close is waited for.
    pub(crate) fn open(
        options: &Options,
        path: &Path,
        sharing: Sharing,
        must_be_new: bool,
        abort: &AbortFlag,
    ) -> Result<Share> {
        if sharing == Sharing::Alone {
            return Ok(Share {
                db: options.open(path)?,
                slot: None,
                closed: Mutex::new(false),
            });
        }
        let key = (
            canonicalize(path).unwrap_or_else(|_| path.to_path_buf()),
            sharing,
        );
        let slot = Arc::clone(SLOTS.lock().entry(key.clone()).or_default());
        let opened = slot
            .wait(abort)
            .and_then(|place| Slot::open(place, options, path, must_be_new));
        if opened.is_err() {
            forget(&key, &slot);
        }
        Ok(Share {
            db: opened?,
            slot: Some((key, slot)),
            closed: Mutex::new(false),
        })
    }

    #[inline]
    pub(crate) fn db(&self) -> &Db {
        &self.db
    }

    /// Gives up this part; the last one closes the database. Does nothing the second time.
    ///
    /// # Errors
    /// Those of `Db::close`.
    pub(crate) fn close(&self) -> Result<()> {
        let mut closed = self.closed.lock();
        if std::mem::replace(&mut *closed, true) {
            return Ok(());
        }
        let Some((key, slot)) = &self.slot else {
            return self.db.close();
        };
        let result = slot.close();
        forget(key, slot);
        result
    }
}

impl Slot {
    /// Takes the slot, which another open or close may hold for long.
    fn wait(&self, abort: &AbortFlag) -> Result<LockedSlot<'_>> {
        loop {
            if let Some(place) = self.0.try_lock_for(SLOT_WAIT) {
                return Ok(place);
            }
            abort.check()?;
        }
    }

    fn open(
        mut place: LockedSlot<'_>,
        options: &Options,
        path: &Path,
        must_be_new: bool,
    ) -> Result<Db> {
        if let Some(opened) = &mut *place {
            if must_be_new {
                let message = "the database exists, and another thread has it open";
                return Err(Error::new(ErrorKind::InvalidArgument, message).path(path));
            }
            opened.handles += 1;
            return Ok(opened.db.clone());
        }
        let db = options.open(path)?;
        *place = Some(Opened {
            db: db.clone(),
            handles: 1,
        });
        Ok(db)
    }

    fn close(&self) -> Result<()> {
        let mut place = self.0.lock();
        let Some(opened) = &mut *place else {
            return Ok(());
        };
        opened.handles -= 1;
        if opened.handles > 0 {
            return Ok(());
        }
        let db = place.take().map(|opened| opened.db);
        // Still under the lock: who opens the database next must find it unlocked.
        db.map_or(Ok(()), |db| db.close())
    }
}

/// Removes a slot that nothing refers to any more.
fn forget(key: &Key, slot: &Arc<Slot>) {
    let mut slots = SLOTS.lock();
    // Nobody else can get at the slot while the table is locked: the two are the table's and ours.
    if Arc::strong_count(slot) == 2 && slot.0.lock().is_none() {
        slots.remove(key);
    }
}
