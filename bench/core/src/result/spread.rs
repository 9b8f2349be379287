//! Several measurements of one quantity, as one figure and its spread.

use serde::Serialize;

use crate::result::outline::Aggregate;

/// Lowest, middle and highest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Lowest.
    pub low: f64,
    /// The figure.
    pub middle: f64,
    /// Highest.
    pub high: f64,
    /// Number of rounds.
    pub rounds: usize,
}

impl Spread {
    /// Returns the spread of all finite values; `None` if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>, aggregate: Aggregate) -> Option<Self> {
        let mut sorted: Vec<f64> = values
            .into_iter()
            .filter(|value| value.is_finite())
            .collect();
        sorted.sort_by(f64::total_cmp);
        Some(Self {
            low: *sorted.first()?,
            middle: aggregate.of(&sorted)?,
            high: *sorted.last()?,
            rounds: sorted.len(),
        })
    }

    /// Returns the distance of the farther end from the middle, relative to the middle; `None` for
    /// one round.
    pub fn width(&self) -> Option<f64> {
        let far = (self.high - self.middle).max(self.middle - self.low);
        (self.rounds > 1 && self.middle > 0.0).then(|| far / self.middle)
    }

    /// Returns whether a round differs from the middle by more than a tenth: the row is short, or
    /// the machine was busy.
    pub fn is_wide(&self) -> bool {
        self.width().is_some_and(|width| width > 0.1)
    }

    /// Returns whether every round is ahead of every round of the other.
    pub fn beats(&self, other: &Self) -> bool {
        !self.ties(other) && self.middle > other.middle
    }

    /// Returns whether the two cannot be distinguished: their ranges overlap.
    pub fn ties(&self, other: &Self) -> bool {
        self.rounds.max(other.rounds) > 1 && self.low <= other.high && other.low <= self.high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn middle(values: &[f64], aggregate: Aggregate) -> f64 {
        Spread::of(values.iter().copied(), aggregate)
            .expect("values")
            .middle
    }

    fn exactly(left: f64, right: f64) {
        assert!((left - right).abs() < 1e-9, "{left} {right}");
    }

    #[test]
    fn the_middle_is_the_median_or_the_mean_of_the_inner_ones() {
        exactly(middle(&[3.0, 1.0, 2.0], Aggregate::Median), 2.0);
        exactly(middle(&[4.0, 1.0, 2.0, 9.0], Aggregate::Median), 3.0);
        exactly(middle(&[9.0, 1.0, 2.0, 4.0, 3.0], Aggregate::Trimmed), 3.0);
        exactly(middle(&[1.0, 100.0, 4.0, 6.0], Aggregate::Trimmed), 5.0);
        exactly(middle(&[1.0, 3.0], Aggregate::Trimmed), 2.0);
        exactly(middle(&[7.0], Aggregate::Trimmed), 7.0);
    }

    #[test]
    fn one_round_far_from_the_middle_makes_it_wide() {
        let wide = |values: &[f64]| {
            Spread::of(values.iter().copied(), Aggregate::Median)
                .expect("values")
                .is_wide()
        };
        assert!(wide(&[10.0, 10.0, 11.5]) && wide(&[8.0, 10.0, 10.0]));
        assert!(!wide(&[9.5, 10.0, 10.5]) && !wide(&[10.0]));
    }

    #[test]
    fn what_is_not_a_number_does_not_count() {
        assert_eq!(Spread::of([], Aggregate::Median), None);
        assert_eq!(
            Spread::of([f64::NAN, f64::INFINITY], Aggregate::Median),
            None
        );
        assert_eq!(
            Spread::of([f64::NAN, 2.0], Aggregate::Median)
                .expect("one")
                .rounds,
            1
        );
    }

    #[test]
    fn a_tie_needs_an_overlap_and_more_than_one_round() {
        let spread =
            |values: &[f64]| Spread::of(values.iter().copied(), Aggregate::Median).expect("values");
        assert!(spread(&[1.0, 3.0]).ties(&spread(&[2.0, 4.0])));
        assert!(!spread(&[1.0, 2.0]).ties(&spread(&[3.0, 4.0])));
        assert!(!spread(&[2.0]).ties(&spread(&[2.0])));
        assert!(spread(&[1.0, 5.0]).ties(&spread(&[2.0, 3.0])));
    }
}
