//! `Follower`: shows the state of a database that another process writes.
//!
//! A read compares two words of shared memory with those of the newest view. If they are equal, the
//! view has everything that was acknowledged before the read. Otherwise the reader catches up: it
//! reads what was added to the log and, if files have changed, to the manifest. One thread of a
//! process catches up at a time; the others wait for it.
//!
//! The log's new records go into memtables of the newest view and are then published, as in the
//! writer. Changed files make a new view. In between, a reader sees the older state or the newer
//! one: the new sequence number is published before the view, and everything that an older view
//! lacks is newer than all that it has.
//!
//! Locks: `tail`, held while files are read; the state lock is taken within it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cairndb_base::{Error, ErrorKind, FileNumber, Result};
use cairndb_env::sync::{Condvar, Mutex};
use cairndb_format::name;
use cairndb_shared::{Announced, LogPosition, Needs, Pin, Shared, Slot, revoked};

use crate::follow::followed::{Followed, Places};
use crate::follow::log_tail::LogTail;
use crate::follow::manifest_tail::ManifestTail;
use crate::recovery::recover::check_components;
use crate::state::ranges::{RangeDeletions, RangeMap};
use crate::state::sections::Section;
use crate::state::version::Version;
use crate::versions::base::{Base, nanos};

mod asked;
mod durable;
mod log_now;

pub(crate) use self::asked::check_writer;
pub(crate) use self::log_now::{LogNow, LogState};

/// Number of attempts to read files that the writer is changing. A follower with a slot needs one;
/// without a slot each file may be gone before it is opened.
const TRIES: u32 = 12;

/// How long a read waits for a writer that is in the middle of an announcement, which takes
/// nanoseconds unless the process is stopped.
const ANNOUNCEMENT: Duration = Duration::from_secs(2);

/// The first and the longest pause between attempts, and between looks for a write.
const PAUSE_MIN: Duration = Duration::from_micros(20);
const PAUSE_MAX: Duration = Duration::from_millis(1);

/// How far the files have been read.
#[derive(Debug)]
struct Tail {
    /// Generation and session of the newest view.
    generation: u64,
    session: u64,
    /// `None` before the first view of a session.
    manifest: Option<ManifestTail>,
    log: LogTail,
    followed: Followed,
    /// Number of seals of the session that were taken.
    seals: u64,
    /// Whether nothing was read yet.
    is_empty: bool,
}

pub(crate) struct Follower {
    base: Arc<Base>,
    shared: Shared,
    slot: Option<Arc<Slot>>,
    /// Whether only explicit calls look for new writes.
    manual: bool,
    lease_ns: Option<u64>,
    /// The words that the newest view was made from.
    seen_position: AtomicU64,
    seen_generation: AtomicU64,
    tail: Mutex<Tail>,
    /// Never signalled: for pauses.
    pauses: Condvar,
    paused: Mutex<()>,
    /// Held while a request waits for its answer.
    asking: Mutex<()>,
}

/// What an open of a follower has found besides the files.
#[derive(Debug)]
pub(crate) struct Followable {
    pub(crate) shared: Shared,
    pub(crate) slot: Option<Arc<Slot>>,
    /// Position and generation before the files were read.
    pub(crate) position: u64,
    pub(crate) generation: u64,
    pub(crate) manual: bool,
    pub(crate) lease: Option<Duration>,
}

impl Follower {
    /// Returns a follower that shows what `base` was opened with.
    pub(crate) fn new(base: &Arc<Base>, found: Followable) -> Follower {
        let orders = &base.opener.orders;
        Follower {
            tail: Mutex::new(Tail {
                generation: found.generation,
                session: 0,
                manifest: None,
                log: LogTail::default(),
                followed: Followed::new(0, base.settings.budget.memtable, orders),
                seals: 0,
                is_empty: false,
            }),
            base: Arc::clone(base),
            shared: found.shared,
            slot: found.slot,
            manual: found.manual,
            lease_ns: found.lease.map(nanos),
            seen_position: AtomicU64::new(found.position),
            seen_generation: AtomicU64::new(found.generation),
            pauses: Condvar::new(),
            paused: Mutex::new(()),
            asking: Mutex::new(()),
        }
    }

