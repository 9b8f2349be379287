//! Comparison of the cache with an unbounded map, and tests of its eviction order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

use cairndb_base::{FileNumber, PageCache};

use super::{Cache, ClockCache};

fn page(len: usize, fill: u8) -> Arc<[u8]> {
    vec![fill; len].into()
}

/// Adds entries of 1000 bytes until one more would cause an eviction.
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

#[test]
fn it_holds_what_was_last_inserted_or_nothing() {
    let cache = ClockCache::with_shards(64 << 10, 3);
    let mut model: BTreeMap<u128, u8> = BTreeMap::new();
    let mut state = 2_u64;
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
                        "a lookup never returns a replaced or erased value"
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
    assert!(cache.len() > 20, "small values fit, so some must be cached");
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
        "scans must not evict pages in use"
    );
    assert!(
        cache.lookup(1001).is_none(),
        "scans evict each other's pages"
    );
}

#[test]
fn usage_counts_slots_and_buckets_and_returns_to_little() {
    let cache = ClockCache::with_shards(1 << 20, 2);
    assert_eq!((cache.usage(), cache.len()), (0, 0));
    Cache::insert(&cache, 1, page(100, 1), 100);
    let one = cache.usage();
    assert!(one > 100 + 32 && one < 1500, "{one}");
    Cache::insert(&cache, 1, page(50, 2), 50);
    assert_eq!(
        cache.usage(),
        one - 50,
        "a replacement releases the old charge"
    );
    assert!(cache.erase(1) && !cache.erase(1));
    assert_eq!(cache.usage(), one - 100, "the slab must not shrink");
    cache.set_capacity(100);
    assert_eq!(
        (cache.usage(), cache.capacity(), cache.is_empty()),
        (0, 100, true)
    );
}

#[test]
fn a_smaller_capacity_keeps_what_was_used() {
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
    assert!(
        clock.is_empty(),
        "the capacity is too small even for the bookkeeping"
    );
}

#[test]
fn one_large_value_takes_the_place_of_many_small_ones() {
    let cache = ClockCache::with_shards(100_000, 1);
    let small = if cfg!(miri) { 100 } else { 5000 };
    for key in 0..small {
        Cache::insert(&cache, key, page(1, 0), 1);
    }
    assert!(cache.len() as u128 > small / 10);
    Cache::insert(&cache, 9999, page(1, 0), 98_000);
    assert_eq!((cache.len(), cache.lookup(9999).is_some()), (1, true));
    Cache::insert(&cache, 9999, page(1, 0), 100_001);
    assert!(
        cache.is_empty(),
        "a value that does not fit still removes the old one"
    );
}

#[test]
fn pages_are_kept_by_file_and_evicted_by_file() {
    let cache = ClockCache::new(4 << 20);
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
fn threads_share_a_cache() {
    let cache = ClockCache::with_shards(200_000, 2);
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
