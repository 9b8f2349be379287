//! LevelDB's Bloom filter, `leveldb.BuiltinBloomFilter2`: bits, then one byte with the number of
//! probes.
//!
//! The probes of a key follow from one hash of 32 bits, to which its rotation is added again and
//! again. Hash and rotation must be exactly LevelDB's: a bit set elsewhere hides a key from it.

#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

/// The name of the filter in a table's metaindex.
pub(crate) const NAME: &str = "leveldb.BuiltinBloomFilter2";

/// Larger probe counts are reserved for other filter encodings; such a filter is treated as
/// matching every key.
const PROBES_MAX: u8 = 30;
const BITS_MIN: u64 = 64;

const SEED: u32 = 0xbc9f_1d34;
const FACTOR: u32 = 0xc6a4_a793;

/// The hash of a key: four bytes at a time, little-endian.
fn hash(key: &[u8]) -> u32 {
    let len = u32::try_from(key.len() & 0xffff_ffff).unwrap_or(0);
    let mut hash = SEED ^ len.wrapping_mul(FACTOR);
    let (words, rest) = key.as_chunks::<4>();
    for word in words {
        hash = hash
            .wrapping_add(u32::from_le_bytes(*word))
            .wrapping_mul(FACTOR);
        hash ^= hash >> 16;
    }
    if !rest.is_empty() {
        let word = rest
            .iter()
            .rev()
            .fold(0, |word, byte| word << 8 | u32::from(*byte));
        hash = hash.wrapping_add(word).wrapping_mul(FACTOR);
        hash ^= hash >> 24;
    }
    hash
}

/// The bits that a key has in a filter of `bits` bits.
fn probes(hash: u32, bits: u64, count: u8) -> impl Iterator<Item = u64> {
    let step = hash.rotate_right(17);
    let mut at = hash;
    (0..count).map(move |_| {
        let bit = u64::from(at).checked_rem(bits).unwrap_or(0);
        at = at.wrapping_add(step);
        bit
    })
}

fn place(bit: u64) -> (usize, u8) {
    let byte = usize::try_from(bit >> 3).unwrap_or(usize::MAX);
    (byte, 1 << (bit & 7))
}

/// The probes for so many bits a key: their share of ln 2, rounded down.
fn probes_for(bits_per_key: u32) -> u8 {
    let share = u64::from(bits_per_key).saturating_mul(69) / 100;
    u8::try_from(share.clamp(1, u64::from(PROBES_MAX))).unwrap_or(PROBES_MAX)
}

/// Appends the filter of some keys.
pub(crate) fn append(out: &mut Vec<u8>, keys: &[Vec<u8>], bits_per_key: u32) {
    let wanted = u64::from(bits_per_key).saturating_mul(keys.len() as u64);
    let bytes = wanted.max(BITS_MIN).div_ceil(8);
    let bits = bytes.saturating_mul(8);
    let start = out.len();
    let end = start.saturating_add(usize::try_from(bytes).expect("a filter fits memory"));
    out.resize(end, 0);
    let count = probes_for(bits_per_key);
    let filter = out.get_mut(start..).unwrap_or_default();
    for key in keys {
        for (at, mask) in probes(hash(key), bits, count).map(place) {
            if let Some(byte) = filter.get_mut(at) {
                *byte |= mask;
            }
        }
    }
    out.push(count);
}

/// Whether a key may be among those of a filter.
pub(crate) fn may_contain(filter: &[u8], key: &[u8]) -> bool {
    let Some((count, filter)) = filter.split_last().filter(|(_, bits)| !bits.is_empty()) else {
        return false;
    };
    if *count > PROBES_MAX {
        return true;
    }
    let bits = (filter.len() as u64).saturating_mul(8);
    let mut places = probes(hash(key), bits, *count).map(place);
    places.all(|(at, mask)| filter.get(at).is_some_and(|byte| byte & mask != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_leveldbs() {
        // The values that LevelDB's own test expects, with its seeds turned into this one's.
        assert_eq!(hash(b""), SEED);
        let keys: [&[u8]; 3] = [b"\x62", b"\xc3\x97", b"\xe2\x99\xa5"];
        let hashes = keys.map(hash);
        assert_eq!(hashes, [0xef13_45c4, 0x5b66_3814, 0x323c_078f]);
    }

    #[test]
    fn a_filter_knows_its_keys_and_few_others() {
        for bits in [1, 5, 10, 60] {
            let keys: Vec<Vec<u8>> = (0..500u32).map(|key| key.to_le_bytes().to_vec()).collect();
            let mut filter = b"before".to_vec();
            append(&mut filter, &keys, bits);
            let filter = &filter[6..];
            assert!(keys.iter().all(|key| may_contain(filter, key)));
            let others = (1000..11_000u32).filter(|key| may_contain(filter, &key.to_le_bytes()));
            let most = if bits < 5 { 10_000 } else { 2_000 };
            assert!(others.count() < most, "{bits} bits");
        }
    }

    #[test]
    fn unusual_filters_have_defined_answers() {
        assert!(!may_contain(b"", b"key"));
        assert!(!may_contain(b"\x01", b"key"));
        assert!(
            may_contain(b"\x00\x1f", b"key"),
            "more probes than 30 are another filter's"
        );
        assert!(may_contain(b"\x00\x00", b"key"), "no probe");
    }
}
