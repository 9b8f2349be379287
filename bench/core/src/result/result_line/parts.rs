//! Common parts of both programs' lines.

/// Bytes of what both call a megabyte.
pub(super) const MIB: f64 = 1_048_576.0;

/// What a result line is made from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Operations of all threads.
    pub ops: u64,
    /// Summed thread time.
    pub thread_seconds: f64,
    /// From the first start to the last end.
    pub elapsed_seconds: f64,
    /// Bytes for the rate; 0 for no rate.
    pub bytes: u64,
    /// More of them that only RocksDB's line counts.
    pub read_bytes: u64,
    /// Text in brackets and the like.
    pub message: String,
}

/// The warning and the rule that end a header.
pub(super) fn end_header(text: &mut String) {
    if cfg!(debug_assertions) {
        text.push_str("WARNING: Assertions are enabled; benchmarks unnecessarily slow\n");
    }
    text.push_str(&"-".repeat(48));
    text.push('\n');
}
