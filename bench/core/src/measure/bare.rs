//! Bare loops: what memory and files allow, without a store.
//!
//! A get of a store cannot be faster than the loads in it that depend on each other, nor a fill
//! than its bytes reach a log and then a table.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use crate::fault::Fault;
use crate::measure::depth::Depth;
use crate::measure::meter::Meter;
use crate::workload::definition::{Action, Workload};
use crate::workload::plan::Plan;
use crate::workload::random::mix;

/// Bytes of a write to a file.
const PIECE: usize = 1 << 16;

/// What a bare loop needs, made before its clock runs.
#[derive(Debug)]
pub enum Bare {
    /// Nothing.
    Nothing,
    /// The file of `depth`.
    Depth(Depth),
    /// The memory of `chase1` to `chase3`.
    Chase(Chase),
    /// The files of `amp1` and `amp2`.
    Amp(Amp),
}

impl Bare {
    /// Makes what a row needs.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn prepare(plan: &Plan, workload: &Workload) -> Result<Self, Fault> {
        Ok(match workload.action {
            Action::Depth => Self::Depth(Depth::prepare(plan)?),
            Action::Chase(_) => Self::Chase(Chase::prepare(plan)),
            Action::Amp(times) => Self::Amp(Amp::prepare(plan, times)),
            _ => Self::Nothing,
        })
    }
}

/// Words that take as much memory as the entries together, each the start of a random one.
#[derive(Debug)]
pub struct Chase {
    words: Vec<u64>,
}

impl Chase {
    /// Fills the memory.
    fn prepare(plan: &Plan) -> Self {
        let bytes = plan.num * entry_bytes(plan) as u64;
        Self {
            words: (0..(bytes / 8).max(1)).map(mix).collect(),
        }
    }

    /// Loads `loads` words in each operation, each where the one before says. An operation begins
    /// with the last word of the previous one, so that none overlap.
    pub(crate) fn run(&self, loads: u32, thread: u32, meter: &mut Meter) -> String {
        let (mut word, mut step) = (0, u64::from(thread) << 32);
        meter.start();
        while meter.wants() {
            for _ in 0..loads {
                word = self.words[self.place(word, step)];
                step += 1;
            }
            meter.op();
        }
        meter.stop();
        black_box(word);
        let megabytes = self.words.len() * 8 / 1_000_000;
        format!("({loads} dependent loads per op, {megabytes} MB)")
    }

    /// Returns where the next load is. Without the step, the places would soon repeat: a random map
    /// of n places onto themselves has cycles of about the square root of n.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "below the length")]
    fn place(&self, word: u64, step: u64) -> usize {
        ((u128::from(mix(word ^ step)) * self.words.len() as u128) >> 64) as usize
    }
}

/// Files next to the database, which are removed when this is dropped.
#[derive(Debug)]
pub struct Amp {
    paths: Vec<PathBuf>,
    entry: Vec<u8>,
}

impl Amp {
    /// Names `times` files for each thread.
    fn prepare(plan: &Plan, times: u32) -> Self {
        let path = |number: u32| plan.db.with_extension(format!("amp{number}"));
        Self {
            paths: (0..plan.threads * times).map(path).collect(),
            entry: vec![b'x'; entry_bytes(plan)],
        }
    }

    /// Appends an entry to each of the thread's files per operation.
    ///
    /// # Errors
    /// Errors of the file system.
    pub(crate) fn run(&self, times: u32, thread: u32, meter: &mut Meter) -> Result<String, Fault> {
        let own = thread as usize * times as usize..(thread as usize + 1) * times as usize;
        let paths = &self.paths[own];
        let fault = |error: std::io::Error| Fault::io(paths[0].display(), &error);
        let files = paths.iter().map(File::create);
        let mut files = files
            .map(|file| Ok(BufWriter::with_capacity(PIECE, file?)))
            .collect::<Result<Vec<_>, _>>()
            .map_err(fault)?;
        meter.start();
        while meter.wants() {
            for file in &mut files {
                file.write_all(black_box(&self.entry)).map_err(fault)?;
            }
            meter.op();
        }
        for file in &mut files {
            file.flush().map_err(fault)?;
        }
        meter.stop();
        meter.bytes = meter.done() * self.entry.len() as u64 * u64::from(times);
        Ok(format!("({times} times {} bytes per op)", self.entry.len()))
    }
}

impl Drop for Amp {
    fn drop(&mut self) {
        for path in &self.paths {
            // A thread that failed may not have made it.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn entry_bytes(plan: &Plan) -> usize {
    plan.key_bytes() + plan.value_size
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn loads_go_to_all_of_the_memory() {
        let plan = testing::plan(std::path::Path::new("db"), 100_000, &[]);
        let chase = Chase::prepare(&plan);
        let (mut word, mut places) = (0, Vec::new());
        for step in 0..100_000 {
            let place = chase.place(word, step);
            places.push(place);
            word = chase.words[place];
        }
        places.sort_unstable();
        places.dedup();
        assert!(places.len() > 95_000, "{} places", places.len());
    }
}
