//! The record of all writes and acknowledgements: the model that explains the contents after a
//! crash.
//!
//! Commits are recorded in order, each with its durability. After a crash the contents must equal
//! the state at some *flush point* x and *log point* p: all commits before x, and the logged ones
//! from x to p. So logged writes form a prefix, an unlogged write survives only with everything
//! before it, and the loss of an unlogged write does not affect later logged writes. The promises
//! determine the minimum of x and p: [`Mark`].
//!
//! Keyspaces are created and dropped outside the log: what was acknowledged is durable, whatever
//! the crash, and whether or not writes before it are. One in doubt is there or not.

use std::collections::HashMap;
use std::fmt::Write;

use cairndb::Durability;
use cairndb_base::hash64;

use crate::spaces;

pub use crate::spaces::Contents;

/// Maximum number of commits in a message.
const COMMITS_SHOWN: usize = 12;

/// One change of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Sets the value to one chunk.
    Put {
        /// The chunk's id.
        id: u64,
        /// The chunk's length.
        len: usize,
    },
    /// Appends one chunk.
    Merge {
        /// The chunk's id.
        id: u64,
        /// The chunk's length.
        len: usize,
    },
    /// Removes the key.
    Delete,
    /// Creates the keyspace that the key stands for.
    Create,
    /// Drops the keyspace that the key stands for.
    Drop,
}

/// The outcome of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// In progress, or affected by a failed sync. It may or may not survive a crash.
    Doubtful,
    /// Acknowledged.
    Acknowledged,
    /// Rejected. It must never be found.
    Void,
}

/// One atomic write.
#[derive(Clone, Debug)]
struct Commit {
    changes: Vec<(Vec<u8>, Change)>,
    durability: Durability,
    fate: Fate,
}

impl Commit {
    /// Returns whether it creates or drops a keyspace.
    fn is_of_keyspaces(&self) -> bool {
        let first = self.changes.first();
        first.is_some_and(|(_, change)| matches!(change, Change::Create | Change::Drop))
    }
}

/// The promises at one moment, as numbers of commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Number of commits started.
    begun: usize,
    /// Number of commits with a known outcome: all started commits, or all but the last.
    decided: usize,
    /// Of the first `synced` commits, all logged ones survive a power loss.
    synced: usize,
    /// Of the first `handed_over` commits, all logged ones survive the death of the process.
    handed_over: usize,
    /// Number of first commits that survive any crash, including unlogged ones.
    flushed: usize,
}

/// The kind of loss in a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The machine lost power.
    Power,
    /// The process was killed.
    Process,
    /// The medium lost acknowledged data. Only older contents can be expected.
    Lie,
}

/// The contents that a crash may leave, by their hash.
#[derive(Clone, Debug, Default)]
pub struct Explained {
    /// Flush point and log point for each hash of contents.
    states: HashMap<u64, (usize, usize)>,
    mark: Mark,
}

/// All commits of one run.
#[derive(Clone, Debug, Default)]
pub struct History {
    base: Contents,
    commits: Vec<Commit>,
    mark: Mark,
}

impl History {
    /// Returns a history that starts with the durable contents `base`.
    pub fn new(base: Contents) -> History {
        History {
            base,
            ..History::default()
        }
    }

    /// Returns the promises so far.
    pub fn mark(&self) -> Mark {
        self.mark
    }

    /// Returns the number of commits started.
    pub fn len(&self) -> usize {
        self.commits.len()
    }

    /// Returns whether no commit has been started.
    pub fn is_empty(&self) -> bool {
        self.commits.is_empty()
    }

    /// Starts a commit.
    pub fn begin(&mut self, changes: Vec<(Vec<u8>, Change)>, durability: Durability) {
        self.commits.push(Commit {
            changes,
            durability,
            fate: Fate::Doubtful,
        });
        self.mark.begun = self.commits.len();
    }

    /// Records that the commit in progress was acknowledged.
    pub fn acknowledge(&mut self) {
        self.mark.decided = self.mark.begun;
        let Some(last) = self.commits.last_mut() else {
            return;
        };
        last.fate = Fate::Acknowledged;
        if last.is_of_keyspaces() {
            return;
        }
        match last.durability {
            Durability::None => {}
            Durability::Os => self.mark.handed_over = self.mark.begun,
            Durability::Sync => {
                self.mark.handed_over = self.mark.begun;
                self.mark.synced = self.mark.begun;
            }
        }
    }

    /// Records that the commit in progress was rejected and must not be found.
    pub fn refuse(&mut self) {
        self.mark.decided = self.mark.begun;
        if let Some(last) = self.commits.last_mut() {
            last.fate = Fate::Void;
        }
    }

