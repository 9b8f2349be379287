//! Zipf's distribution as YCSB draws it: the probability of item `r` is proportional to 1 / r^0.99.
//!
//! The method is from Gray et al., "Quickly Generating Billion-Record Synthetic Databases", 1994,
//! figure 11. Scattering ranks over all items by a hash is from YCSB (Cooper et al., 2010, section
//! 4.1).

use crate::workload::random::Random;

const THETA: f64 = 0.99;

/// Number of terms of the sum that are added one by one; the rest is approximated by an integral.
const EXACT_TERMS: u64 = 1_000_000;

/// The distribution over a number of items.
#[derive(Clone, Debug)]
pub struct Zipf {
    items: u64,
    count: f64,
    alpha: f64,
    zeta: f64,
    eta: f64,
    second: f64,
}

impl Zipf {
    /// Creates the distribution over `items` items, at least one.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53 items")]
    pub fn new(items: u64) -> Self {
        let items = items.max(1);
        let (count, zeta) = (items as f64, zeta(items));
        let second = 0.5f64.powf(THETA);
        let eta = if items > 2 {
            (1.0 - (2.0 / count).powf(1.0 - THETA)) / (1.0 - (1.0 + second) / zeta)
        } else {
            0.0
        };
        Self {
            items,
            count,
            alpha: 1.0 / (1.0 - THETA),
            zeta,
            eta,
            second,
        }
    }

    /// Returns the number of items.
    pub const fn items(&self) -> u64 {
        self.items
    }

    /// Draws a rank; 0 is the most frequent.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the number of items"
    )]
    pub fn rank(&self, random: &mut Random) -> u64 {
        let unit = random.unit();
        let scaled = unit * self.zeta;
        if scaled < 1.0 || self.items == 1 {
            return 0;
        }
        if scaled < 1.0 + self.second || self.items == 2 {
            return 1;
        }
        let rank = self.count * (self.eta * unit - self.eta + 1.0).powf(self.alpha);
        (rank as u64).min(self.items - 1)
    }

    /// Draws an item: ranks are scattered over all items by a hash.
    pub fn scattered(&self, random: &mut Random) -> u64 {
        hash(self.rank(random)) % self.items
    }
}

/// Returns the sum of 1 / r^theta over the ranks 1 to `items`.
#[expect(clippy::cast_precision_loss, reason = "far below 2^53 items")]
fn zeta(items: u64) -> f64 {
    let exact = items.min(EXACT_TERMS);
    let sum: f64 = (1..=exact).map(|rank| (rank as f64).powf(-THETA)).sum();
    if exact == items {
        return sum;
    }
    // Euler-Maclaurin: the integral between the two ends, and half the difference of the ends.
    let (from, to) = (exact as f64, items as f64);
    let integral = (to.powf(1.0 - THETA) - from.powf(1.0 - THETA)) / (1.0 - THETA);
    sum + integral + 0.5 * (to.powf(-THETA) - from.powf(-THETA))
}

/// Returns FNV-1a over the eight bytes of a number.
pub(super) fn hash(number: u64) -> u64 {
    number
        .to_le_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_as_frequent_as_the_law_says() {
        let zipf = Zipf::new(1000);
        let mut random = Random::new(3);
        let mut counts = vec![0u32; 1000];
        for _ in 0..200_000 {
            counts[usize::try_from(zipf.rank(&mut random)).expect("small")] += 1;
        }
        let share = |rank: usize| f64::from(counts[rank]) / 200_000.0;
        let law = |rank: f64| rank.powf(-THETA) / zeta(1000);
        assert!((share(0) / law(1.0) - 1.0).abs() < 0.05, "{}", share(0));
        assert!((share(1) / law(2.0) - 1.0).abs() < 0.05, "{}", share(1));
        let tail: f64 = (500..1000).map(share).sum();
        let wanted: f64 = (501..=1000).map(|rank| law(f64::from(rank))).sum();
        assert!((tail / wanted - 1.0).abs() < 0.1, "{tail} for {wanted}");
    }

    #[test]
    fn few_items_are_all_drawn_and_none_beyond() {
        for items in [1, 2, 3, 10] {
            let zipf = Zipf::new(items);
            let mut random = Random::new(8);
            let mut seen: Vec<u64> = (0..5000).map(|_| zipf.rank(&mut random)).collect();
            seen.sort_unstable();
            seen.dedup();
            assert!(seen.into_iter().eq(0..items), "{items}");
        }
    }

    #[test]
    fn the_integral_stands_for_the_rest_of_the_sum() {
        let exact: f64 = (1..=3_000_000)
            .map(|rank| f64::from(rank).powf(-THETA))
            .sum();
        assert!((zeta(3_000_000) - exact).abs() < 1e-6, "{exact}");
    }
}
