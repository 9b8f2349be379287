//! `Census`: how many bytes of each value file the tables of a version point to.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use cairndb_format::value_file::HEADER_BYTES;

use crate::state::version::Version;

/// Usage of a value file in one version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileUsage {
    pub(crate) file: u64,
    /// Number of bytes of its records.
    pub(crate) bytes: u64,
    /// Number of bytes of the records that tables point to.
    pub(crate) live: u64,
}

impl FileUsage {
    pub(crate) fn dead(&self) -> u64 {
        self.bytes.saturating_sub(self.live)
    }
}

/// All value files of a version.
#[derive(Debug)]
pub(crate) struct Census {
    pub(crate) files: Vec<FileUsage>,
    /// Total size of the tables that point to any of them.
    pub(crate) pointing: u64,
    /// Number of bytes that the last run points to. Nothing older can be hidden by them, so under
    /// load they stand for the live bytes.
    pub(crate) last_run: u64,
}

impl Census {
    pub(crate) fn of(version: &Version) -> Census {
        let mut live: BTreeMap<u64, u64> = BTreeMap::new();
        let mut pointing = 0;
        for table in version.tables() {
            for (file, bytes) in &table.record.value_refs {
                let sum: &mut u64 = live.entry(*file).or_insert(0);
                *sum = sum.saturating_add(*bytes);
            }
            if !table.record.value_refs.is_empty() {
                pointing += table.record.bytes;
            }
        }
        let files = version.values.values().map(|handle| FileUsage {
            file: handle.number,
            bytes: (handle.bytes.load(Ordering::Relaxed)).saturating_sub(HEADER_BYTES as u64),
            live: live.get(&handle.number).copied().unwrap_or(0),
        });
        let last_run = version.runs.last().map_or(0, |run| {
            let records = run.tables().iter().map(|table| table.record.value_bytes());
            records.fold(0, u64::saturating_add)
        });
        Census {
            files: files.collect(),
            pointing,
            last_run,
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    pub(crate) fn dead(&self) -> u64 {
        self.files.iter().map(FileUsage::dead).sum()
    }
}
