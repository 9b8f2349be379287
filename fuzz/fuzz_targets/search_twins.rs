//! Searches arbitrary bytes as a column of heads or fences, or as a filter line. The kernels must
//! return the same results as their safe twins.

#![no_main]

use cairndb_kernel::filter;
use cairndb_kernel::search::{locate, lower_bound, lower_bound_u64_le, twin, upper_bound};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((&[shape], rest)) = input.split_first_chunk() else {
        return;
    };
    let Some((&key, rest)) = rest.split_first_chunk() else {
        return;
    };
    let width = 1 << (shape & 3);
    // Clears the key's upper bytes in some runs, so that narrow columns see keys in their range.
    let key = u64::from_le_bytes(key) >> (shape >> 2);
    let column: Box<[u8]> = rest.into();
    let count = column.len() / width;
    let below = lower_bound(&column, width, count, key);
    let not_above = upper_bound(&column, width, count, key);
    assert_eq!(below, twin::lower_bound(&column, width, count, key));
    assert_eq!(not_above, twin::upper_bound(&column, width, count, key));
    assert!(below <= not_above && not_above <= count);
    let (located, _) = locate(&column, width, count, key);
    assert_eq!(located, below);
    if let Some((line, factors)) = column.split_first_chunk::<{ filter::LINE_BYTES }>() {
        let (words, _) = factors.as_chunks();
        let mut drawn = words.iter().map(|word| u32::from_le_bytes(*word));
        let factors = std::array::from_fn(|_| drawn.next().unwrap_or(1));
        let (state, probes) = (key as u32, u32::from(shape) % 20);
        let answer = filter::all_set(line, state, &factors, probes);
        assert_eq!(answer, filter::twin::all_set(line, state, &factors, probes));
    }

    let count = column.len() / 8;
    assert!(lower_bound_u64_le(&column, count, key) <= count);
    let (words, _) = column.as_chunks::<8>();
    let mut fences: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    fences.sort_unstable();
    let sorted: Box<[u8]> = fences
        .iter()
        .flat_map(|fence| fence.to_le_bytes())
        .collect();
    let expected = twin::lower_bound_u64_le(&sorted, count, key);
    assert_eq!(lower_bound_u64_le(&sorted, count, key), expected);
    assert_eq!(
        locate(&sorted, 8, count, key),
        twin::locate(&sorted, 8, count, key)
    );
});
