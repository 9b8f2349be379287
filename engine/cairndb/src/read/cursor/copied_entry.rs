//! An entry that a cursor has outside its sources: copied from them, read from a value file, or
//! folded from operands.
//!
//! Going backward, the versions of a key come oldest first, so the newest visible one and the
//! operands above it are known only after all versions have been seen.

use cairndb_base::{Kind, Result, SeqNo};

use super::entry_value::EntryValue;
use super::merged_versions::{MergedVersions, Patience};
use crate::read::fold::Fold;
use crate::read::source::hidden::deleted_before;
use crate::read::view::View;

/// Key and value of an entry, in buffers that the next entry reuses.
#[derive(Debug, Default)]
pub(super) struct CopiedEntry {
    pub(super) key: Vec<u8>,
    /// A key that is not, or not yet, the entry's.
    pub(super) other: Vec<u8>,
    pub(super) value: EntryValue,
    fold: Fold,
}

impl CopiedEntry {
    /// Gathers, going forward, the operands of the key at which `versions` are, and their base.
    /// `versions` move past the key. Versions before a deletion of its range at `since` are not
    /// gathered.
    pub(super) fn gather_forward(
        &mut self,
        versions: &mut MergedVersions,
        view: &View,
        since: SeqNo,
    ) -> Result<()> {
        versions.merger.key().clone_into(&mut self.key);
        self.fold.clear();
        // The first version is taken even if the comparator finds its key unequal to itself.
        loop {
            versions.merger.load_value()?;
            let (kind, stored) = (versions.merger.kind(), versions.merger.value());
            if kind != Kind::Merge {
                let (order, values) = (&view.context().order, &view.version.values);
                self.fold.set_base(order, values, &self.key, kind, stored)?;
                break;
            }
            if self.fold.push_operand(&view.context().fold_limits, stored) {
                break;
            }
            versions.merger.step()?;
            let source = versions.merger.source();
            let deleted = source.is_some_and(|source| deleted_before(source, since));
            if deleted || !versions.is_at(&self.key) {
                break;
            }
        }
        versions.skip_key(&self.key)?;
        self.fold.reverse();
        Ok(())
    }

    /// Reads, going backward, the key at which `versions` are, from its oldest version to the
    /// newest one visible at `seq`. `versions` move past the key.
    ///
    /// Returns the kind of the newest visible version, and the number of steps. The value of a put
    /// and the pointer to a value are in `value`; operands are gathered.
    pub(super) fn gather_backward(
        &mut self,
        versions: &mut MergedVersions,
        view: &View,
        seq: SeqNo,
    ) -> Result<(Option<Kind>, usize)> {
        versions.merger.key().clone_into(&mut self.key);
        self.fold.clear();
        let (mut newest, mut patience) = (None, Patience::default());
        // The first version is taken even if the comparator finds its key unequal to itself.
        loop {
            if patience.ends(&versions.merger) {
                versions.skip_older(seq, &self.key)?;
                if versions.is_at(&self.key) {
                    continue;
                }
                break;
            }
            if versions.merger.seq() <= seq {
                versions.merger.load_value()?;
                let (kind, stored) = (versions.merger.kind(), versions.merger.value());
                if kind == Kind::Merge {
                    if let Some(base) = newest.filter(|_| !self.fold.has_operands()) {
                        let (order, values) = (&view.context().order, &view.version.values);
                        let below = self.value.bytes();
                        self.fold.set_base(order, values, &self.key, base, below)?;
                    }
                    // The limit is checked only at the newest operand, because there may be a value
                    // above the others.
                    self.fold.push_operand(&view.context().fold_limits, stored);
                } else {
                    self.fold.clear();
                    stored.clone_into(self.value.own());
                }
                newest = Some(kind);
                if !view.context().order.can_hash() {
                    // Equal keys may differ in bytes; the newest is returned, as in the other
                    // direction.
                    versions.merger.key().clone_into(&mut self.key);
                }
            }
            versions.merger.step()?;
            if !versions.is_at(&self.key) {
                break;
            }
        }
        Ok((newest, patience.steps()))
    }

    /// Makes the fold of the operands gathered the value.
    pub(super) fn fold(&mut self, view: &View) -> Result<()> {
        *self.value.own() = self.fold.finish(view.context(), &self.key)?;
        Ok(())
    }
}
