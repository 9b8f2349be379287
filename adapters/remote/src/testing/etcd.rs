//! A cluster of three etcd servers.

use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use super::process::{Server, find, in_path};
use super::{Certificates, Medium, free_port};

const MEMBERS: usize = 3;
/// How often a cluster is started, and how long each attempt may take on a machine that is busy.
const CLUSTER_ATTEMPTS: u32 = 4;
const CLUSTER_TIMEOUT: Duration = Duration::from_secs(40);
/// Time for a member that was killed to be ready again.
const RESTART_TIMEOUT: Duration = Duration::from_mins(2);

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
        EtcdCluster::start_with(medium, None, &[])
    }

    /// Starts a cluster whose members have `flags`, such as `--auth-token=simple`, too.
    ///
    /// # Panics
    /// If it is installed but does not start.
    pub fn start_with_flags(medium: Medium, flags: &[String]) -> Option<EtcdCluster> {
        EtcdCluster::start_with(medium, None, flags)
    }

    /// Starts a cluster whose clients must encrypt, and show a certificate of the same authority.
    ///
    /// # Panics
    /// If it is installed but does not start.
    pub fn start_encrypted(medium: Medium, certificates: &Certificates) -> Option<EtcdCluster> {
        EtcdCluster::start_with(medium, Some(certificates), &[])
    }

    fn start_with(
        medium: Medium,
        certificates: Option<&Certificates>,
        flags: &[String],
    ) -> Option<EtcdCluster> {
        let program = find(in_path("etcd"))?;
        // Another process may have taken one of the ports in the meantime, and then the other
        // members wait for the one that cannot start.
        let launch = |_| EtcdCluster::launch(&program, medium, certificates, flags);
        let mut attempts = (0..CLUSTER_ATTEMPTS).map(launch);
        let started = attempts.find_map(Result::ok);
        Some(started.expect("etcd is installed and starts"))
    }

    /// Starts three members on ports that are free. Returns the output of one that is not ready in
    /// time.
    fn launch(
        program: &str,
        medium: Medium,
        certificates: Option<&Certificates>,
        flags: &[String],
    ) -> Result<EtcdCluster, String> {
        let directory = medium.directory().expect("a temporary directory");
        let ports: Vec<(u16, u16)> = (0..MEMBERS).map(|_| (free_port(), free_port())).collect();
        let peers: Vec<String> = ports
            .iter()
            .enumerate()
            .map(|(n, (_, peer))| format!("n{n}=http://127.0.0.1:{peer}"))
            .collect();
        let peers = peers.join(",");
        let encryption = certificates.map(|files| files.copy_to(directory.path()));
        let members = ports.iter().enumerate().map(|(n, &(client, peer))| {
            let mut command = command(program, directory.path(), n, (client, peer), &peers);
            if let Some(files) = &encryption {
                encrypt(&mut command, client, files);
            }
            command.extend_from_slice(flags);
            Member {
                command,
                port: client,
                server: None,
            }
        });
        let mut cluster = EtcdCluster {
            members: members.collect(),
            _directory: directory,
        };
        cluster.start_all()?;
        Ok(cluster)
    }

    /// Starts all members together: one is ready only when a majority is there.
    fn start_all(&mut self) -> Result<(), String> {
        std::thread::scope(|scope| {
            let starts = self.members.iter_mut();
            let starts = starts.map(|member| scope.spawn(|| member.start(CLUSTER_TIMEOUT)));
            let starts: Vec<_> = starts.collect();
            let mut starts = starts.into_iter().map(std::thread::ScopedJoinHandle::join);
            starts.try_for_each(|started| started.expect("the thread does not panic"))
        })
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
        let started = self.members[member].start(RESTART_TIMEOUT);
        started.unwrap_or_else(|printed| panic!("member {member} did not start: {printed}"));
    }

    /// Kills all members, and starts them again.
    ///
    /// # Panics
    /// If one of them does not start.
    pub fn restart_all(&mut self) {
        (0..self.members.len()).for_each(|member| self.kill(member));
        let started = self.start_all();
        started.unwrap_or_else(|printed| panic!("a member did not start: {printed}"));
    }

    /// Stops a member for a while (`STOP`), or lets it go on (`CONT`).
    pub fn signal(&self, member: usize, signal: &str) {
        if let Some(server) = &self.members[member].server {
            server.signal(signal);
        }
    }
}

impl Member {
    fn start(&mut self, timeout: Duration) -> Result<(), String> {
        // Debian's version asks for this on other processors than x86-64.
        let architecture = match std::env::consts::ARCH {
            "aarch64" => "arm64",
            other => other,
        };
        let environment = [("ETCD_UNSUPPORTED_ARCH", architecture)];
        let ready = "serving client traffic";
        let started = Server::try_start(&self.command, &environment, ready, timeout)?;
        self.server = Some(started);
        Ok(())
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

/// Adds the flags of a member that talks to clients by TLS only. The last of equal flags counts.
fn encrypt(command: &mut Vec<String>, client: u16, [ca, cert, key]: &[String; 3]) {
    command.extend([
        format!("--listen-client-urls=https://127.0.0.1:{client}"),
        format!("--advertise-client-urls=https://127.0.0.1:{client}"),
        format!("--trusted-ca-file={ca}"),
        format!("--cert-file={cert}"),
        format!("--key-file={key}"),
        "--client-cert-auth".to_owned(),
    ]);
}
