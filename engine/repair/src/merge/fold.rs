//! Decides what each key holds: reads its versions, newest first, up to the one that decides.

use cairndb_base::{Error, ErrorKind, Kind, Order, Result, SeqNo, watch};

use crate::findings::Findings;
use crate::merge::Merge;
use crate::merge::source::MergeSource;
use crate::ranges::Ranges;
use crate::report::{KeySpan, Loss};
use crate::target::{Sink, Versions};
use crate::values::SourceValues;

/// How far the versions of a key have been read.
#[derive(Debug)]
enum KeyState {
    /// No version but operands yet.
    Open,
    /// A value or a tombstone has been read: older versions do not count.
    Decided,
    /// A version cannot be read: the key is lost.
    Lost(Error),
}

/// Sequence numbers of the versions that were taken.
///
/// The age of a source orders versions, but a log that tables already hold is older than they are:
/// without the manifest that says so, only the numbers do. 0 is the number of a version that a
/// compaction has found to be the oldest; it has only its age.
#[derive(Debug, Default)]
struct Taken {
    /// Numbers of the operands, newest first.
    operands: Vec<SeqNo>,
    /// Number of the value or tombstone.
    base: Option<SeqNo>,
}

impl Taken {
    /// Returns where an operand belongs among the others, or `None` if it is one of them, or part
    /// of the value.
    fn place_of_operand(&self, seq: SeqNo) -> Option<usize> {
        let is_hidden = self
            .base
            .is_some_and(|base| seq == 0 || base == 0 || seq <= base);
        let is_same = seq > 0 && self.operands.contains(&seq);
        if is_hidden || is_same {
            return None;
        }
        let newer = self
            .operands
            .iter()
            .take_while(|other| **other > seq || seq == 0);
        Some(newer.count())
    }

    /// Returns whether a value or tombstone is newer than the one that was taken.
    fn replaces_base(&self, seq: SeqNo) -> bool {
        self.base.is_none_or(|base| base > 0 && seq > base)
    }

    /// Takes a value or tombstone. Returns the number of operands that remain: the others are part
    /// of it, or deleted with it.
    fn take_base(&mut self, seq: SeqNo) -> usize {
        self.base = Some(seq);
        let newer = self
            .operands
            .iter()
            .take_while(|other| seq == 0 || **other > seq);
        let count = newer.count();
        self.operands.truncate(count);
        count
    }
}

/// Reads all keys of `merge` and writes them to `sink`.
pub(crate) struct Fold<'a> {
    pub(crate) order: Order,
    /// Section of the keys.
    pub(crate) section: u8,
    /// Its deleted ranges.
    pub(crate) ranges: Ranges,
    /// The large values; LevelDB has none.
    pub(crate) values: Option<SourceValues>,
    pub(crate) findings: &'a mut Findings,
    /// Whether the order of log and tables is not known.
    pub(crate) log_is_guessed: bool,
}

