//! A proxy in front of the server that, by a plan, loses requests, answers and connections.

use std::io::{BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use cairndb_env::random::Random;

use super::http::{self, Head};

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    Pass,
    /// The answer comes after this many milliseconds.
    Delay(u64),
    /// The server gets this many thousandths of the request, then both connections are cut.
    CutRequest(usize),
    /// The server gets the request, the client this many thousandths of the answer.
    CutAnswer(usize),
    /// The proxy answers with this status, and the server never hears of the request.
    Refuse(u16),
    /// The proxy answers with this status, though the server has done what was asked.
    Deny(u16),
    /// The connection is closed after the answer, which does not say so.
    HangUp,
}

impl Fate {
    pub(crate) fn draw(random: &mut Random) -> Fate {
        let status = [500, 503][random.index(2)];
        match random.below(24) {
            0 => Fate::CutRequest(random.index(1000)),
            1 | 2 => Fate::CutAnswer(random.index(1000)),
            3 => Fate::Refuse(status),
            4 => Fate::Deny(status),
            5 => Fate::HangUp,
            6..=8 => Fate::Delay(random.below(51)),
            _ => Fate::Pass,
        }
    }

    /// Returns whether the client gets no answer of the server.
    pub(crate) fn fails(self) -> bool {
        !matches!(self, Fate::Pass | Fate::Delay(_) | Fate::HangUp)
    }

    /// Returns the name without the number.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Fate::Pass => "pass",
            Fate::Delay(_) => "delay",
            Fate::CutRequest(_) => "cut request",
            Fate::CutAnswer(_) => "cut answer",
            Fate::Refuse(_) => "refuse",
            Fate::Deny(_) => "deny",
            Fate::HangUp => "hang up",
        }
    }
}

/// A proxy on loopback.
pub(crate) struct Proxy {
    pub(crate) endpoint: String,
    /// Each request with its fate and the status of the server's answer, if it got the request.
    pub(crate) seen: Arc<Mutex<Vec<Seen>>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) request: String,
    pub(crate) fate: Fate,
    pub(crate) status: Option<String>,
    /// Requests that were under way when this one began, itself included.
    pub(crate) at_once: usize,
}

impl Proxy {
    /// Starts a proxy in front of the server at `endpoint`.
    pub(crate) fn start(endpoint: &str, plan: impl FnMut(&Head) -> Fate + Send + 'static) -> Proxy {
        let server = endpoint
            .trim_start_matches("http://")
            .trim_end_matches('/')
            .to_owned();
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let record = Arc::clone(&seen);
        let plan = Mutex::new(plan);
        let under_way = AtomicUsize::new(0);
        let port = http::listen(move |mut client| {
            while let Some(head) = http::read_head(&mut client) {
                let fate = plan.lock().expect("no plan panics")(&head);
                let at_once = under_way.fetch_add(1, Ordering::SeqCst) + 1;
                let (status, answer) = pass(&mut client, &server, &head, fate);
                let request = head.request().to_owned();
                let seen = Seen {
                    request,
                    fate,
                    status,
                    at_once,
                };
                record.lock().expect("no reader panics").push(seen);
                under_way.fetch_sub(1, Ordering::SeqCst);
                let more = answer.is_some_and(|(bytes, more)| {
                    client.get_mut().write_all(&bytes).is_ok() && more
                });
                if !more {
                    break;
                }
            }
            let _ = client.get_mut().shutdown(Shutdown::Both);
        });
        Proxy {
            endpoint: format!("http://127.0.0.1:{port}"),
            seen,
        }
    }

    /// Returns the requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no writer panics").clone()
    }
}

/// Passes a request on, as its fate allows. Returns the status of the server's answer, and what the
/// client gets, if anything, and whether its connection stays open then.
#[expect(
    clippy::disallowed_methods,
    reason = "the server is real, and so is its time"
)]
fn pass(
    client: &mut BufReader<TcpStream>,
    server: &str,
    head: &Head,
    fate: Fate,
) -> (Option<String>, Option<(Vec<u8>, bool)>) {
    let part = |len: usize, thousandths: usize| len * thousandths / 1000;
    let wanted = match fate {
        Fate::CutRequest(thousandths) => part(head.body_bytes, thousandths),
        _ => head.body_bytes,
    };
    let Some(body) = http::read_body(client, wanted) else {
        return (None, None);
    };
    if let Fate::Refuse(status) = fate {
        return (None, Some((own_answer(status), true)));
    }
    let Some(mut answer) = ask(server, head, &body, matches!(fate, Fate::CutRequest(_))) else {
        return (None, None);
    };
    let status = String::from_utf8_lossy(&answer)
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned();
    match fate {
        Fate::CutRequest(_) => return (Some(status), None),
        Fate::CutAnswer(thousandths) => answer.truncate(part(answer.len(), thousandths)),
        Fate::Delay(milliseconds) => thread::sleep(Duration::from_millis(milliseconds)),
        Fate::Deny(status) => answer = own_answer(status),
        Fate::Pass | Fate::HangUp | Fate::Refuse(_) => {}
    }
    let ends = matches!(fate, Fate::CutAnswer(_) | Fate::HangUp);
    (Some(status), Some((answer, !ends)))
}

fn own_answer(status: u16) -> Vec<u8> {
    http::answer(
        &format!("{status} Trouble"),
        "",
        "<Error><Code>Trouble</Code></Error>",
    )
}

/// Sends a request to the server, and returns its whole answer, as if the connection were kept.
fn ask(server: &str, head: &Head, body: &[u8], cut: bool) -> Option<Vec<u8>> {
    let mut server = TcpStream::connect(server).ok()?;
    let head = format!("{}Connection: close\r\n\r\n", head.text);
    // A server may answer, and close, before it has read all.
    let _ = server
        .write_all(head.as_bytes())
        .and_then(|()| server.write_all(body));
    if cut {
        let _ = server.shutdown(Shutdown::Write);
    }
    let mut answer = Vec::new();
    let _ = server.read_to_end(&mut answer);
    let head_bytes = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&answer[..head_bytes]);
    let mut kept: String = head
        .lines()
        .filter(|line| !line.eq_ignore_ascii_case("connection: close"))
        .flat_map(|line| [line, "\r\n"])
        .collect();
    kept.push_str("\r\n");
    Some([kept.as_bytes(), &answer[head_bytes + 4..]].concat())
}
