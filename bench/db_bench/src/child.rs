//! The child process: one engine, one round, one list. It reads the plan from stdin and writes
//! events to stdout, one JSON object per line.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::OnceLock;

use bench_core::host::local_peers;
use bench_core::host::self_exe;
pub(crate) use bench_core::host::self_exe::CHILD_WORD as WORD;
use bench_core::measure::runner::Event;
use bench_core::workload::plan::{Plan, Program};
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::Deserialize as _;

use crate::engines::{self, Build, Trouble, programs};

/// Argument that makes a child print its mapped files.
const MAPS: &str = "--maps";

/// Argument that makes a child report the build of an engine.
const BUILD: &str = "--build";

/// The library of `--allocator`.
static ALLOCATOR: OnceLock<PathBuf> = OnceLock::new();

/// Preloads a library into every child from now on, after a test child has loaded it: the loader
/// ignores a library that it cannot find.
pub(crate) fn set_allocator(path: &Path) -> Result<(), String> {
    let path = ALLOCATOR.get_or_init(|| path.to_owned());
    let name = path.file_name().map(OsStr::to_string_lossy);
    let loaded = command(None, &[MAPS])
        .and_then(|mut command| command.output())
        .is_ok_and(|output| {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            name.is_some_and(|name| text.contains(&*name))
        });
    if loaded {
        Ok(())
    } else {
        Err(format!(
            "--allocator={}: the loader cannot find or load this library",
            path.display()
        ))
    }
}

/// Returns the command of a child with these arguments, of this program or another. The loader's
/// search path includes the unpacked libraries, so that their dependencies are found as well;
/// installed libraries come first.
pub(crate) fn command(program: Option<&Program>, words: &[&str]) -> io::Result<Command> {
    let mut command = Command::new(match program {
        Some(program) => program.path.clone(),
        None => self_exe::program()?,
    });
    command.arg(WORD).args(words);
    if let Some(path) = ALLOCATOR.get() {
        command.env("LD_PRELOAD", path);
    }
    if let Some(folder) = local_peers::libraries() {
        let mut path = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        if !path.is_empty() {
            path.push(":");
        }
        path.push(OsString::from(folder));
        command.env("LD_LIBRARY_PATH", path);
    }
    Ok(command)
}

/// Returns the build of an engine, as a child loads it, or why it cannot be loaded.
pub(crate) fn build(engine: &str, library: Option<&Path>) -> Result<Build, String> {
    let program = programs::of(engine);
    let engine = program.as_ref().map_or(engine, |program| &program.engine);
    let command = command(program.as_ref(), &[BUILD, engine]);
    let output = command.and_then(|mut command| command.args(library).output());
    let output = output.map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?
}

/// Runs the plan from stdin, or reports the build of an engine.
pub(crate) fn main(words: &[String]) -> ExitCode {
    // A killed parent takes its child with it, so that no child keeps using a directory that
    // another run uses. If the kernel lacks the feature, the child ends at its next line of output.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    if words.first().is_some_and(|word| word == MAPS) {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let _ = io::stdout().write_all(maps.as_bytes());
        return ExitCode::SUCCESS;
    }
    if let [_, engine, library @ ..] = words {
        let build = engines::build(engine, library.first().map(Path::new));
        let build = build.map_err(|fault| fault.to_string());
        // If nobody reads the output, there is nothing else to do.
        let _ = serde_json::to_writer(io::stdout(), &build);
        return ExitCode::SUCCESS;
    }
    let plan = match plan() {
        Ok(plan) => plan,
        Err(error) => {
            let reason = format!("it does not understand its plan, so build it again: {error}");
            send(&Event::Broken(reason));
            return ExitCode::FAILURE;
        }
    };
    let result = engines::run(&plan, &mut |event| send(&event));
    match result {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Trouble::Absent(fault)) => send(&Event::Unavailable(fault.to_string())),
        Err(Trouble::Broken(fault)) => send(&Event::Broken(fault.to_string())),
    }
    ExitCode::FAILURE
}

/// Reads the plan from stdin, and nothing after it: a reader is sent more.
fn plan() -> serde_json::Result<Plan> {
    Plan::deserialize(&mut serde_json::Deserializer::from_reader(
        io::stdin().lock(),
    ))
}

/// Sends one event. Exits if the parent has ended, because the run has no purpose then.
fn send(event: &Event) {
    let mut stdout = io::stdout().lock();
    let sent = serde_json::to_string(event)
        .map(|line| writeln!(stdout, "{line}").and_then(|()| stdout.flush()));
    if !matches!(sent, Ok(Ok(()))) {
        std::process::exit(1);
    }
}
