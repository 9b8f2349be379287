use std::collections::BTreeMap;
use std::sync::Arc;

use cairndb_base::{FileNumber, PageCache};
use cairndb_mem::Cache;
use cairndb_mem::cache::ShardedCache;

use super::*;

type LruCache = ShardedCache<LruShard>;

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

#[test]
fn it_holds_what_was_last_inserted_or_nothing() {
    let cache = LruCache::with_shards(64 << 10, 3);
    let mut model: BTreeMap<u128, u8> = BTreeMap::new();
    let mut state = 1_u64;
    for _ in 0..50_000 {
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
}

#[test]
fn pages_are_kept_by_file_and_evicted_by_file() {
    let cache = LruCache::new(4 << 20);
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
fn one_large_value_takes_the_place_of_many_small_ones() {
    let cache = LruCache::with_shards(100_000, 1);
    for key in 0..5000 {
        Cache::insert(&cache, key, page(1, 0), 1);
    }
    assert!(cache.len() > 500);
    Cache::insert(&cache, 9999, page(1, 0), 98_000);
    assert_eq!((cache.len(), cache.lookup(9999).is_some()), (1, true));
    Cache::insert(&cache, 9999, page(1, 0), 100_001);
    assert!(cache.is_empty(), "too large to keep, but replaces");
}
