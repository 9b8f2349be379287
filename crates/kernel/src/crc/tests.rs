//! Known vectors, and every length and alignment against the two independent implementations.

use proptest::prelude::*;

use super::chains::CHECK_BYTES;
use super::{check, crc32c, crc32c_append, portable};

/// RFC 3720, appendix B.4 (bytes as transmitted), and the usual check string.
#[test]
fn known_vectors() {
    let ascending: Vec<u8> = (0..32).collect();
    let descending: Vec<u8> = (0..32).rev().collect();
    for (bytes, crc) in [
        (&b""[..], 0),
        (b"123456789", 0xE306_9283),
        (&[0; 32], 0x8A91_36AA),
        (&[0xff; 32], 0x62A8_AB43),
        (&ascending, 0x46DD_794E),
        (&descending, 0x113F_DB5C),
    ] {
        assert_eq!(crc32c(bytes), crc);
        assert_eq!(portable::crc32c_append(0, bytes), crc);
    }
}

#[test]
fn every_length_and_alignment_equals_the_twin_and_the_crate() {
    let lengths: u32 = if cfg!(miri) { 130 } else { 5000 };
    let bytes: Vec<u8> = (0..lengths + 8)
        .map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()[3])
        .collect();
    for length in 0..lengths {
        let seed = length.wrapping_mul(0x9E37_79B9);
        let at = length as usize % 8;
        let part = &bytes[at..at + length as usize];
        let expected = portable::crc32c_append(seed, part);
        assert_eq!(crc32c_append(seed, part), expected, "length {length}");
        assert_eq!(
            ::crc32c::crc32c_append(seed, part),
            expected,
            "length {length}"
        );
    }
}

#[test]
fn one_flipped_bit_is_always_noticed() {
    let mut page = vec![0x5a_u8; if cfg!(miri) { 24 } else { 4096 }];
    let clean = crc32c(&page);
    for bit in 0..page.len() * 8 {
        page[bit / 8] ^= 1 << (bit % 8);
        assert_ne!(crc32c(&page), clean, "bit {bit}");
        page[bit / 8] ^= 1 << (bit % 8);
    }
    assert_eq!(crc32c(&page), clean);
}

/// A value in a page of memory that something else was read into.
#[test]
fn the_check_of_bytes_in_memory_notices_every_flipped_bit_and_equals_the_twin() {
    for len in [0, 1, 9, 31, 32, 33, 40, 63, 64, 65, 100, 127, 511, 512, 600] {
        if cfg!(miri) && len > 40 {
            break;
        }
        let mut bytes: Vec<u8> = (0..=250).cycle().take(len).collect();
        let clean = check(&bytes);
        if CHECK_BYTES.contains(&len) {
            assert_eq!(clean, portable::check(&bytes), "length {len}");
        }
        for bit in 0..len * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(check(&bytes), clean, "length {len}, bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        // From one chain to its neighbour.
        for at in 0..len.saturating_sub(8) {
            let mut swapped = bytes.clone();
            swapped.swap(at, at + 8);
            assert_ne!(check(&swapped), clean, "length {len}, at {at}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 8 } else { 2000 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn appending_in_parts_equals_the_whole(
        bytes in proptest::collection::vec(any::<u8>(), 0..if cfg!(miri) { 100 } else { 3000 }),
        cut in any::<prop::sample::Index>(),
    ) {
        let cut = cut.index(bytes.len() + 1);
        let (head, tail) = bytes.split_at(cut);
        prop_assert_eq!(crc32c_append(crc32c(head), tail), crc32c(&bytes));
        prop_assert_eq!(portable::crc32c_append(0, &bytes), crc32c(&bytes));
    }
}
