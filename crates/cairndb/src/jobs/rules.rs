//! What a flush or merge keeps of each key: the newest version visible to every open snapshot and
//! to readers of now, nothing else.
//!
//! Versions of a key arrive newest first. Snapshots cut the sequence numbers into stripes; of each
//! stripe only the newest version can ever be seen. A version at or below the oldest snapshot ends
//! its key: whatever is older is invisible for ever. When such a version is the only one kept, its
//! sequence number is written as 0, which every reader sees and which costs no byte. Where no older
//! run can hold the key (`bottom`), a final tombstone has nothing left to hide and is dropped.
//! Merge operands are folded where their base is in the same stripe or cannot exist, and joined
//! into one where the operator knows how and a stripe holds several.

use std::collections::BTreeMap;
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use cairndb_base::limits::VALUE_BYTES_MAX;
use cairndb_base::{Kind, Order, Result, SeqNo};
use cairndb_format::table::ValueIn;
use cairndb_format::value_file::Pointer;

use crate::jobs::inputs::{Change, Inputs};
use crate::jobs::output::Output;
use crate::read::fold::Fold;
use crate::state::context::ReadContext;
use crate::state::guard::guarded;
use crate::state::version::Values;

/// Operands of one key and stripe that are gathered before they are joined: a key with millions of
/// them must not be held in memory as a whole.
const OPERANDS_GATHERED: usize = 1024;

/// What keeping and dropping depends on.
#[derive(Debug)]
pub(crate) struct Rules {
    /// Sequence numbers somebody may read at, ascending, the published one included.
    pub(crate) snapshots: Vec<SeqNo>,
    /// No older run holds any of these keys.
    pub(crate) bottom: bool,
    pub(crate) context: ReadContext,
    pub(crate) values: Arc<Values>,
    /// Keys from this one on are another's.
    pub(crate) end: Option<Vec<u8>>,
}

/// The streaming state of [`Rules::run`], kept between steps.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    key: Vec<u8>,
    has_key: bool,
    /// The key is settled: older versions are dropped.
    done: bool,
    kept: usize,
    stripe: usize,
    /// Stored bytes of dropped pointers, by value file.
    pub(crate) dead: BTreeMap<u64, u64>,
    pub(crate) entries_in: u64,
    gathered: Gathered,
}

impl Progress {
    /// Notes that what everybody sees of `key` was dealt with: its older versions are dropped.
    pub(crate) fn settle(&mut self, key: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(key);
        self.has_key = true;
        self.done = true;
        self.kept = 1;
    }

    /// Notes that no entry to come has the last key.
    pub(crate) fn forget(&mut self) {
        self.has_key = false;
    }
}

#[derive(Clone, Debug)]
struct Version {
    /// Its key as it was written, where equal keys may differ.
    key: Option<Vec<u8>>,
    seq: SeqNo,
    kind: Kind,
    /// Where its value stands in [`Gathered::bytes`].
    value: Range<usize>,
}

/// The versions of a key with operands, gathered and what is left of them. Used again for the next key: vectors of each
/// version's own were a quarter of a merge of operands.
#[derive(Debug, Default)]
struct Gathered {
    versions: Vec<Version>,
    kept: Vec<Version>,
    bytes: Vec<u8>,
    fold: Fold,
}

impl Gathered {
    /// Values above this size are given back after their key.
    const BYTES_KEPT: usize = 64 << 10;

    fn clear(&mut self) {
        for versions in [&mut self.versions, &mut self.kept] {
            versions.clear();
            versions.shrink_to(OPERANDS_GATHERED);
        }
        self.bytes.clear();
        self.bytes.shrink_to(Self::BYTES_KEPT);
        self.fold.clear();
    }

    fn value(&self, version: &Version) -> &[u8] {
        &self.bytes[version.value.clone()]
    }

    /// Counts those of `versions` that are pointers as dropped.
    fn count_dead(&self, versions: Range<usize>, dead: &mut BTreeMap<u64, u64>) {
        let versions = self.versions[versions].iter();
        for version in versions.filter(|version| version.kind == Kind::Pointer) {
            count_dead(dead, self.value(version));
        }
    }

