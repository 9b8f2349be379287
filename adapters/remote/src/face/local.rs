//! The asynchronous face of an embedded store: its calls run on the threads that the runtime keeps
//! for blocking work.
//!
//! A call that was begun ends even if its future is dropped, because files cannot be abandoned
//! halfway.

use std::sync::Arc;

use cairndb_store::{
    Batch, CallOptions, Engine, Entry, Error, ErrorKind, OpenTransaction, Read, Result, Scan,
    Snapshot, Store, Value, Window,
};
use parking_lot::Mutex;
use tokio::task::{JoinError, spawn_blocking};

use crate::face::asynchronous::{
    AsyncRead, AsyncScan, AsyncSnapshot, AsyncStore, AsyncTransaction, Pending,
};

/// Number of entries that a scan reads in one call.
const PAGE_ENTRIES: u64 = 512;
/// A page ends after this many bytes.
const PAGE_BYTES: usize = 1 << 20;

/// An asynchronous store over an embedded one.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> cairndb_store::Result<()> {
/// use cairndb_remote::{AsyncRead, AsyncStoreExt, Local};
/// let store = Local::new(cairndb_store::MemoryStore::new());
/// store.put(b"slate", b"blue").await?;
/// assert!(store.get(b"slate").await?.is_some());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Local {
    store: Arc<dyn Store>,
}

impl Local {
    /// Wraps `store`.
    pub fn new(store: impl Store + 'static) -> Local {
        Local {
            store: Arc::new(store),
        }
    }

    /// Runs `call`, which writes nothing, on the store.
    fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce(&dyn Store) -> Result<T> + Send + 'static,
    ) -> Pending<'static, T> {
        let store = Arc::clone(&self.store);
        Box::pin(off_thread(move || call(&*store)))
    }

    /// Runs `call`, which writes, on the store.
    fn write<T: Send + 'static>(
        &self,
        call: impl FnOnce(&dyn Store) -> Result<T> + Send + 'static,
    ) -> Pending<'static, T> {
        let store = Arc::clone(&self.store);
        Box::pin(write_off_thread(move || call(&*store)))
    }
}

/// Runs a call that writes nothing.
async fn off_thread<T: Send + 'static>(
    call: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let ended = spawn_blocking(call).await;
    ended.unwrap_or_else(|error| Err(ended_early(ErrorKind::Engine, error)))
}

/// Runs a call that writes. If it panics, or the runtime ends, it may have written.
async fn write_off_thread<T: Send + 'static>(
    call: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let ended = spawn_blocking(call).await;
    ended.unwrap_or_else(|error| Err(ended_early(ErrorKind::OutcomeUnknown, error)))
}

fn ended_early(kind: ErrorKind, error: JoinError) -> Error {
    let message = "the call ended early: it panicked, or the runtime is ending";
    Error::new(kind, message).source_error(error)
}

fn owned(keys: &[&[u8]]) -> Vec<Vec<u8>> {
    keys.iter().map(|key| key.to_vec()).collect()
}

fn borrowed(keys: &[Vec<u8>]) -> Vec<&[u8]> {
    keys.iter().map(Vec::as_slice).collect()
}

/// Reads one page of `rest`, and removes it from there.
fn read_page(
    reader: &(impl Read + ?Sized),
    rest: &mut Window,
    left: &mut u64,
) -> Result<Vec<Entry>> {
    if *left == 0 || rest.is_empty() {
        return Ok(Vec::new());
    }
    let wanted = (*left).min(PAGE_ENTRIES);
    let (mut page, mut bytes, mut whole) = (Vec::new(), 0, true);
    let mut entries = reader.scan(&rest.to_scan().limit(wanted))?;
    for entry in entries.by_ref() {
        let entry = entry?;
        bytes += entry.0.len() + entry.1.len();
        page.push(entry);
        if bytes >= PAGE_BYTES {
            whole = false;
            break;
        }
    }
    drop(entries);
    let full = !whole || page.len() as u64 >= wanted;
    let last = page.last().filter(|_| full).map(|(key, _)| key.to_vec());
    let _ = rest.split_after(last.as_deref());
    *left -= page.len() as u64;
    Ok(page)
}

