//! `put` and `delete`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use cairndb::{Durability, WriteBatch, WriteOptions};
use cairndb_store::Batch;

use super::stores;
use crate::arguments::{Delete, Put};
use crate::coding::Coding;
use crate::database::{open_with, options_for};
use crate::failure::{Failure, Result};
use crate::place::StorePlace;
use crate::range::Range;
use crate::space::Space;
use crate::store::Access;

/// Limit of a value: the database's own.
const VALUE_BYTES_MAX: u64 = 1 << 30;

/// Sets the value of a key.
pub(super) fn put(arguments: &Put) -> Result<()> {
    let coding = Coding::from(arguments.coding);
    let (place, key, value) = arguments.place()?;
    let key = coding.decode("key", key)?;
    let value = match (value, &arguments.file) {
        (_, Some(path)) => {
            let name = path.display().to_string();
            let file = File::open(path).map_err(|error| unreadable(&name, &error))?;
            read_value(file, &name)?
        }
        (Some(value), None) if value == "-" => read_value(io::stdin().lock(), "stdin")?,
        (Some(value), None) => coding.decode("value", value)?,
        (None, None) => return Err(Failure::usage("a value is needed")),
    };
    match place {
        StorePlace::Directory(path, keyspace) => {
            let options = options_for(path).create_if_missing(arguments.create);
            write(path, &options, keyspace, |space, batch| {
                space.put(batch, &key, &value);
                Ok(())
            })
        }
        StorePlace::Url(url) => {
            let mut batch = Batch::new();
            batch.put(&key, &value);
            let access = [Access::Write, Access::Create][usize::from(arguments.create)];
            stores::write(url, access, &batch)
        }
    }
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    Failure::other(format!("the value cannot be read from {name}: {error}"))
}

/// Reads a value, as it is. Memory is bounded by the longest value.
fn read_value(source: impl Read, name: &str) -> Result<Vec<u8>> {
    let mut value = Vec::new();
    let mut source = source.take(VALUE_BYTES_MAX + 1);
    let read = source.read_to_end(&mut value);
    read.map_err(|error| unreadable(name, &error))?;
    if value.len() as u64 > VALUE_BYTES_MAX {
        return Err(Failure::other(format!(
            "the value in {name} is longer than 1 GiB, the limit of a value"
        )));
    }
    Ok(value)
}

/// Deletes keys, or a range of them.
pub(super) fn delete(arguments: &Delete) -> Result<()> {
    let coding = Coding::from(arguments.coding);
    let (place, keys) = arguments.place()?;
    match place {
        StorePlace::Directory(path, keyspace) => {
            let keys = keys.into_iter().map(|key| coding.decode("key", key));
            let keys = keys.collect::<Result<Vec<_>>>()?;
            let range = Range::read(&arguments.range, coding)?;
            write(path, &options_for(path), keyspace, |space, batch| {
                for key in &keys {
                    space.delete(batch, key);
                }
                if !range.is_all() {
                    range.check(&space.order(path))?;
                    space.delete_range(batch, range.bounds());
                }
                Ok(())
            })
        }
        StorePlace::Url(url) => {
            let mut batch = Batch::new();
            for key in keys {
                batch.delete(&coding.decode("key", key)?);
            }
            stores::write(url, Access::Write, &batch)
        }
    }
}

/// Writes a batch, which survives power loss once the command has ended.
fn write(
    path: &Path,
    options: &cairndb::Options,
    keyspace: Option<&str>,
    fill: impl FnOnce(&Space, &mut WriteBatch) -> Result<()>,
) -> Result<()> {
    let db = open_with(path, options)?;
    let mut batch = WriteBatch::new();
    fill(&Space::of(&db, path, keyspace)?, &mut batch)?;
    let durable = WriteOptions::new().durability(Durability::Sync);
    let written = db.write_with(&batch, &durable).and_then(|()| db.close());
    written.map_err(Failure::of(path))
}