impl Fold<'_> {
    /// # Errors
    /// `FormatTooNew`; the errors of reading runs and of writing.
    pub(crate) fn run(&mut self, merge: &mut Merge, sink: &mut Sink<'_>) -> Result<()> {
        let mut versions = Versions::default();
        while let Some(source) = merge.next() {
            versions.key.clear();
            versions.key.extend_from_slice(source.key());
            versions.operands.clear();
            versions.value = None;
            match self.read_key(merge, &mut versions)? {
                KeyState::Lost(error) => self.lose(&versions.key, &error),
                _ if versions.value.is_none() && versions.operands.is_empty() => {}
                _ => sink.add(self.section, &versions, self.findings)?,
            }
            let value = versions.value.as_ref().map_or(0, Vec::len);
            watch::advance((versions.key.len() + value) as u64)?;
        }
        Ok(())
    }

    /// Reads all versions of a key.
    fn read_key(&mut self, merge: &mut Merge, versions: &mut Versions) -> Result<KeyState> {
        let mut state = KeyState::Open;
        let (mut taken, mut last) = (Taken::default(), None);
        let (mut first_age, mut guessed, mut doubtful) = (None, false, false);
        let deleted = self.ranges.covering(&self.order, &versions.key);
        while let Some(source) = merge.next() {
            if self.order.compare(source.key(), &versions.key).is_ne() {
                break;
            }
            if source.is_deleted(deleted) {
                merge.advance(self.findings)?;
                continue;
            }
            let place = (source.age(), source.seq());
            let is_guess = source.is_guessed() || (self.log_is_guessed && place.0 == 0);
            doubtful |= first_age.is_some_and(|age| age != place.0 || place.1 == 0)
                && (guessed || is_guess);
            guessed |= is_guess;
            first_age.get_or_insert(place.0);
            // The same entry twice, in two records of the log or two copies of a table.
            let again = last.replace(place) == Some(place);
            if !again {
                self.take(source, versions, &mut taken, &mut state)?;
            }
            merge.advance(self.findings)?;
        }
        if doubtful {
            let reason = "several files hold versions of these keys, and their order is not known";
            self.findings
                .doubt_order(self.section, &versions.key, reason);
        } else {
            self.findings.settle_key();
        }
        Ok(state)
    }

    /// Takes the current version of `source` if it counts.
    fn take(
        &mut self,
        source: &mut MergeSource,
        versions: &mut Versions,
        taken: &mut Taken,
        state: &mut KeyState,
    ) -> Result<()> {
        let (seq, kind) = (source.seq(), source.kind());
        if kind == Kind::Merge {
            let Some(place) = taken.place_of_operand(seq) else {
                return Ok(());
            };
            match self.read_value(source, &versions.key) {
                Ok(value) => {
                    taken.operands.insert(place, seq);
                    versions.operands.insert(place, value);
                }
                Err(error) if error.kind() == ErrorKind::FormatTooNew => return Err(error),
                Err(error) => {
                    taken.base.get_or_insert(seq);
                    *state = KeyState::Lost(error);
                }
            }
            return Ok(());
        }
        if !taken.replaces_base(seq) {
            return Ok(());
        }
        versions.operands.truncate(taken.take_base(seq));
        versions.value = None;
        *state = match kind {
            Kind::Delete => KeyState::Decided,
            _ => match self.read_value(source, &versions.key) {
                Ok(value) => {
                    versions.value = Some(value);
                    KeyState::Decided
                }
                Err(error) if error.kind() == ErrorKind::FormatTooNew => return Err(error),
                Err(error) => KeyState::Lost(error),
            },
        };
        Ok(())
    }

    /// Reads the current value of `source`, through its pointer if it is a large one.
    fn read_value(&mut self, source: &mut MergeSource, key: &[u8]) -> Result<Vec<u8>> {
        let mut value = Vec::new();
        source.value_into(&mut value)?;
        if source.kind() == Kind::Pointer {
            let pointer = std::mem::take(&mut value);
            let values = self.values.as_mut();
            let values = values.ok_or_else(|| Error::corruption("no large values"))?;
            values.read(&self.order, key, &pointer, &mut value)?;
        }
        Ok(value)
    }

    fn lose(&mut self, key: &[u8], error: &Error) {
        self.findings.lose_key(Loss {
            file: error.file_name().unwrap_or_default().to_owned(),
            offset: error.file_offset().unwrap_or(0),
            bytes: 0,
            keys: KeySpan::stored(self.section, key),
            older: false,
            reason: error.message().to_owned(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operand_counts_once_and_in_the_order_of_numbers() {
        let mut taken = Taken::default();
        for (seq, place) in [
            (5, Some(0)),
            (3, Some(1)),
            (9, Some(0)),
            (5, None),
            (4, Some(2)),
        ] {
            assert_eq!(taken.place_of_operand(seq), place, "{seq}");
            if let Some(place) = place {
                taken.operands.insert(place, seq);
            }
        }
        assert_eq!(taken.operands, [9, 5, 4, 3]);
        // A folded value in a table, whose operands are in the log as well.
        assert!(taken.replaces_base(4));
        assert_eq!(taken.take_base(4), 2);
        assert_eq!(taken.place_of_operand(3), None);
        assert_eq!(taken.place_of_operand(7), Some(1));
        assert!(!taken.replaces_base(2) && taken.replaces_base(8));
    }

    #[test]
    fn versions_without_numbers_are_older_than_all_others() {
        let mut taken = Taken::default();
        assert_eq!(taken.place_of_operand(2), Some(0));
        taken.operands.push(2);
        assert_eq!(taken.place_of_operand(0), Some(1));
        taken.operands.push(0);
        assert_eq!(taken.place_of_operand(1), Some(1));
        assert_eq!(taken.take_base(0), 2);
        assert_eq!(
            (taken.place_of_operand(0), taken.place_of_operand(1)),
            (None, None)
        );
        assert!(!taken.replaces_base(0) && !taken.replaces_base(7));
    }
}
