//! What the manifest states of a database besides its files and keyspaces, which never changes
//! while it is open.

use cairndb_base::{Error, ErrorKind, Result, SeqNo};
use cairndb_format::manifest::Incarnation;

/// Maximum number of incarnations that are kept. A place in an older one is unknown.
const INCARNATIONS_MAX: usize = 1000;

/// What a database was made with and has been through.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stored {
    /// The merge operator that the stored operands belong to, even if this handle has none.
    pub(crate) merge_operator: Option<String>,
    pub(crate) lineage: Lineage,
}

/// The incarnations of a database, oldest first, which say whether a sequence number still means
/// the write that it once did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lineage {
    incarnations: Vec<Incarnation>,
}

impl Lineage {
    /// Returns the lineage that a manifest states.
    pub(crate) fn new(incarnations: Vec<Incarnation>) -> Lineage {
        Lineage { incarnations }
    }

    pub(crate) fn incarnations(&self) -> &[Incarnation] {
        &self.incarnations
    }

    /// Returns the number of the present incarnation; 0 if there is none.
    pub(crate) fn present(&self) -> u64 {
        self.incarnations.last().map_or(0, |last| last.number)
    }

    /// Checks that the writes up to `seq` of an incarnation are among those of the present one, the
    /// last of which is `last`.
    ///
    /// # Errors
    /// `InvalidArgument` if the incarnation is of another database; `Revoked` if the writes were
    /// lost.
    pub(crate) fn check(&self, incarnation: u64, seq: SeqNo, last: SeqNo) -> Result<()> {
        let mut known = self.incarnations.iter();
        if !known.any(|it| it.number == incarnation) {
            let message = "the place is of another database; begin again with a snapshot";
            return Err(Error::invalid(message).found(format_args!("{incarnation:016x}-{seq}")));
        }
        let taken_over = known.next().map_or(last, |next| next.after);
        if seq <= taken_over {
            return Ok(());
        }
        let message = "the database has lost the last writes before this place, in a crash or in a \
                       copy of an earlier moment; begin again with a snapshot";
        Err(Error::new(ErrorKind::Revoked, message)
            .expected(format_args!("at most {taken_over}"))
            .found(seq))
    }

    /// Returns the lineage with another incarnation, which takes over everything up to `after` and
    /// is numbered by the bits of `random`.
    pub(crate) fn continued(&self, random: u64, after: SeqNo) -> Lineage {
        let mut incarnations = self.incarnations.clone();
        let before = incarnations.last().map_or(0, |last| last.after);
        incarnations.push(Incarnation {
            number: (random >> 2).max(1),
            after: after.max(before),
        });
        let surplus = incarnations.len().saturating_sub(INCARNATIONS_MAX);
        incarnations.drain(..surplus);
        Lineage { incarnations }
    }
}