/// A scan of a snapshot that was taken with its first page.
struct LocalScan {
    store: Arc<dyn Store>,
    snapshot: Option<Arc<dyn Snapshot>>,
    rest: Window,
    left: u64,
}

impl AsyncScan for LocalScan {
    fn next_page(&mut self) -> Pending<'_, Vec<Entry>> {
        let (store, snapshot) = (Arc::clone(&self.store), self.snapshot.clone());
        let (mut rest, mut left) = (self.rest.clone(), self.left);
        Box::pin(async move {
            let call = move || {
                let snapshot = match snapshot {
                    Some(snapshot) => snapshot,
                    None => Arc::from(store.snapshot()?),
                };
                let page = read_page(&*snapshot, &mut rest, &mut left)?;
                Ok((snapshot, rest, left, page))
            };
            let (snapshot, rest, left, page) = off_thread(call).await?;
            (self.snapshot, self.rest, self.left) = (Some(snapshot), rest, left);
            Ok(page)
        })
    }
}

impl AsyncRead for Local {
    fn get_with<'a>(
        &'a self,
        key: &'a [u8],
        options: &'a CallOptions,
    ) -> Pending<'a, Option<Value>> {
        let (key, options) = (key.to_vec(), *options);
        self.run(move |store| store.get_with(&key, &options))
    }

    fn multi_get_with<'a>(
        &'a self,
        keys: &'a [&'a [u8]],
        options: &'a CallOptions,
    ) -> Pending<'a, Vec<Option<Value>>> {
        let (keys, options) = (owned(keys), *options);
        self.run(move |store| store.multi_get_with(&borrowed(&keys), &options))
    }

    fn scan_with(&self, scan: &Scan, _: &CallOptions) -> Box<dyn AsyncScan> {
        Box::new(LocalScan {
            store: Arc::clone(&self.store),
            snapshot: None,
            rest: Window::of(scan),
            left: scan.get_limit(),
        })
    }
}

impl AsyncStore for Local {
    fn engine(&self) -> &Engine {
        self.store.engine()
    }

    fn put_with<'a>(
        &'a self,
        key: &'a [u8],
        value: &'a [u8],
        options: &'a CallOptions,
    ) -> Pending<'a, ()> {
        let (key, value, options) = (key.to_vec(), value.to_vec(), *options);
        self.write(move |store| store.put_with(&key, &value, &options))
    }

    fn delete_with<'a>(&'a self, key: &'a [u8], options: &'a CallOptions) -> Pending<'a, ()> {
        let (key, options) = (key.to_vec(), *options);
        self.write(move |store| store.delete_with(&key, &options))
    }

    fn delete_range_with<'a>(
        &'a self,
        scan: &'a Scan,
        options: &'a CallOptions,
    ) -> Pending<'a, ()> {
        let (scan, options) = (scan.clone(), *options);
        self.write(move |store| store.delete_range_with(&scan, &options))
    }

    fn write_with<'a>(&'a self, batch: &'a Batch, options: &'a CallOptions) -> Pending<'a, ()> {
        let (batch, options) = (batch.clone(), *options);
        self.write(move |store| store.write_with(&batch, &options))
    }

    fn compare_and_set_with<'a>(
        &'a self,
        key: &'a [u8],
        expected: Option<&'a [u8]>,
        new: Option<&'a [u8]>,
        options: &'a CallOptions,
    ) -> Pending<'a, bool> {
        let (key, options) = (key.to_vec(), *options);
        let (expected, new) = (expected.map(<[u8]>::to_vec), new.map(<[u8]>::to_vec));
        self.write(move |store| {
            store.compare_and_set_with(&key, expected.as_deref(), new.as_deref(), &options)
        })
    }

    fn snapshot_with<'a>(
        &'a self,
        options: &'a CallOptions,
    ) -> Pending<'a, Box<dyn AsyncSnapshot>> {
        let (whole, options) = (Arc::clone(&self.store), *options);
        self.run(move |store| {
            let snapshot = Arc::from(store.snapshot_with(&options)?);
            let view = LocalSnapshot {
                store: whole,
                snapshot,
            };
            Ok(Box::new(view) as Box<dyn AsyncSnapshot>)
        })
    }

    fn begin_with<'a>(
        &'a self,
        options: &'a CallOptions,
    ) -> Pending<'a, Box<dyn AsyncTransaction>> {
        let options = *options;
        self.run(move |store| {
            let transaction = store.begin_with(&options)?;
            let shared = Arc::new(Mutex::new(Some(transaction)));
            Ok(Box::new(LocalTransaction(shared)) as Box<dyn AsyncTransaction>)
        })
    }

    fn sync(&self) -> Pending<'_, ()> {
        self.run(|store| store.sync())
    }

    fn close(&self) -> Pending<'_, ()> {
        self.run(|store| store.close())
    }

    fn pause(&self, _: u32) -> Pending<'_, ()> {
        // The write that conflicts may wait for its sync, and cannot be seen before.
        self.sync()
    }
}

