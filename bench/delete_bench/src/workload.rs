//! The workloads: what one thread prepares, and what it does in each turn.
//!
//! Each thread works in its own key range, between two keys that stay. It knows what every cursor
//! must find, so a wrong answer ends the run.

use bench_core::engine::{Cursor, Session};
use bench_core::fault::Fault;

/// Length of a value, as in the suite of 2011.
const VALUE: [u8; 100] =
    *b"a value of one hundred bytes, half of which a codec can save if it tries: \
    ..........................";
/// Number of turns between two looks at the clock.
const STEP: u64 = 10;
/// Number of entries that a stack grows and shrinks by.
const BURST: u64 = 1000;
/// Number of entries that a window is read for.
const WINDOW_READ: u64 = 10;

/// A pattern of deletions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workload {
    /// A turn adds an entry after the last one, and finds and deletes the first.
    Queue,
    /// A turn adds an entry after the last one, and finds and deletes the last, in bursts.
    Stack,
    /// A turn adds an entry after the last one, deletes the oldest, and reads the ten oldest.
    Window,
    /// All entries are deleted in key order. A turn writes one elsewhere and seeks the first.
    DeleteAll,
    /// The middle half of the entries is deleted key by key. A turn writes an entry elsewhere and
    /// seeks the first key of that half.
    DeleteRange,
}

impl Workload {
    /// All workloads.
    pub(crate) const ALL: [Workload; 5] = [
        Workload::Queue,
        Workload::Stack,
        Workload::Window,
        Workload::DeleteAll,
        Workload::DeleteRange,
    ];

    /// Returns the name in flags and results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Workload::Queue => "queue",
            Workload::Stack => "stack",
            Workload::Window => "window",
            Workload::DeleteAll => "deleteall",
            Workload::DeleteRange => "deleterange",
        }
    }

    /// Returns the workload with this name.
    pub(crate) fn named(name: &str) -> Option<Workload> {
        Workload::ALL
            .into_iter()
            .find(|workload| workload.name() == name)
    }

    /// Returns whether the deletions are the preparation, so that a turn costs only the search
    /// past them.
    #[cfg(test)]
    pub(crate) fn deletes_before(self) -> bool {
        matches!(self, Workload::DeleteAll | Workload::DeleteRange)
    }
}

/// One thread's part of a workload.
#[derive(Debug)]
pub(crate) struct Part {
    workload: Workload,
    thread: u32,
    /// Number of entries before the first turn.
    entries: u64,
    /// First and one after the last entry that is there.
    from: u64,
    to: u64,
    key: Vec<u8>,
}

impl Part {
    pub(crate) fn new(workload: Workload, thread: u32, entries: u64) -> Part {
        Part {
            workload,
            thread,
            entries,
            from: 0,
            to: entries,
            key: Vec::new(),
        }
    }

    /// Sets `self.key` to a key of 16 digits of this thread's range.
    fn name(&mut self, number: u64) -> &[u8] {
        use std::io::Write;
        self.key.clear();
        // A vector takes every byte.
        let _ = write!(self.key, "{:04}{number:012}", self.thread);
        &self.key
    }

    /// Returns the key after all others of this thread's range.
    fn end(&self) -> Vec<u8> {
        format!("{:04}~", self.thread).into_bytes()
    }

    fn put(&mut self, session: &mut impl Session, number: u64) -> Result<(), Fault> {
        session.put(self.name(number), &VALUE)
    }

    fn delete(&mut self, session: &mut impl Session, number: u64) -> Result<(), Fault> {
        session.delete(self.name(number))
    }

    /// Writes the entries that are there before the store is measured.
    pub(crate) fn fill(&mut self, session: &mut impl Session) -> Result<(), Fault> {
        session.put(&self.end(), &VALUE)?;
        for number in 0..self.entries {
            self.put(session, number)?;
        }
        Ok(())
    }

