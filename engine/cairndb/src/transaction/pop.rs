//! Taking out the first or the last entry.
//!
//! A pop keeps its cursor for the next one, since most programs pop more than once. As long as
//! nothing but pops of that end was written since the cursor was made, the entry next to the one it
//! is on is the new end: everything before it was popped. In a queue, entries are also appended,
//! and the same holds for the first entry as long as it is before all of them. Otherwise a pop
//! seeks the end of the keys, past the [tombstones](crate::read::hints::tombstone_spans) of earlier
//! ones.
//!
//! Threads: whether anything else was written is checked under the commit lock. A pop that finds no
//! kept cursor, because another thread is using it, seeks.

use std::ops::Bound;

use cairndb_base::{Error, ErrorKind, Result, SeqNo};

use crate::api::cursor::Cursor;
use crate::api::db::Db;
use crate::api::walk::Entry;
use crate::engine::core::Core;
use crate::log::commit::Commit;
use crate::read::conflicts::Span;
use crate::state::batch::WriteBatch;
use crate::state::sections::Section;
use crate::transaction::commit::{Dependencies, commit};
use crate::transaction::ends::{current_entry, entry_at};
use crate::transaction::popped::KeyEnd;
use crate::transaction::read_set::ReadSet;
use crate::transaction::retry::ATTEMPTS_MAX;

/// The cursor of the last pop, on the entry that it removed.
struct KeptCursor {
    cursor: Cursor,
    /// Sequence number up to which all writes are known: pops of this end, or writes of others that
    /// `limit` takes into account.
    checked: SeqNo,
    /// Key before which nothing was inserted since the cursor was made; `None` while there were
    /// only pops.
    limit: Option<Vec<u8>>,
}

impl KeptCursor {
    /// Returns a cursor at the newest state, not positioned.
    fn new(core: &Core) -> Box<KeptCursor> {
        // The fork counts its reference to the view, as a cursor that is kept must.
        let cursor = Cursor::new(core, None, None).fork();
        Box::new(KeptCursor {
            checked: cursor.seq(),
            cursor,
            limit: None,
        })
    }

    /// Moves to the entry at the end of the keys. Returns `None` if there is none, or if it is not
    /// known to be the end.
    fn advance(
        mut self: Box<Self>,
        core: &Core,
        end: KeyEnd,
    ) -> Result<Option<(Box<Self>, Entry)>> {
        let published = core.base.versions.published();
        if published != self.checked {
            // A newer view may have a memtable that this one lacks.
            let newest = core.base.versions.newest_view() == self.cursor.view().number;
            let ranges = &self.cursor.view().readers.ranges;
            let deleted = ranges.newest_seq() > self.cursor.seq();
            if end == KeyEnd::Last || !newest || deleted || !self.note_inserts(published) {
                return Ok(None);
            }
        }
        let popped = self.limit.as_ref().map(|_| self.cursor.key().to_vec());
        match end {
            KeyEnd::First => self.cursor.next()?,
            KeyEnd::Last => self.cursor.prev()?,
        }
        if let Some(popped) = popped
            && !self.is_current()
        {
            // Everything inserted since is after the last popped key, so that a seek there finds
            // the first entry without passing what was popped before.
            let mut renewed = KeptCursor::new(core);
            if renewed.checked != self.checked {
                return Ok(None);
            }
            renewed.cursor.seek(&popped)?;
            self = renewed;
        }
        let entry = current_entry(&self.cursor);
        Ok(entry.map(|entry| (self, entry)))
    }

    /// Lowers the limit to the first key inserted since the last check, up to `published`. Returns
    /// `false` if it may be at or before the entry that was popped last.
    fn note_inserts(&mut self, published: SeqNo) -> bool {
        let (view, order) = (self.cursor.view(), self.cursor.order());
        let mutable = &view.mutable;
        let mut limit = match self.limit.take() {
            Some(limit) => limit,
            // What is inserted after all other entries of the memtable is not reported below. It
            // comes after this one.
            None => match mutable.key_near_end(self.cursor.seq()) {
                Some(last) => last.to_vec(),
                None => return false,
            },
        };
        let all = mutable.inserted_between(self.checked, |key| {
            if order.compare(key, &limit).is_lt() {
                limit = key.to_vec();
            }
        });
        let follows = order.compare(&limit, self.cursor.key()).is_gt();
        self.checked = published;
        self.limit = Some(limit);
        all && follows
    }

    /// Returns whether the entry of the cursor is before everything inserted since, and was neither
    /// overwritten nor deleted.
    fn is_current(&self) -> bool {
        let (order, key) = (self.cursor.order(), self.cursor.key());
        let before = self
            .limit
            .as_ref()
            .is_none_or(|limit| order.compare(key, limit).is_lt());
        let newest = || {
            let mutable = &self.cursor.view().mutable;
            mutable.newest_seq(key, order.hash(key))
        };
        self.cursor.valid() && before && newest().is_none_or(|newest| newest <= self.cursor.seq())
    }

