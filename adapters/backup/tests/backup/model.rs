//! A model of a database, and random writes to both.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use cairndb::{Db, Durability, Keyspace, KeyspaceOptions, Result, WriteBatch, WriteOptions};

/// Contents by keyspace; the default one has the name "".
pub(crate) type State = BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>>;

/// Random numbers.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn draw(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }

    pub(crate) fn index(&mut self, below: usize) -> usize {
        usize::try_from(self.draw(below as u64)).unwrap()
    }
}

/// A model, with its states at the sequence numbers after each write.
pub(crate) struct Model {
    pub(crate) random: Random,
    state: State,
    states: Vec<(u64, State)>,
    /// The state after a write that has failed, and may have been done.
    doubtful: Option<State>,
}

impl Model {
    pub(crate) fn new(seed: u64) -> Model {
        let empty: State = [(String::new(), BTreeMap::new())].into();
        Model {
            random: Random::new(seed),
            states: vec![(0, empty.clone())],
            state: empty,
            doubtful: None,
        }
    }

    /// Returns the state at a sequence number.
    pub(crate) fn at(&self, seq: u64) -> &State {
        let after = self.states.partition_point(|(known, _)| *known <= seq);
        &self.states[after - 1].1
    }

    /// Makes the model what a database was recovered to.
    pub(crate) fn recovered(&mut self, db: &Db, about: &dyn fmt::Display) {
        let seq = db.place().unwrap().seq;
        self.states.retain(|(known, _)| *known <= seq);
        let found = contents(db);
        if let Some(doubtful) = self.doubtful.take()
            && doubtful == found
        {
            self.states.push((seq, doubtful));
        }
        self.state = self.states.last().unwrap().1.clone();
        check(&found, &self.state, about);
    }

    fn key(&mut self) -> Vec<u8> {
        format!("key-{:03}", self.random.draw(60)).into_bytes()
    }

    fn value(&mut self) -> Vec<u8> {
        // One in twelve may go to a value file.
        let max = if self.random.draw(12) == 0 {
            70_000
        } else {
            300
        };
        let byte = u8::try_from(self.random.draw(256)).unwrap();
        vec![byte; self.random.index(max)]
    }

    /// Makes some writes.
    pub(crate) fn write(&mut self, db: &Db, number: usize) -> Result<()> {
        for _ in 0..number {
            let mut next = self.state.clone();
            let written = self.write_one(db, &mut next);
            let seq = written.and_then(|()| db.place());
            match seq {
                Ok(place) => {
                    self.states.push((place.seq, next.clone()));
                    self.state = next;
                }
                Err(error) => {
                    self.doubtful = Some(next);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn write_one(&mut self, db: &Db, state: &mut State) -> Result<()> {
        let names: Vec<String> = state.keys().cloned().collect();
        let name = &names[self.random.index(names.len())];
        let (key, value) = (self.key(), self.value());
        let model = state.get_mut(name).unwrap();
        let durability = if self.random.draw(3) == 0 {
            Durability::Sync
        } else {
            Durability::Os
        };
        let options = WriteOptions::new().durability(durability);
        match self.random.draw(30) {
            0 if names.len() < 4 => {
                let name = format!("space-{}", self.random.draw(1000));
                if !state.contains_key(&name) {
                    state.insert(name.clone(), BTreeMap::new());
                    db.create_keyspace(&name, &KeyspaceOptions::new())?;
                }
                Ok(())
            }
            1 if !name.is_empty() => {
                state.remove(name);
                db.drop_keyspace(name)
            }
            2 => db.flush(),
            3 => db.compact_range(..),
            4 => {
                let to = [&key[..], b"z"].concat();
                model.retain(|known, _| *known < key || *known >= to);
                let mut batch = WriteBatch::new();
                batch.delete_range_in(&open(db, name)?, &key[..]..&to[..]);
                db.write(&batch)
            }
            5..12 => {
                model.remove(&key);
                open(db, name)?.delete_with(&key, &options)
            }
            _ => {
                model.insert(key.clone(), value.clone());
                open(db, name)?.put_with(&key, &value, &options)
            }
        }
    }
}

fn open(db: &Db, name: &str) -> Result<Keyspace> {
    if name.is_empty() {
        return Ok(db.default_keyspace());
    }
    db.keyspace(name)
}

/// Returns what a database holds.
pub(crate) fn contents(db: &Db) -> State {
    let collect = |iter: cairndb::Iter| {
        let entries = iter.map(|entry| {
            let (key, value) = entry.unwrap();
            (key.to_vec(), value.to_vec())
        });
        entries.collect()
    };
    let mut state: State = [(String::new(), collect(db.iter()))].into();
    for name in db.keyspaces() {
        let keyspace = db.keyspace(&name).unwrap();
        state.insert(name, collect(keyspace.iter()));
    }
    state
}

/// Fails unless both are equal, with a short description.
pub(crate) fn check(found: &State, expected: &State, about: &dyn fmt::Display) {
    if found == expected {
        return;
    }
    let mut differences = String::new();
    for name in found.keys().chain(expected.keys()) {
        let [found, expected] = [found.get(name), expected.get(name)].map(|state| {
            let entries = state.map(|state| state.iter());
            entries.map(|entries| {
                let shown = entries.map(|(key, value)| {
                    let key = String::from_utf8_lossy(key).into_owned();
                    (key, value.len(), value.first().copied())
                });
                shown.collect::<Vec<_>>()
            })
        });
        if found != expected {
            let _ = writeln!(differences, "{name:?}: {found:?} instead of {expected:?}");
        }
    }
    panic!("{about}: {differences}");
}
