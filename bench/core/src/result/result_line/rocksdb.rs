//! RocksDB's header and result line. Scripts split the line at spaces: microseconds are the third
//! field, operations per second the fifth, megabytes per second the eleventh.

use std::fmt::Write as _;

use super::parts::{MIB, Outcome, end_header};
use crate::workload::plan::Plan;

/// Returns the header on stdout, up to and including its rule.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "estimates shown with one decimal, computed as RocksDB computes them"
)]
pub(super) fn header(plan: &Plan) -> String {
    let (key_bytes, value_bytes, num) = (
        plan.key_bytes() as f64,
        plan.value_size as f64,
        plan.num as f64,
    );
    let packed = value_bytes * plan.compression_ratio;
    let codec = if plan.compression {
        "Snappy"
    } else {
        "NoCompression"
    };
    let mut text = format!(
        "Keys:       {} bytes each (+ 0 bytes user-defined timestamp)\n\
         Values:     {} bytes each ({} bytes after compression)\n\
         Entries:    {}\n\
         Prefix:    0 bytes\n\
         Keys per prefix:    0\n\
         RawSize:    {:.1} MB (estimated)\n\
         FileSize:   {:.1} MB (estimated)\n\
         Write rate: {} bytes/second\n\
         Read rate: {} ops/second\n\
         Compression: {codec}\n\
         Compression sampling rate: 0\n",
        plan.key_bytes(),
        plan.value_size,
        (packed + 0.5) as u64,
        plan.num,
        (key_bytes + value_bytes) * num / MIB,
        (key_bytes + packed) * num / MIB,
        plan.write_rate_limit,
        plan.read_rate_limit,
    );
    text.push_str("Perf Level: 1\n");
    end_header(&mut text);
    text
}

/// Returns the result line, without its line ending.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "shown with three decimals at most"
)]
pub(super) fn result(name: &str, outcome: &Outcome) -> String {
    let ops = outcome.ops.max(1);
    let micros = outcome.thread_seconds * 1e6 / ops as f64;
    let elapsed = outcome.elapsed_seconds;
    let mut line = format!(
        "{name:<12} : {micros:11.3} micros/op {} ops/sec {elapsed:.3} seconds {ops} operations;",
        (ops as f64 / elapsed) as i64,
    );
    let bytes = outcome.bytes + outcome.read_bytes;
    if bytes > 0 {
        // Writing to a String cannot fail.
        let _ = write!(line, " {:6.1} MB/s", bytes as f64 / MIB / elapsed);
    }
    if !outcome.message.is_empty() {
        line.push(' ');
        line.push_str(&outcome.message);
    }
    line
}
