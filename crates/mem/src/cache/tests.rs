//! Both caches against an unbounded map, and each against its own eviction order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

use cairndb_base::{FileNumber, PageCache};

use super::{Cache, ClockCache, LruCache, Shard, ShardedCache};

fn page(len: usize, fill: u8) -> Arc<[u8]> {
    vec![fill; len].into()
}

/// Adds entries of 1000 bytes until one more would evict.
fn fill(cache: &dyn Cache) -> u128 {
    let mut key = 0;
    loop {
        cache.insert(key, page(8, 0), 1000);
        if cache.len() as u128 <= key {
            return key;
        }
        key += 1;
    }
}

fn check_against_a_map<S: Shard>(seed: u64) {
    println!("seed {seed}");
    let cache = ShardedCache::<S>::with_shards(64 << 10, 3);
    let mut model: BTreeMap<u128, u8> = BTreeMap::new();
    let mut state = seed;
    let steps = if cfg!(miri) { 300 } else { 50_000 };
    for _ in 0..steps {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let key = u128::from(state >> 40) % 200;
        let [.., fill, action] = state.to_le_bytes();
        match action % 8 {
            0..3 => {
                Cache::insert(&cache, key, page(16, fill), 100 + usize::from(fill) * 10);
                model.insert(key, fill);
            }
            3..7 => {
                if let Some(found) = cache.lookup(key) {
                    assert_eq!(
                        found[0], model[&key],
                        "never a value that was replaced or erased"
                    );
                }
            }
            _ => {
                let erased = cache.erase(key);
                let held = model.remove(&key).is_some();
                assert!(held || !erased);
                assert!(cache.lookup(key).is_none());
            }
        }
        assert!(cache.usage() <= cache.capacity());
    }
    assert!(cache.len() > 20, "small values fit, so some are held");
}

#[test]
fn both_hold_what_was_last_inserted_or_nothing() {
    check_against_a_map::<super::LruShard>(1);
    check_against_a_map::<super::ClockShard>(2);
}

#[test]
fn lru_evicts_what_was_not_used_for_longest() {
    let cache = LruCache::with_shards(20_000, 1);
    let held = fill(&cache);
    assert!(held > 8, "{held} entries of 1000 bytes in 20000");
    // `fill` has evicted key 0. Using 1 leaves 2 as the oldest.
    assert!(cache.lookup(0).is_none());
    assert!(cache.lookup(1).is_some());
    Cache::insert(&cache, 1000, page(8, 0), 1000);
    assert!(cache.lookup(1).is_some());
    assert!(cache.lookup(2).is_none());
    assert!(cache.lookup(3).is_some());
}

#[test]
fn clock_spares_what_was_looked_up() {
    let cache = ClockCache::with_shards(20_000, 1);
    let held = fill(&cache);
    let used = 5;
    for round in 0..4u128 {
        assert!(cache.lookup(used).is_some());
        assert!(cache.lookup(used).is_some());
        for key in 0..held {
            Cache::insert(&cache, 1000 * (round + 1) + key, page(8, 0), 1000);
        }
    }
    assert!(
        cache.lookup(used).is_some(),
        "scans do not push out what is in use"
    );
    assert!(cache.lookup(1001).is_none(), "but each other");
}

#[test]
fn usage_counts_slots_and_buckets_and_returns_to_little() {
    let caches: [Box<dyn Cache>; 2] = [
        Box::new(LruCache::with_shards(1 << 20, 2)),
        Box::new(ClockCache::with_shards(1 << 20, 2)),
    ];
    for cache in caches {
        assert_eq!((cache.usage(), cache.len()), (0, 0));
        cache.insert(1, page(100, 1), 100);
        let one = cache.usage();
        assert!(one > 100 + 32 && one < 1500, "{one}");
        cache.insert(1, page(50, 2), 50);
        assert_eq!(cache.usage(), one - 50, "replacing returns the old charge");
        assert!(cache.erase(1) && !cache.erase(1));
        assert_eq!(cache.usage(), one - 100, "the slab stays");
        cache.set_capacity(100);
        assert_eq!(
            (cache.usage(), cache.capacity(), cache.is_empty()),
            (0, 100, true)
        );
    }
}

