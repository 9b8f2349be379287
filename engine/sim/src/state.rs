//! The state behind one simulated environment, and the start of every call on it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use cairndb_base::{Error, Result};
use cairndb_env::implement::{Holders, OneRegion, SharedHeap};
use cairndb_env::random::Random;

use crate::crash::{CrashPoint, InFlight, Settings};
use crate::disk::{Disk, InodeId};
use crate::fault::{Effect, Fault};
use crate::op::{Op, OpKind};
use crate::protocol::{Checker, Event};

/// All state that the one lock protects.
pub(crate) struct SimState {
    pub(crate) disk: Disk,
    pub(crate) settings: Settings,
    pub(crate) next_op: u64,
    pub(crate) ops: Vec<Op>,
    pub(crate) record_ops: bool,
    pub(crate) crash_at: Option<u64>,
    /// The crash point at which the machine stopped.
    pub(crate) crash: Option<CrashPoint>,
    pub(crate) watcher: Option<Box<dyn FnMut(CrashPoint) + Send>>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) faults_struck: u64,
    pub(crate) capacity: Option<u64>,
    pub(crate) locks: Holders<InodeId>,
    pub(crate) regions: BTreeMap<InodeId, OneRegion>,
    pub(crate) shared: BTreeMap<InodeId, SharedHeap>,
    pub(crate) processes: Processes,
    pub(crate) clock_ns: u64,
    /// By how much the time that users read was set back.
    pub(crate) set_back_ms: u64,
    pub(crate) random: Random,
    pub(crate) checker: Checker,
}

impl fmt::Debug for SimState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimState")
            .field("next_op", &self.next_op)
            .field("crashed", &self.crash.is_some())
            .field("faults", &self.faults)
            .finish_non_exhaustive()
    }
}

/// The processes of a machine, each with its own environment.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    pub(crate) last: u64,
    killed: BTreeSet<u64>,
    /// The process and the operation at which it is to be killed.
    pub(crate) kill_at: Option<(u64, u64)>,
    /// Directory locks, with the process that holds each.
    locks: Vec<(u64, InodeId)>,
}

/// A call on a handle.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// The process that makes it.
    pub(crate) process: u64,
    pub(crate) kind: OpKind,
    pub(crate) dir: &'a Arc<Path>,
    pub(crate) name: &'a str,
    pub(crate) to: &'a str,
    /// The directory of `to`, if it is another one; errors then name `to` in it.
    pub(crate) to_dir: Option<&'a Path>,
    pub(crate) offset: u64,
    pub(crate) len: usize,
}

impl<'a> Call<'a> {
    /// Returns a call about one name of a directory.
    pub(crate) fn new(kind: OpKind, dir: &'a Arc<Path>, name: &'a str) -> Call<'a> {
        Call {
            process: 0,
            kind,
            dir,
            name,
            to: "",
            to_dir: None,
            offset: 0,
            len: 0,
        }
    }

    /// Adds the call's subject to the error: a file, or a directory by its path.
    #[cold]
    pub(crate) fn named(&self, error: Error) -> Error {
        match self.to_dir {
            Some(dir) => error.file(self.to).directory(dir),
            None if self.kind == OpKind::OpenDir || self.name.is_empty() => error.path(self.dir),
            None => error.file(self.name).directory(self.dir),
        }
    }
}

impl SimState {
    pub(crate) fn new(disk: Disk, settings: Settings) -> SimState {
        SimState {
            disk,
            next_op: 0,
            ops: Vec::new(),
            record_ops: true,
            crash_at: None,
            crash: None,
            watcher: None,
            faults: Vec::new(),
            faults_struck: 0,
            capacity: None,
            locks: Holders::new(),
            regions: BTreeMap::new(),
            shared: BTreeMap::new(),
            processes: Processes::default(),
            clock_ns: 0,
            set_back_ms: 0,
            checker: Checker::new(settings.reader.clone()),
            random: Random::new(settings.seed),
            settings,
        }
    }

