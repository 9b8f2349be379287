//! Values whose sizes follow a generalised Pareto distribution, as in RocksDB's `mixgraph`: half of
//! them have less than 20 bytes, one in a thousand has more than 490.
//!
//! The parameters are those of the trace in "Characterizing, Modeling, and Benchmarking RocksDB
//! Key-Value Workloads at Facebook" (Cao et al., FAST 2020).

use std::sync::Arc;

use super::set::{POOL_SEED, ValueSet};
use crate::workload::random::Random;

const SHAPE: f64 = 0.2615;
const SCALE: f64 = 25.45;
/// Bound of the sizes in RocksDB's program, which takes what is above it modulo the bound.
const BYTES_MAX: u64 = 1024;

/// Returns values cut consecutively from `bytes`.
pub(super) fn values(bytes: Arc<[u8]>) -> ValueSet {
    let mut random = Random::new(POOL_SEED);
    let (mut ends, mut end) = (Vec::new(), 0);
    loop {
        let size = random.pareto(SHAPE, SCALE);
        let size = if size > BYTES_MAX {
            size % BYTES_MAX
        } else {
            size
        };
        end += usize::try_from(size).unwrap_or(usize::MAX);
        if end > bytes.len() {
            return ValueSet::listed(bytes, ends);
        }
        ends.push(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_mean_and_the_quantiles_of_the_law() {
        let set = values(vec![b'x'; 1 << 20].into());
        let mut sizes: Vec<usize> = (0..set.count()).map(|at| set.value(at).len()).collect();
        sizes.sort_unstable();
        let mean = sizes.iter().sum::<usize>() / sizes.len();
        // scale / (1 - shape), and scale * (2^(n * shape) - 1) / shape at 1 - 2^-n, rounded up.
        assert!((33..37).contains(&mean), "{mean}");
        let at = |part: usize| sizes[sizes.len() - sizes.len() / part];
        assert!((19..21).contains(&at(2)), "{}", at(2));
        assert!((62..76).contains(&at(8)), "{}", at(8));
        assert!(at(1000) > 350 && sizes.last() <= Some(&1024));
    }
}
