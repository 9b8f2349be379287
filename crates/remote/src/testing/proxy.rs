//! A proxy between a client and its server, for tests: it counts round trips and cuts connections.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

#[derive(Debug, Default)]
struct Shared {
    connections: Mutex<Vec<TcpStream>>,
    /// Answers that followed a request: bytes from the server after bytes from the client.
    round_trips: AtomicU64,
    bytes: AtomicU64,
    client_spoke: AtomicBool,
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
    shared: Arc<Shared>,
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
        let shared = Arc::<Shared>::default();
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

    /// Returns how often the direction changed from requests to answers.
    pub fn round_trips(&self) -> u64 {
        self.shared.round_trips.load(Ordering::SeqCst)
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

fn connect(shared: &Arc<Shared>, client: &TcpStream, server: &TcpStream) {
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
        pump(up.0, up.1, |_| {
            requests.client_spoke.store(true, Ordering::SeqCst);
            *requests
                .requests
                .lock()
                .unwrap_or_else(PoisonError::into_inner) += 1;
            requests.requested.notify_all();
            true
        });
    });
    background(move || {
        pump(down.1, down.0, |len| {
            if answers.client_spoke.swap(false, Ordering::SeqCst) {
                answers.round_trips.fetch_add(1, Ordering::SeqCst);
            }
            answers.bytes.fetch_add(len as u64, Ordering::SeqCst);
            !answers.mute.load(Ordering::SeqCst)
        });
    });
}

/// Copies bytes until one side ends. `note` returns whether they are passed on.
fn pump(mut from: TcpStream, mut to: TcpStream, note: impl Fn(usize) -> bool) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(len @ 1..) = from.read(&mut buffer) {
        if note(len) && to.write_all(&buffer[..len]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
