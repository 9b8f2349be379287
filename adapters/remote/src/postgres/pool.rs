//! The pool of connections.
//!
//! Invariant: a connection in the pool is idle, outside a transaction, with no answer outstanding.
//! One whose call was cancelled, or whose state is not known, is closed instead of returned.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cairndb_store::{Error, ErrorKind, Result};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_postgres::Config;

use crate::face::Deadline;
use crate::postgres::connect::{Encryption, PostgresTarget, connect};
use crate::postgres::connection::{Connection, Peer};
use crate::postgres::errors::Failure;
use crate::url::Secret;

/// Time for rolling back a transaction that was dropped.
const ROLLBACK_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct Pool {
    hosts: Vec<Config>,
    /// Time for one attempt to connect to one host.
    patience: Duration,
    tls: Encryption,
    /// What the URL says, or the last connection found.
    peer: Mutex<Peer>,
    /// The user of the URL, which no message shows.
    user: Option<Secret>,
    size: usize,
    idle: Mutex<Vec<Arc<Connection>>>,
    permits: Arc<Semaphore>,
    closed: AtomicBool,
    runtime: Handle,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The client's own `Debug` of a configuration shows the user.
        let hosts = self
            .hosts
            .iter()
            .map(|host| (host.get_hosts(), host.get_ports()));
        f.debug_struct("Pool")
            .field("hosts", &hosts.collect::<Vec<_>>())
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

impl Pool {
    pub(super) fn new(target: &PostgresTarget) -> Arc<Pool> {
        let size = target.pool;
        Arc::new(Pool {
            hosts: target.hosts.clone(),
            patience: target.patience,
            tls: target.tls.clone(),
            peer: Mutex::new(target.peer),
            user: target.user.clone(),
            size,
            idle: Mutex::default(),
            permits: Arc::new(Semaphore::new(size)),
            closed: AtomicBool::new(false),
            runtime: Handle::current(),
        })
    }

    /// Takes an idle connection, or opens one, trying again until the deadline.
    pub(super) async fn lease(self: &Arc<Self>, deadline: &mut Deadline) -> Result<Lease> {
        let permit = Arc::clone(&self.permits).acquire_owned();
        let permit = match deadline.wait(permit).await {
            Some(Ok(permit)) => permit,
            Some(Err(_)) => return Err(Error::closed()),
            None => {
                let message = format!(
                    "none of the {} connections of the pool became free in time",
                    self.size
                );
                return Err(Error::new(ErrorKind::DeadlineExceeded, message));
            }
        };
        loop {
            self.check_open()?;
            let idle = self.idle.lock().pop();
            match idle {
                Some(connection) if connection.is_closed() => continue,
                Some(connection) => return Ok(Lease::new(self, connection, permit)),
                None => {}
            }
            let error = match deadline.wait(self.open()).await {
                Some(Ok(connection)) => return Ok(Lease::new(self, connection, permit)),
                Some(Err(Failure::Lost(error) | Failure::Conflict(error))) => error,
                Some(Err(Failure::Refused(error))) if error.kind() == ErrorKind::Unavailable => {
                    error
                }
                Some(Err(Failure::Standby(error) | Failure::Refused(error))) => return Err(error),
                None => return Err(deadline.exceeded()),
            };
            deadline.pause(error).await?;
        }
    }

    /// Waits before a call is repeated over a new connection, because its server accepts no writes.
    /// The idle connections are probably to the same one.
    ///
    /// # Errors
    /// `error` itself, if there is no other host, or if the deadline would pass meanwhile.
    pub(super) async fn leave(&self, error: Error, deadline: &mut Deadline) -> Result<()> {
        self.idle.lock().clear();
        if self.hosts.len() < 2 {
            return Err(error);
        }
        deadline.pause(error).await
    }

    /// Opens one connection, to the first host that has one. Tries each host once.
    pub(super) async fn open(&self) -> std::result::Result<Arc<Connection>, Failure> {
        let mut failure = Failure::silent();
        for host in &self.hosts {
            let peer = *self.peer.lock();
            match timeout(self.patience, connect(host, peer, &self.tls)).await {
                Ok(Ok((client, peer))) => {
                    *self.peer.lock() = peer;
                    let connection = Connection::new(client, peer, self.user.clone());
                    return Ok(Arc::new(connection));
                }
                Ok(Err(error)) => failure = Failure::of_connecting(error, self.user.as_ref()),
                Err(_) => failure = Failure::silent(),
            }
        }
        Err(failure)
    }

    /// Adds an idle connection.
    pub(super) fn give(&self, connection: Arc<Connection>) {
        if !self.is_closed() && !connection.is_closed() {
            self.idle.lock().push(connection);
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(super) fn check_open(&self) -> Result<()> {
        if self.is_closed() {
            return Err(Error::closed());
        }
        Ok(())
    }

    /// Closes the pool: idle connections now, the others when their calls end.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.permits.close();
        self.idle.lock().clear();
    }
}

/// What has to be done with a connection when its lease ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeaseState {
    /// Nothing is outstanding: it is returned.
    Idle,
    /// An answer is outstanding: it is closed.
    Busy,
    /// It is in a transaction, with nothing outstanding: that is rolled back, and it is returned.
    InTransaction,
}

/// A connection that is out of the pool.
#[derive(Debug)]
pub(super) struct Lease {
    pool: Arc<Pool>,
    connection: Arc<Connection>,
    permit: Option<OwnedSemaphorePermit>,
    pub(super) state: LeaseState,
}

impl Lease {
    fn new(pool: &Arc<Pool>, connection: Arc<Connection>, permit: OwnedSemaphorePermit) -> Lease {
        Lease {
            pool: Arc::clone(pool),
            connection,
            permit: Some(permit),
            state: LeaseState::Idle,
        }
    }

    pub(super) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    pub(super) fn is_closed(&self) -> bool {
        self.pool.is_closed()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let (pool, connection) = (Arc::clone(&self.pool), Arc::clone(&self.connection));
        match self.state {
            LeaseState::Idle => pool.give(connection),
            LeaseState::Busy => {}
            LeaseState::InTransaction => {
                let permit = self.permit.take();
                let runtime = pool.runtime.clone();
                runtime.spawn(async move {
                    let rollback = connection.run("ROLLBACK");
                    let ended = timeout(ROLLBACK_TIMEOUT, rollback).await;
                    if matches!(ended, Ok(Ok(()))) {
                        pool.give(connection);
                    }
                    drop(permit);
                });
            }
        }
    }
}
