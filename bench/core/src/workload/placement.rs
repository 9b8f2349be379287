//! Where a store runs: in this process, or on servers that it reaches over a network.

/// Where a store runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// In this process.
    Embedded,
    /// On one server: each call waits for a round trip.
    Networked,
    /// On several servers, most of which have every write before it is acknowledged.
    Replicated,
}

impl Placement {
    /// Returns the label of rows; `None` if the store runs in this process.
    pub const fn label(self) -> Option<&'static str> {
        match self {
            Self::Embedded => None,
            Self::Networked => Some("networked"),
            Self::Replicated => Some("networked, replicated"),
        }
    }
}
