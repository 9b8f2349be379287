//! One keyspace, and the form in which its keys are stored.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cairndb_base::coding::keyspace_prefix;
use cairndb_base::limits::KEYSPACE_BYTES;
use cairndb_base::{Error, ErrorKind, Order, Result};
use cairndb_format::manifest::KeyspaceRecord;

use crate::state::merge_operator::MergeOperator;
use crate::state::sections::{Section, StoredKey};

/// The bounds of a key range.
type KeyRange<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// One keyspace besides the default one.
#[derive(Debug)]
pub(crate) struct KeyspaceState {
    pub(crate) record: KeyspaceRecord,
    /// The order of its keys, without the number.
    pub(crate) order: Order,
    pub(crate) operator: Option<Arc<dyn MergeOperator>>,
    pub(super) dropped: AtomicBool,
}

impl KeyspaceState {
    pub(crate) fn section(&self) -> Section {
        Section::of_number(self.record.number)
    }

    /// Returns the first bytes of its stored keys.
    pub(crate) fn prefix(&self) -> [u8; KEYSPACE_BYTES] {
        keyspace_prefix(self.record.number)
    }

    /// Returns a key before all of its keys, and one after them. Neither is a key of any keyspace.
    pub(crate) fn ends(&self) -> ([u8; KEYSPACE_BYTES], [u8; KEYSPACE_BYTES]) {
        let number = self.record.number;
        (keyspace_prefix(number - 1), keyspace_prefix(number + 1))
    }

    /// Returns the stored form of the bounds of a range of keys.
    pub(crate) fn stored_range(&self, range: KeyRange<'_>) -> (Vec<u8>, Vec<u8>) {
        let stored = |bound, end: [u8; KEYSPACE_BYTES]| match bound {
            Bound::Unbounded => end.to_vec(),
            Bound::Included(key) | Bound::Excluded(key) => [&self.prefix()[..], key].concat(),
        };
        let (first, last) = self.ends();
        (stored(range.0, first), stored(range.1, last))
    }

    /// Returns `error` with the user's key, if it names a stored one.
    #[cold]
    pub(crate) fn users_error(&self, error: Error) -> Error {
        let users = error
            .key_bytes()
            .and_then(|key| key.strip_prefix(&self.prefix()));
        match users.map(<[u8]>::to_vec) {
            Some(users) => error.key(&users),
            None => error,
        }
    }

    /// Passes the stored form of `key` to `with`.
    #[inline]
    pub(crate) fn with_stored<T>(&self, key: &[u8], with: impl FnOnce(StoredKey<'_>) -> T) -> T {
        const SHORT_BYTES: usize = 64;
        let len = KEYSPACE_BYTES + key.len();
        let (mut short, mut long) = ([0; SHORT_BYTES], Vec::new());
        let bytes = if let Some(bytes) = short.get_mut(..len) {
            bytes[..KEYSPACE_BYTES].copy_from_slice(&self.prefix());
            bytes[KEYSPACE_BYTES..].copy_from_slice(key);
            &*bytes
        } else {
            long.reserve_exact(len);
            long.extend_from_slice(&self.prefix());
            long.extend_from_slice(key);
            &*long
        };
        with(StoredKey {
            section: self.section(),
            bytes,
        })
    }

    /// Checks that the merge operator accepts `operand`.
    ///
    /// # Errors
    /// `InvalidArgument` without an operator, otherwise the operator's error.
    pub(crate) fn check_operand(&self, operand: &[u8]) -> Result<()> {
        match &self.operator {
            Some(operator) => operator.check(operand),
            None => Err(no_operator()),
        }
    }

    pub(crate) fn is_dropped(&self) -> bool {
        // Acquire: a read that finds it set may find the keys gone, and one that does not has
        // loaded a view with them.
        self.dropped.load(Ordering::Acquire)
    }

    /// Checks that the keyspace still exists. A read does so after it has loaded its view.
    ///
    /// # Errors
    /// `Closed` if it was dropped.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_dropped() {
            return Err(self.is_closed());
        }
        Ok(())
    }

    #[cold]
    fn is_closed(&self) -> Error {
        Error::new(
            ErrorKind::Closed,
            "the keyspace of this handle was dropped; open the keyspace by its name",
        )
        .found(format_args!("keyspace {:?}", self.record.name))
    }

    /// Marks the keyspace as dropped. The caller holds the commit lock.
    pub(crate) fn set_dropped(&self) {
        self.dropped.store(true, Ordering::Release);
    }
}

#[cold]
pub(super) fn no_operator() -> Error {
    Error::invalid("the keyspace has no merge operator; create it with one")
}
