//! The loop that kills and compares.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use cairndb::{Db, Durability};
use cairndb_env::random::Random;
use cairndb_env::{Env as _, RealEnv};

use crate::replica::{Entries, State, Trouble, consume};
use crate::{child, source, targets};

/// Maximum lifetime of a process, in microseconds.
const LIFE_US_MAX: u64 = 250_000;
/// How long the first change after a disturbance may take, on a busy machine.
const PROGRESS_TIMEOUT: Duration = Duration::from_mins(2);
/// Times that a target may be gone in a whole test.
const RESUMED_MAX: u64 = 10_000;
/// Kills from one comparison to the next.
const COMPARED_EACH: u64 = 10;

/// Disturbs the target in the way of this number, and returns whether its server was killed.
pub(crate) type Disturbance<'d> = dyn FnMut(u64) -> bool + 'd;

/// Totals of a loop.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    /// Processes killed.
    pub(crate) processes: u64,
    /// Of those, processes that had not opened the source yet.
    pub(crate) while_opening: u64,
    /// Disturbances of the target.
    pub(crate) disturbed: u64,
    /// Of those, kills of its server.
    pub(crate) servers: u64,
    /// Times that a target was gone, and the replay began again after the stored place.
    pub(crate) resumed: u64,
    /// Comparisons.
    pub(crate) compared: u64,
    /// Changes applied.
    pub(crate) changes: u64,
}

pub(crate) struct Kills<'a> {
    dir: &'a Path,
    target: &'a str,
    random: Random,
    totals: Totals,
    clock: RealEnv,
}

/// A child, and what it reports.
struct Life {
    process: Child,
    lines: Receiver<String>,
}

impl Life {
    fn start(dir: &Path, target: &str, seed: u64) -> Life {
        let program = std::env::current_exe().expect("a test program has a path");
        let mut process = Command::new(program)
            .args(["--exact", "child", "--nocapture"])
            .env(child::DIR, dir)
            .env(child::TARGET, target)
            .env(child::SEED, seed.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a test program can be started");
        let pipe = process.stderr.take().expect("standard error is piped");
        let (sender, lines) = channel();
        let reader = std::thread::Builder::new().spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        assert!(reader.is_ok(), "a thread can be started: {reader:?}");
        Life { process, lines }
    }

    /// Kills the process. Returns what it reported to the end.
    fn kill(&mut self) -> Vec<String> {
        self.process.kill().expect("a child can be killed");
        let status = self.process.wait().expect("a child ends");
        assert!(!status.success(), "the process ended before it was killed");
        self.lines.iter().collect()
    }
}

impl Drop for Life {
    /// Ends the process if the test has failed.
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl<'a> Kills<'a> {
    pub(crate) fn new(dir: &'a Path, target: &'a str, seed: u64) -> Kills<'a> {
        Kills {
            dir,
            target,
            random: Random::new(seed),
            totals: Totals::default(),
            clock: RealEnv::default(),
        }
    }

    /// Runs until `wanted` processes and servers have been killed.
    pub(crate) fn run(mut self, wanted: u64, mut disturb: Option<&mut Disturbance<'_>>) -> Totals {
        while self.totals.processes + self.totals.servers < wanted {
            let before = self.totals.processes + self.totals.servers;
            self.live(disturb.as_deref_mut());
            let after = self.totals.processes + self.totals.servers;
            assert!(after > before, "a life ends with a kill");
            if before / COMPARED_EACH < after / COMPARED_EACH && after < wanted {
                self.compare();
            }
        }
        self.compare();
        self.totals
    }

    /// Starts a process, perhaps disturbs its target, and kills it.
    fn live(&mut self, disturb: Option<&mut Disturbance<'_>>) {
        let mut life = Life::start(self.dir, self.target, self.random.next_u64() >> 1);
        let mut lines = Vec::new();
        // Every second life, so that the few of a push are among them.
        let disturb = disturb.filter(|_| self.totals.processes % 2 == 1);
        self.listen(&life, &mut lines);
        if let Some(disturb) = disturb {
            let killed = disturb(self.totals.disturbed);
            self.totals.disturbed += 1;
            self.totals.servers += u64::from(killed);
            // What was applied before is in the pipe: one more line may be older, two are not.
            lines.extend(life.lines.try_iter());
            self.await_progress(&life, &mut lines);
            self.listen(&life, &mut lines);
        }
        lines.extend(life.kill());
        self.totals.processes += 1;
        self.totals.while_opening += u64::from(!lines.iter().any(|line| line == "opened"));
        self.totals.resumed += count(&lines, "again: ");
        let failed = lines.iter().find(|line| line.starts_with("failed"));
        assert!(failed.is_none(), "{failed:?}");
        let known = ["opened", "applied ", "again: "];
        let known = |line: &String| known.iter().any(|word| line.starts_with(word));
        let strange = lines.iter().find(|line| !known(line));
        assert!(strange.is_none(), "a child reported: {strange:?}");
    }

