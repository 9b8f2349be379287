//! RocksDB's own `cache_bench` as a peer: running it and parsing its output.
//!
//! The figures come from its own harness: it draws values eight bytes at a time from a slow
//! generator, hashes the values it finds, and reads the clock around every operation even in the
//! pass that is timed as a whole. Its rows are therefore shown with this explanation and do not
//! measure the cache alone.

mod report;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use bench_core::host::local_peers;

use crate::child;
use crate::outcome::{Outcome, Status};
use crate::plan::Plan;

pub(crate) use report::Report;

/// The Debian package that contains it.
pub(crate) const PACKAGE: &str = "rocksdb-tools";
const NAME: &str = "cache_bench";
/// The directories to which packages install programs, for a PATH that lacks them or has ours
/// first.
const USUAL: [&str; 2] = ["/usr/bin", "/usr/local/bin"];

/// Returns the `--cache_type` of RocksDB's program for one of our cache names; `None` for caches
/// that it does not have.
pub(crate) fn cache_type(cache: &str) -> Option<&'static str> {
    match cache {
        "rocksdb_lru" => Some("lru_cache"),
        "rocksdb_hyper_clock" => Some("hyper_clock_cache"),
        _ => None,
    }
}

/// Finds RocksDB's program: the one named, or the first with its name that is not ours.
pub(crate) fn find(named: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(path) = named {
        return judge(path)
            .map(|()| path.to_owned())
            .map_err(|reason| format!("--rocksdb_cache_bench={}: {reason}", path.display()));
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(USUAL.map(PathBuf::from))
        .chain(local_peers::programs())
        .map(|folder| folder.join(NAME))
        .find(|program| program.is_file() && judge(program).is_ok())
        .ok_or_else(|| format!("RocksDB's cache_bench is not installed (Debian package {PACKAGE})"))
}

/// Returns a command for a program that finds the libraries unpacked with it.
fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    if let (Some(programs), Some(libraries)) = (local_peers::programs(), local_peers::libraries())
        && program.starts_with(programs)
    {
        command.env("LD_LIBRARY_PATH", libraries);
    }
    command
}

/// Checks that a program is RocksDB's: its help names its source file, ours does not.
fn judge(program: &Path) -> Result<(), String> {
    let output = command(program)
        .arg("--help")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    if text.contains("cache_bench_tool.cc") || text.contains("cache/cache_bench.cc") {
        return Ok(());
    }
    Err("is not RocksDB's cache_bench".to_owned())
}

/// Minimum value size that its `HyperClockCache` handles: with smaller values, 7.8 searches a table
/// full of bookkeeping and does not terminate.
const HYPER_CLOCK_BYTES_MIN: u64 = 96;

/// Returns why its program cannot run a plan, if it cannot.
pub(crate) fn obstacle(plan: &Plan) -> Option<String> {
    let is_small = plan.cache == "rocksdb_hyper_clock" && value_bytes(plan) < HYPER_CLOCK_BYTES_MIN;
    is_small.then(|| {
        format!(
            "not with values below {HYPER_CLOCK_BYTES_MIN} bytes: that of 7.8 does not terminate"
        )
    })
}

/// Runs its program with the plan's settings.
pub(crate) fn measure(program: &Path, plan: &Plan, timeout: Duration) -> Outcome {
    let mut command = command(program);
    command.args(words(plan)).stderr(Stdio::inherit());
    let (title, mut notes) = (plan.cache.clone(), notes(plan));
    let printed = child::complete(&mut command, "", timeout);
    let outcome = match printed.and_then(|text| Report::read(&text)) {
        Ok(report) => {
            notes.extend(report.warnings.iter().cloned());
            report.outcome(plan)
        }
        Err(reason) => Outcome::of(plan, title).ended(Status::Failed, reason),
    };
    Outcome { notes, ..outcome }
}

/// Returns the value size rounded up: values are written eight bytes at a time, beyond the end if
/// the size is not a multiple.
fn value_bytes(plan: &Plan) -> u64 {
    plan.value_bytes.next_multiple_of(8)
}

/// Returns the differences from our rows.
fn notes(plan: &Plan) -> Vec<String> {
    let mut notes = vec![
        "RocksDB's own harness: its rate includes the clock around each operation, its values come from \
         its slow generator and are not compared, its keys are drawn alike but are not the same"
            .to_owned(),
    ];
    let bytes = value_bytes(plan);
    if bytes != plan.value_bytes {
        notes.push(format!("values of {bytes} bytes: it needs a multiple of 8"));
    }
    if plan.warmup_ops > 0 {
        notes.push("no warm-up: it has none".to_owned());
    }
    notes
}

/// Returns its command line. Only flags of 7.8 are used; defaults that differ between versions are
/// spelled out.
fn words(plan: &Plan) -> Vec<String> {
    let (bytes, mix) = (value_bytes(plan), plan.mix);
    let numbers = [
        ("threads", plan.threads),
        ("cache_size", plan.cache_bytes),
        ("ops_per_thread", plan.ops_per_thread),
        ("value_bytes", bytes),
        ("skew", plan.skew.into()),
        ("populate_cache", plan.populate.into()),
        ("lean", plan.lean.into()),
        ("lookup_insert_percent", mix.lookup_insert),
        ("insert_percent", mix.insert + mix.blind_insert),
        ("lookup_percent", mix.lookup),
        ("erase_percent", mix.erase),
    ];
    let mut words: Vec<String> = numbers.map(|(name, it)| format!("--{name}={it}")).into();
    let kind = cache_type(&plan.cache).unwrap_or("lru_cache");
    words.push(format!("--cache_type={kind}"));
    words.push(format!(
        "--resident_ratio={:e}",
        resident_ratio(plan, bytes)
    ));
    if let Some(bits) = plan.shard_bits {
        words.push(format!("--num_shard_bits={bits}"));
    }
    words
}

/// Returns the ratio that yields the plan's number of keys: the program has no flag for the number.
#[expect(
    clippy::cast_precision_loss,
    reason = "it computes in floating point itself"
)]
fn resident_ratio(plan: &Plan, value_bytes: u64) -> f64 {
    // Half a key is added, so that truncation yields the exact number.
    plan.cache_bytes as f64 / value_bytes as f64 / (plan.max_key as f64 + 0.5)
}

#[cfg(test)]
mod tests;
