//! Blocks: sorted entries whose keys leave out what they share with the key before.
//!
//! A block ends with the offsets of its *restart points*, entries whose keys are whole, and their
//! number. The entries from one restart point to the next are a *run*.
//!
//! A cursor keeps, for each entry of the run that it has passed, the end of the key that the next
//! entry replaced. It can thus go back in constant time, and a backward scan costs as much as a
//! forward one however long the runs are. These ends are together no longer than the run.

#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use cairndb_base::coding::get_u32;
use cairndb_base::{Error, Result};

use crate::input::Input;

/// How often the bytes of a run may be repeated by the keys that share them: as many entries as any
/// writer puts into a run. Without a bound a small block could spell out keys of any total length.
const SHARING_MAX: usize = 4096;

/// The decoded contents of a block, whose restart points are checked to be ascending.
#[derive(Debug)]
pub(crate) struct Block {
    bytes: Vec<u8>,
    /// Where the entries end.
    end: usize,
    /// The number of runs; 0 if there are no entries.
    runs: usize,
}

impl Block {
    /// Checks the restart points.
    ///
    /// # Errors
    /// `Corruption` if they do not lie within the block, in ascending order from 0.
    pub(crate) fn new(bytes: Vec<u8>) -> Result<Block> {
        let malformed = |expected: &'static str| {
            Error::corruption("the restart points of a block are malformed").expected(expected)
        };
        let count_at = bytes
            .len()
            .checked_sub(4)
            .ok_or_else(|| malformed("4 bytes or more"))?;
        let count = get_u32(&bytes, count_at).and_then(|count| usize::try_from(count).ok());
        let restarts = count.and_then(|count| count.checked_mul(4));
        let end = restarts.and_then(|bytes| count_at.checked_sub(bytes));
        let (Some(runs), Some(end)) = (count, end) else {
            return Err(malformed("fewer restart points than fit the block"));
        };
        if u32::try_from(end).is_err() {
            return Err(malformed("a block of less than 4 GiB"));
        }
        let mut block = Block { bytes, end, runs };
        if end == 0 {
            block.runs = 0;
            return Ok(block);
        }
        let ascending =
            (1..runs).all(|run| block.restart(run) > block.restart(run.saturating_sub(1)));
        let last = runs.checked_sub(1).map(|last| block.restart(last));
        if block.restart(0) != 0 || !ascending || last.is_none_or(|last| last >= end) {
            return Err(malformed("ascending offsets of entries, from 0"));
        }
        Ok(block)
    }

    /// Where a run begins; after the last one, where the entries end.
    fn restart(&self, run: usize) -> usize {
        if run >= self.runs {
            return self.end;
        }
        let at = run.saturating_mul(4).saturating_add(self.end);
        get_u32(&self.bytes, at)
            .and_then(|at| usize::try_from(at).ok())
            .unwrap_or(self.end)
    }

    /// The entry at an offset.
    fn entry(&self, at: usize) -> Result<EntryRange> {
        let entries = self.bytes.get(..self.end).unwrap_or_default();
        let mut input = Input::at(entries, at);
        let shared = input.varint32("the length of a shared prefix")?;
        let own = input.varint32("the length of a key")?;
        let value = input.varint32("the length of a value")?;
        let key_at = input.position();
        let ends = |at: usize, len: u32| at.checked_add(usize::try_from(len).ok()?);
        let value_at = ends(key_at, own);
        let next = value_at
            .and_then(|at| ends(at, value))
            .filter(|next| *next <= self.end);
        let (Some(value_at), Some(next)) = (value_at, next) else {
            return Err(input.error("a key and a value within the block"));
        };
        Ok(EntryRange {
            shared,
            key: key_at..value_at,
            value: value_at..next,
        })
    }

    fn part(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }
}

/// Where the parts of an entry lie.
#[derive(Clone, Debug, Default)]
struct EntryRange {
    /// Bytes that the key shares with the one before.
    shared: u32,
    /// The rest of the key.
    key: Range<usize>,
    /// The value, at whose end the next entry begins.
    value: Range<usize>,
}

/// An entry of the current run that the cursor has passed.
#[derive(Clone, Copy, Debug)]
struct Passed {
    at: u32,
    /// Bytes of its key that the next one shares.
    shared: u32,
    /// Where the rest of its key begins in `ends`.
    end_at: u32,
}

/// A position in a block.
#[derive(Clone, Debug)]
pub(crate) struct BlockCursor {
    block: Arc<Block>,
    valid: bool,
    run: usize,
    /// Where the current entry begins.
    at: usize,
    /// Where the next one does.
    next: usize,
    key: Vec<u8>,
    value: Range<usize>,
    passed: Vec<Passed>,
    ends: Vec<u8>,
    /// Bytes of all keys of this run so far, each whole.
    key_bytes: usize,
}

impl BlockCursor {
    /// A cursor that stands on no entry.
    pub(crate) fn new(block: Arc<Block>) -> BlockCursor {
        BlockCursor {
            block,
            valid: false,
            run: 0,
            at: 0,
            next: 0,
            key: Vec::new(),
            value: 0..0,
            passed: Vec::new(),
            ends: Vec::new(),
            key_bytes: 0,
        }
    }

    pub(crate) fn valid(&self) -> bool {
        self.valid
    }

