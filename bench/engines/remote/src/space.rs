//! The part of a store that belongs to the rows, and its emptying.

use bench_core::fault::Fault;
use cairndb_remote::{Address, AsyncStore};
use cairndb_store::{Batch, CallOptions, Scan};

use crate::kind::RemoteKind;

/// What is appended to the path of the URL.
const SUFFIX: &str = "_db_bench";
/// Writes in a batch that empties the store, if it takes as many.
const BATCH_OPS: usize = 5000;

/// Returns the URL of the store of the rows.
pub(crate) fn own_url(kind: RemoteKind, url: &str) -> Result<String, Fault> {
    let address = Address::parse(url).map_err(|error| Fault::new(error.to_string()))?;
    let schemes: &[&str] = match kind {
        RemoteKind::Etcd => &["etcd"],
        RemoteKind::Postgres => &["postgres", "postgresql"],
    };
    if !schemes.contains(&address.scheme()) || address.path().is_empty() {
        return Err(Fault::new(format!(
            "--store is not the URL of a store of this engine: its scheme is {}, and must be {}",
            address.scheme(),
            schemes[0]
        )));
    }
    let (path, settings) = match url.split_once('?') {
        Some((path, settings)) => (path, format!("?{settings}")),
        None => (url, String::new()),
    };
    let path = path.trim_end_matches('/');
    Ok(format!("{path}{SUFFIX}{settings}"))
}

/// Removes all entries.
pub(crate) async fn clear(store: &dyn AsyncStore) -> cairndb_store::Result<()> {
    let most = store.engine().limits.batch_ops.min(BATCH_OPS);
    let mut scan = store.scan(&Scan::all());
    loop {
        let page = scan.next_page().await?;
        if page.is_empty() {
            return Ok(());
        }
        for entries in page.chunks(most) {
            let mut batch = Batch::new();
            for (key, _) in entries {
                batch.delete(key);
            }
            store.write_with(&batch, &CallOptions::new()).await?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_of_the_rows_is_beside_the_one_that_is_named() {
        let own = |kind, url| own_url(kind, url).map_err(|fault| fault.to_string());
        let etcd = own(RemoteKind::Etcd, "etcd://a:1,b:2/app/?timeout=2s");
        assert_eq!(
            etcd.as_deref(),
            Ok("etcd://a:1,b:2/app_db_bench?timeout=2s")
        );
        let table = own(RemoteKind::Postgres, "postgresql://u@h/db/table");
        assert_eq!(table.as_deref(), Ok("postgresql://u@h/db/table_db_bench"));
        for url in ["etcd://a/b", "postgres://h", "file:x", "x"] {
            assert!(own(RemoteKind::Postgres, url).is_err(), "{url}");
        }
    }
}
