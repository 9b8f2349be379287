//! The versions of all keys, and which of them snapshots still need.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use cairndb::Value;

use crate::entries::Entry;
use crate::scan::Direction;
use crate::window::Window;

#[derive(Debug)]
struct Version {
    seq: u64,
    value: Option<Value>,
}

/// The state that the lock of a [`MemoryStore`](crate::MemoryStore) guards.
#[derive(Debug, Default)]
pub(super) struct Versions {
    keys: BTreeMap<Vec<u8>, Vec<Version>>,
    /// Number of the last write.
    seq: u64,
    /// Live snapshots: their number, and how many there are of it.
    snapshots: BTreeMap<u64, usize>,
    /// Keys with versions that only snapshots need.
    garbage: BTreeSet<Vec<u8>>,
    pub(super) closed: bool,
}

fn visible(chain: &[Version], seq: u64) -> Option<&Value> {
    let version = chain.iter().rev().find(|version| version.seq <= seq)?;
    version.value.as_ref()
}

fn bounds(window: &Window) -> (Bound<&[u8]>, Bound<&[u8]>) {
    let upper = match &window.end {
        Some(end) => Bound::Excluded(end.as_slice()),
        None => Bound::Unbounded,
    };
    (Bound::Included(window.start.as_slice()), upper)
}

impl Versions {
    /// Returns the number of the newest state.
    pub(super) const fn newest(&self) -> u64 {
        self.seq
    }

    /// Returns the value of `key` in the state `seq`.
    pub(super) fn get(&self, key: &[u8], seq: u64) -> Option<Value> {
        visible(self.keys.get(key)?, seq).cloned()
    }

    /// Returns up to `count` entries of `window` in the state `seq`, in its direction.
    pub(super) fn page(&self, window: &Window, seq: u64, count: usize) -> Vec<Entry> {
        if window.is_empty() {
            return Vec::new();
        }
        let entry = |(key, chain): (&Vec<u8>, &Vec<Version>)| {
            let value = visible(chain, seq)?;
            Some((Value::from(key.as_slice()), value.clone()))
        };
        let range = self.keys.range::<[u8], _>(bounds(window));
        match window.direction {
            Direction::Ascending => range.filter_map(entry).take(count).collect(),
            Direction::Descending => range.rev().filter_map(entry).take(count).collect(),
        }
    }

    /// Returns whether `key` was written after the state `seq`.
    pub(super) fn changed(&self, key: &[u8], seq: u64) -> bool {
        let newest = self.keys.get(key).and_then(|chain| chain.last());
        newest.is_some_and(|version| version.seq > seq)
    }

    /// Returns a key of `window` that was written after the state `seq`.
    pub(super) fn changed_within(&self, window: &Window, seq: u64) -> Option<&[u8]> {
        if window.is_empty() {
            return None;
        }
        let mut range = self.keys.range::<[u8], _>(bounds(window));
        let changed = range.find(|(_, chain)| chain.last().is_some_and(|last| last.seq > seq));
        changed.map(|(key, _)| key.as_slice())
    }

    /// Applies `writes` as one state.
    pub(super) fn apply<'a>(&mut self, writes: impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)>) {
        self.seq += 1;
        let (seq, oldest) = (self.seq, self.snapshots.keys().next().copied());
        for (key, value) in writes {
            let version = Version {
                seq,
                value: value.map(Value::from),
            };
            match self.keys.get_mut(key) {
                Some(chain) => chain.push(version),
                None if value.is_none() && oldest.is_none() => continue,
                None => {
                    self.keys.insert(key.to_vec(), vec![version]);
                }
            }
            self.prune(key, oldest);
        }
    }

    /// Registers a snapshot of the newest state.
    pub(super) fn take_snapshot(&mut self) -> u64 {
        *self.snapshots.entry(self.seq).or_default() += 1;
        self.seq
    }

    /// Ends a snapshot, and removes what only older ones needed.
    pub(super) fn end_snapshot(&mut self, seq: u64) {
        let Some(count) = self.snapshots.get_mut(&seq) else {
            return;
        };
        *count -= 1;
        if *count > 0 {
            return;
        }
        let was_oldest = self.snapshots.keys().next() == Some(&seq);
        self.snapshots.remove(&seq);
        if was_oldest {
            let oldest = self.snapshots.keys().next().copied();
            for key in std::mem::take(&mut self.garbage) {
                self.prune(&key, oldest);
            }
        }
    }

    /// Removes the versions of `key` that neither the newest state nor a snapshot since `oldest`
    /// sees.
    fn prune(&mut self, key: &[u8], oldest: Option<u64>) {
        let Some(chain) = self.keys.get_mut(key) else {
            return;
        };
        let oldest = oldest.unwrap_or(u64::MAX);
        let needed = chain.iter().rposition(|version| version.seq <= oldest);
        chain.drain(..needed.unwrap_or(0));
        match chain.as_slice() {
            [only] if only.value.is_some() => {}
            [only] if only.seq <= oldest => {
                self.keys.remove(key);
            }
            _ => {
                self.garbage.insert(key.to_vec());
            }
        }
    }

    #[cfg(test)]
    pub(super) fn version_count(&self) -> usize {
        self.keys.values().map(Vec::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::Versions;

    fn write(versions: &mut Versions, key: &str, value: Option<&str>) {
        let value = value.map(str::as_bytes);
        versions.apply([(key.as_bytes(), value)].into_iter());
    }

    #[test]
    fn versions_live_as_long_as_their_snapshots() {
        let mut versions = Versions::default();
        write(&mut versions, "a", Some("1"));
        let first = versions.take_snapshot();
        write(&mut versions, "a", Some("2"));
        let second = versions.take_snapshot();
        write(&mut versions, "a", None);
        write(&mut versions, "b", None);
        assert_eq!(versions.get(b"a", first).as_deref(), Some(&b"1"[..]));
        assert_eq!(versions.get(b"a", second).as_deref(), Some(&b"2"[..]));
        assert!(versions.changed(b"b", second) && versions.changed(b"a", second));
        versions.end_snapshot(first);
        assert_eq!(versions.get(b"a", second).as_deref(), Some(&b"2"[..]));
        versions.end_snapshot(second);
        assert_eq!(versions.version_count(), 0);
        assert!(versions.garbage.is_empty());
    }

    #[test]
    fn without_snapshots_only_the_newest_version_is_kept() {
        let mut versions = Versions::default();
        for n in 0..100 {
            write(&mut versions, "a", Some(&n.to_string()));
        }
        assert_eq!(versions.version_count(), 1);
        write(&mut versions, "a", None);
        write(&mut versions, "never", None);
        assert_eq!(versions.version_count(), 0);
    }
}
