//! Upper limits for the numbers in a manifest or log. A damaged file may hold larger numbers, which
//! would overflow or be exhausted when the database counts on from them.

use std::ops::RangeInclusive;

use cairndb_base::{Error, Result, SEQ_MAX, SeqNo};
use cairndb_format::manifest::VersionEdit;

/// Limit that no database's file, run or segment numbers reach. Above it, an addition could
/// overflow.
pub const NUMBER_MAX: u64 = 1 << 62;

/// Returns the error for a number that no database reaches.
pub fn out_of_range(number: u64) -> Error {
    Error::corruption("a number no database ever reaches")
        .expected(format_args!("less than {NUMBER_MAX}"))
        .found(number)
}

/// Checks that a database can have reached all of `numbers`.
fn in_range(mut numbers: impl Iterator<Item = u64>) -> Result<()> {
    match numbers.find(|number| *number >= NUMBER_MAX) {
        None => Ok(()),
        Some(number) => Err(out_of_range(number)),
    }
}

/// Limit that no database's entry count reaches: at ten million entries per second it would take a
/// century. Above it, a write could run out of numbers.
const SEQ_REACHED_MAX: SeqNo = SEQ_MAX / 2;

/// Checks that a database can have reached `seq`.
///
/// # Errors
/// `Corruption` with the number.
pub fn check_seq(seq: SeqNo) -> Result<()> {
    if seq <= SEQ_REACHED_MAX {
        return Ok(());
    }
    Err(
        Error::corruption("a sequence number no database ever reaches")
            .expected(format_args!("at most {SEQ_REACHED_MAX}"))
            .found(seq),
    )
}

/// Valid lengths of a log segment (`docs/format/log.md`).
const SEGMENT_BYTES: RangeInclusive<u64> = 536..=(1 << 32) - 4096;

/// Checks that all numbers of files and runs and all lengths in an edit are possible.
///
/// # Errors
/// `Corruption` with the first number that is not.
pub fn check_numbers(edit: &VersionEdit) -> Result<()> {
    let tables = edit.added_tables.iter();
    in_range(tables.flat_map(|table| [table.file, table.run, table.bytes, table.entries]))?;
    in_range(edit.runs.iter().flatten().copied())?;
    in_range(edit.moved_tables.iter().map(|(_, run)| *run))?;
    let segments = edit.added_segments.iter();
    in_range(segments.flat_map(|segment| [segment.segment, segment.file]))?;
    for segment in &edit.added_segments {
        if !SEGMENT_BYTES.contains(&segment.bytes) {
            return Err(
                Error::corruption("the length of a log segment is out of range")
                    .expected(format_args!(
                        "{} to {} bytes",
                        SEGMENT_BYTES.start(),
                        SEGMENT_BYTES.end()
                    ))
                    .found(segment.bytes),
            );
        }
    }
    let seqs = edit.added_tables.iter().map(|table| table.seq_max);
    let incarnations = edit.incarnations.iter();
    in_range(incarnations.clone().map(|it| it.number))?;
    let seqs = seqs.chain(incarnations.map(|it| it.after));
    let leases = edit.leases.iter().flatten().map(|lease| lease.seq);
    let events = edit.keyspace_events.iter().map(|event| event.seq);
    let seqs = seqs.chain(leases).chain(events);
    let kept = edit.kept_segments.iter().flatten();
    in_range(kept.flat_map(|it| [it.segment, it.end, it.first_values]))?;
    let highest = seqs.chain(edit.last_seq).max().unwrap_or(0);
    check_seq(highest)?;
    in_range(
        edit.next_file
            .into_iter()
            .chain(edit.added_values.iter().copied()),
    )?;
    in_range(
        edit.value_dead
            .iter()
            .chain(&edit.value_sizes)
            .map(|(_, bytes)| *bytes),
    )?;
    Ok(())
}