#[derive(Debug)]
struct LocalSnapshot {
    store: Arc<dyn Store>,
    snapshot: Arc<dyn Snapshot>,
}

impl AsyncRead for LocalSnapshot {
    fn get_with<'a>(
        &'a self,
        key: &'a [u8],
        options: &'a CallOptions,
    ) -> Pending<'a, Option<Value>> {
        let (snapshot, key, options) = (Arc::clone(&self.snapshot), key.to_vec(), *options);
        Box::pin(off_thread(move || snapshot.get_with(&key, &options)))
    }

    fn multi_get_with<'a>(
        &'a self,
        keys: &'a [&'a [u8]],
        options: &'a CallOptions,
    ) -> Pending<'a, Vec<Option<Value>>> {
        let (snapshot, keys, options) = (Arc::clone(&self.snapshot), owned(keys), *options);
        Box::pin(off_thread(move || {
            snapshot.multi_get_with(&borrowed(&keys), &options)
        }))
    }

    fn scan_with(&self, scan: &Scan, _: &CallOptions) -> Box<dyn AsyncScan> {
        Box::new(LocalScan {
            store: Arc::clone(&self.store),
            snapshot: Some(Arc::clone(&self.snapshot)),
            rest: Window::of(scan),
            left: scan.get_limit(),
        })
    }
}

impl AsyncSnapshot for LocalSnapshot {}

type SharedTransaction = Arc<Mutex<Option<Box<dyn OpenTransaction>>>>;

/// A transaction that blocking threads use in turn. It is taken out by the commit.
struct LocalTransaction(SharedTransaction);

impl std::fmt::Debug for LocalTransaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LocalTransaction")
    }
}

fn within<T>(
    shared: &Mutex<Option<Box<dyn OpenTransaction>>>,
    call: impl FnOnce(&dyn OpenTransaction) -> Result<T>,
) -> Result<T> {
    match &*shared.lock() {
        Some(transaction) => call(&**transaction),
        None => Err(Error::invalid("the transaction was committed")),
    }
}

impl LocalTransaction {
    fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce(&dyn OpenTransaction) -> Result<T> + Send + 'static,
    ) -> Pending<'static, T> {
        let shared = Arc::clone(&self.0);
        Box::pin(off_thread(move || within(&shared, call)))
    }
}

impl AsyncRead for LocalTransaction {
    fn get_with<'a>(
        &'a self,
        key: &'a [u8],
        options: &'a CallOptions,
    ) -> Pending<'a, Option<Value>> {
        let (key, options) = (key.to_vec(), *options);
        self.run(move |transaction| transaction.get_with(&key, &options))
    }

    fn multi_get_with<'a>(
        &'a self,
        keys: &'a [&'a [u8]],
        options: &'a CallOptions,
    ) -> Pending<'a, Vec<Option<Value>>> {
        let (keys, options) = (owned(keys), *options);
        self.run(move |transaction| transaction.multi_get_with(&borrowed(&keys), &options))
    }

    fn scan_with(&self, scan: &Scan, _: &CallOptions) -> Box<dyn AsyncScan> {
        Box::new(TransactionScan {
            shared: Arc::clone(&self.0),
            rest: Window::of(scan),
            left: scan.get_limit(),
        })
    }
}

