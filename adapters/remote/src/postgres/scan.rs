//! Scans: pages by key, each after the last key of the one before.
//!
//! All pages of a scan are read in one transaction, so they are of one state. A page by key costs
//! one search more than the next rows of a server-side cursor, but needs no second round trip to
//! open one, and its size can follow the size of the entries. The server ends a page after about a
//! megabyte, because the entries that come may be longer than those before them.

use std::sync::Arc;

use cairndb_store::{CallOptions, Entry, OwnWrites, Result, Scan};
use parking_lot::Mutex;

use crate::face::{AsyncScan, Pending};
use crate::paging::{FIRST_ENTRIES, PAGE_BYTES, Progress, bytes_of};
use crate::postgres::calls::{Call, Effect, PostgresShared};
use crate::postgres::held::{Held, Purpose, page};
use crate::postgres::sql::{Rows, Sql};

/// Where the pages come from.
#[derive(Debug)]
pub(super) enum PageSource {
    /// One statement suffices, because the limit is small.
    Statement(Arc<PostgresShared>),
    /// A snapshot or transaction.
    Held(Arc<Held>),
    /// A transaction, whose own writes are laid over its pages.
    Transaction(Arc<Held>, Arc<Mutex<OwnWrites>>),
}

#[derive(Debug)]
pub(super) struct PostgresScan {
    source: PageSource,
    progress: Progress,
    options: CallOptions,
}

impl PostgresScan {
    pub(super) fn new(source: PageSource, scan: &Scan, options: &CallOptions) -> PostgresScan {
        PostgresScan {
            source,
            progress: Progress::of(scan),
            options: *options,
        }
    }

    /// Begins a scan of the store.
    pub(super) fn of_store(
        shared: &Arc<PostgresShared>,
        scan: &Scan,
        options: &CallOptions,
    ) -> PostgresScan {
        let source = if scan.get_limit() <= FIRST_ENTRIES {
            PageSource::Statement(Arc::clone(shared))
        } else {
            PageSource::Held(Arc::new(Held::new(shared, Purpose::Snapshot)))
        };
        PostgresScan::new(source, scan, options)
    }

    async fn read(&mut self) -> Result<Vec<Entry>> {
        // A page may be empty although there is more, if the transaction has removed its entries.
        while !self.progress.ended() {
            let wanted = self.progress.wanted();
            let stored = match &self.source {
                PageSource::Statement(shared) => {
                    statement(shared, &self.progress, &self.options).await
                }
                PageSource::Held(held) | PageSource::Transaction(held, _) => {
                    held.page(&self.progress, &self.options).await
                }
            }?;
            // The server ends a page early that is long enough, but not the only one.
            let is_only = matches!(self.source, PageSource::Statement(_));
            let is_long = !is_only && bytes_of(&stored) >= PAGE_BYTES;
            let more = stored.len() as u64 >= wanted || is_long;
            let window = self.progress.advance(&stored, more);
            let seen = match &self.source {
                PageSource::Transaction(_, own) => own.lock().lay_over(stored, &window),
                _ => stored,
            };
            let seen = self.progress.take(seen);
            if !seen.is_empty() {
                return Ok(seen);
            }
        }
        // Gives the connection back.
        if let PageSource::Held(held) = &self.source {
            let shared = Arc::clone(held.shared());
            self.source = PageSource::Statement(shared);
        }
        Ok(Vec::new())
    }
}

async fn statement(
    shared: &PostgresShared,
    progress: &Progress,
    options: &CallOptions,
) -> Result<Vec<Entry>> {
    let rest = &progress.rest;
    let sql = [Sql::Few(Rows::of(rest.direction, rest.end.is_some()))];
    let call = |connection: Arc<_>, statements: Vec<_>| -> Call<'_, Vec<Entry>> {
        Box::pin(async move { page(&connection, &statements[0], progress).await })
    };
    shared.run(Effect::Reads, &sql, options, call).await
}

impl AsyncScan for PostgresScan {
    fn next_page(&mut self) -> Pending<'_, Vec<Entry>> {
        Box::pin(self.read())
    }
}
