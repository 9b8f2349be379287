//! Handling of keys with merge operands in a flush or compaction: operands are folded, joined or
//! kept.
//!
//! The versions of a key arrive newest first, stripe by stripe ([`rules`](crate::jobs::rules)). In
//! a stripe, only the operands down to the first other version, their base, are relevant. They are
//! folded if the base is in the same stripe or cannot exist. They are joined into one if the
//! operator can join them and a stripe holds several.
//!
//! Memory is bounded, however many operands a key has
//! ([`FoldLimits::held`](crate::state::fold_limits::FoldLimits::held)). If a stripe has more, the
//! newest are written unchanged, with their own sequence numbers, and gathering continues, so that
//! there are operands to fold with the base when it is reached. At least one operand is held. Every
//! compaction that reaches the base thus leaves fewer operands, as long as the folded value is
//! short enough.
//!
//! Two alternatives were rejected. Not folding such a key would let its operands accumulate until
//! no read could fold them. Reading the operands several times and folding from the oldest would
//! read a key of gigabytes three times; later jobs do the same work at no extra cost.

use std::collections::BTreeMap;
use std::mem;

use cairndb_base::{Kind, Result};
use cairndb_files::{Output, guarded};
use cairndb_format::table::ValueIn;

use crate::jobs::gathered::{Gathered, OPERANDS_GATHERED, Version};
use crate::jobs::inputs::Inputs;
use crate::jobs::rules::{Progress, Rules, count_dead};
use crate::read::fold::{fold, resolve};

#[cfg(test)]
mod tests;

/// Part of the key's versions that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// Older versions follow.
    Part,
    /// The inputs have no more versions.
    All,
}

impl Rules {
    /// Handles the remaining versions of a key whose next version is an operand, as far as any
    /// reader may see them.
    pub(super) fn fold_key(
        &self,
        inputs: &mut Inputs,
        output: &mut Output<'_>,
        progress: &mut Progress,
    ) -> Result<()> {
        let mut gathered = mem::take(&mut progress.gathered);
        // A newer version of this key may have been kept in the first of these stripes.
        gathered.settled = (progress.kept > 0).then_some(progress.stripe);
        let handled = self
            .gather(inputs, output, progress, &mut gathered)
            .and_then(|()| self.emit(&mut gathered, output, progress, Seen::All));
        gathered.clear();
        progress.gathered = gathered;
        progress.done = true;
        handled
    }

    fn is_at(&self, inputs: &Inputs, key: &[u8]) -> bool {
        inputs.valid() && self.order().compare(inputs.key(), key).is_eq()
    }

    /// Moves past the versions of a key, up to the one that ends it. The versions that are still to
    /// be written are then in `gathered.kept`.
    fn gather(
        &self,
        inputs: &mut Inputs,
        output: &mut Output<'_>,
        progress: &mut Progress,
        gathered: &mut Gathered,
    ) -> Result<()> {
        let (oldest, held) = (self.oldest(), self.context.fold_limits.held(self.bottom));
        // The first version is taken even if the comparator finds its key unequal to itself;
        // otherwise a flush would not end.
        loop {
            let deleted = self.is_deleted(inputs, progress);
            let (seq, kind) = match inputs.kind() {
                // Nothing older is visible, as below a tombstone.
                _ if deleted => (inputs.seq(), Kind::Delete),
                kind => (inputs.seq(), kind),
            };
            let stripe = self.stripe(seq);
            if stripe != gathered.stripe {
                self.end_stripe(&progress.key, gathered, Seen::Part);
                gathered.stripe = stripe;
            }
            if deleted || gathered.settled == Some(stripe) {
                Self::drop_entry(inputs, progress)?;
            }
            if gathered.settled != Some(stripe) {
                let version = Version {
                    key: (!self.order().can_hash()).then(|| inputs.key().to_vec()),
                    seq,
                    kind,
                    value: gathered.put(if deleted { &[] } else { inputs.value()? }),
                };
                if kind == Kind::Merge {
                    gathered.push(version);
                    if gathered.alike == OPERANDS_GATHERED {
                        let first = gathered.versions.len() - OPERANDS_GATHERED;
                        self.join_from(&progress.key, gathered, first);
                        gathered.alike = 1;
                    }
                } else {
                    self.settle(&progress.key, gathered, version, &mut progress.dead);
                }
                if gathered.weight + gathered.kept_weight > held {
                    self.relieve(output, progress, gathered)?;
                }
            }
            inputs.step()?;
            if kind != Kind::Merge && seq <= oldest {
                return Ok(());
            }
            if !self.is_at(inputs, &progress.key) {
                break;
            }
            progress.entries_in += 1;
        }
        self.end_stripe(&progress.key, gathered, Seen::All);
        Ok(())
    }

    /// Joins the operands from `first` on, if the operator can.
    fn join_from(&self, key: &[u8], gathered: &mut Gathered, first: usize) {
        if let Some(joined) = self.join(key, gathered, first) {
            let newest = gathered.versions[first].clone();
            gathered.pop(first);
            let value = gathered.put(&joined);
            gathered.push(Version { value, ..newest });
        }
    }