impl AsyncTransaction for LocalTransaction {
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        within(&self.0, |transaction| transaction.put(key, value))
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        within(&self.0, |transaction| transaction.delete(key))
    }

    fn commit_with<'a>(self: Box<Self>, options: &'a CallOptions) -> Pending<'a, ()>
    where
        Self: 'a,
    {
        let (shared, options) = (self.0, *options);
        Box::pin(write_off_thread(move || match shared.lock().take() {
            Some(transaction) => transaction.commit_with(&options),
            None => Err(Error::invalid("the transaction was committed")),
        }))
    }
}

/// A scan of a transaction, which is of its state in any case.
struct TransactionScan {
    shared: SharedTransaction,
    rest: Window,
    left: u64,
}

impl AsyncScan for TransactionScan {
    fn next_page(&mut self) -> Pending<'_, Vec<Entry>> {
        let shared = Arc::clone(&self.shared);
        let (mut rest, mut left) = (self.rest.clone(), self.left);
        Box::pin(async move {
            let call = move || {
                let page = within(&shared, |transaction| {
                    read_page(transaction, &mut rest, &mut left)
                })?;
                Ok((rest, left, page))
            };
            let (rest, left, page) = off_thread(call).await?;
            (self.rest, self.left) = (rest, left);
            Ok(page)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use cairndb_store::{Batch, CallOptions, ErrorKind, MemoryStore, Result, Scan};
    use parking_lot::Mutex;

    use super::{Arc, AsyncRead, AsyncStore, AsyncTransaction, Local, LocalTransaction, Pending};
    use super::{off_thread, write_off_thread};

    /// Returns the kind of error of a call on a runtime that has ended.
    #[track_caller]
    fn kind<T>(mut call: Pending<'_, T>) -> ErrorKind {
        let mut context = Context::from_waker(Waker::noop());
        match call.as_mut().poll(&mut context) {
            Poll::Ready(Err(error)) => error.kind(),
            Poll::Ready(Ok(_)) => panic!("the runtime has ended, but ran the call"),
            Poll::Pending => panic!("the runtime has ended, but the call waits"),
        }
    }

    fn runtime() -> tokio::runtime::Runtime {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime")
    }

    #[test]
    fn a_write_on_a_runtime_that_ends_is_unknown() {
        let ended = runtime();
        let handle = ended.handle().clone();
        drop(ended);
        let _entered = handle.enter();
        let store = Local::new(MemoryStore::new());
        let options = CallOptions::new();
        let mut batch = Batch::new();
        batch.put(b"a", b"1");
        let unknown = ErrorKind::OutcomeUnknown;
        assert_eq!(kind(store.put_with(b"a", b"1", &options)), unknown);
        assert_eq!(kind(store.delete_with(b"a", &options)), unknown);
        assert_eq!(
            kind(store.delete_range_with(&Scan::all(), &options)),
            unknown
        );
        assert_eq!(kind(store.write_with(&batch, &options)), unknown);
        let set = store.compare_and_set_with(b"a", None, Some(b"1"), &options);
        assert_eq!(kind(set), unknown);
        let open = store.store.begin().expect("a transaction");
        let transaction = Box::new(LocalTransaction(Arc::new(Mutex::new(Some(open)))));
        assert_eq!(
            kind(transaction.get_with(b"a", &options)),
            ErrorKind::Engine
        );
        assert_eq!(kind(transaction.commit_with(&options)), unknown);
        // A read has no outcome.
        assert_eq!(kind(store.get_with(b"a", &options)), ErrorKind::Engine);
        assert_eq!(kind(store.begin_with(&options)), ErrorKind::Engine);
    }

    #[test]
    fn a_write_that_panics_is_unknown() {
        let panics = || -> Result<()> { panic!("in a test") };
        let runtime = runtime();
        let write = runtime.block_on(write_off_thread(panics));
        let read = runtime.block_on(off_thread(panics));
        let kinds = [write, read].map(|result| result.expect_err("it panicked").kind());
        assert_eq!(kinds, [ErrorKind::OutcomeUnknown, ErrorKind::Engine]);
    }
}
