//! What an import reads from: entries one after the other, from any format.

use cairndb::KeyspaceOptions;

use crate::failure::Result;

/// A keyspace of the source.
#[derive(Clone, Debug)]
pub(crate) struct KeyspaceSpec {
    pub(crate) name: String,
    pub(crate) options: KeyspaceOptions,
}

/// What a step has found.
#[derive(Debug)]
pub(crate) enum Step<'a> {
    /// The key and the value of an entry.
    Entry(&'a [u8], &'a [u8]),
    /// Something that is not an entry, and the reason. The numbers are those of its first and its
    /// last line, if the source is text. The next step goes on after it.
    Bad(Option<(u64, u64)>, String),
    /// The entries that follow are in this keyspace; `None` is the one to which an import goes.
    Keyspace(Option<KeyspaceSpec>),
    End,
}

/// A sequence of entries.
pub(crate) trait EntrySource {
    /// Goes to the next entry.
    ///
    /// # Errors
    /// Errors after which nothing more can be read.
    fn advance(&mut self) -> Result<Step<'_>>;

    /// Returns whether there may be keyspaces.
    fn has_keyspaces(&self) -> bool {
        false
    }

    /// Bytes read so far, and of the whole; `None` if that is not known.
    fn progress(&self) -> Option<(u64, u64)> {
        None
    }
}
