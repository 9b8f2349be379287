//! `Source`: where a feed reads.

use std::sync::Arc;
use std::time::Duration;

use cairndb_base::{Result, SeqNo};

use crate::changes::log_reader::Readable;
use crate::log::history::History;
use crate::state::lineage::Lineage;
use crate::versions::base::Base;

/// How far a feed may go.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ready {
    /// Last sequence number that readers see.
    pub(crate) published: SeqNo,
    /// Sequence number up to which everything is durable.
    pub(crate) durable: SeqNo,
    /// Sequence number up to which everything is in tables, durably.
    pub(crate) in_tables: SeqNo,
}

/// A log, and what holds it for one consumer.
pub(crate) trait Source: Send {
    fn base(&self) -> &Arc<Base>;

    /// Looks how far a consumer that has passed `seq` may go.
    ///
    /// # Errors
    /// `Revoked` if changes after `seq` are gone, or some before it were lost.
    fn look(&mut self, seq: SeqNo) -> Result<Ready>;

    /// Returns the segments that can be read now.
    fn readable(&self) -> Result<Readable>;

    /// Returns what is kept of the log, as of the last look.
    fn history(&self) -> &History;

    /// Returns the lineage, as of the last look.
    fn lineage(&self) -> &Lineage;

    /// Returns the sequence number after which the log is held.
    fn held(&self) -> SeqNo;

    /// Returns whether a lease holds it.
    fn is_leased(&self) -> bool;

    /// Records that the consumer needs nothing up to `seq`. If `at_once`, that becomes durable now.
    fn advance(&self, seq: SeqNo, at_once: bool) -> Result<()>;

    /// Returns whether what a consumer has read after `seq` may lack something: it has fallen off,
    /// or another consumer of its lease has acknowledged more.
    fn has_fallen(&self, seq: SeqNo) -> bool;

    /// Returns the sequence number up to which everything is durable now.
    fn durable(&self) -> SeqNo;

    /// Waits until more than `seen` is durable, or at most for `limit`.
    ///
    /// # Errors
    /// That of a handle after which nothing becomes durable any more.
    fn wait(&self, seen: SeqNo, limit: Option<Duration>) -> Result<()>;

    /// Makes more than `seen` durable, in an environment without threads. Returns whether that is
    /// so.
    fn step(&self, seen: SeqNo) -> bool;
}
