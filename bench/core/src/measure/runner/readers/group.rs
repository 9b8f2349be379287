//! The processes that read, as the one that writes sees them.

use std::io::{self, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::messages::{Answers, Message, OPENED, READY, SEEN};
use crate::fault::Fault;
use crate::host::self_exe;
use crate::measure::runner::events::Event;
use crate::workload::model::Model;
use crate::workload::plan::{Plan, Reader};

/// A process that reads. It is killed if the row fails.
struct Process {
    child: Child,
    /// `None` once the reader has to end.
    input: Option<ChildStdin>,
    output: ChildStdout,
}

fn fault(error: &io::Error) -> Fault {
    Fault::io("a process that reads", error)
}

fn no_pipe() -> io::Error {
    io::Error::other("it has no pipe")
}

impl Process {
    fn start(plan: &Plan, model: &[u8]) -> io::Result<Self> {
        let mut child = Command::new(self_exe::program()?)
            .arg(self_exe::CHILD_WORD)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or_else(no_pipe)?;
        let input = child.stdin.take();
        let mut process = Self {
            child,
            input,
            output,
        };
        process.send(serde_json::to_string(plan)?.as_bytes())?;
        process.send(model)?;
        Ok(process)
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.input.as_mut().ok_or_else(no_pipe)?.write_all(bytes)
    }

    fn pass_on(&mut self, message: Message) -> Result<(), Fault> {
        let bytes = message.map(u64::to_le_bytes);
        self.send(bytes.as_flattened()).or_else(|error| {
            // Its last words say more.
            self.expect(0)?;
            Err(fault(&error))
        })
    }

    /// Waits for an answer.
    fn expect(&mut self, answer: u8) -> Result<(), Fault> {
        let mut byte = [0];
        match self.output.read_exact(&mut byte) {
            Ok(()) if byte[0] == answer => return Ok(()),
            Ok(()) => {}
            Err(error) => return Err(fault(&error)),
        }
        // A process that fails reports an event.
        let mut text = byte.to_vec();
        self.output
            .read_to_end(&mut text)
            .map_err(|error| fault(&error))?;
        match serde_json::from_slice(&text) {
            Ok(Event::Broken(text) | Event::Unavailable(text)) => {
                Err(Fault::new(format!("a process that reads: {text}")))
            }
            _ => Err(Fault::new("a process that reads ended early")),
        }
    }

    /// Lets the reader end. Returns what it reports.
    fn end(mut self) -> Result<Answers, Fault> {
        self.input = None;
        let mut text = Vec::new();
        self.output
            .read_to_end(&mut text)
            .map_err(|error| fault(&error))?;
        self.child.wait().map_err(|error| fault(&error))?;
        match serde_json::from_slice(&text) {
            Ok(answers) => Ok(answers),
            Err(error) => match serde_json::from_slice(&text) {
                Ok(Event::Broken(text)) => Err(Fault::new(format!("a process that reads: {text}"))),
                _ => Err(Fault::new(format!("a process that reads: {error}"))),
            },
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A process that has ended cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The processes that read in a row.
pub(super) struct Group(Vec<Process>);

impl Group {
    /// Starts processes, with a seed each from the first on, and waits until each has the model.
    pub(super) fn start(
        plan: &Plan,
        reader: Reader,
        model: &Model,
        (seed, count): (u32, u32),
    ) -> Result<Self, Fault> {
        let words = model.to_bytes();
        let processes = (0..count).map(|index| {
            let plan = Plan {
                seed: seed + index,
                reader: Some(reader),
                ..plan.clone()
            };
            let mut process = Process::start(&plan, &words).map_err(|error| fault(&error))?;
            process.expect(READY)?;
            Ok(process)
        });
        processes.collect::<Result<_, _>>().map(Self)
    }

    /// Lets all open the store and, once each has read a key, start.
    pub(super) fn open_and_start(&mut self) -> Result<(), Fault> {
        let all = &mut self.0;
        all.iter_mut()
            .try_for_each(|process| process.pass_on(Message::default()))?;
        all.iter_mut()
            .try_for_each(|process| process.expect(OPENED))?;
        all.iter_mut()
            .try_for_each(|process| process.pass_on(Message::default()))
    }

    /// Waits until all have seen what was written.
    pub(super) fn see(&mut self, written: Message) -> Result<(), Fault> {
        self.0.iter_mut().try_for_each(|process| {
            process.pass_on(written)?;
            process.expect(SEEN)
        })
    }

    /// Lets all end.
    pub(super) fn end(self) -> Result<Vec<Answers>, Fault> {
        let mut all = self.0;
        // All at once: those left would read faster.
        for process in &mut all {
            process.input = None;
        }
        all.into_iter().map(Process::end).collect()
    }
}
