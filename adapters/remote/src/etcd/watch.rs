//! Watching keys: every change of a range, in order, without gaps.
//!
//! After a lost connection the watch goes on at another member, from the revision after the last
//! one that it returned. If that has been compacted meanwhile, the watch fails: changes would be
//! missing. The token is checked only when a watch begins.

use std::sync::Arc;
use std::time::Duration;

use cairndb_store::{CallOptions, Error, ErrorKind, Result, Scan, Value, Window};
use etcd_client::{EventType, WatchOptions, WatchStream};

use crate::etcd::cluster::Chosen;
use crate::etcd::errors::{Failure, of_user};
use crate::etcd::reads::EtcdShared;
use crate::face::Deadline;

/// How long a watch looks for a member that answers.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// One change of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The key.
    pub key: Value,
    /// Its new value, or `None` if it was removed.
    pub value: Option<Value>,
    /// The revision of the change; the changes of a batch have the same one.
    pub revision: i64,
}

/// The changes of a range of keys, as [`EtcdStore::watch`](crate::EtcdStore::watch) returns it.
pub struct Watch {
    shared: Arc<EtcdShared>,
    window: Window,
    from: i64,
    stream: Option<(Chosen, WatchStream)>,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch")
            .field("from", &self.from)
            .finish_non_exhaustive()
    }
}

impl Watch {
    pub(super) fn new(shared: &Arc<EtcdShared>, scan: &Scan, from: i64) -> Watch {
        Watch {
            shared: Arc::clone(shared),
            window: Window::of(scan),
            from,
            stream: None,
        }
    }

    /// Returns the revision from which the next changes are. Another watch can go on there.
    pub fn next_revision(&self) -> i64 {
        self.from
    }

    /// Waits for the next changes, at least one. Dropping the future loses none of them.
    ///
    /// # Errors
    /// `SnapshotExpired`: the history was compacted beyond the watch. `Unavailable`: no member
    /// answers for 30 seconds. `Closed`, `Denied`.
    pub async fn next(&mut self) -> Result<Vec<Change>> {
        let mut deadline = None;
        loop {
            self.shared.cluster.check_open()?;
            match self.step().await {
                Ok(changes) if changes.is_empty() => deadline = None,
                Ok(changes) => {
                    if let Some(last) = changes.last() {
                        self.from = last.revision + 1;
                    }
                    return Ok(changes);
                }
                Err(Failure::Lost(error) | Failure::NotDone(error) | Failure::Stale(error)) => {
                    deadline.get_or_insert_with(patience).pause(error).await?;
                }
                Err(failure) => return Err(failure.into_error()),
            }
        }
    }

    /// Reads one answer, after beginning the watch if necessary.
    async fn step(&mut self) -> std::result::Result<Vec<Change>, Failure> {
        if self.stream.is_none() {
            self.stream = Some(self.begin().await?);
        }
        let failure = match self.read().await {
            Ok(changes) => return Ok(changes),
            Err(failure) => failure,
        };
        match self.stream.take() {
            Some((chosen, _)) => {
                let cluster = &self.shared.cluster;
                Err(cluster.react(&chosen, failure, &patience()).await)
            }
            None => Err(failure),
        }
    }

    /// Asks the member in use for the changes.
    async fn begin(&self) -> std::result::Result<(Chosen, WatchStream), Failure> {
        let cluster = &self.shared.cluster;
        let chosen = cluster.client().await?;
        let (start, end) = self.shared.prefix.range(&self.window);
        let options = WatchOptions::new()
            .with_range(end)
            .with_start_revision(self.from);
        let mut watching = chosen.client.watch_client();
        match watching.watch(start, Some(options)).await {
            Ok(stream) => Ok((chosen, stream)),
            Err(error) => Err(cluster.react(&chosen, error.into(), &patience()).await),
        }
    }

    async fn read(&mut self) -> std::result::Result<Vec<Change>, Failure> {
        let ended = || Failure::Lost(Error::new(ErrorKind::Unavailable, "the watch ended"));
        let (_, stream) = self.stream.as_mut().ok_or_else(ended)?;
        let answer = stream.message().await?.ok_or_else(ended)?;
        if answer.compact_revision() > 0 {
            return Err(Failure::Refused(Error::new(
                ErrorKind::SnapshotExpired,
                format!(
                    "the engine has removed the changes before revision {}",
                    answer.compact_revision()
                ),
            )));
        }
        if answer.canceled() {
            let reason = answer.cancel_reason();
            let message = format!("the watch was cancelled: {reason}");
            let cancelled = || Failure::Lost(Error::new(ErrorKind::Unavailable, message));
            return Err(of_user(reason).unwrap_or_else(cancelled));
        }
        let mut changes = Vec::new();
        for event in answer.events() {
            let Some(entry) = event.kv() else { continue };
            let key = self.shared.prefix.strip(entry.key());
            changes.push(Change {
                key: Value::from(key.map_err(Failure::Refused)?),
                value: match event.event_type() {
                    EventType::Put => Some(Value::from(entry.value())),
                    EventType::Delete => None,
                },
                revision: entry.mod_revision(),
            });
        }
        Ok(changes)
    }
}

/// Returns when a watch that has lost its member is given up.
fn patience() -> Deadline {
    Deadline::of(&CallOptions::new(), RECONNECT_TIMEOUT)
}
