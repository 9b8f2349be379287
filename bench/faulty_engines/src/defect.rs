//! The defects of this program's engines.

/// The defect of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Defect {
    /// Acknowledges every ten-thousandth put without executing it.
    DropsKeys,
    /// Returns every ten-thousandth value with one byte changed.
    FlipsBytes,
    /// Acknowledges puts and writes them later.
    AcknowledgesFirst,
    /// Loses the first entry in a compaction.
    LosesCompacting,
    /// Acknowledges synchronous writes as soon as the system has them.
    SkipsSync,
    /// Keeps a copy of every value in memory, whatever its memory setting.
    IgnoresMemory,
    /// Crashes the process during merges.
    Crashes,
    /// Crashes the process during merges, but only once.
    CrashesOnce,
    /// Crashes the process when a store with merges is closed.
    CrashesClosing,
    /// Reports a full disk during a merge and crashes the process when the store is closed after
    /// that.
    CrashesAfterError,
    /// Does not exit when everything is done.
    Lingers,
}
