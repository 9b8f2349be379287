//! Output of the programs: stdout, stderr, a file of JSON lines.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use serde::Serialize;

/// Prints results. A closed pipe (`| head`) ends the program quietly; any other error ends it with
/// exit code 1, because results are lost.
pub fn print(text: &str) {
    let mut stdout = io::stdout().lock();
    let printed = stdout.write_all(text.as_bytes());
    match printed.and_then(|()| stdout.flush()) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => {
            notify(&format!("results cannot be written to stdout: {error}\n"));
            std::process::exit(1);
        }
    }
}

/// Prints something that is not a result.
pub fn notify(text: &str) {
    // Errors are ignored: without stderr there is no reader.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// An optional file with one JSON object per line, flushed after each.
#[derive(Debug)]
pub struct JsonLines {
    file: Option<File>,
}

impl JsonLines {
    /// Creates the file named by `--json`.
    ///
    /// # Errors
    /// An error message that names the flag and the path.
    pub fn create(path: Option<&Path>) -> Result<Self, String> {
        let create = |path: &Path| {
            File::create(path).map_err(|error| format!("--json={}: {error}", path.display()))
        };
        Ok(Self {
            file: path.map(create).transpose()?,
        })
    }

    /// Adds one object.
    ///
    /// # Errors
    /// As reported by the system.
    pub fn line(&mut self, object: &impl Serialize) -> Result<(), String> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        serde_json::to_string(object)
            .map_err(io::Error::from)
            .and_then(|text| file.write_all(format!("{text}\n").as_bytes()))
            .and_then(|()| file.flush())
            .map_err(|error| format!("writing the JSON file: {error}"))
    }
}
