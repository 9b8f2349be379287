//! The blocking face: waits for the futures of an engine on a runtime that the store owns.
//!
//! One thread of the runtime moves bytes; the calling thread runs the call itself. A blocking call
//! inside an asynchronous runtime would stop that runtime, so it is refused.

use std::fmt;
use std::sync::Arc;

use cairndb_store::{
    ATTEMPTS_MAX, Batch, CallOptions, Engine, Entries, Entry, Error, ErrorKind, OpenTransaction,
    Read, Result, Scan, Snapshot, Store, Transaction, Value,
};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::face::again::again;
use crate::face::asynchronous::{AsyncScan, AsyncSnapshot, AsyncStore, AsyncTransaction};

/// A runtime that may be dropped anywhere.
struct Driver(Option<Runtime>);

impl Drop for Driver {
    fn drop(&mut self) {
        // Dropping a runtime waits for its threads, which an asynchronous caller must not.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Driver {
    fn new() -> Result<Driver> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("cairn-remote")
            .enable_all()
            .build();
        match runtime {
            Ok(runtime) => Ok(Driver(Some(runtime))),
            Err(error) => Err(
                Error::new(ErrorKind::Engine, "the runtime could not be started")
                    .source_error(error),
            ),
        }
    }

    fn wait<T>(&self, future: impl Future<Output = Result<T>>) -> Result<T> {
        if Handle::try_current().is_ok() {
            return Err(Error::invalid(
                "a blocking call inside an asynchronous runtime; use open_async there",
            ));
        }
        match &self.0 {
            Some(runtime) => runtime.block_on(future),
            None => Err(Error::closed()),
        }
    }
}

/// A blocking store over an asynchronous one.
///
/// ```
/// use cairndb_remote::Blocking;
/// use cairndb_store::{Read, Store};
/// # fn main() -> cairndb_store::Result<()> {
/// let store = Blocking::start(|| async { cairndb_remote::open_async("memory:").await })?;
/// store.put(b"slate", b"blue")?;
/// assert!(store.contains(b"slate")?);
/// # Ok(()) }
/// ```
pub struct Blocking {
    driver: Arc<Driver>,
    store: Arc<dyn AsyncStore>,
}

impl fmt::Debug for Blocking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)
    }
}

impl Blocking {
    /// Starts a runtime and opens a store on it.
    ///
    /// # Errors
    /// Those of `open`; `InvalidArgument` inside an asynchronous runtime; `Engine` if no thread can
    /// be started.
    pub fn start<F>(open: impl FnOnce() -> F) -> Result<Blocking>
    where
        F: Future<Output = Result<Arc<dyn AsyncStore>>>,
    {
        let driver = Arc::new(Driver::new()?);
        let store = driver.wait(open())?;
        Ok(Blocking { driver, store })
    }
}

/// The entries of a scan, page by page.
struct Pages {
    driver: Arc<Driver>,
    scan: Box<dyn AsyncScan>,
    page: std::vec::IntoIter<Entry>,
    ended: bool,
}

impl Iterator for Pages {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Result<Entry>> {
        if let Some(entry) = self.page.next() {
            return Some(Ok(entry));
        }
        if self.ended {
            return None;
        }
        match self.driver.wait(self.scan.next_page()) {
            Ok(page) => {
                self.ended = page.is_empty();
                self.page = page.into_iter();
                self.page.next().map(Ok)
            }
            Err(error) => {
                self.ended = true;
                Some(Err(error))
            }
        }
    }
}

/// A snapshot or transaction with the runtime on which it waits.
struct View<T: ?Sized> {
    driver: Arc<Driver>,
    view: Box<T>,
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for View<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view.fmt(f)
    }
}

macro_rules! reads {
    ($reader:ty, $field:ident) => {
        impl Read for $reader {
            fn get_with(&self, key: &[u8], options: &CallOptions) -> Result<Option<Value>> {
                self.driver.wait(self.$field.get_with(key, options))
            }
            fn multi_get_with(
                &self,
                keys: &[&[u8]],
                options: &CallOptions,
            ) -> Result<Vec<Option<Value>>> {
                self.driver.wait(self.$field.multi_get_with(keys, options))
            }
            fn scan_with(&self, scan: &Scan, options: &CallOptions) -> Result<Entries<'_>> {
                Ok(Entries::new(Pages {
                    driver: Arc::clone(&self.driver),
                    scan: self.$field.scan_with(scan, options),
                    page: Vec::new().into_iter(),
                    ended: false,
                }))
            }
        }
    };
}

