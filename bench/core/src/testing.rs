//! An engine for this crate's own tests: an in-memory map, correct or with a chosen defect.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::engine::{Capabilities, Cursor, Durability, Engine, Role, Session, Store, Survival};
use crate::fault::Fault;
use crate::workload::plan::Plan;
use crate::workload::settings::{Memory, Settings, Variant};

/// The defects that the engine can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Defect {
    /// No defect.
    None,
    /// One put in ten thousand is acknowledged and forgotten.
    DropsPuts,
    /// One value in ten thousand comes back from point reads with one bit changed.
    FlipsGets,
    /// One value in ten thousand comes back from scans with one bit changed.
    FlipsScans,
    /// Every ten-thousandth entry of a scan is returned twice.
    RepeatsEntries,
    /// Two neighbouring values are swapped in scans.
    SwapsValues,
    /// Some deletes are acknowledged and forgotten.
    KeepsDeleted,
    /// Some seeks land one entry too late.
    SeeksLate,
    /// Acknowledges synchronous writes without a flush (as every in-memory map does).
    Fails,
    /// A read panics.
    Panics,
    /// Every compaction fails with an error.
    FailsToCompact,
    /// All keyspaces are one.
    MixesKeyspaces,
    /// A dropped keyspace stays.
    KeepsDropped,
}

const EVERY: u64 = 10_000;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// The engine; its contents survive a close, as files would.
#[derive(Debug)]
pub(crate) struct FaultyEngine {
    pub(crate) defect: Defect,
    pub(crate) able: Capabilities,
    /// The survival of writes for which [`Durability::Os`] was requested.
    pub(crate) survival: Survival,
    pub(crate) variants: &'static [Variant],
    /// Minimum value size of the rows that the engine runs, unranked.
    pub(crate) least: Option<usize>,
    pub(crate) compactions: AtomicU32,
    map: Mutex<(PathBuf, Map)>,
}

impl FaultyEngine {
    pub(crate) fn new(defect: Defect) -> Self {
        let able = Capabilities {
            flush: false,
            ..Capabilities::ALL
        };
        Self {
            defect,
            able,
            survival: Survival::Os,
            variants: &[Variant::Fair],
            least: None,
            compactions: AtomicU32::new(0),
            map: Mutex::new((PathBuf::new(), Map::new())),
        }
    }
}

impl<'e> Engine for &'e FaultyEngine {
    type Store = FaultyStore<'e>;

    fn name(&self) -> &'static str {
        "faulty"
    }

    fn title(&self) -> &'static str {
        "Faulty"
    }

    fn version(&self) -> String {
        "1".into()
    }

    fn keyspaces(&self) -> bool {
        true
    }

    fn range_deletion(&self) -> bool {
        true
    }

    fn capabilities(&self) -> Capabilities {
        self.able
    }

    fn variants(&self) -> &'static [Variant] {
        self.variants
    }

    fn contends(&self) -> bool {
        self.least.is_none()
    }

    fn declines(&self, value_bytes: usize, durability: Durability) -> Option<&'static str> {
        let least = self.least?;
        (value_bytes < least && durability == Durability::Os).then_some("too small")
    }

    fn survival(&self, asked: Durability, _variant: Variant) -> Survival {
        match asked {
            Durability::Os => self.survival,
            Durability::Sync => Survival::Sync,
        }
    }

    fn open(&self, dir: &Path, _settings: &Settings) -> Result<FaultyStore<'e>, Fault> {
        let mut map = self.map.lock().expect("no panic");
        let marker = dir.join("contents");
        if !marker.exists() {
            // The directory was emptied, so the map is cleared too.
            std::fs::write(&marker, "x").expect("writable");
            map.1.clear();
        }
        map.0 = dir.to_owned();
        Ok(FaultyStore { engine: self })
    }
}

#[derive(Debug)]
pub(crate) struct FaultyStore<'e> {
    engine: &'e FaultyEngine,
}

impl<'e> Store for FaultyStore<'e> {
    type Session<'s>
        = FaultySession<'e>
    where
        Self: 's;

