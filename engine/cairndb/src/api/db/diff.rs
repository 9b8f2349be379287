//! Differences between the contents of two databases.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Order, Result, SEQ_MAX, watch};

use crate::api::cursor::Cursor;
use crate::api::db::Db;
use crate::api::snapshot::Snapshot;
use crate::read::merging_iter::MergingIter;
use crate::read::source::MergeSource;
use crate::read::unshared::unshared;
use crate::state::context::ReadContext;
use crate::state::ranges::Deleted;

/// A key whose values differ.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = cairndb::Db::open(dir.path().join("db"))?;
/// db.put(b"slate", b"grey")?;
/// db.fork(dir.path().join("fork"))?;
/// let fork = cairndb::Db::open(dir.path().join("fork"))?;
/// fork.delete(b"slate")?;
/// for difference in cairndb::diff(&db, &fork)? {
///     let difference = difference?;
///     assert_eq!(difference.key, b"slate");
///     assert_eq!(difference.before.as_deref(), Some(&b"grey"[..]));
///     assert_eq!(difference.after, None);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The keyspace of the key; `None` for the default one.
    pub keyspace: Option<Arc<str>>,
    /// The key.
    pub key: Vec<u8>,
    /// The value in the first database; `None` if it does not have the key.
    pub before: Option<Vec<u8>>,
    /// The value in the second database; `None` if it does not have the key.
    pub after: Option<Vec<u8>>,
}

/// Compares the contents of two databases, as of the call, which may be databases and their forks.
/// The differences are in the order of their keys, the default keyspace first, then the others by
/// name.
///
/// **Cost.** Table files that both databases share are skipped, as long as they are most of both:
/// the entries that only one has are read, and each of their keys is looked up in both. Otherwise
/// both are read from front to back. A step of the iterator may take long where nothing differs, so
/// it may be [watched](crate::watch).
///
/// # Errors
/// `InvalidArgument` if a keyspace has different orders in the two databases; those of
/// [`Db::get`], also from the iterator, which ends after the first error but `Interrupted`.
pub fn diff(before: &Db, after: &Db) -> Result<Diff> {
    let snapshots = [before, after].map(Db::snapshot);
    let mut names: Vec<String> = [before, after]
        .iter()
        .flat_map(|db| db.keyspaces())
        .collect();
    names.sort_unstable();
    names.dedup();
    let mut parts = VecDeque::from([Comparison::new(
        None,
        [0, 1].map(|side| Some(snapshots[side].cursor())),
    )?]);
    for name in names {
        let mut cursors = [None, None];
        for ((db, snapshot), cursor) in [before, after]
            .into_iter()
            .zip(&snapshots)
            .zip(&mut cursors)
        {
            if db.keyspaces().contains(&name) {
                *cursor = Some(snapshot.cursor_in(&db.keyspace(&name)?)?);
            }
        }
        parts.push_back(Comparison::new(Some(name.into()), cursors)?);
    }
    Ok(Diff {
        _snapshots: snapshots,
        parts,
    })
}

/// Yields the differences; see [`diff`].
#[derive(Debug)]
pub struct Diff {
    /// Keep what the cursors see.
    _snapshots: [Snapshot; 2],
    parts: VecDeque<Comparison>,
}

impl Iterator for Diff {
    type Item = Result<Difference>;

