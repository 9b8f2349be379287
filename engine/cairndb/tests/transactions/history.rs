//! Histories of eight threads on few keys of two keyspaces, which the checker puts into one order.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cairndb::env::random::Random;
use cairndb::env::{Background, MemEnv};
use cairndb::{
    Append, Db, ErrorKind, Isolation, Keyspace, KeyspaceOptions, MergeOperator, Result, Snapshot,
    Transaction, TransactionOptions, Value,
};

use crate::checker::{Done, Id, Lists, check_order, check_updates, check_writes};
use crate::{options, variable};

const THREADS: u64 = 8;
/// Number of keys that are in use at one time.
const KEYS: u32 = 12;
/// Number of transactions after which other keys are used, so that lists stay short.
const TRANSACTIONS_PER_GROUP: u32 = 400;

fn name(key: u32) -> Vec<u8> {
    format!("list {key:010}").into_bytes()
}

fn list(bytes: &[u8]) -> Vec<Id> {
    let (ids, rest) = bytes.as_chunks::<4>();
    assert!(rest.is_empty(), "a torn list: {bytes:?}");
    ids.iter().map(|id| Id::from_le_bytes(*id)).collect()
}

/// The calls of a transaction. Odd keys are in the second keyspace.
struct Calls<'a> {
    transaction: &'a Transaction,
    second: &'a Keyspace,
}

impl Calls<'_> {
    fn second(&self, key: u32) -> Option<&Keyspace> {
        (key % 2 == 1).then_some(self.second)
    }

    fn get(&self, key: u32) -> Result<Option<Value>> {
        match self.second(key) {
            None => self.transaction.get(&name(key)),
            Some(second) => self.transaction.get_in(second, &name(key)),
        }
    }

    fn get_for_update(&self, key: u32) -> Result<Option<Value>> {
        match self.second(key) {
            None => self.transaction.get_for_update(&name(key)),
            Some(second) => self.transaction.get_for_update_in(second, &name(key)),
        }
    }

    fn put(&self, key: u32, value: &[u8]) -> Result<()> {
        match self.second(key) {
            None => self.transaction.put(&name(key), value),
            Some(second) => self.transaction.put_in(second, &name(key), value),
        }
    }

    fn merge(&self, key: u32, operand: &[u8]) -> Result<()> {
        match self.second(key) {
            None => self.transaction.merge(&name(key), operand),
            Some(second) => self.transaction.merge_in(second, &name(key), operand),
        }
    }

    /// Deletes the keys from `from` to before `to` in both keyspaces.
    fn delete_range(&self, from: u32, to: u32) -> Result<()> {
        let range = || name(from)..name(to);
        self.transaction.delete_range(range())?;
        self.transaction.delete_range_in(self.second, range())
    }

    fn delete(&self, key: u32) -> Result<()> {
        match self.second(key) {
            None => self.transaction.delete(&name(key)),
            Some(second) => self.transaction.delete_in(second, &name(key)),
        }
    }
}

/// What the threads share.
struct Stage {
    db: Db,
    second: Keyspace,
    isolation: Isolation,
    /// Number of transactions begun, which gives each its identifier.
    begun: AtomicU32,
    last: u32,
    clock: AtomicU64,
    conflicts: AtomicU64,
    history: Mutex<Vec<Done>>,
}

/// One attempt: reads, scans, appends by a merge or by reading and putting. `later` was taken after
/// the transaction began.
fn attempt(calls: &Calls<'_>, later: &Snapshot, id: Id, random: &mut Random) -> Result<Done> {
    let first = id / TRANSACTIONS_PER_GROUP * KEYS;
    let (mut reads, mut appends, mut updates) = (BTreeMap::new(), Vec::new(), Vec::new());
    for _ in 0..=random.index(4) {
        let key = first + u32::try_from(random.below(u64::from(KEYS))).unwrap();
        let to = (key + 3).min(first + KEYS);
        match random.below(6) {
            0 if !appends.contains(&key) => {
                calls.merge(key, &id.to_le_bytes())?;
                appends.push(key);
            }
            1 if !appends.contains(&key) => {
                let value = calls.get_for_update(key)?;
                let mut value = value.map_or_else(Vec::new, Value::into_vec);
                reads.insert(key, list(&value));
                value.extend_from_slice(&id.to_le_bytes());
                calls.put(key, &value)?;
                appends.push(key);
                updates.push(key);
            }
            2 if !appends.contains(&key) => {
                let seen = append_guarded(calls, later, key, id, random)?;
                reads.insert(key, seen);
                appends.push(key);
                updates.push(key);
            }
            3 => {
                let mut found: BTreeMap<u32, Vec<Id>> =
                    (key..to).map(|key| (key, vec![])).collect();
                let range = || name(key)..name(to);
                let transaction = calls.transaction;
                let seconds = transaction.range_in(calls.second, range())?;
                for entry in transaction.range(range()).chain(seconds) {
                    let (name, value) = entry?;
                    let key = std::str::from_utf8(&name[5..]).unwrap().parse().unwrap();
                    found.insert(key, list(&value));
                }
                for (key, mut seen) in found {
                    seen.retain(|seen| *seen != id);
                    reads.entry(key).or_insert(seen);
                }
            }
            4 if !appends.iter().any(|appended| (key..to).contains(appended)) => {
                // Replaces a range, in both keyspaces.
                let mut values = Vec::new();
                for key in key..to {
                    let value = calls.get_for_update(key)?;
                    let value = value.map_or_else(Vec::new, Value::into_vec);
                    reads.insert(key, list(&value));
                    values.push((key, value));
                }
                calls.delete_range(key, to)?;
                for (key, mut value) in values {
                    value.extend_from_slice(&id.to_le_bytes());
                    calls.put(key, &value)?;
                    appends.push(key);
                    updates.push(key);
                }
            }
            _ => {
                let value = calls.get(key)?;
                let mut seen = value.map_or_else(Vec::new, |value| list(&value));
                seen.retain(|seen| *seen != id);
                reads.entry(key).or_insert(seen);
            }
        }
    }
    Ok(Done {
        id,
        reads: reads.into_iter().collect(),
        appends,
        updates,
        ..Done::default()
    })
}

