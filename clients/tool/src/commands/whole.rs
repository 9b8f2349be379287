//! Commands on a whole database: `verify`, `compact`, `fork`, `destroy`.

use cairndb::ErrorKind;
use serde_json::json;

use super::{keyspaces, leveldb};
use crate::arguments::{Compact, Destroy, Fork, Verify};
use crate::database::{
    Purpose, leveldb_at, open_to_read, open_with, options_for, reading, refuse_other_stores,
};
use crate::failure::{Failure, Result};
use crate::output::{counted, print, size};
use crate::progress::watched;
use crate::range::Range;
use crate::space::Space;

/// Reads and checks everything.
pub(super) fn verify(arguments: &Verify) -> Result<()> {
    let path = &arguments.directory;
    if let Some(dir) = leveldb_at(path) {
        return leveldb::verify(path, &dir, arguments.json);
    }
    let report = reading(path, Purpose::Keep("verified"), |options| {
        watched("verifying", || cairndb::verify(path, &options))
    })?;
    let names = open_to_read(path, Purpose::Show)?.keyspaces();
    let (tables, bytes, values) = (report.tables, report.bytes, report.values);
    let (entries, versions, in_log) = (report.entries, report.versions, report.log_versions);
    print([if arguments.json {
        format!(
            "{{\"tables\":{tables},\"entries\":{entries},\"versions\":{versions},\
             \"bytes\":{bytes},\"values\":{values},\"log_versions\":{in_log},\
             \"keyspaces\":{}}}",
            json!(names)
        )
    } else {
        format!(
            "intact: {}; {} in {}, {in_log} in the log; {} in value files{}",
            counted(entries, "entry", "entries"),
            counted(versions, "stored version", "stored versions"),
            counted(tables, "table", "tables"),
            counted(values, "value", "values"),
            keyspaces::besides(&names)
        )
    }])
}

/// Compacts a range.
pub(super) fn compact(arguments: &Compact) -> Result<()> {
    let path = &arguments.directory;
    let range = Range::read(&arguments.range, arguments.coding.into())?;
    let db = open_with(path, &options_for(path))?;
    let space = Space::of(&db, path, arguments.keyspace.name())?;
    range.check(&space.order(path))?;
    let compacted = watched("compacting", || space.compact(range.bounds()));
    let closed = compacted.and_then(|()| db.close());
    closed.map_err(Failure::of(path))
}

/// Makes a database that shares the files of this one.
pub(super) fn fork(arguments: &Fork) -> Result<()> {
    let path = &arguments.directory;
    let db = open_with(path, &options_for(path))?;
    let forked = watched("copying", || db.fork(&arguments.target));
    let report = forked.map_err(Failure::of(path))?;
    db.close().map_err(Failure::of(path))?;
    let (shared, cloned, copied) = (report.shared, report.cloned, report.copied);
    let bytes = report.copied_bytes;
    print([if arguments.json {
        format!(
            "{{\"shared\":{shared},\"cloned\":{cloned},\"copied\":{copied},\
             \"copied_bytes\":{bytes}}}"
        )
    } else {
        let shared = counted(shared, "file", "files");
        format!(
            "shared {shared}, cloned {cloned}, copied {copied} ({})",
            size(bytes)
        )
    }])
}

/// Removes the database.
pub(super) fn destroy(arguments: &Destroy) -> Result<()> {
    let path = &arguments.directory;
    refuse_other_stores(path)?;
    if !path.is_dir() {
        let error = cairndb::Error::new(ErrorKind::NotFound, "the directory does not exist");
        return Err(Failure::of(path)(error));
    }
    cairndb::destroy(path, &options_for(path)).map_err(Failure::of(path))
}
