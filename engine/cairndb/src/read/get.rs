//! Point reads: the first visible version in the mutable memtable, the immutable memtables, and
//! then each run.
//!
//! A point read takes no lock and allocates nothing, except when reads start a compaction
//! ([`read_cost`](crate::read::hints::read_cost)): the value is decoded into the caller's buffer.
//! If the newest version is a merge operand, the next older version is looked up in each source; if
//! a source has many, they are gathered with a cursor.

use cairndb_base::{Kind, Result, SeqNo};
use cairndb_env::Mapping;
use cairndb_mem::Memtable;

use crate::read::key_versions::{KeyVersions, Operand};
use crate::read::presence::Presence;
use crate::read::source::{MergeSource, RunCursor};
use crate::read::value_ref::{borrow_pointer, decode_pointer, read_pointer};
use crate::read::view::View;
use crate::state::context::ReadContext;
use crate::state::version::TableHandle;

/// Number of runs whose filters are prefetched together, so that their cache misses overlap: during
/// writes there are dozens of runs, and most of their filters are not in a near cache.
const RUNS_ASKED: usize = 8;

/// The newest visible version of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Newest {
    /// No version, or a tombstone.
    Missing,
    /// The value.
    Value,
    /// A pointer to the value in a value file.
    Pointer,
    /// An operand, which needs the older versions.
    Operand(Operand),
}

impl Newest {
    #[inline]
    fn of(kind: Kind, operand: Operand) -> Newest {
        match kind {
            Kind::Delete | Kind::RangeDelete => Newest::Missing,
            Kind::Put => Newest::Value,
            Kind::Pointer => Newest::Pointer,
            Kind::Merge => Newest::Operand(operand),
        }
    }
}

/// Replaces the contents of `out` with the value of `key` at `seq`, or returns `MISSING` and leaves
/// `out` empty.
#[inline]
pub(crate) fn get(
    view: &View,
    context: &ReadContext,
    key: &[u8],
    seq: SeqNo,
    out: &mut Vec<u8>,
) -> Result<Presence> {
    match get_or_pointer(view, context, key, seq, out)? {
        Presence::POINTER => pointed(view, context, key, out),
        presence => Ok(presence),
    }
}

/// Like [`get`], but does not read a value in a value file: returns `POINTER` with the pointer in
/// `out`.
#[inline]
pub(crate) fn get_or_pointer(
    view: &View,
    context: &ReadContext,
    key: &[u8],
    seq: SeqNo,
    out: &mut Vec<u8>,
) -> Result<Presence> {
    out.clear();
    match newest(view, context, key, seq, out)? {
        Newest::Value => Ok(Presence::THERE),
        Newest::Missing => {
            out.clear();
            Ok(Presence::MISSING)
        }
        Newest::Pointer => Ok(Presence::POINTER),
        Newest::Operand(first) => KeyVersions::new(view, context, key).folded(seq, first, out),
    }
}

/// Replaces the pointer in `out` with the value in the value file.
#[inline(never)]
fn pointed(view: &View, context: &ReadContext, key: &[u8], out: &mut Vec<u8>) -> Result<Presence> {
    // The pointer is decoded rather than moved out of `out`, because the value goes to the caller's
    // buffer.
    let pointer = decode_pointer(key, out)?;
    read_pointer(&context.order, &view.version.values, key, pointer, out)?;
    Ok(Presence::THERE)
}

/// Returns the value to which the pointer in `out` refers, borrowed, or `None` with the value in
/// `out`.
#[inline(never)]
pub(crate) fn borrowed(
    view: &View,
    context: &ReadContext,
    key: &[u8],
    out: &mut Vec<u8>,
) -> Result<Option<Mapping>> {
    let pointer = decode_pointer(key, out)?;
    borrow_pointer(&context.order, &view.version.values, key, pointer, out)
}

