//! Cursors, ranges and full scans, compared step by step.

use std::ops::Bound;
use std::sync::Arc;

use cairndb::{Cursor, Iter};

use crate::config::Order;
use crate::op::{End, Target, Through, Walk};
use crate::oracle::{Entry, Key, Oracle};
use crate::runner::{Held, Outcome, Runner, ensure, failed, show};

/// Returns the position of the model's cursor after a move to `target`.
fn aim(oracle: &Oracle, keys: &[Arc<[u8]>], target: Target) -> Option<Key> {
    let key = |number: u32| oracle.key(&keys[number as usize]);
    let found = match target {
        Target::First => oracle.map().first_key_value(),
        Target::Last => oracle.map().last_key_value(),
        Target::Seek(number) => oracle.map().range(key(number)..).next(),
        Target::SeekForPrev(number) => oracle.map().range(..=key(number)).next_back(),
    };
    found.map(|(key, _)| key.clone())
}

fn place(cursor: &mut Cursor, keys: &[Arc<[u8]>], target: Target) -> cairndb::Result<()> {
    match target {
        Target::First => cursor.seek_to_first(),
        Target::Last => cursor.seek_to_last(),
        Target::Seek(number) => cursor.seek(&keys[number as usize]),
        Target::SeekForPrev(number) => cursor.seek_for_prev(&keys[number as usize]),
    }
}

fn beside(oracle: &Oracle, at: &Key, back: bool) -> Option<Key> {
    let map = oracle.map();
    let found = if back {
        map.range(..at).next_back()
    } else {
        map.range((Bound::Excluded(at), Bound::Unbounded)).next()
    };
    found.map(|(key, _)| key.clone())
}

/// Compares the position of the cursor with that of the model.
fn same(cursor: &Cursor, oracle: &Oracle, at: Option<&Key>) -> Outcome {
    let found = cursor.valid().then(|| (cursor.key(), cursor.value()));
    let wanted = at.and_then(|at| oracle.map().get(at));
    let wanted = wanted.map(|entry| (&*entry.key, &*entry.value));
    same_entry(found, wanted)?;
    let empty = cursor.key().is_empty() && cursor.value().is_empty();
    ensure!(
        cursor.valid() || empty,
        "an invalid cursor returns an entry"
    );
    Ok(())
}

fn same_entry(found: Option<(&[u8], &[u8])>, wanted: Option<(&[u8], &[u8])>) -> Outcome {
    let text = |entry: Option<(&[u8], &[u8])>| {
        let entry = entry.map(|(key, value)| format!("{} = {}", show(key), show(value)));
        entry.unwrap_or_else(|| "none".to_owned())
    };
    let same = found == wanted;
    ensure!(
        same,
        "the entry is {}, should be {}",
        text(found),
        text(wanted)
    );
    Ok(())
}

impl Held {
    fn place(&mut self, keys: &[Arc<[u8]>], target: Target) -> Outcome {
        place(&mut self.cursor, keys, target).map_err(failed)?;
        self.at = aim(&self.moment, keys, target);
        same(&self.cursor, &self.moment, self.at.as_ref())
            .map_err(|error| format!("at {target:?}: {error}"))
    }

    /// Walks until all steps are done or the cursor has moved past either end. Returns the number
    /// of steps.
    fn walk(&mut self, walk: Walk) -> Result<u64, String> {
        for step in 0..walk.steps {
            let back = walk.back(step);
            let step_on = if back { Cursor::prev } else { Cursor::next };
            step_on(&mut self.cursor).map_err(failed)?;
            let at = self.at.as_ref();
            self.at = at.and_then(|at| beside(&self.moment, at, back));
            same(&self.cursor, &self.moment, self.at.as_ref())
                .map_err(|error| format!("step {step} (back {back}): {error}"))?;
            if self.at.is_none() {
                return Ok(u64::from(step) + 1);
            }
        }
        Ok(u64::from(walk.steps))
    }
}

