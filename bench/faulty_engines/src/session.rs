//! One thread's session in a faulty store.

use bench_core::engine::Session;
use bench_core::fault::Fault;
use engine_cairndb::{CairnCursor, CairnSession};

use crate::defect::Defect;
use crate::shared::DefectState;

/// The session.
#[derive(Debug)]
pub(crate) struct FaultySession<'s> {
    pub(crate) shared: &'s DefectState,
    pub(crate) inner: CairnSession<'s>,
}

impl FaultySession<'_> {
    /// Executes the postponed puts.
    pub(crate) fn catch_up(&mut self) -> Result<(), Fault> {
        for (key, value) in self.shared.take() {
            self.inner.put(&key, &value)?;
        }
        Ok(())
    }
}

impl Session for FaultySession<'_> {
    type Cursor<'c>
        = CairnCursor
    where
        Self: 'c;

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        match self.shared.defect {
            Defect::DropsKeys if self.shared.shows(Defect::DropsKeys) => Ok(()),
            Defect::AcknowledgesFirst => {
                self.shared.put_off(key, value);
                Ok(())
            }
            Defect::IgnoresMemory => {
                self.shared.keep(value);
                self.inner.put(key, value)
            }
            _ => self.inner.put(key, value),
        }
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        self.catch_up()?;
        self.inner.delete(key)
    }

    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, Fault> {
        self.catch_up()?;
        if !self.shared.shows(Defect::FlipsBytes) {
            return self.inner.get(key, found);
        }
        self.inner.get(key, |value| {
            let mut value = value.to_vec();
            if let Some(byte) = value.last_mut() {
                *byte ^= 1;
            }
            found(&value)
        })
    }

    fn batch_put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        self.inner.batch_put(key, value)
    }

    fn batch_delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        self.inner.batch_delete(key)
    }

    fn batch_write(&mut self) -> Result<(), Fault> {
        self.catch_up()?;
        self.inner.batch_write()
    }

    fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<(), Fault> {
        self.catch_up()?;
        self.shared.merge()?;
        self.inner.merge(key, operand)
    }

    fn cursor(&mut self) -> Result<CairnCursor, Fault> {
        self.catch_up()?;
        self.inner.cursor()
    }
}
