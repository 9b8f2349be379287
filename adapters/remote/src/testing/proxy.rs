//! A proxy between a client and its server, for tests: it delays answers, which gives the number of
//! round trips of a call, and cuts connections.
//!
//! Packets do not give that number: a long message takes several, and HTTP/2 sends messages of its
//! own. The time of a call over a slow connection does.

#![expect(
    clippy::disallowed_methods,
    reason = "the servers of the tests are real, and so is their time"
)]

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
struct ProxyShared {
    connections: Mutex<Vec<TcpStream>>,
    /// Time from the arrival of an answer to its delivery.
    round_trip: Mutex<Duration>,
    bytes: AtomicU64,
    /// Packets from the client.
    requests: Mutex<u64>,
    requested: Condvar,
    /// Whether answers are dropped: the server gets every request, the client hears nothing.
    mute: AtomicBool,
}

/// A proxy on loopback in front of one port.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    shared: Arc<ProxyShared>,
}

impl Proxy {
    /// Starts a proxy in front of `port`.
    ///
    /// # Panics
    /// If loopback has no free port.
    pub fn start(port: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let own = listener
            .local_addr()
            .expect("a bound socket has an address");
        let shared = Arc::<ProxyShared>::default();
        let accepting = Arc::clone(&shared);
        background(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // A server that is down: the client sees a closed connection.
                if let Ok(server) = TcpStream::connect(("127.0.0.1", port)) {
                    connect(&accepting, &client, &server);
                }
            }
        });
        Proxy {
            port: own.port(),
            shared,
        }
    }

    /// Returns the port of the proxy.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Delivers each answer `round_trip` after its arrival, from now on.
    pub fn delay(&self, round_trip: Duration) {
        *self.shared.round_trip() = round_trip;
    }

    /// Returns the largest number of round trips that `call` can have waited for: its time divided
    /// by that of one. It is not below the true number, and the load of the machine adds to it.
    ///
    /// # Panics
    /// If answers are not delayed.
    pub fn round_trips(&self, call: impl FnOnce()) -> u64 {
        let round_trip = *self.shared.round_trip();
        assert!(!round_trip.is_zero(), "the proxy delays answers");
        let start = Instant::now();
        call();
        let times = start.elapsed().as_nanos() / round_trip.as_nanos();
        u64::try_from(times).expect("a test ends within centuries")
    }

    /// Returns the number of bytes of all answers.
    pub fn bytes(&self) -> u64 {
        self.shared.bytes.load(Ordering::SeqCst)
    }

    /// Cuts all connections.
    pub fn cut(&self) {
        let mut connections = self
            .shared
            .connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for connection in connections.drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    /// Drops all answers from now on. The client needs a new connection afterwards.
    pub fn mute(&self) {
        self.shared.mute.store(true, Ordering::SeqCst);
    }

    /// Passes answers on again.
    pub fn hear(&self) {
        self.shared.mute.store(false, Ordering::SeqCst);
    }

    /// Loses answers: the server gets the next `count` packets of requests, the client hears
    /// nothing, and then the connections are cut. Ends after a second if nothing is sent.
    pub fn lose_answers(&self, count: u64) {
        self.shared.mute.store(true, Ordering::SeqCst);
        let requests = self
            .shared
            .requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let wanted = *requests + count;
        let few = |sent: &mut u64| *sent < wanted;
        let waiting = &self.shared.requested;
        drop(waiting.wait_timeout_while(requests, Duration::from_secs(1), few));
        self.cut();
        self.shared.mute.store(false, Ordering::SeqCst);
    }
}

fn background(work: impl FnOnce() + Send + 'static) {
    let started = Builder::new().name("proxy".to_owned()).spawn(work);
    assert!(started.is_ok(), "a thread can be started");
}

impl ProxyShared {
    fn round_trip(&self) -> std::sync::MutexGuard<'_, Duration> {
        self.round_trip
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn connect(shared: &Arc<ProxyShared>, client: &TcpStream, server: &TcpStream) {
    let copies = || {
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        Some((
            (client.try_clone().ok()?, server.try_clone().ok()?),
            (client.try_clone().ok()?, server.try_clone().ok()?),
            (client.try_clone().ok()?, server.try_clone().ok()?),
        ))
    };
    let Some((up, down, kept)) = copies() else {
        return;
    };
    let mut connections = shared
        .connections
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    connections.push(kept.0);
    connections.push(kept.1);
    drop(connections);
    let (requests, answers) = (Arc::clone(shared), Arc::clone(shared));
    background(move || {
        let mut server = up.1;
        receive(&up.0, |bytes| {
            *requests
                .requests
                .lock()
                .unwrap_or_else(PoisonError::into_inner) += 1;
            requests.requested.notify_all();
            server.write_all(bytes).is_ok()
        });
        let _ = server.shutdown(Shutdown::Both);
    });
    let (due, arrived) = mpsc::channel::<(Instant, Vec<u8>)>();
    background(move || {
        receive(&down.1, |bytes| {
            answers
                .bytes
                .fetch_add(bytes.len() as u64, Ordering::SeqCst);
            let at = Instant::now() + *answers.round_trip();
            answers.mute.load(Ordering::SeqCst) || due.send((at, bytes.to_vec())).is_ok()
        });
    });
    background(move || {
        let mut client = down.0;
        for (at, bytes) in arrived {
            sleep(at.saturating_duration_since(Instant::now()));
            if client.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = client.shutdown(Shutdown::Both);
    });
}

/// Passes what arrives to `each` until one side ends or `each` returns false.
fn receive(mut from: &TcpStream, mut each: impl FnMut(&[u8]) -> bool) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(len @ 1..) = from.read(&mut buffer) {
        if !each(&buffer[..len]) {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
}
