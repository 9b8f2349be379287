//! The result of recovery, from which the engine is assembled.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use cairndb_base::SeqNo;
use cairndb_env::Env;

use crate::recovery::folded_log::FoundHistory;
use crate::recovery::report::OpenReport;
use crate::state::lineage::Stored;
use crate::state::ranges::RangeMap;
use crate::state::sections::{Section, Sections};
use crate::state::version::Version;
use crate::versions::engine_state::ImmutableMemtable;

/// The result of recovery: everything needed to assemble the engine.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) version: Version,
    /// The deleted ranges, including replayed ones.
    pub(crate) ranges: Sections<RangeMap>,
    /// Replayed memtables that a read-only handle cannot flush.
    pub(crate) sealed: Vec<ImmutableMemtable>,
    pub(crate) last_seq: SeqNo,
    pub(crate) next_file: u64,
    pub(crate) next_run: u64,
    pub(crate) next_segment: u64,
    pub(crate) manifest: u64,
    pub(crate) value_dead: BTreeMap<u64, u64>,
    pub(crate) stored: Stored,
    pub(crate) history: FoundHistory,
    pub(crate) report: OpenReport,
    /// Directory listing, if recovery has changed nothing since it was read.
    pub(crate) listed: Option<Vec<String>>,
    /// Log files that a read-only handle replayed and left in place.
    pub(crate) logs: BTreeSet<u64>,
    /// Value files that this attempt has begun to create.
    pub(crate) made: Vec<u64>,
}

impl Recovered {
    /// Checks what the engine relies on.
    ///
    /// # Panics
    /// If recovery has broken a promise: damaged files are refused earlier.
    pub(crate) fn check(&self) {
        let tables = self.version.tables().map(|table| table.record.file);
        let values = self.version.values.keys().copied();
        assert!(
            tables
                .chain(values)
                .chain([self.manifest])
                .all(|file| file < self.next_file),
            "no file has a number that would be given out again"
        );
        assert!(
            self.version.runs.iter().all(|run| run.id < self.next_run),
            "no run has a number that would be given out again"
        );
        assert!(
            self.sealed
                .iter()
                .all(|sealed| sealed.mem.seq_max() <= self.last_seq),
            "no replayed write is newer than the last"
        );
        let pairs = self.sealed.windows(2);
        assert!(
            pairs
                .into_iter()
                .all(|pair| pair[0].mem.seq_max() < pair[1].mem.seq_min()),
            "replayed memtables are in the order of their writes"
        );
    }

    /// Begins an incarnation, unless the database was closed cleanly and has one, or is only read.
    pub(crate) fn begin_incarnation(&mut self, env: &dyn Env, read_only: bool) {
        let lineage = &self.stored.lineage;
        if !read_only && (!self.report.clean || lineage.incarnations().is_empty()) {
            self.stored.lineage = lineage.continued(env.random_u64(), self.last_seq);
        }
    }

    /// Counts bytes of a value file as dead, because no pointer refers to them any longer.
    pub(crate) fn add_dead(&mut self, file: u64, bytes: u64) {
        *self.value_dead.entry(file).or_insert(0) += bytes;
        if let Some(handle) = self.version.values.get(&file) {
            handle.dead.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Returns the prefix that all keys of the newest run share. The heads of the next memtable
    /// start after it.
    pub(crate) fn key_prefix(&self) -> Vec<u8> {
        let newest = self.version.runs.first();
        let Some(run) = newest.and_then(|run| run.part(Section::Default)) else {
            return Vec::new();
        };
        let (Some(first), Some(last)) = (run.tables().first(), run.tables().last()) else {
            return Vec::new();
        };
        let pairs = first.record.smallest.iter().zip(&last.record.largest);
        pairs.take_while(|(a, b)| a == b).map(|(a, _)| *a).collect()
    }
}
