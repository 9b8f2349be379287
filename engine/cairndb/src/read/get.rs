//! Point reads: the first visible version in the mutable memtable, the immutable memtables, and
//! then each run.
//!
//! A point read takes no lock and allocates nothing, except when reads start a compaction
//! ([`read_cost`](crate::read::hints::read_cost)): the value is decoded into the caller's buffer.
//! If the newest version is a merge operand, the next older version is looked up in each source; if
//! a source has many, they are gathered with a cursor.

use cairndb_base::{Kind, Order, Result, SeqNo};
use cairndb_env::Mapping;
use cairndb_format::table::Prefetched;
use cairndb_mem::Memtable;

use crate::read::key_versions::{KeyVersions, Operand};
use crate::read::presence::Presence;
use crate::read::source::{MergeSource, RunCursor};
use crate::read::value_ref::{borrow_pointer, decode_pointer, read_pointer, request_pointer};
use crate::read::view::View;
use crate::state::context::ReadContext;
use crate::state::ranges::RangeMap;
use crate::state::version::TableHandle;

/// Sequence number at which a read sees a view, and the ranges deleted by then.
pub(crate) type ReadAt<'r> = (SeqNo, &'r RangeMap);

/// Number of runs whose filters are prefetched together, so that their cache misses overlap: during
/// writes there are dozens of runs, and most of their filters are not in a near cache.
const RUNS_ASKED: usize = 8;
/// Maximum number of bytes of values that a batch of gets requests at a time.
const REQUESTED_BYTES_MAX: u64 = 8 << 20;

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
            Kind::Delete | Kind::RangeDelete | Kind::TimeMark => Newest::Missing,
            Kind::Put => Newest::Value,
            Kind::Pointer => Newest::Pointer,
            Kind::Merge => Newest::Operand(operand),
        }
    }
}

/// Replaces the contents of `out` with the value of `key`, or returns `MISSING` and leaves
/// `out` empty.
#[inline]
pub(crate) fn get(
    view: &View,
    context: &ReadContext,
    key: &[u8],
    at: ReadAt<'_>,
    out: &mut Vec<u8>,
) -> Result<Presence> {
    match get_or_pointer(view, context, key, at, out)? {
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
    at: ReadAt<'_>,
    out: &mut Vec<u8>,
) -> Result<Presence> {
    out.clear();
    match newest(view, context, key, at, out)? {
        Newest::Value => Ok(Presence::THERE),
        Newest::Missing => {
            out.clear();
            Ok(Presence::MISSING)
        }
        Newest::Pointer => Ok(Presence::POINTER),
        Newest::Operand(first) => KeyVersions::new(view, context, key).folded(at.0, first, out),
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
/// that the misses overlap, and so do the reads of the disk. Returns whether any was requested.
pub(crate) fn prefetch<K: AsRef<[u8]>>(view: &View, context: &ReadContext, keys: &[K]) -> bool {
    let mut asked = false;
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
        for run in &view.version.runs {
            let table = run.tables().get(run.find(&context.order, key));
            match table.map(|table| table.prefetch_page(key, hash)) {
                None | Some(Prefetched::Refused) => {}
                found => {
                    asked |= found == Some(Prefetched::Asked);
                    break;
                }
            }
        }
    }
    asked
}

/// Requests the values in value files that a batch of gets will read, up to [`REQUESTED_BYTES_MAX`]
/// of them. Errors are left to the gets.
pub(crate) fn request_values<K: AsRef<[u8]>>(
    view: &View,
    context: &ReadContext,
    keys: &[K],
    at: ReadAt<'_>,
    scratch: &mut Vec<u8>,
) {
    let mut left = REQUESTED_BYTES_MAX;
    for key in keys {
        let key = key.as_ref();
        let found = get_or_pointer(view, context, key, at, scratch);
        if let Ok(Presence::POINTER) = found
            && let Ok(pointer) = decode_pointer(key, scratch)
        {
            let values = &view.version.values;
            left = left.saturating_sub(request_pointer(&context.order, values, key, pointer));
        }
        if left == 0 {
            break;
        }
    }
}

/// Returns the number of bytes that the newest version of `key` takes, in a table or in
/// a value file. No large value is read and no operand is folded. The contents of `scratch` are
/// unspecified afterwards.
#[inline(never)]
pub(crate) fn stored_at(
    view: &View,
    context: &ReadContext,
    key: &[u8],
    at: ReadAt<'_>,
    scratch: &mut Vec<u8>,
) -> Result<u64> {
    scratch.clear();
    Ok(match newest(view, context, key, at, scratch)? {
        Newest::Missing => 0,
        Newest::Value | Newest::Operand(_) => (key.len() + scratch.len()) as u64,
        Newest::Pointer => u64::from(decode_pointer(key, scratch)?.len),
    })
}

/// Returns whether `key` has a value. No pointer is followed and no operand is folded: the
/// kind of the newest version is enough. The contents of `scratch`, used for decoding, are
/// unspecified afterwards.
pub(crate) fn contains(
    view: &View,
    context: &ReadContext,
    key: &[u8],
    at: ReadAt<'_>,
    scratch: &mut Vec<u8>,
) -> Result<bool> {
    scratch.clear();
    Ok(match newest(view, context, key, at, scratch)? {
        Newest::Missing => false,
        Newest::Value | Newest::Pointer | Newest::Operand(_) => true,
    })
}

/// Finds the newest version and writes its stored value to `out`. The deleted ranges are asked only
/// about a key that is found, so that an absent one costs nothing more.
#[expect(
    clippy::inline_always,
    reason = "callers match on the result at once; a call would store and reload it"
)]
#[inline(always)]
pub(crate) fn newest(
    view: &View,
    context: &ReadContext,
    key: &[u8],
    at: ReadAt<'_>,
    out: &mut Vec<u8>,
) -> Result<Newest> {
    view.note_read();
    let hash = context.order.hash(key);
    for part in &view.immutables {
        part.prefetch(hash);
    }
    // The memtable of an idle database is empty, and its hash index is not in a near cache.
    if view.mutable.has_begun()
        && let Some(newest) = newest_in_memtable((0, &view.mutable), context, key, hash, at, out)?
    {
        return Ok(newest);
    }
    for (index, part) in view.immutables.iter().enumerate() {
        if let Some(newest) = newest_in_memtable((1 + index, part), context, key, hash, at, out)? {
            return Ok(newest);
        }
    }
    if let [run] = view.version.runs.as_slice() {
        let table = run.tables().get(run.find(&context.order, key));
        let found = match table {
            Some(table) => {
                let source = view.memtable_count();
                newest_in_table((source, table), context, key, hash, at, out)?
            }
            None => None,
        };
        return Ok(found.unwrap_or(Newest::Missing));
    }
    newest_in_runs(view, key, hash, at, out)
}

