//! The failures that an acknowledged write survives, as requested and as provided.

/// The failures that a write is requested to survive once the call has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Written to the operating system: survives a crash of the process.
    Os,
    /// On the storage medium: survives a power loss.
    Sync,
}

/// The failures that a write actually survives, which for some engines is less than requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Survival {
    /// Nothing is stored at all.
    None,
    /// Buffered in the process: a crash of the process may lose acknowledged writes. Such rows are
    /// shown but not ranked.
    BelowOs,
    /// A crash of the process.
    Os,
    /// A power loss.
    Sync,
}

impl Survival {
    /// Returns the word used in the result record.
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::BelowOs => Self::BELOW_OS,
            Self::Os => "os",
            Self::Sync => "sync",
        }
    }

    /// The word for rows that are not ranked because of weaker durability.
    pub const BELOW_OS: &'static str = "below_os";
}

impl From<Durability> for Survival {
    fn from(asked: Durability) -> Self {
        match asked {
            Durability::Os => Self::Os,
            Durability::Sync => Self::Sync,
        }
    }
}
