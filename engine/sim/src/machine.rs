//! The simulated machine: the public interface of the simulation, and an [`Env`] like any other.

use std::path::Path;
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::implement;
use cairndb_env::random::Random;
use cairndb_env::sync::Mutex;
use cairndb_env::{Background, Dir, Env, Join, Priority};

use crate::crash::{CrashChoice, CrashPoint, PendingUnit, Profile, Settings};
use crate::directory;
use crate::disk::Disk;
use crate::fault::Fault;
use crate::op::Op;
use crate::protocol::{ManifestFacts, ManifestReader, Violation};
use crate::state::SimState;

/// Memory size of a simulated machine.
const MEMORY_BYTES: u64 = 1 << 30;
/// Amount by which each call advances the logical clock.
const TICK_NS: u64 = 1000;

/// A simulated machine with its file system.
///
/// ```
/// use std::path::Path;
/// use cairndb_env::Env;
/// use cairndb_sim::{CrashChoice, Keep, Profile, SimEnv};
/// let env = SimEnv::new(7);
/// let dir = env.open_dir(Path::new("db"), true)?;
/// let mut file = dir.create("000001.tbl")?;
/// file.append(b"bytes")?;
/// dir.sync()?;
/// // The name is durable, the bytes are not.
/// let point = env.crash_point();
/// let image = point.image(Profile::Weak, &CrashChoice::new(Keep::None));
/// assert_eq!(image.read_file(Path::new("db/000001.tbl")), Some(vec![]));
/// let image = point.image(Profile::Kill, &CrashChoice::new(Keep::None));
/// assert_eq!(image.read_file(Path::new("db/000001.tbl")), Some(b"bytes".to_vec()));
/// # Ok::<(), cairndb_base::Error>(())
/// ```
#[derive(Debug)]
pub struct SimEnv {
    background: Background,
    memory_bytes: u64,
    /// The process whose environment this is.
    process: u64,
    pub(crate) state: Arc<Mutex<SimState>>,
}

impl SimEnv {
    /// Returns an empty machine whose background work is stepped.
    pub fn new(seed: u64) -> Arc<SimEnv> {
        SimEnv::with(seed, Background::Stepped)
    }

    /// Returns an empty machine with the given kind of background work. With threads the order of
    /// operations no longer depends on the seed alone.
    pub fn with(seed: u64, background: Background) -> Arc<SimEnv> {
        let settings = Settings {
            seed,
            background,
            mapping: true,
            memory_bytes: MEMORY_BYTES,
            reader: None,
        };
        SimEnv::on_disk(Disk::default(), settings)
    }

    /// Returns a machine with the same disk, as visible now, that maps files or does not.
    #[must_use]
    pub fn with_mapping(&self, mapping: bool) -> Arc<SimEnv> {
        let state = self.state.lock();
        let settings = Settings {
            mapping,
            ..state.settings.clone()
        };
        SimEnv::on_disk(state.disk.clone(), settings)
    }

    /// Returns a machine with the same disk, as visible now, and this much memory.
    #[must_use]
    pub fn with_memory(&self, memory_bytes: u64) -> Arc<SimEnv> {
        let state = self.state.lock();
        let settings = Settings {
            memory_bytes,
            ..state.settings.clone()
        };
        SimEnv::on_disk(state.disk.clone(), settings)
    }

    fn on_disk(disk: Disk, settings: Settings) -> Arc<SimEnv> {
        let (background, memory_bytes) = (settings.background, settings.memory_bytes);
        let state = Arc::new(Mutex::new(SimState::new(disk, settings)));
        Arc::new(SimEnv {
            background,
            memory_bytes,
            process: 0,
            state,
        })
    }

    // Processes --------------------------------------------------------------------------------

    /// Returns the environment of another process on this machine.
    ///
    /// ```
    /// use std::path::Path;
    /// use cairndb_env::Env;
    /// use cairndb_sim::SimEnv;
    /// let (one, path) = (SimEnv::new(7), Path::new("db"));
    /// let other = one.process();
    /// let held = one.open_dir(path, true)?.lock("LOCK")?;
    /// let dir = other.open_dir(path, false)?;
    /// assert!(dir.lock("LOCK").is_err());
    /// one.kill();
    /// assert!(dir.lock("LOCK").is_ok() && one.open_dir(path, false).is_err());
    /// # drop(held);
    /// # Ok::<(), cairndb_base::Error>(())
    /// ```
    #[must_use]
    pub fn process(&self) -> Arc<SimEnv> {
        let mut state = self.state.lock();
        state.processes.last += 1;
        Arc::new(SimEnv {
            background: self.background,
            memory_bytes: self.memory_bytes,
            process: state.processes.last,
            state: Arc::clone(&self.state),
        })
    }

    /// Kills this process: its locks are free, and every later operation of its handles fails.
    pub fn kill(&self) {
        self.state.lock().kill(self.process);
    }

    /// Kills this process before the operation with this index, or before its first later one.
    pub fn kill_at(&self, index: u64) {
        self.state.lock().processes.kill_at = Some((self.process, index));
    }

    /// Returns whether this process was killed.
    pub fn is_killed(&self) -> bool {
        self.state.lock().is_killed(self.process)
    }

    // Operations -------------------------------------------------------------------------------

    /// Returns the number of operations begun so far, which is the index of the next one.
    pub fn op_count(&self) -> u64 {
        self.state.lock().next_op
    }

    /// Returns the operations so far, including refused ones.
    pub fn ops(&self) -> Vec<Op> {
        self.state.lock().ops.clone()
    }

