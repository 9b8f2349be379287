//! LevelDB's library as the tests use it.

use bench_core::engine::{Cursor as _, Durability, Role, Session as _, Store as _};
use bench_core::workload::settings::{Memory, Settings};
use engine_leveldb::LevelStore;

use crate::history::Pairs;
use crate::noise::Noise;

pub(crate) const ROLE: Role = Role::single(Durability::Os);

/// Settings within the limits that LevelDB enforces.
pub(crate) fn settings(noise: &mut Noise) -> Settings {
    let write_bytes = noise.pick(&[64 << 10, 64 << 10, 200 << 10, 8 << 20]);
    Settings {
        compression: noise.below(2) == 0,
        bloom_bits: noise.pick(&[None, Some(10)]),
        block_bytes: noise.pick(&[None, Some(1024), Some(4096), Some(64 << 10)]),
        file_bytes: Some(1 << 20),
        ..Settings::plain(Memory::shares(write_bytes, 1 << 20))
    }
}

/// All entries of a database, scanned in both directions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Contents {
    pub(crate) forward: Pairs,
    /// In ascending order too.
    pub(crate) backward: Pairs,
}

impl Contents {
    pub(crate) fn read(store: &LevelStore<'_>) -> Contents {
        let mut session = store.session(ROLE).unwrap();
        let mut cursor = session.cursor().unwrap();
        let (mut forward, mut backward) = (Vec::new(), Vec::new());
        cursor.first().unwrap();
        while cursor.valid() {
            forward.push((cursor.key().to_vec(), cursor.value().unwrap().to_vec()));
            cursor.next().unwrap();
        }
        cursor.last().unwrap();
        while cursor.valid() {
            backward.push((cursor.key().to_vec(), cursor.value().unwrap().to_vec()));
            cursor.prev().unwrap();
        }
        cursor.check().unwrap();
        backward.reverse();
        Contents { forward, backward }
    }
}