    /// Makes the first view, of everything that was published.
    ///
    /// # Errors
    /// Those of [`Follower::refresh`].
    pub(crate) fn read_all(&self) -> Result<()> {
        // No generation is odd while its files are read.
        self.seen_generation.store(1, Ordering::Relaxed);
        self.tail.lock().is_empty = true;
        self.refresh()
    }

    /// Returns the generation that the writer has announced.
    pub(crate) fn generation(&self) -> u64 {
        self.shared.generation()
    }

    /// Returns whether the newest view has everything that was published.
    #[inline]
    fn is_current(&self) -> bool {
        // Relaxed: only compared. A reader that finds them equal has acquired what they stand for
        // from the thread that caught up, with the view.
        self.shared.position() == self.seen_position.load(Ordering::Acquire)
            && self.shared.generation() == self.seen_generation.load(Ordering::Acquire)
    }

    /// Prepares a read outside a snapshot.
    ///
    /// # Errors
    /// `Revoked`, if only explicit calls look for new writes; otherwise those of
    /// [`Follower::refresh`].
    #[inline]
    pub(crate) fn before_read(&self) -> Result<()> {
        if self.manual {
            return self.check_newest();
        }
        if self.is_current() {
            return Ok(());
        }
        self.refresh()
    }

    /// Checks that the newest view is not revoked.
    fn check_newest(&self) -> Result<()> {
        let view = self.base.versions.view();
        view.version.pin.as_ref().map_or(Ok(()), |pin| pin.check())
    }

    /// Makes the newest view have everything that was published before the call.
    ///
    /// # Errors
    /// `Corruption`, `Io`, `FormatTooNew`; `InvalidArgument` if the database now has a keyspace
    /// whose comparator or merge operator is not registered; `Revoked` without a slot, if the
    /// writer removes files faster than they can be read; `Closed` if the database was destroyed;
    /// `Forked`.
    pub(crate) fn refresh(&self) -> Result<()> {
        self.base.origin.check()?;
        let mut tail = self.tail.lock();
        let mut pause = PAUSE_MIN;
        let end = self.base.env.now_ns().saturating_add(nanos(ANNOUNCEMENT));
        for tried in 1.. {
            // Also if nothing is new, or a wait would outlive the handle.
            self.base.health.check_read()?;
            if self.is_current() {
                break;
            }
            let caught = self.catch_up(&mut tail);
            self.end_reading();
            match caught {
                Ok(()) => break,
                Err(error) if self.may_succeed(&error, tried < TRIES, end) => {
                    // Whatever was read in part is read again.
                    tail.manifest = None;
                    self.pause(&mut pause);
                }
                Err(error) => return Err(self.explained(error)),
            }
        }
        self.renew_lease();
        Ok(())
    }

    /// Begins the lease again.
    pub(crate) fn renew_lease(&self) {
        if let (Some(slot), Some(lease)) = (&self.slot, self.lease_ns) {
            slot.lease_until(self.base.env.now_ns().saturating_add(lease));
        }
    }

    /// Returns whether another attempt may succeed after an error: the files were changing.
    fn may_succeed(&self, error: &Error, has_tries: bool, end: u64) -> bool {
        let waits = error.kind() == ErrorKind::Locked && !self.base.is_over(Some(end));
        let changing = [
            ErrorKind::Corruption,
            ErrorKind::NotFound,
            ErrorKind::Revoked,
        ];
        let changing = has_tries && changing.contains(&error.kind());
        let waits = waits && (has_tries || !self.base.stepped());
        (waits || changing) && !self.shared.is_ended()
    }

    /// Without a slot, files that are missing were removed by the writer.
    #[cold]
    fn explained(&self, error: Error) -> Error {
        let missing = [ErrorKind::Corruption, ErrorKind::NotFound].contains(&error.kind());
        if self.slot.is_none() && missing {
            return revoked().source_error(error);
        }
        error
    }

    fn end_reading(&self) {
        if let Some(slot) = &self.slot {
            slot.end_reading();
        }
    }

    fn pause(&self, pause: &mut Duration) {
        if !self.base.stepped() {
            let mut paused = self.paused.lock();
            self.pauses.wait_for(&mut paused, *pause);
            *pause = (*pause * 2).min(PAUSE_MAX);
        }
    }

