//! Deleted ranges: the newest deletion of each key, in key order.

use std::collections::BinaryHeap;

use cairndb_base::{Order, SeqNo};
use cairndb_format::manifest::DeletedRange;

/// The deleted ranges of one section. Keys are looked up in ascending order.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    /// Those that start after the last key, the first one last.
    later: Vec<DeletedRange>,
    /// Number and end of those that start at or before it. None has ended before the newest.
    begun: BinaryHeap<(SeqNo, Vec<u8>)>,
}

impl Ranges {
    /// Returns the ranges of `section` among all.
    pub(crate) fn of(section: u8, all: &[DeletedRange], order: &Order) -> Ranges {
        let own = all.iter().filter(|range| range.section == section);
        let mut later: Vec<_> = own.cloned().collect();
        later.sort_by(|a, b| order.compare(&b.start, &a.start));
        Ranges {
            later,
            begun: BinaryHeap::new(),
        }
    }

    /// Returns the sequence number of the newest deletion of `key`; 0 if there is none.
    pub(crate) fn covering(&mut self, order: &Order, key: &[u8]) -> SeqNo {
        let begins = |range: &mut DeletedRange| order.compare(&range.start, key).is_le();
        while let Some(range) = self.later.pop_if(begins) {
            self.begun.push((range.seq, range.end));
        }
        while let Some((seq, end)) = self.begun.peek() {
            if is_before(order, key, end) {
                return *seq;
            }
            self.begun.pop();
        }
        0
    }
}

/// Returns whether a range has keys from `smallest` to `largest`.
pub(crate) fn meets(range: &DeletedRange, order: &Order, smallest: &[u8], largest: &[u8]) -> bool {
    order.compare(&range.start, largest).is_le() && is_before(order, smallest, &range.end)
}

/// Returns whether `key` is before the end of a range; an empty one stands for none.
fn is_before(order: &Order, key: &[u8], end: &[u8]) -> bool {
    end.is_empty() || order.compare(key, end).is_lt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_deletion_of_each_key_is_found() {
        let range = |section, seq, start: &[u8], end: &[u8]| DeletedRange {
            section,
            seq,
            start: start.to_vec(),
            end: end.to_vec(),
        };
        let all = [
            range(0, 9, b"c", b"e"),
            range(0, 5, b"b", b"g"),
            range(0, 7, b"d", b"f"),
            range(0, 8, b"h", b"h"),
            range(0, 3, b"h", b""),
            range(1, 20, b"a", b"z"),
        ];
        let mut ranges = Ranges::of(0, &all, &Order::Bytewise);
        let expected = b"abcdefghi".iter().zip([0, 5, 9, 9, 7, 5, 0, 3, 3]);
        for (key, seq) in expected {
            let found = ranges.covering(&Order::Bytewise, &[*key]);
            assert_eq!(found, seq, "{}", char::from(*key));
        }
        let meets = |from: &[u8], to: &[u8]| meets(&all[0], &Order::Bytewise, from, to);
        assert!(meets(b"a", b"c") && meets(b"d", b"z") && meets(b"a", b"z"));
        assert!(!meets(b"a", b"bz") && !meets(b"e", b"z"));
    }
}
