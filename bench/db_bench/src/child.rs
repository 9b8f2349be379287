//! The child process: one engine, one round, one list. The plan comes in on stdin, events leave on
//! stdout, one JSON object a line.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use bench_core::plan::Plan;
use bench_core::runner::Event;

use crate::engines::{self, Trouble};

/// The word that makes this program a child; never given by a user.
pub(crate) const WORD: &str = "--child-of-db-bench";

/// Runs the plan on stdin.
pub(crate) fn main() -> ExitCode {
    let mut text = String::new();
    let plan: Plan = match std::io::stdin()
        .read_to_string(&mut text)
        .map(|_| serde_json::from_str(&text))
    {
        Ok(Ok(plan)) => plan,
        _ => return ExitCode::FAILURE,
    };
    let result = engines::run(&plan, &mut |event| send(&event));
    match result {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Trouble::Absent(fault)) => send(&Event::Unavailable(fault.to_string())),
        Err(Trouble::Broken(fault)) => send(&Event::Broken(fault.to_string())),
    }
    ExitCode::FAILURE
}

/// Sends one event; a parent that is gone needs none, and then there is nobody to run for.
fn send(event: &Event) {
    let mut stdout = std::io::stdout().lock();
    let sent = serde_json::to_string(event)
        .map(|line| writeln!(stdout, "{line}").and_then(|()| stdout.flush()));
    if !matches!(sent, Ok(Ok(()))) {
        std::process::exit(1);
    }
}