    /// Reads what is new.
    fn catch_up(&self, tail: &mut Tail) -> Result<()> {
        if self.shared.is_ended() {
            let message = "the database was destroyed; close this handle";
            return Err(Error::new(ErrorKind::Closed, message));
        }
        // In this order: what the position stands for is in files that the generation names.
        let position = LogPosition::of_word(self.shared.position());
        let generation = self.shared.generation();
        let same_files = generation == tail.generation && tail.manifest.is_some();
        if same_files && tail.log.continues_to(position) {
            self.read_log(tail, position, generation)?;
            // A segment that was recycled while it was read was retired before.
            if !self.shared.is_still(generation) {
                return self.follow_files(tail);
            }
            self.publish(tail, position, generation);
            return Ok(());
        }
        self.follow_files(tail)
    }

    /// Makes a view of the files that the writer has announced.
    fn follow_files(&self, tail: &mut Tail) -> Result<()> {
        let reading = self.slot.as_ref().map(|slot| slot.begin_reading());
        let (position, generation) = (self.shared.position(), self.shared.generation());
        let Some(announced) = self.shared.announced() else {
            return self.keep_last_state(tail, position, generation);
        };
        let dir = &*self.base.dir;
        if tail.session != announced.session {
            (tail.manifest, tail.session, tail.seals) = (None, announced.session, 0);
        }
        let next = match tail.manifest.take() {
            Some(mut manifest) if manifest.number == announced.manifest => {
                manifest.advance(dir, announced.manifest_end)?;
                (manifest, true)
            }
            // A new manifest of the same session names the same log.
            before => (ManifestTail::open(dir, &announced)?, before.is_some()),
        };
        let (mut manifest, continues) = next;
        let folded = &mut manifest.folded;
        check_components(folded, &self.base.context, FileNumber(manifest.number))?;
        folded.keyspaces.update(&self.base.keyspaces)?;
        let continues = continues && tail.log.is_among(&folded.log.live);
        let orders = &self.base.opener.orders;
        let version = self.version(&mut manifest, &announced)?;
        if continues {
            // The records up to here go into memtables that the old view has, too, and may point to
            // new value files.
            self.read_segments(tail, &manifest, announced.position)?;
            self.add_values(tail, &version);
            self.show_memtables(tail);
        } else {
            let capacity = self.base.settings.budget.memtable;
            let floor = manifest.folded.last_seq;
            tail.followed = Followed::new(floor, capacity, orders);
            tail.log = LogTail::default();
            self.read_segments(tail, &manifest, announced.position)?;
        }
        let is_revoked = reading.is_some_and(|reading| {
            let slot = self.slot.as_ref();
            slot.is_some_and(|slot| slot.is_revoked_since(reading))
        });
        // Without a slot, nothing was held: only an unchanged generation proves that all of it was
        // there.
        let changed = self.slot.is_none() && !self.shared.is_still(announced.generation);
        if is_revoked || changed {
            return Err(revoked());
        }
        tail.followed.drop_until(manifest.folded.last_seq, orders)?;
        tail.is_empty = false;
        self.install(tail, version);
        tail.manifest = Some(manifest);
        tail.generation = announced.generation;
        self.publish(tail, announced.position, announced.generation);
        Ok(())
    }

    /// Nothing is announced: a writer is doing it, or died while it did, or there was none yet. The
    /// words were loaded before this was found out.
    fn keep_last_state(&self, tail: &mut Tail, position: u64, generation: u64) -> Result<()> {
        let is_stable = generation.is_multiple_of(2) && generation > 0;
        if is_stable || tail.is_empty || self.shared.has_writer()? {
            let message = "the process that writes is about to announce a change; try again";
            return Err(Error::new(ErrorKind::Locked, message).file(name::SHARED));
        }
        // The last state stays until another writer announces something.
        tail.generation = generation;
        tail.manifest = None;
        self.note_seen(position, generation);
        Ok(())
    }

    /// Applies the records up to a position in the present segment.
    fn read_log(&self, tail: &mut Tail, position: LogPosition, generation: u64) -> Result<()> {
        let Tail {
            log,
            followed,
            seals,
            ..
        } = tail;
        let (new_seals, count) = self.shared.seals_since(*seals);
        debug_assert!(
            generation.is_multiple_of(2),
            "the files of a stable generation"
        );
        followed.add_seals(new_seals);
        *seals = count;
        let places = Places {
            orders: &self.base.opener.orders,
            keyspaces: &self.base.keyspaces,
            live: &self.base.keyspaces.live(),
        };
        log.read_on(position, |record| followed.apply(record, &places))?;
        self.show_memtables(tail);
        Ok(())
    }

