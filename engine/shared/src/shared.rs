//! `Shared`: the memory in which a writer announces what it has done, and followers say what they
//! need. `docs/format/shared.md` has the protocol and argues its memory order.

use cairndb_base::{Error, ErrorKind, Result, SeqNo};
#[cfg(not(loom))]
use cairndb_env::Dir;
use cairndb_env::{ProcessId, SharedFile};

#[cfg(not(loom))]
use crate::layout::WORDS;
use crate::layout::{
    DURABLE_WORD, FLOOR_WORD, GENERATION_WORD, LogPosition, MAGIC, MAGIC_WORD, MANIFEST_END_WORD,
    MANIFEST_WORD, Needs, POSITION_WORD, RING, SEALS_WORD, SERVES_WORD, SESSION_WORD, SLOTS,
    SlotWords, VERSION, VERSION_WORD, VIEWS, WRITER_WORD, seal_word,
};
use crate::sync::{AtomicU64, Ordering, Words, fence};

/// The shared memory of one database.
#[derive(Clone, Debug)]
pub struct Shared {
    words: Words,
    /// Name of the file.
    name: &'static str,
}

/// What the writer last announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced {
    /// The generation, which is even.
    pub generation: u64,
    /// Number of the session.
    pub session: u64,
    /// Number of the manifest.
    pub manifest: u64,
    /// Length of the manifest up to the last whole edit.
    pub manifest_end: u64,
    /// The last published position of the log, or a later one that the manifest also covers.
    pub position: LogPosition,
}

/// What one follower holds.
#[derive(Clone, Debug)]
pub struct Holder {
    slot: usize,
    /// The process that follows.
    pub process: ProcessId,
    /// Generation since which it reads files to make a view.
    reading: Option<u64>,
    /// What each of its views needs.
    pub views: Vec<Needs>,
}

impl Holder {
    /// Returns whether it needs a file that no view from generation `retired` on names.
    pub fn needs(&self, file: u64, retired: u64) -> bool {
        self.reads_before(retired) || self.views.iter().any(|view| view.includes(file, retired))
    }

    /// Returns whether it began to read files before generation `retired`.
    pub fn reads_before(&self, retired: u64) -> bool {
        self.reading.is_some_and(|reading| reading < retired)
    }

    /// Returns the oldest generation of which it needs files.
    pub fn oldest(&self) -> Option<u64> {
        let views = self.views.iter().map(|view| view.generation);
        views.chain(self.reading).min()
    }
}

#[cold]
fn foreign(name: &str) -> Error {
    let message = "the file was written by another version of the store; remove it while no \
                   process has the database open";
    Error::new(ErrorKind::FormatTooNew, message).file(name)
}

impl Shared {
    /// Opens the shared memory in the file `name` of `dir`.
    ///
    /// # Errors
    /// Those of [`Dir::open_shared`]; `FormatTooNew`.
    #[cfg(not(loom))]
    pub fn open(dir: &dyn Dir, name: &'static str) -> Result<Shared> {
        let opened = Shared::set_up(dir.open_shared(name, WORDS, false)?, name);
        opened.map_err(|error| error.directory(dir.path()))
    }

    /// Opens the shared memory in the file `name` of `dir`, which is created if it is missing.
    ///
    /// # Errors
    /// Same as [`Shared::open`].
    #[cfg(not(loom))]
    pub fn create(dir: &dyn Dir, name: &'static str) -> Result<Shared> {
        let opened = Shared::set_up(dir.open_shared(name, WORDS, true)?, name);
        opened.map_err(|error| error.directory(dir.path()))
    }

    /// Sets up the words of a file if no process has done so yet.
    pub(crate) fn set_up(words: Words, name: &'static str) -> Result<Shared> {
        if words.file().is_writable() {
            // Several processes may do this at once, with equal values.
            let begun =
                words[MAGIC_WORD].compare_exchange(0, MAGIC, Ordering::AcqRel, Ordering::Acquire);
            if begun.is_ok() {
                words[VERSION_WORD].store(VERSION, Ordering::Release);
            }
        }
        let shared = Shared { words, name };
        let version = shared.load(VERSION_WORD);
        if shared.load(MAGIC_WORD) != MAGIC || version != VERSION && version != 0 {
            return Err(foreign(name));
        }
        Ok(shared)
    }

