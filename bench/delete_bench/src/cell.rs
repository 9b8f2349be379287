//! One measurement: an engine, a workload, a number of threads, with or without a held cursor.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use bench_core::engine::{Cursor, Durability, Engine, Role, Session, Store};
use bench_core::fault::Fault;
use bench_core::workload::settings::{Memory, Settings};

use crate::workload::{Part, Workload};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) workload: Workload,
    pub(crate) threads: u32,
    /// Whether a cursor opened after the fill is held until the end, with its view of everything
    /// that is deleted afterwards.
    pub(crate) held: bool,
}

/// How much is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// Number of entries of all threads before the first deletion.
    pub(crate) entries: u64,
    /// Number of turns of all threads.
    pub(crate) turns: u64,
    /// Time after which the turns end early.
    pub(crate) time: Duration,
    /// Memory of the store.
    pub(crate) memory_bytes: u64,
    /// Whether dead entries are counted. The time of such a run means nothing.
    pub(crate) counts: bool,
}

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    /// Number of turns of all threads.
    pub(crate) turns: u64,
    /// Time from the first to the last turn, in nanoseconds, divided by the turns of one thread.
    pub(crate) turn_ns: f64,
    /// The same for the last tenth of the turns. The first ones may pay for all.
    pub(crate) late_ns: f64,
    /// Dead entries that cursors stepped over, if they were counted.
    pub(crate) passed: Option<u64>,
    /// Disk space after the last turn, in bytes.
    pub(crate) space_bytes: u64,
}

fn role(threads: u32) -> Role {
    Role {
        durability: Durability::Os,
        appending: false,
        empty: false,
        sessions: threads + 1,
        changing: true,
    }
}

/// Measures a cell in `dir`, which is empty.
///
/// # Errors
/// The engine's error, or a wrong answer.
pub(crate) fn measure<E: Engine>(
    engine: &E,
    cell: Cell,
    extent: &Extent,
    dir: &Path,
) -> Result<Outcome, Fault> {
    let settings = Settings {
        entries: extent.entries + 16 * extent.turns,
        ..Settings::plain(Memory::even(extent.memory_bytes))
    };
    let store = engine.open(dir, &settings)?;
    let share = extent.entries / u64::from(cell.threads);
    let mut parts: Vec<Part> = (0..cell.threads)
        .map(|thread| Part::new(cell.workload, thread, share))
        .collect();
    let mut session = store.session(Role::single(Durability::Os))?;
    for part in &mut parts {
        part.fill(&mut session)?;
    }
    drop(session);
    let mut holder = store.session(role(cell.threads))?;
    let mut held = None;
    if cell.held {
        let mut cursor = holder.cursor()?;
        cursor.first()?;
        held = Some(cursor);
    }
    if extent.counts {
        store.count_passed_entries();
    }
    let outcome = run(&store, cell, extent, parts, dir);
    drop(held);
    drop(holder);
    let closed = store.close();
    outcome.and_then(|outcome| closed.map(|()| outcome))
}

/// Runs the threads.
fn run<S: Store>(
    store: &S,
    cell: Cell,
    extent: &Extent,
    parts: Vec<Part>,
    dir: &Path,
) -> Result<Outcome, Fault> {
    let prepared = Barrier::new(parts.len());
    let passed_before = store.passed_entries();
    let turns = extent.turns / u64::from(cell.threads);
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = parts
            .into_iter()
            .map(|part| {
                let prepared = &prepared;
                scope.spawn(move || {
                    run_part(
                        store,
                        part,
                        role(cell.threads),
                        turns,
                        extent.time,
                        prepared,
                    )
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|_| Err(Fault::new("a thread panicked")))
            })
            .collect()
    });
    let passed = store.passed_entries().zip(passed_before);
    let (mut done, mut turn_ns, mut late_ns) = (0, 0.0_f64, 0.0_f64);
    for result in results {
        let steps = result?;
        let late = steps.len() - steps.len() / 10 - 1;
        done += steps.iter().map(|step| step.0).sum::<u64>();
        turn_ns = turn_ns.max(turn_time(&steps));
        late_ns = late_ns.max(turn_time(&steps[late..]));
    }
    Ok(Outcome {
        turns: done,
        turn_ns,
        late_ns,
        passed: passed.map(|(after, before)| after - before),
        space_bytes: space(dir)?,
    })
}

/// The turns between two looks at the clock: their number and time.
type Step = (u64, Duration);

/// Returns the time of a turn in nanoseconds.
fn turn_time(steps: &[Step]) -> f64 {
    let turns: u64 = steps.iter().map(|step| step.0).sum();
    let time: Duration = steps.iter().map(|step| step.1).sum();
    time.as_secs_f64() * 1e9 / turns.max(1) as f64
}

/// Runs the turns of one thread, at least one.
fn run_part<S: Store>(
    store: &S,
    mut part: Part,
    role: Role,
    turns: u64,
    time: Duration,
    prepared: &Barrier,
) -> Result<Vec<Step>, Fault> {
    let begun = store.session(role).and_then(|mut session| {
        part.prepare(&mut session)?;
        Ok(session)
    });
    // Every thread arrives here, also after an error.
    prepared.wait();
    let mut session = begun?;
    let start = Instant::now();
    let (mut steps, mut done, mut last) = (Vec::new(), 0, start);
    while steps.is_empty() || done < turns && last - start < time {
        let step = part.step(&mut session)?;
        let now = Instant::now();
        done += step;
        steps.push((step, now - last));
        last = now;
    }
    Ok(steps)
}

/// Returns the disk space of the files in a directory, without holes.
fn space(dir: &Path) -> Result<u64, Fault> {
    let failed = |error| Fault::io(format!("reading {}", dir.display()), &error);
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        // A file that the engine has just removed takes none.
        bytes += std::fs::metadata(path).map_or(0, |data| data.blocks() * 512);
    }
    Ok(bytes)
}
