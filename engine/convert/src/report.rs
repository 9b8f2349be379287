//! What a conversion says: its plan, its progress and its result.

use std::time::Duration;

/// What a conversion would do, estimated from samples; nothing was changed.
///
/// ```no_run
/// let plan = cairndb::leveldb::plan("chainstate", &cairndb::Options::new())?;
/// println!("{} bytes, about {:?}", plan.target_bytes, plan.duration);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpgradePlan {
    /// Bytes of LevelDB's tables and logs. They stay in `leveldb-original/`, and take no further
    /// space where the file system has hard links.
    pub source_bytes: u64,
    /// Estimated bytes of the new files, a tenth added. A conversion needs that much free space.
    pub target_bytes: u64,
    /// Estimated number of entries, without those in logs. Entries that newer ones hide are
    /// counted.
    pub entries: u64,
    /// Estimated bytes of keys and values, counted in the same way.
    pub raw_bytes: u64,
    /// Free bytes on the file system, if it reports them.
    pub free_bytes: Option<u64>,
    /// Estimated duration: as long as reading and writing the samples took, in proportion. Cold
    /// caches make it too long. A disk slower than one processor core makes it too short.
    pub duration: Duration,
}

impl UpgradePlan {
    /// Returns whether the file system has enough free space, as far as known.
    pub fn fits(&self) -> bool {
        self.free_bytes.is_none_or(|free| free >= self.target_bytes)
    }
}

/// A step of a conversion. [`UpgradeProgress`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpgradeStep {
    /// Linking LevelDB's files into `leveldb-original/`.
    Linking,
    /// Writing the new files.
    Writing,
    /// Reading the new files back.
    Verifying,
    /// Replacing `CURRENT`, and removing LevelDB's names.
    Finishing,
}

/// Where a conversion is. Reported at the start of each step and after every few thousand entries.
///
/// ```no_run
/// use cairndb::leveldb::{UpgradeOptions, UpgradeProgress};
/// let options = UpgradeOptions::new(cairndb::Options::new())
///     .on_progress(|at: &UpgradeProgress| eprintln!("{:?}: {} entries", at.step, at.entries));
/// cairndb::leveldb::upgrade("chainstate", options)?;
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpgradeProgress {
    /// The current step.
    pub step: UpgradeStep,
    /// Entries that the step has handled.
    pub entries: u64,
    /// Bytes of the keys and values of these entries.
    pub bytes: u64,
    /// Estimated bytes of all keys and values; exact while verifying.
    pub bytes_expected: u64,
}

/// What a conversion found to do. [`UpgradeReport`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpgradeOutcome {
    /// The database was LevelDB's and is CairnDB's now.
    Converted,
    /// An earlier attempt had converted the database and died before it had removed LevelDB's
    /// names, which this attempt removed.
    Finished,
    /// The database was CairnDB's already.
    NothingToDo,
}

/// The result of a conversion.
///
/// ```no_run
/// use cairndb::leveldb::{UpgradeOptions, UpgradeOutcome, upgrade};
/// let report = upgrade("chainstate", UpgradeOptions::new(cairndb::Options::new()))?;
/// assert_eq!(report.outcome, UpgradeOutcome::Converted);
/// println!("{} entries in {} tables", report.entries, report.tables);
/// # Ok::<(), cairndb::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpgradeReport {
    /// What was to be done. Unless it is [`UpgradeOutcome::Converted`], all numbers are 0.
    pub outcome: UpgradeOutcome,
    /// Live entries, each of which was read back.
    pub entries: u64,
    /// Bytes of their keys and values.
    pub raw_bytes: u64,
    /// Number of new tables.
    pub tables: u64,
    /// Bytes of the new tables and value files.
    pub target_bytes: u64,
    /// Whether a crash had torn the end of LevelDB's newest log or manifest, as LevelDB itself
    /// tolerates: what follows the tear was dropped.
    pub torn: bool,
    /// Names of the logs that were missing, whose writes are lost; see
    /// `Options::upgrade_without_log`.
    pub missing_logs: Vec<String>,
}

impl UpgradeReport {
    /// Returns the report of an attempt that converted nothing.
    pub(crate) fn of(outcome: UpgradeOutcome) -> UpgradeReport {
        UpgradeReport {
            outcome,
            entries: 0,
            raw_bytes: 0,
            tables: 0,
            target_bytes: 0,
            torn: false,
            missing_logs: Vec::new(),
        }
    }
}

/// The receiver of progress reports.
pub type Progress<'p> = dyn FnMut(&UpgradeProgress) + 'p;
