//! The members of the cluster: one connection each, one member in use, another after a failure.
//!
//! One connection carries any number of calls at a time, so there is no pool. A member is left
//! after every lost answer: the others may have a leader.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use cairndb_store::{CallOptions, Error, ErrorKind, Result};
use etcd_client::{Client, ConnectOptions, KvClient};
use parking_lot::Mutex;
use tokio::time::timeout;

use crate::etcd::errors::Failure;
use crate::face::{Deadline, Pending};
use crate::url::Address;

/// Port of etcd for clients.
const PORT: u16 = 2379;
/// Time to connect to one member.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Time for one member to answer a read, before another one is asked.
const MEMBER_TIMEOUT: Duration = Duration::from_secs(3);
/// Longest answer: a page of the largest values.
const ANSWER_BYTES_MAX: usize = 32 << 20;

/// Whether a call that was sent may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Reads,
    Writes,
}

/// The answer of one member.
pub(super) type Call<'a, T> =
    std::pin::Pin<Box<dyn Future<Output = std::result::Result<T, etcd_client::Error>> + Send + 'a>>;

pub(super) struct Cluster {
    endpoints: Vec<String>,
    options: ConnectOptions,
    clients: Vec<Mutex<Option<Client>>>,
    current: AtomicUsize,
    closed: AtomicBool,
    timeout: Duration,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster")
            .field("endpoints", &self.endpoints)
            .finish_non_exhaustive()
    }
}

impl Cluster {
    pub(super) fn new(address: &Address) -> Result<Cluster> {
        address.check_settings(&[&["timeout"][..], &crate::tls::SETTINGS].concat())?;
        let mut options = ConnectOptions::new()
            .with_connect_timeout(CONNECT_TIMEOUT)
            .with_keep_alive(Duration::from_secs(5), Duration::from_secs(3))
            .with_keep_alive_while_idle(false);
        if let Some(user) = address.user() {
            let password = address.password();
            let password = password.as_ref().map_or("", |password| password.reveal());
            options = options
                .with_user(user.reveal(), password)
                .with_auto_token_refresh(true);
        }
        let tls = crate::tls::of(address)?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        if let Some(tls) = tls {
            options = encrypted(options, tls)?;
        }
        let endpoints: Vec<String> = address
            .hosts()
            .iter()
            .map(|host| format!("{scheme}://{}", host.authority(PORT)))
            .collect();
        if endpoints.is_empty() {
            return Err(Error::invalid(
                "the URL names no host: etcd://host,host/prefix",
            ));
        }
        Ok(Cluster {
            clients: endpoints.iter().map(|_| Mutex::new(None)).collect(),
            endpoints,
            options,
            current: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            timeout: address.timeout()?,
        })
    }

    pub(super) fn deadline(&self, options: &CallOptions) -> Deadline {
        Deadline::of(options, self.timeout)
    }

