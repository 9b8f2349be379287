//! The same random histories on CairnDB and on RocksDB: equal answers at every step. Keyspaces are
//! column families.
//!
//! | variable | meaning |
//! |---|---|
//! | `CAIRN_ROCKSDB_OPS` | number of operations, 10,000 by default |
//! | `CAIRN_SEED` | the seed of the first history, 1 by default |

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "histories/rocks.rs"]
mod rocks;

use std::cmp::Ordering;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bench_core::host::test_skip::skip;
use cairndb::env::random::Random;
use cairndb::{
    Append, Comparator, Db, Keyspace, KeyspaceOptions, MergeOperator, Options, RangeCursor,
    Snapshot, WriteBatch,
};

use crate::rocks::{Api, Rocks};

/// The families; the first exists in every database, and the last is in reverse order.
pub(crate) const FAMILIES: [&str; 3] = ["default", "plain", "reverse"];
/// Number of operations of one history.
const OPS: u64 = 2_000;
/// Number of snapshots, and of cursors, held at a time.
const PLACES: usize = 3;

/// The first key of a range, and the first key after it.
pub(crate) type Range = (Option<Vec<u8>>, Option<Vec<u8>>);

/// What a change of a batch does to its key.
pub(crate) enum Effect {
    Put(Vec<u8>),
    Merge(Vec<u8>),
    Delete,
    /// Deletes all keys up to this one, which is kept.
    DeleteRange(Vec<u8>),
}

/// One change of a batch.
pub(crate) struct Change {
    pub(crate) family: usize,
    pub(crate) key: Vec<u8>,
    pub(crate) effect: Effect,
}

#[derive(Debug)]
struct Reverse;

impl Comparator for Reverse {
    fn name(&self) -> &'static str {
        "test.Reverse"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        b.cmp(a)
    }
}

/// Both databases.
struct Pair {
    rocks: Rocks,
    db: Db,
    keyspaces: [Keyspace; FAMILIES.len() - 1],
}

fn create(db: &Db, name: &str) -> Keyspace {
    let options = KeyspaceOptions::new().merge_operator(Append.name());
    let options = match name {
        "reverse" => options.comparator(Reverse.name()),
        _ => options,
    };
    db.create_keyspace(name, &options).unwrap()
}

impl Pair {
    fn open(api: &'static Api, path: &Path) -> Pair {
        let options = Options::new()
            .create_if_missing(true)
            .merge_operator(Arc::new(Append))
            .register_comparator(Arc::new(Reverse));
        let db = options
            .memory_budget(1 << 20)
            .open(path.join("cairn"))
            .unwrap();
        let keyspaces = [FAMILIES[1], FAMILIES[2]];
        let keyspaces = keyspaces.map(|name| match db.keyspace(name) {
            Ok(keyspace) => keyspace,
            Err(_) => create(&db, name),
        });
        let rocks = Rocks::open(api, &path.join("rocks"));
        Pair {
            rocks,
            db,
            keyspaces,
        }
    }

    fn keyspace(&self, family: usize) -> Option<&Keyspace> {
        Some(&self.keyspaces[family.checked_sub(1)?])
    }

    fn write(&self, changes: &[Change]) {
        let mut batch = WriteBatch::new();
        for Change {
            family,
            key,
            effect,
        } in changes
        {
            match (self.keyspace(*family), effect) {
                (None, Effect::Put(value)) => batch.put(key, value),
                (None, Effect::Merge(operand)) => batch.merge(key, operand),
                (None, Effect::Delete) => batch.delete(key),
                (None, Effect::DeleteRange(end)) => batch.delete_range(key..end),
                (Some(keyspace), Effect::Put(value)) => batch.put_in(keyspace, key, value),
                (Some(keyspace), Effect::Merge(operand)) => batch.merge_in(keyspace, key, operand),
                (Some(keyspace), Effect::Delete) => batch.delete_in(keyspace, key),
                (Some(keyspace), Effect::DeleteRange(end)) => {
                    batch.delete_range_in(keyspace, key..end);
                }
            }
        }
        self.db.write(&batch).unwrap();
        self.rocks.write(changes);
    }
}

type Both<A, B> = Option<(A, B)>;