/// Prefetches for a batch of gets: first every hash index line and filter line, then every page, so
/// that the misses overlap.
pub(crate) fn prefetch<K: AsRef<[u8]>>(view: &View, context: &ReadContext, keys: &[K]) {
    for key in keys {
        let (key, hash) = (key.as_ref(), context.order.hash(key.as_ref()));
        for part in std::iter::once(&view.mutable).chain(&view.immutables) {
            part.prefetch(hash);
        }
        for run in &view.version.runs {
            if let Some(table) = run.tables().get(run.find(&context.order, key)) {
                table.prefetch_filter(hash);
            }
        }
    }
    for key in keys {
        let (key, hash) = (key.as_ref(), context.order.hash(key.as_ref()));
        // Starts at the newest run. Runs after the first that may have the key are unlikely to be
        // read.
        let mut runs = view.version.runs.iter();
        runs.any(|run| {
            let table = run.tables().get(run.find(&context.order, key));
            table.is_some_and(|table| table.prefetch_page(key, hash))
        });
    }
}

/// Returns the number of bytes that the newest version of `key` up to `seq` takes, in a table or in
/// a value file. No large value is read and no operand is folded. The contents of `scratch` are
/// unspecified afterwards.
#[inline(never)]
pub(crate) fn stored_at(
    view: &View,
    context: &ReadContext,
    key: &[u8],
    seq: SeqNo,
    scratch: &mut Vec<u8>,
) -> Result<u64> {
    scratch.clear();
    Ok(match newest(view, context, key, seq, scratch)? {
        Newest::Missing => 0,
        Newest::Value | Newest::Operand(_) => (key.len() + scratch.len()) as u64,
        Newest::Pointer => u64::from(decode_pointer(key, scratch)?.len),
    })
}

/// Returns whether `key` has a value at `seq`. No pointer is followed and no operand is folded: the
/// kind of the newest version is enough. The contents of `scratch`, used for decoding, are
/// unspecified afterwards.
pub(crate) fn contains(
    view: &View,
    context: &ReadContext,
    key: &[u8],
    seq: SeqNo,
    scratch: &mut Vec<u8>,
) -> Result<bool> {
    scratch.clear();
    Ok(match newest(view, context, key, seq, scratch)? {
        Newest::Missing => false,
        Newest::Value | Newest::Pointer | Newest::Operand(_) => true,
    })
}

/// Finds the newest version with a sequence number up to `seq` and writes its stored value to
/// `out`.
#[expect(
    clippy::inline_always,
    reason = "callers match on the result at once; a call would store and reload it"
)]
#[inline(always)]
pub(crate) fn newest(
    view: &View,
    context: &ReadContext,
    key: &[u8],
    seq: SeqNo,
    out: &mut Vec<u8>,
) -> Result<Newest> {
    if view.readers.ranges.any() {
        return newest_in_ranges(view, key, seq, out);
    }
    newest_since::<false>(view, context, key, (0, seq), out)
}

/// Like [`newest`], while there are deleted ranges.
#[cold]
#[inline(never)]
fn newest_in_ranges(view: &View, key: &[u8], seq: SeqNo, out: &mut Vec<u8>) -> Result<Newest> {
    let since = view
        .readers
        .ranges
        .covering(&view.context().order, key, seq);
    newest_after(view, key, (since, seq), out)
}

/// Like [`newest`], for a key whose range was deleted at the first of two sequence numbers.
#[inline(never)]
pub(crate) fn newest_after(
    view: &View,
    key: &[u8],
    (since, seq): (SeqNo, SeqNo),
    out: &mut Vec<u8>,
) -> Result<Newest> {
    newest_since::<true>(view, view.context(), key, (since, seq), out)
}