    pub(super) fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::closed());
        }
        Ok(())
    }

    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        for client in &self.clients {
            *client.lock() = None;
        }
    }

    /// Returns the client of the member in use, and its number.
    pub(super) async fn client(&self) -> std::result::Result<(usize, Client), Failure> {
        let index = self.current.load(Ordering::Relaxed) % self.endpoints.len();
        if let Some(client) = &*self.clients[index].lock() {
            return Ok((index, client.clone()));
        }
        // Connects with the first call; with a user, authenticates now.
        let endpoint = &self.endpoints[index];
        // Boxed: with TLS it is 15 KB long, and part of the future of every call.
        let connecting = Box::pin(Client::connect([endpoint], Some(self.options.clone())));
        let client = match timeout(MEMBER_TIMEOUT, connecting).await {
            Ok(Ok(client)) => client,
            Ok(Err(error)) => {
                self.leave(index);
                return Err(not_done(Failure::from(error)));
            }
            Err(_) => {
                self.leave(index);
                let message = format!("{endpoint} does not answer");
                return Err(Failure::NotDone(Error::new(
                    ErrorKind::Unavailable,
                    message,
                )));
            }
        };
        *self.clients[index].lock() = Some(client.clone());
        Ok((index, client))
    }

    /// Uses the member after `index` from now on, unless another call has already moved on.
    pub(super) fn leave(&self, index: usize) {
        let next = (index + 1) % self.endpoints.len();
        let relaxed = Ordering::Relaxed;
        let _ = self.current.compare_exchange(index, next, relaxed, relaxed);
    }

    /// Runs `call` until it is answered, at most until the deadline.
    pub(super) async fn run<'a, T>(
        &self,
        effect: Effect,
        options: &CallOptions,
        call: impl Fn(KvClient) -> Call<'a, T>,
    ) -> std::result::Result<T, Failure> {
        let mut deadline = self.deadline(options);
        loop {
            self.check_open().map_err(Failure::Refused)?;
            let failure = match deadline.wait(self.client()).await {
                None => return Err(Failure::Refused(deadline.exceeded())),
                Some(Err(failure)) => failure,
                Some(Ok((index, client))) => {
                    let kv = client
                        .kv_client()
                        .max_decoding_message_size(ANSWER_BYTES_MAX);
                    let patience = match effect {
                        Effect::Reads => deadline.left(MEMBER_TIMEOUT),
                        Effect::Writes => deadline.left(Duration::MAX),
                    };
                    match timeout(patience, call(kv)).await {
                        Ok(Ok(answer)) => return Ok(answer),
                        Ok(Err(error)) => {
                            let failure = Failure::from(error);
                            if matches!(failure, Failure::NotDone(_) | Failure::Lost(_)) {
                                self.leave(index);
                            }
                            failure
                        }
                        Err(_) => {
                            // A connection that hangs is not used again.
                            *self.clients[index].lock() = None;
                            self.leave(index);
                            Failure::Lost(deadline.exceeded())
                        }
                    }
                }
            };
            match (failure, effect) {
                (Failure::Lost(error), Effect::Writes) => {
                    return Err(Failure::Lost(error.with_kind(ErrorKind::OutcomeUnknown)));
                }
                (Failure::Lost(error) | Failure::NotDone(error), _) => {
                    if deadline.passed() {
                        return Err(Failure::Refused(error));
                    }
                    deadline.pause(error).await.map_err(Failure::Refused)?;
                }
                (failure, _) => return Err(failure),
            }
        }
    }

    /// Like [`Cluster::run`], for calls whose answers are short.
    pub(super) fn ask<'a, T: Send + 'a>(
        &'a self,
        effect: Effect,
        options: &'a CallOptions,
        call: impl Fn(KvClient) -> Call<'a, T> + Send + Sync + 'a,
    ) -> Pending<'a, T> {
        Box::pin(async move {
            let answer = self.run(effect, options, call).await;
            answer.map_err(Failure::into_error)
        })
    }
}

#[cfg(feature = "tls")]
fn encrypted(options: ConnectOptions, tls: crate::tls::Tls) -> Result<ConnectOptions> {
    use etcd_client::{Certificate, Identity, TlsOptions};
    // The client would notice a bad file only while it connects, and try again.
    crate::tls::client_config(&tls)?;
    let mut settings = match tls.ca {
        Some(pem) => TlsOptions::new().ca_certificate(Certificate::from_pem(pem)),
        None => TlsOptions::new().with_native_roots(),
    };
    if let Some((cert, key)) = tls.identity {
        settings = settings.identity(Identity::from_pem(cert, key));
    }
    Ok(options.with_tls(settings))
}

#[cfg(not(feature = "tls"))]
#[expect(clippy::unnecessary_wraps, reason = "as with the feature `tls`")]
fn encrypted(options: ConnectOptions, _: crate::tls::Tls) -> Result<ConnectOptions> {
    Ok(options)
}

/// Connecting changes nothing, whatever went wrong.
fn not_done(failure: Failure) -> Failure {
    match failure {
        Failure::Lost(error) => Failure::NotDone(error),
        other => other,
    }
}