struct History {
    api: &'static Api,
    path: PathBuf,
    random: Random,
    /// `None` only during a reopen.
    pair: Option<Pair>,
    snapshots: [Both<Snapshot, rocks::Snapshot>; PLACES],
    cursors: [Both<RangeCursor, rocks::Cursor>; PLACES],
    /// The place of each cursor's snapshot, in which RocksDB reads until the cursor is dropped.
    sources: [usize; PLACES],
}

impl History {
    fn pair(&self) -> &Pair {
        self.pair.as_ref().unwrap()
    }

    fn key(&mut self) -> Vec<u8> {
        let number = self.random.below(300);
        // Some keys are prefixes of others, and one is empty.
        let key = format!("key{number:03}");
        let len = if number.is_multiple_of(11) {
            self.random.index(7)
        } else {
            6
        };
        key.as_bytes()[..len].to_vec()
    }

    fn value(&mut self) -> Vec<u8> {
        let len = match self.random.below(50) {
            0 => 9_000,
            1..5 => self.random.index(2_000),
            _ => self.random.index(40),
        };
        vec![u8::try_from(self.random.below(256)).unwrap(); len]
    }

    fn change(&mut self) -> Change {
        let (family, key) = (self.random.index(FAMILIES.len()), self.key());
        let effect = match self.random.below(50) {
            0..10 => Effect::Merge(self.value()),
            10..35 => Effect::Put(self.value()),
            35..48 => Effect::Delete,
            _ => Effect::DeleteRange(self.key()),
        };
        let (mut change, reverse) = (
            Change {
                family,
                key,
                effect,
            },
            family == 2,
        );
        // RocksDB refuses ends in reverse order; here they are a range without keys. As an end, the
        // empty key needs bytewise order here.
        if let Effect::DeleteRange(end) = &mut change.effect {
            if (*end < change.key) != reverse {
                std::mem::swap(end, &mut change.key);
            }
            if end.is_empty() {
                change.effect = Effect::Delete;
            }
        }
        change
    }

    fn get(&mut self) {
        let (family, key) = (self.random.index(FAMILIES.len()), self.key());
        let held = self.snapshots[self.random.index(PLACES)].as_ref();
        let pair = self.pair();
        let ours = match (pair.keyspace(family), held) {
            (None, None) => pair.db.get(&key),
            (Some(keyspace), None) => keyspace.get(&key),
            (None, Some((snapshot, _))) => snapshot.get(&key),
            (Some(keyspace), Some((snapshot, _))) => snapshot.get_in(keyspace, &key),
        };
        let theirs = pair.rocks.get(family, &key, held.map(|(_, theirs)| theirs));
        assert_eq!(
            ours.unwrap().as_deref(),
            theirs.as_deref(),
            "a get of {key:?}"
        );
    }

    /// Opens a cursor over a range of a family, in a snapshot or in the current state.
    fn open_cursor(&mut self) {
        let family = self.random.index(FAMILIES.len());
        let mut range = [(); 2].map(|()| (self.random.below(3) > 0).then(|| self.key()));
        if let [Some(low), Some(high)] = &mut range
            && (*low > *high) != (family == 2)
        {
            std::mem::swap(low, high);
        }
        let [low, high] = range;
        let source = self.random.index(PLACES);
        let held = self.snapshots[source].as_ref();
        let pair = self.pair();
        let cursor = match (pair.keyspace(family), held) {
            (None, None) => pair.db.cursor(),
            (Some(keyspace), None) => keyspace.cursor(),
            (None, Some((snapshot, _))) => snapshot.cursor(),
            (Some(keyspace), Some((snapshot, _))) => snapshot.cursor_in(keyspace).unwrap(),
        };
        let start = low.as_deref().map_or(Bound::Unbounded, Bound::Included);
        let end = high.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let ours = cursor.within((start, end));
        let held = held.map(|(_, theirs)| theirs);
        let theirs = pair.rocks.cursor(family, (low, high), held);
        let place = self.random.index(PLACES);
        self.cursors[place] = Some((ours, theirs));
        self.sources[place] = source;
        self.move_cursor(place);
    }

