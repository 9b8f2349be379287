//! What an acknowledged write survives: as requested, and as provided.

/// What a write is asked to survive when the call has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Handed to the operating system: survives the death of the process.
    Os,
    /// On the medium: survives loss of power.
    Sync,
}

/// What a write really survives, which for some engines is less than requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Survival {
    /// Nothing is kept at all.
    None,
    /// Held in the process: its death may take acknowledged writes with it. Such rows are shown and
    /// not ranked.
    BelowOs,
    /// The death of the process.
    Os,
    /// Loss of power.
    Sync,
}

impl Survival {
    /// The word of the result record.
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::BelowOs => Self::BELOW_OS,
            Self::Os => "os",
            Self::Sync => "sync",
        }
    }

    /// The word of rows that are not ranked because of it.
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
