//! A PostgreSQL server.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::process::{Server, find, in_path};
use super::{Certificates, Medium, free_port};

/// The user of the database.
pub(super) const USER: &str = "cairn";

/// A PostgreSQL server on loopback, which runs as a user that is not root.
#[derive(Debug)]
pub struct PostgresServer {
    command: Vec<String>,
    port: u16,
    server: Option<Server>,
    /// After the server: it ends before its files go away.
    _directory: TempDir,
}

impl PostgresServer {
    /// Starts a server, or returns `None` if PostgreSQL is not installed (Debian: `postgresql`).
    ///
    /// # Panics
    /// If it is installed but does not start.
    pub fn start(medium: Medium) -> Option<PostgresServer> {
        PostgresServer::start_with(medium, None)
    }

    /// Starts a server whose clients must encrypt, and show a certificate of the same authority.
    ///
    /// # Panics
    /// If it is installed but does not start.
    pub fn start_encrypted(medium: Medium, certificates: &Certificates) -> Option<PostgresServer> {
        PostgresServer::start_with(medium, Some(certificates))
    }

    fn start_with(medium: Medium, certificates: Option<&Certificates>) -> Option<PostgresServer> {
        let initdb = program("initdb")?;
        let postgres = program("postgres")?;
        let directory = medium.directory().expect("a temporary directory");
        let encryption = certificates.map(|files| files.copy_to(directory.path()));
        let prefix = as_nobody();
        if !prefix.is_empty() {
            // The server refuses to run as root.
            run(&["chown", "-R", "nobody", &directory.path().to_string_lossy()]);
        }
        let data = directory.path().join("data");
        let data = data.to_string_lossy();
        let created = [
            initdb.as_str(),
            "--pgdata",
            &data,
            "--username",
            USER,
            "--auth=trust",
            "--no-sync",
            "--encoding=UTF8",
            "--locale=C",
        ];
        run(&[prefix, &created].concat());
        let port = free_port();
        let flags = [
            format!("--port={port}"),
            "--listen-addresses=127.0.0.1".to_owned(),
            "--unix-socket-directories=".to_owned(),
            // In the data directory: segments of its own would outlive a server that is killed.
            "--dynamic-shared-memory-type=mmap".to_owned(),
            "--max-connections=200".to_owned(),
        ];
        let command = prefix
            .iter()
            .copied()
            .chain([postgres.as_str(), "-D", &data]);
        let mut command: Vec<String> = command.map(str::to_owned).chain(flags).collect();
        if let Some(files) = &encryption {
            encrypt(&mut command, directory.path(), files);
        }
        let mut server = PostgresServer {
            command,
            port,
            server: None,
            _directory: directory,
        };
        server.restart();
        Some(server)
    }

    /// Returns the URL of the store in the table `name`.
    pub fn url(&self, name: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/postgres/{name}", self.port)
    }

    /// Returns the port of the server.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Kills the server with `SIGKILL`. Its processes for connections end by themselves.
    pub fn kill(&mut self) {
        self.server = None;
    }

    /// Starts a server that was killed, and waits until it is ready.
    ///
    /// # Panics
    /// If it does not start.
    pub fn restart(&mut self) {
        let ready = "ready to accept connections";
        self.server = Some(Server::start(&self.command, &[], ready));
    }

    /// Stops the server for a while (`STOP`), or lets it go on (`CONT`).
    pub fn signal(&self, signal: &str) {
        if let Some(server) = &self.server {
            server.signal(signal);
        }
    }
}

/// Adds the flags of a server that accepts encrypted connections only, and writes its access file.
fn encrypt(command: &mut Vec<String>, directory: &Path, [ca, cert, key]: &[String; 3]) {
    let access = directory.join("pg_hba.conf");
    let rule = "hostssl all all 127.0.0.1/32 trust clientcert=verify-ca";
    let access = access.to_string_lossy();
    run(&["sh", "-c", "echo \"$0\" > \"$1\"", rule, &access]);
    command.extend([
        "--ssl=on".to_owned(),
        format!("--ssl-ca-file={ca}"),
        format!("--ssl-cert-file={cert}"),
        format!("--ssl-key-file={key}"),
        format!("--hba-file={access}"),
    ]);
}

/// Returns the path of a program of PostgreSQL. Debian keeps them apart from `PATH`, in a folder
/// for each version.
fn program(name: &str) -> Option<String> {
    let versions = (10..40).rev();
    let debian =
        versions.map(|version| PathBuf::from(format!("/usr/lib/postgresql/{version}/bin/{name}")));
    find(debian.chain(in_path(name)))
}

/// Returns what to write before a command that refuses to run as root: nothing, for another user.
pub(super) fn as_nobody() -> &'static [&'static str] {
    let output = Command::new("id").arg("-u").output();
    if output.is_ok_and(|output| output.stdout.trim_ascii() == b"0") {
        &[
            "setpriv",
            "--reuid=nobody",
            "--regid=nogroup",
            "--clear-groups",
        ]
    } else {
        &[]
    }
}

pub(super) fn run(command: &[&str]) {
    let output = Command::new(command[0]).args(&command[1..]).output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed: {text}");
}
