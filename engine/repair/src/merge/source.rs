//! One sorted source of a repair: tables that share no key, or a sorted part of the log.

use std::sync::Arc;

use cairndb_base::{Kind, Result, SeqNo};
use cairndb_format::manifest::DeletedRange;
use cairndb_format::table::{Table, TableCursor};

use crate::findings::Findings;
use crate::keyspaces::SECTIONS;
#[cfg(feature = "leveldb")]
use crate::leveldb::chain::LevelChain;
use crate::tables::chain::Chain;

/// The sources of each section.
pub(crate) type Sources = [Vec<MergeSource>; SECTIONS];

/// What log and manifest state besides the sources.
#[derive(Debug, Default)]
pub(crate) struct Stated {
    /// The last sequence number that is known.
    pub(crate) last_seq: SeqNo,
    /// The deleted ranges of all sections, in any order.
    pub(crate) ranges: Vec<DeletedRange>,
}

/// A source with a position.
pub(crate) enum MergeSource {
    Tables(Box<Chain>),
    Log(Box<TableCursor>),
    #[cfg(feature = "leveldb")]
    LevelTables(Box<LevelChain>),
}

impl MergeSource {
    /// Returns a sorted part of the log.
    ///
    /// # Errors
    /// The errors of reading the run.
    pub(crate) fn log(run: &Arc<Table>) -> Result<MergeSource> {
        let mut cursor = run.cursor();
        cursor.first()?;
        Ok(MergeSource::Log(Box::new(cursor)))
    }

    pub(crate) fn valid(&self) -> bool {
        match self {
            MergeSource::Tables(chain) => chain.valid(),
            MergeSource::Log(cursor) => cursor.valid(),
            #[cfg(feature = "leveldb")]
            MergeSource::LevelTables(chain) => chain.valid(),
        }
    }

    pub(crate) fn key(&self) -> &[u8] {
        match self {
            MergeSource::Tables(chain) => chain.key(),
            MergeSource::Log(cursor) => cursor.key(),
            #[cfg(feature = "leveldb")]
            MergeSource::LevelTables(chain) => chain.key(),
        }
    }

    pub(crate) fn seq(&self) -> SeqNo {
        match self {
            MergeSource::Tables(chain) => chain.mark().seq,
            MergeSource::Log(cursor) => cursor.seq(),
            #[cfg(feature = "leveldb")]
            MergeSource::LevelTables(chain) => chain.seq(),
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            MergeSource::Tables(chain) => chain.mark().kind,
            MergeSource::Log(cursor) => cursor.kind(),
            #[cfg(feature = "leveldb")]
            MergeSource::LevelTables(chain) => chain.kind(),
        }
    }

    /// Returns whether the current entry is older than a deletion of its range at `deleted`. The
    /// numbers 0 and 1 of a table stand for the deletions that were applied to it.
    pub(crate) fn is_deleted(&self, deleted: SeqNo) -> bool {
        match (self, self.seq()) {
            (MergeSource::Tables(chain), 0 | 1) => chain.ranges_applied() < deleted,
            (_, seq) => seq < deleted,
        }
    }

    /// Returns the age of the current entry: entries of a smaller age are newer. 0 is the log.
    pub(crate) fn age(&self) -> usize {
        match self {
            MergeSource::Tables(chain) => chain.age(),
            MergeSource::Log(_) => 0,
            // Their sequence numbers order them, and the log's entries, too.
            #[cfg(feature = "leveldb")]
            MergeSource::LevelTables(_) => 0,
        }
    }

    /// Returns whether the order of the current entry and those of other tables is not known.
    pub(crate) fn is_guessed(&self) -> bool {
        match self {
            MergeSource::Tables(chain) => chain.is_guessed(),
            MergeSource::Log(_) => false,
            #[cfg(feature = "leveldb")]
            MergeSource::LevelTables(_) => false,
        }
    }

    /// Replaces the contents of `out` with the current value.
    ///
    /// # Errors
    /// `Corruption` if the value is lost.
    pub(crate) fn value_into(&mut self, out: &mut Vec<u8>) -> Result<()> {
        match self {
            MergeSource::Tables(chain) => chain.value_into(out),
            MergeSource::Log(cursor) => {
                let value = cursor.value()?;
                out.clear();
                out.extend_from_slice(value);
                Ok(())
            }
            #[cfg(feature = "leveldb")]
            MergeSource::LevelTables(chain) => {
                out.clear();
                out.extend_from_slice(chain.value());
                Ok(())
            }
        }
    }

    /// Goes to the next entry.
    ///
    /// # Errors
    /// `FormatTooNew`; for the log, the errors of reading the run.
    pub(crate) fn advance(&mut self, findings: &mut Findings) -> Result<()> {
        match self {
            MergeSource::Tables(chain) => chain.advance(findings),
            MergeSource::Log(cursor) => cursor.next(),
            #[cfg(feature = "leveldb")]
            MergeSource::LevelTables(chain) => chain.advance(findings),
        }
    }
}
