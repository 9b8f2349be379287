//! Which moments can be restored, and from which objects.

use std::collections::BTreeSet;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cairndb::Place;
use cairndb_base::{Error, ErrorKind, Result};

use crate::catalog::{Catalog, NamedBase};
use crate::records::{Piece, chain_name, take_change};
use crate::repository::{Owner, Repository};

/// By how much the clock may go back without notice, as it is adjusted now and then.
const CLOCK_STEP_MS: u64 = 1000;

/// A moment of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The newest one. It is not restored if there was a newer one, which is damaged now.
    Newest,
    /// The one just after the change with this sequence number, or the last one before it. Refused
    /// if several histories have it.
    Seq(u64),
    /// The same, of the history with this incarnation.
    Place(Place),
    /// The one just after the last change up to this time.
    Time(SystemTime),
}

/// A range of moments, each of which can be restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Moments {
    /// Number of the timeline. Another one begins where the backup could not continue: after a
    /// loss of log or writes, or with another copy of the database.
    pub timeline: u32,
    /// The first moment.
    pub first: Place,
    /// The last moment.
    pub last: Place,
    /// Time of the first moment, if it is known.
    pub from: Option<SystemTime>,
    /// Time of the last change in it, if it is known.
    pub to: Option<SystemTime>,
}

impl Moments {
    fn has(&self, seq: u64) -> bool {
        (self.first.seq..=self.last.seq).contains(&seq)
    }
}

impl fmt::Display for Moments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.first.seq, self.last.seq)
    }
}

/// Where a moment is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) timeline: u32,
    pub(crate) seq: u64,
}

pub(crate) fn time_of(ms: u64) -> Option<SystemTime> {
    (ms > 0).then(|| UNIX_EPOCH + Duration::from_millis(ms))
}

impl Catalog {
    /// Returns the parts of the history that continue a base up to `seq`, or as far as they go.
    pub(crate) fn pieces_after(&self, base: &NamedBase, seq: u64) -> Vec<&Piece> {
        let mut at = base.base.seq;
        let timeline = base.base.timeline;
        let pieces = self.pieces.values();
        let pieces = pieces.filter(|it| it.timeline == timeline && it.until > base.base.seq);
        let mut found = Vec::new();
        for piece in pieces {
            if piece.after > at || at >= seq {
                break;
            }
            at = at.max(piece.until);
            found.push(piece);
        }
        found
    }

    /// Returns the ranges of moments that can be restored without the objects `damaged`, oldest
    /// first.
    pub(crate) fn moments(&self, damaged: &BTreeSet<String>) -> Vec<Moments> {
        let mut found: Vec<Moments> = Vec::new();
        for named in &self.bases {
            let base = &named.base;
            let tables = base.tables.iter().map(|it| &it.object);
            let mut objects = tables.chain(base.extents.iter().map(|it| &it.object));
            if damaged.contains(&named.object) || objects.any(|it| damaged.contains(it)) {
                continue;
            }
            let pieces = self.pieces_after(named, u64::MAX);
            let is_whole = |piece: &&&Piece| {
                let mut objects = piece.extents.iter().map(|it| &it.object);
                !damaged.contains(&chain_name(piece.number))
                    && !objects.any(|it| damaged.contains(it))
            };
            let last = pieces.iter().take_while(is_whole).last();
            let end = last.map_or(base.seq, |it| it.until);
            if end < base.restorable {
                continue;
            }
            let known_ms = match base.time_ms {
                0 => base.taken_ms,
                known => known,
            };
            let place = |incarnation, seq| Place { incarnation, seq };
            let range = Moments {
                timeline: base.timeline,
                first: place(base.incarnation, base.restorable),
                last: place(last.map_or(base.incarnation, |it| it.incarnation), end),
                from: time_of(known_ms),
                to: time_of(last.map_or(known_ms, |it| it.to_ms)),
            };
            match found.last_mut() {
                Some(before)
                    if before.timeline == range.timeline && before.last.seq >= range.first.seq =>
                {
                    if range.last.seq > before.last.seq {
                        (before.last, before.to) = (range.last, range.to);
                    }
                }
                _ => found.push(range),
            }
        }
        found
    }

