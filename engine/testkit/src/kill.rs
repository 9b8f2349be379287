//! The kill loop: a real process on a real disk is killed at random times, and its database is
//! reopened.
//!
//! The child writes with several threads at mixed durability and reports acknowledgements on
//! standard error, because the contents of a pipe survive the death of its writer. Each thread has
//! its own keys and draws its commits only from the seed, so the parent can derive them. One
//! history per thread must explain the contents that the parent finds. Some rounds kill a second
//! and a third process during recovery.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use cairndb::{Db, Durability, Options, WriteBatch, WriteOptions};
use cairndb_env::random::Random;
use cairndb_env::{Env, RealEnv};

use crate::history::{Change, Contents, History, Loss};
use crate::oracle;
use crate::setup::Setup;
use crate::value;
use crate::workload;
use crate::{Check, Violation};

/// The environment variable that makes a test process a child. Its value is the path of the
/// database.
pub const CHILD_DIR: &str = "CAIRN_KILL_DIR";
/// The seed of the child's commits.
const CHILD_SEED: &str = "CAIRN_KILL_SEED";
/// Number of writer threads. Zero for a child that only recovers.
const CHILD_THREADS: &str = "CAIRN_KILL_THREADS";

/// Maximum number of commits of one thread in one life.
const COMMITS_MAX: u64 = 4000;
/// Maximum lifetime of a child, in milliseconds.
const LIFE_MS_MAX: u64 = 120;
/// Maximum lifetime of a child that only recovers, in milliseconds.
const RECOVERY_MS_MAX: u64 = 12;
/// Number of writer threads of a child.
const THREADS: u64 = 3;

/// One commit of one thread: its changes and its durability.
type Commit = (Vec<(Vec<u8>, Change)>, Durability);

/// The commits of one thread. Parent and child draw the same commits.
struct Commits {
    random: Random,
    thread: u64,
    next_id: u64,
}

impl Commits {
    fn new(seed: u64, thread: u64) -> Commits {
        let random = Random::new(seed ^ (thread << 48));
        // Ids are unique across lives and threads.
        let next_id = (seed << 24) ^ (thread << 56);
        Commits {
            random,
            thread,
            next_id,
        }
    }

    fn next(&mut self) -> Commit {
        let count = if self.random.below(4) == 0 {
            1 + self.random.index(5)
        } else {
            1
        };
        let durability = match self.random.below(16) {
            0 => Durability::Sync,
            1..=3 => Durability::None,
            _ => Durability::Os,
        };
        let changes = (0..count).map(|_| self.change()).collect();
        (changes, durability)
    }

    fn change(&mut self) -> (Vec<u8>, Change) {
        let number = u8::try_from(self.random.below(u64::from(workload::KEYS))).unwrap_or(0);
        let mut key = prefix(self.thread);
        key.extend(workload::key(number));
        self.next_id += 1;
        let id = self.next_id;
        let change = match self.random.below(20) {
            0..=2 => Change::Delete,
            3 => Change::Merge { id, len: 100 },
            4 => Change::Put {
                id,
                len: 8192 + self.random.index(4000),
            },
            _ => Change::Put {
                id,
                len: 24 + self.random.index(2500),
            },
        };
        (key, change)
    }

    /// Returns whether the thread flushes the database now.
    fn flushes(&mut self) -> bool {
        self.random.below(200) == 0
    }
}

fn prefix(thread: u64) -> Vec<u8> {
    format!("t{thread}/").into_bytes()
}

fn options() -> Options {
    Setup::plain().options(RealEnv::new())
}

fn say(line: &str) {
    // The parent may have exited; then no process reads the line.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Runs the child if this process is a child. It ends when it is killed, or after many commits.
pub fn live_as_child() {
    let Ok(dir) = std::env::var(CHILD_DIR) else {
        return;
    };
    let number = |name| crate::setting(name, 0);
    let (seed, threads) = (number(CHILD_SEED), number(CHILD_THREADS));
    let db = match options().open(&dir) {
        Ok(db) => db,
        Err(error) => return say(&format!("failed open: {error}\n")),
    };
    say("opened\n");
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let db = &db;
            scope.spawn(move || {
                if let Err(error) = write(db, seed, thread) {
                    say(&format!("failed {thread}: {error}\n"));
                }
            });
        }
    });
}

