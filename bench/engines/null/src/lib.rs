//! The engine that does nothing: it shows the cost of the harness itself.
//!
//! The null engine stores nothing. It answers every read with one value held in memory, and a scan
//! with as many entries as the store would contain. Its answers are not verified, but the checks
//! run and their cost is included.

use std::hint::black_box;
use std::path::Path;

use bench_core::engine::{Capabilities, Cursor, Engine, Role, Session, Store};
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;

/// The engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Null;

impl Engine for Null {
    type Store = NullStore;

    fn name(&self) -> &'static str {
        "null"
    }

    fn title(&self) -> &'static str {
        "Null"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            stores: false,
            ..Capabilities::ALL
        }
    }

    fn keyspaces(&self) -> bool {
        true
    }

    fn range_deletion(&self) -> bool {
        true
    }

    fn open(&self, _dir: &Path, settings: &Settings) -> Result<NullStore, Fault> {
        Ok(NullStore {
            key: vec![b'0'; settings.key_bytes],
            value: vec![b'v'; settings.value_bytes],
            entries: settings.entries,
        })
    }
}

/// One key, one value, and how many times a scan returns them.
#[derive(Clone, Debug)]
pub struct NullStore {
    key: Vec<u8>,
    value: Vec<u8>,
    entries: u64,
}

impl Store for NullStore {
    type Session<'s> = NullSession<'s>;

    fn session(&self, _role: Role) -> Result<NullSession<'_>, Fault> {
        Ok(NullSession { store: self })
    }

    fn compact(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    fn drop_keyspace(&mut self, _index: u32) -> Result<(), Fault> {
        Ok(())
    }
}

/// A session over nothing.
#[derive(Clone, Copy, Debug)]
pub struct NullSession<'s> {
    store: &'s NullStore,
}

impl<'s> Session for NullSession<'s> {
    type Cursor<'c>
        = NullCursor<'s>
    where
        Self: 'c;

    #[inline]
    fn enter(&mut self, keyspace: u32) -> Result<(), Fault> {
        black_box(keyspace);
        Ok(())
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        black_box((key, value));
        Ok(())
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        black_box(key);
        Ok(())
    }

    #[inline]
    fn delete_range(&mut self, from: &[u8], to: &[u8]) -> Result<(), Fault> {
        black_box((from, to));
        Ok(())
    }

    #[inline]
    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, Fault> {
        black_box(key);
        Ok(Some(found(black_box(&self.store.value))))
    }

    #[inline]
    fn batch_put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        black_box((key, value));
        Ok(())
    }

    #[inline]
    fn batch_delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        black_box(key);
        Ok(())
    }

    #[inline]
    fn sync(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    #[inline]
    fn batch_write(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    #[inline]
    fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<(), Fault> {
        black_box((key, operand));
        Ok(())
    }

    #[inline]
    fn cursor(&mut self) -> Result<NullCursor<'s>, Fault> {
        Ok(NullCursor {
            store: self.store,
            left: 0,
        })
    }
}

/// A cursor over `left` equal entries.
#[derive(Clone, Copy, Debug)]
pub struct NullCursor<'s> {
    store: &'s NullStore,
    left: u64,
}

impl Cursor for NullCursor<'_> {
    #[inline]
    fn first(&mut self) -> Result<(), Fault> {
        self.left = self.store.entries;
        Ok(())
    }

    #[inline]
    fn last(&mut self) -> Result<(), Fault> {
        self.first()
    }

    #[inline]
    fn seek(&mut self, key: &[u8]) -> Result<(), Fault> {
        black_box(key);
        self.left = self.store.entries;
        Ok(())
    }

    #[inline]
    fn next(&mut self) -> Result<(), Fault> {
        self.left -= 1;
        Ok(())
    }

    #[inline]
    fn prev(&mut self) -> Result<(), Fault> {
        self.next()
    }

    #[inline]
    fn valid(&self) -> bool {
        self.left > 0
    }

    #[inline]
    fn key(&self) -> &[u8] {
        black_box(&self.store.key)
    }

    #[inline]
    fn value(&mut self) -> Result<&[u8], Fault> {
        Ok(black_box(&self.store.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench_core::engine::Durability;
    use bench_core::workload::settings::Memory;

    #[test]
    fn every_read_finds_the_one_value_and_a_scan_as_many_as_asked_for() {
        let settings = Settings {
            entries: 7,
            value_bytes: 10,
            ..Settings::plain(Memory::split(4 << 20, false))
        };
        let store = Null
            .open(Path::new("nowhere"), &settings)
            .expect("nothing to open");
        let role = Role::single(Durability::Os);
        let mut session = store.session(role).expect("nothing to do");
        assert_eq!(session.get(b"any", <[u8]>::len).expect("answers"), Some(10));
        let mut cursor = session.cursor().expect("nothing to do");
        let mut entries = 0;
        cursor.first().expect("nothing to do");
        while cursor.valid() {
            assert_eq!(cursor.value().expect("answers"), b"vvvvvvvvvv");
            entries += 1;
            cursor.next().expect("nothing to do");
        }
        assert_eq!(entries, 7);
    }
}
