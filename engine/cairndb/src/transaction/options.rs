//! Settings of a transaction.

/// What a transaction is protected from.
///
/// In both cases all reads see the state at the start of the transaction, and its own writes.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// use cairndb::{ErrorKind, Isolation, TransactionOptions};
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = cairndb::Db::open(&dir)?;
/// for (isolation, committed) in [(Isolation::Serializable, false), (Isolation::Snapshot, true)] {
///     db.put(b"on call", b"Ada, Grace")?;
///     let transaction = db.transaction_with(&TransactionOptions::new().isolation(isolation));
///     let on_call = transaction.get(b"on call")?;
///     db.put(b"on call", b"Grace")?; // another writer is faster
///     transaction.put(b"Grace", b"leaves too")?;
///     let result = transaction.commit();
///     assert_eq!(result.is_ok(), committed);
///     assert!(committed || result.unwrap_err().kind() == ErrorKind::Conflict);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Isolation {
    /// The transactions that commit have the same results as if they had run one after another, in
    /// the order of their commits. A commit fails if another writer changed a key that the
    /// transaction read, or a key in a range that it scanned. Writing a key that the transaction
    /// has not read does not conflict.
    #[default]
    Serializable,
    /// Snapshot isolation: a commit fails if another writer changed a key that the transaction puts
    /// or deletes, or that it read with
    /// [`get_for_update`](crate::Transaction::get_for_update). Other reads are not recorded, so two
    /// transactions may each read what the other one writes, and both commit (write skew).
    Snapshot,
}

/// Settings of one transaction.
///
/// ```
/// use cairndb::{Isolation, TransactionOptions};
/// let options = TransactionOptions::new().isolation(Isolation::Snapshot);
/// # let _ = options;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TransactionOptions {
    pub(crate) isolation: Isolation,
}

impl TransactionOptions {
    /// Returns the default settings: [`Isolation::Serializable`].
    #[must_use]
    pub fn new() -> TransactionOptions {
        TransactionOptions::default()
    }

    /// Sets the isolation. The default is [`Isolation::Serializable`], because its results need no
    /// second thought; [`Isolation::Snapshot`] records less and conflicts less if transactions read
    /// much more than they write.
    #[must_use]
    pub fn isolation(mut self, isolation: Isolation) -> TransactionOptions {
        self.isolation = isolation;
        self
    }
}
