//! `keyspaces`, `create-keyspace` and `drop-keyspace`.

use cairndb::KeyspaceOptions;
use serde_json::json;

use crate::arguments::{CreateKeyspace, DropKeyspace, Keyspaces};
use crate::database::{Purpose, open_to_read, open_with, options_for};
use crate::escape::escaped;
use crate::failure::{Failure, Result};
use crate::output::{print, print_json};
use crate::space::failure;

/// Prints the names of the keyspaces.
pub(super) fn list(arguments: &Keyspaces) -> Result<()> {
    let names = open_to_read(&arguments.directory, Purpose::Show)?.keyspaces();
    if arguments.json {
        return print_json(&json!({ "keyspaces": names }).to_string());
    }
    print(names.iter().map(|name| escaped(name.as_bytes())))
}

/// Returns what a line adds about keyspaces besides the default one.
pub(in crate::commands) fn besides(names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let names = names.iter().map(|name| escaped(name.as_bytes()));
    let names = names.collect::<Vec<_>>().join(", ");
    format!("; besides the default keyspace: {names}")
}

/// Creates a keyspace.
pub(super) fn create(arguments: &CreateKeyspace) -> Result<()> {
    let path = &arguments.directory;
    let options = options_for(path).create_if_missing(arguments.create);
    let db = open_with(path, &options)?;
    let mut options = KeyspaceOptions::new();
    if let Some(name) = &arguments.merge_operator {
        options = options.merge_operator(name);
    }
    db.create_keyspace(&arguments.name, &options)
        .map_err(failure(path))?;
    db.close().map_err(Failure::of(path))
}

/// Drops a keyspace.
pub(super) fn drop(arguments: &DropKeyspace) -> Result<()> {
    let path = &arguments.directory;
    let db = open_with(path, &options_for(path))?;
    db.drop_keyspace(&arguments.name).map_err(failure(path))?;
    db.close().map_err(Failure::of(path))
}