    /// Finds a moment.
    ///
    /// # Errors
    /// `NotFound` if it is not in the backup; `InvalidArgument` if there are two at this time,
    /// because the clock was set back; those of reading a record.
    pub(crate) fn find(&self, repository: &Repository, moment: Moment) -> Result<Target> {
        let ranges = self.moments(&BTreeSet::new());
        let found = match moment {
            Moment::Newest => ranges.last().map(|it| (it.timeline, it.last.seq)),
            Moment::Seq(seq) => {
                let found = ranges.iter().filter(|it| it.has(seq));
                let timelines: BTreeSet<u32> = found.clone().map(|it| it.timeline).collect();
                if timelines.len() > 1 {
                    return Err(several(repository, found, seq));
                }
                holds(&ranges, seq, |_| true)
            }
            Moment::Place(place) => {
                let timelines = self.timelines_of(place.incarnation);
                holds(&ranges, place.seq, |it| timelines.contains(&it.timeline))
            }
            Moment::Time(time) => {
                let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
                let ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
                self.at_time(repository, &ranges, ms)?
            }
        };
        let found = found.map(|(timeline, seq)| Target { timeline, seq });
        let found = found.filter(|target| {
            let mut ranges = ranges.iter().filter(|it| it.timeline == target.timeline);
            ranges.any(|it| it.has(target.seq))
        });
        found.ok_or_else(|| {
            let message = "the backup does not have this moment; choose one that it has";
            let error = Error::new(ErrorKind::NotFound, message);
            let error = error.directory(repository.place().url().as_ref());
            error.expected(describe(&ranges)).found(shown(moment))
        })
    }

    /// Returns an error if there were changes after the newest moment that can be restored.
    pub(crate) fn lost_after(
        &self,
        repository: &Repository,
        newest: Target,
        owner: Option<&Owner>,
    ) -> Option<Error> {
        let mut pieces = self.pieces.values();
        let later = pieces.any(|it| it.timeline == newest.timeline && it.until > newest.seq);
        let stated = owner.is_some_and(|owner| {
            let timelines = self.timelines_of(owner.incarnation);
            timelines.contains(&newest.timeline) && owner.seq > newest.seq
        });
        let message = "later changes were backed up, but are damaged or missing; run \
                       verify-backup, or restore without them by giving this moment's number";
        (later || stated).then(|| {
            let error = Error::corruption(message).expected(newest.seq);
            let error = error.directory(repository.place().url().as_ref());
            match self.damage.last() {
                None => error,
                Some(last) => error
                    .file(last.file_name().unwrap_or_default())
                    .source_error(last.clone()),
            }
        })
    }

    fn timelines_of(&self, incarnation: u64) -> BTreeSet<u32> {
        let pieces = self.pieces.values();
        let pieces = pieces
            .filter(|it| it.incarnation == incarnation)
            .map(|it| it.timeline);
        let bases = self.bases.iter().map(|it| &it.base);
        let bases = bases
            .filter(|it| it.incarnation == incarnation)
            .map(|it| it.timeline);
        pieces.chain(bases).collect()
    }

    fn at_time(
        &self,
        repository: &Repository,
        ranges: &[Moments],
        ms: u64,
    ) -> Result<Option<(u32, u64)>> {
        let began = |piece: &&Piece| piece.from_ms > 0 && piece.from_ms <= ms;
        let Some(piece) = self.pieces.values().rev().find(began) else {
            return self.before_times(repository, ranges, ms);
        };
        let before = self.pieces.range(..piece.number).map(|(_, it)| it);
        let later = before
            .rev()
            .find(|it| it.to_ms > ms.saturating_add(CLOCK_STEP_MS));
        let seq = last_until(repository, piece, ms)?;
        match later {
            None if ms > piece.to_ms && self.is_lost_after(piece.timeline, seq) => Ok(None),
            None => Ok(Some((piece.timeline, seq))),
            Some(later) => Err(ambiguous(repository, ms, seq, later.until)),
        }
    }

