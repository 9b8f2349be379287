//! What an engine can do.

/// The operations an engine supports beyond put, get, delete and a forward scan. If a field is
/// `false`, the rows that need it print `skipped (not supported by ENGINE)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a list of independent abilities, not a state"
)]
pub struct Capabilities {
    /// Several entries in one atomic write.
    pub batch: bool,
    /// Merge operands with the operator `max`; without them, the rows read, modify and write.
    pub merge: bool,
    /// Reads from a snapshot while writers continue.
    pub snapshot: bool,
    /// Cursors that can step backward.
    pub reverse: bool,
    /// Seeking to the first key at or after a given key.
    pub seek: bool,
    /// A manual compaction of the whole store.
    pub compact: bool,
    /// A call that flushes memory to tables or pages.
    pub flush: bool,
    /// Writes that survive a power loss.
    pub sync: bool,
    /// A call that makes all earlier writes survive a power loss.
    pub sync_later: bool,
    /// Whether the engine stores what is written. Only the null engine does not; its answers are
    /// not checked.
    pub stores: bool,
}

impl Capabilities {
    /// Everything.
    pub const ALL: Self = Self {
        batch: true,
        merge: true,
        snapshot: true,
        reverse: true,
        seek: true,
        compact: true,
        flush: true,
        sync: true,
        sync_later: true,
        stores: true,
    };
}
