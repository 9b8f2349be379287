//! How many levels of the skip list a node takes part in.

use crate::node::HEIGHT_MAX;

/// What heights are drawn from at first: any odd number.
pub(crate) const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Draws the next node's height: one more level with chance 1/4 each.
///
/// A multiplicative generator, of which the upper bits are taken (Steele and Vigna, "Computationally easy,
/// spectrally good multipliers", 2021): no seed from outside, since keys cannot be chosen against a generator that
/// advances with every insert whoever made it, and a replay gives the same list.
#[inline]
pub(crate) fn draw_height(random: &mut u64) -> usize {
    *random = random.wrapping_mul(0xf135_7aea_2e62_a9c5);
    let levels = random.leading_zeros() as usize / 2 + 1;
    levels.min(HEIGHT_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "counts only")]
    fn of_four_nodes_one_rises_a_level() {
        let (mut random, mut nodes) = (SEED, [0_u32; HEIGHT_MAX + 1]);
        for _ in 0..400_000 {
            nodes[draw_height(&mut random)] += 1;
        }
        assert_eq!(nodes[0], 0);
        for (level, expected) in [
            (1, 300_000),
            (2, 75_000),
            (3, 18_750),
            (4, 4_688),
            (5, 1_172),
        ] {
            let within = expected * 9 / 10..expected * 11 / 10;
            assert!(within.contains(&nodes[level]), "{level}: {}", nodes[level]);
        }
        assert!(nodes[8..].iter().any(|&nodes| nodes > 0));
    }
}
