//! A server process that ends with the test.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use tokio::time::Instant;

/// Starts a program in the background, prints its process number, and kills it at the end of the
/// input. Prints a line when the program has ended.
const GUARD: &str = r#"
exec 3<&0
"$@" </dev/null 3<&- 2>&1 &
child=$!
echo "guard: pid $child"
(cat <&3; kill -9 $child) >/dev/null 2>&1 &
wait $child
echo "guard: ended"
"#;

/// Time for a server to start, on a machine that is busy.
const START_TIMEOUT: Duration = Duration::from_mins(2);
/// How often a program is started that ends at once.
const START_ATTEMPTS: u32 = 50;

/// A running server.
#[derive(Debug)]
pub(super) struct Server {
    guard: Child,
    input: Option<ChildStdin>,
    pid: String,
    lines: Receiver<String>,
}

impl Server {
    /// Starts `command` and waits until it prints a line that contains `ready`.
    ///
    /// # Panics
    /// If the program cannot be started or does not become ready; the message has its output.
    pub(super) fn start(command: &[String], environment: &[(&str, &str)], ready: &str) -> Server {
        Server::try_start(command, environment, ready, START_TIMEOUT)
            .unwrap_or_else(|printed| panic!("{command:?} did not start: {printed}"))
    }

    /// Like [`Server::start`], but returns the output of a program that is not ready in time.
    pub(super) fn try_start(
        command: &[String],
        environment: &[(&str, &str)],
        ready: &str,
        timeout: Duration,
    ) -> Result<Server, String> {
        let end = Instant::now() + timeout;
        let mut printed = String::new();
        // The processes that a killed server leaves may hold its files for a moment.
        for _ in 0..START_ATTEMPTS {
            let mut server = Server::launch(command, environment);
            match server.await_line(ready, end) {
                Ok(()) => return Ok(server),
                Err(output) => printed = output,
            }
        }
        Err(printed)
    }

    fn launch(command: &[String], environment: &[(&str, &str)]) -> Server {
        let mut guard = Command::new("sh")
            .args(["-c", GUARD, "guard"])
            .args(command)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh can be started");
        let input = guard.stdin.take();
        let output = guard.stdout.take().expect("the output is piped");
        let (sender, lines) = channel();
        let _reader = std::thread::Builder::new()
            .name("server output".to_owned())
            .spawn(move || {
                // Read to the end, so that the server never waits for its output.
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    let _ = sender.send(line);
                }
            })
            .expect("a thread can be started");
        Server {
            guard,
            input,
            pid: String::new(),
            lines,
        }
    }

    /// Waits for a line that contains `ready`. Returns the output if there is none before `end`, or
    /// the program ends before.
    fn await_line(&mut self, ready: &str, end: Instant) -> Result<(), String> {
        let mut printed = Vec::new();
        loop {
            // A server that waits for others goes on printing.
            let left = end.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                return Err(format!("no answer in time: {}", printed.join("\n")));
            };
            if let Some(pid) = line.strip_prefix("guard: pid ") {
                pid.clone_into(&mut self.pid);
            }
            if line.contains(ready) {
                return Ok(());
            }
            if line == "guard: ended" {
                return Err(printed.join("\n"));
            }
            printed.push(line);
        }
    }

    /// Sends a signal, such as `KILL` or `STOP`, to the server.
    pub(super) fn signal(&self, signal: &str) {
        let sent = Command::new("kill")
            .args([&format!("-{signal}"), &self.pid])
            .stderr(Stdio::null())
            .status();
        assert!(sent.is_ok(), "kill cannot be started: {sent:?}");
    }

    /// Kills the server and waits until it has ended.
    pub(super) fn kill(&mut self) {
        self.input = None;
        let _ = self.guard.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns the first of `candidates` that is a file.
pub(super) fn find(candidates: impl IntoIterator<Item = std::path::PathBuf>) -> Option<String> {
    let found = candidates.into_iter().find(|path| path.is_file())?;
    Some(found.to_string_lossy().into_owned())
}

/// Returns where `program` may be: in the folders of `PATH`.
pub(super) fn in_path(program: &str) -> Vec<std::path::PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .collect()
}
