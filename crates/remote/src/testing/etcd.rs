//! A cluster of three etcd servers.

use std::path::Path;

use tempfile::TempDir;

use super::process::{Server, find, in_path};
use super::{Medium, free_port};

const MEMBERS: usize = 3;

/// Three etcd servers on loopback.
#[derive(Debug)]
pub struct EtcdCluster {
    members: Vec<Member>,
    /// After the members: they end before their files go away.
    _directory: TempDir,
}

#[derive(Debug)]
struct Member {
    command: Vec<String>,
    port: u16,
    server: Option<Server>,
}

impl EtcdCluster {
    /// Starts a cluster, or returns `None` if etcd is not installed (Debian: `etcd-server`).
    ///
    /// # Panics
    /// If it is installed but does not start.
    pub fn start(medium: Medium) -> Option<EtcdCluster> {
        let program = find(in_path("etcd"))?;
        let directory = medium.directory().expect("a temporary directory");
        let ports: Vec<(u16, u16)> = (0..MEMBERS).map(|_| (free_port(), free_port())).collect();
        let peers: Vec<String> = ports
            .iter()
            .enumerate()
            .map(|(n, (_, peer))| format!("n{n}=http://127.0.0.1:{peer}"))
            .collect();
        let peers = peers.join(",");
        let members = ports.iter().enumerate().map(|(n, &(client, peer))| Member {
            command: command(&program, directory.path(), n, (client, peer), &peers),
            port: client,
            server: None,
        });
        let mut cluster = EtcdCluster {
            members: members.collect(),
            _directory: directory,
        };
        // A member is ready only when a majority is there, so they start together.
        std::thread::scope(|scope| {
            for member in &mut cluster.members {
                scope.spawn(|| member.start());
            }
        });
        Some(cluster)
    }

    /// Returns the URL of the store with the prefix `name`.
    pub fn url(&self, name: &str) -> String {
        let hosts: Vec<String> = self
            .members
            .iter()
            .map(|member| format!("127.0.0.1:{}", member.port))
            .collect();
        format!("etcd://{}/{name}", hosts.join(","))
    }

    /// Returns the client ports of the members.
    pub fn ports(&self) -> Vec<u16> {
        self.members.iter().map(|member| member.port).collect()
    }

    /// Kills a member with `SIGKILL`.
    pub fn kill(&mut self, member: usize) {
        self.members[member].server = None;
    }

    /// Starts a member that was killed, and waits until it is ready.
    ///
    /// # Panics
    /// If it does not start.
    pub fn restart(&mut self, member: usize) {
        self.members[member].start();
    }

    /// Stops a member for a while (`STOP`), or lets it go on (`CONT`).
    pub fn signal(&self, member: usize, signal: &str) {
        if let Some(server) = &self.members[member].server {
            server.signal(signal);
        }
    }
}

impl Member {
    fn start(&mut self) {
        // Debian's version asks for this on other processors than x86-64.
        let architecture = match std::env::consts::ARCH {
            "aarch64" => "arm64",
            other => other,
        };
        let environment = [("ETCD_UNSUPPORTED_ARCH", architecture)];
        let ready = "serving client traffic";
        self.server = Some(Server::start(&self.command, &environment, ready));
    }
}

fn command(
    program: &str,
    directory: &Path,
    member: usize,
    (client, peer): (u16, u16),
    peers: &str,
) -> Vec<String> {
    let client = format!("http://127.0.0.1:{client}");
    let peer = format!("http://127.0.0.1:{peer}");
    let data = directory.join(format!("n{member}"));
    let flags = [
        ("name", format!("n{member}")),
        ("data-dir", data.to_string_lossy().into_owned()),
        ("listen-client-urls", client.clone()),
        ("advertise-client-urls", client),
        ("listen-peer-urls", peer.clone()),
        ("initial-advertise-peer-urls", peer),
        ("initial-cluster", peers.to_owned()),
        ("initial-cluster-state", "new".to_owned()),
        ("quota-backend-bytes", (4_u64 << 30).to_string()),
        ("logger", "zap".to_owned()),
        ("log-outputs", "stdout".to_owned()),
    ];
    let flags = flags.map(|(name, value)| format!("--{name}={value}"));
    std::iter::once(program.to_owned()).chain(flags).collect()
}
