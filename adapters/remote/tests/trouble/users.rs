//! etcd with users: tokens that the cluster refuses, and URLs with the wrong user or none.

use std::io::Write as _;

use cairndb_remote::testing::{EtcdCluster, Medium};
use cairndb_remote::{Address, EtcdStore, open};
use cairndb_store::{Batch, ErrorKind, Scan, StoreExt as _, Value};
use etcd_client::{Client, ConnectOptions, Permission};
use tokio::runtime::Runtime;

use crate::{refused, support};

/// The administrator of a cluster.
struct Administrator {
    runtime: Runtime,
    client: Client,
    users: u32,
}

impl Administrator {
    /// Demands users from now on: `root`, and `ada`, who may read and write below `t/`.
    fn of(cluster: &EtcdCluster) -> Administrator {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let endpoint = format!("http://127.0.0.1:{}", cluster.ports()[0]);
        let client = runtime.block_on(async {
            let client = Client::connect([&endpoint], None).await?;
            let mut auth = client.auth_client();
            let below = Permission::read_write("t/").with_prefix();
            auth.role_add("root").await?;
            auth.role_add("clerk").await?;
            auth.role_grant_permission("clerk", below).await?;
            for (user, role) in [("root", "root"), ("ada", "clerk")] {
                auth.user_add(user, "secret", None).await?;
                auth.user_grant_role(user, role).await?;
            }
            auth.auth_enable().await?;
            let options = ConnectOptions::new().with_user("root", "secret");
            Client::connect([&endpoint], Some(options)).await
        });
        Administrator {
            runtime,
            client: client.expect("the cluster runs"),
            users: 0,
        }
    }

    /// Adds a user, after which every token of the kind that names a revision is refused.
    fn add_user(&mut self) {
        self.users += 1;
        let name = format!("user{}", self.users);
        let added = self.runtime.block_on(async {
            self.client.refresh_token().await?;
            let mut auth = self.client.auth_client();
            auth.user_add(name, "secret", None).await
        });
        added.expect("the cluster runs");
    }

    /// Takes the role of `ada` away.
    fn revoke_role(&self) {
        let revoked = self.runtime.block_on(async {
            self.client.refresh_token().await?;
            let mut auth = self.client.auth_client();
            auth.user_revoke_role("ada", "clerk").await
        });
        revoked.expect("the cluster runs");
    }
}

/// Returns the URL of the store below `t/`, as `user`.
fn url(cluster: &EtcdCluster, user: &str) -> String {
    cluster.url("t").replacen("//", &format!("//{user}@"), 1)
}

fn text(value: Option<&Value>) -> Option<&[u8]> {
    value.map(|value| &**value)
}

#[test]
fn a_user_that_is_added_disturbs_no_call() {
    // Any bytes are a key of this method.
    let mut key = tempfile::NamedTempFile::new().expect("a temporary file");
    key.write_all(b"sixteen letters or more")
        .expect("a file can be written");
    let path = key.path().display();
    let tokens = format!("--auth-token=jwt,sign-method=HS256,priv-key={path}");
    let flags = [tokens, "--bcrypt-cost=4".to_owned()];
    let Some(cluster) = EtcdCluster::start_with_flags(Medium::Memory, &flags) else {
        return support::skip("etcd: install etcd-server");
    };
    a_user_is_refused_where_there_are_none(&cluster);
    let mut root = Administrator::of(&cluster);
    a_user_is_demanded(&cluster);
    let store = open(&url(&cluster, "ada:secret")).expect("the user may read");

    root.add_user();
    store.put(b"a", b"1").expect("repeated with a new token");
    root.add_user();
    let found = store.get(b"a").expect("repeated with a new token");
    assert_eq!(text(found.as_ref()), Some(&b"1"[..]));
    root.add_user();
    let found = store.multi_get(&[b"a", b"b"]).expect("repeated");
    assert_eq!(text(found[0].as_ref()), Some(&b"1"[..]));
    root.add_user();
    let mut batch = Batch::new();
    batch.put(b"b", b"2");
    batch.delete(b"a");
    store.write(&batch).expect("repeated with a new token");
    // Applied once: a second attempt would not find what it compares with.
    root.add_user();
    let changed = store.compare_and_set(b"b", Some(b"2"), Some(b"3"));
    assert!(changed.expect("repeated with a new token"));
    let snapshot = store.snapshot().expect("a snapshot");
    root.add_user();
    assert_eq!(snapshot.scan(&Scan::all()).expect("a scan").count(), 1);
    root.add_user();
    store.delete(b"c").expect("repeated with a new token");
    // In the middle of a transaction, and before its commit.
    let mut runs = 0;
    let sum = store.transact(|transaction| {
        runs += 1;
        root.add_user();
        let found = transaction.get(b"b")?;
        transaction.put(b"sum", found.as_deref().unwrap_or_default())?;
        root.add_user();
        Ok(found)
    });
    assert_eq!(text(sum.expect("committed").as_ref()), Some(&b"3"[..]));
    assert_eq!(runs, 1);
    a_watch_begins_with_a_token_that_is_refused(&cluster, &mut root);

    // A right that is missing is no matter of the token.
    root.revoke_role();
    for error in [
        store.get(b"b").expect_err("no right"),
        store.put(b"b", b"4").expect_err("none"),
    ] {
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert!(error.to_string().contains("permission denied"), "{error}");
    }
}

