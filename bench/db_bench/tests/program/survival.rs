//! When a process dies without closing anything, every acknowledged write remains, for every engine
//! whose rows promise that.

use std::path::Path;
use std::process::{Command, Stdio};

use bench_core::engine::{Durability, Engine, Role, Session, Store, Survival, Variant};
use bench_core::workload::settings::{Memory, Settings};

use crate::engines::{Act, act, for_each_engine};

/// Variable that names what the child writes and where: an engine, `os` or `sync`, and a directory.
const PLACE: &str = "CAIRN_SURVIVAL";
/// Number of entries: enough for every engine to write tables, pages or chunks several times.
const ENTRIES: u32 = 40_000;
const ENTRIES_SYNCED: u32 = 20;

fn settings(durability: Durability) -> Settings {
    Settings {
        durability,
        entries: ENTRIES.into(),
        ..Settings::plain(Memory::split(4 << 20, false))
    }
}

fn entries(durability: Durability) -> u32 {
    match durability {
        Durability::Os => ENTRIES,
        Durability::Sync => ENTRIES_SYNCED,
    }
}

fn key(index: u32) -> String {
    format!("{:016}", u64::from(index) * 7919 % 1_000_003)
}

fn value(index: u32) -> String {
    format!("{index:0100}")
}

/// Writes everything, then dies.
struct Write<'d> {
    dir: &'d Path,
    durability: Durability,
}

impl Act for Write<'_> {
    fn with<E: Engine>(&self, engine: &E) {
        let durability = self.durability;
        let store = engine.open(self.dir, &settings(durability)).expect("opens");
        let role = Role::single(durability);
        let mut session = store.session(role).expect("a session");
        for index in 0..entries(durability) {
            session
                .put(key(index).as_bytes(), value(index).as_bytes())
                .expect("written");
        }
        std::process::abort();
    }
}

/// Runs the writer and counts the entries found afterwards.
struct Count<'n> {
    name: &'n str,
    durability: Durability,
}

impl Act for Count<'_> {
    fn with<E: Engine>(&self, engine: &E) {
        let (name, durability) = (self.name, self.durability);
        let home = tempfile::tempdir().expect("a directory");
        let word = Survival::from(durability).word();
        let status = Command::new(std::env::current_exe().expect("known"))
            .args(["--exact", "survival::child"])
            .env(PLACE, format!("{name}:{word}:{}", home.path().display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("starts");
        assert!(!status.success(), "{name}: it was to die");
        let store = engine
            .open(home.path(), &settings(durability))
            .expect("recovers");
        let role = Role::single(Durability::Os);
        let mut session = store.session(role).expect("a session");
        let kept = (0..entries(durability))
            .filter(|&index| {
                let found = session.get(key(index).as_bytes(), <[u8]>::to_vec);
                found.expect("readable") == Some(value(index).into_bytes())
            })
            .count();
        let promised = engine.survival(durability, Variant::Fair);
        let all = entries(durability) as usize;
        if promised == Survival::BelowOs {
            assert!(kept < all, "{name} is better than it says: {kept} of {all}");
        } else {
            assert_eq!(kept, all, "{name} lost writes at {}", promised.word());
        }
    }
}

/// Runs only as a child of the tests below.
#[test]
fn child() {
    let Ok(place) = std::env::var(PLACE) else {
        return;
    };
    let mut words = place.splitn(3, ':');
    let mut word = || words.next().expect("three words");
    let name = word();
    let durability = if word() == "sync" {
        Durability::Sync
    } else {
        Durability::Os
    };
    let dir = Path::new(word());
    act(name, &Write { dir, durability });
}

fn as_promised(name: &str) {
    for durability in [Durability::Os, Durability::Sync] {
        act(name, &Count { name, durability });
    }
}

for_each_engine! { as_promised:
    cairndb_survives_as_promised "cairndb",
    kyoto_treedb_survives_as_promised "kyoto_treedb",
    leveldb_survives_as_promised "leveldb",
    lmdb_survives_as_promised "lmdb",
    redb_survives_as_promised "redb",
    rocksdb_survives_as_promised "rocksdb",
    sqlite3_survives_as_promised "sqlite3",
    wiredtiger_btree_survives_as_promised "wiredtiger_btree",
    wiredtiger_lsm_survives_as_promised "wiredtiger_lsm",
}
