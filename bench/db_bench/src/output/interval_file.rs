//! The file of `--report_interval_seconds`: operations of each interval of a workload. Like
//! RocksDB's program, it is rewritten for each workload.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use bench_core::result::record::Record;

/// Path and interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IntervalFile {
    /// The file.
    pub(crate) path: PathBuf,
    /// Seconds per line.
    pub(crate) seconds: usize,
}

impl IntervalFile {
    /// Writes the file of one result; rows without operations over time leave the last file
    /// unchanged.
    pub(crate) fn write(&self, record: &Record) -> Result<(), String> {
        if record.intervals.is_empty() {
            return Ok(());
        }
        let text = text(&record.intervals, self.seconds);
        write(&self.path, &text)
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("--report_file={}: {error}", path.display()))
}

/// Returns the header and the lines; the last interval may be incomplete.
fn text(per_second: &[u64], seconds: usize) -> String {
    let mut text = String::from("secs_elapsed,interval_qps\n");
    let mut elapsed = 0;
    for part in per_second.chunks(seconds.max(1)) {
        elapsed += part.len();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{elapsed},{}", part.iter().sum::<u64>());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_operations_of_its_seconds() {
        assert_eq!(
            text(&[5, 6, 7, 8, 1], 2),
            "secs_elapsed,interval_qps\n2,11\n4,15\n5,1\n"
        );
        assert_eq!(text(&[9], 1), "secs_elapsed,interval_qps\n1,9\n");
    }
}
