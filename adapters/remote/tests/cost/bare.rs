//! Bare loops: the same requests with the client alone.

use etcd_client::{KvClient, Txn, TxnOp};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::types::Type;
use tokio_postgres::{Client as PostgresClient, NoTls, Statement};

use crate::rounds::Client;

fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// The table has another name than the store's, and the same form.
pub(crate) struct BarePostgres {
    runtime: Runtime,
    client: PostgresClient,
    get: Statement,
    put: Statement,
    multi_get: Statement,
    write: Statement,
}

impl BarePostgres {
    pub(crate) fn connect(port: u16) -> BarePostgres {
        let runtime = runtime();
        let config = format!(
            "host=127.0.0.1 port={port} user=cairn dbname=postgres \
             options='-c default_transaction_isolation=serializable'"
        );
        let (client, statements) = runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(&config, NoTls)
                .await
                .expect("a connection");
            tokio::spawn(connection);
            let table = "CREATE TABLE bare (k bytea PRIMARY KEY, v bytea NOT NULL)";
            client.batch_execute(table).await.expect("a table");
            let borrowed = &client;
            let prepare = async |text: &str, types: &[Type]| {
                let statement = borrowed.prepare_typed(text, types).await;
                statement.expect("a statement")
            };
            let upsert = "ON CONFLICT (k) DO UPDATE SET v = excluded.v";
            let get = prepare("SELECT v FROM bare WHERE k = $1", &[Type::BYTEA]).await;
            let multi_get = "SELECT k, v FROM bare WHERE k = ANY($1)";
            let multi_get = prepare(multi_get, &[Type::BYTEA_ARRAY]).await;
            let put = format!("INSERT INTO bare (k, v) VALUES ($1, $2) {upsert}");
            let put = prepare(&put, &[Type::BYTEA, Type::BYTEA]).await;
            let write = format!(
                "INSERT INTO bare (k, v) SELECT * FROM unnest($1::bytea[], $2::bytea[]) {upsert}"
            );
            let write = prepare(&write, &[Type::BYTEA_ARRAY, Type::BYTEA_ARRAY]).await;
            (client, [get, put, multi_get, write])
        });
        let [get, put, multi_get, write] = statements;
        BarePostgres {
            runtime,
            client,
            get,
            put,
            multi_get,
            write,
        }
    }
}

impl Client for BarePostgres {
    fn settle(&mut self) {
        // The server does it for each table when it sees fit, and plans by what it has seen: the
        // same statement on the same entries took between one and three times as long.
        let call = async { self.client.batch_execute("VACUUM ANALYZE").await };
        self.runtime.block_on(call).expect("an answer");
    }

    fn get(&mut self, key: &[u8]) {
        let call = async { self.client.query_opt(&self.get, &[&key]).await };
        let row = self.runtime.block_on(call).expect("an answer");
        let row = row.expect("the key is there");
        assert_eq!(row.get::<_, Vec<u8>>(0).len(), 100);
    }

    fn put(&mut self, key: &[u8], value: &[u8]) {
        let call = async { self.client.execute(&self.put, &[&key, &value]).await };
        self.runtime.block_on(call).expect("an answer");
    }

    fn multi_get(&mut self, keys: &[&[u8]]) {
        let call = async { self.client.query(&self.multi_get, &[&keys]).await };
        let rows = self.runtime.block_on(call).expect("an answer");
        let bytes: usize = rows.iter().map(|row| row.get::<_, Vec<u8>>(1).len()).sum();
        assert_eq!(bytes, 100 * keys.len());
    }

    fn write(&mut self, entries: &[(Vec<u8>, Vec<u8>)]) {
        let (keys, values): (Vec<&[u8]>, Vec<&[u8]>) = entries
            .iter()
            .map(|(key, value)| (key.as_slice(), value.as_slice()))
            .unzip();
        let call = async { self.client.execute(&self.write, &[&keys, &values]).await };
        self.runtime.block_on(call).expect("an answer");
    }
}

pub(crate) struct BareEtcd {
    runtime: Runtime,
    client: KvClient,
}

fn full(key: &[u8]) -> Vec<u8> {
    [b"bare/", key].concat()
}

impl BareEtcd {
    pub(crate) fn connect(port: u16) -> BareEtcd {
        let runtime = runtime();
        let endpoint = format!("http://127.0.0.1:{port}");
        let client = runtime.block_on(etcd_client::Client::connect([endpoint], None));
        BareEtcd {
            client: client.expect("a connection").kv_client(),
            runtime,
        }
    }

    fn transact(&mut self, ops: Vec<TxnOp>) -> etcd_client::TxnResponse {
        let call = self.client.txn(Txn::new().and_then(ops));
        self.runtime.block_on(call).expect("an answer")
    }
}

impl Client for BareEtcd {
    fn get(&mut self, key: &[u8]) {
        let call = self.client.get(full(key), None);
        let answer = self.runtime.block_on(call).expect("an answer");
        assert_eq!(answer.kvs()[0].value().to_vec().len(), 100);
    }

    fn put(&mut self, key: &[u8], value: &[u8]) {
        let call = self.client.put(full(key), value, None);
        self.runtime.block_on(call).expect("an answer");
    }

    fn multi_get(&mut self, keys: &[&[u8]]) {
        let ops = keys.iter().map(|key| TxnOp::get(full(key), None)).collect();
        let answer = self.transact(ops);
        assert_eq!(answer.op_responses().len(), keys.len());
    }

    fn write(&mut self, entries: &[(Vec<u8>, Vec<u8>)]) {
        // As in a batch, the last write of a key counts; here there is one of each.
        let ops = entries
            .iter()
            .map(|(key, value)| TxnOp::put(full(key), value.clone(), None));
        let ops = ops.collect();
        self.transact(ops);
    }
}

/// The database without the trait.
pub(crate) struct BareDb(pub(crate) cairndb::Db);

impl Client for BareDb {
    fn get(&mut self, key: &[u8]) {
        assert!(self.0.get(key).expect("no error").is_some());
    }

    fn put(&mut self, key: &[u8], value: &[u8]) {
        self.0.put(key, value).expect("no error");
    }

    fn multi_get(&mut self, keys: &[&[u8]]) {
        let found = self.0.multi_get(keys).expect("no error");
        assert_eq!(found.iter().flatten().count(), keys.len());
    }

    fn write(&mut self, entries: &[(Vec<u8>, Vec<u8>)]) {
        let mut batch = cairndb::WriteBatch::new();
        for (key, value) in entries {
            batch.put(key, value);
        }
        self.0.write(&batch).expect("no error");
    }
}
