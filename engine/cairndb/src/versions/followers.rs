//! `Followers`: what a writing handle announces to the followers of its database, and the files
//! that it keeps for them.
//!
//! A put stores its position in the log to shared memory, without a fence or a system call. Edits
//! of the manifest, seals and removals of files are announced at their own pace. The writer waits
//! for no follower: a file that one needs is set aside and looked at again later.
//!
//! Threads: any. The mutex of what is set aside is taken within the sweeper's.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use cairndb_base::{ErrorKind, Result, SeqNo};
use cairndb_env::sync::Mutex;
use cairndb_env::{Dir, Env};
use cairndb_format::name::{self, FileKind};
use cairndb_shared::{Answer, Holder, LogPosition, LogReader, Request, Shared, SharedLog};

use crate::log::history::OutsideReaders;
use crate::state::files::opener::TableOpener;

/// A file that the database no longer needs, but a follower does.
#[derive(Clone, Debug)]
struct KeptFile {
    name: String,
    number: u64,
    /// Whether it is a log segment, which is read only to make a view.
    is_log: bool,
    bytes: u64,
    /// Views from this generation on do not name it.
    retired: u64,
}

impl KeptFile {
    fn is_needed_by(&self, holder: &Holder) -> bool {
        if self.is_log {
            holder.reads_before(self.retired)
        } else {
            holder.needs(self.number, self.retired)
        }
    }
}

/// What followers need of obsolete files. The slots are looked at once, when the first file is.
pub(crate) struct FileNeeds<'f> {
    followers: &'f Followers,
    /// The generation, and what followers hold.
    found: OnceCell<(u64, Vec<Holder>)>,
}

impl FileNeeds<'_> {
    /// Returns whether a follower needs the file `name`, which the database does not, and if so
    /// keeps it for now.
    pub(crate) fn keep(&self, name: &str) -> bool {
        let followers = self.followers;
        let Some(shared) = followers.shared.get() else {
            return false;
        };
        let (number, is_log) = match FileKind::parse(name) {
            Some(FileKind::Table(number) | FileKind::Value(number)) => (number.0, false),
            Some(FileKind::Log(number)) => (number.0, true),
            _ => return false,
        };
        let look = || (shared.generation(), shared.holders());
        let (retired, holders) = self.found.get_or_init(look);
        let mut file = KeptFile {
            name: name.to_owned(),
            number,
            is_log,
            bytes: 0,
            retired: *retired,
        };
        if !holders.iter().any(|holder| file.is_needed_by(holder)) {
            return false;
        }
        let found = followers.opener.files.dir.size_of(name);
        file.bytes = found.ok().flatten().unwrap_or(0);
        followers
            .kept_bytes
            .fetch_add(file.bytes, Ordering::Relaxed);
        followers.kept.lock().push(file);
        true
    }
}

/// What one process holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeldBy {
    /// Number of the process, in its own namespace.
    pub(crate) process: u64,
    /// Number of its views, the current one included.
    pub(crate) views: u64,
    /// Number of bytes of the files that are kept for it.
    pub(crate) bytes: u64,
}

/// Minimum for the space that followers may hold, if the user sets no limit.
const SPACE_MIN: u64 = 1 << 30;

/// What this handle has announced, or will with its first write.
#[derive(Debug)]
struct AnnouncedState {
    /// The manifest and its end; `None` before the first write.
    manifest: Option<(u64, u64)>,
    /// See [`SharedLog::floor`].
    floor: SeqNo,
    /// See [`SharedLog::durable`].
    durable: SeqNo,
}

#[derive(Debug)]
pub(crate) struct Followers {
    env: Arc<dyn Env>,
    opener: Arc<TableOpener>,
    shared: OnceLock<Shared>,
    /// Whether shared memory is not to be had.
    refused: OnceLock<()>,
    /// The user's limit on the space that followers may hold.
    space_max: Option<u64>,
    /// Held while something is announced.
    announced: Mutex<AnnouncedState>,
    kept: Mutex<Vec<KeptFile>>,
    kept_bytes: AtomicU64,
}

