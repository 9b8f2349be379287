//! The child process: one engine, one round, one list. It reads the plan from stdin and writes
//! events to stdout, one JSON object per line.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::OnceLock;

use bench_core::host::library::Library;
use bench_core::host::local_peers;
use bench_core::host::self_exe;
use bench_core::measure::runner::Event;
use bench_core::workload::plan::Plan;
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::engines::{self, Trouble};

/// First argument that makes this program a child; not for users.
pub(crate) const WORD: &str = "--child-of-db-bench";

/// Argument that makes a child print its mapped files.
const MAPS: &str = "--maps";

/// Argument that makes a child report the version of an engine and the file of its library.
const LOADED: &str = "--loaded";

/// The library of `--allocator`.
static ALLOCATOR: OnceLock<PathBuf> = OnceLock::new();

/// Preloads a library into every child from now on, after a test child has loaded it: the loader
/// ignores a library that it cannot find.
pub(crate) fn set_allocator(path: &Path) -> Result<(), String> {
    let path = ALLOCATOR.get_or_init(|| path.to_owned());
    let name = path.file_name().map(OsStr::to_string_lossy);
    let loaded = command(&[MAPS])
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

/// Returns the command of a child with these arguments. The loader's search path includes the
/// unpacked libraries, so that their dependencies are found as well; installed libraries come
/// first.
pub(crate) fn command(words: &[&str]) -> io::Result<Command> {
    let mut command = Command::new(self_exe::program()?);
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

/// A child's report about an engine: its version, or why it cannot be used.
pub(crate) fn probe(engine: &str) -> String {
    let output = command(&[engine]).and_then(|mut command| command.output());
    output.map_or_else(
        |error| error.to_string(),
        |output| {
            String::from_utf8_lossy(&output.stdout)
                .trim_end()
                .to_owned()
        },
    )
}

/// Returns the version of an engine and the library it is loaded from; `None` if it cannot be
/// loaded.
pub(crate) fn loaded(engine: &str, library: Option<&Path>) -> Option<(String, Option<Library>)> {
    let mut command = command(&[LOADED, engine]).ok()?;
    let output = command.args(library).output().ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

/// Runs the plan from stdin, or reports on the named engine.
pub(crate) fn main(words: &[String]) -> ExitCode {
    // A killed parent takes its child with it, so that no child keeps using a directory that
    // another run uses. If the kernel lacks the feature, the child ends at its next line of output.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    if words.first().is_some_and(|word| word == MAPS) {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let _ = io::stdout().write_all(maps.as_bytes());
        return ExitCode::SUCCESS;
    }
    if let [word, engine, library @ ..] = words
        && word == LOADED
    {
        let library = library.first().map(Path::new);
        if let Some(reported) = engines::loaded_from(engine, library) {
            // Nobody reads the output, so there is nothing else to do.
            let _ = serde_json::to_writer(io::stdout(), &reported);
        }
        return ExitCode::SUCCESS;
    }
    if let Some(engine) = words.first() {
        let text = engines::probe(engine).map_or_else(
            |fault| fault.to_string(),
            |version| format!("version {version}"),
        );
        // Nobody reads the output, so there is nothing else to do.
        let _ = writeln!(io::stdout(), "{text}");
        return ExitCode::SUCCESS;
    }
    let mut text = String::new();
    let plan: Plan = match io::stdin()
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

/// Sends one event. Exits if the parent has ended, because the run has no purpose then.
fn send(event: &Event) {
    let mut stdout = io::stdout().lock();
    let sent = serde_json::to_string(event)
        .map(|line| writeln!(stdout, "{line}").and_then(|()| stdout.flush()));
    if !matches!(sent, Ok(Ok(()))) {
        std::process::exit(1);
    }
}
