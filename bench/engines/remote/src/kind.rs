//! The engines: etcd and PostgreSQL.

/// An engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteKind {
    /// An etcd cluster.
    Etcd,
    /// A PostgreSQL server, or a server that speaks its protocol.
    Postgres,
}
