//! Every way to read, each with a check that must hold regardless of concurrent operations.

use cairndb::env::random::Random;
use cairndb::{Cursor, Db, Iter, Snapshot, Value};

use crate::round::{Ended, Shared, ended};
use crate::story::{self, Entries, Moment};

/// The result of a check, unless the database returned an error.
type Judged<T> = cairndb::Result<Result<T, String>>;

type Entry = cairndb::Result<(Value, Value)>;

/// The source from which the entries are read.
enum Source<'a> {
    Db(&'a Db),
    Snapshot(&'a Snapshot),
}

impl Source<'_> {
    fn prefix(&self, prefix: &[u8]) -> Iter {
        match self {
            Source::Db(db) => db.prefix(prefix),
            Source::Snapshot(snapshot) => snapshot.prefix(prefix),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Forward,
    Backward,
    BothEnds,
}

fn collect(mut iter: Iter, way: Way) -> cairndb::Result<Entries> {
    let mut found = Entries::new();
    let mut from_back = false;
    loop {
        let entry: Option<Entry> = match way {
            Way::Forward => iter.next(),
            Way::Backward => iter.next_back(),
            Way::BothEnds => {
                from_back = !from_back;
                if from_back {
                    iter.next_back()
                } else {
                    iter.next()
                }
            }
        };
        let Some(entry) = entry else { return Ok(found) };
        let (key, value) = entry?;
        found.insert(key.into_vec(), value.into_vec());
    }
}

/// Scans all entries of a writer at one moment, and determines that moment.
fn scan(source: &Source<'_>, writer: u8, way: Way) -> Judged<(Entries, Moment)> {
    let found = collect(source.prefix(&[writer]), way)?;
    let moment = story::moment(writer, &found).map_err(|why| format!("{way:?} scan: {why}"));
    Ok(moment.map(|moment| (found, moment)))
}

/// Like [`scan`], but for checks without concurrent writes.
pub(crate) fn state_of(db: &Db, writer: u8) -> Judged<Moment> {
    Ok(scan(&Source::Db(db), writer, Way::Forward)?.map(|(_, moment)| moment))
}

/// A snapshot that is kept for a while, and the entries that it returned first.
struct Kept {
    snapshot: Snapshot,
    writer: u8,
    entries: Entries,
}

impl Kept {
    fn take(db: &Db, writer: u8) -> Judged<(Kept, Moment)> {
        let snapshot = db.snapshot();
        let first = scan(&Source::Snapshot(&snapshot), writer, Way::Forward)?;
        Ok(first.map(|(entries, moment)| {
            let kept = Kept {
                snapshot,
                writer,
                entries,
            };
            (kept, moment)
        }))
    }

    /// Checks that the snapshot still returns the same entries, in every way of reading.
    fn check(&self, random: &mut Random) -> Judged<()> {
        let source = Source::Snapshot(&self.snapshot);
        for way in [Way::Forward, Way::Backward, Way::BothEnds] {
            if collect(source.prefix(&[self.writer]), way)? != self.entries {
                return Ok(Err(format!("a snapshot changed under a {way:?} scan")));
            }
        }
        for _ in 0..8 {
            let key = story::slot(self.writer, random.next_u64());
            let found = self.snapshot.get(&key)?;
            if found.as_deref() != self.entries.get(&key).map(Vec::as_slice) {
                return Ok(Err(format!("a snapshot changed at {}", key.escape_ascii())));
            }
        }
        Ok(Ok(()))
    }
}

/// Reads all keys of a writer with `multi_get`, whose results must also be from one moment.
fn get_all(db: &Db, writer: u8) -> Judged<Moment> {
    let keys = story::all_keys(writer);
    let values = db.multi_get(&keys)?;
    let pairs = keys.into_iter().zip(values);
    let found = pairs.filter_map(|(key, value)| Some((key, value?.into_vec())));
    let moment = story::moment(writer, &found.collect());
    Ok(moment.map_err(|why| format!("multi_get: {why}")))
}

fn number_at(db: &Db, key: &[u8]) -> cairndb::Result<u64> {
    Ok(db.get(key)?.map_or(0, |value| story::number(&value)))
}

/// Gets one key after the other. No get may return an older state than the gets before it.
fn gets(db: &Db, writer: u8, random: &mut Random) -> Judged<()> {
    let mut seen = 0;
    for _ in 0..16 {
        let class = random.below(story::SLOTS);
        let found = number_at(db, &story::slot(writer, class))?;
        if let Some(least) = story::least_after(seen, class)
            && found < least
        {
            // A later delete may have removed the key.
            let since = match state_of(db, writer)? {
                Ok(now) => now.last >= least + story::SLOTS,
                Err(why) => return Ok(Err(why)),
            };
            if found > 0 || !since {
                return Ok(Err(format!(
                    "slot {class} held {found} after {seen} was seen"
                )));
            }
        }
        seen = seen.max(found);
    }
    let counted = number_at(db, &story::counter(writer))?;
    if counted < story::counted(seen) {
        return Ok(Err(format!(
            "the counter was {counted} after {seen} was seen"
        )));
    }
    let mirrors = [0, 1].map(|_| story::mirror(writer, random.next_u64()));
    let (first, second) = (number_at(db, &mirrors[0])?, number_at(db, &mirrors[1])?);
    if first > second {
        return Ok(Err(format!(
            "mirrors went backwards from {first} to {second}"
        )));
    }
    Ok(Ok(()))
}

fn place(cursor: &Cursor) -> Option<(Vec<u8>, Vec<u8>)> {
    cursor
        .valid()
        .then(|| (cursor.key().to_vec(), cursor.value().to_vec()))
}

/// Moves a cursor some steps and back.
fn there_and_back(db: &Db, writer: u8, random: &mut Random) -> Judged<()> {
    let mut cursor = db.cursor();
    let key = story::slot(writer, random.next_u64());
    let forward = random.below(2) == 0;
    if forward {
        cursor.seek(&key)?;
    } else {
        cursor.seek_for_prev(&key)?;
    }
    let mut way = Vec::new();
    while let Some(here) = place(&cursor).filter(|_| way.len() < 40) {
        way.push(here);
        if forward {
            cursor.next()?;
        } else {
            cursor.prev()?;
        }
    }
    let Some((last, _)) = way.last() else {
        return Ok(Ok(()));
    };
    cursor.seek(last)?;
    for expected in way.iter().rev() {
        if place(&cursor).as_ref() != Some(expected) {
            let key = expected.0.escape_ascii();
            return Ok(Err(format!("the cursor did not return to {key}")));
        }
        if forward {
            cursor.prev()?;
        } else {
            cursor.next()?;
        }
    }
    Ok(Ok(()))
}

/// The state of a reader thread.
struct Reading<'a> {
    shared: &'a Shared,
    random: Random,
    kept: Option<Kept>,
    /// The last moment seen of each writer.
    seen: Vec<u64>,
}

impl Reading<'_> {
    /// Checks that `moment` is not older than the writes acknowledged or seen before.
    fn judge(&mut self, writer: u8, before: u64, moment: Moment) -> Result<(), String> {
        let seen = &mut self.seen[usize::from(writer)];
        if moment.last < before.max(*seen) {
            return Err(format!(
                "writer {writer}: {before} was acknowledged, {seen} seen, and now it is {moment:?}"
            ));
        }
        *seen = moment.first.max(*seen);
        Ok(())
    }

    fn keep(&mut self, writer: u8) -> Judged<Option<Moment>> {
        if let Some(kept) = &self.kept
            && let Err(why) = kept.check(&mut self.random)?
        {
            return Ok(Err(why));
        }
        self.kept = None;
        Ok(Kept::take(&self.shared.db, writer)?.map(|(kept, moment)| {
            self.kept = Some(kept);
            Some(moment)
        }))
    }

    fn one(&mut self, writer: u8) -> Judged<Option<Moment>> {
        let db = &self.shared.db;
        let found = |scan: Judged<(Entries, Moment)>| scan.map(|it| it.map(|(_, at)| Some(at)));
        match self.random.below(8) {
            0 => found(scan(&Source::Db(db), writer, Way::Forward)),
            1 => found(scan(&Source::Db(db), writer, Way::Backward)),
            2 => found(scan(&Source::Db(db), writer, Way::BothEnds)),
            3 => Ok(get_all(db, writer)?.map(Some)),
            4 => self.keep(writer),
            5 => Ok(there_and_back(db, writer, &mut self.random)?.map(|()| None)),
            _ => Ok(gets(db, writer, &mut self.random)?.map(|()| None)),
        }
    }
}

/// Reads in every way until the database is closed.
pub(crate) fn read(shared: &Shared, thread: u64) -> Ended {
    let mut reading = Reading {
        shared,
        random: Random::new(shared.seed ^ (thread + 1) << 32),
        kept: None,
        seen: vec![0; usize::from(shared.writers)],
    };
    loop {
        let writer = shared.any_writer(&mut reading.random);
        let before = shared.acknowledged(writer);
        match reading.one(writer) {
            Err(error) => return ended(&error),
            Ok(answer) => {
                if let Some(moment) = answer? {
                    reading.judge(writer, before, moment)?;
                }
            }
        }
    }
}
