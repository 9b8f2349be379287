//! Zipf's law with any exponent above 0: the probability of rank `r` is proportional to `1 / r^s`.
//!
//! The method is rejection from an integral (Hörmann and Derflinger, "Rejection-inversion to
//! generate variates from monotone discrete distributions", 1996): no table, and about one draw in
//! a hundred is rejected. YCSB's method ([`Zipf`](super::Zipf)) holds for exponents below 1 only.

use crate::workload::random::Random;

use super::zipf::hash;

/// The law over a number of items.
#[derive(Clone, Debug)]
pub struct ZipfLaw {
    items: u64,
    exponent: f64,
    /// The integral up to the end of the first rank, less its probability, and up to the last rank.
    ends: [f64; 2],
    /// Distance from its rank at which a draw is accepted without another look.
    near: f64,
}

impl ZipfLaw {
    /// Creates the law over `items` items, at least one.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53 items")]
    pub fn new(items: u64, exponent: f64) -> Self {
        let mut law = Self {
            items: items.max(1),
            exponent,
            ends: [0.0; 2],
            near: 0.0,
        };
        law.ends = [
            law.integral(1.5) - 1.0,
            law.integral(law.items as f64 + 0.5),
        ];
        law.near = 2.0 - law.inverse(law.integral(2.5) - law.density(2.0));
        law
    }

    fn density(&self, at: f64) -> f64 {
        at.powf(-self.exponent)
    }

    /// Integral of the density from 1.
    fn integral(&self, to: f64) -> f64 {
        let rest = 1.0 - self.exponent;
        if rest.abs() < 1e-9 {
            return to.ln();
        }
        (to.powf(rest) - 1.0) / rest
    }

    /// Returns where the integral has a value.
    fn inverse(&self, value: f64) -> f64 {
        let rest = 1.0 - self.exponent;
        if rest.abs() < 1e-9 {
            return value.exp();
        }
        (1.0 + value * rest).max(0.0).powf(1.0 / rest)
    }

    /// Draws a rank; 0 is the most frequent.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "between 1 and the number of items, far below 2^53"
    )]
    pub fn rank(&self, random: &mut Random) -> u64 {
        let [first, last] = self.ends;
        loop {
            let value = last + random.unit() * (first - last);
            let at = self.inverse(value);
            let rank = at.round().clamp(1.0, self.items as f64);
            let accepted =
                rank - at <= self.near || value >= self.integral(rank + 0.5) - self.density(rank);
            if accepted {
                return rank as u64 - 1;
            }
        }
    }

    /// Draws an item: ranks are scattered over all items by a hash.
    pub fn scattered(&self, random: &mut Random) -> u64 {
        hash(self.rank(random)) % self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_as_frequent_as_the_law_says() {
        for exponent in [0.3, 0.74, 1.0, 1.3, 2.1] {
            let law = ZipfLaw::new(1000, exponent);
            let mut random = Random::new(3);
            let mut counts = vec![0u32; 1000];
            for _ in 0..300_000 {
                counts[usize::try_from(law.rank(&mut random)).expect("small")] += 1;
            }
            let sum: f64 = (1..=1000).map(|rank| f64::from(rank).powf(-exponent)).sum();
            let parts = [0..1, 1..2, 2..10, 10..100, 100..1000];
            for part in parts {
                let drawn: u32 = counts[part.clone()].iter().sum();
                let wanted: f64 = part
                    .map(|rank| f64::from(u32::try_from(rank).expect("small") + 1).powf(-exponent))
                    .sum();
                let wanted = 300_000.0 * wanted / sum;
                let off = (f64::from(drawn) - wanted).abs();
                assert!(
                    off <= 6.0 * wanted.sqrt() + 1.0,
                    "{exponent}: {drawn} for {wanted}"
                );
            }
        }
    }

    #[test]
    fn few_items_are_all_drawn_and_none_beyond() {
        for items in [1, 2, 3, 10] {
            let law = ZipfLaw::new(items, 1.07);
            let mut random = Random::new(8);
            let mut seen: Vec<u64> = (0..5000).map(|_| law.rank(&mut random)).collect();
            seen.sort_unstable();
            seen.dedup();
            assert!(seen.into_iter().eq(0..items), "{items}");
        }
    }
}