    /// Records that a sync failed during the commit in progress. The commit may be found after
    /// reopening.
    pub fn doubt(&mut self) {
        self.mark.decided = self.mark.begun;
    }

    /// Records that a flush or a clean close made all acknowledged commits durable.
    pub fn flushed(&mut self) {
        let all = self.mark.begun;
        self.mark.flushed = all;
        self.mark.synced = all;
        self.mark.handed_over = all;
    }

    /// Returns the contents that a reader sees when no commit is in progress.
    pub fn contents(&self) -> Contents {
        let mut contents = self.base.clone();
        for commit in &self.commits {
            if commit.fate == Fate::Acknowledged {
                apply(&mut contents, commit);
            }
        }
        contents
    }

    /// Returns all contents that a crash at `mark` may leave.
    pub fn explain(&self, mark: Mark, loss: Loss) -> Explained {
        let (flush_min, log_min) = match loss {
            Loss::Power => (mark.flushed, mark.synced),
            Loss::Process => (mark.flushed, mark.handed_over),
            Loss::Lie => (0, 0),
        };
        let mut explained = Explained {
            mark,
            ..Explained::default()
        };
        let of_keyspaces = (0..mark.begun).filter(|at| self.commits[*at].is_of_keyspaces());
        // A medium that lies may have lost what was acknowledged last.
        let forgotten = of_keyspaces.filter(|_| loss == Loss::Lie);
        for known in forgotten.chain([mark.begun]).collect::<Vec<_>>() {
            let mut at_flush = Walk::new(&self.base);
            for (x, commit) in self.commits[..mark.begun].iter().enumerate() {
                let unlogged_before = x > 0 && self.commits[x - 1].durability == Durability::None;
                if x == flush_min || (x > flush_min && unlogged_before) || loss == Loss::Lie {
                    self.walk_log(at_flush.clone(), (x, log_min), known, &mut explained);
                }
                let possible = !commit.is_of_keyspaces() && is_possible(commit, x, mark);
                if possible || self.is_known(x, mark, known) {
                    at_flush.apply(commit);
                }
            }
            self.walk_log(at_flush, (mark.begun, log_min), known, &mut explained);
        }
        explained
    }

    /// Adds all log points after one flush point. Of the commits that create or drop a keyspace,
    /// those before `known` count.
    fn walk_log(
        &self,
        mut walk: Walk,
        (x, log_min): (usize, usize),
        known: usize,
        explained: &mut Explained,
    ) {
        let mark = explained.mark;
        // Before `log_min` no logged commit may be missing. Unlogged commits are irrelevant here.
        let logged = |p: usize| {
            self.commits[p].durability != Durability::None && !self.commits[p].is_of_keyspaces()
        };
        let due = (x..log_min).rev().find(|&p| logged(p)).map_or(0, |p| p + 1);
        for p in x..=mark.begun {
            if p >= due {
                self.with_keyspaces(&walk, (x, p), known, explained);
            }
            if p == mark.begun {
                break;
            }
            let commit = &self.commits[p];
            if logged(p) && is_possible(commit, p, mark) || self.is_known(p, mark, known) {
                walk.apply(commit);
            }
        }
    }

    /// Returns whether a commit before `known` has created or dropped a keyspace for certain.
    fn is_known(&self, index: usize, mark: Mark, known: usize) -> bool {
        let commit = &self.commits[index];
        let acknowledged = commit.fate == Fate::Acknowledged && index < mark.decided;
        acknowledged && index < known && commit.is_of_keyspaces()
    }

    /// Adds the state at a log point: with all keyspaces that are known, and with each number of
    /// those in doubt.
    fn with_keyspaces(
        &self,
        walk: &Walk,
        (x, p): (usize, usize),
        known: usize,
        explained: &mut Explained,
    ) {
        let mark = explained.mark;
        let (mut later, mut in_doubt) = (Vec::new(), Vec::new());
        for (index, commit) in self.commits[..mark.begun].iter().enumerate() {
            if !commit.is_of_keyspaces() {
                continue;
            }
            if self.is_known(index, mark, mark.begun) {
                later.extend((p..known).contains(&index).then_some(commit));
            } else if is_possible(commit, index, mark) {
                in_doubt.push(commit);
            }
        }
        let mut add = |hash| {
            explained.states.entry(hash).or_insert((x, p));
        };
        if later.is_empty() && in_doubt.is_empty() {
            add(walk.hash);
            return;
        }
        let mut walk = walk.clone();
        for commit in later {
            walk.apply(commit);
        }
        add(walk.hash);
        for commit in in_doubt {
            walk.apply(commit);
            add(walk.hash);
        }
    }