    fn move_cursor(&mut self, place: usize) {
        let (target, key) = (self.random.below(4), self.key());
        let (steps, turns) = (self.random.index(30), self.random.next_u64());
        let turns = [0, u64::MAX, turns][self.random.index(3)];
        let Some((ours, theirs)) = &mut self.cursors[place] else {
            return;
        };
        let moved = match target {
            0 => (ours.seek_to_first(), theirs.seek_to_first()).0,
            1 => (ours.seek_to_last(), theirs.seek_to_last()).0,
            2 => (ours.seek(&key), theirs.seek(&key)).0,
            _ => (ours.seek_for_prev(&key), theirs.seek_for_prev(&key)).0,
        };
        moved.unwrap();
        for step in 0..=steps {
            let entry = theirs.entry();
            let found = ours
                .valid()
                .then(|| (ours.key().to_vec(), ours.value().to_vec()));
            assert_eq!(found, entry, "step {step} from {target} {key:?}");
            if entry.is_none() {
                return;
            }
            let back = turns >> step & 1 == 1;
            let moved = if back { ours.prev() } else { ours.next() };
            moved.unwrap();
            theirs.step(back);
        }
    }

    fn upkeep(&mut self) {
        let family = self.random.index(FAMILIES.len());
        match self.random.below(6) {
            0 | 1 => {
                self.pair().db.flush().unwrap();
                (0..FAMILIES.len()).for_each(|family| self.pair().rocks.flush(family));
            }
            2 | 3 => {
                let pair = self.pair();
                let compacted = match pair.keyspace(family) {
                    None => pair.db.compact_range(..),
                    Some(keyspace) => keyspace.compact_range(..),
                };
                compacted.unwrap();
                pair.rocks.compact(family);
            }
            4 if family > 0 => {
                let pair = self.pair.as_mut().unwrap();
                pair.db.drop_keyspace(FAMILIES[family]).unwrap();
                pair.keyspaces[family - 1] = create(&pair.db, FAMILIES[family]);
                pair.rocks.renew(family);
            }
            _ => {
                self.let_go();
                self.pair().db.close().unwrap();
                self.pair = None;
                self.pair = Some(Pair::open(self.api, &self.path));
            }
        }
    }

    /// Drops all cursors and snapshots.
    fn let_go(&mut self) {
        self.cursors = [const { None }; PLACES];
        for place in 0..PLACES {
            if let Some((_, theirs)) = self.snapshots[place].take() {
                self.pair().rocks.release(&theirs);
            }
        }
    }

    fn step(&mut self) {
        match self.random.below(1_000) {
            0..350 => {
                let change = self.change();
                self.pair().write(&[change]);
            }
            350..450 => {
                let count = self.random.index(12);
                let changes: Vec<Change> = (0..count).map(|_| self.change()).collect();
                self.pair().write(&changes);
            }
            450..700 => self.get(),
            700..800 => self.open_cursor(),
            800..970 => {
                let place = self.random.index(PLACES);
                self.move_cursor(place);
            }
            970..990 => {
                let place = self.random.index(PLACES);
                if let Some((_, theirs)) = self.snapshots[place].take() {
                    for (cursor, source) in self.cursors.iter_mut().zip(self.sources) {
                        cursor.take_if(|_| source == place);
                    }
                    self.pair().rocks.release(&theirs);
                } else {
                    let both = (self.pair().db.snapshot(), self.pair().rocks.snapshot());
                    self.snapshots[place] = Some(both);
                }
            }
            _ => self.upkeep(),
        }
    }
}

#[test]
fn histories_give_the_same_answers_as_on_rocksdb() {
    let api = match Rocks::load() {
        Ok(api) => api,
        Err(missing) => return skip(&missing),
    };
    let number = |name: &str, default| {
        std::env::var(name).map_or(default, |text| text.parse::<u64>().unwrap())
    };
    let (ops, first) = (number("CAIRN_ROCKSDB_OPS", 10_000), number("CAIRN_SEED", 1));
    for seed in first..first + ops.div_ceil(OPS) {
        eprintln!("CAIRN_SEED={seed} replays");
        let dir = tempfile::tempdir().unwrap();
        let mut history = History {
            api,
            path: dir.path().to_owned(),
            random: Random::new(seed),
            pair: Some(Pair::open(api, dir.path())),
            snapshots: [const { None }; PLACES],
            cursors: [const { None }; PLACES],
            sources: [0; PLACES],
        };
        for _ in 0..OPS {
            history.step();
        }
        history.let_go();
    }
}
