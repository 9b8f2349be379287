//! `changes`: what was written, in order, as text or as JSON lines.

pub(super) mod leases;

use std::path::Path;
use std::time::{Duration, Instant};

use cairndb::{BatchEntry, Change, ChangeKind, ChangesOptions, Db, Durability, ErrorKind, Place};
use humantime::format_rfc3339_millis;

use crate::arguments::changes::Changes;
use crate::coding::Coding;
use crate::database::{open_to_change, options_for, refuse_other_stores};
use crate::escape::escaped;
use crate::failure::{Failure, Result};
use crate::inspect::Row;
use crate::json::write_text;
use crate::output::Output;
use crate::progress::{interrupt, watched};

/// Time between two looks for Ctrl-C while there are no changes.
const PATIENCE: Duration = Duration::from_millis(100);

/// How long another process may take to make durable what it has written.
const DURABLE_WITHIN: Duration = Duration::from_secs(3);

/// Number of changes after which what was printed is acknowledged, although there are more.
const STEP_CHANGES: u64 = 1024;

/// Prints the changes. Those before a damaged place are printed.
pub(super) fn changes(arguments: &Changes) -> Result<()> {
    let path = &arguments.directory;
    let mut options = ChangesOptions::new().durability(match &*arguments.durability {
        "os" => Durability::Os,
        _ => Durability::Sync,
    });
    if let Some(place) = &arguments.after {
        let place = place.parse();
        let wrong = |error| Failure::usage(format!("the place cannot be read: {error}"));
        options = options.after(place.map_err(wrong)?);
    }
    if let Some(name) = &arguments.lease {
        options = options.lease(name);
    }
    if let Some(bytes) = arguments.lease_bytes {
        options = options.bytes_max(bytes);
    }
    let (db, mut feed) = open(arguments, &options)?;
    let mut output = Output::stdout()?;
    let mut acknowledged = None;
    let last = last_written(&db, arguments);
    let mut printed = print_all(arguments, last, &mut feed, &mut output, &mut acknowledged);
    if printed.as_ref().is_err_and(Failure::is_closed) {
        printed = Ok(());
    } else {
        // Not acknowledged: a lease prints them again.
        printed = output.finish().and(printed);
    }
    drop(feed);
    if let Some(place) = acknowledged.filter(|_| arguments.follow) {
        printed = printed.and(record(path, &db, &options, Some(place)));
    }
    printed.and(db.close().map_err(Failure::of(path)))
}

/// Opens a database and its feed. To print what is there, for writing, as is needed to record what
/// is acknowledged; to wait for more, as a follower, which keeps no writer out.
fn open(arguments: &Changes, options: &ChangesOptions) -> Result<(Db, cairndb::Changes)> {
    let path = &arguments.directory;
    let db = if arguments.follow {
        refuse_other_stores(path)?;
        let followed = watched("opening", || options_for(path).follow().open(path));
        match followed {
            Err(error) if error.kind() == ErrorKind::NotSupported => open_to_change(path),
            followed => followed.map_err(Failure::of(path)),
        }?
    } else {
        open_to_change(path)?
    };
    if arguments.follow && arguments.lease.is_some() {
        record(path, &db, options, None)?;
    }
    let feed = db.changes(options).map_err(failure(path))?;
    Ok((db, feed))
}

/// Makes the lease, or acknowledges a place, if no process has the database open for writing: that
/// process would do so.
fn record(path: &Path, db: &Db, options: &ChangesOptions, place: Option<Place>) -> Result<()> {
    if db.has_writer().unwrap_or(true) {
        return Ok(());
    }
    let record = |db: Db| {
        let options = options.clone();
        let feed = db.changes(&match place {
            Some(place) => options.after(place),
            None => options,
        })?;
        place.map_or(Ok(()), |place| feed.acknowledge(place))?;
        drop(feed);
        db.close()
    };
    match options_for(path).open(path).and_then(record) {
        // One came in the meantime.
        Err(error) if error.kind() == ErrorKind::Locked => Ok(()),
        recorded => recorded.map_err(failure(path)),
    }
}

/// Returns a function that turns an error of a feed into a failure.
fn failure(path: &Path) -> impl Fn(cairndb::Error) -> Failure + '_ {
    move |error| match error.kind() {
        ErrorKind::Revoked => Failure::other(format!(
            "{}: {error}\ncairn: begin again: with a new lease, after `cairn drop-lease`; then \
             copy what is there, with `cairn dump`",
            path.display()
        )),
        _ => Failure::of(path)(error),
    }
}

/// Returns the number of the last write of another process, which makes it durable soon; 0 if there
/// is nothing to wait for.
fn last_written(db: &Db, arguments: &Changes) -> u64 {
    if !arguments.follow && db.has_writer().unwrap_or(false) {
        return db.sequence_number();
    }
    0
}

/// Prints changes up to the last one, or until Ctrl-C.
fn print_all(
    arguments: &Changes,
    last: u64,
    feed: &mut cairndb::Changes,
    output: &mut Output,
    acknowledged: &mut Option<Place>,
) -> Result<()> {
    let coding = Coding::from(arguments.coding);
    let failed = failure(&arguments.directory);
    let mut unacknowledged = 0;
    let begun = Instant::now();
    loop {
        let mut next = feed.try_next().map_err(&failed)?;
        if next.is_none() {
            *acknowledged = acknowledge(arguments, feed, output)?;
            unacknowledged = 0;
            let waits = feed.place().seq < last && begun.elapsed() < DURABLE_WITHIN;
            if !arguments.follow && !waits {
                return Ok(());
            }
            output.check()?;
            next = feed.next_within(PATIENCE).map_err(&failed)?;
        }
        interrupt::check()?;
        let Some(change) = next else { continue };
        if arguments.json {
            append_json(&change, coding, output.buffer());
            output.end_line()?;
        } else {
            print_text(&change, coding, output)?;
        }
        unacknowledged += 1;
        if unacknowledged == STEP_CHANGES {
            *acknowledged = acknowledge(arguments, feed, output)?;
            unacknowledged = 0;
        }
    }
}