    fn session(&self, _role: Role) -> Result<FaultySession<'e>, Fault> {
        Ok(FaultySession {
            engine: self.engine,
            keyspace: Vec::new(),
            batch: Vec::new(),
            calls: 0,
        })
    }

    fn drop_keyspace(&mut self, index: u32) -> Result<(), Fault> {
        let mut map = self.engine.map.lock().expect("no panic");
        let prefix = index.to_le_bytes();
        if self.engine.defect != Defect::KeepsDropped {
            map.1.retain(|key, _| !key.starts_with(&prefix));
        }
        // The harness counts the flushes.
        let mut marker = File::create(map.0.join("dropped")).expect("writable");
        marker.write_all(&prefix).expect("writable");
        marker.sync_all().expect("synced");
        Ok(())
    }

    fn compact(&mut self) -> Result<(), Fault> {
        self.engine.compactions.fetch_add(1, Ordering::Relaxed);
        if self.engine.defect == Defect::FailsToCompact {
            return Err(Fault::new("no space left on device"));
        }
        Ok(())
    }

    fn property(&self, name: &str) -> Option<String> {
        (name == "leveldb.stats").then(|| "all is well".to_owned())
    }

    fn options(&self) -> Vec<(String, String)> {
        vec![("defect".into(), format!("{:?}", self.engine.defect))]
    }
}

#[derive(Debug)]
pub(crate) struct FaultySession<'e> {
    engine: &'e FaultyEngine,
    /// Prefix of the stored keys.
    keyspace: Vec<u8>,
    batch: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    calls: u64,
}

impl FaultySession<'_> {
    fn shows(&mut self, defect: Defect) -> bool {
        if self.engine.defect != defect {
            return false;
        }
        self.calls += 1;
        self.calls.is_multiple_of(EVERY)
    }

    fn stored(&self, key: &[u8]) -> Vec<u8> {
        [&self.keyspace, key].concat()
    }

    fn with<R>(&self, run: impl FnOnce(&mut Map) -> R) -> R {
        run(&mut self.engine.map.lock().expect("no panic").1)
    }
}

impl Session for FaultySession<'_> {
    type Cursor<'c>
        = FaultyCursor
    where
        Self: 'c;

    fn enter(&mut self, keyspace: u32) -> Result<(), Fault> {
        if self.engine.defect != Defect::MixesKeyspaces {
            self.keyspace = keyspace.to_le_bytes().to_vec();
        }
        Ok(())
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let key = self.stored(key);
        if self.engine.defect == Defect::Fails {
            return Err(Fault::new("no space left on device"));
        }
        if !self.shows(Defect::DropsPuts) {
            self.with(|map| map.insert(key, value.to_vec()));
        }
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        let key = self.stored(key);
        if !self.shows(Defect::KeepsDeleted) {
            self.with(|map| map.remove(&key));
        }
        Ok(())
    }

    fn delete_range(&mut self, from: &[u8], to: &[u8]) -> Result<(), Fault> {
        let (from, to) = (self.stored(from), self.stored(to));
        if !self.shows(Defect::KeepsDeleted) {
            self.with(|map| map.retain(|key, _| *key < from || to <= *key));
        }
        Ok(())
    }

    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, Fault> {
        assert!(self.engine.defect != Defect::Panics, "as requested");
        let flips = self.shows(Defect::FlipsGets);
        let key = self.stored(key);
        let Some(mut value) = self.with(|map| map.get(&key).cloned()) else {
            return Ok(None);
        };
        if flips {
            value[37] ^= 1;
        }
        Ok(Some(found(&value)))
    }

    fn batch_put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        self.batch.push((key.to_vec(), Some(value.to_vec())));
        Ok(())
    }

    fn batch_delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        self.batch.push((key.to_vec(), None));
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    fn batch_write(&mut self) -> Result<(), Fault> {
        for (key, value) in std::mem::take(&mut self.batch) {
            match value {
                Some(value) => self.put(&key, &value)?,
                None => self.delete(&key)?,
            }
        }
        Ok(())
    }

    fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<(), Fault> {
        self.with(|map| {
            let value = map.entry(key.to_vec()).or_default();
            if operand > value.as_slice() {
                *value = operand.to_vec();
            }
        });
        Ok(())
    }

    fn cursor(&mut self) -> Result<FaultyCursor, Fault> {
        self.calls += 1;
        let late = self.engine.defect == Defect::SeeksLate && self.calls.is_multiple_of(1000);
        let of_keyspace = |(key, value): (&Vec<u8>, &Vec<u8>)| {
            let rest = key.strip_prefix(self.keyspace.as_slice())?;
            Some((rest.to_vec(), value.clone()))
        };
        let mut entries: Vec<_> = self.with(|map| map.iter().filter_map(of_keyspace).collect());
        if self.engine.defect == Defect::SwapsValues && entries.len() > 501 {
            let (left, right) = entries.split_at_mut(501);
            std::mem::swap(&mut left[500].1, &mut right[0].1);
        }
        Ok(FaultyCursor {
            entries,
            at: None,
            late,
            defect: self.engine.defect,
            steps: 0,
        })
    }
}

