//! Transactions: optimistic, with snapshot isolation.
//!
//! The writes are kept here, because the client's own calls for them are asynchronous, and handed
//! over at the commit.

use std::sync::Arc;
use std::time::Duration;

use cairndb_store::{CallOptions, Direction, Entry, ErrorKind, OwnWrites, Result, Scan, Value};
use parking_lot::Mutex as SyncMutex;
use tikv_client::Transaction;
use tokio::sync::Mutex;

use crate::face::{AsyncRead, AsyncScan, AsyncTransaction, Deadline, Pending};
use crate::limits::check_keys;
use crate::paging::Progress;
use crate::tikv::closed::Closed;
use crate::tikv::errors::{Sent, convert};
use crate::tikv::reads::{LIMITS, entry, in_order, limit_of, locked, page_of, range_of, until};

pub(super) struct Shared {
    transaction: Mutex<Transaction>,
    own: SyncMutex<OwnWrites>,
    timeout: Duration,
    closed: Closed,
}

pub(super) struct TikvTransaction {
    shared: Arc<Shared>,
    options: CallOptions,
}

impl std::fmt::Debug for TikvTransaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TikvTransaction")
    }
}

impl TikvTransaction {
    pub(super) fn new(
        transaction: Transaction,
        timeout: Duration,
        closed: &Closed,
        options: &CallOptions,
    ) -> TikvTransaction {
        TikvTransaction {
            shared: Arc::new(Shared {
                transaction: Mutex::new(transaction),
                own: SyncMutex::default(),
                timeout,
                closed: closed.clone(),
            }),
            options: *options,
        }
    }

    fn deadline(&self, options: &CallOptions) -> Deadline {
        let options = if options.get_timeout().is_some() {
            options
        } else {
            &self.options
        };
        Deadline::of(options, self.shared.timeout)
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
            self.shared.closed.check()?;
            LIMITS.check_key(key)?;
            let own = self.shared.own.lock().get(key).cloned();
            if let Some(own) = own {
                return Ok(own);
            }
            let deadline = self.deadline(options);
            let mut transaction = locked(&self.shared.transaction, &deadline).await?;
            let found = until(&deadline, transaction.get(key.to_vec())).await?;
            Ok(found.map(Value::from))
        })
    }

    fn multi_get_with<'a>(
        &'a self,
        keys: &'a [&'a [u8]],
        options: &'a CallOptions,
    ) -> Pending<'a, Vec<Option<Value>>> {
        Box::pin(async move {
            self.shared.closed.check()?;
            check_keys(keys, &LIMITS)?;
            let deadline = self.deadline(options);
            let asked: Vec<Vec<u8>> = keys.iter().map(|key| key.to_vec()).collect();
            let mut transaction = locked(&self.shared.transaction, &deadline).await?;
            let pairs = until(&deadline, transaction.batch_get(asked)).await?;
            let mut found = in_order(keys, pairs);
            let own = self.shared.own.lock();
            for (key, value) in keys.iter().zip(&mut found) {
                if let Some(written) = own.get(key) {
                    value.clone_from(written);
                }
            }
            Ok(found)
        })
    }

    fn scan_with(&self, scan: &Scan, options: &CallOptions) -> Box<dyn AsyncScan> {
        let options = if options.get_timeout().is_some() {
            options
        } else {
            &self.options
        };
        Box::new(TransactionScan {
            shared: Arc::clone(&self.shared),
            progress: Progress::of(scan),
            options: *options,
        })
    }
}

impl AsyncTransaction for TikvTransaction {
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        LIMITS.check_entry(key, value)?;
        self.shared.own.lock().set(key, Some(value));
        Ok(())
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        LIMITS.check_key(key)?;
        self.shared.own.lock().set(key, None);
        Ok(())
    }

    fn commit_with<'a>(self: Box<Self>, options: &'a CallOptions) -> Pending<'a, ()>
    where
        Self: 'a,
    {
        Box::pin(async move {
            self.shared.closed.check()?;
            let deadline = self.deadline(options);
            let own = std::mem::take(&mut *self.shared.own.lock());
            if own.is_empty() {
                // Nothing is locked, so nothing has to be released.
                return Ok(());
            }
            let mut transaction = locked(&self.shared.transaction, &deadline).await?;
            commit(&mut transaction, &own, &deadline).await
        })
    }
}

struct TransactionScan {
    shared: Arc<Shared>,
    progress: Progress,
    options: CallOptions,
}

impl TransactionScan {
    async fn read(&mut self) -> Result<Vec<Entry>> {
        self.shared.closed.check()?;
        // A page may be empty although there is more, if the transaction has removed its entries.
        while !self.progress.ended() {
            let deadline = Deadline::of(&self.options, self.shared.timeout);
            let (range, limit) = (range_of(&self.progress.rest), limit_of(&self.progress));
            let mut transaction = locked(&self.shared.transaction, &deadline).await?;
            let stored: Result<Vec<Entry>> = match self.progress.rest.direction {
                Direction::Ascending => until(&deadline, transaction.scan(range, limit))
                    .await
                    .map(|pairs| pairs.map(entry).collect()),
                Direction::Descending => until(&deadline, transaction.scan_reverse(range, limit))
                    .await
                    .map(|pairs| pairs.map(entry).collect()),
            };
            drop(transaction);
            let Some(stored) = page_of(stored, &mut self.progress)? else {
                continue;
            };
            let more = stored.len() as u64 >= u64::from(limit);
            let window = self.progress.advance(&stored, more);
            let seen = self.shared.own.lock().lay_over(stored, &window);
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
