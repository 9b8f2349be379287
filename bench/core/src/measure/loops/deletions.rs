//! The store of a row of turns: what is written and deleted first, and what a cursor must find.
//!
//! Each thread works in its own range of keys, between two keys that stay.

use std::ops::Range;

use super::task::{Task, position};
use crate::engine::{Cursor, Role, Session, Store};
use crate::fault::Fault;
use crate::measure::byte_sum::fold;
use crate::measure::meter::Meter;
use crate::workload::definition::{Action, Pattern};
use crate::workload::key::{self, KeyBuffer};
use crate::workload::model::Word;
use crate::workload::pool::ValueStream;

/// The keys of one thread: `from .. to` and `end` are present.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) start: u64,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) end: u64,
}

impl Part {
    /// Returns the part of a thread before the first deletion, with room for an entry of each turn.
    pub(super) fn new(task: &Task<'_>, thread: u32) -> Self {
        let share = (task.plan.num / u64::from(task.plan.threads)).max(1);
        let room = share + Task::ops(task.plan, task.workload);
        let start = u64::from(thread) * (room + 1);
        Self {
            start,
            from: start,
            to: start + share,
            end: start + room,
        }
    }

    /// Returns the keys that are deleted before the first turn.
    pub(super) const fn gone(&self, pattern: Pattern) -> Range<u64> {
        let quarter = (self.to - self.start) / 4;
        match pattern {
            Pattern::All => self.start..self.to,
            Pattern::Middle => self.start + quarter..self.start + quarter * 3,
            Pattern::Queue | Pattern::Stack | Pattern::Window => self.start..self.start,
        }
    }
}

/// Writes the entries of all threads in key order.
///
/// # Errors
/// The engine's error.
pub(crate) fn fill(task: &Task<'_>, session: &mut impl Session) -> Result<(), Fault> {
    let (mut key, mut values) = (task.pool.layout().buffer(), ValueStream::new(task.values));
    for part in (0..task.plan.threads).map(|thread| Part::new(task, thread)) {
        for index in part.start..=part.end {
            let at = position(index);
            if index < part.to || index == part.end {
                let (ordinal, value) = values.draw();
                session.put(key.set(index), value)?;
                task.model.store(at, task.words.word(ordinal));
            } else if task.model.load(at).is_present() {
                // Left by an earlier repetition of the row.
                session.delete(key.set(index))?;
                task.model.store(at, Word::ABSENT);
            }
        }
    }
    Ok(())
}

/// Opens the session of a thread. In a row of turns, deletes what is deleted before the first turn.
pub(super) fn session<'s, S: Store>(
    store: &'s S,
    task: &Task<'_>,
    role: Role,
    thread: u32,
) -> Result<S::Session<'s>, Fault> {
    let mut session = store.session(role)?;
    if let Action::Turns { pattern, .. } = task.workload.action {
        let mut key = task.pool.layout().buffer();
        for index in Part::new(task, thread).gone(pattern) {
            session.delete(key.set(index))?;
            task.model.store(position(index), Word::ABSENT);
        }
    }
    Ok(session)
}

/// Checks the entry that a cursor is at.
pub(super) fn check(
    task: &Task<'_>,
    cursor: &mut impl Cursor,
    index: u64,
    (key, meter): (&mut KeyBuffer, &mut Meter),
) -> Result<(), Fault> {
    cursor.check()?;
    let (valid, word) = (cursor.valid(), task.model.load(position(index)));
    let same = valid && cursor.key() == key.set(index);
    let answer = if valid { fold(cursor.value()?) } else { 0 };
    if !task.judged || same && task.model.allows(word, word, answer) {
        return Ok(());
    }
    let found = match (valid, same) {
        (false, _) => "no entry".to_owned(),
        (true, false) => key::show(cursor.key()),
        (true, true) => "another value".to_owned(),
    };
    meter.wrong(|| {
        let wanted = task.model.layout().show(index);
        format!("a cursor found {found} where {wanted} is expected")
    });
    Ok(())
}