/// Like [`newest_after`] if `RANGES`; otherwise no range is deleted.
#[expect(clippy::inline_always, reason = "see `newest`")]
#[inline(always)]
fn newest_since<const RANGES: bool>(
    view: &View,
    context: &ReadContext,
    key: &[u8],
    (since, seq): (SeqNo, SeqNo),
    out: &mut Vec<u8>,
) -> Result<Newest> {
    view.note_read();
    let at = PointRead::<RANGES> {
        key,
        hash: context.order.hash(key),
        since,
        seq,
    };
    for part in &view.immutables {
        part.prefetch(at.hash);
    }
    // The memtable of an idle database is empty, and its hash index is not in a near cache.
    if view.mutable.has_begun()
        && let Some(newest) = newest_in_memtable(&view.mutable, 0, &at, out)?
    {
        return Ok(newest);
    }
    for (index, part) in view.immutables.iter().enumerate() {
        if let Some(newest) = newest_in_memtable(part, 1 + index, &at, out)? {
            return Ok(newest);
        }
    }
    if let [run] = view.version.runs.as_slice() {
        let table = run.tables().get(run.find(&context.order, key));
        let found = match table {
            Some(table) => newest_in_table(table, view.memtable_count(), &at, out)?,
            None => None,
        };
        return Ok(found.unwrap_or(Newest::Missing));
    }
    newest_in_runs(view, context, &at, out)
}

/// A key, and the sequence numbers at which it is looked up.
struct PointRead<'k, const RANGES: bool> {
    key: &'k [u8],
    hash: u64,
    /// Sequence number of the newest deletion of the key's range, which hides older versions.
    since: SeqNo,
    seq: SeqNo,
}

/// Like [`newest`], but for several runs.
#[inline(never)]
fn newest_in_runs<const RANGES: bool>(
    view: &View,
    context: &ReadContext,
    read: &PointRead<'_, RANGES>,
    out: &mut Vec<u8>,
) -> Result<Newest> {
    if view.version.runs.len() > 1 {
        view.note_several();
    }
    for (chunk, runs) in view.version.runs.chunks(RUNS_ASKED).enumerate() {
        let mut tables = [None; RUNS_ASKED];
        for (table, run) in tables.iter_mut().zip(runs) {
            *table = run.tables().get(run.find(&context.order, read.key));
            if let Some(table) = table {
                table.prefetch_filter(read.hash);
            }
        }
        for (at, table) in tables.iter().enumerate() {
            let Some(table) = table else { continue };
            let source = view.memtable_count() + chunk * RUNS_ASKED + at;
            if let Some(newest) = newest_in_table(table, source, read, out)? {
                return Ok(newest);
            }
        }
    }
    Ok(Newest::Missing)
}

/// Searches one memtable, source number `source` of the view.
#[inline]
fn newest_in_memtable<const RANGES: bool>(
    part: &Memtable,
    source: usize,
    read: &PointRead<'_, RANGES>,
    out: &mut Vec<u8>,
) -> Result<Option<Newest>> {
    let Some(entry) = part.get(read.key, read.hash, read.seq)? else {
        return Ok(None);
    };
    if RANGES && entry.seq < read.since {
        return Ok(Some(Newest::Missing));
    }
    out.extend_from_slice(entry.value);
    let operand = Operand {
        source,
        seq: entry.seq,
        since: read.since,
        goes_on: true,
    };
    Ok(Some(Newest::of(entry.kind, operand)))
}

/// Searches one table, part of source number `source`.
#[inline]
fn newest_in_table<const RANGES: bool>(
    table: &TableHandle,
    source: usize,
    read: &PointRead<'_, RANGES>,
    out: &mut Vec<u8>,
) -> Result<Option<Newest>> {
    let found = table.table()?.get(read.key, read.hash, read.seq, out)?;
    Ok(found.map(|found| {
        if RANGES && table.deleted_before(found.seq(), read.since) {
            return Newest::Missing;
        }
        let operand = Operand {
            source,
            seq: found.seq(),
            since: read.since,
            goes_on: found.goes_on(),
        };
        Newest::of(found.kind(), operand)
    }))
}

/// Returns sources over everything in a view, newest first.
pub(crate) fn sources(view: &View, context: &ReadContext) -> Vec<MergeSource> {
    let mut sources = Vec::with_capacity(1 + view.immutables.len() + view.version.runs.len());
    for part in std::iter::once(&view.mutable).chain(&view.immutables) {
        if !part.is_empty() {
            sources.push(MergeSource::Mem(part.cursor()));
        }
    }
    for run in &view.version.runs {
        sources.push(MergeSource::Run(Box::new(RunCursor::new(
            run.clone(),
            context.order.clone(),
        ))));
    }
    sources
}
