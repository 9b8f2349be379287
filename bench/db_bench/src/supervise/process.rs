//! A child process and its output.

use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use bench_core::host::directory;
use bench_core::host::exit_status::SIGKILL;
use bench_core::host::memory_group;
use bench_core::measure::runner::Event;
use bench_core::workload::plan::Plan;

use crate::child;

/// Interval at which a child is checked for having ended after its last event.
const LOOK: Duration = Duration::from_millis(2);

/// A running child. Dropping it kills the child and lists what it left in its directory.
pub(super) struct Process {
    child: Child,
    events: Receiver<Event>,
    db: PathBuf,
    /// The engine's name in results, if another program measures it under another one.
    engine: Option<String>,
}

impl Process {
    /// Starts a child, passes it the plan and parses its lines as events.
    pub(super) fn start(plan: &Plan) -> io::Result<Self> {
        let program = plan.program.as_ref();
        let text = match program {
            None => plan.to_text()?,
            Some(program) => Plan {
                engine: program.engine.clone(),
                ..plan.clone()
            }
            .to_text()?,
        };
        let mut child = child::command(program, &[])?
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A child that died immediately is detected because it sends no events.
            let _ = stdin.write_all(text.as_bytes());
        }
        let (sender, events) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || listen(stdout, &sender));
        }
        let db = plan.db.clone();
        Ok(Self {
            child,
            events,
            db,
            engine: program.map(|_| plan.engine.clone()),
        })
    }

    /// Returns the next event, if there is one within this time.
    pub(super) fn event(&self, patience: Duration) -> Result<Event, RecvTimeoutError> {
        let mut event = self.events.recv_timeout(patience)?;
        if let (Event::Row { record, .. }, Some(engine)) = (&mut event, &self.engine) {
            record.engine.clone_from(engine);
        }
        Ok(event)
    }

    /// Kills the child.
    pub(super) fn kill(&mut self) -> io::Result<ExitStatus> {
        // A child that has ended meanwhile cannot be killed.
        let _ = self.child.kill();
        self.child.wait()
    }

    /// Waits for the child to end for at most this long; then kills it and returns `None`. After
    /// the last event, libraries stop threads and release memory, and one may hang while doing so.
    pub(super) fn end(&mut self, limit: Duration) -> io::Result<Option<ExitStatus>> {
        let begun = Instant::now();
        while begun.elapsed() < limit {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            std::thread::park_timeout(LOOK);
        }
        self.kill().map(|_| None)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ended = self.kill();
        memory_group::remove_of(self.child.id());
        // Without the list, the directory is checked by file times.
        let _ = directory::leave(&self.db, self.child.id());
    }
}

/// Passes events on until there are no more. A line that is not an event was printed by a library,
/// in any encoding, and is dropped.
fn listen(stdout: impl Read, sender: &Sender<Event>) {
    let mut lines = BufReader::new(stdout).split(b'\n');
    while let Some(Ok(line)) = lines.next() {
        if let Ok(event) = serde_json::from_slice(&line)
            && sender.send(event).is_err()
        {
            return;
        }
    }
}

/// Returns whether a process was killed by SIGKILL.
pub(super) fn is_killed(status: ExitStatus) -> bool {
    status.signal() == Some(SIGKILL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_library_prints_is_passed_over() {
        let (sender, events) = mpsc::channel();
        let said = b"warning: \xff\xfe\n\n{\"begin\":3}\nno event\n\"end\"\n";
        listen(&said[..], &sender);
        drop(sender);
        let heard: Vec<Event> = events.iter().collect();
        assert!(
            matches!(heard[..], [Event::Begin(3), Event::End]),
            "{heard:?}"
        );
    }
}
