//! Flags whose settings a suite defines.

use bench_core::flags::Given;

/// Refuses flags whose settings a suite defines in its file.
pub(super) fn refuse_what_suites_say(given: &Given) -> Result<(), String> {
    #[rustfmt::skip]
    const SAID: &[&str] = &[
        "benchmarks", "memory", "write_buffer_size", "cache_size", "value_size", "compression",
        "compression_type", "sync", "variant", "bloom_bits", "threads", "use_existing_db",
        "histogram", "reads", "writes", "deletes", "benchmark_write_rate_limit",
        "benchmark_read_rate_limit", "stats_interval", "stats_interval_seconds",
        "report_interval_seconds", "keyspaces", "memory_limit", "cold",
    ];
    match SAID.iter().find(|name| given.given(name).is_some()) {
        Some(name) => Err(format!(
            "--{name}: a suite sets this for each section; to change it, write your own file for --suite=FILE"
        )),
        None => Ok(()),
    }
}
