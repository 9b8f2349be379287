//! Output: the files of `--json` and `--csv`, stdout, stderr.

pub(crate) mod interval_file;
pub(crate) mod status;

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use bench_core::host::library::Library;
use bench_core::result::record::Record;
use bench_core::result::sparse::Fields as _;
use serde::Serialize;

use crate::engines::builds::Builds;

/// A file that is flushed after each line. A line that the system refuses, mostly for lack of
/// space, is kept and written when there is space again: a database that fills its disk is
/// eventually removed.
#[derive(Debug)]
struct Lines {
    path: PathBuf,
    file: File,
    /// Length of the complete lines in the file, in bytes.
    bytes: u64,
    /// Lines that were refused, and all later lines.
    kept: VecDeque<String>,
    /// Whether the file may end in a partial line that could not be removed; nothing may follow it.
    torn: bool,
}

impl Lines {
    fn create(path: &Path) -> Result<Self, String> {
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let file = made.and_then(|()| File::create(path));
        Self::with(path, file)
    }

    fn append(path: &Path) -> Result<Self, String> {
        Self::with(path, OpenOptions::new().append(true).open(path))
    }

    fn with(path: &Path, file: io::Result<File>) -> Result<Self, String> {
        let sized = file.and_then(|file| Ok((file.metadata()?.len(), file)));
        let (bytes, file) = sized.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            bytes,
            kept: VecDeque::new(),
            torn: false,
        })
    }

    /// Adds a line, or keeps it for later; returns an error if it cannot be written later.
    fn line(&mut self, text: &str) -> Result<(), String> {
        let waits = !self.kept.is_empty();
        self.kept.push_back(format!("{text}\n"));
        match self.settle() {
            Err(trouble) if self.torn => Err(trouble),
            Err(trouble) if !waits => {
                notify(&format!("{trouble}; kept for another attempt\n"));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Writes the kept lines.
    fn settle(&mut self) -> Result<(), String> {
        let shown = self.path.display();
        if self.torn {
            return Err(format!("writing {shown}: its last line is incomplete"));
        }
        while let Some(line) = self.kept.front() {
            // A single write, so that a line is complete or absent if the program is killed.
            let written = self.file.write_all(line.as_bytes());
            if let Err(error) = written.and_then(|()| self.file.flush()) {
                self.torn = self.cut().is_err();
                return Err(format!("writing {}: {error}", self.path.display()));
            }
            self.bytes += line.len() as u64;
            self.kept.pop_front();
        }
        Ok(())
    }

    /// Removes a partial line. In a pipe nothing can be removed.
    fn cut(&mut self) -> io::Result<()> {
        self.file.set_len(self.bytes)?;
        self.file.seek(SeekFrom::Start(self.bytes))?;
        Ok(())
    }
}

/// The files of `--json` and `--csv`.
#[derive(Debug, Default)]
pub(crate) struct Output {
    json: Option<Lines>,
    csv: Option<Lines>,
    builds: Builds,
    /// Every line of this run.
    pub(crate) lines: String,
}

impl Output {
    /// Creates the files; existing contents are lost.
    pub(crate) fn create(json: Option<&Path>, csv: Option<&Path>) -> Result<Self, String> {
        Ok(Self {
            json: json.map(Lines::create).transpose()?,
            csv: csv.map(started).transpose()?,
            ..Self::default()
        })
    }

    /// Appends to the JSON file, and rewrites the CSV file from the kept results.
    pub(crate) fn resume(json: &Path, csv: Option<&Path>, kept: &[Record]) -> Result<Self, String> {
        Ok(Self {
            json: Some(Lines::append(json)?),
            ..Self::again(csv, kept)?
        })
    }

    /// Rewrites the CSV file only.
    pub(crate) fn again(csv: Option<&Path>, kept: &[Record]) -> Result<Self, String> {
        let mut output = Self::create(None, csv)?;
        kept.iter().try_for_each(|record| output.csv_row(record))?;
        output.settle()?;
        Ok(output)
    }

    /// Writes the lines that the system had refused; returns an error if it still refuses them.
    pub(crate) fn settle(&mut self) -> Result<(), String> {
        let mut files = self.json.iter_mut().chain(&mut self.csv);
        files.try_for_each(Lines::settle)
    }

    /// Adds a result.
    pub(crate) fn row(&mut self, record: &Record) -> Result<(), String> {
        self.object(record)?;
        self.csv_row(record)
    }

    /// Writes how a loaded engine was built, once in a run.
    pub(crate) fn build(
        &mut self,
        engine: &str,
        version: String,
        library: Option<Library>,
    ) -> Result<(), String> {
        let line = self.builds.line(engine, version, library);
        line.map_or(Ok(()), |build| self.object(&build))
    }

    /// Adds an object that is not a result, to the JSON file only.
    pub(crate) fn object(&mut self, object: &impl Serialize) -> Result<(), String> {
        let text = serde_json::to_string(object).map_err(|error| error.to_string())?;
        self.lines.push_str(&text);
        self.lines.push('\n');
        self.json.as_mut().map_or(Ok(()), |json| json.line(&text))
    }

    fn csv_row(&mut self, record: &Record) -> Result<(), String> {
        let csv = self.csv.as_mut();
        csv.map_or(Ok(()), |csv| csv.line(&record.to_csv()))
    }
}

/// Creates a CSV file with its header.
fn started(path: &Path) -> Result<Lines, String> {
    let mut lines = Lines::create(path)?;
    lines.line(&Record::FIELDS.join(","))?;
    lines.settle()?;
    Ok(lines)
}

/// Prints results, without the status line.
pub(crate) fn print(text: &str) {
    status::clear();
    bench_core::result::output::print(text);
}

/// Prints a message that is not a result, without the status line.
pub(crate) fn notify(text: &str) {
    status::clear();
    bench_core::result::output::notify(text);
}

#[cfg(test)]
mod tests {
    use bench_core::host::test_text::begins;

    use super::*;

    #[test]
    fn nothing_follows_a_line_that_may_not_be_whole() {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("lines");
        let mut lines = Lines::create(&path).expect("created");
        lines.line("one").expect("written");
        lines.file = File::open(&path).expect("for reading alone");
        let reported = lines.line("two").expect_err("refused");
        begins(&reported, "writing ");
        lines.file = OpenOptions::new().append(true).open(&path).expect("there");
        lines.line("three").expect_err("the second is missing");
        assert_eq!(std::fs::read_to_string(&path).expect("there"), "one\n");
    }
}
