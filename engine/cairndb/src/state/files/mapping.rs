//! `Mapping`: decides whether tables and value files are mapped or read by descriptor.
//!
//! The answer for tables depends on their size, their number, and the memory of the machine or
//! control group. It changes with them: [`Mapping::note`] reports that, and the caller replaces the
//! handles of the newest version, whose tables are then opened the other way. Views that are in use
//! keep the tables they have. A change back takes an eighth less, so that the answer does not
//! alternate at the limit.
//!
//! Threads: the numbers are relaxed atomics; a table that is opened at the moment of a change may
//! still be opened the old way, until it is compacted.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cairndb_env::Env;

/// Maximum number of tables of which each is mapped: a process can have some 65,000 mappings for
/// everything that it does.
const TABLES_MAX: u64 = 4096;

/// What decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Option,
    FileSystem,
    Fits,
    Large,
    Many,
}

impl Reason {
    fn text(self) -> &'static str {
        match self {
            Reason::Option => "Options::mapped is set",
            Reason::FileSystem => "the directory is not on a known local file system",
            Reason::Fits => "the tables take at most half of the memory",
            Reason::Large => "the tables take more than half of the memory",
            Reason::Many => "there are more than 4,096 tables",
        }
    }
}

/// Policy that decides which tables and value files are mapped.
#[derive(Debug)]
pub(crate) struct Mapping {
    env: Arc<dyn Env>,
    /// User's setting, which takes precedence.
    forced: Option<bool>,
    /// Whether the directory is on a local file system.
    local: bool,
    /// Maximum data size that the operating system's page cache can hold. Above it, faults on
    /// mapped pages would be slower and block more than `pread`.
    bytes_max: AtomicU64,
    /// Total size and number of all current tables.
    bytes: AtomicU64,
    tables: AtomicU64,
    /// Whether the tables fit.
    fits: AtomicBool,
    /// Total size of mapped value files, including mappings that only borrowed values keep. It does
    /// not count against tables: mapping saves more for a page than for a value, which is read
    /// whole either way.
    pub(crate) value_bytes: Arc<AtomicU64>,
}

impl Mapping {
    pub(crate) fn new(env: &Arc<dyn Env>, forced: Option<bool>, local: bool) -> Mapping {
        let mapping = Mapping {
            env: Arc::clone(env),
            forced,
            local,
            bytes_max: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            tables: AtomicU64::new(0),
            fits: AtomicBool::new(true),
            value_bytes: Arc::default(),
        };
        mapping.look();
        mapping
    }

    /// Reads the memory's size again, which the limit of a control group may have changed. May read
    /// small files.
    pub(crate) fn look(&self) {
        let half = self.env.memory_bytes() / 2;
        self.bytes_max.store(half, Ordering::Relaxed);
    }

    /// Records the size and number of the current tables. Returns whether open tables have to be
    /// opened again, because the answer for them has changed.
    pub(crate) fn note(&self, bytes: u64, tables: u64) -> bool {
        self.bytes.store(bytes, Ordering::Relaxed);
        self.tables.store(tables, Ordering::Relaxed);
        let before = self.wanted();
        let part = |max: u64| if before { max } else { max - max / 8 };
        let fits = bytes <= part(self.bytes_max.load(Ordering::Relaxed));
        let fits = fits && tables <= part(TABLES_MAX);
        self.fits.store(fits, Ordering::Relaxed);
        before != self.wanted()
    }

    /// Returns the total size of the current tables.
    pub(crate) fn table_bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns whether a table should be mapped if it is opened now.
    pub(crate) fn wanted(&self) -> bool {
        let fits = self.fits.load(Ordering::Relaxed);
        self.forced.unwrap_or(self.local && fits)
    }

    /// Returns whether another `bytes` of a value file should be mapped, and if so counts them.
    pub(crate) fn take_values(&self, bytes: u64) -> bool {
        let tables = self.table_bytes();
        let max = self.bytes_max.load(Ordering::Relaxed);
        let take = |mapped: u64| {
            let values = mapped.saturating_add(bytes);
            let fits = values.saturating_add(tables) <= max;
            self.forced.unwrap_or(self.local && fits).then_some(values)
        };
        let value_bytes = &self.value_bytes;
        value_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .is_ok()
    }

    fn reason(&self) -> Reason {
        match self.forced {
            Some(_) => Reason::Option,
            None if !self.local => Reason::FileSystem,
            None if self.fits.load(Ordering::Relaxed) => Reason::Fits,
            None if self.tables.load(Ordering::Relaxed) > TABLES_MAX - TABLES_MAX / 8 => {
                Reason::Many
            }
            None => Reason::Large,
        }
    }

    /// Returns the answer for tables and what it depends on, as a JSON object.
    pub(crate) fn json(&self) -> String {
        let mut out = String::from("{");
        let (mapped, reason) = (self.wanted(), self.reason().text());
        let numbers = [&self.tables, &self.bytes, &self.bytes_max];
        let [tables, bytes, max] = numbers.map(|number| number.load(Ordering::Relaxed));
        let _ = write!(
            out,
            "\"mapped\":{mapped},\"reason\":\"{reason}\",\"tables\":{tables},\
             \"table_bytes\":{bytes},\"table_bytes_max\":{max}}}"
        );
        out
    }
}

#[cfg(test)]
mod tests {
    use cairndb_env::{Background, MemEnv};

    use super::*;

    #[test]
    fn the_answer_changes_with_memory_size_and_number() {
        let env = MemEnv::new(Background::Stepped);
        env.set_memory_bytes(16_000);
        let mapping = |forced, local| {
            let env: Arc<dyn Env> = Arc::clone(&env) as Arc<dyn Env>;
            Mapping::new(&env, forced, local)
        };
        let free = mapping(None, true);
        // Size and number of tables, memory; whether the answer changes, and the reason.
        let steps = [
            (8000, 4096, 16_000, false, Reason::Fits),
            (8001, 1, 16_000, true, Reason::Large),
            (8000, 1, 16_000, false, Reason::Large),
            (7000, 1, 16_000, true, Reason::Fits),
            (7000, 4097, 16_000, true, Reason::Many),
            (7000, 3585, 16_000, false, Reason::Many),
            (7000, 3584, 16_000, true, Reason::Fits),
            (7000, 1, 13_998, true, Reason::Large),
            (7000, 1, 100_000, true, Reason::Fits),
        ];
        for (bytes, tables, memory, changes, reason) in steps {
            env.set_memory_bytes(memory);
            free.look();
            assert_eq!(
                free.note(bytes, tables),
                changes,
                "{bytes} {tables} {memory}"
            );
            assert_eq!(
                (free.reason(), free.wanted()),
                (reason, reason == Reason::Fits)
            );
        }
        for (fixed, reason) in [
            (mapping(Some(true), false), Reason::Option),
            (mapping(Some(false), true), Reason::Option),
            (mapping(None, false), Reason::FileSystem),
        ] {
            assert!(!fixed.note(u64::MAX, u64::MAX) && !fixed.note(0, 0));
            assert_eq!(fixed.reason(), reason);
        }
        let json = "{\"mapped\":true,\"reason\":\"the tables take at most half of the memory\",\
                    \"tables\":1,\"table_bytes\":7000,\"table_bytes_max\":50000}";
        assert_eq!(free.json(), json);
    }
}
