//! Runs one plan in a child process and survives whatever happens to it.
//!
//! A child that dies or exceeds the time limit costs the row it was in: the row is reported as
//! failed, and another child goes on behind it, first doing again, unreported, what earlier rows had
//! done to the database.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use bench_core::line;
use bench_core::plan::Plan;
use bench_core::record::{Record, Status};
use bench_core::runner::Event;

use crate::child;

/// How the list of a plan ended.
#[derive(Debug, PartialEq)]
pub(crate) enum Ending {
    /// Every row was reached.
    Complete,
    /// The engine is not there.
    Unavailable(String),
    /// The store could not be opened or closed.
    Broken(String),
}

/// How one child ended.
enum ChildEnding {
    Told(Ending),
    /// It went without a word, in this entry of the list if any.
    Lost {
        entry: Option<usize>,
        reason: String,
    },
}

/// Runs a plan to its end, through as many children as it takes.
pub(crate) fn run(plan: &Plan, row_timeout: Duration, sink: &mut dyn FnMut(Event)) -> Ending {
    let mut plan = plan.clone();
    loop {
        match run_child(&plan, row_timeout, sink) {
            ChildEnding::Told(ending) => return ending,
            ChildEnding::Lost {
                entry: None,
                reason,
            } => return Ending::Broken(reason),
            ChildEnding::Lost {
                entry: Some(entry),
                reason,
            } => {
                sink(lost_row(&plan, entry, &reason));
                plan.lost.push(entry);
                plan.resume_at = entry + 1;
                if plan.benchmarks[plan.resume_at..]
                    .iter()
                    .all(String::is_empty)
                {
                    return Ending::Complete;
                }
            }
        }
    }
}

/// The row a child was lost in.
fn lost_row(plan: &Plan, entry: usize, reason: &str) -> Event {
    let name = plan.benchmarks[entry].split('[').next().unwrap_or_default();
    let earlier = plan.benchmarks[..entry]
        .iter()
        .filter(|other| other.split('[').next() == Some(name))
        .count();
    let record = Record {
        engine: plan.engine.clone(),
        suite: plan.suite.clone(),
        section: plan.section.clone(),
        workload: name.to_owned(),
        instance: u32::try_from(earlier + 1).unwrap_or(u32::MAX),
        round: plan.round,
        status: Status::Failed,
        reason: Some(reason.to_owned()),
        memory_bytes: Some(plan.memory.total_bytes),
        ..Record::default()
    };
    Event::Row {
        text: format!("{}\n", line::failed(name, reason)),
        histogram: String::new(),
        record: Box::new(record),
    }
}

fn run_child(plan: &Plan, row_timeout: Duration, sink: &mut dyn FnMut(Event)) -> ChildEnding {
    let (mut child, events) = match start(plan) {
        Ok(started) => started,
        Err(error) => {
            return ChildEnding::Told(Ending::Broken(format!("starting a child process: {error}")));
        }
    };
    // Entries before the one to resume at are done again without a word: each gets its time.
    let replays = u32::try_from(plan.resume_at).unwrap_or(u32::MAX - 1) + 1;
    let mut deadline = Instant::now() + row_timeout.saturating_mul(replays);
    let mut entry = None;
    loop {
        match events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Event::Begin(index)) => {
                entry = Some(index);
                deadline = Instant::now() + row_timeout;
                sink(Event::Begin(index));
            }
            Ok(Event::End) => {
                let _ = child.wait();
                return ChildEnding::Told(Ending::Complete);
            }
            Ok(Event::Unavailable(reason)) => {
                let _ = child.wait();
                return ChildEnding::Told(Ending::Unavailable(reason));
            }
            Ok(Event::Broken(reason)) => {
                let _ = child.wait();
                return ChildEnding::Told(Ending::Broken(reason));
            }
            Ok(event) => {
                if matches!(event, Event::Row { .. }) {
                    deadline = Instant::now() + row_timeout;
                }
                sink(event);
            }
            Err(RecvTimeoutError::Timeout) => {
                let _ = child.kill();
                let _ = child.wait();
                let reason = format!("time limit of {} s", row_timeout.as_secs());
                return ChildEnding::Lost { entry, reason };
            }
            Err(RecvTimeoutError::Disconnected) => {
                let reason = child
                    .wait()
                    .map_or_else(|error| error.to_string(), describe);
                return ChildEnding::Lost { entry, reason };
            }
        }
    }
}

fn describe(status: ExitStatus) -> String {
    status.signal().map_or_else(
        || {
            format!(
                "the process ended with status {}",
                status.code().unwrap_or(-1)
            )
        },
        |signal| format!("the process was ended by signal {signal}"),
    )
}

/// Starts a child, hands it the plan and turns its lines into events.
fn start(plan: &Plan) -> std::io::Result<(Child, Receiver<Event>)> {
    let text = serde_json::to_string(plan)?;
    let mut child = child::command(&[])?
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A child that died at once is found by its silence.
        let _ = stdin.write_all(text.as_bytes());
    }
    let (sender, receiver) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // A line that is no event comes from a library that prints; it is not ours to show.
                if let Ok(event) = serde_json::from_str(&line)
                    && sender.send(event).is_err()
                {
                    return;
                }
            }
        });
    }
    Ok((child, receiver))
}
