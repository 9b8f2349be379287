//! Point reads: mutable part, sealed parts, then run by run, the first visible version wins.
//!
//! No lock and no allocation: the value is decoded into the caller's buffer. A key with merge
//! operands on top takes the slow path, which gathers them with a cursor over each source that has it.

use cairndb_base::{Error, FileNumber, Kind, Result, SeqNo};
use cairndb_format::name;
use cairndb_format::table::{Found, FoundValue, GetHints};
use cairndb_format::value_file::Pointer;

use crate::read::fold::{Fold, read_pointer, resolve};
use crate::read::source::{RunCursor, Source};
use crate::state::context::ReadContext;
use crate::state::view::View;

/// Runs whose filters are requested at once: beside a writer there are dozens of runs, the filters of most
/// are in no near cache, and their waits overlap.
const RUNS_ASKED: usize = 8;

/// What the newest visible version of a key says.
pub(crate) enum Newest {
    Missing,
    Is(Kind),
}

/// Appends nothing and returns `false` when `key` has no value at `seq`; else replaces `out` with
/// the value.
pub(crate) fn get(
    view: &View,
    context: &ReadContext,
    key: &[u8],
    seq: SeqNo,
    out: &mut Vec<u8>,
) -> Result<bool> {
    out.clear();
    match newest(view, context, key, seq, out)? {
        Newest::Missing | Newest::Is(Kind::Delete) => {
            out.clear();
            Ok(false)
        }
        Newest::Is(Kind::Put) => Ok(true),
        Newest::Is(Kind::Pointer) => {
            // Not taken out of `out`: the caller's buffer is the value's.
            let pointer = Pointer::decode(out)?.encode();
            read_pointer(&context.order, &view.version.values, key, &pointer, out)?;
            Ok(true)
        }
        Newest::Is(Kind::Merge) => get_merged(view, context, key, seq, out),
    }
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
        Newest::Missing | Newest::Is(Kind::Delete) => false,
        Newest::Is(Kind::Put | Kind::Pointer | Kind::Merge) => true,
    })
}

/// Finds the newest version with a sequence number up to `seq`; its stored value is in `out`.
#[inline]
pub(crate) fn newest(
    view: &View,
    context: &ReadContext,
    key: &[u8],
    seq: SeqNo,
    out: &mut Vec<u8>,
) -> Result<Newest> {
    view.note_read();
    let hash = context.order.hash(key);
    for part in std::iter::once(&view.mutable).chain(&view.sealed) {
        if let Some(entry) = part.get(key, hash, seq)? {
            out.extend_from_slice(entry.value);
            return Ok(Newest::Is(entry.kind));
        }
    }
    for runs in view.version.runs.chunks(RUNS_ASKED) {
        let mut tables = [None; RUNS_ASKED];
        for (table, run) in tables.iter_mut().zip(runs) {
            *table = run.tables().get(run.find(&context.order, key));
            if let (Some(table), true) = (table, runs.len() > 1) {
                table.request_filter(hash);
            }
        }
        for table in tables.iter().flatten() {
            match table
                .table()?
                .get(key, hash, seq, GetHints::default(), out)?
            {
                None => {}
                Some(Found {
                    kind,
                    value: FoundValue::InScratch,
                    ..
                }) => return Ok(Newest::Is(kind)),
                Some(Found {
                    kind,
                    value: FoundValue::Mapped(bytes),
                    ..
                }) => {
                    out.extend_from_slice(bytes);
                    return Ok(Newest::Is(kind));
                }
            }
        }
    }
    Ok(Newest::Missing)
}

/// Sources over everything in a view, newest first.
pub(crate) fn sources(view: &View, context: &ReadContext) -> Vec<Source> {
    let mut sources = Vec::with_capacity(1 + view.sealed.len() + view.version.runs.len());
    for part in std::iter::once(&view.mutable).chain(&view.sealed) {
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

/// The newest version was found as an operand and not met again: some table is not what a writer
/// makes, whatever its checksums say.
#[cold]
fn contradiction(view: &View, context: &ReadContext, key: &[u8]) -> Error {
    let error = Error::corruption("a look-up and a scan of the tables disagree; run verify");
    let mut tables = view.version.runs.iter().filter_map(|run| {
        let index = run.find(&context.order, key);
        run.tables().get(index)
    });
    match tables.next() {
        Some(table) => error.file(name::table(FileNumber(table.record.file))),
        None => error,
    }
}

/// Folds what `key` has, source by source. Only those whose filter passes the key are looked into: a
/// merge of cursors over everything would look into all of them, for entries of other keys.
fn get_merged(
    view: &View,
    context: &ReadContext,
    key: &[u8],
    seq: SeqNo,
    out: &mut Vec<u8>,
) -> Result<bool> {
    let mut fold = Fold::default();
    let hash = context.order.hash(key);
    let mut ended = false;
    for part in std::iter::once(&view.mutable).chain(&view.sealed) {
        if !ended && part.get(key, hash, seq)?.is_some() {
            ended = gather(
                Source::Mem(part.cursor()),
                view,
                context,
                key,
                seq,
                &mut fold,
            )?;
        }
    }
    for run in &view.version.runs {
        if ended {
            break;
        }
        let Some(table) = run.tables().get(run.find(&context.order, key)) else {
            continue;
        };
        if table.table()?.may_hold(hash)? {
            let cursor = RunCursor::new(run.clone(), context.order.clone());
            let source = Source::Run(Box::new(cursor));
            ended = gather(source, view, context, key, seq, &mut fold)?;
        }
    }
    if !fold.has_operands() {
        return Err(contradiction(view, context, key));
    }
    fold.reverse();
    *out = fold.finish(context, key)?;
    Ok(true)
}

/// Adds the versions of `key` that `source` has to `fold`, down to one that is no operand; whether
/// there was one.
fn gather(
    mut source: Source,
    view: &View,
    context: &ReadContext,
    key: &[u8],
    seq: SeqNo,
    fold: &mut Fold,
) -> Result<bool> {
    source.seek(key, seq)?;
    while source.valid() && context.order.compare(source.key(), key).is_eq() {
        source.load_value()?;
        match source.kind() {
            Kind::Merge => fold.push_operand(source.value()),
            Kind::Delete => return Ok(true),
            kind @ (Kind::Put | Kind::Pointer) => {
                let mut base = Vec::new();
                let (order, values) = (&context.order, &view.version.values);
                resolve(order, values, key, kind, source.value(), &mut base)?;
                fold.set_base(Some(base));
                return Ok(true);
            }
        }
        source.next()?;
    }
    Ok(false)
}
