//! Shared helpers of the tests.

use crate::plan::{Mix, Plan};

/// A small plan over the LRU cache.
pub(crate) fn plan() -> Plan {
    Plan {
        cache: "lru".to_owned(),
        round: 1,
        profile: "classic".to_owned(),
        threads: 2,
        cache_bytes: 1 << 20,
        resident_ratio: 0.25,
        shard_bits: Some(2),
        max_key: 1000,
        value_bytes: 100,
        mix: Mix {
            insert: 40,
            lookup: 50,
            erase: 10,
            ..Mix::default()
        },
        ops_per_thread: 20_000,
        latency_ops: 1000,
        seed: 1000,
        ..Plan::default()
    }
}
