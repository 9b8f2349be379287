//! Single reads, at the newest revision or at an earlier one.

use cairndb_store::{CallOptions, Entry, Error, ErrorKind, Limits, Result, Value};
use etcd_client::{GetOptions, KeyValue, SortOrder, SortTarget, Txn, TxnOp, TxnOpResponse};

use crate::etcd::cluster::{Call, Cluster, Effect};
use crate::etcd::errors::Failure;
use crate::etcd::keys::Prefix;
use crate::limits::check_keys;
use crate::paging::Progress;

/// Operations of one request that etcd accepts by default.
pub(super) const OPS_MAX: usize = 128;
/// Bytes of one request that etcd accepts by default, with its lengths and prefixes.
pub(super) const SERVER_BYTES_MAX: usize = 3 << 19;
/// Bytes of keys and values in one request: the rest is enough for the lengths and prefixes of
/// [`OPS_MAX`] writes.
const REQUEST_BYTES_MAX: usize = 1_500_000;
/// Longest key. etcd has no limit of its own, but keeps all keys in memory.
const KEY_BYTES_MAX: usize = 64 << 10;

pub(super) const LIMITS: Limits = Limits::embedded()
    .entry(KEY_BYTES_MAX, REQUEST_BYTES_MAX)
    .batch(OPS_MAX, REQUEST_BYTES_MAX)
    .transaction(OPS_MAX, None);

/// The newest revision, for a read that has no other.
pub(super) const NEWEST: i64 = 0;

/// A value with the revision of its last change; absent keys have revision 0.
#[derive(Clone, Debug, Default)]
pub(super) struct RevisedValue {
    pub(super) value: Option<Value>,
    pub(super) changed: i64,
}

impl RevisedValue {
    fn of(entry: Option<&KeyValue>) -> RevisedValue {
        match entry {
            None => RevisedValue::default(),
            Some(entry) => RevisedValue {
                value: Some(Value::from(entry.value())),
                changed: entry.mod_revision(),
            },
        }
    }
}

/// What a store, snapshot or transaction reads.
#[derive(Debug)]
pub(super) struct EtcdShared {
    pub(super) cluster: Cluster,
    pub(super) prefix: Prefix,
}

/// An answer that lacks a part of the protocol.
fn incomplete() -> Error {
    Error::new(ErrorKind::Engine, "the answer of the engine is incomplete")
}

impl EtcdShared {
    /// Reads the values of `keys` as of `revision`. Returns them with the revision at which they
    /// were read.
    pub(super) async fn values(
        &self,
        keys: &[&[u8]],
        mut revision: i64,
        options: &CallOptions,
    ) -> Result<(Vec<RevisedValue>, i64)> {
        let mut values = Vec::with_capacity(keys.len());
        check_keys(keys, &LIMITS)?;
        let (mut rest, mut longest) = (keys, OPS_MAX);
        while !rest.is_empty() {
            let (part, further) = rest.split_at(longest.min(rest.len()));
            match self.part(part, revision, options).await {
                Ok((found, read_at)) => {
                    values.extend(found);
                    // Further parts are read at the revision of the first one.
                    (rest, revision) = (further, read_at);
                }
                Err(Failure::TooLong(_)) if part.len() > 1 => longest = part.len() / 2,
                Err(failure) => return Err(failure.into_error()),
            }
        }
        if keys.is_empty() {
            self.cluster.check_open()?;
        }
        Ok((values, revision))
    }

    async fn part(
        &self,
        keys: &[&[u8]],
        revision: i64,
        options: &CallOptions,
    ) -> std::result::Result<(Vec<RevisedValue>, i64), Failure> {
        let refused = || Failure::Refused(incomplete());
        let at = GetOptions::new().with_revision(revision);
        if let [key] = keys {
            let full = &self.prefix.full(key);
            let call = |mut kv: etcd_client::KvClient| -> Call<'_, _> {
                let at = at.clone();
                Box::pin(async move { kv.get(full.clone(), Some(at)).await })
            };
            let answer = self.cluster.run(Effect::Reads, options, call).await?;
            let read_at = answer.header().ok_or_else(refused)?.revision();
            let found = vec![RevisedValue::of(answer.kvs().first())];
            return Ok((found, at_least(revision, read_at)));
        }
        let gets: Vec<TxnOp> = keys
            .iter()
            .map(|key| TxnOp::get(self.prefix.full(key), Some(at.clone())))
            .collect();
        let gets = &gets;
        let call = |mut kv: etcd_client::KvClient| -> Call<'_, _> {
            Box::pin(async move { kv.txn(Txn::new().and_then(gets.clone())).await })
        };
        let answer = self.cluster.run(Effect::Reads, options, call).await?;
        let read_at = answer.header().ok_or_else(refused)?.revision();
        let found: Vec<RevisedValue> = answer
            .op_responses()
            .iter()
            .filter_map(|response| match response {
                TxnOpResponse::Get(get) => Some(RevisedValue::of(get.kvs().first())),
                _ => None,
            })
            .collect();
        if found.len() != keys.len() {
            return Err(refused());
        }
        Ok((found, at_least(revision, read_at)))
    }

    /// Reads the next entries of a scan as of `revision`, with the revisions of their last changes,
    /// and the revision at which they were read.
    pub(super) async fn page(
        &self,
        progress: &mut Progress,
        revision: i64,
        options: &CallOptions,
    ) -> Result<(Vec<Entry>, Vec<i64>, i64)> {
        loop {
            let (start, end) = &self.prefix.range(&progress.rest);
            let wanted = i64::try_from(progress.wanted()).unwrap_or(i64::MAX);
            let mut at = GetOptions::new()
                .with_range(end.clone())
                .with_limit(wanted)
                .with_revision(revision);
            // The natural order is ascending. Any order that is asked for makes the server read the
            // whole range before it cuts off the page.
            if progress.rest.direction == cairndb_store::Direction::Descending {
                at = at.with_sort(SortTarget::Key, SortOrder::Descend);
            }
            let call = |mut kv: etcd_client::KvClient| -> Call<'_, _> {
                let at = at.clone();
                Box::pin(async move { kv.get(start.clone(), Some(at)).await })
            };
            let mut answer = match self.cluster.run(Effect::Reads, options, call).await {
                Ok(answer) => answer,
                Err(Failure::TooLong(_)) if progress.shrink() => continue,
                Err(failure) => return Err(failure.into_error()),
            };
            let read_at = answer.header().ok_or_else(incomplete)?.revision();
            let entries = answer.take_kvs();
            let mut page = Vec::with_capacity(entries.len());
            let mut changed = Vec::with_capacity(entries.len());
            for entry in entries {
                changed.push(entry.mod_revision());
                let (key, value) = entry.into_key_value();
                page.push((Value::from(self.prefix.strip(&key)?), Value::from(value)));
            }
            return Ok((page, changed, at_least(revision, read_at)));
        }
    }
}

/// Returns the revision at which a read took place: the one it asked for, or else the newest.
const fn at_least(asked: i64, newest: i64) -> i64 {
    if asked == NEWEST { newest } else { asked }
}
