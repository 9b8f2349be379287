//! LevelDB's databases: their files read, and new ones written, apart from CairnDB's engine.
//!
//! Floor 4. [`Database`] opens a directory that LevelDB 1.18 to 1.23 or one of its forks has
//! written, after a clean close or a crash, and reads it without changing it. [`NewDatabase`]
//! writes a directory that LevelDB opens. [`TableSalvage`] and [`ManifestSalvage`] read what is
//! intact of damaged files. Below them are the parts for tools: [`Table`], [`LogReader`],
//! [`WriteBatch`], [`VersionEdit`]. `docs/format/leveldb.md` describes the bytes.
//!
//! 1. Hostile bytes give an [`Error`] that names the file and the offset,
//!    never a panic. A length read from a file is compared with the remaining bytes before it is
//!    used.
//! 2. A reader creates, changes and removes nothing. It holds a shared lock on `LOCK` where that
//!    file exists, which keeps LevelDB out; without the file, or on a medium without locks, it
//!    takes none.
//! 3. Memory is bounded: one decoded block for each table that a cursor stands in, the index blocks
//!    of the open tables, and what [`ReadOptions::memory_bytes_max`] allows for logs.
//!
//! Threads: a [`Database`] is shared freely; a [`Cursor`] belongs to one thread at a time.
//!
//! ```
//! use std::path::Path;
//! use cairndb_env::{Background, Env, MemEnv};
//! use cairndb_leveldb::{Database, NewDatabase, ReadOptions, WriteOptions};
//!
//! let env = MemEnv::new(Background::Stepped);
//! let dir = env.open_dir(Path::new("fruit"), true)?;
//! let mut new = NewDatabase::create(&dir, WriteOptions::default())?;
//! new.put(b"apple", b"red")?;
//! new.put(b"plum", b"blue")?;
//! new.finish()?;
//!
//! let database = Database::open(&dir, &ReadOptions::default())?;
//! assert_eq!(database.get(b"plum")?.as_deref(), Some(&b"blue"[..]));
//! let mut cursor = database.cursor();
//! cursor.seek_to_last()?;
//! assert_eq!(cursor.key(), b"plum");
//! cursor.prev()?;
//! assert_eq!((cursor.key(), cursor.value()), (&b"apple"[..], &b"red"[..]));
//! # Ok::<(), cairndb_base::Error>(())
//! ```

#![forbid(unsafe_code)]

mod batch;
mod checksum;
mod database;
#[cfg(test)]
mod golden;
mod indexed_db;
mod input;
mod internal_key;
mod log;
mod manifest;
mod name;
mod new_database;
mod orders;
mod salvage;
mod table;

pub use batch::{BatchIter, BatchWriter, Operation, WriteBatch};
pub use database::{
    Cursor, Database, EntryCursor, ReadOptions, Recovery, Report, TableInfo, UnknownOrder,
};
pub use indexed_db::IndexedDbOrder;
pub use internal_key::InternalKey;
pub use log::{LogReader, LogStep, LogWriter};
pub use manifest::{NewTable, VersionEdit, read_current};
pub use name::FileName;
pub use new_database::{NewDatabase, Summary, WriteOptions};
pub use orders::{Orders, ReverseOrder};
pub use salvage::{ManifestSalvage, SalvagedBlock, TableSalvage, TableStep, is_leveldb};
pub use table::{Codec, Table, TableBuilder, TableCursor, TableOptions, TableSummary};

pub use cairndb_base::{Comparator, Error, ErrorKind, Kind, Order, Result, SEQ_MAX, SeqNo};