    /// Folds, joins or keeps the versions of a stripe whose oldest is an operand.
    fn end_stripe(&self, key: &[u8], gathered: &mut Gathered, seen: Seen) {
        if gathered.versions.is_empty() {
            return;
        }
        let no_base = seen == Seen::All && self.bottom;
        if no_base && let Some(folded) = self.fold(key, gathered, None) {
            gathered.keep_instead(Kind::Put, folded);
        } else if gathered.versions.len() > 1
            && let Some(joined) = self.join(key, gathered, 0)
        {
            gathered.keep_instead(Kind::Merge, joined);
        } else {
            gathered.keep_all();
        }
    }

    /// Folds or keeps the versions of a stripe with their `base`, which is not an operand. Its
    /// value is the last in `gathered.bytes`.
    fn settle(
        &self,
        key: &[u8],
        gathered: &mut Gathered,
        base: Version,
        dead: &mut BTreeMap<u64, u64>,
    ) {
        gathered.settled = Some(gathered.stripe);
        if !gathered.versions.is_empty()
            && let Some(folded) = self.fold(key, gathered, Some(&base))
        {
            if base.kind == Kind::Pointer {
                count_dead(dead, gathered.value(&base));
            }
            gathered.keep_instead(Kind::Put, folded);
            return;
        }
        gathered.keep_all();
        gathered.kept_weight += base.weight();
        gathered.kept.push(base);
    }

    /// Writes the kept versions, and the newest operands if they cannot be joined, until the others
    /// take half of the allowed memory or only the oldest is left.
    #[cold]
    fn relieve(
        &self,
        output: &mut Output<'_>,
        progress: &mut Progress,
        gathered: &mut Gathered,
    ) -> Result<()> {
        if gathered.versions.len() > 1 {
            self.join_from(&progress.key, gathered, 0);
        }
        gathered.keep_newest(self.context.fold_limits.held(self.bottom) / 2);
        self.emit(gathered, output, progress, Seen::Part)
    }

    /// Writes the kept versions. Trailing tombstones are deferred until an older version is kept:
    /// if no older run can hold the key, they have nothing to hide.
    fn emit(
        &self,
        gathered: &mut Gathered,
        output: &mut Output<'_>,
        progress: &mut Progress,
        seen: Seen,
    ) -> Result<()> {
        let mut written = gathered.kept.len();
        if seen == Seen::Part || self.bottom {
            let last = gathered.kept.iter().rev();
            written -= last.take_while(|last| last.kind == Kind::Delete).count();
        }
        let kept = &gathered.kept[..written];
        let oldest = self.oldest();
        // An operand keeps its sequence number: older operands may follow it when runs are
        // compacted.
        let ends = |version: &Version| version.kind != Kind::Merge && version.seq <= oldest;
        let alone = progress.kept == 0 && matches!(kept, [only] if ends(only));
        for version in kept {
            let first = progress.kept == 0;
            let seq = if alone { 0 } else { version.seq };
            output.add(
                first,
                version.key.as_ref().unwrap_or(&progress.key),
                seq,
                version.kind,
                &ValueIn::Raw(gathered.value(version)),
            )?;
            progress.kept += 1;
        }
        gathered.forget_written(written);
        Ok(())
    }

    /// Returns the operand that has the same effect as the operands from `first` on.
    fn join(&self, key: &[u8], gathered: &Gathered, first: usize) -> Option<Vec<u8>> {
        let operator = self.context.merge_operator.as_ref()?;
        if !self.may_fold(key, gathered.stripe) {
            return None;
        }
        let values = gathered.versions[first..].iter().rev();
        let values: Vec<&[u8]> = values.map(|operand| gathered.value(operand)).collect();
        let joined = guarded(|| Ok(operator.combine(key, &values))).ok()?;
        joined.filter(|joined| joined.len() <= self.context.fold_limits.value)
    }

    /// Folds all operands over their base. Returns `None` if there is no operator, if it refuses or
    /// panics, if the base cannot be read, or if the result is too long. Then the operands are
    /// kept, and reads continue to fold them.
    fn fold<'g>(
        &self,
        key: &[u8],
        gathered: &'g mut Gathered,
        base: Option<&Version>,
    ) -> Option<Vec<u8>> {
        self.context.merge_operator.as_ref()?;
        if !self.may_fold(key, gathered.stripe) {
            return None;
        }
        let Gathered {
            versions,
            bytes,
            base: read,
            ..
        } = gathered;
        let base = match base.filter(|base| base.kind != Kind::Delete) {
            Some(base) if base.kind == Kind::Pointer => {
                let (order, values) = (self.order(), &self.values);
                let stored = &bytes[base.value.clone()];
                // The error is returned to readers of the key; the job continues with all other
                // keys.
                resolve(order, values, key, base.kind, stored, read).ok()?;
                Some(read.as_slice())
            }
            Some(base) => Some(&bytes[base.value.clone()]),
            None => None,
        };
        let put = |operands: &mut [&'g [u8]]| {
            for (operand, version) in operands.iter_mut().zip(versions.iter().rev()) {
                *operand = &bytes[version.value.clone()];
            }
        };
        guarded(|| fold(&self.context, key, base, versions.len(), put)).ok()
    }
}
