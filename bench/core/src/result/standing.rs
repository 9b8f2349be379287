//! The standing of a figure: ahead of others, tied with one or behind one. The table in the
//! terminal and the report share this decision.

use crate::result::spread::Spread;

/// The standing of a figure among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing<P> {
    /// Every round is above all rounds of all others.
    Ahead,
    /// No other figure has all its rounds above this one's, but at least one overlaps; this is the
    /// overlapping one with the highest middle.
    Tied(P),
    /// Every round of another figure is above its own; of several such figures, this is the one
    /// with the highest middle.
    Behind(P),
}

impl<P> Standing<P> {
    /// Returns the word for the standing.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Ahead => "ahead",
            Self::Tied(_) => "tie",
            Self::Behind(_) => "behind",
        }
    }
}

/// Returns the standing of a figure among others; `None` without others.
///
/// The figure with the highest middle does not decide alone: its rounds may be so widely spread
/// that it ties while another is ahead in every round, and one with a lower middle may overlap
/// ours.
pub fn standing<P>(
    own: &Spread,
    others: impl IntoIterator<Item = (P, Spread)>,
) -> Option<Standing<P>> {
    let mut standing = None;
    let mut decided_by = f64::NEG_INFINITY;
    for (other, spread) in others {
        let higher = spread.middle > decided_by;
        let next = match &standing {
            _ if own.beats(&spread) => standing.is_none().then_some(Standing::Ahead),
            Some(Standing::Behind(_)) => {
                (spread.beats(own) && higher).then_some(Standing::Behind(other))
            }
            _ if spread.beats(own) => Some(Standing::Behind(other)),
            Some(Standing::Tied(_)) => higher.then_some(Standing::Tied(other)),
            _ => Some(Standing::Tied(other)),
        };
        if let Some(next) = next {
            if !matches!(next, Standing::Ahead) {
                decided_by = spread.middle;
            }
            standing = Some(next);
        }
    }
    standing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::outline::Aggregate;

    fn among(own: &[f64], others: &[(&'static str, &[f64])]) -> Option<Standing<&'static str>> {
        let spread =
            |values: &[f64]| Spread::of(values.iter().copied(), Aggregate::Median).expect("values");
        let others = others.iter().map(|(name, values)| (*name, spread(values)));
        standing(&spread(own), others)
    }

    #[test]
    fn a_noisy_leader_does_not_hide_one_that_is_ahead_in_every_round() {
        let (noisy, steady) = (("a", &[5.0, 10.0, 15.0][..]), ("b", &[8.9, 9.0, 9.1][..]));
        for others in [[noisy, steady], [steady, noisy]] {
            let standing = among(&[5.9, 6.0, 6.1], &others);
            assert_eq!(standing, Some(Standing::Behind("b")));
        }
    }

    #[test]
    fn nobody_is_ahead_of_a_noisy_one_with_a_lower_middle() {
        let (noisy, steady) = (("a", &[1.0, 2.0, 11.0][..]), ("b", &[4.9, 5.0, 5.1][..]));
        for others in [[noisy, steady], [steady, noisy]] {
            let standing = among(&[9.9, 10.0, 10.1], &others);
            assert_eq!(standing, Some(Standing::Tied("a")));
        }
    }

    #[test]
    fn the_highest_middle_of_those_that_decide_is_named() {
        let own = &[5.0, 6.0, 7.0];
        let (low, high) = (("low", &[8.0, 9.0][..]), ("high", &[18.0, 19.0][..]));
        assert_eq!(among(own, &[low, high]), Some(Standing::Behind("high")));
        assert_eq!(among(own, &[high, low]), Some(Standing::Behind("high")));
        let (low, high) = (("low", &[1.0, 5.0][..]), ("high", &[6.0, 9.0][..]));
        assert_eq!(among(own, &[low, high]), Some(Standing::Tied("high")));
        assert_eq!(among(own, &[high, low]), Some(Standing::Tied("high")));
    }

    #[test]
    fn single_rounds_are_compared_as_they_are() {
        assert_eq!(among(&[2.0], &[("a", &[1.0])]), Some(Standing::Ahead));
        assert_eq!(among(&[2.0], &[("a", &[3.0])]), Some(Standing::Behind("a")));
        assert_eq!(among(&[2.0], &[("a", &[2.0])]), Some(Standing::Tied("a")));
        assert_eq!(among(&[2.0], &[]), None);
    }
}
