//! Which of several sorted sources comes next: a tournament of their heads.
//!
//! Each source's next entry plays against the others' in a binary tree, whose inner nodes keep who lost there; the
//! winner of all is the next entry. When a source moves on, only the matches on its way to the root are played again:
//! one comparison of two numbers for each level, and the loser is stored by conditional moves, since which of two
//! random keys is smaller cannot be predicted. (A heap compares twice a level, and branches by what it finds.)
//!
//! Equal heads say nothing, and the caller is asked. Source: Knuth, The Art of Computer Programming 3, 5.4.1.
//!
//! Invariant: `losers` has each source but the winner once, on the way from its leaf to the root; those that have ended
//! lose to all others.

use std::hint::select_unpredictable;

/// Where a source is: the head of its next entry's key, and which source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) head: u64,
    pub(crate) source: usize,
}

impl Place {
    /// Of a source that has ended.
    pub(crate) const END: Place = Place {
        head: u64::MAX,
        source: usize::MAX,
    };

    #[inline]
    pub(crate) fn is_end(self) -> bool {
        self.source == usize::MAX
    }

    /// Which of two random keys is smaller no processor predicts.
    #[inline]
    fn exchange_if(&mut self, condition: bool, other: &mut Place) {
        let (mine, theirs) = (*self, *other);
        self.head = select_unpredictable(condition, theirs.head, mine.head);
        self.source = select_unpredictable(condition, theirs.source, mine.source);
        other.head = select_unpredictable(condition, mine.head, theirs.head);
        other.source = select_unpredictable(condition, mine.source, theirs.source);
    }
}

/// The matches of some sources.
#[derive(Debug, Default)]
pub(crate) struct LoserTree {
    /// Inner node `n` has the children `2n` and `2n + 1`; leaf `s` is node `losers.len() + s`. The first is not used.
    losers: Vec<Place>,
}

impl LoserTree {
    /// Lets all sources play, each at its place, or [`Place::END`]; who wins. `before` orders two places of equal heads,
    /// neither of which has ended.
    pub(crate) fn begin(
        &mut self,
        places: &[Place],
        before: impl Fn(Place, Place) -> bool,
    ) -> Place {
        let count = places.len();
        self.losers.clear();
        self.losers.resize(count, Place::END);
        let mut winners = vec![Place::END; count];
        winners.extend_from_slice(places);
        for node in (1..count).rev() {
            let (left, right) = (winners[2 * node], winners[2 * node + 1]);
            let left_wins = is_before(left, right, &before);
            (winners[node], self.losers[node]) = if left_wins {
                (left, right)
            } else {
                (right, left)
            };
        }
        winners.get(1).copied().unwrap_or(Place::END)
    }

    /// Lets the source that won last play again, at `place`; who wins now. `before` as in [`LoserTree::begin`].
    #[inline]
    pub(crate) fn replay(
        &mut self,
        source: usize,
        place: Place,
        before: impl Fn(Place, Place) -> bool,
    ) -> Place {
        debug_assert!(place.is_end() || place.source == source);
        let mut winner = place;
        let mut node = (self.losers.len() + source) >> 1;
        while node > 0 {
            let loser = &mut self.losers[node];
            // Apart: where one answer came from two branches, the compiler had both exchange for themselves.
            if loser.head == winner.head {
                if is_before(*loser, winner, &before) {
                    std::mem::swap(loser, &mut winner);
                }
            } else {
                winner.exchange_if(loser.head < winner.head, loser);
            }
            node >>= 1;
        }
        winner
    }

    /// Who would have won if the winner, of `source`, had not played.
    pub(crate) fn second(&self, source: usize, before: impl Fn(Place, Place) -> bool) -> Place {
        let mut second = Place::END;
        let mut node = (self.losers.len() + source) >> 1;
        while node > 0 {
            if is_before(self.losers[node], second, &before) {
                second = self.losers[node];
            }
            node >>= 1;
        }
        second
    }
}

#[inline]
fn is_before(a: Place, b: Place, before: impl Fn(Place, Place) -> bool) -> bool {
    if a.head == b.head {
        return b.is_end() || !a.is_end() && before(a, b);
    }
    a.head < b.head
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sources of ascending numbers, merged by the tree, `ties` telling who of two equal heads comes first.
    fn merged(sources: &[Vec<u64>], ties: impl Fn(Place, Place) -> bool) -> Vec<(u64, usize)> {
        let mut at = vec![0; sources.len()];
        let place = |source: usize, at: usize| {
            let head = sources[source].get(at).copied();
            head.map_or(Place::END, |head| Place { head, source })
        };
        let places: Vec<_> = (0..sources.len()).map(|source| place(source, 0)).collect();
        let mut tree = LoserTree::default();
        let mut winner = tree.begin(&places, &ties);
        let mut out = Vec::new();
        while !winner.is_end() {
            out.push((winner.head, winner.source));
            let source = winner.source;
            let second = tree.second(source, &ties);
            let others = (0..sources.len()).filter(|other| *other != source);
            let others: Vec<_> = others.map(|other| place(other, at[other])).collect();
            assert_eq!(second, LoserTree::default().begin(&others, &ties));
            at[source] += 1;
            winner = tree.replay(source, place(source, at[source]), &ties);
        }
        out
    }

    #[test]
    fn any_number_of_sources_comes_out_in_order() {
        let mut number = 7_u64;
        let mut draw = move |bound: u64| {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (number >> 33) % bound
        };
        for count in 0..70 {
            let sources: Vec<Vec<u64>> = (0..count)
                .map(|_| {
                    let mut source: Vec<u64> = (0..draw(30)).map(|_| draw(50)).collect();
                    if draw(3) == 0 {
                        // As large as a head that has ended.
                        source.push(u64::MAX);
                    }
                    source.sort_unstable();
                    source
                })
                .collect();
            let each = sources.iter().enumerate();
            let mut expected: Vec<_> = each
                .flat_map(|(source, heads)| heads.iter().map(move |head| (*head, source)))
                .collect();
            expected.sort_unstable();
            assert_eq!(merged(&sources, |a, b| a.source < b.source), expected);
            expected.sort_unstable_by_key(|(head, source)| (*head, usize::MAX - source));
            assert_eq!(merged(&sources, |a, b| a.source > b.source), expected);
        }
    }
}
