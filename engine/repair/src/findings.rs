//! Collects the report while the sources are read.

use std::collections::BTreeSet;

use cairndb_base::{Error, Order};

use crate::keyspaces::{Fate, Keyspaces, number_of};
use crate::report::{Doubt, DoubtKind, HarmlessDamage, KeySpan, Loss, RepairReport};

/// Number of losses up to which each is listed on its own.
const LOSSES_MAX: usize = 10_000;
/// Number of losses among which one of the same page is sought.
const RECENT_LOSSES: usize = 16;
/// Number of doubtful spans of one kind up to which each is listed on its own.
const DOUBTS_MAX: usize = 1_000;
/// Number of harmless damages that are listed.
const HARMLESS_MAX: usize = 1_000;

/// The report under construction.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) report: RepairReport,
    /// Numbers of the keyspaces without a name of which there are entries.
    pub(super) met: BTreeSet<u32>,
    /// Number of keys written since the last doubtful one.
    since_doubt: u64,
}

impl Findings {
    /// Records the loss of single keys. Those of one page are joined.
    pub(super) fn lose_key(&mut self, loss: Loss) {
        let recent = self.report.lost.iter_mut().rev().take(RECENT_LOSSES);
        let mut same = recent.filter(|last| {
            let same_place = last.file == loss.file && last.offset == loss.offset;
            same_place
                && last.keys.section == loss.keys.section
                && last.bytes == 0
                && last.reason == loss.reason
        });
        match same.next() {
            Some(last) => last.keys.last = loss.keys.last,
            None => self.lose(loss),
        }
    }

    /// Records the loss of records of a log, which may have held any key.
    pub(super) fn lose_records(&mut self, file: &str, offset: u64, bytes: u64, reason: &str) {
        self.lose(Loss {
            file: file.to_owned(),
            offset,
            bytes,
            keys: KeySpan::all(),
            older: true,
            reason: format!("log records are damaged ({reason})"),
        });
    }

    /// Records a loss. Neighbours in one file are joined once there are many losses.
    pub(super) fn lose(&mut self, loss: Loss) {
        let many = self.report.lost.len() >= LOSSES_MAX;
        let last = self.report.lost.last_mut();
        if many
            && let Some(last) = last
            && last.file == loss.file
            && last.keys.section == loss.keys.section
        {
            let end = loss.offset.saturating_add(loss.bytes);
            last.bytes = end.saturating_sub(last.offset).max(last.bytes);
            last.keys.last = loss.keys.last;
            last.older |= loss.older;
            return;
        }
        self.report.lost.push(loss);
    }

    /// Records damage that lost nothing.
    pub(super) fn harmless(&mut self, error: &Error) {
        let file = error.file_name().unwrap_or_default().to_owned();
        self.note(file, error.file_offset().unwrap_or(0), error.message());
    }

    /// Records damage that lost nothing.
    pub(super) fn note(&mut self, file: String, offset: u64, reason: &str) {
        if self.report.harmless.len() < HARMLESS_MAX {
            self.report.harmless.push(HarmlessDamage {
                file,
                offset,
                reason: reason.to_owned(),
            });
        }
    }

    /// Records keys about which something cannot be determined.
    pub(super) fn doubt(&mut self, kind: DoubtKind, keys: KeySpan, reason: impl Into<String>) {
        self.report.doubts.push(Doubt {
            kind,
            keys,
            reason: reason.into(),
        });
    }

    /// Records that the order of the versions of `key` is not known. Keys come in order; the spans
    /// of neighbours are joined.
    pub(super) fn doubt_order(&mut self, section: u8, key: &[u8], reason: &str) {
        const GAP_MAX: u64 = 16;
        let spans = &mut self.report.doubts;
        let many = spans.len() >= DOUBTS_MAX;
        let joined = spans
            .last_mut()
            .filter(|last| last.kind == DoubtKind::Order && last.keys.section == section)
            .filter(|_| many || self.since_doubt < GAP_MAX);
        if let Some(last) = joined {
            last.keys.last = Some(key.to_vec());
        } else {
            self.doubt(DoubtKind::Order, KeySpan::stored(section, key), reason);
        }
        self.since_doubt = 0;
    }

    /// Returns whether an entry is kept, according to its keyspace. `file` holds it.
    pub(super) fn admits(
        &mut self,
        keyspaces: &Keyspaces,
        section: u8,
        key: &[u8],
        file: &str,
    ) -> bool {
        if section == 0 {
            return true;
        }
        let number = number_of(key);
        let fate = keyspaces.fate(number);
        if fate != Fate::Dropped && !keyspaces.is_named(number) {
            self.met.insert(number);
        }
        if fate == Fate::Lost {
            self.lose_key(Loss {
                file: file.to_owned(),
                offset: 0,
                bytes: 0,
                keys: Keyspaces::whole(number),
                older: false,
                reason: "no readable manifest names the keyspace and its comparator".to_owned(),
            });
        }
        fate == Fate::Kept
    }

    /// Finishes the report: its spans are then of the users' keys.
    pub(super) fn finish(&mut self, keyspaces: &Keyspaces) {
        let met = std::mem::take(&mut self.met);
        for number in met.iter().filter(|it| keyspaces.fate(**it) == Fate::Kept) {
            let reason = "no readable manifest names the keyspace: its name is invented, its \
                          options are lost, and it may have been dropped";
            self.doubt(DoubtKind::Manifest, Keyspaces::whole(*number), reason);
        }
        let report = &mut self.report;
        let mut dead = Vec::new();
        for mut loss in std::mem::take(&mut report.lost) {
            if let Some(keys) = keyspaces.named(&loss.keys, &met) {
                loss.keys = keys;
                report.lost.push(loss);
            } else {
                dead.push(loss);
            }
        }
        let doubts = report.doubts.iter_mut().map(|doubt| &mut doubt.keys);
        let unnamed = report.unnamed.iter_mut().map(|file| &mut file.keys);
        for keys in doubts.chain(unnamed) {
            *keys = keyspaces.named(keys, &met).unwrap_or_default();
        }
        for loss in dead {
            let reason = "only entries of dropped keyspaces are lost";
            self.note(loss.file, loss.offset, reason);
        }
    }

    /// Records that a key was handled whose versions have a known order.
    pub(super) fn settle_key(&mut self) {
        self.since_doubt = self.since_doubt.saturating_add(1);
    }
}

/// Extends `span`, of keys of `section` in any order, to include `key`.
pub(super) fn include(span: &mut Option<KeySpan>, section: u8, key: &[u8], order: &Order) {
    let Some(known) = span else {
        *span = Some(KeySpan::stored(section, key));
        return;
    };
    let before = |a: Option<&[u8]>| a.is_some_and(|a| order.compare(key, a).is_lt());
    if before(known.first.as_deref()) {
        known.first = Some(key.to_vec());
    }
    let after = known.last.as_deref();
    if after.is_some_and(|last| order.compare(key, last).is_gt()) {
        known.last = Some(key.to_vec());
    }
}