    /// Applies the records of all live segments up to a position.
    fn read_segments(
        &self,
        tail: &mut Tail,
        manifest: &ManifestTail,
        position: LogPosition,
    ) -> Result<()> {
        let (new_seals, count) = self.shared.seals_since(tail.seals);
        tail.followed.add_seals(new_seals);
        tail.seals = count;
        let places = Places {
            orders: &self.base.opener.orders,
            keyspaces: &self.base.keyspaces,
            live: &self.base.keyspaces.live(),
        };
        let followed = &mut tail.followed;
        let segments = &manifest.folded.log.live;
        tail.log
            .read_through(&*self.base.dir, segments, position, |record| {
                followed.apply(record, &places)
            })
    }

    /// Returns the version of the manifest, with its files pinned.
    fn version(&self, manifest: &mut ManifestTail, announced: &Announced) -> Result<Version> {
        let (base, folded) = (&self.base, &mut manifest.folded);
        let old = base.versions.version();
        let mut version = folded.version_after(&old, &base.opener, &base.keyspaces.live())?;
        let needs = Needs {
            generation: announced.generation,
            next_file: folded.files_end(),
        };
        version.pin = Some(Arc::new(Pin::new(self.slot.as_ref(), needs)));
        Ok(version)
    }

    /// Adds the value files of `version` to the version that readers have.
    fn add_values(&self, tail: &mut Tail, version: &Version) {
        let mut state = self.base.versions.lock();
        if !Arc::ptr_eq(&state.version.values, &version.values) {
            state.version = Arc::new(Version {
                values: Arc::clone(&version.values),
                ..(*state.version).clone()
            });
            tail.followed.is_new = true;
        }
    }

    /// Publishes a view if memtables were added, and informs readers of deleted ranges.
    fn show_memtables(&self, tail: &mut Tail) {
        let followed = &mut tail.followed;
        self.base.note_ranges(followed.take_new_ranges());
        if std::mem::take(&mut followed.is_new) {
            let mut state = self.base.versions.lock();
            state.mutable = followed.mutable.clone();
            state.immutables.clone_from(&followed.sealed);
            self.base.versions.publish_view(&state);
        }
    }

    /// Publishes a view of `version` and the memtables.
    fn install(&self, tail: &mut Tail, mut version: Version) {
        self.base.opener.mapping.look();
        let followed = &mut tail.followed;
        let mut maps = version.ranges.clone();
        for (section, range) in &followed.ranges {
            let order = &self.base.contexts[*section].order;
            maps.get_mut(*section).add(order, range.clone());
        }
        let mut state = self.base.versions.lock();
        let known = |section: Section| is_same(&state.ranges[section].newest(), &maps[section]);
        if !Section::ALL.into_iter().all(known) {
            // Readers of older views do not learn of later ranges, so they must see no later write.
            followed.seal(&self.base.opener.orders);
            state.ranges = maps.map(|map| Arc::new(RangeDeletions::recovered(map)));
        }
        followed.know_ranges();
        followed.is_new = false;
        version.becomes_newest(&self.base.opener.mapping);
        state.mutable = followed.mutable.clone();
        state.immutables.clone_from(&followed.sealed);
        state.version = Arc::new(version);
        state.durable.version = Arc::clone(&state.version);
        state.flushed_seq = followed.floor;
        state.durable.seq = state.flushed_seq;
        // Before the view: a reader that has it reads at this number or a later one.
        self.base.versions.follow(followed.last_seq);
        self.base.versions.publish_followed(&state);
    }

    /// Publishes what was applied.
    fn publish(&self, tail: &Tail, position: LogPosition, generation: u64) {
        self.base.versions.follow(tail.followed.last_seq);
        self.note_seen(position.word(), generation);
    }

    fn note_seen(&self, position: u64, generation: u64) {
        self.seen_generation.store(generation, Ordering::Release);
        self.seen_position.store(position, Ordering::Release);
    }
}

/// Returns whether both maps have the same ranges.
fn is_same(one: &RangeMap, other: &RangeMap) -> bool {
    one.is(other) || one.iter().eq(other.iter())
}
