//! One thread's session in an open environment.

use bench_core::engine::{End, Role, Session};
use bench_core::fault::Fault;
use mdbx_sys as sys;

use crate::cursor::MdbxCursor;
use crate::env::Env;
use crate::txn::{Cursor, Edit, Reader, Txn};

/// One thread's session.
#[derive(Debug)]
pub struct MdbxSession<'s> {
    env: &'s Env,
    databases: &'s [sys::MDBX_dbi],
    /// The database of the next call.
    dbi: sys::MDBX_dbi,
    put_flags: sys::MDBX_put_flags_t,
    /// The cursor of scans and changes.
    cursor: Cursor,
    /// The cursor at the end of a range.
    end: Cursor,
    /// The transaction of all reads: renewed for each.
    reader: Reader<'s>,
    /// The transaction of the batch being built.
    writer: Option<Txn<'s>>,
}

impl<'s> MdbxSession<'s> {
    pub(crate) fn new(
        env: &'s Env,
        databases: &'s [sys::MDBX_dbi],
        role: Role,
    ) -> Result<Self, Fault> {
        Ok(Self {
            env,
            databases,
            dbi: databases[0],
            put_flags: if role.appending { sys::MDBX_APPEND } else { 0 },
            cursor: Cursor::new()?,
            end: Cursor::new()?,
            reader: Reader::new(env)?,
            writer: None,
        })
    }

    #[inline]
    fn writer(&mut self) -> Result<&mut Txn<'s>, Fault> {
        if self.writer.is_none() {
            self.writer = Some(Txn::write(self.env)?);
        }
        self.writer
            .as_mut()
            .ok_or_else(|| Fault::new("no transaction"))
    }

    /// Runs changes with a cursor in a transaction, which an error aborts.
    #[inline]
    fn edit<R>(
        &mut self,
        change: impl FnOnce(&mut Edit<'_>) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        let mut writer = Txn::write(self.env)?;
        let result = change(&mut writer.edit(&mut self.cursor, self.dbi)?)?;
        writer.commit()?;
        Ok(result)
    }
}

impl Session for MdbxSession<'_> {
    type Cursor<'c>
        = MdbxCursor<'c>
    where
        Self: 'c;

    #[inline]
    fn enter(&mut self, keyspace: u32) -> Result<(), Fault> {
        self.dbi = self.databases[keyspace as usize];
        Ok(())
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let mut writer = Txn::write(self.env)?;
        writer.put(self.dbi, key, value, self.put_flags)?;
        writer.commit()
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        let mut writer = Txn::write(self.env)?;
        writer.delete(self.dbi, key)?;
        writer.commit()
    }

    /// Cuts the range out of the tree, between two cursors.
    fn delete_range(&mut self, from: &[u8], to: &[u8]) -> Result<(), Fault> {
        let mut writer = Txn::write(self.env)?;
        writer.delete_range(self.dbi, (&mut self.cursor, from), (&mut self.end, to))?;
        writer.commit()
    }

    #[inline]
    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, Fault> {
        let reading = self.reader.renew()?;
        Ok(reading.get(self.dbi, key)?.map(found))
    }

    /// Reads all keys in one read transaction.
    fn multi_get(
        &mut self,
        keys: &[&[u8]],
        mut each: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), Fault> {
        let reading = self.reader.renew()?;
        for (index, key) in keys.iter().enumerate() {
            each(index, reading.get(self.dbi, key)?);
        }
        Ok(())
    }

    #[inline]
    fn batch_put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let (dbi, flags) = (self.dbi, self.put_flags);
        self.writer()?.put(dbi, key, value, flags)
    }

    #[inline]
    fn batch_delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        let dbi = self.dbi;
        self.writer()?.delete(dbi, key)
    }

    fn batch_write(&mut self) -> Result<(), Fault> {
        self.writer.take().map_or(Ok(()), Txn::commit)
    }

    /// Writes the dirty pages of the map.
    fn sync(&mut self) -> Result<(), Fault> {
        self.env.sync()
    }

    #[inline]
    fn pop<R>(
        &mut self,
        end: End,
        popped: impl FnOnce(&[u8], &[u8]) -> R,
    ) -> Result<Option<R>, Fault> {
        self.edit(|edit| {
            match end {
                End::First => edit.place.first()?,
                End::Last => edit.place.last()?,
            }
            if !edit.place.valid() {
                return Ok(None);
            }
            let result = popped(edit.place.key(), edit.place.value());
            edit.delete()?;
            Ok(Some(result))
        })
    }

    fn extract(
        &mut self,
        (from, to): (&[u8], &[u8]),
        mut wanted: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), Fault> {
        self.edit(|edit| {
            edit.place.seek(from)?;
            while edit.place.valid() && edit.place.key() < to {
                if wanted(edit.place.key(), edit.place.value()) {
                    edit.delete()?;
                }
                edit.place.next()?;
            }
            Ok(())
        })
    }

    #[inline]
    fn cursor(&mut self) -> Result<MdbxCursor<'_>, Fault> {
        let scan = self.reader.renew()?.scan(&mut self.cursor, self.dbi)?;
        Ok(MdbxCursor::new(scan))
    }
}