/// Like [`newest`], but for several runs.
#[inline(never)]
fn newest_in_runs(
    view: &View,
    key: &[u8],
    hash: u64,
    at: ReadAt<'_>,
    out: &mut Vec<u8>,
) -> Result<Newest> {
    let context = view.context();
    if view.version.runs.len() > 1 {
        view.note_several();
    }
    for (chunk, runs) in view.version.runs.chunks(RUNS_ASKED).enumerate() {
        let mut tables = [None; RUNS_ASKED];
        for (table, run) in tables.iter_mut().zip(runs) {
            *table = run.tables().get(run.find(&context.order, key));
            if let Some(table) = table {
                table.prefetch_filter(hash);
            }
        }
        for (index, table) in tables.iter().enumerate() {
            let Some(table) = table else { continue };
            let source = view.memtable_count() + chunk * RUNS_ASKED + index;
            if let Some(newest) = newest_in_table((source, table), context, key, hash, at, out)? {
                return Ok(newest);
            }
        }
    }
    Ok(Newest::Missing)
}

/// Searches one memtable, with its source number in the view.
#[inline]
fn newest_in_memtable(
    (source, part): (usize, &Memtable),
    context: &ReadContext,
    key: &[u8],
    hash: u64,
    at: ReadAt<'_>,
    out: &mut Vec<u8>,
) -> Result<Option<Newest>> {
    let Some(entry) = part.get(key, hash, at.0)? else {
        return Ok(None);
    };
    let since = deleted_at(context, key, at);
    if entry.seq < since {
        return Ok(Some(Newest::Missing));
    }
    out.extend_from_slice(entry.value);
    let operand = Operand {
        source,
        seq: entry.seq,
        since,
        goes_on: true,
    };
    Ok(Some(Newest::of(entry.kind, operand)))
}

/// Searches one table, with the source number of its run.
#[inline]
fn newest_in_table(
    (source, table): (usize, &TableHandle),
    context: &ReadContext,
    key: &[u8],
    hash: u64,
    at: ReadAt<'_>,
    out: &mut Vec<u8>,
) -> Result<Option<Newest>> {
    let found = table
        .table()?
        .get(key, hash, at.0.min(table.limit()), out)?;
    Ok(found.map(|found| {
        let since = deleted_at(context, key, at);
        if since > 0 && table.deleted_before(found.seq(), since) {
            return Newest::Missing;
        }
        let operand = Operand {
            source,
            seq: found.seq(),
            since,
            goes_on: found.goes_on(),
        };
        Newest::of(found.kind(), operand)
    }))
}

/// Returns the sequence number of the newest deletion of the range of `key`; 0 without one.
#[inline]
fn deleted_at(context: &ReadContext, key: &[u8], (_, ranges): ReadAt<'_>) -> SeqNo {
    #[cold]
    #[inline(never)]
    fn covering(order: &Order, key: &[u8], ranges: &RangeMap) -> SeqNo {
        let range = ranges.covering(order, key);
        range.map_or(0, |range| range.seq)
    }
    if ranges.is_empty() {
        return 0;
    }
    covering(&context.order, key, ranges)
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