#[test]
fn a_smaller_capacity_keeps_the_best_and_a_larger_one_takes_more() {
    let lru = LruCache::with_shards(100_000, 1);
    let count = fill(&lru);
    assert!(lru.lookup(1).is_some());
    lru.set_capacity(10_000);
    assert!(
        lru.usage() <= 10_000 && lru.len() >= 5,
        "{} left",
        lru.len()
    );
    assert!(lru.lookup(1).is_some() && lru.lookup(count).is_some());
    assert!(lru.lookup(2).is_none());
    lru.set_capacity(100_000);
    for key in 0..count {
        Cache::insert(&lru, key, page(8, 1), 1000);
    }
    assert!(lru.len() as u128 >= count - 2);

    let clock = ClockCache::with_shards(100_000, 1);
    fill(&clock);
    assert!(clock.lookup(7).is_some());
    clock.set_capacity(10_000);
    assert!(
        clock.usage() <= 10_000 && clock.len() >= 5,
        "{} left",
        clock.len()
    );
    assert!(clock.lookup(7).is_some());
    clock.set_capacity(0);
    assert_eq!((clock.usage(), clock.len()), (0, 0));
    Cache::insert(&clock, 1, page(1, 1), 0);
    assert!(clock.is_empty(), "not even the bookkeeping fits");
}

#[test]
fn one_large_value_takes_the_place_of_many_small_ones() {
    for cache in [
        Box::new(LruCache::with_shards(100_000, 1)) as Box<dyn Cache>,
        Box::new(ClockCache::with_shards(100_000, 1)),
    ] {
        let small = if cfg!(miri) { 100 } else { 5000 };
        for key in 0..small {
            cache.insert(key, page(1, 0), 1);
        }
        assert!(cache.len() as u128 > small / 10);
        cache.insert(9999, page(1, 0), 98_000);
        assert_eq!((cache.len(), cache.lookup(9999).is_some()), (1, true));
        cache.insert(9999, page(1, 0), 100_001);
        assert!(cache.is_empty(), "what cannot be kept still replaces");
    }
}

fn check_pages<S: Shard>() {
    let cache = ShardedCache::<S>::new(4 << 20);
    assert!(cache.shard_count() > 1);
    for file in 1..=3 {
        for number in 0..20 {
            PageCache::insert(
                &cache,
                FileNumber(file),
                number,
                page(4096, file.to_le_bytes()[0]),
            );
        }
    }
    let full = cache.bytes();
    assert!(full > 60 * 4096);
    cache.evict_file(FileNumber(2));
    assert!(cache.bytes() < full - 20 * 4096);
    for number in 0..20 {
        assert_eq!(cache.get(FileNumber(1), number).unwrap()[0], 1);
        assert!(cache.get(FileNumber(2), number).is_none());
        assert_eq!(cache.get(FileNumber(3), number).unwrap()[4095], 3);
    }
    assert_eq!(cache.len(), 40);
}

#[test]
fn pages_are_kept_by_file_and_evicted_by_file() {
    check_pages::<super::LruShard>();
    check_pages::<super::ClockShard>();
}

fn check_threads<S: Shard>() {
    let cache = ShardedCache::<S>::with_shards(200_000, 2);
    let rounds = if cfg!(miri) { 30 } else { 20_000u32 };
    thread::scope(|scope| {
        for thread in 0..4u32 {
            let cache = &cache;
            scope.spawn(move || {
                for round in 0..rounds {
                    let number = round.wrapping_mul(2_654_435_761 + 2 * thread) >> 25;
                    let file = FileNumber(u64::from(number % 3));
                    let byte = number.to_le_bytes()[0];
                    match cache.get(file, number) {
                        Some(found) => assert_eq!((found[0], found.len()), (byte, 4096)),
                        None => PageCache::insert(cache, file, number, page(4096, byte)),
                    }
                    if round % 1000 == 999 {
                        cache.evict_file(file);
                    }
                }
            });
        }
    });
    assert!(cache.usage() <= cache.capacity());
}

#[test]
fn threads_share_a_cache() {
    check_threads::<super::LruShard>();
    check_threads::<super::ClockShard>();
}
