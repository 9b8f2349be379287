//! Known vectors, and comparison with two independent implementations at every length and
//! alignment.

use proptest::prelude::*;

use super::{crc32c, crc32c_append, memory_check, portable};

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

/// Corrupt memory contents are detected: a changed bit, misplaced bytes and words, zeros, a moved
/// part.
#[test]
fn the_check_of_bytes_in_memory_notices_every_change() {
    every_change_is_noticed_by(memory_check);
    // The check used where vectors cannot be folded.
    every_change_is_noticed_by(portable::memory_check);
}

fn every_change_is_noticed_by(check: fn(&[u8]) -> u32) {
    for len in [
        0, 1, 9, 31, 32, 33, 40, 63, 64, 65, 100, 127, 129, 192, 193, 511, 512, 600,
    ] {
        if cfg!(miri) && len > 40 {
            break;
        }
        let mut bytes: Vec<u8> = (0..=250).cycle().take(len).collect();
        let clean = check(&bytes);
        let differs = |changed: &[u8], what: &str| {
            assert_ne!(check(changed), clean, "length {len}: {what}");
        };
        for bit in 0..len * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            differs(&bytes, &format!("bit {bit}"));
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        for at in 0..len {
            for distance in [4, 8, 16, 32, 64, 128]
                .into_iter()
                .filter(|by| at + by < len)
            {
                let mut changed = bytes.clone();
                changed.swap(at, at + distance);
                differs(&changed, &format!("{at} and {distance} behind"));
            }
            let mut changed = bytes.clone();
            changed[at..].fill(0);
            if changed != bytes {
                differs(&changed, &format!("zeros from {at}"));
            }
            changed.copy_from_slice(&bytes);
            changed.rotate_left(at);
            if changed != bytes {
                differs(&changed, &format!("moved by {at}"));
            }
        }
        for pair in bytes
            .clone()
            .chunks_exact(16)
            .enumerate()
            .map(|(at, _)| 16 * at)
        {
            let mut changed = bytes.clone();
            changed[pair..pair + 16].rotate_left(8);
            differs(&changed, &format!("words at {pair}"));
        }
    }
}

#[test]
fn the_check_of_zeros_tells_how_many() {
    for check in [memory_check, portable::memory_check] {
        let checks: Vec<u32> = (1..700).map(|len| check(&vec![0; len])).collect();
        for (len, check) in checks.iter().enumerate() {
            assert!(!checks[..len].contains(check), "{len}");
        }
    }
}

/// On other processors the `crc32c` crate processes each word; the chains are the same.
#[cfg(not(target_arch = "x86_64"))]
#[test]
fn the_check_equals_the_twin() {
    let bytes: Vec<u8> = (0..=250).cycle().take(600).collect();
    for len in 0..bytes.len() {
        let bytes = &bytes[..len];
        assert_eq!(memory_check(bytes), portable::memory_check(bytes), "{len}");
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
