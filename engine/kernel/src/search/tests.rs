//! Exhaustive tests of small columns, random tests of long ones, and columns that end where their
//! allocation ends.

use proptest::prelude::*;

use super::{locate, lower_bound, lower_bound_u64_le, twin, upper_bound};

const WIDTHS: [usize; 4] = [1, 2, 4, 8];

/// Packs the low `width` bytes of each head. The capacity is exact, so that a read past the end
/// leaves the allocation.
fn pack(heads: &[u64], width: usize) -> Box<[u8]> {
    heads
        .iter()
        .flat_map(|head| head.to_le_bytes().into_iter().take(width))
        .collect()
}

fn check(heads: &[u64], width: usize, key: u64) {
    let bytes = pack(heads, width);
    let below = heads.iter().filter(|&&head| head < key).count();
    let not_above = heads.iter().filter(|&&head| head <= key).count();
    assert_eq!(
        lower_bound(&bytes, width, heads.len(), key),
        below,
        "{heads:?} {width} {key}"
    );
    assert_eq!(
        upper_bound(&bytes, width, heads.len(), key),
        not_above,
        "{heads:?} {width} {key}"
    );
    assert_eq!(twin::lower_bound(&bytes, width, heads.len(), key), below);
    if heads.is_sorted() {
        let located = (below, not_above > below);
        assert_eq!(locate(&bytes, width, heads.len(), key), located);
        assert_eq!(twin::locate(&bytes, width, heads.len(), key), located);
    }
    assert_eq!(
        twin::upper_bound(&bytes, width, heads.len(), key),
        not_above
    );
}

#[test]
fn every_count_and_position() {
    let counts = if cfg!(miri) { 12 } else { 140 };
    for width in WIDTHS {
        let widest = u64::MAX >> (64 - 8 * width);
        for count in 0..=counts {
            // Spread over the whole range, with pairs of equal heads.
            let heads: Vec<u64> = (0..count)
                .map(|i| widest / (counts + 1) * (i / 2 * 2))
                .collect();
            for &head in &heads {
                for key in [head.saturating_sub(1), head, head.saturating_add(1)] {
                    check(&heads, width, key);
                }
            }
            for key in [
                0,
                widest / 2,
                widest / 2 + 1,
                widest,
                widest.saturating_add(1),
                u64::MAX,
            ] {
                check(&heads, width, key);
            }
        }
    }
}

#[test]
fn bytes_behind_the_column_do_not_count() {
    for width in WIDTHS {
        let bytes = [0u8; if cfg!(miri) { 40 } else { 200 }];
        for count in 0..=bytes.len() / width {
            assert_eq!(lower_bound(&bytes, width, count, 1), count);
            assert_eq!(lower_bound(&bytes, width, count, 0), 0);
            assert_eq!(upper_bound(&bytes, width, count, 0), count);
        }
    }
}

#[test]
#[should_panic(expected = "range end index")]
fn a_column_longer_than_the_slice_is_refused() {
    lower_bound(&[0; 31], 8, 4, 1);
}

#[test]
#[should_panic(expected = "range end index")]
fn an_overflowing_count_is_refused() {
    lower_bound(&[0; 31], 8, usize::MAX / 4, 1);
}

#[test]
#[should_panic(expected = "heads are 1, 2, 4 or 8 bytes wide")]
fn an_unknown_width_is_refused() {
    lower_bound(&[0; 31], 3, 4, 1);
}

#[test]
fn fences_of_every_count() {
    let counts = if cfg!(miri) { 36 } else { 600 };
    for count in 0..=counts {
        let fences: Vec<u64> = (0..count)
            .map(|i| (i / 3 * 3 + 1) * (u64::MAX / 700))
            .collect();
        let bytes = pack(&fences, 8);
        let step = if count < 40 { 1 } else { 7 };
        for &fence in fences.iter().step_by(step) {
            for key in [fence - 1, fence, fence + 1] {
                let expected = fences.partition_point(|&fence| fence < key);
                assert_eq!(lower_bound_u64_le(&bytes, fences.len(), key), expected);
                assert_eq!(
                    twin::lower_bound_u64_le(&bytes, fences.len(), key),
                    expected
                );
            }
        }
        assert_eq!(lower_bound_u64_le(&bytes, fences.len(), 0), 0);
        assert_eq!(
            lower_bound_u64_le(&bytes, fences.len(), u64::MAX),
            fences.len()
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 20_000 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_columns_even_disordered(
        width in prop::sample::select(&WIDTHS),
        heads in proptest::collection::vec(any::<u64>(), 0..if cfg!(miri) { 50 } else { 300 }),
        key in any::<u64>(),
        narrow in 0..64u32,
    ) {
        let widest = u64::MAX >> (64 - 8 * width);
        let heads: Vec<u64> = heads.iter().map(|head| head >> narrow & widest).collect();
        check(&heads, width, key >> narrow);
        check(&heads, width, key >> narrow & widest);
        let mut sorted = heads;
        sorted.sort_unstable();
        check(&sorted, width, key >> narrow & widest);
    }

    #[test]
    fn disordered_fences_give_some_count(
        fences in proptest::collection::vec(any::<u64>(), 0..if cfg!(miri) { 100 } else { 520 }),
        key in any::<u64>(),
    ) {
        let bytes = pack(&fences, 8);
        prop_assert!(lower_bound_u64_le(&bytes, fences.len(), key) <= fences.len());
        let mut sorted = fences;
        sorted.sort_unstable();
        let expected = sorted.partition_point(|&fence| fence < key);
        prop_assert_eq!(lower_bound_u64_le(&pack(&sorted, 8), sorted.len(), key), expected);
    }
}
