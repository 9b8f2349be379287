//! Servers for tests: a three-node etcd cluster, a PostgreSQL server and a pooler of its
//! connections on loopback, each in a temporary directory, and a proxy that delays answers and cuts
//! connections.
//!
//! A server ends when its value is dropped, and also if the test process dies: a shell that waits
//! for the end of its input kills it.

mod certificates;
mod etcd;
mod pooler;
mod postgres;
mod process;
mod proxy;

use std::path::PathBuf;

pub use certificates::Certificates;
pub use etcd::EtcdCluster;
pub use pooler::Pooler;
pub use postgres::PostgresServer;
pub use proxy::Proxy;

/// Where the servers keep their files. Memory by default, because tests kill processes, never the
/// machine; a measurement wants the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// A file system in memory, if there is one.
    Memory,
    /// The directory for temporary files.
    Disk,
}

impl Medium {
    fn directory(self) -> std::io::Result<tempfile::TempDir> {
        let memory = PathBuf::from("/dev/shm");
        if self == Medium::Memory && memory.is_dir() {
            tempfile::tempdir_in(memory)
        } else {
            tempfile::tempdir()
        }
    }
}

/// Returns a port of this machine that was free a moment ago.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener
        .local_addr()
        .expect("a bound socket has an address");
    address.port()
}
