//! The store over a prefix of a cluster.

use std::sync::Arc;
use std::time::Duration;

use cairndb_store::{Batch, CallOptions, Engine, Isolation, Result, Scan, Value, Window};
use etcd_client::{Compare, CompareOp, DeleteOptions, Txn, TxnOp};

use crate::etcd::cluster::{Call, Cluster, Effect};
use crate::etcd::keys::Prefix;
use crate::etcd::reads::{EtcdShared, LIMITS, NEWEST};
use crate::etcd::scan::{EtcdScan, EtcdSnapshot};
use crate::etcd::transaction::{EtcdTransaction, operations};
use crate::etcd::watch::Watch;
use crate::face::{AsyncRead, AsyncScan, AsyncSnapshot, AsyncStore, AsyncTransaction, Pending};
use crate::limits::last_writes;
use crate::url::Address;

/// Time for opening, if the URL has no `timeout`: a program that starts should not hang for long
/// because of a wrong address.
const OPEN_TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);

/// The keys of an etcd cluster that start with a prefix.
///
/// The URL is `etcd://host:port,host:port,host:port/prefix`, with the settings `timeout` (`30s`; 10
/// seconds for opening), the time limit of a call, and `tls`, `ca`, `cert` and `key`, as for
/// PostgreSQL. Name all members: after a failure, another one is used.
///
/// A request holds at most 128 operations and 1.5 MB, and the database of a cluster at most 2 GB by
/// default: for more data, use another engine. The history grows with every write until it is
/// compacted; run the cluster with `--auto-compaction-retention`.
#[derive(Clone, Debug)]
pub struct EtcdStore {
    shared: Arc<EtcdShared>,
    engine: Engine,
}

impl EtcdStore {
    /// Connects to a member of the cluster.
    ///
    /// # Errors
    /// `InvalidArgument`: a malformed URL. `Unavailable`, `DeadlineExceeded`: no member answers
    /// within the setting `timeout`, or within 10 seconds if the URL has none. `Denied`.
    pub async fn connect(address: &Address) -> Result<EtcdStore> {
        let shared = Arc::new(EtcdShared {
            prefix: Prefix::of_path(address.path())?,
            cluster: Cluster::new(address)?,
        });
        // One read shows whether the cluster answers.
        let options = CallOptions::new().timeout(patience(address)?);
        shared.values(&[b""], NEWEST, &options).await?;
        let engine = Engine::networked("etcd", LIMITS, Isolation::Serializable);
        Ok(EtcdStore {
            shared,
            engine: engine.replicated(true),
        })
    }

    /// Watches the keys of `scan`: returns each change from now on, or from the revision `from`, in
    /// order. Direction and limit of `scan` are ignored.
    ///
    /// ```no_run
    /// # async fn watch() -> cairndb_store::Result<()> {
    /// use cairndb_remote::{Address, EtcdStore};
    /// use cairndb_store::Scan;
    /// let store = EtcdStore::connect(&Address::parse("etcd://localhost/stones")?).await?;
    /// let mut watch = store.watch(&Scan::prefix(b"user/"), None).await?;
    /// for change in watch.next().await? {
    ///     println!("{:?} is now {:?}", change.key, change.value);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// `Unavailable`, `Denied`, `Closed`.
    pub async fn watch(&self, scan: &Scan, from: Option<i64>) -> Result<Watch> {
        let from = if let Some(revision) = from {
            revision
        } else {
            // Fixed now, so that no change is missed between this call and the first answer.
            let options = CallOptions::new();
            let (_, revision) = self.shared.values(&[b""], NEWEST, &options).await?;
            revision + 1
        };
        Ok(Watch::new(&self.shared, scan, from))
    }

    fn transact<'a>(&'a self, request: Txn, options: &'a CallOptions) -> Pending<'a, bool> {
        Box::pin(async move {
            let request = &request;
            let call = |mut kv: etcd_client::KvClient| -> Call<'_, _> {
                Box::pin(async move { kv.txn(request.clone()).await })
            };
            let answer = self
                .shared
                .cluster
                .ask(Effect::Writes, options, call)
                .await?;
            Ok(answer.succeeded())
        })
    }
}

impl AsyncRead for EtcdStore {
    fn get_with<'a>(
        &'a self,
        key: &'a [u8],
        options: &'a CallOptions,
    ) -> Pending<'a, Option<Value>> {
        Box::pin(async move {
            let (mut found, _) = self.shared.values(&[key], NEWEST, options).await?;
            Ok(found.pop().and_then(|found| found.value))
        })
    }

    fn multi_get_with<'a>(
        &'a self,
        keys: &'a [&'a [u8]],
        options: &'a CallOptions,
    ) -> Pending<'a, Vec<Option<Value>>> {
        Box::pin(async move {
            let (found, _) = self.shared.values(keys, NEWEST, options).await?;
            Ok(found.into_iter().map(|found| found.value).collect())
        })
    }

    fn scan_with(&self, scan: &Scan, options: &CallOptions) -> Box<dyn AsyncScan> {
        Box::new(EtcdScan::new(&self.shared, NEWEST, scan, options))
    }
}

impl AsyncStore for EtcdStore {
    fn engine(&self) -> &Engine {
        &self.engine
    }

