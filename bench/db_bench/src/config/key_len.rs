//! The length of keys, from three flags.

use bench_core::flags::Given;
use bench_core::workload::key::DIGITS;

/// Returns the length of each key in bytes, given directly or through its prefix.
pub(super) fn of(given: &Given) -> Result<usize, String> {
    let small = |name| usize::try_from(given.count(name)).unwrap_or(0);
    match given.chosen("key_size") {
        None => Ok(DIGITS + small("key_prefix")),
        Some(_) if given.given("key_prefix").is_some() => {
            Err("--key_size and --key_prefix both set the key length; use only one".into())
        }
        Some(len) if small("key_size") < DIGITS && !may_be_short(given) => Err(format!(
            "--key_size={len}: keys have at least 16 bytes; --keys=rocksdb may be shorter"
        )),
        Some(_) => Ok(small("key_size")),
    }
}

/// Returns whether keys may have fewer than sixteen bytes.
fn may_be_short(given: &Given) -> bool {
    given.text("keys") == "rocksdb" && given.text("data") != "random"
}
