//! Where results go: the JSON file, stdout, stderr.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use bench_core::record::Record;
use serde::Serialize;

use crate::machine::Machine;

/// The file of `--json`, one object a line, flushed after each.
#[derive(Debug)]
pub(crate) struct Json {
    file: Option<File>,
}

impl Json {
    /// Creates the file and writes its first line.
    pub(crate) fn create(path: Option<&Path>, machine: &Machine) -> Result<Self, String> {
        let Some(path) = path else {
            return Ok(Self { file: None });
        };
        let failed = |error: io::Error| format!("--json={}: {error}", path.display());
        let mut json = Self {
            file: Some(File::create(path).map_err(failed)?),
        };
        json.line(machine).map_err(failed)?;
        Ok(json)
    }

    /// Adds a result.
    pub(crate) fn row(&mut self, record: &Record) -> Result<(), String> {
        self.line(record)
            .map_err(|error| format!("writing the JSON file: {error}"))
    }

    fn line(&mut self, object: &impl Serialize) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            let mut text = serde_json::to_string(object)?;
            text.push('\n');
            file.write_all(text.as_bytes())?;
            file.flush()?;
        }
        Ok(())
    }
}

/// Prints results. A reader that went away (`| head`) ends the program quietly.
pub(crate) fn print(text: &str) {
    let mut stdout = io::stdout().lock();
    if stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .is_err()
    {
        std::process::exit(0);
    }
}

/// Tells something that is no result.
pub(crate) fn tell(text: &str) {
    // Without a stderr there is nobody to tell.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
