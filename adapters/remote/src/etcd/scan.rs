//! Scans and snapshots: reads at a fixed revision.

use std::sync::Arc;

use cairndb_store::{CallOptions, Entry, Result, Scan, Value};

use crate::etcd::memory::Memory;
use crate::etcd::reads::{EtcdShared, NEWEST};
use crate::face::{AsyncRead, AsyncScan, AsyncSnapshot, Pending};
use crate::paging::Progress;

/// A scan. Its first page fixes the revision, unless its snapshot or transaction has one.
#[derive(Debug)]
pub(super) struct EtcdScan {
    shared: Arc<EtcdShared>,
    /// The transaction that scans.
    memory: Option<Arc<Memory>>,
    revision: i64,
    progress: Progress,
    options: CallOptions,
}

impl EtcdScan {
    pub(super) fn new(
        shared: &Arc<EtcdShared>,
        revision: i64,
        scan: &Scan,
        options: &CallOptions,
    ) -> EtcdScan {
        EtcdScan {
            shared: Arc::clone(shared),
            memory: None,
            revision,
            progress: Progress::of(scan),
            options: *options,
        }
    }

    /// Makes the scan part of a transaction.
    pub(super) fn within(mut self, memory: &Arc<Memory>) -> EtcdScan {
        self.memory = Some(Arc::clone(memory));
        self
    }

    async fn read(&mut self) -> Result<Vec<Entry>> {
        // A page may be empty although there is more, if the transaction has removed its entries.
        while !self.progress.ended() {
            let page = match self.memory.clone() {
                None => self.read_stored().await?,
                Some(memory) => {
                    let deadline = self.shared.cluster.deadline(&self.options);
                    let (mut seen, options) = memory.seen(&self.options, &deadline).await?;
                    self.revision = seen.revision;
                    let wanted = self.progress.wanted();
                    let (page, changed, read_at) = self
                        .shared
                        .page(&mut self.progress, self.revision, &options)
                        .await?;
                    let more = page.len() as u64 >= wanted.min(self.progress.wanted());
                    let window = self.progress.advance(&page, more);
                    seen.revision = read_at;
                    seen.add_page(&page, &changed, &window);
                    let own = memory.own.lock();
                    own.lay_over(page, &window)
                }
            };
            let page = self.progress.take(page);
            if !page.is_empty() {
                return Ok(page);
            }
        }
        self.shared.cluster.check_open()?;
        Ok(Vec::new())
    }

    async fn read_stored(&mut self) -> Result<Vec<Entry>> {
        let (page, _, read_at) = self
            .shared
            .page(&mut self.progress, self.revision, &self.options)
            .await?;
        self.revision = read_at;
        // `wanted` may have become smaller meanwhile; a shorter page is the last one.
        let more = page.len() as u64 >= self.progress.wanted();
        let _ = self.progress.advance(&page, more);
        Ok(page)
    }
}

impl AsyncScan for EtcdScan {
    fn next_page(&mut self) -> Pending<'_, Vec<Entry>> {
        Box::pin(self.read())
    }
}

/// A revision.
#[derive(Debug)]
pub(super) struct EtcdSnapshot {
    shared: Arc<EtcdShared>,
    revision: i64,
}

impl EtcdSnapshot {
    pub(super) async fn take(
        shared: &Arc<EtcdShared>,
        options: &CallOptions,
    ) -> Result<EtcdSnapshot> {
        let (_, revision) = shared.values(&[b""], NEWEST, options).await?;
        Ok(EtcdSnapshot {
            shared: Arc::clone(shared),
            revision,
        })
    }
}

impl AsyncRead for EtcdSnapshot {
    fn get_with<'a>(
        &'a self,
        key: &'a [u8],
        options: &'a CallOptions,
    ) -> Pending<'a, Option<Value>> {
        Box::pin(async move {
            let (mut found, _) = self.shared.values(&[key], self.revision, options).await?;
            Ok(found.pop().and_then(|found| found.value))
        })
    }

    fn multi_get_with<'a>(
        &'a self,
        keys: &'a [&'a [u8]],
        options: &'a CallOptions,
    ) -> Pending<'a, Vec<Option<Value>>> {
        Box::pin(async move {
            let (found, _) = self.shared.values(keys, self.revision, options).await?;
            Ok(found.into_iter().map(|found| found.value).collect())
        })
    }

    fn scan_with(&self, scan: &Scan, options: &CallOptions) -> Box<dyn AsyncScan> {
        Box::new(EtcdScan::new(&self.shared, self.revision, scan, options))
    }
}

impl AsyncSnapshot for EtcdSnapshot {}
