//! Gathers the versions of one key from its newest operand down to the base value.
//!
//! Versions are looked up source by source, starting with the newest, and one by one in each
//! source, which rarely has more than one or two. Only a source with many gets a cursor. Rejected:
//! cursors over all sources with the key, because reads were slower while operands were being
//! written.

use cairndb_base::{Kind, Result, SeqNo};

use crate::read::fold::Fold;
use crate::read::presence::Presence;
use crate::read::source::hidden::deleted_before;
use crate::read::source::{MergeSource, RunCursor};
use crate::read::view::View;
use crate::state::context::ReadContext;

/// Maximum number of versions that are looked up one by one in a source. Each costs a search; with
/// a cursor the first version costs three to eight searches, and further ones almost nothing.
const VERSIONS_ASKED: usize = 4;

/// Size above which a buffer is freed before its operands are folded.
const SCRATCH_BYTES_KEPT: usize = 64 << 10;

/// Position of a key's newest visible version, which is an operand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand {
    /// Index over the mutable memtable, the immutable memtables and the runs.
    pub(crate) source: usize,
    pub(crate) seq: SeqNo,
    /// Sequence number of the newest deletion of the key's range, which hides older versions.
    pub(crate) since: SeqNo,
    /// The source may have older versions.
    pub(crate) goes_on: bool,
}

/// A version found in one source.
#[derive(Clone, Copy, Debug)]
struct VersionIn {
    kind: Kind,
    seq: SeqNo,
    /// The source may have older versions.
    goes_on: bool,
    /// Its range was deleted since.
    deleted: bool,
}

/// A key to be folded, with its view.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyVersions<'a> {
    view: &'a View,
    context: &'a ReadContext,
    key: &'a [u8],
    hash: u64,
    since: SeqNo,
}

impl<'a> KeyVersions<'a> {
    pub(crate) fn new(view: &'a View, context: &'a ReadContext, key: &'a [u8]) -> KeyVersions<'a> {
        KeyVersions {
            view,
            context,
            key,
            hash: context.order.hash(key),
            since: 0,
        }
    }

    /// Replaces `out`, which holds the operand `first`, with the folded value of the key's versions
    /// up to `seq`.
    pub(crate) fn folded(self, seq: SeqNo, first: Operand, out: &mut Vec<u8>) -> Result<Presence> {
        self.view.note_folded();
        let mut fold = Fold::take();
        let over = fold.push_operand(&self.context.fold_limits, out);
        let folded = if over {
            Ok(())
        } else {
            self.gather_from(seq, first, &mut fold, out)
        };
        if out.capacity() > SCRATCH_BYTES_KEPT {
            // Freed so that the longest operand is not in memory twice during the fold.
            *out = Vec::new();
        }
        let folded = folded.and_then(|()| fold.finish(self.context, self.key));
        fold.keep();
        *out = folded?;
        Ok(Presence::THERE)
    }

    /// Adds the versions older than `first` to `fold`, and puts them in the operator's order.
    fn gather_from(
        mut self,
        seq: SeqNo,
        first: Operand,
        fold: &mut Fold,
        scratch: &mut Vec<u8>,
    ) -> Result<()> {
        self.since = first.since;
        let mut older = first.seq.checked_sub(1).filter(|_| first.goes_on);
        self.prefetch(first.source);
        for source in first.source..self.view.memtable_count() + self.view.version.runs.len() {
            if self.gather(source, older, fold, scratch)? {
                break;
            }
            older = Some(seq);
        }
        fold.reverse();
        Ok(())
    }

    /// Prefetches the data that lookups in the runs after source number `from` read. The base value
    /// may be in the last run, and any run may have more operands.
    fn prefetch(self, from: usize) {
        let first = (from + 1).saturating_sub(self.view.memtable_count());
        let runs = self.view.version.runs.get(first..).unwrap_or_default();
        let order = &self.context.order;
        let tables = || {
            runs.iter()
                .filter_map(|run| run.tables().get(run.find(order, self.key)))
        };
        for table in tables() {
            table.prefetch_filter(self.hash);
        }
        for table in tables() {
            table.prefetch_page(self.key, self.hash);
        }
    }

    /// Adds the versions up to `seq` in one source to `fold`, down to the first that ends the fold,
    /// and returns whether there was one.
    fn gather(
        self,
        source: usize,
        mut seq: Option<SeqNo>,
        fold: &mut Fold,
        scratch: &mut Vec<u8>,
    ) -> Result<bool> {
        for _ in 0..VERSIONS_ASKED {
            let Some(limit) = seq else {
                return Ok(false);
            };
            let Some(version) = self.version(source, limit, scratch)? else {
                return Ok(false);
            };
            if version.deleted || self.add(version.kind, scratch, fold)? {
                return Ok(true);
            }
            seq = version.seq.checked_sub(1).filter(|_| version.goes_on);
        }
        match seq {
            Some(limit) => self.gather_rest(self.cursor(source), limit, fold),
            None => Ok(false),
        }
    }

    /// Like `gather`, but with a cursor.
    fn gather_rest(self, mut source: MergeSource, seq: SeqNo, fold: &mut Fold) -> Result<bool> {
        source.seek(self.key, seq)?;
        let order = &self.context.order;
        while source.valid() && order.compare(source.key(), self.key).is_eq() {
            if deleted_before(&source, self.since) {
                return Ok(true);
            }
            source.load_value()?;
            if self.add(source.kind(), source.value(), fold)? {
                return Ok(true);
            }
            source.next()?;
        }
        Ok(false)
    }

    /// Finds the newest version up to `seq` in one source, and writes its stored value to `out`.
    fn version(self, source: usize, seq: SeqNo, out: &mut Vec<u8>) -> Result<Option<VersionIn>> {
        out.clear();
        let (key, hash) = (self.key, self.hash);
        let Some(run) = source.checked_sub(self.view.memtable_count()) else {
            let entry = self.view.memtable(source).get(key, hash, seq)?;
            return Ok(entry.map(|entry| {
                out.extend_from_slice(entry.value);
                VersionIn {
                    kind: entry.kind,
                    seq: entry.seq,
                    goes_on: true,
                    deleted: entry.seq < self.since,
                }
            }));
        };
        let run = &self.view.version.runs[run];
        let Some(table) = run.tables().get(run.find(&self.context.order, key)) else {
            return Ok(None);
        };
        let found = table.table()?.get(key, hash, seq.min(table.limit()), out)?;
        Ok(found.map(|found| VersionIn {
            kind: found.kind(),
            seq: found.seq(),
            goes_on: found.goes_on(),
            deleted: table.deleted_before(found.seq(), self.since),
        }))
    }

    /// Returns an unpositioned cursor over one source.
    fn cursor(self, source: usize) -> MergeSource {
        if let Some(run) = source.checked_sub(self.view.memtable_count()) {
            let run = self.view.version.runs[run].clone();
            let cursor = RunCursor::new(run, self.context.order.clone());
            return MergeSource::Run(Box::new(cursor));
        }
        MergeSource::Mem(self.view.memtable(source).cursor())
    }

    /// Adds a version to `fold`. Returns whether older versions are irrelevant because this one is
    /// not an operand or there are too many.
    fn add(self, kind: Kind, stored: &[u8], fold: &mut Fold) -> Result<bool> {
        if kind == Kind::Merge {
            return Ok(fold.push_operand(&self.context.fold_limits, stored));
        }
        let (order, values) = (&self.context.order, &self.view.version.values);
        fold.set_base(order, values, self.key, kind, stored)?;
        Ok(true)
    }
}
