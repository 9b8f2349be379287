//! One thread's calls, each of which waits for its answer.

use bench_core::engine::Session;
use bench_core::fault::Fault;
use cairndb_store::{Batch, CallOptions};

use crate::cursor::RemoteCursor;
use crate::kind::RemoteKind;
use crate::server::Server;

/// Keys that etcd compares or reads with one request.
const ETCD_KEYS: usize = 128;

/// One thread's session.
#[derive(Debug)]
pub struct RemoteSession<'s> {
    store: &'s Server,
    options: CallOptions,
    batch: Batch,
}

impl<'s> RemoteSession<'s> {
    pub(crate) fn new(store: &'s Server) -> RemoteSession<'s> {
        RemoteSession {
            store,
            options: CallOptions::new(),
            batch: Batch::new(),
        }
    }
}

impl<'s> Session for RemoteSession<'s> {
    type Cursor<'c>
        = RemoteCursor<'s>
    where
        Self: 'c;

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let call = self.store.adapter().put_with(key, value, &self.options);
        self.store.wait(1, call)
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        let call = self.store.adapter().delete_with(key, &self.options);
        self.store.wait(1, call)
    }

    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, Fault> {
        let call = self.store.adapter().get_with(key, &self.options);
        Ok(self.store.wait(1, call)?.map(|value| found(&value)))
    }

    fn batch_put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        self.batch.put(key, value);
        Ok(())
    }

    fn batch_delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        self.batch.delete(key);
        Ok(())
    }

    fn batch_write(&mut self) -> Result<(), Fault> {
        let call = self.store.adapter().write_with(&self.batch, &self.options);
        let written = self.store.wait(1, call);
        self.batch.clear();
        written
    }

    fn multi_get(
        &mut self,
        keys: &[&[u8]],
        mut each: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), Fault> {
        let round_trips = match self.store.kind {
            RemoteKind::Etcd => keys.len().div_ceil(ETCD_KEYS),
            RemoteKind::Postgres => 1,
        };
        let call = self.store.adapter().multi_get_with(keys, &self.options);
        let found = self.store.wait(round_trips as u64, call)?;
        for (index, value) in found.iter().enumerate() {
            each(index, value.as_deref());
        }
        Ok(())
    }

    fn cursor(&mut self) -> Result<RemoteCursor<'s>, Fault> {
        Ok(RemoteCursor::new(self.store))
    }
}
