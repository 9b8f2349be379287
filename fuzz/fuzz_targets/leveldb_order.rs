//! Three arbitrary byte strings as IndexedDB keys: the order of LevelDB's `idb_cmp1` must be total.

#![no_main]

use cairndb_leveldb::{Comparator, IndexedDbOrder};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&[u8], &[u8], &[u8])| {
    let (a, b, c) = input;
    let compare = |a: &[u8], b: &[u8]| IndexedDbOrder.compare(a, b);
    assert!(compare(a, a).is_eq());
    assert_eq!(compare(a, b), compare(b, a).reverse());
    if compare(a, b) == compare(b, c) {
        assert_eq!(compare(a, c), compare(a, b));
    }
    if compare(a, b).is_le() && compare(b, c).is_le() {
        assert!(compare(a, c).is_le());
    }
});
