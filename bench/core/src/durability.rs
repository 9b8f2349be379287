//! What an acknowledged write survives.

/// What a write survives when the call has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Handed to the operating system: survives the death of the process.
    Os,
    /// On the medium: survives loss of power.
    Sync,
}

impl Durability {
    /// The word of the result record.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Os => "os",
            Self::Sync => "sync",
        }
    }
}
