//! An open file and one thread's session.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;

use bench_core::engine::{Cursor, Durability, Role, Session, Store};
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;
use parking_lot::{Mutex, RwLock};

use crate::file::{PREWRITTEN, Records, ValueLocation};

/// An open directory.
#[derive(Debug)]
pub struct DiskStore {
    records: Records,
    /// The offset of the next record.
    end: Mutex<u64>,
    places: RwLock<BTreeMap<Vec<u8>, ValueLocation>>,
    asked: Settings,
}

impl DiskStore {
    pub(crate) fn open(dir: &Path, settings: &Settings) -> Result<Self, Fault> {
        let mut places = BTreeMap::new();
        let (records, end) = Records::open(&dir.join("records"), |key, place| {
            match place {
                Some(place) => places.insert(key, place),
                None => places.remove(&key),
            };
        })?;
        Ok(Self {
            records,
            end: Mutex::new(end),
            places: RwLock::new(places),
            asked: *settings,
        })
    }

    fn write(&self, key: &[u8], value: Option<&[u8]>, sync: bool) -> Result<(), Fault> {
        let offset = {
            let mut end = self.end.lock();
            let offset = *end;
            *end += Records::bytes_of(key, value);
            offset
        };
        let place = self.records.write(offset, key, value, sync)?;
        let mut places = self.places.write();
        match place {
            Some(place) => places.insert(key.to_vec(), place),
            None => places.remove(key),
        };
        Ok(())
    }
}

impl Store for DiskStore {
    type Session<'s> = DiskSession<'s>;

    fn session(&self, role: Role) -> Result<DiskSession<'_>, Fault> {
        Ok(DiskSession {
            store: self,
            sync: role.durability == Durability::Sync,
            value: Vec::new(),
        })
    }

    fn options(&self) -> Vec<(String, String)> {
        let reported = [
            ("prewritten", PREWRITTEN.to_string()),
            ("checksums", "none".to_owned()),
        ];
        let reported = reported.map(|(name, value)| (name.to_owned(), value));
        reported.into_iter().chain(self.asked.unused()).collect()
    }
}

/// One thread's session.
#[derive(Debug)]
pub struct DiskSession<'s> {
    store: &'s DiskStore,
    sync: bool,
    value: Vec<u8>,
}

impl Session for DiskSession<'_> {
    type Cursor<'c>
        = DiskCursor<'c>
    where
        Self: 'c;

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        self.store.write(key, Some(value), self.sync)
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        self.store.write(key, None, self.sync)
    }

    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, Fault> {
        let place = self.store.places.read().get(key).copied();
        let Some(place) = place else {
            return Ok(None);
        };
        self.store.records.read(place, &mut self.value)?;
        Ok(Some(found(&self.value)))
    }

    fn sync(&mut self) -> Result<(), Fault> {
        self.store.records.sync()
    }

    fn cursor(&mut self) -> Result<DiskCursor<'_>, Fault> {
        Ok(DiskCursor {
            store: self.store,
            entry: None,
            value: &mut self.value,
        })
    }
}

/// A cursor in key order. Each step looks up the next key, so that writers need not wait.
#[derive(Debug)]
pub struct DiskCursor<'c> {
    store: &'c DiskStore,
    entry: Option<(Vec<u8>, ValueLocation)>,
    value: &'c mut Vec<u8>,
}

impl DiskCursor<'_> {
    /// Moves to the first or the last entry in a range.
    fn go(&mut self, range: (Bound<&[u8]>, Bound<&[u8]>), backward: bool) {
        let places = self.store.places.read();
        let mut entries = places.range::<[u8], _>(range);
        let entry = if backward {
            entries.next_back()
        } else {
            entries.next()
        };
        self.entry = entry.map(|(key, place)| (key.clone(), *place));
    }
}

impl Cursor for DiskCursor<'_> {
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
        if let Some((_, place)) = &self.entry {
            self.store.records.read(*place, self.value)?;
        }
        Ok(self.value)
    }
}
