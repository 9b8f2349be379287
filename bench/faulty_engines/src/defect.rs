//! The defects of this program's engines.

/// What an engine does that it should not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Defect {
    /// Acknowledges every ten thousandth put without doing it.
    DropsKeys,
    /// Returns every ten thousandth value with one byte changed.
    FlipsBytes,
    /// Acknowledges puts and writes them some time later.
    AcknowledgesFirst,
    /// Loses the first entry when it compacts.
    LosesCompacting,
    /// Acknowledges synchronous writes as soon as the system has them.
    SkipsSync,
    /// Keeps a copy of every value in memory, whatever its memory setting.
    IgnoresMemory,
    /// Ends the process in the middle of merging.
    Crashes,
    /// The same, but only once.
    CrashesOnce,
    /// Ends the process when a store is closed that had been merged into.
    CrashesClosing,
    /// Reports a full disk in merging, and ends the process when it is closed after that.
    CrashesAfterError,
    /// Does not end its process when everything is done.
    Lingers,
}
