//! Values of random bytes, which no codec shortens.
//!
//! The pool is larger than the classic one: a dictionary that a store makes for a table must not
//! contain a notable part of it.

use super::set::{POOL_SEED, ValueSet};
use crate::workload::random::mix;

/// Number of bytes that values are cut from.
const NOISE_BYTES: usize = 8 << 20;

/// Returns values of this length.
pub(super) fn values(value_bytes: usize) -> ValueSet {
    let words = 0..(NOISE_BYTES / size_of::<u64>()) as u64;
    let bytes: Vec<u8> = words
        .flat_map(|word| mix(word ^ (u64::from(POOL_SEED) << 32)).to_le_bytes())
        .collect();
    ValueSet::equal(bytes.into(), value_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_codec_shortens_them_and_none_repeats() {
        let set = values(150);
        assert!(set.count() > 50_000);
        let all: Vec<u8> = (0..7000).flat_map(|at| set.value(at).to_vec()).collect();
        let short = zstd::bulk::compress(&all, 9).expect("compressed");
        assert!(short.len() >= all.len(), "{} of {}", short.len(), all.len());
        let mut distinct: Vec<&[u8]> = (0..set.count()).map(|at| set.value(at)).collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), set.count());
    }
}
