//! Transactions: optimistic, checked by the compares of the commit.
//!
//! All reads are of one revision, that of the first read. The commit writes if every key that was
//! read still has the modification revision it had (0 if it was absent), and if no key in a scanned
//! range was modified later. A key that was removed from a range no longer takes part in the
//! compare of the range, which is why each key that a scan met is compared too.

use std::collections::BTreeMap;
use std::sync::Arc;

use cairndb_store::{CallOptions, Error, ErrorKind, OwnWrites, Result, Scan, Value};
use etcd_client::{GetOptions, Txn, TxnOp, TxnOpResponse};

use crate::etcd::cluster::{Call, Effect};
use crate::etcd::keys::Prefix;
use crate::etcd::memory::{Memory, operation_bytes};
use crate::etcd::reads::{EtcdShared, LIMITS, NEWEST, SERVER_BYTES_MAX};
use crate::etcd::scan::EtcdScan;
use crate::face::{AsyncRead, AsyncScan, AsyncTransaction, Pending};

#[derive(Debug)]
pub(super) struct EtcdTransaction {
    shared: Arc<EtcdShared>,
    memory: Arc<Memory>,
    options: CallOptions,
}

impl EtcdTransaction {
    pub(super) fn new(shared: &Arc<EtcdShared>, options: &CallOptions) -> EtcdTransaction {
        EtcdTransaction {
            shared: Arc::clone(shared),
            memory: Arc::default(),
            options: *options,
        }
    }

    /// Returns the options of a read: those of the transaction, unless it has its own.
    fn of_read(&self, options: &CallOptions) -> CallOptions {
        if options.get_timeout().is_some() {
            *options
        } else {
            self.options
        }
    }

    async fn values(&self, keys: &[&[u8]], options: &CallOptions) -> Result<Vec<Option<Value>>> {
        let options = self.of_read(options);
        let stored: Vec<&[u8]> = {
            let own = self.memory.own.lock();
            let stored = keys.iter().filter(|key| own.get(key).is_none());
            stored.copied().collect()
        };
        let mut found = BTreeMap::new();
        if !stored.is_empty() {
            let deadline = self.shared.cluster.deadline(&options);
            let (mut seen, options) = self.memory.seen(&options, &deadline).await?;
            let (values, read_at) = self.shared.values(&stored, seen.revision, &options).await?;
            seen.revision = read_at;
            for (key, value) in stored.into_iter().zip(values) {
                seen.keys.insert(key.to_vec(), value.changed);
                found.insert(key, value.value);
            }
        }
        let own = self.memory.own.lock();
        let value = |key: &&[u8]| match own.get(key) {
            Some(own) => own.clone(),
            None => found.get(key).cloned().flatten(),
        };
        Ok(keys.iter().map(value).collect())
    }

    async fn commit(self, options: &CallOptions) -> Result<()> {
        self.shared.cluster.check_open()?;
        let own = std::mem::take(&mut *self.memory.own.lock());
        if own.is_empty() {
            return Ok(());
        }
        let deadline = self.shared.cluster.deadline(options);
        let (seen, options) = self.memory.seen(options, &deadline).await?;
        LIMITS.check_size(own.len(), own.bytes())?;
        let prefix = &self.shared.prefix;
        let compares = seen.compares(prefix)?;
        check_request(&own, seen.request_bytes(prefix), prefix)?;
        let only_key = GetOptions::new().with_keys_only();
        let looks = seen
            .keys
            .keys()
            .map(|key| TxnOp::get(prefix.full(key), Some(only_key.clone())));
        let commit = Txn::new()
            .when(compares)
            .and_then(operations(&own, prefix))
            // What has changed, for the message.
            .or_else(looks.collect::<Vec<_>>());
        let commit = &commit;
        let call = |mut kv: etcd_client::KvClient| -> Call<'_, _> {
            Box::pin(async move { kv.txn(commit.clone()).await })
        };
        let cluster = &self.shared.cluster;
        let answer = cluster.ask(Effect::Writes, &options, call).await?;
        if answer.succeeded() {
            return Ok(());
        }
        let present = answer.op_responses();
        let error = Error::new(ErrorKind::Conflict, "another writer changed what was read");
        let changed = seen.keys.iter().zip(&present).find(|((_, changed), now)| {
            let TxnOpResponse::Get(get) = now else {
                return false;
            };
            get.kvs()
                .first()
                .map_or(0, etcd_client::KeyValue::mod_revision)
                != **changed
        });
        Err(match changed {
            Some(((key, _), _)) => error.key(key),
            None => error,
        })
    }
}

/// Checks the length of the request that commits `own` after reads that take `seen_bytes` of it.
fn check_request(own: &OwnWrites, seen_bytes: usize, prefix: &Prefix) -> Result<()> {
    let frames = own.len() * operation_bytes(prefix, 0);
    let bytes = own.bytes() + frames + seen_bytes;
    if bytes <= SERVER_BYTES_MAX {
        return Ok(());
    }
    let (max, found) = (SERVER_BYTES_MAX as u64, bytes as u64);
    Err(Error::limit_exceeded("batch_bytes", max, found))
}

/// Returns the operations that apply `own`.
pub(super) fn operations(own: &OwnWrites, prefix: &Prefix) -> Vec<TxnOp> {
    own.iter()
        .map(|(key, value)| match value {
            Some(value) => TxnOp::put(prefix.full(key), value, None),
            None => TxnOp::delete(prefix.full(key), None),
        })
        .collect()
}

impl AsyncRead for EtcdTransaction {
    fn get_with<'a>(
        &'a self,
        key: &'a [u8],
        options: &'a CallOptions,
    ) -> Pending<'a, Option<Value>> {
        Box::pin(async move {
            let found = self.values(&[key], options).await?;
            Ok(found.into_iter().next().flatten())
        })
    }

    fn multi_get_with<'a>(
        &'a self,
        keys: &'a [&'a [u8]],
        options: &'a CallOptions,
    ) -> Pending<'a, Vec<Option<Value>>> {
        Box::pin(self.values(keys, options))
    }

    fn scan_with(&self, scan: &Scan, options: &CallOptions) -> Box<dyn AsyncScan> {
        let options = self.of_read(options);
        let scan = EtcdScan::new(&self.shared, NEWEST, scan, &options);
        Box::new(scan.within(&self.memory))
    }
}

impl AsyncTransaction for EtcdTransaction {
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        LIMITS.check_entry(key, value)?;
        self.memory.own.lock().set(key, Some(value));
        Ok(())
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        LIMITS.check_key(key)?;
        self.memory.own.lock().set(key, None);
        Ok(())
    }

    fn commit_with<'a>(self: Box<Self>, options: &'a CallOptions) -> Pending<'a, ()>
    where
        Self: 'a,
    {
        Box::pin((*self).commit(options))
    }
}