/// A cursor over a copy of the map.
#[derive(Debug)]
pub(crate) struct FaultyCursor {
    entries: Vec<(Vec<u8>, Vec<u8>)>,
    at: Option<usize>,
    late: bool,
    defect: Defect,
    steps: u64,
}

impl FaultyCursor {
    fn shows(&mut self, defect: Defect) -> bool {
        if self.defect != defect {
            return false;
        }
        self.steps += 1;
        self.steps.is_multiple_of(EVERY)
    }

    fn set(&mut self, at: Option<usize>) {
        self.at = at.filter(|&at| at < self.entries.len());
    }
}

impl Cursor for FaultyCursor {
    fn first(&mut self) -> Result<(), Fault> {
        self.set(Some(0));
        Ok(())
    }

    fn last(&mut self) -> Result<(), Fault> {
        self.set(self.entries.len().checked_sub(1));
        Ok(())
    }

    fn seek(&mut self, key: &[u8]) -> Result<(), Fault> {
        let at = self
            .entries
            .partition_point(|(stored, _)| stored.as_slice() < key);
        self.set(Some(at + usize::from(self.late)));
        Ok(())
    }

    fn next(&mut self) -> Result<(), Fault> {
        if !self.shows(Defect::RepeatsEntries) {
            self.set(self.at.map(|at| at + 1));
        }
        Ok(())
    }

    fn prev(&mut self) -> Result<(), Fault> {
        if !self.shows(Defect::RepeatsEntries) {
            self.set(self.at.and_then(|at| at.checked_sub(1)));
        }
        Ok(())
    }

    fn valid(&self) -> bool {
        self.at.is_some()
    }

    fn key(&self) -> &[u8] {
        &self.entries[self.at.expect("valid")].0
    }

    fn value(&mut self) -> Result<&[u8], Fault> {
        let flips = self.shows(Defect::FlipsScans);
        let value = &mut self.entries[self.at.expect("valid")].1;
        if flips {
            value[99] ^= 0x20;
        }
        Ok(value)
    }
}

/// A plan over `num` keys in `db`.
pub(crate) fn plan(db: &Path, num: u64, benchmarks: &[&str]) -> Plan {
    Plan {
        engine: "faulty".into(),
        benchmarks: benchmarks.iter().map(|&name| name.to_owned()).collect(),
        db: db.to_owned(),
        num,
        reads: num,
        writes: num,
        deletes: num,
        threads: 1,
        value_size: 100,
        compression_ratio: 0.5,
        key_len: 16,
        seed: 1000,
        readwritepercent: 90,
        mergereadpercent: 70,
        ranges: 10,
        // Far more than other tests of this process can use at the same time.
        memory: Memory::split(1 << 30, false),
        compression: true,
        verify: true,
        round: 1,
        ranked: true,
        ..Plan::default()
    }
}
