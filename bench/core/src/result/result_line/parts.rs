//! Common parts of both programs' lines.

/// Number of bytes in what both programs call a megabyte.
pub(super) const MIB: f64 = 1_048_576.0;

/// The data of a result line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Number of operations of all threads.
    pub ops: u64,
    /// Summed thread time.
    pub thread_seconds: f64,
    /// Time from the first start to the last end.
    pub elapsed_seconds: f64,
    /// Bytes for the rate; 0 for no rate.
    pub bytes: u64,
    /// Additional bytes that only RocksDB's line counts.
    pub read_bytes: u64,
    /// Text appended to the line.
    pub message: String,
}

/// Appends the warning and the rule that end a header.
pub(super) fn end_header(text: &mut String) {
    if cfg!(debug_assertions) {
        text.push_str("WARNING: Assertions are enabled; benchmarks unnecessarily slow\n");
    }
    text.push_str(&"-".repeat(48));
    text.push('\n');
}
