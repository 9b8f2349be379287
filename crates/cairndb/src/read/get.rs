//! Point reads: mutable part, sealed parts, then run by run, the first visible version wins.
//!
//! No lock is waited for and nothing allocated, but where reads begin a merge ([`toll`](crate::read::read_cost)): the value is decoded into the
//! caller's buffer. A key with merge
//! operands on top goes on from the first, asking each source for the next older version; one of which
//! a source has many is gathered with a cursor.

use cairndb_base::{Kind, Result, SeqNo};
use cairndb_env::Mapping;
use cairndb_format::table::GetHints;
use cairndb_format::value_file::Pointer;
use cairndb_mem::Memtable;

use crate::read::pointed::{lend_pointer, read_pointer};
use crate::read::presence::Presence;
use crate::read::source::{RunCursor, Source};
use crate::read::versions::{Operand, Versions};
use crate::read::view::View;
use crate::state::context::ReadContext;
use crate::state::version::TableHandle;

/// Runs whose filters are requested at once: beside a writer there are dozens of runs, the filters of most
/// are in no near cache, and their waits overlap.
const RUNS_ASKED: usize = 8;

/// What the newest visible version of a key says.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Newest {
    /// There is none, or it deletes the key.
    Missing,
    /// The value.
    Value,
    /// The place of the value in a value file.
    Pointer,
    /// An operand, which older versions have to be asked about.
    Operand(Operand),
}

impl Newest {
    #[inline]
    fn of(kind: Kind, operand: Operand) -> Newest {
        match kind {
            Kind::Delete => Newest::Missing,
            Kind::Put => Newest::Value,
            Kind::Pointer => Newest::Pointer,
            Kind::Merge => Newest::Operand(operand),
        }
    }
}

/// Appends nothing and returns `MISSING` when `key` has no value at `seq`; else replaces `out` with
/// the value.
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

/// The same, but that a value in a value file is not read: `POINTER`, and that is in `out`.
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
        Newest::Operand(first) => Versions::new(view, context, key).folded(seq, first, out),
    }
}

/// Replaces the pointer that `out` holds by the value in the value file.
#[inline(never)]
fn pointed(view: &View, context: &ReadContext, key: &[u8], out: &mut Vec<u8>) -> Result<Presence> {
    // Not taken out of `out`: the caller's buffer is the value's.
    let pointer = Pointer::decode(out)?;
    read_pointer(&context.order, &view.version.values, key, pointer, out)?;
    Ok(Presence::THERE)
}

/// Where the value lies behind the pointer that `out` holds; or `None`, and it is in `out`.
#[inline(never)]
pub(crate) fn lent(
    view: &View,
    context: &ReadContext,
    key: &[u8],
    out: &mut Vec<u8>,
) -> Result<Option<Mapping>> {
    let pointer = Pointer::decode(out)?;
    lend_pointer(&context.order, &view.version.values, key, pointer, out)
}

/// Requests what gets of `keys` will wait for, so that they wait for it together: first the lines that say where a key
/// may be, of all, then those of the pages, of all.
pub(crate) fn request<K: AsRef<[u8]>>(view: &View, context: &ReadContext, keys: &[K]) {
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
        // From the newest on; behind one that may have it none is likely to be read.
        let mut runs = view.version.runs.iter();
        runs.any(|run| {
            let table = run.tables().get(run.find(&context.order, key));
            table.is_some_and(|table| table.prefetch_page(key, hash))
        });
    }
}

/// Bytes that the newest version of `key` up to `seq` takes, in a table or in a value file. No
/// large value is read and no operand folded; `scratch` holds nothing of use afterwards.
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
        Newest::Pointer => u64::from(Pointer::decode(scratch)?.len),
    })
}

/// Whether `key` has a value at `seq`. No pointer is followed and no operand folded: the newest
/// version's kind says it. `scratch` is for decoding and holds nothing of use afterwards.
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

/// Finds the newest version with a sequence number up to `seq`; its stored value is in `out`.
#[expect(
    clippy::inline_always,
    reason = "what it finds is taken apart at once; as a call it is stored and loaded, 4 ns of a get"
)]
#[inline(always)]
pub(crate) fn newest(
    view: &View,
    context: &ReadContext,
    key: &[u8],
    seq: SeqNo,
    out: &mut Vec<u8>,
) -> Result<Newest> {
    view.note_read();
    let hash = context.order.hash(key);
    for part in &view.immutables {
        part.prefetch(hash);
    }
    // Of an idle database it is empty, and its directory in no near cache.
    if view.mutable.has_begun()
        && let Some(newest) = newest_in_memtable(&view.mutable, 0, key, hash, seq, out)?
    {
        return Ok(newest);
    }
    for (at, part) in view.immutables.iter().enumerate() {
        if let Some(newest) = newest_in_memtable(part, 1 + at, key, hash, seq, out)? {
            return Ok(newest);
        }
    }
    if let [run] = view.version.runs.as_slice() {
        let table = run.tables().get(run.find(&context.order, key));
        let found = match table {
            Some(table) => newest_in_table(table, view.parts(), key, hash, seq, out)?,
            None => None,
        };
        return Ok(found.unwrap_or(Newest::Missing));
    }
    newest_in_runs(view, context, key, hash, seq, out)
}

/// The same, of several runs.
#[inline(never)]
fn newest_in_runs(
    view: &View,
    context: &ReadContext,
    key: &[u8],
    hash: u64,
    seq: SeqNo,
    out: &mut Vec<u8>,
) -> Result<Newest> {
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
        for (at, table) in tables.iter().enumerate() {
            let Some(table) = table else { continue };
            let source = view.parts() + chunk * RUNS_ASKED + at;
            if let Some(newest) = newest_in_table(table, source, key, hash, seq, out)? {
                return Ok(newest);
            }
        }
    }
    Ok(Newest::Missing)
}

/// What one memtable part, the `source`th of the view, says.
#[inline]
fn newest_in_memtable(
    part: &Memtable,
    source: usize,
    key: &[u8],
    hash: u64,
    seq: SeqNo,
    out: &mut Vec<u8>,
) -> Result<Option<Newest>> {
    let Some(entry) = part.get(key, hash, seq)? else {
        return Ok(None);
    };
    out.extend_from_slice(entry.value);
    let operand = Operand {
        source,
        seq: entry.seq,
        goes_on: true,
    };
    Ok(Some(Newest::of(entry.kind, operand)))
}

/// What one table of the `source`th source says.
#[inline]
fn newest_in_table(
    table: &TableHandle,
    source: usize,
    key: &[u8],
    hash: u64,
    seq: SeqNo,
    out: &mut Vec<u8>,
) -> Result<Option<Newest>> {
    let hints = GetHints::default();
    let found = table.table()?.get(key, hash, seq, hints, out)?;
    Ok(found.map(|found| {
        let operand = Operand {
            source,
            seq: found.seq(),
            goes_on: found.goes_on(),
        };
        Newest::of(found.kind(), operand)
    }))
}

/// Sources over everything in a view, newest first.
pub(crate) fn sources(view: &View, context: &ReadContext) -> Vec<Source> {
    let mut sources = Vec::with_capacity(1 + view.immutables.len() + view.version.runs.len());
    for part in std::iter::once(&view.mutable).chain(&view.immutables) {
        if !part.is_empty() {
            sources.push(Source::Mem(part.cursor()));
        }
    }
    for run in &view.version.runs {
        sources.push(Source::Run(Box::new(RunCursor::new(
            run.clone(),
            context.order.clone(),
        ))));
    }
    sources
}
