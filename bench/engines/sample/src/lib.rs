//! The template for a new adapter: an in-memory map and a log of every write, measured like any
//! store.
//!
//! The sample is not a contender, and `db_bench` does not include it; `sample_bench`, the program
//! in this folder, is `db_bench` with the sample added. It shows the obligations of an adapter: a
//! write has reached the operating system when the call returns, or the medium if that was
//! requested, and a batch is atomic.
//!
//! The log is a sequence of writes, each a length and that many bytes of entries. An incomplete
//! last write of a killed process is truncated when the store is opened.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::ops::Bound;
use std::path::Path;

use bench_core::engine::{Capabilities, Cursor, Durability, Engine, Role, Session, Store};
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;
use parking_lot::{RwLock, RwLockReadGuard};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// The engine. An engine over a foreign library would hold the library here.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample;

impl Engine for Sample {
    type Store = SampleStore;

    fn name(&self) -> &'static str {
        "sample"
    }

    fn title(&self) -> &'static str {
        "Sample"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            merge: false,
            snapshot: false,
            compact: false,
            flush: false,
            sync_later: false,
            ..Capabilities::ALL
        }
    }

    fn open(&self, dir: &Path, _settings: &Settings) -> Result<SampleStore, Fault> {
        // Memory and compression are for stores that have such settings.
        Ok(SampleStore {
            contents: RwLock::new(Contents::open(&dir.join("log"))?),
        })
    }
}

/// An open directory.
#[derive(Debug)]
pub struct SampleStore {
    contents: RwLock<Contents>,
}

impl Store for SampleStore {
    type Session<'s> = SampleSession<'s>;

    fn session(&self, role: Role) -> Result<SampleSession<'_>, Fault> {
        Ok(SampleSession {
            store: self,
            sync: role.durability == Durability::Sync,
            batch: Vec::new(),
        })
    }
}

/// One thread's session.
#[derive(Debug)]
pub struct SampleSession<'s> {
    store: &'s SampleStore,
    sync: bool,
    batch: Vec<u8>,
}

impl Session for SampleSession<'_> {
    type Cursor<'c>
        = SampleCursor<'c>
    where
        Self: 'c;

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        // A batch of one: no row mixes batches with single writes.
        self.batch_put(key, value)?;
        self.batch_write()
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        push(&mut self.batch, key, None);
        self.batch_write()
    }

    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, Fault> {
        let contents = self.store.contents.read();
        Ok(contents.map.get(key).map(|value| found(value)))
    }

    fn batch_put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        push(&mut self.batch, key, Some(value));
        Ok(())
    }

    fn batch_delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        push(&mut self.batch, key, None);
        Ok(())
    }

    fn batch_write(&mut self) -> Result<(), Fault> {
        let outcome = self.store.contents.write().commit(&self.batch, self.sync);
        self.batch.clear();
        outcome
    }

    fn cursor(&mut self) -> Result<SampleCursor<'_>, Fault> {
        Ok(SampleCursor {
            contents: self.store.contents.read(),
            entry: None,
        })
    }
}

/// A cursor in key order; nothing is written during its lifetime.
#[derive(Debug)]
pub struct SampleCursor<'c> {
    contents: RwLockReadGuard<'c, Contents>,
    entry: Option<(Vec<u8>, Vec<u8>)>,
}

impl SampleCursor<'_> {
    /// Moves to the first or the last entry in a range.
    fn go(&mut self, range: (Bound<&[u8]>, Bound<&[u8]>), backward: bool) {
        let mut entries = self.contents.map.range::<[u8], _>(range);
        let entry = if backward {
            entries.next_back()
        } else {
            entries.next()
        };
        self.entry = entry.map(|(key, value)| (key.clone(), value.clone()));
    }
}

impl Cursor for SampleCursor<'_> {
    fn first(&mut self) -> Result<(), Fault> {
        self.go((Bound::Unbounded, Bound::Unbounded), false);
        Ok(())
    }

    fn last(&mut self) -> Result<(), Fault> {
        self.go((Bound::Unbounded, Bound::Unbounded), true);
        Ok(())
    }

    fn seek(&mut self, key: &[u8]) -> Result<(), Fault> {
        self.go((Bound::Included(key), Bound::Unbounded), false);
        Ok(())
    }

    fn next(&mut self) -> Result<(), Fault> {
        if let Some((key, _)) = self.entry.take() {
            self.go((Bound::Excluded(&key), Bound::Unbounded), false);
        }
        Ok(())
    }

    fn prev(&mut self) -> Result<(), Fault> {
        if let Some((key, _)) = self.entry.take() {
            self.go((Bound::Unbounded, Bound::Excluded(&key)), true);
        }
        Ok(())
    }

    fn valid(&self) -> bool {
        self.entry.is_some()
    }

    fn key(&self) -> &[u8] {
        self.entry.as_ref().map_or(&[], |(key, _)| key)
    }

    fn value(&mut self) -> Result<&[u8], Fault> {
        Ok(self.entry.as_ref().map_or(&[], |(_, value)| value))
    }
}

/// Adds an entry to a write, or a removal if the value is `None`.
fn push(write: &mut Vec<u8>, key: &[u8], value: Option<&[u8]>) {
    write.push(u8::from(value.is_some()));
    for bytes in [Some(key), value].into_iter().flatten() {
        write.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        write.extend_from_slice(bytes);
    }
}

/// The contents of the store.
#[derive(Debug)]
struct Contents {
    map: Map,
    log: File,
}

impl Contents {
    fn open(path: &Path) -> Result<Self, Fault> {
        let fault = |error| Fault::io(path.display(), &error);
        let bytes = match std::fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            read => read.map_err(fault)?,
        };
        let (mut map, mut rest) = (Map::new(), bytes.as_slice());
        loop {
            let at = bytes.len() - rest.len();
            let Some(entries) = take(&mut rest) else {
                break;
            };
            let damaged = || Fault::new(format!("{}: corrupt at byte {at}", path.display()));
            apply(&mut map, entries).ok_or_else(damaged)?;
        }
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .map_err(fault)?;
        log.set_len((bytes.len() - rest.len()) as u64)
            .map_err(fault)?;
        Ok(Self { map, log })
    }

    /// Logs a write with one system call, then makes it visible.
    fn commit(&mut self, entries: &[u8], sync: bool) -> Result<(), Fault> {
        let mut frame = (entries.len() as u64).to_le_bytes().to_vec();
        frame.extend_from_slice(entries);
        let mut outcome = self.log.write_all(&frame);
        if sync {
            outcome = outcome.and_then(|()| self.log.sync_data());
        }
        outcome.map_err(|error| Fault::io("the log", &error))?;
        apply(&mut self.map, entries).ok_or_else(|| Fault::new("a write that cannot be read"))
    }
}

/// Takes a length and that many bytes off the front; returns `None` if there are fewer.
fn take<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (length, tail) = rest.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (bytes, tail) = tail.split_at_checked(length)?;
    *rest = tail;
    Some(bytes)
}

/// Makes entries visible; returns `None` if they cannot be parsed.
fn apply(map: &mut Map, mut entries: &[u8]) -> Option<()> {
    while let Some((kind, rest)) = entries.split_first() {
        entries = rest;
        let key = take(&mut entries)?;
        match kind {
            0 => map.remove(key),
            1 => map.insert(key.to_vec(), take(&mut entries)?.to_vec()),
            _ => return None,
        };
    }
    Some(())
}