impl Followers {
    /// Returns the state of a handle that announces nothing yet. What was logged after `floor` can
    /// be read, and everything up to `durable` is durable.
    pub(crate) fn new(
        env: &Arc<dyn Env>,
        opener: &Arc<TableOpener>,
        space_max: Option<u64>,
        (floor, durable): (SeqNo, SeqNo),
    ) -> Followers {
        Followers {
            env: Arc::clone(env),
            opener: Arc::clone(opener),
            shared: OnceLock::new(),
            refused: OnceLock::new(),
            space_max,
            announced: Mutex::new(AnnouncedState {
                manifest: None,
                floor,
                durable,
            }),
            kept: Mutex::default(),
            kept_bytes: AtomicU64::new(0),
        }
    }

    /// Prepares to announce what this handle writes. Called before its first write, while it holds
    /// the directory lock; does nothing if it was called before.
    ///
    /// # Errors
    /// `NoSpace`, `Io`. Where the system shares no memory between processes, there are no followers
    /// either, and this succeeds.
    pub(crate) fn begin(&self) -> Result<()> {
        let dir = &*self.opener.files.dir;
        if self.shared.get().is_some() || self.refused.get().is_some() {
            return Ok(());
        }
        let opened = match Shared::create(dir, name::SHARED) {
            // Made by another user, or by another version, or left by an interrupted `destroy`:
            // followers that have it open notice that it lost its name.
            Ok(shared) if !shared.file().is_writable() || shared.is_ended() => Self::replace(dir),
            Err(error)
                if [ErrorKind::FormatTooNew, ErrorKind::ReadOnly].contains(&error.kind()) =>
            {
                Self::replace(dir)
            }
            opened => opened,
        };
        let shared = match opened {
            Ok(shared) => shared,
            Err(error) if error.kind() == ErrorKind::NotSupported => {
                let _ = self.refused.set(());
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        // Fails only if a process that died has left the lock to a child.
        if shared.become_writer()? {
            let _ = self.shared.set(shared);
            return Ok(());
        }
        let shared = Self::replace(dir)?;
        if shared.become_writer()? {
            let _ = self.shared.set(shared);
        }
        Ok(())
    }

    #[cold]
    fn replace(dir: &dyn Dir) -> Result<Shared> {
        dir.unlink(name::SHARED)?;
        Shared::create(dir, name::SHARED)
    }

    /// Announces that the log is published up to a position.
    #[inline]
    pub(crate) fn publish(&self, position: LogPosition) {
        if let Some(shared) = self.shared.get() {
            shared.publish(position);
        }
    }

    /// Announces that a memtable ends at `seq`.
    pub(crate) fn seal(&self, seq: SeqNo) {
        if let Some(shared) = self.shared.get() {
            shared.announce_seal(seq);
        }
    }

    /// Announces the edits of a manifest up to `end`.
    pub(crate) fn announce(&self, manifest: u64, end: u64) {
        let Some(shared) = self.shared.get() else {
            return;
        };
        let mut announced = self.announced.lock();
        if announced
            .manifest
            .is_none_or(|before| before < (manifest, end))
        {
            if announced.manifest.is_some() {
                shared.announce(manifest, end);
            } else {
                shared.begin_session(manifest, end, (announced.floor, announced.durable));
            }
            announced.manifest = Some((manifest, end));
        }
    }

    /// Announces that everything up to `seq` is durable.
    pub(crate) fn announce_durable(&self, seq: SeqNo) {
        let mut announced = self.announced.lock();
        announced.durable = announced.durable.max(seq);
        if let Some(shared) = self.shared.get() {
            SharedLog::of(shared).announce_durable(seq);
        }
    }

    /// Returns whether followers are informed of what this handle writes.
    pub(crate) fn are_informed(&self) -> bool {
        self.shared.get().is_some()
    }

    /// Returns what a follower asks for, and its ticket. From the first call on, followers may ask.
    pub(crate) fn requested(&self) -> Option<(u64, Request)> {
        let log = SharedLog::of(self.shared.get()?);
        log.serve();
        log.requested()
    }

    /// Answers a follower.
    pub(crate) fn answer(&self, ticket: u64, answer: Answer) {
        if let Some(shared) = self.shared.get() {
            SharedLog::of(shared).answer(ticket, answer);
        }
    }

    /// Returns the generation that followers see now: a file that the manifest has dropped is in no
    /// view of it or of a later one.
    pub(crate) fn generation(&self) -> u64 {
        self.shared.get().map_or(0, Shared::generation)
    }

    /// Returns the oldest generation since which a follower reads files, and so perhaps log
    /// segments that were retired later.
    pub(crate) fn oldest_reading(&self) -> Option<u64> {
        self.shared.get().and_then(Shared::oldest_reading)
    }

    /// Returns what followers need of files that were obsolete before the call.
    pub(crate) fn needs(&self) -> FileNeeds<'_> {
        FileNeeds {
            followers: self,
            found: OnceCell::new(),
        }
    }

    /// Returns the number of bytes of the files that only followers keep.
    pub(crate) fn kept_bytes(&self) -> u64 {
        self.kept_bytes.load(Ordering::Relaxed)
    }

    /// Returns whether files are kept.
    pub(crate) fn has_kept(&self) -> bool {
        !self.kept.lock().is_empty()
    }

    /// Takes out the files that no follower needs any longer. If more than the limit is kept,
    /// revokes the oldest views; on a full disk, all that keep something.
    pub(crate) fn take_free(&self, full_disk: bool) -> Vec<String> {
        let Some(shared) = self.shared.get() else {
            return Vec::new();
        };
        let mut kept = self.kept.lock();
        if full_disk && shared.oldest_reading().is_some() {
            // Log segments that could be used again are not among the kept files.
            for holder in shared.holders() {
                shared.revoke(&holder, shared.generation());
            }
            let _announced = self.announced.lock();
            shared.wake();
        }
        if kept.is_empty() {
            return Vec::new();
        }
        let now_ns = self.env.now_ns();
        let database = self.opener.mapping.table_bytes();
        let max = self.space_max.unwrap_or(database.max(SPACE_MIN));
        let max = if full_disk { 0 } else { max };
        let mut revoked = false;
        let free = loop {
            let mut holders = shared.holders();
            let ended = |holder: &Holder| {
                let lease = shared.lease_of(holder);
                lease.is_some_and(|ends| ends < now_ns)
            };
            for holder in holders.extract_if(.., |holder| ended(holder)) {
                shared.revoke(&holder, shared.generation());
                revoked = true;
            }
            let needed = |file: &KeptFile| holders.iter().any(|holder| file.is_needed_by(holder));
            let bytes: u64 = kept.iter().filter(|it| needed(it)).map(|it| it.bytes).sum();
            if bytes <= max {
                break kept
                    .extract_if(.., |file| !needed(file))
                    .collect::<Vec<_>>();
            }
            // The oldest view of those for which something is kept.
            let holders = holders.iter();
            let holders = holders.filter(|it| kept.iter().any(|file| file.is_needed_by(it)));
            let oldest = holders.filter_map(|holder| Some((holder.oldest()?, holder)));
            let Some((generation, holder)) = oldest.min_by_key(|(oldest, _)| *oldest) else {
                break Vec::new();
            };
            shared.revoke(holder, generation);
            revoked = true;
        };
        if revoked {
            // Followers whose newest view is revoked then make another.
            let _announced = self.announced.lock();
            shared.wake();
        }
        let bytes = kept.iter().map(|file| file.bytes).sum();
        self.kept_bytes.store(bytes, Ordering::Relaxed);
        free.into_iter().map(|file| file.name).collect()
    }

    /// Announces nothing any more: the handle is closed.
    pub(crate) fn end(&self) {
        if let Some(shared) = self.shared.get() {
            shared.resign();
        }
    }

    /// Returns what each process with a follower holds, by number.
    pub(crate) fn held_by_process(&self) -> Vec<HeldBy> {
        let Some(shared) = self.shared.get() else {
            return Vec::new();
        };
        let kept = self.kept.lock();
        let mut processes = BTreeMap::<u64, HeldBy>::new();
        for holder in shared.holders() {
            let process = holder.process.number;
            let held = processes.entry(process).or_default();
            held.process = process;
            held.views += holder.views.len() as u64;
            let needed = kept.iter().filter(|file| file.is_needed_by(&holder));
            held.bytes += needed.map(|file| file.bytes).sum::<u64>();
        }
        processes.into_values().collect()
    }
}

impl OutsideReaders for Followers {
    fn announce_floor(&self, seq: SeqNo) {
        let mut announced = self.announced.lock();
        announced.floor = seq;
        if let Some(shared) = self.shared.get() {
            SharedLog::of(shared).announce_floor(seq);
        }
    }

    fn log_readers(&self) -> Vec<LogReader> {
        let shared = self.shared.get();
        shared.map_or_else(Vec::new, |shared| SharedLog::of(shared).readers())
    }

    fn drop_log_reader(&self, reader: &LogReader) {
        if let Some(shared) = self.shared.get() {
            SharedLog::of(shared).drop_reader(reader);
        }
    }
}