    /// Removes `entry`, on which the cursor is, if nothing was written since the check. Keeps the
    /// cursor for the next pop.
    ///
    /// # Errors
    /// `Conflict` if something was written, and those of [`Db::delete`].
    fn pop(mut self: Box<Self>, core: &Core, entry: &Entry, end: KeyEnd) -> Result<()> {
        let undisturbed = |commit: &Commit| {
            if commit.last_seq == self.checked {
                return Ok(());
            }
            Err(Error::new(ErrorKind::Conflict, "something was written"))
        };
        core.delete_if(&entry.0, core.base.settings.durability, &undisturbed)?;
        self.checked += 1;
        let number = self.cursor.view().number;
        let places = &core.base.versions.view().readers.view_bound;
        places.keep(end as usize, number, self);
        Ok(())
    }
}

fn pop(db: &Db, end: KeyEnd) -> Result<Option<Entry>> {
    let core = db.core();
    let kept = core
        .base
        .versions
        .view()
        .readers
        .view_bound
        .take(end as usize);
    if let Some(popped) = kept.map_or(Ok(None), |kept| pop_next(core, kept, end))? {
        return Ok(Some(popped));
    }
    // Without other writers no snapshot is needed: nothing is written in between.
    let mut found = KeptCursor::new(core);
    let Some(entry) = entry_at(&mut found.cursor, end)? else {
        return Ok(None);
    };
    match found.pop(core, &entry, end) {
        Ok(()) => Ok(Some(entry)),
        Err(error) if error.kind() == ErrorKind::Conflict => db.pop_beside_others(end),
        Err(error) => core.base.context.with_directory(Err(error)),
    }
}

/// Pops the entry next to the last one popped. Returns `None` if there is none, or if other writes
/// came in between.
fn pop_next(core: &Core, kept: Box<KeptCursor>, end: KeyEnd) -> Result<Option<Entry>> {
    let Some((kept, entry)) = kept.advance(core, end)? else {
        return Ok(None);
    };
    match kept.pop(core, &entry, end) {
        Ok(()) => Ok(Some(entry)),
        Err(error) if error.kind() == ErrorKind::Conflict => Ok(None),
        Err(error) => core.base.context.with_directory(Err(error)),
    }
}

impl Db {
    /// Removes the first entry and returns it, or `None` if there is none. Threads that do this at
    /// the same time get different entries, each the first one when it was removed.
    ///
    /// **Cost.** A step of a cursor and a delete, as long as all that is written between the pops
    /// is more pops of the same end, or, for `pop_first`, keys after the entries to pop. A seek and
    /// a delete otherwise. Between pops the handle keeps a cursor, at most until a memtable is full
    /// or background work has changed the tables.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`] and [`Db::delete`]; `Conflict` if other writers were faster a
    /// thousand times in a row.
    ///
    /// ```
    /// # fn main() -> cairndb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = cairndb::Db::open(&dir)?;
    /// db.put(b"job 1", b"sweep")?;
    /// db.put(b"job 2", b"polish")?;
    /// let (key, value) = db.pop_first()?.expect("two jobs are left");
    /// assert_eq!((&*key, &*value), (&b"job 1"[..], &b"sweep"[..]));
    /// assert_eq!(db.iter().try_count()?, 1);
    /// # Ok(()) }
    /// ```
    pub fn pop_first(&self) -> Result<Option<Entry>> {
        pop(self, KeyEnd::First)
    }

    /// Removes the last entry and returns it, or `None` if there is none. See [`Db::pop_first`].
    ///
    /// # Errors
    /// Same as [`Db::pop_first`].
    pub fn pop_last(&self) -> Result<Option<Entry>> {
        pop(self, KeyEnd::Last)
    }

    #[cold]
    fn pop_beside_others(&self, end: KeyEnd) -> Result<Option<Entry>> {
        let core = self.core();
        let durability = core.base.settings.durability;
        for _ in 1..ATTEMPTS_MAX {
            let snapshot = self.snapshot();
            let Some(entry) = entry_at(&mut snapshot.cursor(), end)? else {
                return Ok(None);
            };
            let (mut batch, mut reads) = (WriteBatch::new(), ReadSet::default());
            batch.delete(&entry.0);
            let key = Bound::Included(entry.0.to_vec());
            reads.add_span(match end {
                KeyEnd::First => Span {
                    section: Section::Default,
                    from: Bound::Unbounded,
                    to: key,
                },
                KeyEnd::Last => Span {
                    section: Section::Default,
                    from: key,
                    to: Bound::Unbounded,
                },
            });
            let dependencies = Dependencies {
                reads: &reads,
                written: None,
            };
            match commit(core, &batch, durability, snapshot.seq(), dependencies) {
                Ok(()) => return Ok(Some(entry)),
                Err(error) if error.kind() == ErrorKind::Conflict => self.await_published()?,
                Err(error) => return core.base.context.with_directory(Err(error)),
            }
        }
        Err(Error::new(
            ErrorKind::Conflict,
            "other writers changed the end of the keys a thousand times; try again",
        ))
    }
}