/// Appends to a key that only a read of an own write guards. Returns the list without the own
/// write, as of `later`: if the key has changed since the transaction began, that conflicts.
fn append_guarded(
    calls: &Calls<'_>,
    later: &Snapshot,
    key: u32,
    id: Id,
    random: &mut Random,
) -> Result<Vec<Id>> {
    let savepoint = calls.transaction.savepoint();
    let value = match calls.second(key) {
        None => later.get(&name(key))?,
        Some(second) => later.get_in(second, &name(key))?,
    };
    let mut value = value.map_or_else(Vec::new, Value::into_vec);
    let seen = list(&value);
    if random.below(2) == 0 {
        calls.delete(key)?;
    } else {
        calls.put(key, b"undone")?;
    }
    calls.get_for_update(key)?;
    if random.below(2) == 0 {
        calls.transaction.rollback_to(&savepoint)?;
        calls.merge(key, &id.to_le_bytes())?;
    } else {
        value.extend_from_slice(&id.to_le_bytes());
        calls.put(key, &value)?;
    }
    Ok(seen)
}

impl Stage {
    fn act(&self, thread: u64, seed: u64) {
        let mut random = Random::new(seed.wrapping_mul(THREADS) + thread);
        let mut history = Vec::new();
        loop {
            let id = self.begun.fetch_add(1, Ordering::SeqCst);
            if id >= self.last {
                break;
            }
            if id.is_multiple_of(5_000) {
                self.db.flush().unwrap();
            }
            let began = self.clock.fetch_add(1, Ordering::SeqCst);
            let options = TransactionOptions::new().isolation(self.isolation);
            let transaction = self.db.transaction_with(&options);
            let later = self.db.snapshot();
            let calls = Calls {
                transaction: &transaction,
                second: &self.second,
            };
            let done = attempt(&calls, &later, id, &mut random).unwrap();
            drop(later);
            std::thread::yield_now();
            match transaction.commit() {
                Ok(()) => {
                    let ended = self.clock.fetch_add(1, Ordering::SeqCst);
                    history.push(Done {
                        began,
                        ended,
                        ..done
                    });
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
                    self.conflicts.fetch_add(1, Ordering::SeqCst);
                }
            }
        }
        self.history.lock().unwrap().append(&mut history);
    }
}

/// Runs a history, and returns it with the final lists.
fn run(isolation: Isolation) -> (Vec<Done>, Lists) {
    let seed = variable("CAIRN_SEED", 1);
    let last = u32::try_from(variable("CAIRN_TRANSACTIONS", 100_000)).unwrap();
    let options = options().env(MemEnv::new(Background::Threads));
    let db = options.open("/db").unwrap();
    let appended = KeyspaceOptions::new().merge_operator(Append.name());
    let stage = Stage {
        second: db.create_keyspace("second", &appended).unwrap(),
        db,
        isolation,
        begun: AtomicU32::new(0),
        last,
        clock: AtomicU64::new(0),
        conflicts: AtomicU64::new(0),
        history: Mutex::default(),
    };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let stage = &stage;
            scope.spawn(move || stage.act(thread, seed));
        }
    });
    let mut lists = Lists::new();
    for entry in stage.db.iter().chain(stage.second.iter()) {
        let (name, value) = entry.unwrap();
        let key = std::str::from_utf8(&name[5..]).unwrap().parse().unwrap();
        lists.insert(key, list(&value));
    }
    let (history, conflicts) = (stage.history.into_inner().unwrap(), stage.conflicts);
    let conflicts = conflicts.into_inner();
    println!(
        "{isolation:?}: {} committed, {conflicts} conflicts (CAIRN_SEED={seed})",
        history.len()
    );
    assert_eq!(history.len() as u64 + conflicts, u64::from(last));
    assert!(
        conflicts >= u64::from(last) / 50,
        "too few conflicts to mean anything"
    );
    check_writes(&history, &lists).unwrap();
    check_updates(&history, &lists).unwrap();
    (history, lists)
}

#[test]
fn serializable_histories_have_one_order() {
    let (history, lists) = run(Isolation::Serializable);
    let shown = check_order(&history, &lists).unwrap();
    assert!(shown.dependencies > history.len(), "{shown:?}");
}

/// Snapshot isolation admits write skew, and nothing worse: no update is lost, and no read is of
/// anything but a moment. That the same checker finds skew here shows that it would find it above.
#[test]
fn snapshot_histories_lose_no_update_but_have_skew() {
    let (history, lists) = run(Isolation::Snapshot);
    assert!(check_order(&history, &lists).is_err());
}
