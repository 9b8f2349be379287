//! The store over a cluster or one of its keyspaces.

use std::sync::Arc;
use std::time::Duration;

use cairndb_store::{
    Batch, CallOptions, Engine, Error, ErrorKind, Isolation, OwnWrites, Result, Scan, Value,
};
use tikv_client::{CheckLevel, Config, RawClient, TransactionClient, TransactionOptions};

use crate::face::{
    AsyncRead, AsyncScan, AsyncSnapshot, AsyncStore, AsyncTransaction, Deadline, Pending,
};
use crate::limits::{check_keys, last_writes};
use crate::tikv::closed::Closed;
use crate::tikv::errors::{Sent, convert};
use crate::tikv::raw::{self, RawScan, unsupported};
use crate::tikv::reads::{LIMITS, TikvSnapshot, in_order, until};
use crate::tikv::transaction::{TikvTransaction, commit};
use crate::url::Address;

/// Port of the placement driver.
const PORT: u16 = 2379;
/// Longest answer of a server. The client's own limit is below that of a value. A page that is
/// longer is asked for again in parts.
const ANSWER_BYTES_MAX: usize = 32 << 20;

#[derive(Clone)]
enum Client {
    Transactions(Arc<TransactionClient>),
    Raw(RawClient),
}

/// A TiKV cluster, or a keyspace of it.
///
/// The URL is `tikv://pd:port,pd:port/keyspace`, where the hosts are placement drivers. Without a
/// keyspace it is the whole key space of a cluster that has none. Settings: `timeout` (`30s`), the
/// time limit of a call, and of opening; `ca`, `cert` and `key`, files that switch encryption on,
/// also if the variables `CAIRN_STORE_CA`, `CAIRN_STORE_CERT` and `CAIRN_STORE_KEY` name them,
/// unless `tls` is `no`; and `mode`: `transaction` (the default) or `raw`, which has single keys
/// only, at one round trip each instead of two or more. The two modes must not be mixed on the same
/// keys.
///
/// Transactions have snapshot isolation.
///
/// In raw mode, each put, delete and compare-and-set is sent once, and again only if a server
/// refused it: a lost answer is `OutcomeUnknown`, and no write takes effect twice.
#[derive(Clone)]
pub struct TikvStore {
    client: Client,
    engine: Engine,
    timeout: Duration,
    closed: Closed,
}

impl std::fmt::Debug for TikvStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TikvStore")
            .field("engine", &self.engine)
            .finish_non_exhaustive()
    }
}

impl TikvStore {
    /// Connects to the placement drivers.
    ///
    /// # Errors
    /// `InvalidArgument`: a malformed URL. `Unavailable`: none of them answers within the time
    /// limit of a call. `NotFound`: no such keyspace.
    pub async fn connect(address: &Address) -> Result<TikvStore> {
        address.check_settings(&[&["timeout", "mode"][..], &crate::tls::SETTINGS].concat())?;
        if address.hosts().is_empty() {
            return Err(Error::invalid(
                "the URL names no placement driver: tikv://pd,pd,pd/keyspace",
            ));
        }
        let raw = match address.setting("mode") {
            None | Some("transaction") => false,
            Some("raw") => true,
            Some(other) => {
                return Err(Error::invalid(format!(
                    "mode is {other:?}, but must be transaction or raw"
                )));
            }
        };
        let drivers: Vec<String> = address
            .hosts()
            .iter()
            .map(|host| host.authority(PORT))
            .collect();
        let config = config(address)?;
        let deadline = Deadline::of(&CallOptions::new(), address.timeout()?);
        // The client limits each of its requests, but repeats them.
        let opened = deadline.wait(Box::pin(client(drivers, config, raw))).await;
        let (client, isolation) = match opened {
            Some(opened) => opened?,
            None => return Err(deadline.exceeded().with_kind(ErrorKind::Unavailable)),
        };
        Ok(TikvStore {
            client,
            engine: Engine::networked("tikv", LIMITS, isolation).replicated(true),
            timeout: address.timeout()?,
            closed: Closed::default(),
        })
    }

    fn deadline(&self, options: &CallOptions) -> Deadline {
        Deadline::of(options, self.timeout)
    }

    async fn snapshot(
        &self,
        client: &Arc<TransactionClient>,
        deadline: &Deadline,
    ) -> Result<TikvSnapshot> {
        let now = until(deadline, client.current_timestamp()).await?;
        Ok(TikvSnapshot::new(client, now, self.timeout, &self.closed))
    }