fn write(db: &Db, seed: u64, thread: u64) -> cairndb::Result<()> {
    let mut commits = Commits::new(seed, thread);
    for count in 1..=COMMITS_MAX {
        let (changes, durability) = commits.next();
        let mut batch = WriteBatch::new();
        for (key, change) in &changes {
            match change {
                Change::Put { id, len } => batch.put(key, &value::chunk(*id, key, *len)),
                Change::Merge { id, len } => batch.merge(key, &value::chunk(*id, key, *len)),
                _ => batch.delete(key),
            }
        }
        db.write_with(&batch, &WriteOptions::new().durability(durability))?;
        say(&format!("ack {thread} {count}\n"));
        if commits.flushes() {
            db.flush()?;
            say(&format!("flushed {thread} {count}\n"));
        }
    }
    Ok(())
}

/// Totals of a kill loop.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// Number of processes killed.
    pub kills: u64,
    /// Number of processes killed before they had opened the database.
    pub while_opening: u64,
    /// Number of commits acknowledged.
    pub commits: u64,
    /// Number of checked opens after a kill.
    pub openings: u64,
}

/// One database, and the loop that kills its processes.
#[derive(Debug)]
pub struct KillLoop<'a> {
    dir: &'a Path,
    /// The name of the test that calls [`live_as_child`].
    child_test: &'a str,
    random: Random,
    /// The contents of the database at the start of the round, with the keys of all threads.
    base: Contents,
    totals: Totals,
    env: std::sync::Arc<RealEnv>,
}

