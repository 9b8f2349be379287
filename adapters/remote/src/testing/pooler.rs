//! A pooler of connections, pgbouncer, in front of a PostgreSQL server.

use std::io::Write as _;
use std::path::PathBuf;

use tempfile::NamedTempFile;

use super::free_port;
use super::postgres::{PostgresServer, USER, as_nobody, run};
use super::process::{Server, find, in_path};

/// A pgbouncer on loopback.
#[derive(Debug)]
pub struct Pooler {
    port: u16,
    /// Before the file: it ends before that goes away.
    _server: Server,
    _settings: NamedTempFile,
}

impl Pooler {
    /// Starts a pooler in front of `server` with lines of its file of settings, such as
    /// `pool_mode = transaction`; or returns `None` if pgbouncer is not installed (Debian:
    /// `pgbouncer`).
    ///
    /// # Panics
    /// If it is installed but does not start.
    pub fn start(server: &PostgresServer, settings: &[&str]) -> Option<Pooler> {
        // Debian keeps it apart from the `PATH` of users.
        let debian = PathBuf::from("/usr/sbin/pgbouncer");
        let program = find(in_path("pgbouncer").into_iter().chain([debian]))?;
        let port = free_port();
        let lines = [
            "[databases]".to_owned(),
            format!("* = host=127.0.0.1 port={} user={USER}", server.port()),
            "[pgbouncer]".to_owned(),
            "listen_addr = 127.0.0.1".to_owned(),
            format!("listen_port = {port}"),
            "unix_socket_dir =".to_owned(),
            "auth_type = any".to_owned(),
            settings.join("\n"),
        ];
        let mut file = NamedTempFile::new().expect("a temporary file");
        let written = file.write_all(lines.join("\n").as_bytes());
        written.expect("a file can be written");
        let path = file.path().to_string_lossy().into_owned();
        let prefix = as_nobody();
        if !prefix.is_empty() {
            // It refuses to run as root too.
            run(&["chown", "nobody", &path]);
        }
        let command = prefix.iter().map(|&part| part.to_owned());
        let command: Vec<String> = command.chain([program, path]).collect();
        Some(Pooler {
            port,
            _server: Server::start(&command, &[], "process up"),
            _settings: file,
        })
    }

    /// Returns the URL of the store in the table `name`.
    pub fn url(&self, name: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/postgres/{name}", self.port)
    }

    /// Returns the port of the pooler.
    pub fn port(&self) -> u16 {
        self.port
    }
}
