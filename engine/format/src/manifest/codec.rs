//! Codec of version edits.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use cairndb_base::coding::put_varint;
use cairndb_base::{Error, Result, SEQ_MAX};

use crate::input::Input;
use crate::manifest::edit::{CleanClose, SegmentRecord, VersionEdit};
use crate::manifest::fields::{
    FieldWriter, NAME_BYTES_MAX, end, name, next_field, pairs, single, unknown, varints,
};
use crate::manifest::{deleted_range, history, keyspace_record, table_record};

/// Tags, in the order in which fields are written. Readers must know every odd tag.
mod tag {
    use super::history;

    pub(super) const COMPARATOR: u64 = 1;
    pub(super) const MERGE_OPERATOR: u64 = 3;
    pub(super) const NEXT_FILE: u64 = 5;
    pub(super) const LAST_SEQ: u64 = 7;
    pub(super) const ADDED_TABLE: u64 = 9;
    pub(super) const REMOVED_TABLES: u64 = 11;
    pub(super) const MOVED_TABLES: u64 = 13;
    pub(super) const RUNS: u64 = 15;
    pub(super) const ADDED_SEGMENT: u64 = 17;
    pub(super) const RETIRED_SEGMENTS: u64 = 19;
    pub(super) const ADDED_VALUES: u64 = 21;
    pub(super) const SETTLED_VALUES: u64 = 22;
    pub(super) const VALUE_SIZES: u64 = 23;
    pub(super) const VALUE_DEAD: u64 = 24;
    pub(super) const REMOVED_VALUES: u64 = 25;
    pub(super) const CLEAN_CLOSE: u64 = 27;
    pub(super) const CREATED_KEYSPACE: u64 = 29;
    pub(super) const DROPPED_KEYSPACES: u64 = 31;
    pub(super) const DELETED_RANGE: u64 = 39;

    /// Returns whether a tag may occur several times in a row. This holds for tags that this
    /// version repeats and for unknown even ones, which a later version may repeat.
    pub(super) fn repeats(tag: u64) -> bool {
        match tag {
            ADDED_TABLE | ADDED_SEGMENT | CREATED_KEYSPACE | DELETED_RANGE => true,
            0 | SETTLED_VALUES | VALUE_DEAD | history::INCARNATIONS | history::LEASES => false,
            _ => tag.is_multiple_of(2),
        }
    }
}