    /// Returns the last commits before `mark` with their changes and durability, for messages.
    pub fn describe(&self, mark: Mark) -> String {
        let mut text = String::new();
        let first = mark.begun.saturating_sub(COMMITS_SHOWN);
        let commits = self.commits.iter().enumerate();
        for (index, commit) in commits.take(mark.begun).skip(first) {
            let changes = commit.changes.iter().map(|(key, change)| {
                let key = key.escape_ascii();
                match change {
                    Change::Put { id, .. } => format!("{key}={id}"),
                    Change::Merge { id, .. } => format!("{key}+{id}"),
                    Change::Delete => format!("-{key}"),
                    Change::Create => format!("create {key}"),
                    Change::Drop => format!("drop {key}"),
                }
            });
            let changes = changes.collect::<Vec<_>>().join(",");
            let sort = match (commit.durability, commit.fate) {
                (_, Fate::Void) => "void",
                (_, Fate::Doubtful) => "doubtful",
                (Durability::None, _) => "none",
                (Durability::Os, _) => "os",
                (Durability::Sync, _) => "sync",
            };
            // Writing to a string cannot fail.
            let _ = write!(text, " {index}:{sort}({changes})");
        }
        text
    }
}

impl Explained {
    /// Returns the flush point and log point that explain these contents.
    pub fn find(&self, contents: &Contents) -> Option<(usize, usize)> {
        self.states.get(&hash(contents)).copied()
    }

    /// Returns a hash that is equal for equal sets of contents.
    pub fn fingerprint(&self) -> u64 {
        self.states.keys().fold(0, |sum, hash| sum ^ hash)
    }

    /// Returns the promises at the time of the crash.
    pub fn mark(&self) -> Mark {
        self.mark
    }

    /// Explains only these contents, regardless of the history.
    #[must_use]
    pub fn exactly(contents: &Contents) -> Explained {
        Explained {
            states: HashMap::from([(hash(contents), (0, 0))]),
            mark: Mark::default(),
        }
    }
}

/// Returns whether a crash at `mark` may have left the commit with this index. A commit that was in
/// progress at that time may be left even if it was rejected later.
fn is_possible(commit: &Commit, index: usize, mark: Mark) -> bool {
    commit.fate != Fate::Void || index >= mark.decided
}

/// Contents and their hash, updated together.
#[derive(Clone)]
struct Walk {
    contents: Contents,
    hash: u64,
}

impl Walk {
    fn new(base: &Contents) -> Walk {
        Walk {
            contents: base.clone(),
            hash: hash(base),
        }
    }

    fn apply(&mut self, commit: &Commit) {
        if commit.is_of_keyspaces() {
            apply(&mut self.contents, commit);
            self.hash = hash(&self.contents);
            return;
        }
        let keys = || commit.changes.iter().map(|(key, _)| key);
        let part = |contents: &Contents| {
            let mut seen: Vec<&Vec<u8>> = keys().collect();
            seen.sort_unstable();
            seen.dedup();
            seen.iter().fold(0, |sum, key| {
                sum ^ contents.get(*key).map_or(0, |ids| hash_entry(key, ids))
            })
        };
        self.hash ^= part(&self.contents);
        apply(&mut self.contents, commit);
        self.hash ^= part(&self.contents);
    }
}

fn apply(contents: &mut Contents, commit: &Commit) {
    for (key, change) in &commit.changes {
        let entry = spaces::entry_of(key);
        if entry.is_some_and(|it| *change != Change::Create && !contents.contains_key(it)) {
            continue;
        }
        match change {
            Change::Put { id, .. } => {
                contents.insert(key.clone(), vec![*id]);
            }
            Change::Merge { id, .. } => contents.entry(key.clone()).or_default().push(*id),
            Change::Delete => {
                contents.remove(key);
            }
            Change::Create => {
                contents.insert(key.clone(), Vec::new());
            }
            Change::Drop => spaces::remove(contents, key),
        }
    }
}

fn hash(contents: &Contents) -> u64 {
    let entries = contents.iter().map(|(key, ids)| hash_entry(key, ids));
    entries.fold(1, |sum, entry| sum ^ entry)
}

fn hash_entry(key: &[u8], ids: &[u64]) -> u64 {
    let bytes: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
    let both = (hash64(key) ^ hash64(&bytes).rotate_left(17)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    both ^ (both >> 29)
}
