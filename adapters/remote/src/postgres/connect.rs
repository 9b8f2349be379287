//! From the URL of a store to connections: `postgres://user@host/database/table?settings`.

use std::time::Duration;

use cairndb_store::{Error, ErrorKind, Result};
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

use crate::postgres::connection::Peer;
use crate::postgres::sql::quoted;
use crate::url::{Address, Choice, Secret};

/// Port of PostgreSQL.
const PORT: u16 = 5432;
/// Longest time for one attempt to connect to one host, from the first packet until it is ready.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest name that PostgreSQL keeps whole.
const NAME_BYTES_MAX: usize = 63;
/// Connections of a pool. PostgreSQL permits a hundred by default, for all clients.
pub(super) const POOL_DEFAULT: usize = 8;
const POOL_MAX: usize = 1000;

/// What the URL says.
pub(super) struct PostgresTarget {
    /// One for each host, in the order of the URL.
    pub(super) hosts: Vec<Config>,
    /// Time for one attempt to connect to one of them.
    pub(super) patience: Duration,
    pub(super) tls: Encryption,
    pub(super) user: Option<Secret>,
    /// The quoted name of the table.
    pub(super) table: String,
    pub(super) create: Choice,
    pub(super) pool: usize,
    pub(super) timeout: Duration,
    pub(super) replicated: bool,
    pub(super) peer: Peer,
}

pub(super) fn target(address: &Address) -> Result<PostgresTarget> {
    let own = ["timeout", "pool", "create", "replicated", "pooler"];
    address.check_settings(&[&own[..], &crate::tls::SETTINGS].concat())?;
    let (database, table) = address
        .path()
        .split_once('/')
        .unwrap_or((address.path(), ""));
    if database.is_empty() || table.is_empty() || table.contains('\0') || database.contains('\0') {
        return Err(Error::invalid(
            "the URL needs a database and a table: postgres://user@host/database/table",
        ));
    }
    if table.len() > NAME_BYTES_MAX {
        return Err(Error::invalid(
            "the name of the table is longer than 63 bytes, which the engine would cut off",
        ));
    }
    let mut config = Config::new();
    config
        .dbname(database)
        .application_name("cairndb-remote")
        .keepalives_idle(Duration::from_secs(10));
    if address.hosts().len() > 1 {
        // After a failover one of them is a standby, which must not be kept. It costs a round trip
        // for each connection.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
    let user = address.user();
    if let Some(user) = &user {
        config.user(user.reveal());
    }
    if let Some(password) = address.password() {
        config.password(password.reveal());
    }
    let tls = Encryption::of(address)?;
    if tls.is_required() {
        config.ssl_mode(tokio_postgres::config::SslMode::Require);
    }
    let timeout = address.timeout()?;
    // A host that is silent leaves time for those after it.
    let count = u32::try_from(address.hosts().len().max(1)).unwrap_or(u32::MAX);
    let patience = (timeout / count).min(CONNECT_TIMEOUT);
    // A name may have an address that nobody reaches before one that answers.
    config.connect_timeout(patience / 2);
    Ok(PostgresTarget {
        hosts: one_each(&config, address),
        patience,
        tls,
        user,
        table: quoted(table),
        create: address.choice("create", Choice::Yes)?,
        pool: address.number("pool", POOL_DEFAULT, 1, POOL_MAX)?,
        timeout,
        replicated: address.choice("replicated", Choice::No)? == Choice::Yes,
        peer: match address.choice("pooler", Choice::No)? {
            Choice::Yes => Peer::Pooler,
            Choice::No => Peer::Session,
        },
    })
}

/// Returns `config` for each host of a URL. The client limits only the time until the host accepts
/// the connection, so hosts are tried by the pool, which limits all of it.
fn one_each(config: &Config, address: &Address) -> Vec<Config> {
    let to = |name: &str, port: u16| {
        let mut config = config.clone();
        config.host(name).port(port);
        config
    };
    if address.hosts().is_empty() {
        return vec![to("localhost", PORT)];
    }
    let hosts = address.hosts().iter();
    hosts
        .map(|host| to(&host.name, host.port.unwrap_or(PORT)))
        .collect()
}

/// Whether and how connections are encrypted.
#[derive(Clone)]
pub(super) enum Encryption {
    None,
    #[cfg(feature = "tls")]
    Rustls(tokio_postgres_rustls::MakeRustlsConnect),
}

impl std::fmt::Debug for Encryption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_required() { "Rustls" } else { "None" })
    }
}

