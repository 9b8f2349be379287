//! Versions of one key with merge operands, gathered by a flush or compaction.
//!
//! Invariants:
//! 1. `versions` are operands of one stripe, newest first.
//! 2. In `bytes`, the values of `kept` precede those of `versions`, each in order.

use std::mem;
use std::ops::Range;

use cairndb_base::{Kind, SeqNo};

use crate::read::fold::append;

/// Number of operands of one key and stripe that are gathered before they are joined.
pub(super) const OPERANDS_GATHERED: usize = 1024;

#[derive(Clone, Debug)]
pub(super) struct Version {
    /// Key as it was written, if equal keys may differ in bytes.
    pub(super) key: Option<Vec<u8>>,
    pub(super) seq: SeqNo,
    pub(super) kind: Kind,
    /// Position of the value in [`Gathered::bytes`].
    pub(super) value: Range<usize>,
}

impl Version {
    /// Returns the number of bytes of memory that the version takes.
    pub(super) fn weight(&self) -> usize {
        size_of::<Version>() + self.key.as_ref().map_or(0, Vec::len) + self.value.len()
    }
}

/// The versions of a key with operands, including those to be written. Reused for the next key,
/// because allocations for each version took a considerable part of a compaction of operands.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) versions: Vec<Version>,
    pub(super) kept: Vec<Version>,
    pub(super) bytes: Vec<u8>,
    /// Base value read from a value file.
    pub(super) base: Vec<u8>,
    /// Weight of `versions`.
    pub(super) weight: usize,
    pub(super) kept_weight: usize,
    /// Stripe of `versions`.
    pub(super) stripe: usize,
    /// Stripe whose older versions are irrelevant.
    pub(super) settled: Option<usize>,
    /// Number of `versions`, counted from the last, for which joining has not been tried yet.
    pub(super) alike: usize,
}

impl Gathered {
    /// Size above which a buffer is freed after its key.
    const BYTES_KEPT: usize = 64 << 10;

    pub(super) fn clear(&mut self) {
        for versions in [&mut self.versions, &mut self.kept] {
            versions.clear();
            versions.shrink_to(OPERANDS_GATHERED);
        }
        for bytes in [&mut self.bytes, &mut self.base] {
            bytes.clear();
            bytes.shrink_to(Self::BYTES_KEPT);
        }
        (self.weight, self.kept_weight) = (0, 0);
        (self.alike, self.settled) = (0, None);
    }

    pub(super) fn value(&self, version: &Version) -> &[u8] {
        &self.bytes[version.value.clone()]
    }

    /// Appends a value to `bytes`, and returns its position.
    pub(super) fn put(&mut self, value: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        append(&mut self.bytes, value);
        start..self.bytes.len()
    }

    pub(super) fn push(&mut self, version: Version) {
        self.weight += version.weight();
        self.versions.push(version);
        self.alike += 1;
    }

    /// Removes the versions from `first` on, and their values.
    pub(super) fn pop(&mut self, first: usize) {
        let popped = &self.versions[first..];
        self.weight = match first {
            0 => 0,
            _ => self.weight - popped.iter().map(Version::weight).sum::<usize>(),
        };
        let start = popped.first().map(|version| version.value.start);
        self.bytes.truncate(start.unwrap_or(self.bytes.len()));
        self.versions.truncate(first);
    }

    /// Keeps all versions unchanged before the next stripe.
    pub(super) fn keep_all(&mut self) {
        self.kept.append(&mut self.versions);
        self.kept_weight += mem::take(&mut self.weight);
        self.alike = 0;
    }

    /// Keeps the newest versions unchanged, until the others weigh at most `left` or only one is
    /// left.
    pub(super) fn keep_newest(&mut self, left: usize) {
        let mut newest = 0;
        while self.weight > left && newest + 1 < self.versions.len() {
            let weight = self.versions[newest].weight();
            self.weight -= weight;
            self.kept_weight += weight;
            newest += 1;
        }
        self.kept.extend(self.versions.drain(..newest));
        self.alike = self.alike.min(self.versions.len());
    }

    /// Replaces all versions with `value`, which gets the sequence number of the newest.
    pub(super) fn keep_instead(&mut self, kind: Kind, value: Vec<u8>) {
        let Some(newest) = self.versions.first().cloned() else {
            return;
        };
        self.pop(0);
        let value = if self.bytes.is_empty() && value.len() > Self::BYTES_KEPT {
            // The value is not copied, because it may have the maximum length.
            self.bytes = value;
            0..self.bytes.len()
        } else {
            self.put(&value)
        };
        let kept = Version {
            kind,
            value,
            ..newest
        };
        self.kept_weight += kept.weight();
        self.kept.push(kept);
        self.alike = 0;
    }

    /// Removes the first `written` versions of `kept`; the others are tombstones.
    pub(super) fn forget_written(&mut self, written: usize) {
        for version in self.kept.drain(..written) {
            self.kept_weight -= version.weight();
        }
        for tombstone in &mut self.kept {
            debug_assert!(tombstone.value.is_empty(), "a tombstone has no value");
            tombstone.value = 0..0;
        }
        let start = self.versions.first().map(|version| version.value.start);
        let start = start.unwrap_or(self.bytes.len());
        self.bytes.drain(..start);
        for version in &mut self.versions {
            version.value = version.value.start - start..version.value.end - start;
        }
    }
}
