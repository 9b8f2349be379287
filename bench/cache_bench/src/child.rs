//! Measuring processes: one for each cache and round, so that no run inherits memory from another
//! and a crash loses only one row.

use std::io::{self, Read as _, Write as _};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use bench_core::host::exit_status::describe;
use bench_core::host::self_exe;

use crate::outcome::{Outcome, Status};
use crate::plan::Plan;
use crate::run;
use crate::subject;

/// The argument that makes this program a child process; never given by a user.
pub(crate) const WORD: &str = "--child-of-cache-bench";

/// Maximum number of bytes read from a program's output.
const OUTPUT_MAX: u64 = 16 << 20;

/// Runs the plan on stdin and writes the result to stdout.
pub(crate) fn main() -> ExitCode {
    let Ok(plan) = serde_json::from_reader::<_, Plan>(io::stdin().lock()) else {
        return ExitCode::FAILURE;
    };
    let outcome = run::run(&plan).unwrap_or_else(|reason| {
        Outcome::of(&plan, subject::title(&plan.cache)).ended(Status::Failed, reason)
    });
    let sent = serde_json::to_string(&outcome).map(|line| writeln!(io::stdout(), "{line}"));
    match sent {
        Ok(Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Runs a plan in a child process.
pub(crate) fn measure(plan: &Plan, timeout: Duration) -> Outcome {
    let run = || -> Result<Outcome, String> {
        let input = serde_json::to_string(plan).map_err(|error| error.to_string())?;
        let program = self_exe::program();
        let program = program.map_err(|error| format!("starting a child process: {error}"))?;
        let output = complete(Command::new(program).arg(WORD), &input, timeout)?;
        serde_json::from_str(&output).map_err(|error| format!("the child's result: {error}"))
    };
    run().unwrap_or_else(|reason| {
        Outcome::of(plan, subject::title(&plan.cache)).ended(Status::Failed, reason)
    })
}

/// Runs a program to completion and returns its stdout.
pub(crate) fn complete(
    command: &mut Command,
    input: &str,
    timeout: Duration,
) -> Result<String, String> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("starting {}: {error}", command.get_program().display()))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A child that died immediately is detected by its missing output.
        let _ = stdin.write_all(input.as_bytes());
    }
    let (sender, receiver) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = stdout.take(OUTPUT_MAX).read_to_end(&mut bytes);
            // After the time limit no thread receives the result.
            let _ = sender.send(read.map(|_| String::from_utf8_lossy(&bytes).into_owned()));
        });
    }
    match receiver.recv_timeout(timeout) {
        Ok(Ok(output)) => ended(&mut child).map(|()| output),
        Ok(Err(error)) => ended(&mut child).and(Err(format!("reading its output: {error}"))),
        Err(RecvTimeoutError::Disconnected) => ended(&mut child).and(Err("no output".to_owned())),
        Err(RecvTimeoutError::Timeout) => {
            // The child may have just exited.
            let _ = child.kill();
            let _ = child.wait();
            Err(format!("time limit of {} s (--timeout)", timeout.as_secs()))
        }
    }
}

fn ended(child: &mut Child) -> Result<(), String> {
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(describe(status)),
        Err(error) => Err(error.to_string()),
    }
}