    /// Puts `version`, whose value stands behind all others, in the place of the versions from `first` on.
    fn replace_last(&mut self, first: usize, mut version: Version) {
        let start = self.versions[first].value.start;
        let end = start + version.value.len();
        assert_eq!(version.value.end, self.bytes.len(), "it was put last");
        self.bytes.copy_within(version.value, start);
        self.bytes.truncate(end);
        version.value = start..end;
        self.versions.truncate(first);
        self.versions.push(version);
    }

    /// Puts a value behind the others.
    fn put(&mut self, value: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(value);
        start..self.bytes.len()
    }
}

impl Rules {
    fn stripe(&self, seq: SeqNo) -> usize {
        self.snapshots.partition_point(|snapshot| *snapshot < seq)
    }

    /// What is as old as this everybody sees.
    #[inline]
    pub(super) fn oldest(&self) -> SeqNo {
        self.snapshots.first().copied().unwrap_or(SeqNo::MAX)
    }

    fn order(&self) -> &Order {
        &self.context.order
    }

    #[inline]
    pub(super) fn is_at_end(&self, inputs: &Inputs) -> bool {
        let end = self.end.as_ref();
        end.is_some_and(|end| self.order().compare(inputs.key(), end).is_ge())
    }

    /// Moves up to `entries_max` entries from `inputs` to `output`; whether any are left.
    pub(crate) fn run(
        &self,
        inputs: &mut Inputs,
        output: &mut Output<'_>,
        progress: &mut Progress,
        entries_max: u64,
    ) -> Result<bool> {
        let oldest = self.oldest();
        let stop = progress.entries_in.saturating_add(entries_max);
        while inputs.valid() && progress.entries_in < stop {
            let new_key = !progress.has_key
                || match inputs.change() {
                    Change::None => false,
                    Change::Sure => true,
                    Change::Unknown => self.order().compare(inputs.key(), &progress.key).is_ne(),
                };
            if new_key && self.is_at_end(inputs) {
                return Ok(false);
            }
            if new_key && !inputs.has_hiders() && self.copy_plain(inputs, output, progress, stop)? {
                continue;
            }
            progress.entries_in += 1;
            if new_key {
                progress.key.clear();
                progress.key.extend_from_slice(inputs.key());
                progress.has_key = true;
                progress.done = false;
                progress.kept = 0;
            } else if progress.done {
                if !inputs.only_hides() {
                    Self::drop_entry(inputs, progress)?;
                }
                inputs.step()?;
                continue;
            } else if !self.order().can_hash() {
                // Equal keys may differ, and a snapshot sees them as they were written.
                progress.key.clear();
                progress.key.extend_from_slice(inputs.key());
            }
            if inputs.only_hides() {
                // An operand hides nothing, nor does what a snapshot is older than.
                progress.done = inputs.kind() != Kind::Merge && inputs.seq() <= oldest;
                inputs.step()?;
                continue;
            }
            if inputs.kind() == Kind::Merge {
                self.merge_group(inputs, output, progress)?;
                continue;
            }
            self.one(inputs, output, progress, oldest)?;
            inputs.step()?;
        }
        Ok(inputs.valid())
    }

    /// Keeps or drops the current version, which is no operand.
    #[inline]
    fn one(
        &self,
        inputs: &mut Inputs,
        output: &mut Output<'_>,
        progress: &mut Progress,
        oldest: SeqNo,
    ) -> Result<()> {
        let (seq, kind) = (inputs.seq(), inputs.kind());
        let first = progress.kept == 0;
        if kind == Kind::Pointer {
            progress.entries_in += output.take_weight();
        }
        if seq <= oldest {
            progress.done = true;
            if kind == Kind::Delete && self.bottom {
                return Ok(());
            }
            let seq = if first { 0 } else { seq };
            return Self::keep(inputs, output, progress, seq, kind);
        }
        let stripe = self.stripe(seq);
        if !first && stripe == progress.stripe {
            return Self::drop_entry(inputs, progress);
        }
        progress.stripe = stripe;
        Self::keep(inputs, output, progress, seq, kind)
    }