impl VersionEdit {
    /// Appends the edit's bytes. Equal edits give equal bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut to = FieldWriter::new(out);
        for (tag, name) in [
            (tag::COMPARATOR, &self.comparator),
            (tag::MERGE_OPERATOR, &self.merge_operator),
        ] {
            if let Some(name) = name {
                debug_assert!(name.len() <= NAME_BYTES_MAX);
                to.field(tag, |body| body.extend_from_slice(name.as_bytes()));
            }
        }
        to.varints(tag::NEXT_FILE, self.next_file);
        to.varints(tag::LAST_SEQ, self.last_seq);
        for table in &self.added_tables {
            to.field(tag::ADDED_TABLE, |body| table_record::encode(table, body));
        }
        to.varints(tag::REMOVED_TABLES, self.removed_tables.iter().copied());
        to.varints(tag::MOVED_TABLES, flat(&self.moved_tables));
        if let Some(runs) = &self.runs {
            to.field(tag::RUNS, |body| {
                for run in runs {
                    put_varint(body, *run);
                }
            });
        }
        for segment in &self.added_segments {
            to.field(tag::ADDED_SEGMENT, |body| encode_segment(segment, body));
        }
        to.varints(tag::RETIRED_SEGMENTS, self.retired_segments.iter().copied());
        to.varints(tag::ADDED_VALUES, self.added_values.iter().copied());
        to.varints(tag::SETTLED_VALUES, self.settled_values.iter().copied());
        to.varints(tag::VALUE_SIZES, flat(&self.value_sizes));
        to.varints(tag::VALUE_DEAD, flat(&self.value_dead));
        to.varints(tag::REMOVED_VALUES, self.removed_values.iter().copied());
        if let Some(close) = &self.clean_close {
            let numbers = std::iter::once(close.last_seq).chain(flat(&close.log_ends));
            to.varints(tag::CLEAN_CLOSE, numbers);
        }
        for keyspace in &self.created_keyspaces {
            to.field(tag::CREATED_KEYSPACE, |body| {
                keyspace_record::encode(keyspace, body);
            });
        }
        let dropped = self.dropped_keyspaces.iter().copied().map(u64::from);
        to.varints(tag::DROPPED_KEYSPACES, dropped);
        history::encode(self, &mut to);
        for range in &self.deleted_ranges {
            to.field(tag::DELETED_RANGE, |body| {
                deleted_range::encode(range, body);
            });
        }
    }

    /// Decodes an edit from all of `bytes`.
    ///
    /// # Errors
    /// `Corruption` for malformed bytes, `FormatTooNew` for an unknown field that readers must
    /// know. The caller adds file and offset.
    pub fn decode(bytes: &[u8]) -> Result<VersionEdit> {
        let mut input = Input::new(bytes);
        let mut edit = VersionEdit::default();
        let mut last_tag = 0;
        while let Some((tag, body)) = next_field(&mut input)? {
            let in_order = tag > last_tag || (tag == last_tag && tag::repeats(tag));
            if !in_order {
                return Err(Error::corruption("manifest fields are out of order")
                    .expected(format_args!("a tag above {last_tag}"))
                    .found(tag));
            }
            last_tag = tag;
            edit.set(tag, body)?;
        }
        Ok(edit)
    }

    fn set(&mut self, tag: u64, body: &[u8]) -> Result<()> {
        match tag {
            tag::COMPARATOR => self.comparator = Some(name(body)?),
            tag::MERGE_OPERATOR => self.merge_operator = Some(name(body)?),
            tag::NEXT_FILE => self.next_file = Some(single(body)?),
            tag::LAST_SEQ => self.last_seq = Some(seq(single(body)?)?),
            tag::ADDED_TABLE => self.added_tables.push(table_record::decode(body)?),
            tag::REMOVED_TABLES => self.removed_tables = varints(body)?,
            tag::MOVED_TABLES => self.moved_tables = pairs(body)?,
            tag::RUNS => self.runs = Some(varints(body)?),
            tag::ADDED_SEGMENT => self.added_segments.push(decode_segment(body)?),
            tag::RETIRED_SEGMENTS => self.retired_segments = varints(body)?,
            tag::ADDED_VALUES => self.added_values = varints(body)?,
            tag::SETTLED_VALUES => self.settled_values = varints(body)?,
            tag::VALUE_SIZES => self.value_sizes = pairs(body)?,
            tag::VALUE_DEAD => self.value_dead = pairs(body)?,
            tag::REMOVED_VALUES => self.removed_values = varints(body)?,
            tag::CLEAN_CLOSE => self.clean_close = Some(decode_close(body)?),
            tag::CREATED_KEYSPACE => {
                self.created_keyspaces.push(keyspace_record::decode(body)?);
            }
            tag::DROPPED_KEYSPACES => self.dropped_keyspaces = keyspace_record::numbers(body)?,
            history::INCARNATIONS => self.incarnations = history::incarnations(body)?,
            history::KEPT_SEGMENTS => self.kept_segments = Some(history::kept(body)?),
            history::LEASES => self.leases = Some(history::leases(body)?),
            history::KEYSPACE_EVENT => self.keyspace_events.push(history::event(body)?),
            tag::DELETED_RANGE => self.deleted_ranges.push(deleted_range::decode(body)?),
            other => unknown(other)?,
        }
        Ok(())
    }

    /// Returns whether the edit changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == VersionEdit::default()
    }
}

fn flat(pairs: &[(u64, u64)]) -> impl Iterator<Item = u64> + '_ {
    pairs.iter().flat_map(|&(first, second)| [first, second])
}

fn seq(seq: u64) -> Result<u64> {
    if seq <= SEQ_MAX {
        return Ok(seq);
    }
    Err(Error::corruption("sequence number is out of range")
        .expected(format_args!("at most {SEQ_MAX}"))
        .found(seq))
}

fn encode_segment(record: &SegmentRecord, out: &mut Vec<u8>) {
    put_varint(out, record.segment);
    put_varint(out, record.file);
    out.extend_from_slice(&record.salt.to_le_bytes());
    put_varint(out, record.bytes);
    put_varint(out, record.start_seq);
}

fn decode_segment(body: &[u8]) -> Result<SegmentRecord> {
    let mut input = Input::new(body);
    let record = SegmentRecord {
        segment: input.varint("a segment number")?,
        file: input.varint("a segment's file number")?,
        salt: input.u64("a segment's salt")?,
        bytes: input.varint("a segment's length")?,
        start_seq: seq(input.varint("a segment's first sequence number")?)?,
    };
    while let Some((tag, _)) = next_field(&mut input)? {
        unknown(tag)?;
    }
    Ok(record)
}

fn decode_close(body: &[u8]) -> Result<CleanClose> {
    let mut input = Input::new(body);
    let last_seq = seq(input.varint("a last sequence number")?)?;
    let mut log_ends = Vec::new();
    while !input.is_empty() {
        log_ends.push((
            input.varint("a segment number")?,
            input.varint("a segment's end")?,
        ));
    }
    end(&input)?;
    Ok(CleanClose { last_seq, log_ends })
}
