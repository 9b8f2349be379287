//! `diff`: the keys whose values differ in two databases, as JSON lines.

use std::path::{Path, PathBuf};

use cairndb::{Db, Difference};

use crate::arguments::Diff;
use crate::coding::Coding;
use crate::database::{Purpose, open_to_read};
use crate::failure::{Failure, Result};
use crate::json::write_text;
use crate::output::Output;

/// Prints the differences. Those before a damaged place are printed.
pub(super) fn diff(arguments: &Diff) -> Result<()> {
    let paths = [&*arguments.directory, &*arguments.other];
    let [before, after] = paths.map(|path| open_to_read(path, Purpose::Show));
    let (before, after) = (before?, after?);
    let only = arguments.keyspace.as_deref();
    if let Some(name) = only {
        check_keyspace(name, [&before, &after], paths)?;
    }
    let failed = |error| failure(paths, error);
    let mut output = Output::stdout()?;
    let mut found = cairndb::diff(&before, &after).map_err(failed)?;
    let printed = found.try_for_each(|difference| {
        let difference = difference.map_err(failed)?;
        if only.is_some() && difference.keyspace.as_deref() != only {
            return Ok(());
        }
        append(&difference, arguments, output.buffer());
        output.end_line()
    });
    if printed.as_ref().is_err_and(Failure::is_closed) {
        return printed;
    }
    output.finish().and(printed)
}

/// Fails if neither database has the keyspace.
fn check_keyspace(name: &str, databases: [&Db; 2], paths: [&Path; 2]) -> Result<()> {
    let errors = databases.map(|db| db.keyspace(name).err());
    match errors {
        [Some(error), Some(_)] => Err(failure(paths, error)),
        _ => Ok(()),
    }
}

/// Appends a difference as a JSON object.
fn append(difference: &Difference, arguments: &Diff, out: &mut Vec<u8>) {
    let coding = Coding::from(arguments.coding);
    out.extend_from_slice(b"{\"keyspace\":");
    match &difference.keyspace {
        Some(name) => write_text(name, out),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b",\"key\":");
    coding.append_json(&difference.key, out);
    let change = match (&difference.before, &difference.after) {
        (None, _) => "added",
        (_, None) => "removed",
        _ => "changed",
    };
    out.extend_from_slice(b",\"change\":");
    write_text(change, out);
    if arguments.values {
        for (name, value) in [("before", &difference.before), ("after", &difference.after)] {
            out.push(b',');
            write_text(name, out);
            out.push(b':');
            match value {
                Some(value) => coding.append_json(value, out),
                None => out.extend_from_slice(b"null"),
            }
        }
    }
    out.push(b'}');
}

/// Returns the failure for an error of the database that it names, or of both.
fn failure(paths: [&Path; 2], error: cairndb::Error) -> Failure {
    let [before, after] = paths.map(|path| path.display().to_string());
    let directory = match error.directory_name() {
        Some(name) if name == before => PathBuf::from(before),
        Some(name) if name == after => PathBuf::from(after),
        _ => PathBuf::from(format!("{before} and {after}")),
    };
    crate::space::failure(&directory)(error)
}