    /// Deletes what is deleted before the first turn.
    pub(crate) fn prepare(&mut self, session: &mut impl Session) -> Result<(), Fault> {
        let deleted = match self.workload {
            Workload::DeleteAll => 0..self.entries,
            Workload::DeleteRange => self.entries / 4..self.entries / 4 * 3,
            _ => return Ok(()),
        };
        for number in deleted {
            self.delete(session, number)?;
        }
        Ok(())
    }

    /// Executes some turns, and returns how many.
    pub(crate) fn step(&mut self, session: &mut impl Session) -> Result<u64, Fault> {
        if self.workload == Workload::Stack {
            return self.burst(session);
        }
        for _ in 0..STEP {
            match self.workload {
                Workload::Queue => {
                    self.push(session)?;
                    self.seek_first(session, 1)?;
                    self.drop_first(session)?;
                }
                Workload::Window => {
                    self.push(session)?;
                    self.drop_first(session)?;
                    self.seek_first(session, WINDOW_READ)?;
                }
                Workload::DeleteAll => {
                    let end = self.end();
                    session.put(&end, &VALUE)?;
                    self.seek(session, 0, Some(&end))?;
                }
                Workload::DeleteRange => {
                    self.put(session, self.entries - 1)?;
                    let found = self.entries / 4 * 3;
                    let found = self.name(found).to_vec();
                    self.seek(session, self.entries / 4, Some(&found))?;
                }
                Workload::Stack => {}
            }
        }
        Ok(STEP)
    }

    fn push(&mut self, session: &mut impl Session) -> Result<(), Fault> {
        self.put(session, self.to)?;
        self.to += 1;
        Ok(())
    }

    fn drop_first(&mut self, session: &mut impl Session) -> Result<(), Fault> {
        self.delete(session, self.from)?;
        self.from += 1;
        Ok(())
    }

    /// Adds and removes entries at the end.
    fn burst(&mut self, session: &mut impl Session) -> Result<u64, Fault> {
        for _ in 0..BURST {
            self.push(session)?;
        }
        let end = self.end();
        for _ in 0..BURST {
            self.to -= 1;
            let expected = self.name(self.to).to_vec();
            let mut cursor = session.cursor()?;
            cursor.seek(&end)?;
            if cursor.valid() {
                cursor.prev()?;
            }
            check(&cursor, Some(&expected))?;
            drop(cursor);
            session.delete(&expected)?;
        }
        Ok(BURST)
    }

    /// Seeks the first key of the range and reads `count` entries from there.
    fn seek_first(&mut self, session: &mut impl Session, count: u64) -> Result<(), Fault> {
        let start = self.name(0).to_vec();
        let mut cursor = session.cursor()?;
        cursor.seek(&start)?;
        for number in self.from..self.to.min(self.from + count) {
            if number > self.from {
                cursor.next()?;
            }
            check(&cursor, Some(self.name(number)))?;
            let value = cursor.value()?;
            if value != VALUE {
                return Err(Fault::new("a cursor returned a wrong value"));
            }
        }
        Ok(())
    }

    /// Seeks an entry that was deleted, and checks which one is found.
    fn seek(
        &mut self,
        session: &mut impl Session,
        number: u64,
        found: Option<&[u8]>,
    ) -> Result<(), Fault> {
        let mut cursor = session.cursor()?;
        cursor.seek(self.name(number))?;
        check(&cursor, found)
    }
}

/// Checks the key of a cursor.
fn check(cursor: &impl Cursor, expected: Option<&[u8]>) -> Result<(), Fault> {
    cursor.check()?;
    let found = cursor.valid().then(|| cursor.key());
    if found == expected {
        return Ok(());
    }
    let shown = |key: Option<&[u8]>| {
        key.map_or_else(
            || "no entry".to_owned(),
            |key| key.escape_ascii().to_string(),
        )
    };
    Err(Fault::new(format!(
        "a cursor found {} where {} is expected",
        shown(found),
        shown(expected)
    )))
}