/// Writes what was printed and acknowledges it, in this order. Returns the place of a lease.
fn acknowledge(
    arguments: &Changes,
    feed: &cairndb::Changes,
    output: &mut Output,
) -> Result<Option<Place>> {
    output.flush()?;
    if arguments.lease.is_none() {
        return Ok(None);
    }
    let acknowledged = feed.acknowledge(feed.place());
    acknowledged.map_err(failure(&arguments.directory))?;
    Ok(Some(feed.place()))
}

/// Returns the name of a kind.
fn kind_of(change: &Change) -> &'static str {
    match &change.kind {
        ChangeKind::Batch(_) => "batch",
        ChangeKind::Unlogged { .. } => "unlogged",
        ChangeKind::KeyspaceCreated { .. } => "keyspace_created",
        ChangeKind::KeyspaceDropped { .. } => "keyspace_dropped",
        _ => "unknown",
    }
}

fn durability_of(change: &Change) -> &'static str {
    match change.durability {
        Durability::Sync => "sync",
        _ => "os",
    }
}

/// The name of an operation, the key or first key, and the second part with its name.
type Parts<'a> = (
    &'static str,
    (&'static str, &'a [u8]),
    Option<(&'static str, Option<&'a [u8]>)>,
);

fn parts<'a>(entry: &BatchEntry<'a>) -> Parts<'a> {
    match *entry {
        BatchEntry::Put { key, value } => ("put", ("key", key), Some(("value", Some(value)))),
        BatchEntry::Delete { key } => ("delete", ("key", key), None),
        BatchEntry::Merge { key, operand } => {
            ("merge", ("key", key), Some(("operand", Some(operand))))
        }
        BatchEntry::DeleteRange { from, to } => ("delete_range", ("from", from), Some(("to", to))),
        _ => ("unknown", ("key", &[]), None),
    }
}

/// Prints a change: a line for it, and one for each entry.
fn print_text(change: &Change, coding: Coding, output: &mut Output) -> Result<()> {
    let mut row = Row::new(kind_of(change)).text("place", change.place.to_string());
    if let Some(time) = change.time {
        row = row.text("time", format_rfc3339_millis(time).to_string());
    }
    row = row.text("durability", durability_of(change));
    row = match &change.kind {
        ChangeKind::Unlogged { entries } => row.number("entries", *entries),
        ChangeKind::KeyspaceCreated { name } | ChangeKind::KeyspaceDropped { name } => {
            row.text("keyspace", escaped(name.as_bytes()))
        }
        _ => row,
    };
    let mut print = |row: &Row<'_>, indent| {
        let mut lines = row.lines(coding, indent, None).into_iter();
        lines.try_for_each(|line| output.line(&line))
    };
    print(&row, 0)?;
    let ChangeKind::Batch(entries) = &change.kind else {
        return Ok(());
    };
    entries.iter().try_for_each(|(keyspace, entry)| {
        let (operation, (name, key), second) = parts(&entry);
        let mut row = Row::new(operation).bytes(name, key);
        if let Some((name, Some(value))) = second {
            row = row.bytes(name, value);
        }
        if let Some(keyspace) = keyspace {
            row = row.text("keyspace", escaped(keyspace.as_bytes()));
        }
        print(&row, 2)
    })
}

/// Appends a change as a JSON object.
fn append_json(change: &Change, coding: Coding, out: &mut Vec<u8>) {
    let text = |name: &str, text: &str, out: &mut Vec<u8>| {
        write_text(name, out);
        out.push(b':');
        write_text(text, out);
    };
    out.push(b'{');
    text("place", &change.place.to_string(), out);
    out.push(b',');
    match change.time {
        Some(time) => text("time", &format_rfc3339_millis(time).to_string(), out),
        None => out.extend_from_slice(b"\"time\":null"),
    }
    out.push(b',');
    text("durability", durability_of(change), out);
    out.push(b',');
    text("kind", kind_of(change), out);
    match &change.kind {
        ChangeKind::Batch(entries) => {
            out.extend_from_slice(b",\"entries\":");
            let mut before = b'[';
            for (keyspace, entry) in entries.iter() {
                out.push(before);
                before = b',';
                append_json_entry(keyspace, &entry, coding, out);
            }
            out.push(b']');
        }
        ChangeKind::Unlogged { entries } => {
            out.extend_from_slice(format!(",\"count\":{entries}").as_bytes());
        }
        ChangeKind::KeyspaceCreated { name } | ChangeKind::KeyspaceDropped { name } => {
            out.push(b',');
            text("keyspace", name, out);
        }
        _ => {}
    }
    out.push(b'}');
}

fn append_json_entry(
    keyspace: Option<&str>,
    entry: &BatchEntry<'_>,
    coding: Coding,
    out: &mut Vec<u8>,
) {
    let (operation, (name, key), second) = parts(entry);
    out.extend_from_slice(b"{\"operation\":");
    write_text(operation, out);
    out.extend_from_slice(b",\"keyspace\":");
    match keyspace {
        Some(keyspace) => write_text(keyspace, out),
        None => out.extend_from_slice(b"null"),
    }
    for (name, bytes) in [(name, Some(key))].into_iter().chain(second) {
        out.push(b',');
        write_text(name, out);
        out.push(b':');
        match bytes {
            Some(bytes) => coding.append_json(bytes, out),
            None => out.extend_from_slice(b"null"),
        }
    }
    out.push(b'}');
}