    /// Returns the moment at a time before that of any change: bases have one, and what was written
    /// before the first of them has none.
    fn before_times(
        &self,
        repository: &Repository,
        ranges: &[Moments],
        ms: u64,
    ) -> Result<Option<(u32, u64)>> {
        let began = |it: &&Moments| it.from.is_some_and(|from| ms_of(from) <= ms);
        let Some(range) = ranges.iter().rev().find(began) else {
            return Ok(None);
        };
        let mut seq = range.first.seq;
        let pieces = self.pieces.values();
        for piece in pieces.filter(|it| it.timeline == range.timeline && it.until > range.first.seq)
        {
            if piece.from_ms > 0 {
                seq = seq.max(last_until(repository, piece, ms)?);
                break;
            }
            seq = piece.until;
        }
        let known = range.to.is_some_and(|to| ms <= ms_of(to));
        if !known && self.is_lost_after(range.timeline, seq) {
            return Ok(None);
        }
        Ok(Some((range.timeline, seq)))
    }

    /// Returns whether changes that came after `seq` may be missing: the timeline ends there, and
    /// the next one begins later.
    fn is_lost_after(&self, timeline: u32, seq: u64) -> bool {
        let pieces = self.pieces.values().rev();
        let last = pieces.clone().find(|it| it.timeline == timeline);
        let is_end = last.is_none_or(|last| last.until <= seq);
        let mut later = self.bases.iter().map(|it| &it.base);
        let next = later.find(|it| it.timeline > timeline);
        is_end && next.is_some_and(|next| next.restorable > seq)
    }
}

#[cold]
fn ambiguous(repository: &Repository, ms: u64, seq: u64, other: u64) -> Error {
    let message = "the clock was set back, so there are several moments of this time; name one by \
                   its sequence number";
    Error::invalid(message)
        .directory(repository.place().url().as_ref())
        .expected(format_args!("{seq}, or one up to {other}"))
        .found(shown(Moment::Time(UNIX_EPOCH + Duration::from_millis(ms))))
}

#[cold]
fn several<'m>(
    repository: &Repository,
    ranges: impl Iterator<Item = &'m Moments>,
    seq: u64,
) -> Error {
    let places: Vec<String> = ranges
        .map(|it| {
            let incarnation = it.last.incarnation;
            Place { incarnation, seq }.to_string()
        })
        .collect();
    let message = "several histories have this number, for example after a restore; name the \
                   moment by its place";
    let error = Error::invalid(message).directory(repository.place().url().as_ref());
    error
        .expected(format_args!("one of {}", places.join(", ")))
        .found(seq)
}

/// Returns the newest of the ranges meant that has a sequence number.
fn holds(ranges: &[Moments], seq: u64, is_meant: impl Fn(&Moments) -> bool) -> Option<(u32, u64)> {
    let mut ranges = ranges.iter().rev().filter(|it| is_meant(it));
    let found = ranges.find(|it| it.has(seq))?;
    Some((found.timeline, seq))
}

/// Returns the number of the last change of a piece up to a time.
fn last_until(repository: &Repository, piece: &Piece, ms: u64) -> Result<u64> {
    if piece.to_ms <= ms {
        return Ok(piece.until);
    }
    let (_, contents, _) = repository.record(piece.number)?;
    let (mut left, mut seq) = (&contents[..], piece.after);
    // The latest time after the one that is looked for.
    let mut later_ms = 0;
    while let Some(change) = take_change(&mut left)? {
        if change.time_ms > ms {
            later_ms = later_ms.max(change.time_ms);
        } else if later_ms == 0 {
            seq = change.seq;
        } else if later_ms > ms.saturating_add(CLOCK_STEP_MS) {
            return Err(ambiguous(repository, ms, seq, change.seq));
        }
    }
    Ok(seq)
}

/// Returns the milliseconds since 1970.
pub(crate) fn ms_of(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn shown(moment: Moment) -> String {
    match moment {
        Moment::Newest => "the newest".to_owned(),
        Moment::Seq(seq) => seq.to_string(),
        Moment::Place(place) => place.to_string(),
        Moment::Time(time) => humantime::format_rfc3339_millis(time).to_string(),
    }
}

/// Returns the ranges as text.
pub(crate) fn describe(ranges: &[Moments]) -> String {
    if ranges.is_empty() {
        return "none".to_owned();
    }
    let ranges: Vec<String> = ranges.iter().map(ToString::to_string).collect();
    ranges.join(", ")
}