    fn put_with<'a>(
        &'a self,
        key: &'a [u8],
        value: &'a [u8],
        options: &'a CallOptions,
    ) -> Pending<'a, ()> {
        Box::pin(async move {
            LIMITS.check_entry(key, value)?;
            let full = &self.shared.prefix.full(key);
            let call = |mut kv: etcd_client::KvClient| -> Call<'_, _> {
                Box::pin(async move { kv.put(full.clone(), value, None).await })
            };
            self.shared
                .cluster
                .ask(Effect::Writes, options, call)
                .await?;
            Ok(())
        })
    }

    fn delete_with<'a>(&'a self, key: &'a [u8], options: &'a CallOptions) -> Pending<'a, ()> {
        Box::pin(async move {
            LIMITS.check_key(key)?;
            let full = &self.shared.prefix.full(key);
            let call = |mut kv: etcd_client::KvClient| -> Call<'_, _> {
                Box::pin(async move { kv.delete(full.clone(), None).await })
            };
            self.shared
                .cluster
                .ask(Effect::Writes, options, call)
                .await?;
            Ok(())
        })
    }

    fn delete_range_with<'a>(
        &'a self,
        scan: &'a Scan,
        options: &'a CallOptions,
    ) -> Pending<'a, ()> {
        Box::pin(async move {
            LIMITS.check_range(scan)?;
            let window = Window::of(scan);
            self.shared.cluster.check_open()?;
            if window.is_empty() {
                return Ok(());
            }
            let (start, end) = &self.shared.prefix.range(&window);
            let call = |mut kv: etcd_client::KvClient| -> Call<'_, _> {
                Box::pin(async move {
                    let range = DeleteOptions::new().with_range(end.clone());
                    kv.delete(start.clone(), Some(range)).await
                })
            };
            self.shared
                .cluster
                .ask(Effect::Writes, options, call)
                .await?;
            Ok(())
        })
    }

    fn write_with<'a>(&'a self, batch: &'a Batch, options: &'a CallOptions) -> Pending<'a, ()> {
        Box::pin(async move {
            let own = last_writes(batch, &LIMITS)?;
            self.shared.cluster.check_open()?;
            if own.is_empty() {
                return Ok(());
            }
            let request = Txn::new().and_then(operations(&own, &self.shared.prefix));
            self.transact(request, options).await?;
            Ok(())
        })
    }

    fn compare_and_set_with<'a>(
        &'a self,
        key: &'a [u8],
        expected: Option<&'a [u8]>,
        new: Option<&'a [u8]>,
        options: &'a CallOptions,
    ) -> Pending<'a, bool> {
        Box::pin(async move {
            LIMITS.check_entry(key, new.unwrap_or_default())?;
            let bytes = [expected, new].map(|value| value.map_or(0, <[u8]>::len));
            LIMITS.check_size(1, 2 * key.len() + bytes[0] + bytes[1])?;
            let full = self.shared.prefix.full(key);
            let compare = match expected {
                Some(value) => Compare::value(full.clone(), CompareOp::Equal, value),
                None => Compare::version(full.clone(), CompareOp::Equal, 0),
            };
            let mut request = Txn::new().when([compare]);
            match (expected, new) {
                (_, Some(new)) => request = request.and_then([TxnOp::put(full, new, None)]),
                (Some(_), None) => request = request.and_then([TxnOp::delete(full, None)]),
                (None, None) => {}
            }
            self.transact(request, options).await
        })
    }

    fn snapshot_with<'a>(
        &'a self,
        options: &'a CallOptions,
    ) -> Pending<'a, Box<dyn AsyncSnapshot>> {
        Box::pin(async move {
            let snapshot = EtcdSnapshot::take(&self.shared, options).await?;
            Ok(Box::new(snapshot) as Box<dyn AsyncSnapshot>)
        })
    }

    fn begin_with<'a>(
        &'a self,
        options: &'a CallOptions,
    ) -> Pending<'a, Box<dyn AsyncTransaction>> {
        Box::pin(async move {
            self.shared.cluster.check_open()?;
            let transaction = EtcdTransaction::new(&self.shared, options);
            Ok(Box::new(transaction) as Box<dyn AsyncTransaction>)
        })
    }

    fn sync(&self) -> Pending<'_, ()> {
        Box::pin(async move { self.shared.cluster.check_open() })
    }

    fn close(&self) -> Pending<'_, ()> {
        Box::pin(async move {
            self.shared.cluster.close();
            Ok(())
        })
    }

    fn pause(&self, attempt: u32) -> Pending<'_, ()> {
        crate::face::pause(attempt)
    }
}

/// Returns how long to wait for the cluster when it is opened.
fn patience(address: &Address) -> Result<Duration> {
    match address.setting("timeout") {
        Some(_) => address.timeout(),
        None => Ok(OPEN_TIMEOUT_DEFAULT),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::patience;
    use crate::url::Address;

    #[test]
    fn opening_waits_as_long_as_the_url_says() {
        for (settings, seconds) in [("?timeout=60s", 60), ("?timeout=2s", 2), ("", 10)] {
            let address = Address::parse(&format!("etcd://localhost/p{settings}"));
            let patience = patience(&address.expect("a valid URL")).expect("a duration");
            assert_eq!(patience, Duration::from_secs(seconds), "{settings}");
        }
    }
}
