//! As much of HTTP as a server in a test needs: requests with a length, answers with a length.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// The head of a request.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    /// All lines, without the empty one.
    pub(crate) text: String,
    /// Length of the body.
    pub(crate) body_bytes: usize,
}

impl Head {
    /// The method and the path, as `PUT /bucket/object?query`.
    pub(crate) fn request(&self) -> &str {
        let line = self.text.lines().next().unwrap_or_default();
        line.rsplit_once(' ').map_or(line, |(request, _)| request)
    }
}

/// Reads the head of a request or an answer; returns `None` at the end of the connection.
pub(crate) fn read_head(connection: &mut BufReader<TcpStream>) -> Option<Head> {
    let (mut text, mut body_bytes) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if connection.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            return Some(Head { text, body_bytes });
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            body_bytes = value.trim().parse().expect("a length is a number");
        }
        text.push_str(&line);
    }
}

/// Reads `len` bytes; returns `None` if the connection ends before.
pub(crate) fn read_body(connection: &mut BufReader<TcpStream>, len: usize) -> Option<Vec<u8>> {
    let mut body = vec![0; len];
    connection.read_exact(&mut body).ok()?;
    Some(body)
}

/// Returns an answer.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> Vec<u8> {
    let len = body.len();
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {len}\r\n\r\n{body}").into_bytes()
}

/// Listens on loopback, gives each connection a thread that runs `serve`, and returns the port.
pub(crate) fn listen(serve: impl Fn(BufReader<TcpStream>) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let port = listener
        .local_addr()
        .expect("a bound socket has an address")
        .port();
    let serve = Arc::new(serve);
    background(move || {
        for connection in listener.incoming().map_while(Result::ok) {
            let _ = connection.set_nodelay(true);
            let serve = Arc::clone(&serve);
            background(move || serve(BufReader::new(connection)));
        }
    });
    port
}

/// Listens on loopback, answers each request with what `reply` returns, and returns the port.
pub(crate) fn listen_with(reply: impl Fn(&Head) -> Vec<u8> + Send + Sync + 'static) -> u16 {
    listen(move |mut connection| {
        while let Some(head) = read_head(&mut connection) {
            let read = read_body(&mut connection, head.body_bytes);
            if read.is_none() || connection.get_mut().write_all(&reply(&head)).is_err() {
                break;
            }
        }
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "the servers of the tests are real"
)]
fn background(work: impl FnOnce() + Send + 'static) {
    drop(std::thread::spawn(work));
}
