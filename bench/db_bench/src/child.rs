//! The child process: one engine, one round, one list. The plan comes in on stdin, events leave on
//! stdout, one JSON object a line.

use std::env;
use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use bench_core::plan::Plan;
use bench_core::runner::Event;

use crate::engines::{self, Trouble};

/// The word that makes this program a child; never given by a user.
pub(crate) const WORD: &str = "--child-of-db-bench";

/// Where `bench/install-peers.sh` unpacks libraries that could not be installed.
const PEERS: &str = "target/peers/libraries";

/// A child with these words. Unpacked libraries are found through the loader's own path, so that
/// what they depend on is found as well; installed ones come first.
pub(crate) fn command(words: &[&str]) -> io::Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.arg(WORD).args(words);
    if let Some(folder) = peers_folder() {
        let mut path = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        if !path.is_empty() {
            path.push(":");
        }
        path.push(OsString::from(folder));
        command.env("LD_LIBRARY_PATH", path);
    }
    Ok(command)
}

/// The folder of unpacked libraries below the working directory or beside the program.
fn peers_folder() -> Option<PathBuf> {
    let program = env::current_exe().ok();
    let beside = program
        .as_deref()
        .into_iter()
        .flat_map(|program| program.ancestors().skip(1));
    let here = env::current_dir().ok();
    let mut places = here
        .iter()
        .map(PathBuf::as_path)
        .chain(beside)
        .map(|place| place.join(PEERS));
    places.find(|place| place.is_dir())
}

/// What a child says about an engine: its version, or why it cannot be used.
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

/// Runs the plan on stdin, or tells about the one engine named.
pub(crate) fn main(words: &[String]) -> ExitCode {
    if let Some(engine) = words.first() {
        let text = engines::probe(engine).map_or_else(
            |fault| fault.to_string(),
            |version| format!("version {version}"),
        );
        // Nobody to tell, nothing to do.
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

/// Sends one event; a parent that is gone needs none, and then there is nobody to run for.
fn send(event: &Event) {
    let mut stdout = io::stdout().lock();
    let sent = serde_json::to_string(event)
        .map(|line| writeln!(stdout, "{line}").and_then(|()| stdout.flush()));
    if !matches!(sent, Ok(Ok(()))) {
        std::process::exit(1);
    }
}