    #[inline]
    pub(crate) fn load(&self, word: usize) -> u64 {
        self.words[word].load(Ordering::Acquire)
    }

    pub(crate) fn word(&self, word: usize) -> &AtomicU64 {
        &self.words[word]
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the open file.
    pub fn file(&self) -> &dyn SharedFile {
        self.words.file()
    }

    /// Announces that the log is published up to a position.
    #[inline]
    pub fn publish(&self, position: LogPosition) {
        // Release: a follower that loads the position reads the records before it.
        self.words[POSITION_WORD].store(position.word(), Ordering::Release);
    }

    /// Returns the last published position of the log.
    #[inline]
    pub fn position(&self) -> u64 {
        self.words[POSITION_WORD].load(Ordering::Acquire)
    }

    /// Returns the generation, which is odd while it changes.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.words[GENERATION_WORD].load(Ordering::Acquire)
    }

    /// Returns whether nothing was announced since the generation was loaded, after everything that
    /// the caller has read in between.
    pub fn is_still(&self, generation: u64) -> bool {
        fence(Ordering::Acquire);
        self.generation() == generation
    }

    /// Makes this process the one that announces. Returns `false` if another one is.
    ///
    /// # Errors
    /// Those of the lock.
    pub fn become_writer(&self) -> Result<bool> {
        if !self.file().try_lock(WRITER_WORD)? {
            return Ok(false);
        }
        let process = self.file().process();
        self.word(WRITER_WORD)
            .store(process.number, Ordering::Relaxed);
        Ok(true)
    }

    /// Ends what [`Shared::become_writer`] began.
    pub fn resign(&self) {
        self.file().unlock(WRITER_WORD);
    }

    /// Returns whether a process announces what it writes.
    ///
    /// # Errors
    /// Those of the lock.
    pub fn has_writer(&self) -> Result<bool> {
        self.file().is_locked(WRITER_WORD)
    }

    /// Changes what is announced, by the only process that may. Followers see all of a change or
    /// nothing.
    fn change(&self, change: impl FnOnce()) {
        let generation = self.word(GENERATION_WORD);
        // Odd already if the last writer died here.
        let odd = generation.load(Ordering::Relaxed) | 1;
        generation.store(odd, Ordering::Relaxed);
        // The odd number is visible before anything that changes.
        fence(Ordering::SeqCst);
        change();
        generation.store(odd + 1, Ordering::Release);
        // The new generation is visible before this process looks at slots: see
        // `Slot::begin_reading`.
        fence(Ordering::SeqCst);
    }