impl<'a> KillLoop<'a> {
    /// Returns a loop over a database in `dir`. Its children run the test `child_test` of this
    /// binary.
    pub fn new(dir: &'a Path, child_test: &'a str, seed: u64) -> KillLoop<'a> {
        KillLoop {
            dir,
            child_test,
            random: Random::new(seed),
            base: Contents::new(),
            totals: Totals::default(),
            env: RealEnv::new(),
        }
    }

    /// Runs until `kills` processes have been killed.
    ///
    /// # Errors
    /// The first violation.
    pub fn run(&mut self, kills: u64) -> Check<Totals> {
        while self.totals.kills < kills {
            let seed = self.random.next_u64() >> 40;
            self.round(seed)
                .map_err(|violation| violation.within(format_args!("round {seed}")))?;
        }
        Ok(self.totals)
    }

    fn round(&mut self, seed: u64) -> Check<()> {
        let life = Duration::from_micros(self.random.below(LIFE_MS_MAX * 1000));
        let lines = self.kill_one(seed, THREADS, life)?;
        while self.random.below(3) == 0 {
            let life = Duration::from_micros(self.random.below(RECOVERY_MS_MAX * 1000));
            self.kill_one(seed, 0, life)?;
        }
        let histories = self.histories(seed, &lines)?;
        self.check(&histories)
    }

    /// Starts a child and kills it. Returns the lines it reported.
    fn kill_one(&mut self, seed: u64, threads: u64, life: Duration) -> Check<Vec<String>> {
        let failed = |error: std::io::Error| Violation::new(format!("a child: {error}"));
        let program = std::env::current_exe().map_err(failed)?;
        let mut child = Command::new(program)
            .args(["--exact", self.child_test, "--nocapture"])
            .env(CHILD_DIR, self.dir)
            .env(CHILD_SEED, seed.to_string())
            .env(CHILD_THREADS, threads.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (lines, killed) = self.listen(&mut child, life);
        let status = child.wait().map_err(failed)?;
        self.totals.kills += u64::from(killed && !status.success());
        let opened = lines.iter().any(|line| line == "opened");
        self.totals.while_opening += u64::from(!opened);
        Ok(lines)
    }

    /// Collects the lines of a child, kills it after `life`, and collects the remaining lines.
    fn listen(&self, child: &mut Child, life: Duration) -> (Vec<String>, bool) {
        let (send, receive) = channel();
        let Some(pipe) = child.stderr.take() else {
            return (Vec::new(), false);
        };
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                    if send.send(line).is_err() {
                        return;
                    }
                }
            });
            let mut lines = Vec::new();
            let killed = self.hear(&receive, life, &mut lines) && child.kill().is_ok();
            lines.extend(receive.iter());
            (lines, killed)
        })
    }

    /// Receives lines until `life` is over. Returns `false` if the child exited before.
    fn hear(&self, receive: &Receiver<String>, life: Duration, lines: &mut Vec<String>) -> bool {
        let end = self.env.now_ns() + u64::try_from(life.as_nanos()).unwrap_or(0);
        loop {
            let left = Duration::from_nanos(end.saturating_sub(self.env.now_ns()));
            match receive.recv_timeout(left) {
                Ok(said) => lines.push(said),
                Err(RecvTimeoutError::Timeout) => return true,
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }

    /// Returns the history of each thread, as far as it was reported.
    fn histories(&mut self, seed: u64, lines: &[String]) -> Check<Vec<History>> {
        let mut acked = vec![0; usize::try_from(THREADS).unwrap_or(0)];
        let mut flushed = acked.clone();
        for line in lines {
            let words: Vec<&str> = line.split(' ').collect();
            let slot = |word: &str| word.parse::<usize>().ok();
            let number = |word: &str| word.parse::<u64>().ok();
            match words[..] {
                ["opened"] => {}
                ["ack", thread, count] => {
                    let slot = slot(thread).and_then(|thread| acked.get_mut(thread));
                    if let (Some(slot), Some(count)) = (slot, number(count)) {
                        *slot = count;
                    }
                }
                ["flushed", thread, count] => {
                    let slot = slot(thread).and_then(|thread| flushed.get_mut(thread));
                    if let (Some(slot), Some(count)) = (slot, number(count)) {
                        *slot = count;
                    }
                }
                _ => return Err(Violation::new(format!("a child reported: {line}"))),
            }
        }
        self.totals.commits += acked.iter().sum::<u64>();
        let threads = (0u64..).zip(acked.iter().zip(&flushed));
        Ok(threads
            .map(|(thread, (&acked, &flushed))| self.history(seed, thread, acked, flushed))
            .collect())
    }

    fn history(&self, seed: u64, thread: u64, acked: u64, flushed: u64) -> History {
        let mut history = History::new(of_thread(&self.base, thread));
        let mut commits = Commits::new(seed, thread);
        for count in 1..=(acked + 1).min(COMMITS_MAX) {
            let (changes, durability) = commits.next();
            history.begin(changes, durability);
            if count <= acked {
                history.acknowledge();
            }
            let _ = commits.flushes();
            if count == flushed {
                history.flushed();
            }
        }
        history
    }

    /// Opens the database after the kills and checks it. The next round starts from its contents.
    fn check(&mut self, histories: &[History]) -> Check<()> {
        let failed = |error: cairndb::Error| Violation::new(format!("after a kill: {error}"));
        let db = options().open(self.dir).map_err(failed)?;
        let found = oracle::read_all(&db, &Setup::plain())?;
        for (thread, history) in (0u64..).zip(histories) {
            let found = of_thread(&found, thread);
            let explained = history.explain(history.mark(), Loss::Process);
            if explained.find(&found).is_none() {
                let known = history.describe(history.mark());
                return Err(oracle::unexplained(&found, &explained)
                    .within(format_args!("thread {thread}, history{known}")));
            }
        }
        db.close().map_err(failed)?;
        if self.random.below(8) == 0 {
            cairndb::verify(self.dir, &options()).map_err(failed)?;
        }
        self.totals.openings += 1;
        self.base = found;
        Ok(())
    }
}

fn of_thread(contents: &Contents, thread: u64) -> Contents {
    let prefix = prefix(thread);
    let own = contents.iter().filter(|(key, _)| key.starts_with(&prefix));
    own.map(|(key, ids)| (key.clone(), ids.clone())).collect()
}