    /// Writes the current version.
    #[inline]
    fn keep(
        inputs: &mut Inputs,
        output: &mut Output<'_>,
        progress: &mut Progress,
        seq: SeqNo,
        kind: Kind,
    ) -> Result<()> {
        let first = progress.kept == 0;
        progress.kept += 1;
        // By reference, where it was put: a copy read whole right after its parts were stored waits for
        // every store before them.
        match &inputs.entry() {
            Ok(entry) => output.add(first, &progress.key, seq, kind, &entry.value),
            Err(error) => Err(error.clone()),
        }
    }

    fn drop_entry(inputs: &mut Inputs, progress: &mut Progress) -> Result<()> {
        if inputs.kind() == Kind::Pointer {
            count_dead(&mut progress.dead, inputs.value()?);
        }
        Ok(())
    }

    /// Takes every remaining version of a key whose next one is an operand.
    fn merge_group(
        &self,
        inputs: &mut Inputs,
        output: &mut Output<'_>,
        progress: &mut Progress,
    ) -> Result<()> {
        let mut gathered = mem::take(&mut progress.gathered);
        let done = self
            .gather(inputs, progress, &mut gathered)
            .and_then(|()| self.emit_group(&mut gathered, output, progress));
        gathered.clear();
        progress.gathered = gathered;
        done
    }

    fn is_at(&self, inputs: &Inputs, key: &[u8]) -> bool {
        inputs.valid() && self.order().compare(inputs.key(), key).is_eq()
    }

    /// Steps over the versions of a key; what is left of them is in `gathered.kept`.
    fn gather(
        &self,
        inputs: &mut Inputs,
        progress: &mut Progress,
        gathered: &mut Gathered,
    ) -> Result<()> {
        // The operands at the end of `versions` that are of one stripe.
        let mut alike = 0;
        // The first is taken whatever the order says of it and itself: a flush never ended.
        loop {
            let (seq, kind) = (inputs.seq(), inputs.kind());
            let version = Version {
                key: (!self.order().can_hash()).then(|| inputs.key().to_vec()),
                seq,
                kind,
                value: gathered.put(inputs.value()?),
            };
            gathered.versions.push(version);
            alike = match gathered.versions.as_slice() {
                [.., before, last] if self.belong_together(before, last) => alike + 1,
                _ => 1,
            };
            if alike == OPERANDS_GATHERED {
                let operands = gathered.versions.len() - alike..gathered.versions.len();
                if let Some(joined) = self.join(&progress.key, gathered, operands.clone()) {
                    gathered.replace_last(operands.start, joined);
                }
                alike = 1;
            }
            inputs.step()?;
            if !self.is_at(inputs, &progress.key) {
                break;
            }
            progress.entries_in += 1;
        }
        self.fold_stripes(progress, gathered);
        Ok(())
    }

    /// Folds what was gathered, stripe by stripe.
    fn fold_stripes(&self, progress: &mut Progress, gathered: &mut Gathered) {
        // A newer version of this key may already stand in the first of these stripes.
        let mut taken = (progress.kept > 0).then_some(progress.stripe);
        let mut first = 0;
        while let Some(version) = gathered.versions.get(first) {
            let stripe = self.stripe(version.seq);
            let rest = &gathered.versions[first..];
            let alike = rest
                .iter()
                .take_while(|version| self.stripe(version.seq) == stripe)
                .count();
            let group = first..first + alike;
            first = group.end;
            if taken.take() == Some(stripe) {
                gathered.count_dead(group, &mut progress.dead);
                continue;
            }
            let last_stripe = first == gathered.versions.len();
            self.fold_stripe(
                &progress.key,
                gathered,
                group,
                last_stripe,
                &mut progress.dead,
            );
        }
    }