impl Runner<'_> {
    /// Adds the cursor's position to the digest.
    fn answer_held(&mut self, held: &Held) {
        let value = held.cursor.value().to_vec();
        self.answer(held.cursor.valid().then_some(&*value));
    }

    pub(crate) fn start(&self, through: Through) -> Held {
        let reader = self.reader(through);
        let (cursor, moment, at) = (reader.cursor(), reader.oracle.clone(), None);
        Held { cursor, moment, at }
    }

    pub(crate) fn cursor(&mut self, through: Through, target: Target, walk: Walk) -> Outcome {
        let mut held = self.start(through);
        ensure!(!held.cursor.valid(), "a new cursor is already on an entry");
        held.place(&self.keys, target)?;
        self.done += held.walk(walk)?;
        self.answer_held(&held);
        Ok(())
    }

    pub(crate) fn move_held(&mut self, place: u8, target: Option<Target>, walk: Walk) -> Outcome {
        let Some(mut held) = self.cursors[usize::from(place)].take() else {
            return Ok(());
        };
        if let Some(target) = target {
            held.place(&self.keys, target)?;
        }
        self.done += held.walk(walk)?;
        self.answer_held(&held);
        self.cursors[usize::from(place)] = Some(held);
        Ok(())
    }

    pub(crate) fn bound(&self, end: End) -> Bound<&Arc<[u8]>> {
        match end {
            End::Open => Bound::Unbounded,
            End::With(key) => Bound::Included(self.bytes(key)),
            End::Without(key) => Bound::Excluded(self.bytes(key)),
        }
    }

    /// Takes entries from both ends as `walk` directs, compares them, and checks that both ends
    /// finish together.
    fn drain<'m>(
        mut found: Iter,
        mut wanted: impl DoubleEndedIterator<Item = &'m Entry>,
        walk: Walk,
    ) -> Result<(u64, Vec<u8>), String> {
        let mut last = Vec::new();
        for step in 0..walk.steps {
            let back = walk.back(step);
            let (found, wanted) = if back {
                (found.next_back(), wanted.next_back())
            } else {
                (found.next(), wanted.next())
            };
            let found = found.transpose().map_err(failed)?;
            let pair = found.as_ref().map(|(key, value)| (&**key, &**value));
            let wanted = wanted.map(|entry| (&*entry.key, &*entry.value));
            same_entry(pair, wanted)
                .map_err(|error| format!("entry {step} (back {back}): {error}"))?;
            match found {
                Some((_, value)) => last = value.into_vec(),
                None => return Ok((u64::from(step) + 1, last)),
            }
        }
        Ok((u64::from(walk.steps), last))
    }

    pub(crate) fn range(&mut self, through: Through, low: End, high: End, walk: Walk) -> Outcome {
        let (low, high) = (self.bound(low), self.bound(high));
        let reader = self.reader(through);
        let bounds = (low.map(|key| &**key), high.map(|key| &**key));
        let found = reader.range(bounds);
        let wanted = reader.oracle.range(low, high);
        let (steps, last) = Self::drain(found, wanted, walk)?;
        self.done += steps;
        self.answer(Some(&last));
        Ok(())
    }

    pub(crate) fn prefix(&mut self, through: Through, key: u32, len: u16, walk: Walk) -> Outcome {
        let bytes = self.bytes(key);
        let prefix: Arc<[u8]> = bytes[..bytes.len().min(usize::from(len))].into();
        let reader = self.reader(through);
        let found = reader.prefix(&prefix);
        // Under another order: the keys with the prefix that follow the prefix itself without a
        // gap.
        let oracle = reader.oracle;
        let all: Vec<&Entry> = oracle
            .range(Bound::Included(&prefix), Bound::Unbounded)
            .take_while(|entry| entry.key.starts_with(&prefix))
            .collect();
        let (steps, last) = Self::drain(found, all.into_iter(), walk)?;
        self.done += steps;
        self.answer(Some(&last));
        Ok(())
    }

    /// Scans everything in one direction, and gets each key as well.
    pub(crate) fn scan(&mut self, through: Through, backward: bool) -> Outcome {
        let mut held = self.start(through);
        let ends = [(Target::First, 0), (Target::Last, u64::MAX)];
        let (first, turns) = ends[usize::from(backward)];
        held.place(&self.keys, first)?;
        let mut digest = 0u64;
        while held.at.is_some() {
            let value = cairndb_base::hash64(held.cursor.value());
            if through.is_none() && held.moment.order != Order::FoldCase && value % 16 == 0 {
                let key = held.cursor.key();
                let got = self.reader(None).get(key).map_err(failed)?;
                let same = got.as_deref() == Some(held.cursor.value());
                ensure!(same, "a scan and a get differ at {}", show(key));
            }
            digest = digest.wrapping_add(value);
            self.done += held.walk(Walk { turns, steps: 1 })?;
        }
        self.answer(Some(&digest.to_le_bytes()));
        Ok(())
    }
}