    fn next(&mut self) -> Option<Result<Difference>> {
        while let Some(part) = self.parts.front_mut() {
            match part.next() {
                Ok(Some(difference)) => return Some(Ok(difference)),
                Ok(None) => _ = self.parts.pop_front(),
                Err(error) => {
                    if error.kind() != ErrorKind::Interrupted {
                        self.parts.clear();
                    }
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

/// The comparison of one keyspace.
#[derive(Debug)]
struct Comparison {
    keyspace: Option<Arc<str>>,
    order: Order,
    sides: Sides,
    /// Where the values may differ; `None` if they may everywhere.
    places: Option<Places>,
    /// The last key that was compared.
    last: Option<Vec<u8>>,
}

/// The keys whose values may differ.
#[derive(Debug)]
struct Places {
    /// Entries that only one side has, of each.
    own: [OwnEntries; 2],
    /// What their keys begin with.
    prefix: Vec<u8>,
    /// Ranges that only one side has deleted, in which every key of both sides is compared, by
    /// their starts. They may overlap.
    ranges: VecDeque<(Vec<u8>, Option<Vec<u8>>)>,
}

/// The entries that one side has and the other has not.
#[derive(Debug)]
struct OwnEntries {
    entries: MergingIter,
    context: ReadContext,
}

impl OwnEntries {
    /// Returns the entries of the keyspace of `cursor`, at the first one.
    fn new(cursor: &Cursor, sources: Vec<MergeSource>) -> Result<OwnEntries> {
        let context = cursor.view().context().clone();
        let mut entries = MergingIter::new(sources, context.order.clone());
        context.with_directory(match cursor.space() {
            None => entries.first(),
            Some(keyspace) => entries.seek(&keyspace.ends().0, SEQ_MAX),
        })?;
        Ok(OwnEntries { entries, context })
    }

    /// Returns what follows `prefix` in the key of the current entry.
    fn key(&self, prefix: &[u8]) -> Option<&[u8]> {
        let key = self.entries.valid().then(|| self.entries.key());
        key.and_then(|key| key.strip_prefix(prefix))
    }
}

impl Places {
    /// Moves to the first entry whose key is after `last`.
    fn pass(&mut self, order: &Order, last: Option<&[u8]>) -> Result<Option<Vec<u8>>> {
        let is_passed = |key: &[u8]| last.is_some_and(|last| order.compare(key, last).is_le());
        for own in &mut self.own {
            while own.key(&self.prefix).is_some_and(is_passed) {
                watch::check()?;
                own.context.with_directory(own.entries.step())?;
            }
        }
        let keys = self.own.iter().filter_map(|own| own.key(&self.prefix));
        Ok(keys.min_by(|a, b| order.compare(a, b)).map(<[u8]>::to_vec))
    }
}

impl Comparison {
    fn new(keyspace: Option<Arc<str>>, cursors: [Option<Cursor>; 2]) -> Result<Comparison> {
        let mut places = None;
        if let [Some(one), Some(other)] = &cursors {
            let names = [one, other].map(|cursor| cursor.order().name());
            if names[0] != names[1] {
                let message = "the databases order their keys differently";
                return Err(Error::invalid(message).expected(names[0]).found(names[1]));
            }
            places = places_of(one, other)?;
        }
        let order = cursors.iter().flatten().next();
        let order = order.map_or(Order::Bytewise, |cursor| cursor.order().clone());
        let mut sides = Sides(cursors.map(|cursor| cursor.map(Side::new)));
        if places.is_none() {
            sides.0.iter_mut().flatten().try_for_each(Side::first)?;
        }
        Ok(Comparison {
            keyspace,
            order,
            sides,
            places,
            last: None,
        })
    }

    fn next(&mut self) -> Result<Option<Difference>> {
        loop {
            watch::check()?;
            // Not every key needs a move of a cursor, which checks this.
            for side in self.sides.0.iter_mut().flatten() {
                side.cursor.check_view()?;
            }
            let Some(key) = self.next_key()? else {
                return Ok(None);
            };
            let [before, after] = &mut self.sides.0;
            let before = value_of(before.as_mut(), &key)?;
            let after = value_of(after.as_mut(), &key)?;
            let difference = (before != after).then(|| Difference {
                keyspace: self.keyspace.clone(),
                key: key.clone(),
                before: before.map(<[u8]>::to_vec),
                after: after.map(<[u8]>::to_vec),
            });
            self.last = Some(key);
            if difference.is_some() {
                return Ok(difference);
            }
        }
    }

    /// Returns the next key to compare.
    fn next_key(&mut self) -> Result<Option<Vec<u8>>> {
        let (order, last) = (&self.order, self.last.as_deref());
        let Some(places) = &mut self.places else {
            return self.sides.next_key(last);
        };
        let own = places.pass(order, last)?;
        while let Some((start, end)) = places.ranges.front() {
            let is_ahead = |own: &Vec<u8>| order.compare(own, start).is_lt();
            if own.as_ref().is_some_and(is_ahead) {
                break;
            }
            for side in self.sides.0.iter_mut().flatten() {
                side.advance(start)?;
            }
            let inside = self.sides.next_key(last)?;
            let is_before = |key: &Vec<u8>, end: &Option<Vec<u8>>| {
                let end = end.as_ref();
                end.is_none_or(|end| order.compare(key, end).is_lt())
            };
            match inside.filter(|key| is_before(key, end)) {
                Some(inside) if is_before(&inside, &own) => return Ok(Some(inside)),
                Some(_) => return Ok(own),
                None => _ = places.ranges.pop_front(),
            }
        }
        Ok(own)
    }
}

/// Returns the keys of a keyspace whose values may differ, unless they may everywhere.
fn places_of(one: &Cursor, other: &Cursor) -> Result<Option<Places>> {
    let prefix = |cursor: &Cursor| {
        let space = cursor.space();
        space.map_or_else(Vec::new, |space| space.prefix().to_vec())
    };
    // A keyspace that each side has created has different numbers.
    let prefixes = [one, other].map(prefix);
    if prefixes[0] != prefixes[1] {
        return Ok(None);
    }
    let [prefix, _] = prefixes;
    let Some(found) = unshared([one, other].map(|cursor| (cursor.view(), cursor.seq())))? else {
        return Ok(None);
    };
    let [one_sources, other_sources] = found.sources;
    let own = [
        OwnEntries::new(one, one_sources)?,
        OwnEntries::new(other, other_sources)?,
    ];
    let within = |range: &Deleted| {
        let start = range.start.strip_prefix(&*prefix)?;
        let end = range
            .end
            .as_ref()
            .and_then(|end| end.strip_prefix(&*prefix));
        Some((start.to_vec(), end.map(<[u8]>::to_vec)))
    };
    let ranges = found.ranges.iter().filter_map(within).collect();
    Ok(Some(Places {
        own,
        prefix,
        ranges,
    }))
}

/// One side of a comparison, which only moves forward.
#[derive(Debug)]
struct Side {
    cursor: Cursor,
    /// Whether the cursor has passed the last entry.
    ended: bool,
}

impl Side {
    fn new(cursor: Cursor) -> Side {
        Side {
            cursor,
            ended: false,
        }
    }

    /// Returns the key of the current entry.
    fn key(&self) -> Option<&[u8]> {
        self.cursor.valid().then(|| self.cursor.key())
    }

    fn compares(&self, key: &[u8], is: impl FnOnce(Ordering) -> bool) -> bool {
        self.key()
            .is_some_and(|own| is(self.cursor.order().compare(own, key)))
    }

    fn first(&mut self) -> Result<()> {
        self.cursor.seek_to_first()?;
        self.ended = !self.cursor.valid();
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        self.cursor.next()?;
        self.ended = !self.cursor.valid();
        Ok(())
    }

    /// Moves to the first entry at or after `key`, unless the current one is there or later.
    fn advance(&mut self, key: &[u8]) -> Result<()> {
        if self.compares(key, Ordering::is_lt) {
            // Where most keys are compared, the next entry is the wanted one.
            self.next()?;
        }
        if !self.ended && (!self.cursor.valid() || self.compares(key, Ordering::is_lt)) {
            self.cursor.seek(key)?;
            self.ended = !self.cursor.valid();
        }
        Ok(())
    }
}

/// Returns the value of `key`, which the side has not passed.
fn value_of<'s>(side: Option<&'s mut Side>, key: &[u8]) -> Result<Option<&'s [u8]>> {
    let Some(side) = side else {
        return Ok(None);
    };
    side.advance(key)?;
    let found = side.compares(key, Ordering::is_eq);
    Ok(found.then(|| side.cursor.value()))
}

/// Both sides; `None` for one without the keyspace.
#[derive(Debug)]
struct Sides([Option<Side>; 2]);

impl Sides {
    /// Moves both sides past `last`, and returns the first key of either.
    fn next_key(&mut self, last: Option<&[u8]>) -> Result<Option<Vec<u8>>> {
        for side in self.0.iter_mut().flatten() {
            if last.is_some_and(|last| side.compares(last, Ordering::is_le)) {
                side.next()?;
            }
        }
        let mut first: Option<&[u8]> = None;
        for side in self.0.iter().flatten() {
            if first.is_none_or(|first| side.compares(first, Ordering::is_lt)) {
                first = side.key().or(first);
            }
        }
        Ok(first.map(<[u8]>::to_vec))
    }
}