    /// Counts and logs a call, crashes or keeps a crash point before it, and applies faults.
    /// Returns the effect that the call must have; a plain failure is returned as an error.
    pub(crate) fn begin(
        &mut self,
        call: &Call<'_>,
        in_flight: impl Fn() -> Option<InFlight>,
    ) -> Result<Option<Effect>> {
        if self.crash.is_some() {
            return Err(call.named(power_lost()));
        }
        let due = self.processes.kill_at;
        if due.is_some_and(|(process, at)| process == call.process && at <= self.next_op) {
            self.kill(call.process);
        }
        if self.is_killed(call.process) {
            return Err(call.named(killed()));
        }
        let op = Op {
            index: self.next_op,
            kind: call.kind,
            dir: call.dir.clone(),
            name: call.name.to_owned(),
            to: call.to.to_owned(),
            offset: call.offset,
            len: call.len as u64,
            failed: false,
        };
        let crashes = self.crash_at.is_some_and(|index| index <= op.index);
        if crashes || (self.watcher.is_some() && call.kind.is_mutating()) {
            let point = CrashPoint {
                op: op.clone(),
                disk: self.disk.clone(),
                in_flight: in_flight(),
                settings: self.settings.clone(),
            };
            if crashes {
                self.crash = Some(point);
                return Err(call.named(power_lost()));
            }
            if let Some(watcher) = &mut self.watcher {
                watcher(point);
            }
        }
        self.next_op += 1;
        let effect = self.faults.iter_mut().find_map(|fault| fault.strike(&op));
        self.faults_struck += u64::from(effect.is_some());
        let failure = match effect {
            Some(Effect::Fails(cause)) => Some(call.named(cause.error())),
            _ => None,
        };
        if self.record_ops {
            self.ops.push(op);
        }
        match failure {
            Some(error) => Err(self.refuse(error)),
            None => Ok(effect),
        }
    }

    /// Ends a process: its locks are free, and all its later operations fail.
    pub(crate) fn kill(&mut self, process: u64) {
        if !self.processes.killed.insert(process) {
            return;
        }
        for (_, inode) in self
            .processes
            .locks
            .extract_if(.., |(of, _)| *of == process)
        {
            self.locks.release(&inode);
        }
        for file in self.shared.values() {
            file.kill(process);
        }
    }

    pub(crate) fn is_killed(&self, process: u64) -> bool {
        self.processes.killed.contains(&process)
    }

    /// Records that a process holds a directory lock.
    pub(crate) fn note_lock(&mut self, process: u64, inode: InodeId) {
        self.processes.locks.push((process, inode));
    }

    /// Releases a directory lock, unless the end of the process has done so.
    pub(crate) fn release_lock(&mut self, process: u64, inode: InodeId) {
        let mut locks = self.processes.locks.iter();
        if let Some(at) = locks.position(|lock| *lock == (process, inode)) {
            self.processes.locks.swap_remove(at);
            self.locks.release(&inode);
        }
    }

    /// Checks the operation about to begin against the protocol.
    pub(crate) fn check(&mut self, event: Event<'_>) {
        if self.crash.is_none() {
            self.checker.check(&self.disk, self.next_op, event);
        }
    }

    /// Marks the most recent operation as failed and returns its error.
    pub(crate) fn refuse(&mut self, error: Error) -> Error {
        // A crash belongs to no operation.
        if self.crash.is_none()
            && let Some(op) = self.ops.last_mut()
            && op.index + 1 == self.next_op
        {
            op.failed = true;
        }
        error
    }

    /// Returns the point where the machine stopped, or the current one.
    pub(crate) fn crash_point(&self) -> CrashPoint {
        self.crash.clone().unwrap_or_else(|| CrashPoint {
            op: Op {
                index: self.next_op,
                kind: OpKind::List,
                dir: Path::new("").into(),
                name: String::new(),
                to: String::new(),
                offset: 0,
                len: 0,
                failed: false,
            },
            disk: self.disk.clone(),
            in_flight: None,
            settings: self.settings.clone(),
        })
    }

    /// Returns the number of bytes that still fit on the disk.
    pub(crate) fn room(&self) -> u64 {
        let capacity = self.capacity;
        capacity.map_or(u64::MAX, |bytes| {
            bytes.saturating_sub(self.disk.used_bytes())
        })
    }

    /// Returns a generator for one operation: the same for the same seed and index.
    pub(crate) fn op_random(&self) -> Random {
        let mut random = Random::new(self.settings.seed ^ 0xF00D);
        Random::new(random.next_u64() ^ self.next_op)
    }
}

#[cold]
fn killed() -> Error {
    let cause = std::io::Error::other("the simulated process was killed");
    Error::io("do the operation", cause)
}

#[cold]
fn power_lost() -> Error {
    let cause = std::io::Error::other("the simulated machine has lost power");
    Error::io("do the operation", cause)
}
