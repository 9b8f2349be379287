//! The members of the cluster: one connection each, one member in use, another after a failure.
//!
//! One connection carries any number of calls at a time, so there is no pool. A member is left
//! after every lost answer: the others may have a leader. With a user, each connection has a token,
//! which the cluster may refuse at any time: after it expired, after a restart, or after a change
//! of any user or role. A new one is then fetched, by one call for all that wait for it.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
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

/// One member of the cluster.
struct Member {
    endpoint: String,
    client: Mutex<Option<Client>>,
    /// Held while a new token is fetched.
    renewing: tokio::sync::Mutex<()>,
    /// How often that was tried.
    renewals: AtomicU64,
}

/// A member's client, and what is needed to react to its errors.
#[derive(Clone)]
pub(super) struct Chosen {
    pub(super) client: Client,
    index: usize,
    renewals: u64,
}

pub(super) struct Cluster {
    members: Vec<Member>,
    options: ConnectOptions,
    current: AtomicUsize,
    closed: AtomicBool,
    timeout: Duration,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let endpoints = self.members.iter().map(|member| &member.endpoint);
        f.debug_struct("Cluster")
            .field("endpoints", &endpoints.collect::<Vec<_>>())
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
            // The client's own renewal leaves out the tokens that a changed user makes invalid.
            options = options.with_user(user.reveal(), password);
        }
        let tls = crate::tls::of(address)?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        if let Some(tls) = tls {
            options = encrypted(options, tls)?;
        }
        let members: Vec<Member> = address
            .hosts()
            .iter()
            .map(|host| Member {
                endpoint: format!("{scheme}://{}", host.authority(PORT)),
                client: Mutex::default(),
                renewing: tokio::sync::Mutex::default(),
                renewals: AtomicU64::new(0),
            })
            .collect();
        if members.is_empty() {
            return Err(Error::invalid(
                "the URL names no host: etcd://host,host/prefix",
            ));
        }
        Ok(Cluster {
            members,
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
        for member in &self.members {
            *member.client.lock() = None;
        }
    }

    /// Returns the client of the member in use.
    pub(super) async fn client(&self) -> std::result::Result<Chosen, Failure> {
        let index = self.current.load(Ordering::Relaxed) % self.members.len();
        let member = &self.members[index];
        let chosen = |client: Client| Chosen {
            client,
            index,
            renewals: member.renewals.load(Ordering::Acquire),
        };
        if let Some(client) = &*member.client.lock() {
            return Ok(chosen(client.clone()));
        }
        // Connects with the first call; with a user, authenticates now.
        let options = Some(self.options.clone());
        // Boxed: with TLS it is 15 KB long, and part of the future of every call.
        let connecting = Box::pin(Client::connect([&member.endpoint], options));
        let client = match timeout(MEMBER_TIMEOUT, connecting).await {
            Ok(Ok(client)) => client,
            Ok(Err(error)) => {
                self.leave(index);
                return Err(not_done(Failure::from(error)));
            }
            Err(_) => {
                self.leave(index);
                return Err(silent(member));
            }
        };
        *member.client.lock() = Some(client.clone());
        Ok(chosen(client))
    }

    /// Uses the member after `index` from now on, unless another call has already moved on.
    fn leave(&self, index: usize) {
        let next = (index + 1) % self.members.len();
        let relaxed = Ordering::Relaxed;
        let _ = self.current.compare_exchange(index, next, relaxed, relaxed);
    }

    /// Leaves the member `chosen` after a failure that another one may not have, or fetches a new
    /// token for it. Returns the failure of that, if there is one, or else `failure`.
    pub(super) async fn react(
        &self,
        chosen: &Chosen,
        failure: Failure,
        deadline: &Deadline,
    ) -> Failure {
        match failure {
            Failure::NotDone(_) | Failure::Lost(_) => self.leave(chosen.index),
            Failure::Stale(_) => match deadline.wait(self.renew(chosen)).await {
                Some(Ok(())) => {}
                Some(Err(failure)) => return failure,
                None => return Failure::Refused(deadline.exceeded()),
            },
            Failure::TooLong(_) | Failure::Refused(_) => {}
        }
        failure
    }

    /// Fetches a new token, unless another call has tried that since the member was chosen: the
    /// server spends a tenth of a second of its processor on each.
    async fn renew(&self, chosen: &Chosen) -> std::result::Result<(), Failure> {
        let member = &self.members[chosen.index];
        let _alone = member.renewing.lock().await;
        if member.renewals.load(Ordering::Acquire) != chosen.renewals {
            return Ok(());
        }
        let renewed = timeout(MEMBER_TIMEOUT, chosen.client.refresh_token()).await;
        // Also after a failure, so that calls do not wait for a silent member one after the other.
        member.renewals.fetch_add(1, Ordering::Release);
        let failure = match renewed {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => not_done(Failure::from(error)),
            Err(_) => {
                *member.client.lock() = None;
                silent(member)
            }
        };
        if matches!(failure, Failure::NotDone(_)) {
            self.leave(chosen.index);
        }
        Err(failure)
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
                Some(Ok(chosen)) => match self.attempt(&chosen, effect, &deadline, &call).await {
                    Ok(answer) => return Ok(answer),
                    Err(failure) => self.react(&chosen, failure, &deadline).await,
                },
            };
            match (failure, effect) {
                (Failure::Lost(error), Effect::Writes) => {
                    return Err(Failure::Lost(error.with_kind(ErrorKind::OutcomeUnknown)));
                }
                (Failure::Lost(error) | Failure::NotDone(error) | Failure::Stale(error), _) => {
                    if deadline.passed() {
                        return Err(Failure::Refused(error));
                    }
                    deadline.pause(error).await.map_err(Failure::Refused)?;
                }
                (failure, _) => return Err(failure),
            }
        }
    }

    /// Sends `call` once, to the member `chosen`.
    async fn attempt<'a, T>(
        &self,
        chosen: &Chosen,
        effect: Effect,
        deadline: &Deadline,
        call: impl Fn(KvClient) -> Call<'a, T>,
    ) -> std::result::Result<T, Failure> {
        let kv = chosen.client.kv_client();
        let kv = kv.max_decoding_message_size(ANSWER_BYTES_MAX);
        let patience = match effect {
            Effect::Reads => deadline.left(MEMBER_TIMEOUT),
            Effect::Writes => deadline.left(Duration::MAX),
        };
        let Ok(answer) = timeout(patience, call(kv)).await else {
            // A connection that hangs is not used again.
            *self.members[chosen.index].client.lock() = None;
            return Err(Failure::Lost(deadline.exceeded()));
        };
        answer.map_err(Failure::from)
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

/// Returns the failure of a member that does not answer while connecting or authenticating.
fn silent(member: &Member) -> Failure {
    let message = format!("{} does not answer", member.endpoint);
    Failure::NotDone(Error::new(ErrorKind::Unavailable, message))
}

/// Connecting changes nothing, whatever went wrong.
fn not_done(failure: Failure) -> Failure {
    match failure {
        Failure::Lost(error) => Failure::NotDone(error),
        other => other,
    }
}
