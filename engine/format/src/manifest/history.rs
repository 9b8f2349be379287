//! Codec of what the manifest keeps for readers of changes: incarnations, segments, leases, and
//! events of keyspaces.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use cairndb_base::coding::{put_bytes, put_varint};
use cairndb_base::{Error, Result};

use crate::input::Input;
use crate::manifest::edit::{Incarnation, KeptSegment, KeyspaceEvent, Lease, VersionEdit};
use crate::manifest::fields::{FieldWriter, end, name, pairs};

/// Tags of the fields.
pub(crate) const INCARNATIONS: u64 = 34;
pub(crate) const KEPT_SEGMENTS: u64 = 35;
pub(crate) const LEASES: u64 = 36;
pub(crate) const KEYSPACE_EVENT: u64 = 38;

/// Writes the fields of an edit.
pub(crate) fn encode(edit: &VersionEdit, to: &mut FieldWriter<'_>) {
    let incarnations = edit.incarnations.iter();
    let incarnations = incarnations.flat_map(|it| [it.number, it.after]);
    to.varints(INCARNATIONS, incarnations);
    if let Some(kept) = &edit.kept_segments {
        to.field(KEPT_SEGMENTS, |body| encode_kept(kept, body));
    }
    if let Some(leases) = &edit.leases {
        to.field(LEASES, |body| encode_leases(leases, body));
    }
    for event in &edit.keyspace_events {
        to.field(KEYSPACE_EVENT, |body| encode_event(event, body));
    }
}

pub(crate) fn incarnations(body: &[u8]) -> Result<Vec<Incarnation>> {
    let pairs = pairs(body)?.into_iter();
    let found: Vec<_> = pairs
        .map(|(number, after)| Incarnation { number, after })
        .collect();
    if found.is_sorted_by_key(|it| it.after) && found.iter().all(|it| it.number > 0) {
        return Ok(found);
    }
    Err(
        Error::corruption("the database's incarnations are malformed")
            .expected("numbers above 0, each taking over no less than the one before"),
    )
}

fn encode_kept(kept: &[KeptSegment], out: &mut Vec<u8>) {
    let numbers = kept
        .iter()
        .flat_map(|it| [it.segment, it.end, it.first_values]);
    numbers.for_each(|number| put_varint(out, number));
}

pub(crate) fn kept(body: &[u8]) -> Result<Vec<KeptSegment>> {
    let mut input = Input::new(body);
    let mut found = Vec::new();
    while !input.is_empty() {
        found.push(KeptSegment {
            segment: input.varint("a kept segment")?,
            end: input.varint("the end of a kept segment")?,
            first_values: input.varint("the first value file of a kept segment")?,
        });
    }
    if found.is_sorted_by(|a, b| a.segment < b.segment) {
        return Ok(found);
    }
    Err(Error::corruption("the kept segments are out of order"))
}

fn encode_leases(leases: &[Lease], out: &mut Vec<u8>) {
    for lease in leases {
        put_bytes(out, lease.name.as_bytes());
        put_varint(out, lease.seq);
        put_varint(out, lease.bytes_max);
    }
}

pub(crate) fn leases(body: &[u8]) -> Result<Vec<Lease>> {
    let mut input = Input::new(body);
    let mut found = Vec::new();
    while !input.is_empty() {
        found.push(Lease {
            name: name(input.bytes("the name of a lease")?)?,
            seq: input.varint("the sequence number of a lease")?,
            bytes_max: input.varint("the limit of a lease")?,
        });
    }
    Ok(found)
}

fn encode_event(event: &KeyspaceEvent, out: &mut Vec<u8>) {
    put_varint(out, event.seq);
    put_varint(out, event.number.into());
    put_varint(out, event.created.into());
    put_varint(out, event.time_ms);
    put_bytes(out, event.name.as_bytes());
}

pub(crate) fn event(body: &[u8]) -> Result<KeyspaceEvent> {
    let mut input = Input::new(body);
    let seq = input.varint("the sequence number of a keyspace's event")?;
    let number = input.varint("the number of a keyspace")?;
    let created = input.varint("the kind of a keyspace's event")?;
    let time_ms = input.varint("the time of a keyspace's event")?;
    let name = name(input.bytes("the name of a keyspace")?)?;
    end(&input)?;
    match (u32::try_from(number), created) {
        (Ok(number), 0 | 1) if number > 0 => Ok(KeyspaceEvent {
            seq,
            number,
            created: created == 1,
            time_ms,
            name,
        }),
        _ => Err(Error::corruption("a keyspace's event is malformed").found(number)),
    }
}
