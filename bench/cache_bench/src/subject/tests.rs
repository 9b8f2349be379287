use super::*;
use crate::testing::plan;
use crate::value::Values;

/// Runs `test` on every cache that stores values.
fn with_each(plan: &Plan, test: impl Fn(&str, &dyn Subject)) {
    test("lru", &lru(plan));
    test("clock", &clock(plan));
    test("quick_cache", &Quick::new(plan).expect("made"));
    test("moka", &Moka::new(plan));
}

#[test]
fn what_is_inserted_is_found_replaced_and_erased() {
    with_each(&plan(), |name, cache| {
        let mut values = Values::new(100, false);
        assert!(cache.lookup(7).is_none(), "{name}");
        cache.insert(7, values.make(7));
        cache.insert(8, values.make(8));
        cache.insert(7, values.make(9));
        cache.settle();
        let found = cache.lookup(7).expect(name);
        assert!(values.is_right(9, &found), "{name}");
        assert_eq!(cache.entries(), 2, "{name}");
        assert!(cache.usage() >= 2 * charge(&plan()), "{name}");
        assert!(cache.erase(7) && !cache.erase(7), "{name}");
        assert!(
            cache.lookup(7).is_none() && cache.lookup(8).is_some(),
            "{name}"
        );
    });
}

#[test]
fn all_stay_within_the_same_bound_and_use_it() {
    let mut plan = plan();
    (plan.value_bytes, plan.shard_bits) = (1000, Some(0));
    with_each(&plan, |name, cache| {
        let mut values = Values::new(1000, false);
        for key in 0..5000 {
            cache.insert(u128::from(key), values.make(key));
        }
        cache.settle();
        assert!(cache.usage() <= 1 << 20, "{name}: {}", cache.usage());
        let entries = cache.entries();
        assert!((600..1032).contains(&entries), "{name}: {entries}");
    });
}

#[test]
fn shards_are_as_asked_for() {
    let mut plan = plan();
    for (bits, expected) in [(Some(0), 1), (Some(3), 8), (None, 4)] {
        plan.shard_bits = bits;
        assert_eq!(lru(&plan).shards(), Some(expected));
        assert_eq!(clock(&plan).shards(), Some(expected));
    }
    plan.shard_bits = Some(3);
    assert_eq!(Quick::new(&plan).expect("made").shards(), Some(8));
    assert_eq!(Moka::new(&plan).shards(), None);
}

#[test]
fn what_quick_cache_keeps_beside_values_is_what_it_is_charged() {
    let mut plan = plan();
    (plan.cache_bytes, plan.value_bytes) = (16 << 20, 10);
    let cache = Quick::new(&plan).expect("made");
    let mut values = Values::new(10, false);
    for key in 0..400_000 {
        cache.insert(u128::from(key), values.make(key));
    }
    let each = cache.bookkeeping() / cache.entries();
    let charged = quick_cache::ENTRY_BYTES;
    assert!(
        (charged * 3 / 4..=charged * 5 / 4).contains(&each),
        "{each} bytes an entry, {charged} charged"
    );
}

#[test]
fn versions_are_those_of_the_lock_file() {
    assert!(title("moka").starts_with("moka 0."), "{}", title("moka"));
    assert!(
        title("quick_cache").starts_with("quick_cache 0."),
        "{}",
        title("quick_cache")
    );
    assert_eq!(
        title("lru"),
        format!("CairnDB {} LRU", env!("CARGO_PKG_VERSION"))
    );
    assert_eq!(locked("no such package"), "of unknown version");
}