reads!(Blocking, store);
reads!(View<dyn AsyncSnapshot>, view);
reads!(View<dyn AsyncTransaction>, view);

impl Snapshot for View<dyn AsyncSnapshot> {}

impl Transaction for View<dyn AsyncTransaction> {
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.view.put(key, value)
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        self.view.delete(key)
    }
}

impl OpenTransaction for View<dyn AsyncTransaction> {
    fn commit_with(self: Box<Self>, options: &CallOptions) -> Result<()> {
        let View { driver, view } = *self;
        driver.wait(view.commit_with(options))
    }

    fn rollback(self: Box<Self>) {}
}

impl Store for Blocking {
    fn engine(&self) -> &Engine {
        self.store.engine()
    }

    fn put_with(&self, key: &[u8], value: &[u8], options: &CallOptions) -> Result<()> {
        self.driver.wait(self.store.put_with(key, value, options))
    }

    fn delete_with(&self, key: &[u8], options: &CallOptions) -> Result<()> {
        self.driver.wait(self.store.delete_with(key, options))
    }

    fn delete_range_with(&self, scan: &Scan, options: &CallOptions) -> Result<()> {
        self.driver
            .wait(self.store.delete_range_with(scan, options))
    }

    fn write_with(&self, batch: &Batch, options: &CallOptions) -> Result<()> {
        self.driver.wait(self.store.write_with(batch, options))
    }

    fn compare_and_set_with(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
        options: &CallOptions,
    ) -> Result<bool> {
        let call = self.store.compare_and_set_with(key, expected, new, options);
        self.driver.wait(call)
    }

    fn snapshot_with(&self, options: &CallOptions) -> Result<Box<dyn Snapshot>> {
        let view = self.driver.wait(self.store.snapshot_with(options))?;
        let driver = Arc::clone(&self.driver);
        Ok(Box::new(View { driver, view }))
    }

    fn begin_with(&self, options: &CallOptions) -> Result<Box<dyn OpenTransaction>> {
        let view = self.driver.wait(self.store.begin_with(options))?;
        let driver = Arc::clone(&self.driver);
        Ok(Box::new(View { driver, view }))
    }

    fn sync(&self) -> Result<()> {
        self.driver.wait(self.store.sync())
    }

    fn close(&self) -> Result<()> {
        self.driver.wait(self.store.close())
    }

    fn run_with(
        &self,
        body: &mut dyn FnMut(&dyn Transaction) -> Result<()>,
        options: &CallOptions,
    ) -> Result<()> {
        let ends = self.driver.wait(async { Ok(AttemptsEnd::of(options)) })?;
        for attempt in 1..=ATTEMPTS_MAX {
            let options = &ends.rest_of(options);
            let transaction = self.begin_with(options)?;
            let result = body(&*transaction).and_then(|()| transaction.commit_with(options));
            match result {
                Err(error) if again(&error) && attempt < ATTEMPTS_MAX && !ends.passed() => {
                    self.driver.wait(self.store.pause(attempt))?;
                }
                result => return result,
            }
        }
        Ok(())
    }
}

/// The end of all attempts of a transaction, if its call has a time limit.
struct AttemptsEnd(Option<tokio::time::Instant>);

impl AttemptsEnd {
    fn of(options: &CallOptions) -> AttemptsEnd {
        let now = tokio::time::Instant::now();
        AttemptsEnd(
            options
                .get_timeout()
                .and_then(|limit| now.checked_add(limit)),
        )
    }

    fn passed(&self) -> bool {
        self.0.is_some_and(|end| tokio::time::Instant::now() >= end)
    }

    fn rest_of(&self, options: &CallOptions) -> CallOptions {
        match self.0 {
            None => *options,
            Some(end) => {
                options.timeout(end.saturating_duration_since(tokio::time::Instant::now()))
            }
        }
    }
}