    /// Begins a session with the manifest up to `end`. The log after `floor` can be read, and
    /// everything up to `durable` is durable.
    pub fn begin_session(&self, manifest: u64, end: u64, (floor, durable): (SeqNo, SeqNo)) {
        self.change(|| {
            self.word(FLOOR_WORD).store(floor, Ordering::Relaxed);
            self.word(DURABLE_WORD).store(durable, Ordering::Relaxed);
            self.word(SERVES_WORD).store(0, Ordering::Relaxed);
            let session = self.word(SESSION_WORD);
            session.store(session.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            self.word(POSITION_WORD).store(0, Ordering::Relaxed);
            self.word(SEALS_WORD).store(0, Ordering::Relaxed);
            self.store_manifest(manifest, end);
        });
    }

    /// Announces the manifest up to `end`.
    pub fn announce(&self, manifest: u64, end: u64) {
        self.change(|| self.store_manifest(manifest, end));
    }

    fn store_manifest(&self, manifest: u64, end: u64) {
        self.word(MANIFEST_WORD).store(manifest, Ordering::Relaxed);
        self.word(MANIFEST_END_WORD).store(end, Ordering::Relaxed);
    }

    /// Makes followers look at what is announced although nothing has changed.
    pub fn wake(&self) {
        self.change(|| {});
    }

    /// Announces that the database was removed.
    pub fn end(&self) {
        self.change(|| self.word(SESSION_WORD).store(u64::MAX, Ordering::Relaxed));
    }

    /// Returns whether the database was removed.
    pub fn is_ended(&self) -> bool {
        self.load(SESSION_WORD) == u64::MAX
    }

    /// Announces that a memtable ends at `seq`.
    pub fn announce_seal(&self, seq: SeqNo) {
        let count = self.word(SEALS_WORD);
        let seal = count.load(Ordering::Relaxed);
        self.word(seal_word(seal)).store(seq, Ordering::Relaxed);
        count.store(seal + 1, Ordering::Release);
    }

    /// Returns the seals of this session from the one with this number on, and how many there are.
    /// Old ones may be missing.
    pub fn seals_since(&self, since: u64) -> (Vec<SeqNo>, u64) {
        let count = self.load(SEALS_WORD);
        let oldest = count.saturating_sub(RING).max(since);
        let seal = |seal| self.word(seal_word(seal)).load(Ordering::Relaxed);
        let mut seals: Vec<SeqNo> = (oldest..count).map(seal).collect();
        // Some may have been overwritten with later ones meanwhile.
        seals.sort_unstable();
        (seals, count)
    }

    /// Returns what is announced; `None` while it changes, and before anything was announced.
    pub fn announced(&self) -> Option<Announced> {
        let generation = self.generation();
        let relaxed = |word| self.word(word).load(Ordering::Relaxed);
        let announced = Announced {
            generation,
            session: relaxed(SESSION_WORD),
            manifest: relaxed(MANIFEST_WORD),
            manifest_end: relaxed(MANIFEST_END_WORD),
            position: LogPosition::of_word(self.position()),
        };
        // The words are loaded before the generation is loaded again.
        fence(Ordering::SeqCst);
        let stable = generation.is_multiple_of(2) && generation == relaxed(GENERATION_WORD);
        (stable && announced.session > 0).then_some(announced)
    }

    /// Returns the oldest generation since which a live follower reads files to make a view.
    pub fn oldest_reading(&self) -> Option<u64> {
        fence(Ordering::SeqCst);
        let reading = (0..SLOTS).filter_map(|slot| {
            let words = SlotWords::of(slot);
            let reading = self.load(words.reading());
            let holds = reading > self.load(words.revoked()) && self.is_alive(words);
            holds.then_some(reading)
        });
        reading.min()
    }

    /// Returns whether the process of a slot that is in use has not ended.
    pub(crate) fn is_alive(&self, words: SlotWords) -> bool {
        let process = ProcessId {
            number: self.load(words.process()),
            namespace: self.load(words.namespace()),
            started: self.load(words.started()),
        };
        // A lock that cannot be examined counts as held.
        let locked = self.file().is_locked(words.process()).unwrap_or(true);
        process.number != 0 && locked && !self.file().has_ended(process)
    }

    /// Returns what live followers hold.
    pub fn holders(&self) -> Vec<Holder> {
        // Pairs with the fence of a follower that begins to read: it sees the generation that this
        // process has stored, or its slot is visible here.
        fence(Ordering::SeqCst);
        (0..SLOTS).filter_map(|slot| self.holder(slot)).collect()
    }

    /// Returns the words of each slot that is in use.
    fn holder(&self, slot: usize) -> Option<Holder> {
        let words = SlotWords::of(slot);
        let number = self.load(words.process());
        if number == 0 {
            return None;
        }
        let process = ProcessId {
            number,
            namespace: self.load(words.namespace()),
            started: self.load(words.started()),
        };
        // In this order: the follower stores a view before it stops reading.
        let reading = self.load(words.reading());
        let views = (0..VIEWS).map(|index| {
            let (generation, next_file) = words.view(index);
            Needs {
                generation: self.load(generation),
                next_file: self.load(next_file),
            }
        });
        let revoked = self.load(words.revoked());
        let holds = |generation: u64| generation > revoked;
        let views: Vec<Needs> = views.filter(|view| holds(view.generation)).collect();
        let reading = Some(reading).filter(|reading| holds(*reading));
        if reading.is_none() && views.is_empty() {
            return None;
        }
        let alive = self.is_alive(words);
        alive.then_some(Holder {
            slot,
            process,
            reading,
            views,
        })
    }

    /// Revokes the views of a follower up to a generation.
    pub fn revoke(&self, holder: &Holder, generation: u64) {
        let words = SlotWords::of(holder.slot);
        self.word(words.revoked())
            .fetch_max(generation, Ordering::SeqCst);
    }

    /// Returns the time at which the lease of a follower ends; `None` without a lease.
    pub fn lease_of(&self, holder: &Holder) -> Option<u64> {
        let ends = self.load(SlotWords::of(holder.slot).lease());
        (ends > 0).then_some(ends)
    }
}
