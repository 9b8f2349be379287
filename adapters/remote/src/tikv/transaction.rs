//! Transactions: optimistic, with snapshot isolation.
//!
//! The writes are kept here, because the client's own calls for them are asynchronous, and handed
//! over at the commit. Reads are those of a snapshot at the start of the transaction, over which
//! the writes are laid: the client's transaction would keep everything that is read in memory, and
//! serve one call at a time.

use std::sync::Arc;

use cairndb_store::{CallOptions, Entry, ErrorKind, OwnWrites, Result, Scan, Value};
use parking_lot::Mutex;
use tikv_client::Transaction;

use crate::face::{AsyncRead, AsyncScan, AsyncTransaction, Deadline, Pending};
use crate::paging::Progress;
use crate::tikv::errors::{Sent, convert};
use crate::tikv::reads::{LIMITS, TikvSnapshot, until};

pub(super) struct TikvTransaction {
    /// Only for the commit.
    transaction: Transaction,
    snapshot: TikvSnapshot,
    own: Arc<Mutex<OwnWrites>>,
    options: CallOptions,
}

impl std::fmt::Debug for TikvTransaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TikvTransaction")
    }
}

impl TikvTransaction {
    /// `snapshot` is the state at the start of `transaction`.
    pub(super) fn new(
        transaction: Transaction,
        snapshot: TikvSnapshot,
        options: &CallOptions,
    ) -> TikvTransaction {
        TikvTransaction {
            transaction,
            snapshot,
            own: Arc::default(),
            options: *options,
        }
    }

    /// Returns the options of a call: those of the transaction, unless it has its own.
    fn of_call(&self, options: &CallOptions) -> CallOptions {
        if options.get_timeout().is_some() {
            *options
        } else {
            self.options
        }
    }
}

/// Writes `own` and commits.
pub(super) async fn commit(
    transaction: &mut Transaction,
    own: &OwnWrites,
    deadline: &Deadline,
) -> Result<()> {
    LIMITS.check_size(own.len(), own.bytes())?;
    for (key, value) in own.iter() {
        match value {
            Some(value) => until(deadline, transaction.put(key.to_vec(), value.to_vec())).await?,
            None => until(deadline, transaction.delete(key.to_vec())).await?,
        }
    }
    match deadline.wait(transaction.commit()).await {
        Some(Ok(_)) => Ok(()),
        Some(Err(error)) => Err(convert(error, Sent::Write)),
        None => Err(deadline.exceeded().with_kind(ErrorKind::OutcomeUnknown)),
    }
}

impl AsyncRead for TikvTransaction {
    fn get_with<'a>(
        &'a self,
        key: &'a [u8],
        options: &'a CallOptions,
    ) -> Pending<'a, Option<Value>> {
        Box::pin(async move {
            self.snapshot.check_open()?;
            LIMITS.check_key(key)?;
            let own = self.own.lock().get(key).cloned();
            match own {
                Some(own) => Ok(own),
                None => self.snapshot.get_with(key, &self.of_call(options)).await,
            }
        })
    }

    fn multi_get_with<'a>(
        &'a self,
        keys: &'a [&'a [u8]],
        options: &'a CallOptions,
    ) -> Pending<'a, Vec<Option<Value>>> {
        Box::pin(async move {
            let options = self.of_call(options);
            let mut found = self.snapshot.multi_get_with(keys, &options).await?;
            let own = self.own.lock();
            for (key, value) in keys.iter().zip(&mut found) {
                if let Some(written) = own.get(key) {
                    value.clone_from(written);
                }
            }
            Ok(found)
        })
    }

    fn scan_with(&self, scan: &Scan, options: &CallOptions) -> Box<dyn AsyncScan> {
        Box::new(TransactionScan {
            snapshot: self.snapshot.clone(),
            own: Arc::clone(&self.own),
            progress: Progress::of(scan),
            options: self.of_call(options),
        })
    }
}

impl AsyncTransaction for TikvTransaction {
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        LIMITS.check_entry(key, value)?;
        self.own.lock().set(key, Some(value));
        Ok(())
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        LIMITS.check_key(key)?;
        self.own.lock().set(key, None);
        Ok(())
    }

    fn commit_with<'a>(self: Box<Self>, options: &'a CallOptions) -> Pending<'a, ()>
    where
        Self: 'a,
    {
        Box::pin(async move {
            self.snapshot.check_open()?;
            let deadline = self.snapshot.deadline(&self.of_call(options));
            let TikvTransaction {
                mut transaction,
                own,
                ..
            } = *self;
            let own = std::mem::take(&mut *own.lock());
            if own.is_empty() {
                // Nothing is locked, so nothing has to be released.
                return Ok(());
            }
            commit(&mut transaction, &own, &deadline).await
        })
    }
}

struct TransactionScan {
    snapshot: TikvSnapshot,
    own: Arc<Mutex<OwnWrites>>,
    progress: Progress,
    options: CallOptions,
}

impl TransactionScan {
    async fn read(&mut self) -> Result<Vec<Entry>> {
        self.snapshot.check_open()?;
        // A page may be empty although there is more, if the transaction has removed its entries.
        while !self.progress.ended() {
            let page = self.snapshot.page(&mut self.progress, &self.options);
            let (stored, more) = page.await?;
            let window = self.progress.advance(&stored, more);
            let seen = self.own.lock().lay_over(stored, &window);
            let seen = self.progress.take(seen);
            if !seen.is_empty() {
                return Ok(seen);
            }
        }
        Ok(Vec::new())
    }
}

impl AsyncScan for TransactionScan {
    fn next_page(&mut self) -> Pending<'_, Vec<Entry>> {
        Box::pin(self.read())
    }
}
