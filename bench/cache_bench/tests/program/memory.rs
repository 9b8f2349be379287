//! Equal memory: the process grows by the capacity of the cache, whichever cache it is.

use crate::common::{good, objects, run};

/// Values so small that bookkeeping and the allocator's rounding are most of an entry.
#[test]
fn every_cache_stays_near_its_bound_even_over_tiny_values() {
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path().join("results.json");
    let json = format!("--json={}", path.display());
    good(&run(&[
        "--cache=lru,clock,quick_cache,moka --threads=1 --ops_per_thread=400000",
        "--cache_size=32M --max_key=1000000 --latency_ops=0",
        &json,
    ]));
    for one in &objects(&path)[1..] {
        let grown = one["memory_bytes"].as_u64().expect("reported by Linux");
        let bound = 32u64 << 20;
        assert!(grown < bound * 13 / 10, "{} grew by {grown}", one["cache"]);
        // There are too few inserts to fill some caches, so only the upper bound is tight.
        assert!(grown > bound / 4, "{} grew by {grown}", one["cache"]);
    }
}