    /// Applies `own` in a transaction of its own. Nothing was read, so a conflict is no error of
    /// the caller: it is repeated.
    async fn apply(&self, own: &OwnWrites, options: &CallOptions) -> Result<()> {
        self.closed.check()?;
        let mut deadline = self.deadline(options);
        match &self.client {
            Client::Raw(client) => match own.iter().next() {
                None => Ok(()),
                Some(_) if own.len() > 1 => Err(unsupported("atomic batches")),
                Some((key, value)) => raw::set(client, key, value, &mut deadline).await,
            },
            Client::Transactions(client) => loop {
                if own.is_empty() {
                    return Ok(());
                }
                let mut transaction = until(&deadline, begin(client)).await?;
                match commit(&mut transaction, own, &deadline).await {
                    Err(error) if error.kind() == ErrorKind::Conflict => {
                        let error = error.with_kind(ErrorKind::Unavailable);
                        deadline.pause(error).await?;
                    }
                    result => return result,
                }
            },
        }
    }

    async fn compare(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
        options: &CallOptions,
    ) -> Result<bool> {
        let mut deadline = self.deadline(options);
        let client = match &self.client {
            Client::Raw(client) => {
                return raw::compare_and_set(client, key, expected, new, &mut deadline).await;
            }
            Client::Transactions(client) => client,
        };
        let mut own = OwnWrites::default();
        own.set(key, new);
        loop {
            let mut transaction = until(&deadline, begin(client)).await?;
            let found = until(&deadline, transaction.get(key.to_vec())).await?;
            if found.as_deref() != expected {
                return Ok(false);
            }
            if expected.is_none() && new.is_none() {
                return Ok(true);
            }
            match commit(&mut transaction, &own, &deadline).await {
                Ok(()) => return Ok(true),
                Err(error) if error.kind() == ErrorKind::Conflict => {
                    let error = error.with_kind(ErrorKind::Unavailable);
                    deadline.pause(error).await?;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Returns the configuration of the client that the URL asks for.
fn config(address: &Address) -> Result<Config> {
    let mut config = Config::default()
        .with_timeout(address.timeout()?)
        .with_grpc_max_decoding_message_size(ANSWER_BYTES_MAX);
    if !address.path().is_empty() {
        config = config.with_keyspace(address.path());
    }
    // The client reads the files itself, and needs all three.
    if let Some([ca, cert, key]) = crate::tls::paths(address)? {
        config = config.with_security(ca, cert, key);
    }
    Ok(config)
}

async fn client(drivers: Vec<String>, config: Config, raw: bool) -> Result<(Client, Isolation)> {
    let opened = |error| convert(error, Sent::Nothing);
    if raw {
        let client = RawClient::new_with_config(drivers, config).await;
        let client = client.map_err(opened)?.with_atomic_for_cas();
        return Ok((Client::Raw(client), Isolation::SingleKey));
    }
    let client = TransactionClient::new_with_config(drivers, config).await;
    let client = Client::Transactions(Arc::new(client.map_err(opened)?));
    Ok((client, Isolation::Snapshot))
}

async fn begin(client: &TransactionClient) -> tikv_client::Result<tikv_client::Transaction> {
    client.begin_with_options(two_phase_commit()).await
}

/// Returns the options of a transaction: locks, then the commit.
///
/// Async commit and one-phase commit would save one and two round trips. But a server may fall back
/// from either to the second phase, which the client (0.4.0) does not finish: the first would then
/// acknowledge a commit that another client can roll back.
fn two_phase_commit() -> TransactionOptions {
    TransactionOptions::new_optimistic().drop_check(CheckLevel::None)
}

impl AsyncRead for TikvStore {
    fn get_with<'a>(
        &'a self,
        key: &'a [u8],
        options: &'a CallOptions,
    ) -> Pending<'a, Option<Value>> {
        Box::pin(async move {
            self.closed.check()?;
            LIMITS.check_key(key)?;
            let deadline = self.deadline(options);
            match &self.client {
                Client::Raw(client) => raw::get(client, key, &deadline).await,
                Client::Transactions(client) => {
                    let snapshot = self.snapshot(client, &deadline).await?;
                    snapshot.get_with(key, options).await
                }
            }
        })
    }

    fn multi_get_with<'a>(
        &'a self,
        keys: &'a [&'a [u8]],
        options: &'a CallOptions,
    ) -> Pending<'a, Vec<Option<Value>>> {
        Box::pin(async move {
            self.closed.check()?;
            check_keys(keys, &LIMITS)?;
            let deadline = self.deadline(options);
            match &self.client {
                Client::Raw(client) => {
                    let asked: Vec<Vec<u8>> = keys.iter().map(|key| key.to_vec()).collect();
                    let pairs = until(&deadline, client.batch_get(asked)).await?;
                    Ok(in_order(keys, pairs.into_iter()))
                }
                Client::Transactions(client) => {
                    let snapshot = self.snapshot(client, &deadline).await?;
                    snapshot.multi_get_with(keys, options).await
                }
            }
        })
    }

    fn scan_with(&self, scan: &Scan, options: &CallOptions) -> Box<dyn AsyncScan> {
        match &self.client {
            Client::Raw(client) => Box::new(RawScan::new(
                client,
                scan,
                options,
                self.timeout,
                &self.closed,
            )),
            Client::Transactions(_) => Box::new(StoreScan {
                store: self.clone(),
                scan: scan.clone(),
                options: *options,
                pages: None,
            }),
        }
    }
}