    /// Writes what is left of a key with operands.
    fn emit_group(
        &self,
        gathered: &mut Gathered,
        output: &mut Output<'_>,
        progress: &mut Progress,
    ) -> Result<()> {
        let kept = &mut gathered.kept;
        while self.bottom
            && kept
                .last()
                .is_some_and(|version| version.kind == Kind::Delete)
        {
            kept.pop();
        }
        let oldest = self.oldest();
        // An operand keeps its number: older ones may follow it when runs are merged.
        let ends = |version: &Version| version.kind != Kind::Merge && version.seq <= oldest;
        let alone = progress.kept == 0 && kept.len() == 1 && ends(&kept[0]);
        for version in &gathered.kept {
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
        progress.done = true;
        Ok(())
    }

    /// Keeps what is left of the versions of one stripe, newest first.
    fn fold_stripe(
        &self,
        key: &[u8],
        gathered: &mut Gathered,
        group: Range<usize>,
        last_stripe: bool,
        dead: &mut BTreeMap<u64, u64>,
    ) {
        let versions = &gathered.versions[group.clone()];
        let operands = versions
            .iter()
            .take_while(|version| version.kind == Kind::Merge)
            .count();
        let operands = group.start..group.start + operands;
        let base = (operands.end < group.end).then_some(operands.end);
        // What is left as it is: the operands and their base.
        let mut left = operands.start..operands.end + usize::from(base.is_some());
        if !operands.is_empty() {
            let no_base = base.is_none() && last_stripe && self.bottom;
            if (base.is_some() || no_base)
                && let Some(folded) = self.fold(key, gathered, operands.clone(), base)
            {
                gathered.kept.push(folded);
                left.end = left.start;
            } else if operands.len() > 1
                && base.is_none()
                && let Some(joined) = self.join(key, gathered, operands)
            {
                gathered.kept.push(joined);
                return;
            }
        }
        gathered.count_dead(left.end..group.end, dead);
        gathered.kept.extend_from_slice(&gathered.versions[left]);
    }

    /// Whether two versions of a key are operands that the same readers see.
    fn belong_together(&self, newer: &Version, older: &Version) -> bool {
        newer.kind == Kind::Merge
            && older.kind == Kind::Merge
            && self.stripe(newer.seq) == self.stripe(older.seq)
    }

    /// The operand that does what `operands` of one stripe do, newest first; in the place of the newest.
    fn join(&self, key: &[u8], gathered: &mut Gathered, operands: Range<usize>) -> Option<Version> {
        let operator = self.context.merge_operator.as_ref()?;
        let versions = &gathered.versions[operands];
        let newest = versions.first()?.clone();
        let values = versions.iter().rev();
        let values: Vec<&[u8]> = values.map(|operand| gathered.value(operand)).collect();
        let joined = guarded(|| Ok(operator.combine(key, &values))).ok()?;
        let joined = joined.filter(|joined| joined.len() <= VALUE_BYTES_MAX)?;
        Some(Version {
            kind: Kind::Merge,
            value: gathered.put(&joined),
            ..newest
        })
    }

    /// The folded value in the place of the newest operand, or `None` when there is no operator, it refuses or panics, the
    /// value below cannot be read, or no table could hold the result: the operands stay, and reads go on folding them.
    fn fold(
        &self,
        key: &[u8],
        gathered: &mut Gathered,
        operands: Range<usize>,
        base: Option<usize>,
    ) -> Option<Version> {
        self.context.merge_operator.as_ref()?;
        let (versions, fold) = (&gathered.versions, &mut gathered.fold);
        fold.clear();
        for operand in &versions[operands.clone()] {
            fold.push_operand(&gathered.bytes[operand.value.clone()]);
        }
        fold.reverse();
        if let Some(base) = base {
            let (base, order, values) = (&versions[base], self.order(), &self.values);
            let stored = &gathered.bytes[base.value.clone()];
            // Who reads the key is told; the job, and with it every other key, goes on.
            fold.set_base(order, values, key, base.kind, stored).ok()?;
        }
        let folded = guarded(|| fold.finish(&self.context, key)).ok()?;
        let newest = versions[operands.start].clone();
        (folded.len() <= VALUE_BYTES_MAX).then(|| Version {
            kind: Kind::Put,
            value: gathered.put(&folded),
            ..newest
        })
    }
}

fn count_dead(dead: &mut BTreeMap<u64, u64>, encoded: &[u8]) {
    if let Ok(pointer) = Pointer::decode(encoded) {
        *dead.entry(pointer.file.0).or_insert(0) += u64::from(pointer.len);
    }
}