fn a_user_is_refused_where_there_are_none(cluster: &EtcdCluster) {
    let error = refused(&url(cluster, "ada:secret"));
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(
        error.to_string().contains("remove the user from the URL"),
        "{error}"
    );
}

fn a_user_is_demanded(cluster: &EtcdCluster) {
    let error = refused(&cluster.url("t"));
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    for part in ["write user:password@", "CAIRN_STORE_USER"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    let error = refused(&url(cluster, "ada:guessed"));
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(!format!("{error} {error:?}").contains("guessed"), "{error}");
}

fn a_watch_begins_with_a_token_that_is_refused(cluster: &EtcdCluster, root: &mut Administrator) {
    let address = Address::parse(&url(cluster, "ada:secret")).expect("a valid URL");
    let handle = root.runtime.handle().clone();
    let watched = handle
        .block_on(EtcdStore::connect(&address))
        .expect("the user may read");
    let mut watch = handle
        .block_on(watched.watch(&Scan::all(), None))
        .expect("a watch");
    root.add_user();
    let writer = open(&url(cluster, "ada:secret")).expect("the user may write");
    writer.put(b"w", b"1").expect("an answer");
    let changes = handle
        .block_on(watch.next())
        .expect("repeated with a new token");
    assert_eq!(text(changes[0].value.as_ref()), Some(&b"1"[..]));
    // Once it has begun, it goes on.
    root.add_user();
    writer.put(b"w", b"2").expect("an answer");
    let changes = handle.block_on(watch.next()).expect("changes");
    assert_eq!(text(changes[0].value.as_ref()), Some(&b"2"[..]));
    // A range that the user may not read.
    let elsewhere = url(cluster, "ada:secret").replace("/t", "/elsewhere");
    let error = refused(&elsewhere);
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
}

#[test]
fn a_cluster_that_has_forgotten_its_tokens_gets_new_ones() {
    let flags = ["--auth-token=simple", "--bcrypt-cost=4"].map(str::to_owned);
    let Some(mut cluster) = EtcdCluster::start_with_flags(Medium::Memory, &flags) else {
        return support::skip("etcd: install etcd-server");
    };
    let root = Administrator::of(&cluster);
    let address = Address::parse(&url(&cluster, "ada:secret")).expect("a valid URL");
    let handle = root.runtime.handle().clone();
    let watched = handle
        .block_on(EtcdStore::connect(&address))
        .expect("the user may read");
    let mut watch = handle
        .block_on(watched.watch(&Scan::all(), None))
        .expect("a watch");
    let store = open(&url(&cluster, "ada:secret")).expect("the user may read");
    store.put(b"a", b"1").expect("an answer");
    cluster.restart_all();
    assert!(store.contains(b"a").expect("repeated with a new token"));
    store.put(b"a", b"2").expect("an answer");
    let mut values = Vec::new();
    while values.last() != Some(&b"2".to_vec()) {
        let changes = handle.block_on(watch.next()).expect("changes");
        values.extend(
            changes
                .into_iter()
                .filter_map(|change| change.value.map(Value::into_vec)),
        );
    }
    assert_eq!(values, [b"1".to_vec(), b"2".to_vec()]);
}