impl Encryption {
    fn of(address: &Address) -> Result<Encryption> {
        match crate::tls::of(address)? {
            None => Ok(Encryption::None),
            #[cfg(feature = "tls")]
            Some(tls) => {
                let config = crate::tls::client_config(&tls)?;
                let connect = tokio_postgres_rustls::MakeRustlsConnect::new(config);
                Ok(Encryption::Rustls(connect))
            }
            #[cfg(not(feature = "tls"))]
            Some(_) => Ok(Encryption::None),
        }
    }

    fn is_required(&self) -> bool {
        !matches!(self, Encryption::None)
    }
}

/// Opens one connection, and returns what is at its other end.
///
/// A session makes every statement outside a transaction a serialisable one, as protected as any
/// other: it accepts that with the connection, and confirms it. A pooler refuses the demand, or
/// ignores it. Demanding it afterwards was rejected: if the pooler gives each transaction to
/// another session, the demand would reach some of them, and stay there for other programs.
pub(super) async fn connect(
    host: &Config,
    peer: Peer,
    tls: &Encryption,
) -> std::result::Result<(Client, Peer), tokio_postgres::Error> {
    if peer == Peer::Session {
        let mut demanding = host.clone();
        demanding.options("-c default_transaction_isolation=serializable");
        match open(&demanding, tls).await {
            Ok(client) => {
                let isolation = client.simple_query("SHOW default_transaction_isolation");
                let confirms = |message: &SimpleQueryMessage| match message {
                    SimpleQueryMessage::Row(row) => row.get(0) == Some("serializable"),
                    _ => false,
                };
                let is_session = isolation.await?.iter().any(confirms);
                let peers = [Peer::Pooler, Peer::Session];
                return Ok((client, peers[usize::from(is_session)]));
            }
            Err(error) if !refuses_options(&error) => return Err(error),
            Err(_) => {}
        }
    }
    Ok((open(host, tls).await?, Peer::Pooler))
}

/// Returns whether what answers accepts no options of a session. Poolers have no code of their own
/// for that, and their texts differ: these two also have other causes, which the next attempt
/// shows.
fn refuses_options(error: &tokio_postgres::Error) -> bool {
    let code = error.code();
    code == Some(&SqlState::PROTOCOL_VIOLATION) || code == Some(&SqlState::FEATURE_NOT_SUPPORTED)
}

/// Opens one connection. A task of the runtime moves its bytes until the client is dropped; its
/// error reaches the calls that wait for answers.
async fn open(
    config: &Config,
    tls: &Encryption,
) -> std::result::Result<Client, tokio_postgres::Error> {
    match tls {
        Encryption::None => {
            let (client, connection) = config.connect(NoTls).await?;
            tokio::spawn(async move { drop(connection.await) });
            Ok(client)
        }
        #[cfg(feature = "tls")]
        Encryption::Rustls(connect) => {
            let (client, connection) = config.connect(connect.clone()).await?;
            tokio::spawn(async move { drop(connection.await) });
            Ok(client)
        }
    }
}

/// Returns the error of a store that could not be opened.
pub(super) fn unreachable(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Unavailable => {
            Error::new(ErrorKind::Unavailable, "no connection to the engine").source_error(error)
        }
        _ => error,
    }
}