    /// Collects lines for a random time.
    fn listen(&mut self, life: &Life, lines: &mut Vec<String>) {
        let end = self.clock.now_ns() + 1000 * self.random.below(LIFE_US_MAX);
        loop {
            let left = Duration::from_nanos(end.saturating_sub(self.clock.now_ns()));
            match life.lines.recv_timeout(left) {
                Ok(said) => lines.push(said),
                Err(RecvTimeoutError::Timeout) => return,
                Err(RecvTimeoutError::Disconnected) => panic!("a child ended: {:?}", end_of(lines)),
            }
        }
    }

    /// Waits until some more changes were applied.
    fn await_progress(&self, life: &Life, lines: &mut Vec<String>) {
        let end = self.clock.now_ns() + u64::try_from(PROGRESS_TIMEOUT.as_nanos()).unwrap_or(0);
        let wanted = count(lines, "applied ") + 2;
        while count(lines, "applied ") < wanted {
            let left = Duration::from_nanos(end.saturating_sub(self.clock.now_ns()));
            let said = life.lines.recv_timeout(left);
            let said =
                said.unwrap_or_else(|error| panic!("no progress: {error}, {:?}", end_of(lines)));
            assert!(!said.starts_with("failed"), "{said}");
            lines.push(said);
        }
    }

    /// Lets the replica catch up, and compares it with the source.
    fn compare(&mut self) {
        let source = source::open(self.dir).expect("the source opens after a kill");
        source.sync().expect("the source can be synced");
        let written = source.place().expect("the source has a place");
        let (state, replica) = self.caught_up(&source);
        let contents = source::contents(&source).expect("the source can be read");
        if hash(&contents) != hash(&replica) {
            let pairs = contents.iter().zip(&replica);
            let differing = pairs.into_iter().find(|(one, other)| one != other);
            let (here, there) = (contents.len(), replica.len());
            panic!("{here} and {there} entries; first difference {differing:?}");
        }
        // The lease was there before the first write, whose number is 1.
        if let Some(state) = state {
            assert_eq!(state.place.seq, written.seq);
            assert_eq!(state.entries + state.marks, written.seq);
            self.totals.changes = state.changes;
        }
        assert!(state.is_some() || written.seq == 0);
        self.totals.compared += 1;
        source.close().expect("the source closes");
    }

    /// Lets the replica catch up. Returns its state and its contents.
    fn caught_up(&mut self, source: &Db) -> (Option<State>, Entries) {
        loop {
            let ended = targets::with(self.target, self.dir, |target| {
                let mut goes_on = |applied: Option<State>| applied.is_some();
                let state = consume(source, target, Durability::Sync, &mut goes_on)?;
                assert_eq!(target.state()?, state);
                Ok((state, target.contents()?))
            });
            match ended {
                Ok(caught_up) => return caught_up,
                // What a killed process has sent may still be applied.
                Err(Trouble::Again(_)) if self.totals.resumed < RESUMED_MAX => {
                    self.totals.resumed += 1;
                }
                Err(trouble) => panic!("{trouble}"),
            }
        }
    }
}

/// Returns the last lines of a child.
fn end_of(lines: &[String]) -> &[String] {
    &lines[lines.len().saturating_sub(3)..]
}

fn count(lines: &[String], prefix: &str) -> u64 {
    let found = lines.iter().filter(|line| line.starts_with(prefix));
    found.count() as u64
}

fn hash(entries: &[(Vec<u8>, Vec<u8>)]) -> u64 {
    let mut hasher = DefaultHasher::new();
    entries.hash(&mut hasher);
    hasher.finish()
}
