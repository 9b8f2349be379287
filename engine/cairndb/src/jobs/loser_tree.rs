//! Loser tree: a tournament of heads that finds the next entry of several sorted sources.
//!
//! The next entries of the sources play against each other in a binary tree. Its inner nodes hold
//! the losers of their matches; the overall winner is the next entry. When a source moves, only the
//! matches on its path to the root are replayed: one comparison of two numbers per level. The loser
//! is stored with conditional moves, since the order of two random keys is unpredictable. (A heap
//! compares twice per level, and branches on the results.)
//!
//! If heads are equal, the caller decides. Source: Knuth, The Art of Computer Programming 3, 5.4.1.
//!
//! Invariant: `losers` holds each source except the winner once, on the path from its leaf to the
//! root. Exhausted sources lose to all others.

use std::hint::select_unpredictable;

/// Position of a source: the head of its next entry's key, and the index of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoserPlace {
    pub(crate) head: u64,
    pub(crate) source: usize,
}

impl LoserPlace {
    /// Position of an exhausted source.
    pub(crate) const END: LoserPlace = LoserPlace {
        head: u64::MAX,
        source: usize::MAX,
    };

    #[inline]
    pub(crate) fn is_end(self) -> bool {
        self.source == usize::MAX
    }

    /// Exchanges both if `condition` holds, without a branch, which would be unpredictable for
    /// random keys.
    #[inline]
    fn exchange_if(&mut self, condition: bool, other: &mut LoserPlace) {
        let (mine, theirs) = (*self, *other);
        self.head = select_unpredictable(condition, theirs.head, mine.head);
        self.source = select_unpredictable(condition, theirs.source, mine.source);
        other.head = select_unpredictable(condition, mine.head, theirs.head);
        other.source = select_unpredictable(condition, mine.source, theirs.source);
    }
}

/// The matches between the sources.
#[derive(Debug, Default)]
pub(crate) struct LoserTree {
    /// Inner node `n` has the children `2n` and `2n + 1`; leaf `s` is node `losers.len() + s`. Node
    /// 0 is unused.
    losers: Vec<LoserPlace>,
}

impl LoserTree {
    /// Plays all matches, each source with its place or [`LoserPlace::END`], and returns the
    /// winner. `before` orders two places with equal heads, neither of which is exhausted.
    pub(crate) fn begin(
        &mut self,
        places: &[LoserPlace],
        before: impl Fn(LoserPlace, LoserPlace) -> bool,
    ) -> LoserPlace {
        let count = places.len();
        self.losers.clear();
        self.losers.resize(count, LoserPlace::END);
        let mut winners = vec![LoserPlace::END; count];
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
        winners.get(1).copied().unwrap_or(LoserPlace::END)
    }

    /// Replays the matches of the last winner, `source`, with `place`, and returns the new winner.
    /// For `before`, see [`LoserTree::begin`].
    #[inline]
    pub(crate) fn replay(
        &mut self,
        source: usize,
        place: LoserPlace,
        before: impl Fn(LoserPlace, LoserPlace) -> bool,
    ) -> LoserPlace {
        debug_assert!(place.is_end() || place.source == source);
        let mut winner = place;
        let mut node = (self.losers.len() + source) >> 1;
        while node > 0 {
            let loser = &mut self.losers[node];
            // Two separate branches: with a single combined condition, the compiler emitted the
            // exchange twice.
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

    /// Returns the source that would win if the winner, `source`, did not play.
    pub(crate) fn second(
        &self,
        source: usize,
        before: impl Fn(LoserPlace, LoserPlace) -> bool,
    ) -> LoserPlace {
        let mut second = LoserPlace::END;
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
fn is_before(
    a: LoserPlace,
    b: LoserPlace,
    before: impl Fn(LoserPlace, LoserPlace) -> bool,
) -> bool {
    if a.head == b.head {
        return b.is_end() || !a.is_end() && before(a, b);
    }
    a.head < b.head
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Merges sources of ascending numbers with the tree. `ties` orders equal heads.
    fn merged(
        sources: &[Vec<u64>],
        ties: impl Fn(LoserPlace, LoserPlace) -> bool,
    ) -> Vec<(u64, usize)> {
        let mut at = vec![0; sources.len()];
        let place = |source: usize, at: usize| {
            let head = sources[source].get(at).copied();
            head.map_or(LoserPlace::END, |head| LoserPlace { head, source })
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
                        // As large as the head of an exhausted source.
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
