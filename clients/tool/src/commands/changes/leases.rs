//! `leases` and `drop-lease`.

use serde_json::{Value, json};

use crate::arguments::changes::{DropLease, Leases};
use crate::database::{Purpose, open_to_change, open_to_read};
use crate::escape::escaped;
use crate::failure::{Failure, Result};
use crate::output::{Output, print_json};

/// Prints the leases, with the place up to which each consumer has acknowledged.
pub(in crate::commands) fn list(arguments: &Leases) -> Result<()> {
    let path = &arguments.directory;
    let leases = open_to_read(path, Purpose::Show)?.leases();
    let leases = leases.map_err(Failure::of(path))?;
    if arguments.json {
        let leases = leases.iter().map(|lease| {
            let place = lease.place.to_string();
            json!({ "name": lease.name, "place": place, "fell_off": lease.fell_off })
        });
        return print_json(&json!({ "leases": leases.collect::<Vec<Value>>() }).to_string());
    }
    let mut output = Output::stdout()?;
    for lease in leases {
        let note = if lease.fell_off { "\tfell off" } else { "" };
        let line = format!("{}\t{}{note}", escaped(lease.name.as_bytes()), lease.place);
        output.buffer().extend_from_slice(line.as_bytes());
        output.end_line()?;
    }
    output.finish()
}

/// Drops a lease.
pub(in crate::commands) fn drop(arguments: &DropLease) -> Result<()> {
    let path = &arguments.directory;
    let db = open_to_change(path)?;
    let failure = crate::space::failure(path);
    db.drop_lease(&arguments.name).map_err(failure)?;
    db.close().map_err(Failure::of(path))
}