/// A scan of a snapshot that is taken with its first page.
struct StoreScan {
    store: TikvStore,
    scan: Scan,
    options: CallOptions,
    pages: Option<Box<dyn AsyncScan>>,
}

impl AsyncScan for StoreScan {
    fn next_page(&mut self) -> Pending<'_, Vec<cairndb_store::Entry>> {
        Box::pin(async move {
            self.store.closed.check()?;
            if self.pages.is_none() {
                let snapshot = self.store.snapshot_with(&self.options).await?;
                self.pages = Some(snapshot.scan_with(&self.scan, &self.options));
            }
            match &mut self.pages {
                Some(pages) => pages.next_page().await,
                None => Ok(Vec::new()),
            }
        })
    }
}

impl AsyncStore for TikvStore {
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
            let mut own = OwnWrites::default();
            own.set(key, Some(value));
            self.apply(&own, options).await
        })
    }

    fn delete_with<'a>(&'a self, key: &'a [u8], options: &'a CallOptions) -> Pending<'a, ()> {
        Box::pin(async move {
            LIMITS.check_key(key)?;
            let mut own = OwnWrites::default();
            own.set(key, None);
            self.apply(&own, options).await
        })
    }

    fn delete_range_with<'a>(&'a self, _: &'a Scan, _: &'a CallOptions) -> Pending<'a, ()> {
        // The servers delete a range only outside transactions, and then without regard to
        // concurrent compare-and-sets, which is why the client refuses it in raw mode.
        Box::pin(async move {
            self.closed.check()?;
            Err(Error::new(
                ErrorKind::NotSupported,
                "TiKV deletes no range atomically; delete the keys that a scan returns",
            ))
        })
    }

    fn write_with<'a>(&'a self, batch: &'a Batch, options: &'a CallOptions) -> Pending<'a, ()> {
        Box::pin(async move {
            let own = last_writes(batch, &LIMITS)?;
            self.apply(&own, options).await
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
            self.closed.check()?;
            LIMITS.check_entry(key, new.unwrap_or_default())?;
            self.compare(key, expected, new, options).await
        })
    }

    fn snapshot_with<'a>(
        &'a self,
        options: &'a CallOptions,
    ) -> Pending<'a, Box<dyn AsyncSnapshot>> {
        Box::pin(async move {
            self.closed.check()?;
            let Client::Transactions(client) = &self.client else {
                return Err(unsupported("snapshots"));
            };
            let snapshot = self.snapshot(client, &self.deadline(options)).await?;
            Ok(Box::new(snapshot) as Box<dyn AsyncSnapshot>)
        })
    }

    fn begin_with<'a>(
        &'a self,
        options: &'a CallOptions,
    ) -> Pending<'a, Box<dyn AsyncTransaction>> {
        Box::pin(async move {
            self.closed.check()?;
            let Client::Transactions(client) = &self.client else {
                return Err(unsupported("transactions"));
            };
            let transaction = until(&self.deadline(options), begin(client)).await?;
            let at = transaction.start_timestamp();
            let snapshot = TikvSnapshot::new(client, at, self.timeout, &self.closed);
            let transaction = TikvTransaction::new(transaction, snapshot, options);
            Ok(Box::new(transaction) as Box<dyn AsyncTransaction>)
        })
    }

    fn sync(&self) -> Pending<'_, ()> {
        Box::pin(async move { self.closed.check() })
    }

    fn close(&self) -> Pending<'_, ()> {
        Box::pin(async move {
            self.closed.set();
            Ok(())
        })
    }

    fn pause(&self, attempt: u32) -> Pending<'_, ()> {
        crate::face::pause(attempt)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cairndb_store::{CallOptions, ErrorKind};

    use super::{Deadline, TikvStore, two_phase_commit};
    use crate::url::Address;

    #[test]
    fn a_commit_takes_no_short_cut() {
        let options = format!("{:?}", two_phase_commit());
        for choice in ["async_commit: false", "try_one_pc: false"] {
            assert!(options.contains(choice), "{options}");
        }
    }

    #[tokio::test]
    async fn a_driver_that_accepts_and_is_silent_is_given_up() {
        // The system accepts the connection; nobody reads from it.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("a bound socket").port();
        for mode in ["transaction", "raw"] {
            // The client tries one after the other, each for as long as a call may take.
            let hosts = [(); 3].map(|()| format!("127.0.0.1:{port}")).join(",");
            let url = format!("tikv://{hosts}/keyspace?timeout=300ms&mode={mode}");
            let address = Address::parse(&url).expect("a valid URL");
            let patience = Deadline::of(&CallOptions::new(), Duration::from_secs(20));
            let opened = patience.wait(TikvStore::connect(&address)).await;
            let error = opened
                .expect("an answer in time")
                .expect_err("nobody answers");
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            assert!(error.to_string().contains("within 300 ms"), "{error}");
        }
    }
}
