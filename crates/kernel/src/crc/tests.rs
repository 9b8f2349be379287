//! Known vectors, and every length and alignment against the two independent implementations.

use proptest::prelude::*;

use super::{crc32c, crc32c_append, portable};

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