    /// Sets whether to keep a log for [`SimEnv::ops`] (the default); runs of millions of operations
    /// should not.
    pub fn record_ops(&self, record: bool) {
        self.state.lock().record_ops = record;
    }

    // Crashes ----------------------------------------------------------------------------------

    /// Makes the operation with this index and all later ones fail with `Io`, as if the machine had
    /// lost power, so that the program unwinds. [`SimEnv::crash_point`] then returns the point just
    /// before it.
    pub fn crash_at(&self, index: u64) {
        self.state.lock().crash_at = Some(index);
    }

    /// Returns whether [`SimEnv::crash_at`] has taken effect.
    pub fn crashed(&self) -> bool {
        self.state.lock().crash.is_some()
    }

    /// Returns the current crash point or, after [`SimEnv::crash_at`] has taken effect, the point
    /// where it did.
    pub fn crash_point(&self) -> CrashPoint {
        self.state.lock().crash_point()
    }

    /// Returns the environment after a crash now: [`CrashPoint::image`] of [`SimEnv::crash_point`].
    pub fn crash_image(&self, profile: Profile, choice: &CrashChoice) -> Arc<SimEnv> {
        self.crash_point().image(profile, choice)
    }

    /// Passes the crash point before every mutating operation to `watcher`, which must not call
    /// this environment.
    pub fn watch(&self, watcher: impl FnMut(CrashPoint) + Send + 'static) {
        self.state.lock().watcher = Some(Box::new(watcher));
    }

    /// Removes the watcher of [`SimEnv::watch`].
    pub fn unwatch(&self) {
        self.state.lock().watcher = None;
    }

    /// Returns a hash of the whole disk: paths, names, visible contents, and durable ones that
    /// differ.
    pub fn image_hash(&self) -> u64 {
        self.state.lock().disk.hash()
    }

    // Protocol ---------------------------------------------------------------------------------

    /// Gives the protocol checker a reader of manifests, here and in all crash images. From the
    /// name and the bytes of a `MANIFEST-` file, including a torn tail, it returns what the
    /// database needs, or `None` if the bytes contain no facts yet. Without a reader the checker
    /// applies only the rules that need no facts.
    pub fn check_manifests(
        &self,
        read: impl Fn(&str, &[u8]) -> Option<ManifestFacts> + Send + Sync + 'static,
    ) {
        let reader = Some(ManifestReader(Arc::new(read)));
        let mut state = self.state.lock();
        state.checker.reader.clone_from(&reader);
        state.settings.reader = reader;
    }

    /// Returns the violations so far; `protocol.rs` lists the rules.
    pub fn violations(&self) -> Vec<Violation> {
        self.state.lock().checker.violations.clone()
    }

    // Faults -----------------------------------------------------------------------------------

    /// Adds a fault.
    pub fn inject(&self, fault: Fault) {
        self.state.lock().faults.push(fault);
    }

    /// Removes every fault and the limit on capacity.
    pub fn heal(&self) {
        let mut state = self.state.lock();
        state.faults.clear();
        state.capacity = None;
    }

    /// Returns the number of times that a fault has hit.
    pub fn faults_struck(&self) -> u64 {
        self.state.lock().faults_struck
    }

    /// Limits the total bytes of all files; a write beyond the limit is done as far as it fits and
    /// fails with `NoSpace`.
    pub fn set_capacity(&self, bytes: u64) {
        self.state.lock().capacity = Some(bytes);
    }

    /// Advances the clock.
    pub fn advance_clock(&self, ns: u64) {
        self.state.lock().clock_ns += ns;
    }

    /// Sets the time that users read back by this much.
    pub fn set_wall_back(&self, ms: u64) {
        self.state.lock().set_back_ms += ms;
    }
}

impl CrashPoint {
    /// Returns the environment after this crash.
    pub fn image(&self, profile: Profile, choice: &CrashChoice) -> Arc<SimEnv> {
        self.image_of(profile, choice, &self.places())
    }

    pub(crate) fn image_of(
        &self,
        profile: Profile,
        choice: &CrashChoice,
        places: &[PendingUnit],
    ) -> Arc<SimEnv> {
        let disk = self.disk_of(profile, choice, places);
        // A later process must draw different numbers: log salts must not repeat.
        let seed = Random::new(self.settings.seed ^ (self.op.index << 20)).next_u64();
        SimEnv::on_disk(
            disk,
            Settings {
                seed,
                ..self.settings.clone()
            },
        )
    }
}

impl Env for SimEnv {
    fn open_dir(&self, path: &Path, create: bool) -> Result<Arc<dyn Dir>> {
        directory::open_dir(&self.state, self.process, path, create)
    }

    fn background(&self) -> Background {
        self.background
    }

    fn spawn(
        &self,
        name: &str,
        priority: Priority,
        body: Box<dyn FnOnce() + Send>,
    ) -> Result<Join> {
        match self.background {
            Background::Threads => implement::spawn(name, priority, body),
            Background::Stepped => Err(Error::new(
                ErrorKind::NotSupported,
                "background work is stepped in this environment",
            )),
        }
    }

    fn wall_ms(&self) -> u64 {
        let state = self.state.lock();
        (state.clock_ns / 1_000_000).saturating_sub(state.set_back_ms)
    }

    fn now_ns(&self) -> u64 {
        let mut state = self.state.lock();
        state.clock_ns += TICK_NS;
        state.clock_ns
    }

    fn random_u64(&self) -> u64 {
        self.state.lock().random.next_u64()
    }

    fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }
}
