//! What a session is opened for.

use crate::workload::durability::Durability;

/// The intended use of a session, known before its first call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Role {
    /// The durability of each write of the session.
    pub durability: Durability,
    /// Whether each write has a key after all that exist, so that an append mode may be used.
    pub appending: bool,
    /// Whether the store is empty, so that such writes may also use a bulk load.
    pub empty: bool,
    /// Number of sessions open at the same time, including this one: one for each thread of the
    /// row.
    pub sessions: u32,
    /// Whether any of these sessions writes.
    pub changing: bool,
}

impl Role {
    /// The role of the only session, which writes in any order.
    pub const fn single(durability: Durability) -> Self {
        Self {
            durability,
            appending: false,
            empty: false,
            sessions: 1,
            changing: true,
        }
    }
}
