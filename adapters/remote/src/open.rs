//! Opening any store by its URL.

use std::sync::Arc;

use cairndb::{Db, Durability, Options};
use cairndb_store::{Error, ErrorKind, MemoryStore, Result, Store};

use crate::face::{AsyncStore, Blocking, Local};
use crate::url::{Address, Choice};

/// Opens the store that `url` names.
///
/// | URL | store |
/// |---|---|
/// | `file:///path`, `file:relative` | a CairnDB database; settings `create=yes\|no`, `readonly=yes\|no`, `durability=none\|os\|sync` |
/// | `memory:` | an empty store in memory |
/// | `etcd://host:port,host:port/prefix` | keys of a cluster after `prefix/`; feature `etcd` |
/// | `postgres://user@host:port/database/table` | a table; feature `postgres` |
/// | `tikv://pd:port,pd:port/keyspace` | a TiKV cluster; feature `tikv` |
///
/// User and password may be in the URL (`user:password@`), or in the variables `CAIRN_STORE_USER`
/// and `CAIRN_STORE_PASSWORD`; no message shows either. Special characters are percent-encoded. The
/// settings of the networked engines are at their types, such as `EtcdStore`.
///
/// A store of a networked engine starts one thread.
///
/// # Errors
/// `InvalidArgument`: a malformed URL, an unknown scheme or setting, or a call inside an
/// asynchronous runtime. `NotSupported`: the feature of the engine is not compiled in.
/// `Unavailable`: no server answers. Those of [`Options::open`].
///
/// ```
/// use cairndb_store::{Read, Store};
/// # fn main() -> cairndb_store::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("stones");
/// let url = format!("file://{}", path.display());
/// let store = cairndb_remote::open(&url)?;
/// store.put(b"slate", b"blue")?;
/// assert_eq!(store.get(b"slate")?.as_deref(), Some(&b"blue"[..]));
/// # Ok(()) }
/// ```
pub fn open(url: &str) -> Result<Box<dyn Store>> {
    let address = Address::parse(url)?;
    match address.scheme() {
        "file" => Ok(Box::new(open_file(&address)?)),
        "memory" => Ok(Box::new(open_memory(&address)?)),
        _ => Ok(Box::new(Blocking::start(|| connect(&address))?)),
    }
}

/// Opens the store that `url` names, as [`open`] does, for a program on tokio. Must be called
/// within its runtime, which the store then uses.
///
/// # Errors
/// Same as [`open`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> cairndb_store::Result<()> {
/// use cairndb_remote::{AsyncRead, AsyncStoreExt};
/// let store = cairndb_remote::open_async("memory:").await?;
/// store.put(b"slate", b"blue").await?;
/// assert_eq!(store.get(b"slate").await?.as_deref(), Some(&b"blue"[..]));
/// # Ok(()) }
/// ```
pub async fn open_async(url: &str) -> Result<Arc<dyn AsyncStore>> {
    let address = Address::parse(url)?;
    match address.scheme() {
        "file" => Ok(Arc::new(Local::new(open_file(&address)?))),
        "memory" => Ok(Arc::new(Local::new(open_memory(&address)?))),
        _ => connect(&address).await,
    }
}

async fn connect(address: &Address) -> Result<Arc<dyn AsyncStore>> {
    match address.scheme() {
        #[cfg(feature = "etcd")]
        "etcd" => Ok(Arc::new(crate::etcd::EtcdStore::connect(address).await?)),
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => Ok(Arc::new(
            crate::postgres::PostgresStore::connect(address).await?,
        )),
        #[cfg(feature = "tikv")]
        "tikv" => Ok(Arc::new(crate::tikv::TikvStore::connect(address).await?)),
        other => Err(no_adapter(other)),
    }
}

/// Returns the error of a scheme without an adapter in this build.
fn no_adapter(scheme: &str) -> Error {
    let feature = match scheme {
        "etcd" | "tikv" => scheme,
        "postgres" | "postgresql" => "postgres",
        other => {
            return Error::invalid(format!(
                "no store has the scheme {other:?}; there are file, memory, etcd, postgres and tikv"
            ));
        }
    };
    Error::new(
        ErrorKind::NotSupported,
        format!(
            "this build has no adapter for {scheme}: compile cairndb-remote with the feature \
             `{feature}`"
        ),
    )
}

fn open_memory(address: &Address) -> Result<MemoryStore> {
    address.check_settings(&[])?;
    if address.path().is_empty() && address.hosts().is_empty() {
        return Ok(MemoryStore::new());
    }
    Err(Error::invalid(
        "the store in memory has no path: write memory:",
    ))
}

fn open_file(address: &Address) -> Result<Db> {
    address.check_settings(&["create", "readonly", "durability"])?;
    let local = address.hosts().iter().all(|host| host.name == "localhost");
    if !local || address.path().is_empty() {
        return Err(Error::invalid(
            "a database in files is on this machine: write file:///path or file:path",
        ));
    }
    let durability = match address.setting("durability") {
        None | Some("os") => Durability::Os,
        Some("none") => Durability::None,
        Some("sync") => Durability::Sync,
        Some(other) => {
            return Err(Error::invalid(format!(
                "durability is {other:?}, but must be none, os or sync"
            )));
        }
    };
    let read_only = address.choice("readonly", Choice::No)? == Choice::Yes;
    let create = address.choice("create", Choice::Yes)? == Choice::Yes;
    let options = Options::new()
        .create_if_missing(create && !read_only)
        .read_only(read_only)
        .durability(durability);
    Ok(options.open(address.path())?)
}

#[cfg(test)]
mod tests {
    use cairndb_store::ErrorKind;

    use super::open;

    #[test]
    fn what_cannot_be_opened_is_explained() {
        let cases = [
            ("redis://a/b", ErrorKind::InvalidArgument, "redis"),
            ("memory:x", ErrorKind::InvalidArgument, "memory"),
            ("memory:?x=1", ErrorKind::InvalidArgument, "no setting"),
            ("file:", ErrorKind::InvalidArgument, "file:///path"),
            (
                "file://elsewhere/x",
                ErrorKind::InvalidArgument,
                "this machine",
            ),
            (
                "file:x?durability=most",
                ErrorKind::InvalidArgument,
                "durability",
            ),
            ("file:absent?create=no", ErrorKind::NotFound, "absent"),
            (
                "postgres://localhost/db",
                ErrorKind::InvalidArgument,
                "table",
            ),
            ("etcd://localhost", ErrorKind::InvalidArgument, "prefix"),
            (
                "etcd://localhost/p?colour=red",
                ErrorKind::InvalidArgument,
                "colour",
            ),
            (
                "etcd://localhost/p?ca=ca.pem",
                ErrorKind::InvalidArgument,
                "tls=yes",
            ),
            (
                "postgres://localhost/db/t?key=a.pem&cert=b.pem",
                ErrorKind::InvalidArgument,
                "tls=yes",
            ),
        ];
        for (url, kind, part) in cases {
            let error = open(url).expect_err(url);
            assert_eq!(error.kind(), kind, "{url}: {error}");
            assert!(error.to_string().contains(part), "{url}: {error}");
        }
    }
}