    /// The key of the current entry.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// The value of the current entry.
    pub(crate) fn value(&self) -> &[u8] {
        self.block.part(self.value.clone())
    }

    pub(crate) fn seek_to_first(&mut self) -> Result<()> {
        self.enter_run(0)
    }

    pub(crate) fn seek_to_last(&mut self) -> Result<()> {
        match self.block.runs.checked_sub(1) {
            Some(last) => self.enter_end_of_run(last),
            None => self.enter_run(0),
        }
    }

    /// Goes to the first entry that does not compare as less than what is sought.
    pub(crate) fn seek(&mut self, compare: impl Fn(&[u8]) -> Result<Ordering>) -> Result<()> {
        self.valid = false;
        // The last run whose first key is less, or the first run.
        let (mut low, mut high) = (0, self.block.runs.saturating_sub(1));
        while low < high {
            let middle = low.saturating_add(high.saturating_sub(low).div_ceil(2));
            let entry = self.block.entry(self.block.restart(middle))?;
            if compare(self.block.part(entry.key))?.is_lt() {
                low = middle;
            } else {
                high = middle.saturating_sub(1);
            }
        }
        self.enter_run(low)?;
        while self.valid && compare(&self.key)?.is_lt() {
            self.next()?;
        }
        Ok(())
    }

    /// Goes to the next entry.
    pub(crate) fn next(&mut self) -> Result<()> {
        debug_assert!(self.valid, "a step from no entry");
        let run_end = self.block.restart(self.run.saturating_add(1));
        if self.next == run_end {
            return self.enter_run(self.run.saturating_add(1));
        }
        self.step_in_run()
    }

    /// Goes to the previous entry.
    pub(crate) fn prev(&mut self) -> Result<()> {
        debug_assert!(self.valid, "a step from no entry");
        let Some(passed) = self.passed.pop() else {
            self.valid = false;
            let before = self.run.checked_sub(1);
            return before.map_or(Ok(()), |run| self.enter_end_of_run(run));
        };
        let end_at = index(passed.end_at);
        self.key.truncate(index(passed.shared));
        self.key
            .extend_from_slice(self.ends.get(end_at..).unwrap_or_default());
        self.ends.truncate(end_at);
        self.at = index(passed.at);
        let entry = self.block.entry(self.at)?;
        self.next = entry.value.end;
        self.value = entry.value;
        Ok(())
    }

    /// Goes to the first entry of a run; to none after the last run.
    fn enter_run(&mut self, run: usize) -> Result<()> {
        self.valid = false;
        self.passed.clear();
        self.ends.clear();
        self.key.clear();
        self.key_bytes = 0;
        if run >= self.block.runs {
            return Ok(());
        }
        self.run = run;
        self.at = self.block.restart(run);
        let entry = self.block.entry(self.at)?;
        if entry.shared != 0 {
            return Err(Error::corruption("the key at a restart point is not whole")
                .expected("0 shared bytes")
                .found(entry.shared));
        }
        self.enter(entry)
    }

    fn enter_end_of_run(&mut self, run: usize) -> Result<()> {
        self.enter_run(run)?;
        let run_end = self.block.restart(run.saturating_add(1));
        while self.valid && self.next != run_end {
            self.step_in_run()?;
        }
        Ok(())
    }

    /// Goes to the next entry of this run.
    fn step_in_run(&mut self) -> Result<()> {
        self.valid = false;
        let entry = self.block.entry(self.next)?;
        let shared = index(entry.shared);
        let Some(end) = self.key.get(shared..) else {
            return Err(
                Error::corruption("a key shares more than the key before it has")
                    .expected(format_args!("at most {} bytes", self.key.len()))
                    .found(format_args!("{shared} bytes")),
            );
        };
        self.passed.push(Passed {
            at: narrow(self.at),
            shared: entry.shared,
            end_at: narrow(self.ends.len()),
        });
        self.ends.extend_from_slice(end);
        self.key.truncate(shared);
        self.at = self.next;
        self.enter(entry)
    }

    /// Makes `entry`, which begins at `at`, the current one. `key` holds what it shares.
    fn enter(&mut self, entry: EntryRange) -> Result<()> {
        let run_end = self.block.restart(self.run.saturating_add(1));
        if entry.value.end > run_end {
            return Err(Error::corruption(
                "an entry reaches over the next restart point",
            ));
        }
        self.key.extend_from_slice(self.block.part(entry.key));
        self.key_bytes = self.key_bytes.saturating_add(self.key.len());
        let run_bytes = run_end.saturating_sub(self.block.restart(self.run));
        if self.key_bytes > run_bytes.saturating_mul(SHARING_MAX) {
            return Err(
                Error::corruption("the keys of a block share more than any writer's")
                    .expected(format_args!(
                        "at most {SHARING_MAX} times {run_bytes} bytes"
                    ))
                    .found(format_args!("{} bytes", self.key_bytes)),
            );
        }
        self.next = entry.value.end;
        self.value = entry.value;
        self.valid = true;
        Ok(())
    }
}

/// An offset in a block, which is shorter than 4 GiB.
fn narrow(at: usize) -> u32 {
    u32::try_from(at).expect("a block is shorter than 4 GiB")
}

fn index(at: u32) -> usize {
    usize::try_from(at).expect("offsets fit memory")
}

#[cfg(test)]
mod tests;
